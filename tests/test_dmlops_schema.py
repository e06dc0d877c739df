"""The JSON Schema of descriptions accepts valid ones and rejects what cannot be a description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import dmlops
from dmlops import registry

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((Path(dmlops.__file__).parent / "schema.json").read_text())
WHOLE = jsonschema.Draft202012Validator(SCHEMA)

# What a schema sees: members that are missing, and values of a wrong type or out of all bounds.
STRUCTURAL = {
    "DML-OPERATOR-required",
    "DML-OPERATOR-enum-value",
    "DML-OPERATOR-fused-activation",
    "DML-OPERATOR-fused-activation-tensors",
    "DML-TENSOR-flags",
    "DML-TENSOR-rank",
    "DML-TENSOR-sizes",
}


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ROOT / f"generated/matrix/{name.lower()}.json").read_text())[
        "cases"
    ]
    return found


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", registry.OPERATORS)
def test_an_operators_cases(name: str) -> None:
    """All that are valid pass; all that lack a member or have a wrong value in one fail."""
    members = jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"})
    first = next(case for case in cases(name) if case["kind"] == "positive")
    WHOLE.validate({"type": first["type"], "desc": first["desc"]})
    for case in cases(name):
        if case["kind"] != "negative":
            assert members.is_valid(case["desc"]), case["id"]
        elif case["breaks"] in STRUCTURAL:
            assert not members.is_valid(case["desc"]), case["id"]
        spoiled = {**case["desc"], "Unknown": 1}
    assert not members.is_valid(spoiled)
    for member, value in first["desc"].items():
        wrong = {**first["desc"], member: {"Wrong": value}}
        assert not members.is_valid(wrong), member


def test_what_callers_send() -> None:
    for line in (ROOT / "tests/data/callers.jsonl").read_text().splitlines()[::5]:
        case = json.loads(line)
        WHOLE.validate({"type": case["type"], "desc": case["desc"]})


TENSOR = {"DataType": "FLOAT32", "Sizes": [2, 3]}
ABS = {"InputTensor": TENSOR, "OutputTensor": TENSOR}


@pytest.mark.parametrize(
    "value",
    [
        {"type": "ELEMENT_WISE_ABS", "desc": ABS},
        {"type": "DML_OPERATOR_ELEMENT_WISE_ABS", "desc": ABS, "id": 1, "$schema": "schema.json"},
        {
            "type": "ELEMENT_WISE_ABS",
            "desc": {
                **ABS,
                "InputTensor": {**TENSOR, "DataType": "DML_TENSOR_DATA_TYPE_FLOAT32", "Flags": ["NONE"]},
            },
        },
        {
            "type": "ELEMENT_WISE_ABS",
            "desc": {
                **ABS,
                "InputTensor": {"Type": "BUFFER", "Desc": {**TENSOR, "DataType": 1, "Strides": None}},
            },
        },
        {"type": "ELEMENT_WISE_ABS", "desc": {**ABS, "ScaleBias": {"Scale": "inf", "Bias": 0}}},
        {
            "type": "ELEMENT_WISE_ADD1",
            "desc": {
                "ATensor": TENSOR,
                "BTensor": TENSOR,
                "OutputTensor": TENSOR,
                "FusedActivation": {"Type": "ACTIVATION_ELU", "Alpha": 0.5},
            },
        },
    ],
)
def test_spellings_that_json_takes(value: dict[str, Any]) -> None:
    WHOLE.validate(value)
    dmlops.from_json({name: one for name, one in value.items() if name not in ("id", "$schema")})


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"type": "ELEMENT_WISE_ABS"},
        {"type": "ELEMENT_WISE_ABSS", "desc": ABS},
        {"type": "ELEMENT_WISE_ABS", "desc": {**ABS, "InputTensor": {"DataType": "FLOAT32"}}},
        {"type": "ELEMENT_WISE_ABS", "desc": {**ABS, "InputTensor": {**TENSOR, "DataType": "FLOAT"}}},
        {"type": "ELEMENT_WISE_ABS", "desc": {**ABS, "ScaleBias": {"Scale": 1}}},
    ],
)
def test_what_is_no_description(value: dict[str, Any]) -> None:
    assert not WHOLE.is_valid(value)
    with pytest.raises(dmlops.JsonError):
        dmlops.from_json(value)


def test_every_operator_and_member_has_a_text() -> None:
    for name in registry.OPERATORS:
        known = SCHEMA["$defs"][name]
        assert known["description"]
        assert all(member.get("description") for member in known["properties"].values()), name
