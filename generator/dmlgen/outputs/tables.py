"""CSV tables: support, with a row for each tensor, condition and level, and the cases of the matrices."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from dmlgen.expr.printer import SOURCE
from dmlgen.outputs.render import Templates
from dmlgen.registry import Operator, Registry

SUPPORT = ("operator", "level", "tensor", "ranks", "types", "when")
CASES = (
    *("id", "operator", "kind", "level", "valid", "rules", "advice", "breaks", "valid_variant"),
    *("lowest_level", "form", "has_data", "description"),
)


def render(
    registry: Registry, templates: Templates, matrices: Iterable[Mapping[str, Any]]
) -> dict[str, bytes]:
    """The tables, and a description of their columns; that of cases only if there are `matrices`.

    List entries are separated by spaces.
    """
    files = {"support.csv": csv_text(SUPPORT, (row for one in registry.operators for row in _support(one)))}
    if cases := [row for matrix in matrices for row in _cases(matrix)]:
        files["cases.csv"] = csv_text(CASES, cases)
    return {**files, "README.md": templates.render("tables/README.md.j2")}


def _support(operator: Operator) -> Iterable[tuple[str, ...]]:
    for level, rows in operator.support.items():
        for row in rows:
            when = "" if row.when is None else SOURCE.print(row.when)
            ranks = " ".join(map(str, row.ranks))
            yield operator.name, level, row.tensor, ranks, " ".join(row.types), when


def _cases(matrix: Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    for case in matrix["cases"]:
        expect = case["expect"]
        yield (
            case["id"],
            matrix["operator"],
            case["kind"],
            case["feature_level"],
            _flag(expect["ok"]),
            " ".join(expect["rules"]),
            " ".join(expect["advice"]),
            case.get("breaks", case.get("draws", "")),
            case.get("valid_variant", ""),
            expect["min_feature_level"] or "",
            case.get("form", ""),
            _flag("outputs" in case),
            json.dumps({"type": case["type"], "desc": case["desc"]}, separators=(",", ":")),
        )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def csv_text(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> bytes:
    """A table with its head, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
