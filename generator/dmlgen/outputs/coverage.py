"""The coverage report: how much of the registry is stated, and how much of that a case shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields

from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry


@dataclass(frozen=True)
class Row:
    """Counts of one operator. `open` are errata that judgement alone decided."""

    operator: str
    rules: int
    advice: int
    broken: int
    held: int
    tables: int
    cases: int
    examples: int
    errata: int
    open: int
    computes: int


@dataclass(frozen=True)
class Left:
    """Operators of one family whose computation no spec states, and why."""

    family: str
    reason: str
    operators: tuple[str, ...]


_REASONS = {  # by family
    "matrix": "matrix products and convolutions need tiled kernels of their own",
    "normalization": "statistics over sets and, in training, several outputs: `reduce` would have to grow",
    "pooling": "windows and regions that overlap, and several outputs",
    "quantized": "matrix products, windows, or a scale that follows from the data; sums of quantized tensors "
    "come with them",
    "recurrent": "a loop over time with state",
    "resample": "weights that depend on coordinates in every dimension",
    "shape": "windows that overlap",
    "training": "gradients of the families above, and an optimizer with three outputs",
}


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
    for operator in registry.operators:
        matrix = json.loads(matrices[f"matrix/{operator.slug}.json"])
        rows.append(_row(operator, matrix))
        own = {rule.id for rule in operator.rules}
        gaps += [
            Gap(operator.name, entry["rule"], entry["unbroken"])
            for entry in matrix["coverage"]
            if entry["rule"] in own and "unbroken" in entry
        ]
        gaps += [Gap(operator.name, entry, "no valid description found") for entry in matrix["missed"]]
    totals = {
        field.name: sum(getattr(row, field.name) for row in rows)
        for field in fields(Row)
        if field.name != "operator"
    }
    without = [operator for operator in registry.operators if operator.compute is None]
    left = [
        Left(family, reason, tuple(operator.name for operator in without if operator.family == family))
        for family, reason in _REASONS.items()
    ]
    return {
        "coverage.md": templates.render(
            "docs/coverage.md.j2", rows=rows, gaps=gaps, totals=totals, left=left, count=len(without)
        )
    }


def _row(operator: Operator, matrix: Mapping[str, object]) -> Row:
    own = {rule.id for rule in operator.rules}
    coverage = [entry for entry in matrix["coverage"] if entry["rule"] in own]  # type: ignore[attr-defined]
    return Row(
        operator=operator.name,
        rules=len(operator.rules),
        advice=sum(rule.advice for rule in operator.rules),
        broken=sum(entry["broken"] > 0 for entry in coverage),
        held=sum(entry["held"] > 0 for entry in coverage),
        tables=len({id(rows) for rows in operator.support.values()}),
        cases=len(matrix["cases"]),  # type: ignore[arg-type]
        examples=len(operator.examples),
        errata=len(operator.errata),
        open=sum(erratum.source == "ours" for erratum in operator.errata),
        computes=int(operator.compute is not None),
    )
