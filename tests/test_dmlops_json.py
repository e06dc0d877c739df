"""The JSON form: what is read, what is rejected, and with which error."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dmlops

VALID: dict[str, Any] = {
    "type": "DML_OPERATOR_GATHER_ELEMENTS",
    "desc": {
        "InputTensor": {
            "DataType": "FLOAT32",
            "Sizes": [3, 3],
            "Strides": [3, 1],
            "Flags": "NONE",
            "TotalTensorSizeInBytes": 36,
            "GuaranteedBaseOffsetAlignment": 0,
        },
        "IndicesTensor": {"DataType": "DML_TENSOR_DATA_TYPE_UINT32", "Sizes": [2, 3]},
        "OutputTensor": {"DataType": 1, "Sizes": [2, 3], "Strides": None},
        "Axis": 0,
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """VALID with one value replaced; `...` removes it."""
    result = copy.deepcopy(VALID)
    *way, last = path.split(".")
    place = result
    for name in way:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return result


def test_reads_names_suffixes_and_numbers() -> None:
    desc = dmlops.from_json(VALID)
    assert isinstance(desc, dmlops.GatherElements)
    assert desc.validate("6.4") == []
    assert desc.IndicesTensor.DataType is dmlops.TensorDataType.UINT32
    assert desc.OutputTensor is not None and desc.OutputTensor.DataType is dmlops.TensorDataType.FLOAT32
    assert dmlops.from_json(changed("type", "GATHER_ELEMENTS")) == desc


@pytest.mark.parametrize(
    "flags", ["OWNED_BY_DML", "DML_TENSOR_FLAG_OWNED_BY_DML", 1, ["OWNED_BY_DML"], "NONE|OWNED_BY_DML"]
)
def test_reads_flags(flags: Any) -> None:
    desc = dmlops.from_json(changed("desc.InputTensor.Flags", flags))
    assert isinstance(desc, dmlops.GatherElements)
    assert desc.InputTensor.Flags is dmlops.TensorFlags.OWNED_BY_DML


def test_round_trip_through_text() -> None:
    desc = dmlops.from_json(VALID)
    text = json.dumps(desc.to_json())
    assert dmlops.from_json(json.loads(text)) == desc
    assert json.loads(text)["desc"]["IndicesTensor"] == {"DataType": "UINT32", "Sizes": [2, 3]}


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        ("type", "DML_OPERATOR_GATHER_ELEMENT", "type", "did you mean DML_OPERATOR_GATHER_ELEMENTS?"),
        ("type", "gather", "type", "did you mean GATHER?"),
        ("type", ..., "type", "is missing; expected the name of an operator"),
        ("type", 5, "type", "found 5"),
        ("desc", [], "desc", "found a list; expected an object"),
        ("desc.Axis", ..., "desc.Axis", "is missing; expected an integer"),
        ("desc.Axis", True, "desc.Axis", "found true; expected an integer"),
        ("desc.Axis", 1.0, "desc.Axis", "found 1.0; expected an integer"),
        ("desc.Axis", float("nan"), "desc.Axis", "found nan; expected an integer"),
        ("desc.axis", 1, "desc.axis", "did you mean Axis?"),
        ("desc.InputTensor.Sizes", "3,3", "desc.InputTensor.Sizes", 'found "3,3"; expected a list'),
        ("desc.InputTensor.Sizes", [3, "3"], "desc.InputTensor.Sizes[1]", 'found "3"; expected an integer'),
        ("desc.InputTensor.Sizes", ..., "desc.InputTensor.Sizes", "missing"),
        ("desc.InputTensor.DataType", "FLOAT31", "desc.InputTensor.DataType", "did you mean FLOAT32?"),
        ("desc.InputTensor.DataType", None, "desc.InputTensor.DataType", "is missing"),
        ("desc.InputTensor.Flags", [["NONE"]], "desc.InputTensor.Flags", "found a list"),
        ("desc.InputTensor.Stride", [1], "desc.InputTensor.Stride", "did you mean Strides?"),
        ("desc.InputTensor.DimensionCount", 3, "desc.InputTensor.DimensionCount", "Sizes has 2 entries"),
    ],
)
def test_refuses_with_path_finding_and_expectation(path: str, value: Any, where: str, says: str) -> None:
    with pytest.raises(dmlops.JsonError) as caught:
        dmlops.from_json(changed(path, value))
    assert caught.value.path == where
    assert says in caught.value.reason


def test_an_absent_tensor_is_a_violation_no_error() -> None:
    for value in (None, ...):
        desc = dmlops.from_json(changed("desc.InputTensor", value))
        assert [v.rule for v in desc.validate("6.4")] == ["DML-OPERATOR-required"]


def test_numbers_out_of_range_are_violations_no_errors() -> None:
    desc = dmlops.from_json(changed("desc.InputTensor.Sizes", [3, 10**40]))
    assert [(v.rule, v.member) for v in desc.validate("6.4")] == [
        ("DML-OPERATOR-integer-range", "InputTensor.Sizes[1]")
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["FLOAT32", "A|B"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
PATHS = st.sampled_from(
    ["type", "desc", *(f"desc.{name}" for name in VALID["desc"])]
    + [
        f"desc.{name}.{field}"
        for name in ("InputTensor", "OutputTensor")
        for field in VALID["desc"]["InputTensor"]
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(JSON, st.builds(changed, PATHS, JSON)))
def test_any_json_value_is_a_description_or_a_json_error(value: Any) -> None:
    try:
        desc = dmlops.from_json(value)
    except dmlops.JsonError as error:
        assert error.reason
    else:
        desc.validate("6.4")
        assert dmlops.from_json(desc.to_json()) == desc


def test_integers_that_json_readers_round_may_be_strings() -> None:
    tensor = {"DataType": "FLOAT32", "Sizes": [1], "TotalTensorSizeInBytes": "18446744073709551612"}
    desc = {"type": "DML_OPERATOR_ELEMENT_WISE_ABS", "desc": {"InputTensor": tensor, "OutputTensor": tensor}}
    assert dmlops.from_json(desc).InputTensor.TotalTensorSizeInBytes == 2**64 - 4
    for text in ("4", "9007199254740992", "1e20", "99999999999999999999999"):
        tensor["TotalTensorSizeInBytes"] = text
        with pytest.raises(dmlops.JsonError, match="expected an integer"):
            dmlops.from_json(desc)


@pytest.mark.parametrize(
    ("data_type", "given", "value"),
    [
        ("FLOAT32", {"Float32": 2}, 2),
        ("DML_TENSOR_DATA_TYPE_INT8", {"Int8": -100}, -100),
        ("UINT64", {"UInt64": 423}, 423),
        ("FLOAT16", {"UInt16": 0x3C00}, 1.0),  # as IEEE 754 has 1 in 16 bits
        ("FLOAT32", 2.5, 2.5),
    ],
)
def test_scalar_unions_as_dxdispatch_has_them(data_type: str, given: Any, value: float) -> None:
    """Its parser takes an object with the field of the data type; of FLOAT16 that is UInt16."""
    tensor = {"DataType": data_type, "Sizes": [2]}
    members = {"OutputTensor": tensor, "ValueDataType": data_type, "Value": given}
    desc = dmlops.from_json({"type": "DML_OPERATOR_FILL_VALUE_CONSTANT", "desc": members})
    assert desc.Value == value  # type: ignore[attr-defined]
    assert desc.validate() == []


@pytest.mark.parametrize(
    ("data_type", "given", "path"),
    [
        ("FLOAT32", {"Int32": 2}, "desc.Value.Int32"),
        ("FLOAT32", {}, "desc.Value.Float32"),
        ("FLOAT16", {"UInt16": 65536}, "desc.Value.UInt16"),
        ("FLOAT16", {"UInt16": 0.5}, "desc.Value.UInt16"),
        ("NONSENSE", {"Float32": 2}, "desc.ValueDataType"),
        (["FLOAT32"], {"Float32": 2}, "desc.ValueDataType"),
    ],
)
def test_scalar_unions_with_another_field(data_type: Any, given: Any, path: str) -> None:
    tensor = {"DataType": "FLOAT32", "Sizes": [2]}
    members = {"OutputTensor": tensor, "ValueDataType": data_type, "Value": given}
    with pytest.raises(dmlops.JsonError) as caught:
        dmlops.from_json({"type": "DML_OPERATOR_FILL_VALUE_CONSTANT", "desc": members})
    assert caught.value.path == path


def test_an_axis_below_0() -> None:
    (violation,) = dmlops.from_json(changed("desc.Axis", -1)).validate()
    assert violation.rule == "DML-OPERATOR-integer-range"
    assert violation.message.endswith("the range of UINT; axes count from 0, the first dimension")


def test_a_truth_value_is_written_as_one() -> None:
    """As in C, also if it was given as a number; other numbers are kept, for `validate` to judge."""
    tensor = {"DataType": "FLOAT32", "Sizes": [2, 3]}
    members = {"InputTensor": tensor, "OutputTensor": tensor, "Axis": 0, "AxisDirection": "INCREASING"}
    for number, written in ((1, True), (0, False), (True, True), (2, 2)):
        desc = dmlops.from_json(
            {"type": "CUMULATIVE_SUMMATION", "desc": {**members, "HasExclusiveSum": number}}
        )
        found = desc.to_json()["desc"]["HasExclusiveSum"]
        assert found == written
        assert type(found) is type(written)
