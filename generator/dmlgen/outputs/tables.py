"""The matrices as CSV tables: support, with a row for each tensor, condition and level, and cases."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from dmlgen.outputs.render import Templates

SUPPORT = ("operator", "level", "tensor", "ranks", "types", "when")
CASES = (
    *("id", "operator", "kind", "level", "valid", "rules", "advice", "breaks", "twin"),
    *("lowest_level", "form", "has_data", "description"),
)


def render(templates: Templates, matrices: Iterable[Mapping[str, Any]]) -> dict[str, bytes]:
    """Both tables, and a description of their columns. List entries are separated by spaces."""
    known = list(matrices)
    return {
        "support.csv": _csv(SUPPORT, (row for matrix in known for row in _support(matrix))),
        "cases.csv": _csv(CASES, (row for matrix in known for row in _cases(matrix))),
        "README.md": templates.render("tables/README.md.j2"),
    }


def _support(matrix: Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    for level, rows in matrix["support"].items():
        for row in rows or ():
            ranks, types = " ".join(map(str, row["ranks"])), " ".join(row["types"])
            yield matrix["operator"], level, row["tensor"], ranks, types, row.get("when", "")


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
            case.get("twin", ""),
            expect["min_feature_level"] or "",
            case.get("form", ""),
            _flag("outputs" in case),
            json.dumps({"type": case["type"], "desc": case["desc"]}, separators=(",", ":")),
        )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _csv(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
