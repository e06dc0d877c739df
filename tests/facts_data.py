"""The tables in tests/data/facts: how they are written and read.

A page on an operator is one JSON object a line, without line numbers; see the README beside the tables.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dmlaudit.members import MemberList, StatedMember, StatedType
from dmlaudit.sentences import (
    Bound,
    Constraint,
    Crossed,
    InPlace,
    Introduced,
    NegativeIndices,
    Same,
    SameButAxis,
)
from dmlaudit.stated import Stated
from dmlaudit.tables import SupportRow, SupportTable

FOLDER = Path(__file__).parent / "data/facts"
Json = dict[str, Any]


def rows(name: str) -> Iterator[list[str]]:
    """The rows of a table of tab-separated values, without its comments."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        yield from csv.reader((line for line in file if not line.startswith("#")), delimiter="\t")


def pages() -> Iterator[tuple[str, Stated]]:
    """The struct that each page is about, and what the page states."""
    with (FOLDER / "pages.jsonl").open(encoding="utf-8") as file:
        for line in file:
            page = json.loads(line)
            yield page["struct"], from_json(page)


def to_json(struct: str, stated: Stated) -> Json:
    """A line of pages.jsonl; what the page does not state is left out."""
    page = {
        "struct": struct,
        "date": stated.date,
        "declared": [[one.struct, _members(one)] for one in stated.declared],
        "described": _members(stated.described) if stated.described else None,
        "tables": [
            {
                "level": one.level,
                "cases": one.cases,
                "rows": [[row.tensor, row.kind, row.ranks, row.types, row.dimensions] for row in one.rows],
            }
            for one in stated.tables
        ],
        "same": [[one.field, *one.tensors] for one in stated.constraints if isinstance(one, Same)],
        "same_but_axis": [
            [one.axis, *one.tensors] for one in stated.constraints if isinstance(one, SameButAxis)
        ],
        "crossed": [
            [one.tensor, one.field, one.other] for one in stated.constraints if isinstance(one, Crossed)
        ],
        "bounds": [[one.member, one.op, one.bound] for one in stated.constraints if isinstance(one, Bound)],
        "introduced": [[one.newer, one.level, one.version] for one in stated.introduced],
        "packages": [version for _, version in stated.packages],
        "builds": [[what, build] for _, what, build in stated.builds],
        "in_place": [[one.outputs, one.inputs, one.exception] for one in stated.in_place],
        "negative_indices": [one.level for one in stated.negative_indices],
    }
    return {key: value for key, value in page.items() if value}


def from_json(page: Json) -> Stated:
    """The statements of the page, all on line 0."""
    constraints: list[Constraint] = [Same(0, one[0], tuple(one[1:])) for one in page.get("same", ())]
    constraints += [SameButAxis(0, one[0], (one[1], one[2])) for one in page.get("same_but_axis", ())]
    constraints += [Crossed(0, *one) for one in page.get("crossed", ())]
    constraints += [Bound(0, *one) for one in page.get("bounds", ())]
    return Stated(
        declared=tuple(_list(struct, members) for struct, members in page.get("declared", ())),
        described=_list("", page["described"]) if "described" in page else None,
        tables=tuple(_table(one) for one in page.get("tables", ())),
        constraints=tuple(constraints),
        introduced=tuple(Introduced(0, *one) for one in page.get("introduced", ())),
        packages=tuple((0, one) for one in page.get("packages", ())),
        builds=tuple((0, what, build) for what, build in page.get("builds", ())),
        in_place=tuple(
            InPlace(0, tuple(outputs), tuple(inputs), exception)
            for outputs, inputs, exception in page.get("in_place", ())
        ),
        negative_indices=tuple(NegativeIndices(0, level) for level in page.get("negative_indices", ())),
        date=page.get("date", ""),
    )


def _members(listed: MemberList) -> list[list[Any]]:
    return [
        [one.name]
        if one.type is None
        else [one.name, one.type.base + "*" * one.type.pointer, one.type.optional, one.type.count]
        for one in listed.members
    ]


def _list(struct: str, members: list[list[Any]]) -> MemberList:
    return MemberList(0, struct, tuple(StatedMember(0, one[0], _type(one[1:])) for one in members))


def _type(stated: list[Any]) -> StatedType | None:
    if not stated:
        return None
    type_, optional, count = stated
    return StatedType(0, type_.removesuffix("*"), type_.endswith("*"), optional, count)


def _table(table: Json) -> SupportTable:
    rows_ = tuple(
        SupportRow(
            *(0, tensor, kind, None if ranks is None else tuple(ranks)),
            *(None if types is None else tuple(types), dimensions, 0),
        )
        for tensor, kind, ranks, types, dimensions in table["rows"]
    )
    return SupportTable(0, table["level"], 0, tuple(table["cases"]), rows_)
