"""Counts that promise more entries than an array has: what a rule rejects is not read, under sanitizers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dmlops
from c_runner import SANITIZERS, build, case, described, run
from dmlgen.expr import ir
from dmlgen.registry import Operator, Registry, Stage
from random_descriptions import level_and_form, matrix_cases

ROOT = Path(__file__).parents[1]
HEADER = ROOT / "generated/include/dmlops.h"
UNBOUNDED = 0xFFFFFFFF
TENSOR_LIMIT = 8  # dimensions


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(HEADER, "runner.c", tmp_path_factory.mktemp("counts") / "runner", "clang", *SANITIZERS)


def counts_of_numbers(registry: Registry, operator: Operator) -> set[str]:
    return {m.count for m in operator.attributes if m.count and m.type in registry.types}


def is_refused(operator: Operator, count: str) -> bool:
    """Whether a rule can find a count wrong; otherwise it may be any number that an array can have."""
    checks = [check for rule in operator.rules if rule.stage is Stage.COUNTS for check in rule.checks]
    nodes = [node for check in checks for node in ir.walk(check.condition)]
    return any(isinstance(node, ir.Member) and node.name == count for node in nodes)


def most_dimensions(desc: dmlops.Description) -> int:
    tensors = (getattr(desc, member.name) for member in desc.MEMBERS)
    return max(tensor.DimensionCount for tensor in tensors if isinstance(tensor, dmlops.TensorDesc))


def valid_cases(registry: Registry) -> Iterator[tuple[Operator, int, dmlops.Description]]:
    """A few valid descriptions of every operator with arrays of numbers, their levels before them."""
    taken: dict[str, int] = {}
    for one in matrix_cases():
        level, form = level_and_form(one)
        operator = registry.operator[form["type"].removeprefix("DML_OPERATOR_")]
        if counts_of_numbers(registry, operator) and one["expect"]["ok"] and taken.get(operator.name, 0) < 5:
            taken[operator.name] = taken.get(operator.name, 0) + 1
            yield operator, registry.level[level].value, dmlops.from_json(form)


def test_no_array_is_read_whose_count_a_rule_refuses(registry: Registry, runner: Path) -> None:
    texts: list[str] = []
    refused: list[bool] = []
    for operator, level, desc in valid_cases(registry):
        members = described(registry, desc)
        for count in counts_of_numbers(registry, operator):
            true = int(members[count])  # type: ignore[arg-type]
            wrong = true + 1 if count != "AxisCount" else 1 + most_dimensions(desc)  # which may be fewer
            few = () if not is_refused(operator, count) else (wrong, wrong + 1, TENSOR_LIMIT + 1)
            for promised in (*few, UNBOUNDED):
                if promised > true:
                    texts.append(case(registry, operator, level, {**members, count: promised}))
                    refused.append(is_refused(operator, count))
    assert len(texts) > 300
    for must_refuse, (found, _) in zip(refused, run(runner, texts), strict=True):
        assert found > 0 or not must_refuse


def test_a_right_count_is_read_to_its_end(registry: Registry, runner: Path) -> None:
    """The twin of the above: arrays of exactly their counts' entries, all of which rules look at."""
    texts = [
        case(registry, operator, level, described(registry, desc))
        for operator, level, desc in valid_cases(registry)
    ]
    assert all(found == 0 for found, _ in run(runner, texts))


def test_an_endless_array_of_activations_is_not_read(registry: Registry, runner: Path) -> None:
    taken = 0
    for one in matrix_cases():
        level, form = level_and_form(one)
        if one["expect"]["ok"] and form["type"] in ("DML_OPERATOR_RNN", "DML_OPERATOR_GRU"):
            operator = registry.operator[form["type"].removeprefix("DML_OPERATOR_")]
            members = {**described(registry, dmlops.from_json(form)), "ActivationDescCount": UNBOUNDED}
            text = case(registry, operator, registry.level[level].value, members)
            ((found, violations),) = run(runner, [text])
            assert found > 0 and violations[0][0].endswith("-activation-desc-count")
            taken += 1
            if taken == 4:
                break
    assert taken == 4
