"""Values of any type in any member: those of a known form are normalized, all others are violations."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from decimal import Decimal
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dmlops
from dmlgen.cli import ROOT
from dmlops import Description, TensorDesc
from dmlops.facts import Rule
from dmlops.registry import OPERATORS

WRONG_TYPE = "DML-OPERATOR-type-of-member"
Position = tuple[str | int, ...]  # ("InputTensor", "Sizes", 1)


class Color(IntEnum):
    RED = 1


@cache
def valid(name: str) -> Description:
    """A valid description, from the matrices: the one with most members."""
    matrix = json.loads((ROOT / f"generated/matrix/{name.lower()}.json").read_text(encoding="utf-8"))
    cases = [case for case in matrix["cases"] if case["expect"]["ok"]]
    case = max(cases, key=lambda case: len(case["desc"]))
    return dmlops.from_json({"type": case["type"], "desc": case["desc"]})


def positions(value: Any) -> Iterator[Position]:
    """Every place in a description that holds something."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield (field.name,)
            yield from ((field.name, *rest) for rest in positions(getattr(value, field.name)))
    elif isinstance(value, tuple):
        for index, entry in enumerate(value):
            yield (index,)
            yield from ((index, *rest) for rest in positions(entry))


def at(value: Any, position: Position) -> Any:
    for step in position:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


def replaced(value: Any, position: Position, new: Any) -> Any:
    """The value with something else at a position."""
    if not position:
        return new
    step, *rest = position
    inner = replaced(at(value, (step,)), tuple(rest), new)
    if isinstance(step, int):
        return (*value[:step], inner, *value[step + 1 :])
    return dataclasses.replace(value, **{step: inner})


def path_of(position: Position) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in position)[1:]


WRONG_EVERYWHERE: list[Any] = [
    "SIDEWAYS",
    "7",
    b"1",
    1j,
    Decimal(1),
    object(),
    int,
    len,
    {"Sizes": 1},
    {1, 2},
    np.array(5),
    np.datetime64("2020-01-01"),
    np.str_("1"),
    Rule("DML-X", "docs"),
]


def repr_of_type(value: Any) -> str:
    return type(value).__name__


def answers(desc: Description) -> list[tuple[str, str]]:
    """Everything that a description can be asked, so that nothing raises; the violations."""
    found = [(violation.rule, violation.member) for violation in desc.validate()]
    for level in ("1.0", "4.1"):
        assert desc.validate(level) or not found
    assert (desc.min_feature_level() is None) >= bool(found)
    text = json.dumps(desc.to_json(), allow_nan=False)
    assert json.loads(text)
    assert repr(desc).startswith(type(desc).__name__)
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_a_wrong_type_in_any_place_is_a_violation(name: str) -> None:
    start = valid(name)
    for number, position in enumerate(positions(start)):
        held = at(start, position)
        wrong = [WRONG_EVERYWHERE[number % len(WRONG_EVERYWHERE)], "SIDEWAYS"]
        unions = {member.name for member in start.MEMBERS if member.typed_by}
        if isinstance(held, int) and not isinstance(held, bool) and position[0] not in unions:
            wrong += [0.5, np.float32(1)]
        if isinstance(held, float) or held is None:
            wrong += [True]
        for value in wrong:
            desc = replaced(start, position, value)
            found = answers(desc)
            assert {rule for rule, _ in found} == {WRONG_TYPE}, (position, value, found)
            assert path_of(position).startswith(found[0][1].partition("[")[0]), (position, value, found)
            with pytest.raises(ValueError, match="must be"):
                desc.to_ctypes()
            with pytest.raises(ValueError, match="must be"):
                dataclasses.replace(desc).infer()


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.sampled_from([*WRONG_EVERYWHERE, Color.RED, dmlops.TensorDataType.INT8, np.int64(3), np.bool_(True)]),
    st.lists(st.one_of(st.integers(0, 3), st.text(max_size=2), st.none(), st.floats()), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.builds(TensorDesc, st.text(max_size=3), st.lists(st.integers(0, 3), max_size=2)),
    st.just(valid("ACTIVATION_RELU")),
    st.just(dmlops.ScaleBias(Scale="x", Bias=None)),  # type: ignore[arg-type]
)


@st.composite
def changed(draw: st.DrawFn) -> Description:
    """A valid description with anything at all in up to three places."""
    desc = valid(draw(st.sampled_from(["GEMM", "CONVOLUTION", "JOIN", "SLICE1", "LSTM", "CAST", "RESAMPLE"])))
    for _ in range(draw(st.integers(1, 3))):
        places = list(positions(desc))
        desc = replaced(desc, draw(st.sampled_from(places)), draw(ANYTHING))
    return desc


@settings(max_examples=600, deadline=None)
@given(changed())
def test_nothing_raises_and_what_passes_survives_json(desc: Description) -> None:
    if not answers(desc):
        assert dmlops.from_json(json.loads(json.dumps(desc.to_json()))) == desc


@pytest.mark.parametrize("name", OPERATORS)
def test_numpy_numbers_lists_and_names_are_brought_into_one_form(name: str) -> None:
    start = valid(name)

    def loose(value: Any) -> Any:
        """The description in the forms that callers have."""
        if isinstance(value, IntEnum) and value.name:
            return value.name
        match value:
            case bool():
                return np.bool_(value)
            case int() if value < 1 << 63:
                return np.int64(value)
            case float():
                return np.float64(value)
            case tuple() if value and all(type(one) is int for one in value):
                return np.array(value) if max(value) < 1 << 63 else list(value)
            case tuple():
                return [loose(one) for one in value]
            case TensorDesc() | Description() | dmlops.ScaleBias() | dmlops.Size2d():
                members = {one.name: loose(getattr(value, one.name)) for one in dataclasses.fields(value)}
                return type(value)(**members)
            case _:
                return value

    desc = loose(start)
    assert desc == start
    assert [v.message for v in desc.validate()] == [v.message for v in start.validate()] == []
    assert json.dumps(desc.to_json()) == json.dumps(start.to_json())
    assert dmlops.from_json(desc.to_json()) == start


@pytest.mark.parametrize(
    "given_",
    ["FLOAT32", "DML_TENSOR_DATA_TYPE_FLOAT32", 1, np.uint8(1), dmlops.TensorDataType.FLOAT32],
)
def test_every_spelling_of_an_enumerator(given_: Any) -> None:
    assert TensorDesc(given_, [2]).DataType is dmlops.TensorDataType.FLOAT32


@pytest.mark.parametrize("flags", ["OWNED_BY_DML", "NONE|OWNED_BY_DML", ["OWNED_BY_DML"], np.int32(1)])
def test_every_spelling_of_flags(flags: Any) -> None:
    assert TensorDesc("FLOAT32", [2], Flags=flags).Flags is dmlops.TensorFlags.OWNED_BY_DML


def test_a_name_that_comes_close_is_suggested() -> None:
    tensor = TensorDesc("FLOAT23", (2,))
    (violation,) = dmlops.ElementWiseAbs(InputTensor=tensor, OutputTensor=TensorDesc("INT8", (2,))).validate()
    assert violation.message == (
        'InputTensor.DataType is "FLOAT23"; it must be a value of DML_TENSOR_DATA_TYPE; did you mean FLOAT32?'
    )


@pytest.mark.parametrize(
    ("level", "suggestion"),
    [
        (6.6, '"6.4"'),
        (6, '"6.0"'),
        ("4.2", '"4.1" or "5.0"'),
        ("7.0", '"6.4"'),
        ("0.5", '"1.0"'),
        ("5.10", '"5.2" or "6.0"'),
    ],
)
def test_levels_are_suggested_by_number(level: Any, suggestion: str) -> None:
    with pytest.raises(ValueError, match=rf"did you mean {suggestion}\?"):
        valid("GATHER").validate(level)


@pytest.mark.parametrize(
    "level", [[], {}, None, ([],), object(), float("nan"), 10**5000, "\x1b[31m"], ids=repr_of_type
)
def test_what_cannot_be_a_level_is_a_value_error(level: Any) -> None:
    with pytest.raises(ValueError, match=r"^there is no feature level [ -~]*; they are 1.0, 2.0,"):
        valid("GATHER").validate(level)


def test_a_tensor_for_an_array() -> None:
    assert TensorDesc.of(np.zeros((2, 3), np.float16)) == TensorDesc("FLOAT16", (2, 3))
    assert TensorDesc.of(np.zeros(4, np.uint64).reshape(2, 2).T) == TensorDesc("UINT64", (2, 2))
    for type_ in (np.bool_, np.complex64, "U3"):
        with pytest.raises(ValueError, match="no tensor has elements of type"):
            TensorDesc.of(np.zeros(2, type_))


def test_values_print_as_they_are_written() -> None:
    names = {**vars(dmlops), **{name: getattr(dmlops, name) for name in dmlops.__all__}}
    for name in ("GEMM", "CONVOLUTION", "SLICE1", "RESAMPLE"):
        desc = valid(name)
        assert eval(repr(desc), names) == desc
    assert repr(TensorDesc("INT8", (2,))) == "TensorDesc(DataType=TensorDataType.INT8, Sizes=(2,))"


def test_descriptions_are_final_and_asdict_shows_members_only() -> None:
    with pytest.raises(TypeError, match="Gather is final"):
        type("Mine", (dmlops.Gather,), {})
    assert set(dataclasses.asdict(TensorDesc("INT8", (2,)))) == {
        "DataType",
        "Sizes",
        "Flags",
        "Strides",
        "TotalTensorSizeInBytes",
        "GuaranteedBaseOffsetAlignment",
    }


@pytest.mark.parametrize(
    "name", ["GATHER_ELEMENTS", "DML_OPERATOR_GATHER_ELEMENTS", "GatherElements", "gather_elements"]
)
def test_operators_are_found_by_any_spelling(name: str) -> None:
    assert dmlops.registry.operator(name) is dmlops.GatherElements
    assert dmlops.registry.since(name, "InputTensor", "DML_TENSOR_DATA_TYPE_INT64") == dmlops.FeatureLevel(
        "4.1"
    )


def test_unknown_names_are_key_errors_with_a_suggestion() -> None:
    registry = dmlops.registry
    for query, nearest in (
        (lambda: registry.operator("GATHER_ELEMENT"), "GATHER_ELEMENTS"),
        (lambda: registry.support("Gathr", "6.4"), "GATHER"),
        (lambda: registry.since("GATHER", "InputTenso", "INT8"), "InputTensor"),
        (lambda: registry.since("GATHER", "InputTensor", "INT9"), "INT8"),
    ):
        with pytest.raises(KeyError, match=rf"did you mean {nearest}\?"):
            query()


def test_everything_public_is_listed_and_there() -> None:
    assert len(set(dmlops.__all__)) == len(dmlops.__all__)
    assert {getattr(dmlops, name).__name__.rpartition(".")[2] for name in dmlops.__all__} == set(
        dmlops.__all__
    )
    assert set(dmlops.__all__) <= set(dir(dmlops))
