"""Rule identifiers follow one scheme, and none that was ever listed is lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmlgen.cli import main
from dmlgen.expr import ir
from dmlgen.registry import Check, Registry
from spoiled import edit

ELEMENTS = "operators/gather/gather_elements.yaml"
RULE = "  - id: axis-range\n    require: Axis < InputTensor.DimensionCount\n"
NAME = "DML-GATHER_ELEMENTS-axis-range"


def numbers_of(check: Check) -> str:
    """The member whose numbers a check compares with a constant in every description; else ""."""
    match check:
        case Check(guard=None, condition=ir.Compare(left=left, right=ir.Number() | ir.Constant())):
            while isinstance(left, ir.Index):
                left = left.sequence
            return left.name if isinstance(left, ir.Member) and left.type.kind != "enum" else ""
    return ""


def test_a_rule_on_the_numbers_of_one_member_is_called_so(registry: Registry) -> None:
    rules = [
        (rule, {numbers_of(one) for one in rule.checks}) for one in registry.operators for rule in one.rules
    ]
    found = [rule.slug for rule, members in rules if len(members) == 1 and "" not in members]
    assert len(found) > 50
    assert [slug for slug in found if not re.search(r"-(range|values|positive)$", slug)] == []


@pytest.mark.parametrize(
    ("slug", "field"), [("same-rank", "DimensionCount"), ("same-type", "DataType"), ("same-sizes", "Sizes")]
)
def test_same_rank_type_and_sizes_are_that_of_tensors(slug: str, field: str, registry: Registry) -> None:
    rules = [rule for one in registry.operators for rule in one.rules if rule.slug == slug]
    assert len(rules) > 100
    for check in (check for rule in rules for check in rule.checks):
        match check.condition:
            case ir.Compare("==", ir.Field(name=left), ir.Field(name=right)):
                assert left == right == field
            case _:
                pytest.fail(f"{slug}: {check}")


def test_a_rule_may_go_if_its_identifier_is_retired(
    specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(specs / ELEMENTS, RULE, "")
    edit(
        specs / ELEMENTS, "operator: GATHER_ELEMENTS\n", "operator: GATHER_ELEMENTS\nunconstrained: [Axis]\n"
    )
    assert main(["lint", "--specs", str(specs)]) == 1
    assert f"error[identifier-gone]: no rule has the identifier {NAME}" in capsys.readouterr().out
    assert main(["lint", "--specs", str(specs), "--fix"]) == 1  # a rule may have gone by mistake
    assert f"error[identifier-gone]: no rule has the identifier {NAME}" in capsys.readouterr().out
    assert main(["lint", "--specs", str(specs), "--retire", NAME]) == 0
    assert main(["breaking", "--specs", str(specs), "--against", str(gather_specs)]) == 0


def test_an_identifier_is_not_forgotten(
    specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(specs / ELEMENTS, RULE, "")
    edit(
        specs / ELEMENTS, "operator: GATHER_ELEMENTS\n", "operator: GATHER_ELEMENTS\nunconstrained: [Axis]\n"
    )
    edit(specs / "identifiers.yaml", f"  - {NAME}\n", "")
    assert main(["lint", "--specs", str(specs)]) == 0  # nothing here says what was there before
    assert main(["breaking", "--specs", str(specs), "--against", str(gather_specs)]) == 1
    assert "identifier-forgotten" in capsys.readouterr().out


def test_another_name_of_a_rule_breaks_also_where_the_old_one_is_retired(
    specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(specs / ELEMENTS, "id: axis-range", "id: axis-in-range")
    assert main(["lint", "--specs", str(specs), "--fix", "--retire", NAME]) == 0
    assert main(["breaking", "--specs", str(specs), "--against", str(gather_specs)]) == 1
    assert "rule-renamed" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "why"), [(NAME, "a rule has it"), ("DML-GONE-rule", "it is in no list")])
def test_only_identifiers_of_rules_that_are_gone_are_retired(
    name: str, why: str, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (specs / "identifiers.yaml").read_bytes()
    assert main(["lint", "--specs", str(specs), "--retire", name]) == 1
    assert f"error[identifier-kept]: {name} cannot be retired: {why}" in capsys.readouterr().err
    assert (specs / "identifiers.yaml").read_bytes() == before
