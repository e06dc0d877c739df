"""The data of the matrices, worked out from the definitions alone.

Where an operator has a kernel, its data comes from the form that was recognised, as reference and shader do:
a recogniser that is wrong would be wrong in all three. Here the definition itself says what each element is.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dmlgen.cases.definition import Definition
from dmlgen.cases.elements import rounded
from dmlgen.description import Nested, Struct, Tensor, from_json
from dmlgen.judge import GeneralJudge
from dmlgen.registry import Member, Operator
from dmlgen.resolve import load_registry

ROOT = Path(__file__).parents[1]
REGISTRY = load_registry(ROOT / "specs")
GENERAL = GeneralJudge(REGISTRY)
DEFINED = {operator.slug: operator for operator in REGISTRY.operators if operator.defines is not None}
BY_TYPE = {operator.c_constant: operator for operator in REGISTRY.operators}


def cases(operator: Operator) -> list[dict[str, Any]]:
    content = json.loads((ROOT / f"generated/matrix/{operator.slug}.json").read_bytes())
    return [case for case in content["cases"] if "outputs" in case]


def described(member: Member, value: Any) -> Any:
    """A member's value from the JSON form of a case."""
    if isinstance(value, dict) and "Sizes" in value:
        strides = tuple(value["Strides"]) if "Strides" in value else None
        return Tensor(REGISTRY.data_type[value["DataType"]].value, tuple(value["Sizes"]), strides)
    if isinstance(value, dict) and "type" in value:
        nested = BY_TYPE[value["type"]]
        given = ((name, described(nested.member[name], part)) for name, part in value["desc"].items())
        return Nested(nested.name, tuple(given))
    if isinstance(value, dict):
        return Struct(tuple(value.items()))
    if isinstance(value, list):
        return tuple(described(member, entry) for entry in value)
    return from_json(REGISTRY, member, value) if isinstance(value, str) else value


def elements(tensor: Any, given: Any) -> Any:
    """Elements as numbers; null, where any value is right, stays None."""
    if not isinstance(tensor, Tensor):
        return tuple(elements(*pair) for pair in zip(tensor, given, strict=True))
    type_ = GENERAL.type_names[tensor.DataType]
    entry = REGISTRY.data_type[type_]
    if entry.kind == "float":
        return tuple(None if one is None else rounded(float(one), entry.bits) for one in given)
    return tuple(None if one is None else int(one) for one in given)


def computed(operator: Operator, case: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The elements that a case's description and inputs give, and those that it expects."""
    assert operator.defines is not None
    description = {one.name: described(one, case["desc"].get(one.name)) for one in operator.members}
    inputs, expected = (
        {name: elements(description[name], given) for name, given in case[key].items()}
        for key in ("inputs", "outputs")
    )
    definition = Definition(GENERAL.judge_of(operator), operator.defines)
    return list(definition.elements(description, inputs)), expected


@pytest.mark.parametrize("slug", DEFINED)
def test_definitions_give_the_data(slug: str) -> None:
    """To the last bit: both round the same number once, but on examples, which pages print rounded."""
    compared = 0
    for case in cases(DEFINED[slug]):
        found, expected = computed(DEFINED[slug], case)
        for one in found:
            given = expected[one.output] if one.entry is None else expected[one.output][one.entry]
            wanted = given[one.place]
            if case["kind"] == "example":
                assert abs(one.value - wanted) <= one.error, (case["id"], one)
            elif not (math.isnan(one.value) and math.isnan(wanted)):
                assert one.value == wanted, (case["id"], one)
            compared += 1
    assert compared
