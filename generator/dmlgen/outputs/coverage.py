"""The coverage report: how much of the registry is specified, and how much of that cases cover."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry


@dataclass(frozen=True)
class Row:
    """Counts for one operator. `open` are errata that were decided by judgment alone.

    `data` are the cases with data, `choices` those whose data depends on choices of this registry.
    """

    operator: str
    rules: int
    advice: int
    broken: int
    satisfied: int
    tables: int
    cases: int
    data: int
    choices: int
    examples: int
    errata: int
    open: int
    reference: int
    shader: int


@dataclass(frozen=True)
class Gap:
    """Something that no case covers: a rule broken alone, or an entry of a support table."""

    operator: str
    what: str
    reason: str


@dataclass(frozen=True)
class Part:
    """The facts from one matrix; `choices` counts the cases that depend on each choice."""

    row: Row
    gaps: tuple[Gap, ...]
    choices: Counter[str]


def render(registry: Registry, templates: Templates, matrices: Mapping[str, bytes]) -> dict[str, bytes]:
    """The report, from the matrices by path."""
    known = templates.memory.recall("coverage")
    parts: dict[str, Part] = {}
    for operator in registry.operators:
        data = matrices[f"matrix/{operator.slug}.json"]
        digest = f"{operator.digest} {hashlib.sha256(data).hexdigest()}"
        parts[digest] = known[digest] if digest in known else _part(operator, json.loads(data))
    templates.memory.keep("coverage", parts)
    rows = [part.row for part in parts.values()]
    choices = sum((part.choices for part in parts.values()), Counter[str]())
    totals = {
        field.name: sum(getattr(row, field.name) for row in rows)
        for field in fields(Row)
        if field.name != "operator"
    }
    return {
        "coverage.md": templates.render(
            "docs/coverage.md.j2",
            rows=rows,
            gaps=[gap for part in parts.values() for gap in part.gaps],
            totals=totals,
            with_data=sum(row.data > 0 for row in rows),
            choices=sorted(choices.items()),
        )
    }


def _part(operator: Operator, matrix: Mapping[str, Any]) -> Part:
    own = {rule.id for rule in operator.rules}
    untestable = [one for one in matrix["coverage"] if one["rule"] in own and "untestable" in one]
    return Part(
        _row(operator, matrix),
        (
            *(Gap(operator.name, one["rule"], one["untestable"]) for one in untestable),
            *(Gap(operator.name, entry, "no valid description found") for entry in matrix["uncovered"]),
        ),
        Counter(choice for case in matrix["cases"] for choice in case.get("choices", ())),
    )


def _row(operator: Operator, matrix: Mapping[str, Any]) -> Row:
    own = {rule.id for rule in operator.rules}
    cases = matrix["cases"]
    coverage = [entry for entry in matrix["coverage"] if entry["rule"] in own]
    return Row(
        operator=operator.name,
        rules=len(operator.rules),
        advice=sum(rule.advice for rule in operator.rules),
        broken=sum(entry["broken"] > 0 for entry in coverage),
        satisfied=sum(entry["satisfied"] > 0 for entry in coverage),
        tables=len({id(rows) for rows in operator.support.values()}),
        cases=len(cases),
        data=sum("outputs" in case for case in cases),
        choices=sum("choices" in case for case in cases),
        examples=len(operator.examples),
        errata=len(operator.errata),
        open=sum(erratum.source == "ours" for erratum in operator.errata),
        reference=int(operator.algorithm is not None or operator.defines is not None),
        shader=1,
    )
