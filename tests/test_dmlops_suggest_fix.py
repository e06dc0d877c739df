"""The closest valid description: found for nearly every invalid one, with the changes made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dmlops
from dmlops import GatherElements, TensorDesc, closest, registry
from dmlops.enums import feature_level

ROOT = Path(__file__).parents[1]
SHARE = 20  # one of so many negative cases is tried; the whole takes minutes


def negatives() -> list[dict[str, Any]]:
    cases = [
        case
        for name in registry.OPERATORS
        for case in json.loads((ROOT / f"generated/matrix/{name.lower()}.json").read_text())["cases"]
        if case["kind"] == "negative"
    ]
    return cases[::SHARE]


def described(case: dict[str, Any]) -> dmlops.Description:
    return dmlops.from_json({"type": case["type"], "desc": case["desc"]})


def test_one_change_mends_nearly_all_negative_cases() -> None:
    """Apart from operators that a level does not have, which nothing mends."""
    steps = []
    for case in negatives():
        desc, level = described(case), case["feature_level"]
        if feature_level(level) < desc.SINCE:
            continue
        found = closest(desc, level)
        steps.append(0 if found is None else found.steps)
        if found is not None:
            assert found.desc.validate(level) == [], case["id"]
            assert found.changes and found.changes[0].because == desc.validate(level)[0]
            assert found.desc != desc
    assert len(steps) > 300
    assert steps.count(1) >= 0.95 * len(steps)  # 97.2 % of 2000 cases; a sample of 400 varies by 1 %


MISTAKES = [json.loads(line) for line in (ROOT / "tests/data/mistakes.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", MISTAKES, ids=[case["what"] for case in MISTAKES])
def test_a_fix_keeps_what_was_said(case: dict[str, Any]) -> None:
    """Mistakes that people make, each with the values that a person would change, by hand."""
    desc, level = described(case), case["level"]
    assert desc.validate(level)
    found = closest(desc, level)
    assert found is not None
    fixes = [{change.member: change.new for change in one.changes} for one in (found, *found.others)]
    repeated = {"ActivationDescs"}  # as often as their count says
    assert any({**fix, **case["fix"]} == fix and fix.keys() - case["fix"] <= repeated for fix in fixes), fixes
    assert all(one.desc.validate(level) == [] for one in (found, *found.others))


def test_what_is_as_near_is_shown() -> None:
    indices = TensorDesc("INT32", (1, 1, 3, 8))
    updates = TensorDesc("FLOAT32", (1, 1, 2, 8))
    data = TensorDesc("FLOAT32", (1, 1, 4, 8))
    desc = dmlops.ScatterElements(
        InputTensor=data, IndicesTensor=indices, UpdatesTensor=updates, OutputTensor=data, Axis=2
    )
    found = closest(desc)
    assert found is not None
    assert {one.changes[0].member for one in (found, *found.others)} == {
        "IndicesTensor.Sizes",
        "UpdatesTensor.Sizes",
    }


REFUSALS = [json.loads(line) for line in (ROOT / "tests/data/refusals.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", REFUSALS, ids=[case["what"] for case in REFUSALS])
def test_what_directml_is_known_to_refuse_can_be_mended(case: dict[str, Any]) -> None:
    desc, level = described(case), case["level"]
    found = closest(desc, level)
    assert found is not None
    assert found.desc.validate(level) == []
    assert found.steps == (1 if desc.validate(level) else 0)


def test_what_callers_send_is_its_own_closest_description() -> None:
    for line in (ROOT / "tests/data/callers.jsonl").read_text().splitlines():
        desc = described(json.loads(line))
        assert closest(desc) == dmlops.Closest(desc, ())


def gathered(**changed: Any) -> GatherElements:
    members = {
        "InputTensor": TensorDesc("FLOAT32", (4, 3)),
        "IndicesTensor": TensorDesc("INT64", (2, 3)),
        "OutputTensor": TensorDesc("FLOAT32", (2, 3)),
        "Axis": 0,
    }
    return GatherElements(**{**members, **changed})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"Axis": 2}, [("Axis", 2, 0, True)]),
        ({"OutputTensor": None}, [("OutputTensor", None, {"DataType": "FLOAT32", "Sizes": [2, 3]}, True)]),
        (
            {"OutputTensor": TensorDesc("FLOAT16", (2, 3))},
            [("OutputTensor.DataType", "FLOAT16", "FLOAT32", True)],
        ),
        (
            {"IndicesTensor": TensorDesc("INT64", (2, 5)), "OutputTensor": TensorDesc("FLOAT32", (2, 5))},
            [("IndicesTensor.Sizes", [2, 5], [2, 3], True), ("OutputTensor.Sizes", [2, 5], [2, 3], False)],
        ),
        (
            {"IndicesTensor": TensorDesc("INT16", (2, 3))},
            [("IndicesTensor.DataType", "INT16", "INT32", True)],
        ),
        (
            {"InputTensor": TensorDesc("FLOAT32", (4, 3), Strides=(1,))},
            [("InputTensor.Strides", [1], [3, 1], True)],
        ),
    ],
)
def test_the_change_that_one_would_make(changed: dict[str, Any], told: list[tuple[Any, ...]]) -> None:
    found = closest(gathered(**changed))
    assert found is not None
    assert [(one.member, one.old, one.new, one.because is not None) for one in found.changes] == told


def test_a_lower_level_takes_the_types_that_it_has() -> None:
    desc = gathered(InputTensor=TensorDesc("INT64", (4, 3)), OutputTensor=TensorDesc("INT64", (2, 3)))
    level = "3.0"
    assert desc.validate(level)
    found = closest(desc, level)
    assert found is not None and found.steps == 1
    assert found.desc.validate(level) == []
    assert {change.member for change in found.changes} == {"InputTensor.DataType", "OutputTensor.DataType"}


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert closest(gathered(), "2.0") is None  # the operator came with 2.1
    assert closest(gathered(Axis="first")) is None
    assert closest(gathered(InputTensor=TensorDesc("FLOAT32", [1] * 5000))) is None
    with pytest.raises(ValueError, match="there is no feature level"):
        closest(gathered(), "9.9")
