"""Descriptions in JSON form to test validators with: those of the matrices, mutated ones, and random ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from dmlops.description import Description
from dmlops.enums import ENUMS, FeatureLevel, TensorDataType, feature_level
from dmlops.member import Member
from dmlops.registry import NUMBERS, OPERATORS, STRUCTS, operator

ROOT = Path(__file__).parents[1]
Form = dict[str, Any]

NUMBER = (0, 1, 2, 3, 5, 8, 9, 1 << 16, (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1, -1)
FLOAT = (0.0, -0.0, 0.5, 1.0, -1.0, 0.1, 1 / 3, 1e-7, 1e-46, 3.4e38, 1e39, float("inf"), float("nan"))
TENSOR: Form = {"DataType": "FLOAT32", "Sizes": [1, 2, 3, 4]}
ACTIVATION: Form = {"type": "DML_OPERATOR_ACTIVATION_SOFTPLUS", "desc": {"Steepness": 0.5}}
NO_ACTIVATION: Form = {
    "type": "DML_OPERATOR_GATHER",
    "desc": {"InputTensor": TENSOR, "Axis": 0, "IndexDimensions": 1},
}


def matrix_cases() -> Iterator[dict[str, Any]]:
    """The cases that the matrices have."""
    for path in sorted((ROOT / "generated/matrix").glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8")).get("cases", ())


def level_and_form(case: dict[str, Any]) -> tuple[str, Form]:
    """The feature level and the description of a case."""
    return case["feature_level"], {"type": case["type"], "desc": case["desc"]}


def random_forms(seed: int) -> Iterator[tuple[str, Form]]:
    """Endlessly, two changed cases of the matrices and an invented description."""
    choice = Random(seed)
    levels = [str(level) for level in FeatureLevel]
    cases = [level_and_form(case) for case in matrix_cases()]
    while True:
        for _ in range(2):
            level, form = choice.choice(cases)
            yield choice.choice((level, level, *levels)), _changed_form(choice, form)
        level = choice.choice(levels)
        yield level, _invented_form(choice, choice.choice(list(OPERATORS)), feature_level(level))


def _changed_form(choice: Random, form: Form) -> Form:
    """A description in which up to three things differ; in half of them counts follow from arrays."""
    desc = form["desc"]
    if choice.random() < 0.5:
        counts = {member.count for member in _described(form["type"].removeprefix("DML_OPERATOR_")).MEMBERS}
        desc = {name: value for name, value in desc.items() if name not in counts}
    for _ in range(choice.choice((1, 1, 1, 2, 3))):
        desc = _changed(choice, desc)
    return {**form, "desc": desc}


def _changed(choice: Random, value: Any) -> Any:
    """Something like a value in JSON form: one thing in it is changed, left out or added."""
    match value:
        case dict() if value:
            name = choice.choice(sorted(value))
            changed = {**value, name: _changed(choice, value[name])}
            if choice.random() < 0.1:
                del changed[name]
            return changed
        case list() if value and choice.random() < 0.8:
            place = choice.randrange(len(value))
            return [*value[:place], _changed(choice, value[place]), *value[place + 1 :]]
        case list():
            return choice.choice((value[:-1], [*value, *value[-1:]], [*value, 1], []))
        case str():
            return choice.choice((0, 1, 4, 11, 99, (1 << 32) - 1))
        case int():
            return choice.choice((*NUMBER, 0.5, value + 1, value - 1))
        case float():
            return choice.choice((*FLOAT, value + 1e-9, -value))
    return choice.choice((1, TENSOR, [TENSOR], ACTIVATION, [ACTIVATION], NO_ACTIVATION))


def _invented_form(choice: Random, name: str, level: FeatureLevel) -> Form:
    """A description of an operator whose members have the right types, and values that often fit."""
    described = _described(name)
    sizes = [choice.choice((1, 1, 2, 3, 4)) for _ in range(choice.choice((1, 2, 3, 4, 4, 4, 5, 8)))]
    types = [one for row in described.SUPPORT.get(level, {}).values() for one in row.types]
    type_ = choice.choice(types or list(TensorDataType))
    counts = {member.count for member in described.MEMBERS}
    return {
        "type": f"DML_OPERATOR_{name}",
        "desc": {
            member.name: _invented(choice, described, member, sizes, type_, level)
            for member in described.MEMBERS
            if not (member.name in counts and choice.random() < 0.9)
            and not (member.optional and choice.random() < 0.5)
        },
    }


def _invented(
    choice: Random,
    described: type[Description],
    member: Member,
    sizes: Sequence[int],
    type_: TensorDataType,
    level: FeatureLevel,
) -> Any:
    def one() -> Any:
        if member.type == "tensor":
            row = described.SUPPORT.get(level, {}).get(member.name)
            types = [type_, type_, type_, *(row.types if row else ())]
            return _tensor(choice, sizes, choice.choice(types))
        if member.type == "OPERATOR_DESC":
            return _invented_activation(choice, choice.choice(list(described.FUSABLE)), level)
        if member.type in ENUMS:
            return choice.choice([*ENUMS[member.type], *ENUMS[member.type], *NUMBER]).real
        if f"DML_{member.type}" in STRUCTS and not member.typed_by:
            fields = STRUCTS[f"DML_{member.type}"]
            return {field.name: _number(choice, field.type) for field in fields}
        return _number(choice, member.type)

    if not member.count:
        return one()
    length = choice.choice((1, 2, 3) if member.type == "tensor" else (len(sizes), max(len(sizes) - 2, 0), 2))
    return [one() for _ in range(length)]


def _invented_activation(choice: Random, name: str, level: FeatureLevel) -> Form:
    """The same, mostly without tensors, as they are when fused; sometimes without another member."""
    form = _invented_form(choice, name, level)
    left_out = [one.name for one in _described(name).MEMBERS if one.type == "tensor"]
    if choice.random() < 0.1:
        left_out = sorted(form["desc"])
        left_out.remove(choice.choice(left_out))
    return {**form, "desc": {name: one for name, one in form["desc"].items() if name not in left_out}}


def _tensor(choice: Random, sizes: Sequence[int], type_: TensorDataType) -> Form:
    tensor: Form = {"DataType": type_.name, "Sizes": list(sizes)}
    if choice.random() < 0.3:
        tensor["Sizes"][choice.randrange(len(sizes))] = choice.choice((1, 1, 2, 5, 0, 70000))
    if choice.random() < 0.2:
        tensor["Strides"] = [choice.choice((0, 1, 2, 3, 24, (1 << 32) - 1)) for _ in sizes]
    if choice.random() < 0.1:
        tensor["TotalTensorSizeInBytes"] = choice.choice((0, 4, 1 << 20, 1 << 40, (1 << 64) - 1))
    if choice.random() < 0.1:
        tensor["GuaranteedBaseOffsetAlignment"] = choice.choice((0, 1, 3, 16, 1 << 31))
    if choice.random() < 0.1:
        tensor["Flags"] = choice.choice((0, 1, 1, 2))
    return tensor


def _number(choice: Random, type_: str) -> float:
    kind = NUMBERS.get(type_, (0, "float"))[1]
    if kind == "float":
        return choice.choice((*FLOAT, choice.uniform(-2, 2)))
    return choice.choice((0, 0, 1, 1, 1, 2, 2, 3, 4, choice.choice(NUMBER)))


@cache
def _described(name: str) -> type[Description]:
    return operator(name)
