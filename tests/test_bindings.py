"""What may be bound: the rules, in Python and in C, and the JSON form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dmlgen.registry import Registry
from dmlops.bindings import Bindings

CASES = Path(__file__).parents[1] / "generated/matrix/bindings.jsonl"

Json = dict[str, Any]


def binding_cases() -> list[Json]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def test_every_rule_has_a_case(registry: Registry) -> None:
    broken = {rule for case in binding_cases() for rule in (*case["violations"], *case["advice"])}
    assert broken == {rule.id for rule in registry.bindings.rules}
    whole = [case["id"] for case in binding_cases() if not (case["violations"] or case["advice"])]
    assert whole == ["valid-execute", "valid-initialize"]


@pytest.mark.parametrize("case", binding_cases(), ids=lambda case: case["id"])
def test_a_case_breaks_its_rule_alone(case: Json) -> None:
    bindings = Bindings.from_json(case["bindings"])
    assert [one.rule for one in bindings.validate()] == case["violations"]
    assert [one.rule for one in bindings.advice()] == case["advice"]
