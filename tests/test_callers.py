"""What shipping software sends is valid; what DirectML is known to reject is invalid or draws advice.

The data names callers and evidence: public sources and issues, read for what was sent and what happened.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_differential import compare
from c_library import Library
from dmlgen.registry import Registry
from dmlops import FeatureLevel

SUCCESSORS = {  # rules of operators that their callers have left for newer ones
    "DML-MAX_POOLING1-spatial-sizes": "DML-MAX_POOLING2-spatial-sizes",
    "DML-TOP_K-k-below-size": "DML-TOP_K1-k-below-size",
}

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


CALLERS, REFUSALS = lines("callers.jsonl"), lines("refusals.jsonl")


def form(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": entry["type"], "desc": entry["desc"]}


def named(entries: list[dict[str, Any]]) -> Any:
    """A test for each of these entries."""
    types = [entry["type"].removeprefix("DML_OPERATOR_") for entry in entries]
    names = [f"{type_}-{number}" for number, type_ in enumerate(types)]
    return pytest.mark.parametrize("entry", entries, ids=names)


@named(CALLERS)
def test_what_callers_send_is_valid(entry: dict[str, Any]) -> None:
    """From the level on at which they send it."""
    desc = dmlops.from_json(form(entry))
    first = next(level for level in FeatureLevel if str(level) == entry["level"])
    for level in FeatureLevel:
        if level >= first:
            assert desc.validate(level) == [], (entry["caller"], entry["where"], entry["what"])


@named(CALLERS)
def test_what_callers_send_draws_the_advice_that_is_about_it(entry: dict[str, Any]) -> None:
    found = {one.rule for one in dmlops.from_json(form(entry)).advice()}
    assert found == set(entry.get("advice", ())), (entry["caller"], entry["what"])


def test_who_breaks_a_rule_is_shown_by_a_description(registry: Registry) -> None:
    """By one here, or by one of the operator's successor with the members that it had before."""
    drawn = {rule for entry in CALLERS for rule in entry.get("advice", ())}
    named = {
        f"DML-{operator.name}-{rule.slug}"
        for operator in registry.operators
        for rule in operator.rules
        if rule.broken_by
    }
    assert named - drawn == set(SUCCESSORS)
    for rule, successor in SUCCESSORS.items():
        operator = rule.split("-")[1]
        (entry, *_) = (one for one in CALLERS if one.get("advice") == [successor])
        desc = {key: entry["desc"][key] for key in registry.operator[operator].member if key in entry["desc"]}
        found = dmlops.from_json({"type": f"DML_OPERATOR_{operator}", "desc": desc}).advice()
        assert [one.rule for one in found] == [rule]


@named(CALLERS)
def test_inference_keeps_what_callers_send(entry: dict[str, Any]) -> None:
    """The sizes and types of outputs are those that follow, or the caller's choice."""
    desc = dmlops.from_json(form(entry))
    assert desc.infer() == desc, (entry["caller"], entry["where"], entry["what"])


@named(REFUSALS)
def test_what_directml_refuses_is_found(entry: dict[str, Any]) -> None:
    desc = dmlops.from_json(form(entry))
    found = desc.validate(entry["level"]) or desc.advice(entry["level"])
    assert {one.rule for one in found} == {entry["rule"]}, entry["evidence"]


def test_c_says_the_same(tmp_path: Path) -> None:
    entries = CALLERS + REFUSALS
    compared = list(compare(((entry["level"], form(entry)) for entry in entries), Library(tmp_path)))
    assert [one for one in compared if one.python != one.c] == []
    beyond_c = [entry for entry in REFUSALS if entry["rule"] == "DML-TENSOR-rank"]
    assert len(compared) >= len(entries) - len(beyond_c)


def test_there_are_enough_of_all() -> None:
    callers = Counter(entry["caller"] for entry in CALLERS)
    assert len(callers) == 5
    assert len(CALLERS) >= 200
    assert len(REFUSALS) >= 10
    assert len({entry["type"] for entry in CALLERS}) >= 100
    assert len({json.dumps(form(entry)) for entry in CALLERS}) == len(CALLERS)
