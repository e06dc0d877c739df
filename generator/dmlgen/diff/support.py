"""Changes of support tables, cell by cell: a tensor, a data type and a dimension count at a feature level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeAlias

from dmlgen.diff.change import Change
from dmlgen.diff.meaning import Meaning
from dmlgen.registry import Operator, Support

_Cell: TypeAlias = tuple[str, str, int]  # condition ("": always), data type, dimension count
_Cells: TypeAlias = frozenset[_Cell]
_Table: TypeAlias = Mapping[str, _Cells]  # by tensor


def support_changes(was: Operator, now: Operator, old: Meaning) -> Iterator[Change]:
    """Changes at levels for which both sides have a table."""
    both = [level for level in now.support if level in was.support]
    before = {level: _table(was.support[level], old) for level in both}
    after = {level: _table(now.support[level], Meaning({})) for level in both}
    for kind, verb, one, other in (
        ("support-lost", "no longer takes", before, after),
        ("support-gained", "takes", after, before),
    ):
        for levels, tensors, text in _runs(one, other):
            rows = [
                next(row.position for row in side.support[levels[0]] if names.words(row.tensor) == tensors[0])
                for side, names in ((was, old), (now, Meaning({})))
            ]
            span = f"at {levels[0]}" if len(levels) == 1 else f"from {levels[0]} to {levels[-1]}"
            message = f"{' and '.join(tensors)} of {now.name}: {verb} {text} {span}"
            yield Change(kind, f"{now.name}.{tensors[0]}", message, (rows[0], rows[1]))


def _runs(
    tables: Mapping[str, _Table], others: Mapping[str, _Table]
) -> Iterator[tuple[tuple[str, ...], list[str], str]]:
    """The cells that the other side lacks: levels, tensors, and cells in words.

    What several tensors or neighboring levels have in common is reported once.
    """
    runs: dict[tuple[tuple[str, ...], str], list[str]] = {}
    tensors = (name for level, table in tables.items() for name in table if name in others[level])
    for tensor in dict.fromkeys(tensors):
        texts = [
            (_beyond(table.get(tensor, frozenset()), others[level].get(tensor, frozenset())), level)
            for level, table in tables.items()
        ]
        for text, run in groupby(texts, key=lambda item: item[0]):
            if text:
                runs.setdefault((tuple(level for _, level in run), text), []).append(tensor)
    for (levels, text), names in runs.items():
        yield levels, names, text


def _table(rows: Iterable[Support], meaning: Meaning) -> _Table:
    cells: dict[str, set[_Cell]] = {}
    for row in rows:
        when = "" if row.when is None else meaning.text(row.when)
        cells.setdefault(meaning.words(row.tensor), set()).update(
            (when, meaning.words(type_), rank) for type_ in row.types for rank in row.ranks
        )
    return {tensor: frozenset(found) for tensor, found in cells.items()}


def _beyond(cells: _Cells, others: _Cells) -> str:
    """The cells that the other side lacks, under the same condition or unconditionally; "" if there are none.

    They are described by data types that differ in all their ranks, or ranks that differ in all their types,
    otherwise by both.
    """
    found = {cell for cell in cells - others if ("", *cell[1:]) not in others}
    texts = []
    for when in sorted({cell[0] for cell in found}):
        pairs, whole = ({cell[1:] for cell in side if cell[0] == when} for side in (found, cells))
        types, ranks = sorted({type_ for type_, _ in pairs}), sorted({rank for _, rank in pairs})
        if pairs == {pair for pair in whole if pair[0] in types}:
            text = ", ".join(types)
        elif pairs == {pair for pair in whole if pair[1] in ranks}:
            text = _dimensions(ranks)
        else:
            by_type = {type_: sorted(rank for one, rank in pairs if one == type_) for type_ in types}
            text = "; ".join(f"{type_} of {_dimensions(counts)}" for type_, counts in by_type.items())
        texts.append(f"{text} where {when}" if when else text)
    return "; ".join(texts)


def _dimensions(ranks: list[int]) -> str:
    return f"{', '.join(map(str, ranks))} dimension{'' if ranks == [1] else 's'}"
