"""Parses tables of what tensors support from the text of their cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dmlaudit.page import Fault, Page, Row, Section, Table

_LEVEL = re.compile(r"DML_FEATURE_LEVEL_(\d+)_(\d+)\b")
_RANKS = re.compile(r"(\d{1,3})(?: to (\d{1,3}))?")
_LIST = re.compile(r" ?, ?(?:and )?| and ")
_KINDS = ("input", "output", "optional input", "optional output", "array of inputs", "array of outputs")


@dataclass(frozen=True)
class SupportRow:
    """One tensor: `ranks` and `dimensions` are None if the table has no such column or no such text."""

    line: int
    tensor: str
    kind: str
    ranks: tuple[int, ...] | None
    types: tuple[str, ...] | None
    dimensions: str | None
    cells: int


@dataclass(frozen=True)
class SupportTable:
    """A table of tensors.

    `level` is None if none is stated, `named` is the line that states it; `cases` are the enumerators that
    the section above it concerns.
    """

    line: int
    level: str | None
    named: int
    cases: tuple[str, ...]
    rows: tuple[SupportRow, ...]


def level_in(text: str) -> str | None:
    """The feature level named in a text, such as 6.4."""
    found = _LEVEL.search(text)
    return f"{found[1]}.{found[2]}" if found else None


def support_tables(page: Page) -> Iterator[SupportTable | Fault]:
    """The page's tables of tensors; an error for every such table or cell that cannot be read."""
    for section in page.sections:
        for table in section.blocks:
            if not isinstance(table, Table):
                continue
            header = [name.casefold() for name in table.header]
            if header[:1] == ["tensor"]:
                yield from _support_table(section, table, header)
            elif any(heading.text.startswith("Tensor support") for heading in section.path):
                shown = ", ".join(table.header)
                yield Fault(table.line, f"a table of tensors begins with a column Tensor, not with {shown}")


def _support_table(section: Section, table: Table, header: list[str]) -> Iterator[SupportTable | Fault]:
    known = {"tensor", "kind", "dimensions", "supported dimension counts", "supported data types"}
    if unknown := [name for name in header if name not in known]:
        yield Fault(table.line, f"the table has a column that is not known: {unknown[0]}")
    rows: list[SupportRow] = []
    for row in table.rows:
        cells = dict(zip(header, row.cells, strict=True))
        yield from _cell_faults(row, cells)
        rows.append(_row(row, cells))
    if not rows:
        yield Fault(table.line, "the table has no rows")
    heading = next((one for one in reversed(section.path) if level_in(one.text)), None)
    level = level_in(heading.text) if heading else None
    named = heading.line if heading else table.line
    yield SupportTable(table.line, level, named, _cases(section), tuple(rows))


def _cell_faults(row: Row, cells: dict[str, str]) -> Iterator[Fault]:
    ranks = cells.get("supported dimension counts")
    if ranks is not None and _ranks(ranks) is None:
        yield Fault(row.line, f"these are no dimension counts: {ranks}")
    if cells.get("kind", "input").casefold() not in _KINDS:
        yield Fault(row.line, f"this is not a kind of tensor: {cells['kind']}")


def _row(row: Row, cells: dict[str, str]) -> SupportRow:
    types = cells.get("supported data types")
    return SupportRow(
        line=row.line,
        tensor=cells["tensor"],
        kind=cells.get("kind", ""),
        ranks=_ranks(cells.get("supported dimension counts", "")),
        types=None if types is None else tuple(one for one in _LIST.split(types) if one),
        dimensions=cells.get("dimensions"),
        cells=len(row.cells),
    )


def _ranks(text: str) -> tuple[int, ...] | None:
    """Parses "1 to 8", "4" or "2, 4" to dimension counts."""
    found: set[int] = set()
    for part in _LIST.split(text):
        match = _RANKS.fullmatch(part)
        if match is None:
            return None
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(found))


def counts_of(dimensions: str) -> tuple[int, ...] | None:
    """Dimension counts that a pattern such as { [N], C, H, W } allows; None for a list of any length."""
    body = dimensions.strip().removeprefix("{").removesuffix("}")
    names = [name.strip() for name in body.split(",")]
    if any(name.endswith("[]") for name in names):
        return None
    least = sum(not name.startswith("[") for name in names)
    return tuple(range(least, len(names) + 1))


def _cases(section: Section) -> tuple[str, ...]:
    """The enumerators in the headings between Tensor support and the table."""
    titles = [heading.text for heading in section.path if level_in(heading.text) is None]
    start = next((i for i, text in enumerate(titles) if text.startswith("Tensor support")), len(titles))
    return tuple(name for text in titles[start + 1 :] for name in _LIST.split(text))
