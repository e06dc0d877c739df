"""The coverage report: how much of the registry is stated, and how much of that a case shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields

from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry


@dataclass(frozen=True)
class Row:
    """Counts of one operator. `open` are errata that judgement alone decided.

    `data` are the cases with data, `choices` those among them that rest on choices of this registry.
    """

    operator: str
    rules: int
    advice: int
    broken: int
    held: int
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
    """What no case shows: a rule broken alone, or an entry of a support table."""

    operator: str
    what: str
    reason: str


def render(registry: Registry, templates: Templates, matrices: Mapping[str, bytes]) -> dict[str, bytes]:
    """The report, from the matrices by path."""
    rows: list[Row] = []
    gaps: list[Gap] = []
    parsed = [json.loads(matrices[f"matrix/{operator.slug}.json"]) for operator in registry.operators]
    for operator, matrix in zip(registry.operators, parsed, strict=True):
        rows.append(_row(operator, matrix))
        own = {rule.id for rule in operator.rules}
        gaps += [
            Gap(operator.name, entry["rule"], entry["unbroken"])
            for entry in matrix["coverage"]
            if entry["rule"] in own and "unbroken" in entry
        ]
        gaps += [Gap(operator.name, entry, "no valid description found") for entry in matrix["missed"]]
    choices = Counter(
        choice for matrix in parsed for case in matrix["cases"] for choice in case.get("choices", ())
    )
    totals = {
        field.name: sum(getattr(row, field.name) for row in rows)
        for field in fields(Row)
        if field.name != "operator"
    }
    return {
        "coverage.md": templates.render(
            "docs/coverage.md.j2",
            rows=rows,
            gaps=gaps,
            totals=totals,
            with_data=sum(row.data > 0 for row in rows),
            choices=sorted(choices.items()),
        )
    }


def _row(operator: Operator, matrix: Mapping[str, object]) -> Row:
    own = {rule.id for rule in operator.rules}
    cases: list[Mapping[str, object]] = matrix["cases"]  # type: ignore[assignment]
    coverage = [entry for entry in matrix["coverage"] if entry["rule"] in own]  # type: ignore[attr-defined]
    return Row(
        operator=operator.name,
        rules=len(operator.rules),
        advice=sum(rule.advice for rule in operator.rules),
        broken=sum(entry["broken"] > 0 for entry in coverage),
        held=sum(entry["held"] > 0 for entry in coverage),
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
