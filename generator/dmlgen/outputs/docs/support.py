"""Charts of an operator's support tables: for each data type, bars over the levels that support it.

A bar is labelled with dimension counts, so a new one begins where they change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import FeatureLevel, Operator, Registry

_KINDS = ("float", "signed", "unsigned")


@dataclass(frozen=True)
class Bar:
    """The same dimension counts at `span` consecutive levels; "" if the levels do not support the type."""

    ranks: str
    first: FeatureLevel
    last: FeatureLevel

    @property
    def span(self) -> int:
        return self.last.ordinal - self.first.ordinal + 1


@dataclass(frozen=True)
class Line:
    type: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Picture:
    """The support of some tensors at every level, if `when` holds; `never` are types without support."""

    tensors: tuple[str, ...]
    when: str
    lines: tuple[Line, ...]
    never: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """The news of an operator at a level, each in a few words."""

    level: FeatureLevel
    news: tuple[str, ...]


def pictures(registry: Registry, operator: Operator) -> list[Picture]:
    """One chart for all tensors with the same tables, and for each case if they depend on other members."""
    histories: dict[tuple[object, ...], list[str]] = {}
    for tensor in operator.tensors:
        rows = (row for rows in operator.support.values() for row in rows if row.tensor == tensor.name)
        for when in dict.fromkeys(row.when for row in rows):
            levels = tuple(_at(operator, level, tensor.name, when) for level in registry.levels)
            histories.setdefault((when, levels), []).append(tensor.name)
    return [_picture(registry, tensors, when, levels) for (when, levels), tensors in histories.items()]  # type: ignore[arg-type]


def changes(registry: Registry, operator: Operator) -> list[Change]:
    """By level, what the operator has there and not at the level before."""
    fuses = any(member.type == "OPERATOR_DESC" for member in operator.members)
    fusable = registry.fusable(operator) if fuses else {}
    found = []
    for level in registry.levels[operator.since.ordinal :]:
        news = ["the operator is new"] if level == operator.since else []
        if level != operator.since:
            before = registry.levels[level.ordinal - 1]
            news += _table_news(operator, before, level)
            news += [f"takes {name} as fused activation" for name, since in fusable.items() if since == level]
            news += [f"rule {rule.slug} begins to hold" for rule in operator.rules if rule.since == level]
        news += [f"rule {rule.slug} no longer holds" for rule in operator.rules if rule.until == level]
        if news:
            found.append(Change(level, tuple(news)))
    return found


def ranks_text(ranks: Sequence[int]) -> str:
    """Dimension counts in words: "4", "1 to 8" or "4, 5, 8"."""
    ranks = sorted(ranks)
    if len(ranks) > 1 and ranks == [*range(ranks[0], ranks[-1] + 1)]:
        return f"{ranks[0]}\N{EN DASH}{ranks[-1]}"
    return ", ".join(map(str, ranks))


def _at(
    operator: Operator, level: FeatureLevel, tensor: str, when: ir.Expr | None
) -> tuple[tuple[str, str], ...]:
    """The dimension counts of each data type at a level."""
    ranks: dict[str, set[int]] = {}
    for row in operator.support.get(level.name, ()):
        if row.tensor == tensor and row.when == when:
            for name in row.types:
                ranks.setdefault(name, set()).update(row.ranks)
    return tuple((name, ranks_text([*found])) for name, found in sorted(ranks.items()))


def _picture(
    registry: Registry,
    tensors: list[str],
    when: ir.Expr | None,
    levels: tuple[tuple[tuple[str, str], ...], ...],
) -> Picture:
    tables = [dict(level) for level in levels]
    taken = {name for table in tables for name in table}
    entries = sorted(registry.data_types, key=lambda one: (_KINDS.index(one.kind or "float"), -one.bits))
    ordered = [entry.name for entry in entries]
    lines = []
    for name in ordered:
        if name in taken:
            runs = groupby(zip(registry.levels, tables, strict=True), key=lambda one: one[1].get(name, ""))
            bars = [(ranks, [level for level, _ in run]) for ranks, run in runs]
            lines.append(Line(name, tuple(Bar(ranks, run[0], run[-1]) for ranks, run in bars)))
    never = tuple(name for name in ordered if name not in taken)
    return Picture(tuple(tensors), "" if when is None else SOURCE.print(when), tuple(lines), never)


def _table_news(operator: Operator, before: FeatureLevel, level: FeatureLevel) -> Iterator[str]:
    """The additions and removals of tables; tensors with the same changes are grouped."""
    news: dict[tuple[str, ...], list[str]] = {}
    for tensor in operator.tensors:
        old = [row for row in operator.support[before.name] if row.tensor == tensor.name]
        new = [row for row in operator.support[level.name] if row.tensor == tensor.name]
        words = []
        for field in ("types", "ranks"):
            was = {one: None for row in old for one in getattr(row, field)}
            now = {one: None for row in new for one in getattr(row, field)}
            added, dropped = [one for one in now if one not in was], [one for one in was if one not in now]
            unit = " dimensions" if field == "ranks" else ""
            listed = ranks_text if field == "ranks" else ", ".join
            words += [f"takes {listed(added)}{unit}"] if added else []
            words += [f"no longer takes {listed(dropped)}{unit}"] if dropped else []
        if not words and old != new:
            words = ["takes other combinations of data types and dimensions"]
        if words:
            news.setdefault(tuple(words), []).append(tensor.name)
    for words_, tensors in news.items():
        yield f"{', '.join(tensors)}: {'; '.join(words_)}"
