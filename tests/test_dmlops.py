"""Descriptions in Python: validation, levels, inference, and the promise never to raise."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dmlops
from dmlops import (
    Description,
    FeatureLevel,
    Gather,
    GatherElements,
    GatherNd,
    GatherNd1,
    TensorDataType,
    TensorDesc,
    TensorFlags,
)
from dmlops.enums import feature_level

FLOAT32, UINT32 = TensorDataType.FLOAT32, TensorDataType.UINT32
NEWEST = max(FeatureLevel)


def tensor(*sizes: int, type: TensorDataType = FLOAT32, **fields: Any) -> TensorDesc:
    return TensorDesc(type, sizes, **fields)


def gather_elements(**changes: Any) -> GatherElements:
    members: dict[str, Any] = {
        "InputTensor": tensor(4, 5),
        "IndicesTensor": tensor(3, 5, type=UINT32),
        "OutputTensor": tensor(3, 5),
        "Axis": 0,
    }
    return GatherElements(**(members | changes))


def broken(desc: Description, level: str = "6.4") -> list[tuple[str, str]]:
    return [(v.rule.removeprefix("DML-"), v.member) for v in desc.validate(level)]


def valid(operator: str) -> Any:
    indices = {
        "GATHER": tensor(1, 7, type=UINT32),
        "GATHER_ELEMENTS": tensor(3, 5, type=UINT32),
        "GATHER_ND": tensor(1, 6, 2, type=UINT32),
        "GATHER_ND1": tensor(4, 6, 1, type=UINT32),
    }[operator]
    sizes = (4, 5, 3)[: indices.DimensionCount]
    inputs: dict[str, Any] = {"InputTensor": tensor(*sizes), "IndicesTensor": indices}
    match operator:
        case "GATHER":
            return Gather(**inputs, Axis=1, IndexDimensions=1).infer()
        case "GATHER_ELEMENTS":
            return GatherElements(**inputs, Axis=0).infer()
        case "GATHER_ND":
            return GatherNd(**inputs, InputDimensionCount=3, IndicesDimensionCount=2).infer()
        case _:
            counts: dict[str, Any] = {
                "InputDimensionCount": 3,
                "IndicesDimensionCount": 3,
                "BatchDimensionCount": 1,
            }
            return GatherNd1(**inputs, **counts).infer()


OPERATORS = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")


@pytest.mark.parametrize("operator", OPERATORS)
def test_valid_descriptions_have_no_violations(operator: str) -> None:
    desc = valid(operator)
    assert operator == desc.OPERATOR
    assert desc.validate("6.4") == desc.validate(NEWEST) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"Axis": 2}, [("GATHER_ELEMENTS-axis-range", "Axis")]),
        ({"Axis": -1}, [("OPERATOR-integer-range", "Axis")]),
        ({"Axis": 1 << 32}, [("OPERATOR-integer-range", "Axis")]),
        ({"InputTensor": None}, [("OPERATOR-required", "InputTensor")]),
        ({"OutputTensor": tensor(3, 5, 1)}, [("GATHER_ELEMENTS-same-rank", "OutputTensor.DimensionCount")]),
        ({"OutputTensor": tensor(3, 4)}, [("GATHER_ELEMENTS-output-sizes", "OutputTensor.Sizes")]),
        (
            {"OutputTensor": tensor(3, 5, type=TensorDataType.INT8)},
            [("GATHER_ELEMENTS-same-type", "OutputTensor.DataType")],
        ),
        (
            {"IndicesTensor": tensor(3, 5, type=FLOAT32)},
            [("OPERATOR-data-type", "IndicesTensor.DataType")],
        ),
        (
            {"IndicesTensor": tensor(3, 4, type=UINT32), "OutputTensor": tensor(3, 4)},
            [("GATHER_ELEMENTS-indices-sizes", "IndicesTensor.Sizes[1]")],
        ),
        ({"InputTensor": tensor()}, [("TENSOR-rank", "InputTensor.DimensionCount")]),
        ({"InputTensor": tensor(*[1] * 9)}, [("TENSOR-rank", "InputTensor.DimensionCount")]),
        ({"InputTensor": tensor(4, 0)}, [("TENSOR-sizes", "InputTensor.Sizes[1]")]),
        ({"InputTensor": tensor(4, 1 << 32)}, [("OPERATOR-integer-range", "InputTensor.Sizes[1]")]),
        ({"InputTensor": tensor(4, 5, Strides=(5,))}, [("TENSOR-strides-count", "InputTensor.Strides")]),
        (
            {"InputTensor": tensor(4, 5, Strides=(5, -1))},
            [("OPERATOR-integer-range", "InputTensor.Strides[1]")],
        ),
        (
            {"InputTensor": tensor(4, 5, TotalTensorSizeInBytes=76)},
            [("TENSOR-total-size", "InputTensor.TotalTensorSizeInBytes")],
        ),
        (
            {"InputTensor": tensor(4, 5, TotalTensorSizeInBytes=1 << 35)},
            [("TENSOR-total-size-limit", "InputTensor.TotalTensorSizeInBytes")],
        ),
        (
            {"InputTensor": tensor(4, 5, GuaranteedBaseOffsetAlignment=3)},
            [("TENSOR-alignment-power-of-two", "InputTensor.GuaranteedBaseOffsetAlignment")],
        ),
        (
            {"InputTensor": tensor(4, 5, GuaranteedBaseOffsetAlignment=1)},
            [("TENSOR-alignment-element", "InputTensor.GuaranteedBaseOffsetAlignment")],
        ),
        ({"InputTensor": tensor(4, 5, Flags=2)}, [("TENSOR-flags", "InputTensor.Flags")]),
        (
            {"OutputTensor": tensor(3, 5, Flags=TensorFlags.OWNED_BY_DML)},
            [("TENSOR-flags-owned", "OutputTensor.Flags")],
        ),
        (  # a type that no table has; that it differs from the output's is not worth telling
            {"InputTensor": TensorDesc(99, (4, 5))},  # type: ignore[arg-type]
            [("OPERATOR-data-type", "InputTensor.DataType")],
        ),
        (  # each stage hides what comes after it: first counts, then sizes
            {"Axis": 7, "OutputTensor": tensor(9, 9, type=TensorDataType.INT64)},
            [("GATHER_ELEMENTS-axis-range", "Axis")],
        ),
        (
            {"Axis": 7, "IndicesTensor": tensor(0, 5, type=UINT32), "OutputTensor": tensor(3, 0)},
            [("TENSOR-sizes", "IndicesTensor.Sizes[0]"), ("TENSOR-sizes", "OutputTensor.Sizes[1]")],
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_member(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert broken(gather_elements(**changes)) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"InputTensor": tensor(4, 5, Strides=(0, 0))},
        {"InputTensor": tensor(4, 5, Strides=(1, 4))},
        {"InputTensor": tensor(4, 5, TotalTensorSizeInBytes=80)},
        {"InputTensor": tensor(4, 5, TotalTensorSizeInBytes=4294967295 * 4)},
        {"InputTensor": tensor(4, 5, GuaranteedBaseOffsetAlignment=4)},
        {"InputTensor": tensor(4, 5, Flags=TensorFlags.OWNED_BY_DML)},
        {
            "InputTensor": tensor(4294967295, 1),
            "IndicesTensor": tensor(3, 1, type=UINT32),
            "OutputTensor": tensor(3, 1),
        },
    ],
)
def test_unusual_but_valid(changes: dict[str, Any]) -> None:
    assert broken(gather_elements(**changes)) == []


def test_a_message_shows_the_values_and_what_would_be_right() -> None:
    indices = tensor(3, 4, type=UINT32)
    (violation,) = gather_elements(IndicesTensor=indices, OutputTensor=tensor(3, 4)).validate("6.4")
    assert violation.message == (
        "IndicesTensor.Sizes[1] is 4; it must equal InputTensor.Sizes[1], 5 (only the axis may differ)"
    )
    (violation,) = gather_elements(OutputTensor=tensor(2, 5)).validate("6.4")
    assert violation.message == "OutputTensor.Sizes is [2, 5]; it must equal IndicesTensor.Sizes, [3, 5]"


def test_messages_of_support_tables() -> None:
    desc = gather_elements(InputTensor=tensor(4, 5, type=TensorDataType.INT64))
    assert desc.validate("2.1")[0].message == (
        "InputTensor.DimensionCount is 2; feature level 2.1 supports 4; 2 needs feature level 3.0"
    )
    assert desc.validate("3.0")[0].message == (
        "InputTensor.DataType is INT64; feature level 3.0 supports FLOAT32, FLOAT16, INT32, INT16, INT8, "
        "UINT32, UINT16 and UINT8; INT64 needs feature level 4.1"
    )
    unknown = gather_elements(InputTensor=tensor(4, 5, type=TensorDataType.UINT4))
    assert unknown.validate("6.4")[0].message.endswith("INT32, INT16 and 5 more")
    number = gather_elements(InputTensor=TensorDesc(99, (4, 5)))  # type: ignore[arg-type]
    assert number.validate("6.4")[0].message.startswith(
        "InputTensor.DataType is 99; feature level 6.4 supports"
    )


def test_saturated_values_are_shown_as_counted() -> None:
    sizes = [4294967295] * 2
    same = gather_elements(
        InputTensor=tensor(*sizes), IndicesTensor=tensor(*sizes, type=UINT32), OutputTensor=tensor(*sizes)
    )
    first = same.validate("6.4")[0]
    assert first.rule == "DML-TENSOR-element-count"
    assert first.message == (
        "the product of InputTensor.Sizes is 9223372036854775807; it must be at most 4294967295"
    )


@pytest.mark.parametrize(
    ("type_", "rank", "needed"),
    [("FLOAT32", 4, "2.1"), ("FLOAT32", 2, "3.0"), ("INT64", 4, "4.1"), ("UINT4", 4, None)],
)
def test_min_feature_level(type_: str, rank: int, needed: str | None) -> None:
    sizes = [2] * rank
    data = TensorDataType[type_]
    desc = GatherElements(
        InputTensor=tensor(*sizes, type=data),
        IndicesTensor=tensor(*sizes, type=UINT32),
        OutputTensor=tensor(*sizes, type=data),
        Axis=0,
    )
    assert desc.min_feature_level() == (None if needed is None else feature_level(needed))
    accepting = [level for level in FeatureLevel if not desc.validate(level)]
    assert accepting == ([] if needed is None else [level for level in FeatureLevel if str(level) >= needed])


def test_levels_before_the_operator() -> None:
    (violation,) = gather_elements().validate("2.0")
    assert violation.rule == "DML-OPERATOR-since"
    assert violation.message == "GATHER_ELEMENTS needs feature level 2.1; the requested level is 2.0"


@pytest.mark.parametrize("level", [6.4, np.float64(6.4), 2.1])
def test_a_level_as_a_number(level: float) -> None:
    desc = gather_elements(InputTensor=tensor(4, 5, type=TensorDataType.INT64))
    for method in (desc.validate, desc.advice):
        assert method(level) == method(str(level))
    assert dmlops.registry.operators(level) == dmlops.registry.operators(str(level))


@pytest.mark.parametrize("level", ["6.5", "", "64", "6_4", 7, 1, True, False, 6.5, 6, None, "6.4 "])
def test_levels_that_do_not_exist_are_refused(level: Any) -> None:
    with pytest.raises(ValueError, match="there is no feature level"):
        gather_elements().validate(level)


def test_support_is_complete_and_shared() -> None:
    for operator in OPERATORS:
        described = type(valid(operator))
        assert list(described.SUPPORT) == [level for level in FeatureLevel if level >= described.SINCE]
        assert described.SUPPORT[NEWEST] is described.SUPPORT[feature_level("4.1")]
        for table in described.SUPPORT.values():
            assert list(table) == ["InputTensor", "IndicesTensor", "OutputTensor"]


def test_infer_keeps_what_still_fits() -> None:
    padded = tensor(3, 5, Strides=(8, 1), TotalTensorSizeInBytes=128)
    kept = gather_elements(OutputTensor=padded).infer()
    assert kept.OutputTensor == padded
    changed = gather_elements(OutputTensor=dataclasses.replace(padded, Sizes=(1, 1))).infer()
    assert changed.OutputTensor == tensor(3, 5)
    retyped = gather_elements(OutputTensor=dataclasses.replace(padded, DataType=UINT32)).infer()
    assert retyped.OutputTensor == tensor(3, 5, Strides=(8, 1))
    with pytest.raises(ValueError, match="IndicesTensor is absent"):
        gather_elements(IndicesTensor=None).infer()


def test_descriptions_are_values() -> None:
    desc = gather_elements(InputTensor=TensorDesc(1, [4, 5], Strides=[5, 1]))  # type: ignore[arg-type]
    assert desc == gather_elements(InputTensor=tensor(4, 5, Strides=(5, 1)))
    assert hash(desc) == hash(dataclasses.replace(desc))
    assert pickle.loads(pickle.dumps(desc)) == desc
    assert desc.InputTensor.DataType is FLOAT32
    with pytest.raises(dataclasses.FrozenInstanceError):
        desc.Axis = 1  # type: ignore[misc]


def test_tensor_properties() -> None:
    packed = tensor(2, 3, 4, type=TensorDataType.FLOAT16)
    assert (packed.DimensionCount, packed.element_strides, packed.implied_size) == (3, (12, 4, 1), 48)
    padded = tensor(2, 3, type=TensorDataType.UINT8, Strides=(5, 1))
    assert (padded.element_strides, padded.implied_size, padded.size_in_bytes) == ((5, 1), 8, 8)
    assert tensor(3, type=TensorDataType.UINT4).implied_size == 4
    assert tensor(3, TotalTensorSizeInBytes=64).size_in_bytes == 64


INTEGERS = st.one_of(
    st.integers(-2, 9), st.integers(), st.sampled_from([2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**30])
)
LISTS = st.lists(INTEGERS, max_size=10).map(tuple)
TENSORS = st.one_of(
    st.none(),
    st.builds(
        TensorDesc,
        st.one_of(st.sampled_from(TensorDataType), INTEGERS),
        LISTS,
        Strides=st.one_of(st.none(), LISTS),
        Flags=st.one_of(st.sampled_from(TensorFlags), INTEGERS),
        TotalTensorSizeInBytes=st.one_of(st.none(), INTEGERS),
        GuaranteedBaseOffsetAlignment=INTEGERS,
    ),
)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """Anything of the right Python types; half of the time, one change away from a valid description."""
    start = valid(draw(st.sampled_from(OPERATORS)))
    names = [member.name for member in start.MEMBERS]
    if draw(st.booleans()):
        names = [draw(st.sampled_from(names))]
    changed: Description = dataclasses.replace(
        start, **{name: draw(TENSORS if name.endswith("Tensor") else INTEGERS) for name in names}
    )
    return changed


@settings(max_examples=400, deadline=None)
@given(descriptions(), st.sampled_from(FeatureLevel))
def test_validate_never_raises_and_messages_are_text(desc: Description, level: FeatureLevel) -> None:
    for violation in desc.validate(level):
        assert violation.rule.startswith(("DML-OPERATOR-", "DML-TENSOR-", f"DML-{desc.OPERATOR}-"))
        assert violation.member.split(".")[0] in {"Type", *(member.name for member in desc.MEMBERS)}
        assert "\n" not in violation.message
    needed = desc.min_feature_level()
    if needed is not None:
        assert desc.validate(needed) == []


def test_integers_too_long_to_print_are_reported() -> None:
    (violation,) = gather_elements(Axis=10**5000).validate("6.4")
    assert violation.rule == "DML-OPERATOR-integer-range"


def test_import_loads_no_operator_and_no_numpy() -> None:
    code = (
        "import sys, dmlops; print([m for m in sys.modules if m.startswith(('dmlops.operators.', 'numpy'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def public(value: object) -> Iterator[tuple[str, object]]:
    """The public names that a module or a class itself defines."""
    for name, one in vars(value).items():
        inside = getattr(one, "__module__", "") or ""
        if not name.startswith("_") and inside.startswith("dmlops") and not isinstance(one, property):
            if inspect.isclass(one) or inspect.isfunction(one):
                yield name, one
        elif isinstance(one, property) and not name.startswith("_"):
            yield name, one


@pytest.mark.parametrize("name", dmlops.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    value = getattr(dmlops, name)
    assert inspect.getdoc(value), name
    for inner, one in public(value):
        assert inspect.getdoc(one), f"{name}.{inner}"


@pytest.mark.parametrize("name", dmlops.registry.OPERATORS)
def test_an_operators_text_speaks_of_each_member(name: str) -> None:
    described = dmlops.registry.operator(name)
    text = inspect.getdoc(described) or ""
    for member in described.MEMBERS:
        assert re.search(rf"^{member.name} \(.+\): \w", text, re.MULTILINE), member.name
    assert text.partition("\n\n")[0].endswith(".")
