"""Lengths of coordinates: every read of a definition must have as many indices as the tensor has dimensions.

The length of a list depends only on dimension counts. The check tries the combinations of dimension counts
that the tables and the rules on dimension counts allow; there are few, since rules make most of them equal.
An integer that depends on anything else is unknown (None), and so is a length that depends on it. What is
unknown is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from dmlgen.analysis.classes import demanded, is_of_given
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK, Bounds, Interval
from dmlgen.registry import Member, Rule, Support

Known: TypeAlias = Mapping[str, int | None]

MAX_COMBINATIONS = 50
"""More combinations of dimension counts than this are not all tried."""


@dataclass(frozen=True)
class Counts:
    """One combination: the dimension counts of tensors, and the values of members that count entries.

    `members` maps an array member to the member that counts its entries.
    """

    ranks: Mapping[str, int]
    values: Mapping[str, int]
    members: Mapping[str, str]


class _Counted(Bounds):
    """Bounds for one combination; `known` has the lengths of list locals and the values of integer locals."""

    def __init__(self, counts: Counts, known: Known) -> None:
        super().__init__()
        self._counts, self._known = counts, known

    def member(self, node: ir.Member) -> Interval:
        return _only(self._counts.values.get(node.name)) or super().member(node)

    def field(self, node: ir.Field) -> Interval:
        rank = self._counts.ranks.get(node.tensor.name) if node.name == "DimensionCount" else None
        return _only(rank) or super().field(node)

    def exact(self, node: ir.Expr) -> Interval:
        match node:
            case ir.Local(name=name) if name not in self.loops and (value := _only(self._known.get(name))):
                return value
            case ir.Apply():
                return _Counted(self._counts, self.parameters(node)).exact(node.function.body)
        return super().exact(node)

    def length(self, node: ir.Expr) -> Interval:
        known: int | None = None
        match node:
            case ir.Local(name=name):
                known = self._known.get(name)
            case ir.Field(tensor=ir.Tensor(name=name)):
                known = self._counts.ranks.get(name)
            case ir.Member(name=name):
                known = self._counts.values.get(self._counts.members.get(name, ""))
            case ir.Apply():
                return _Counted(self._counts, self.parameters(node)).length(node.function.body)
            case ir.Call(function="unravel_index", arguments=(_, sizes)):
                return self.length(sizes)
            case ir.Reduce(kind="argmax" | "argmin", loops=(loop,)):
                return self.length(loop.upper)
        return _only(known) or super().length(node)

    def parameters(self, node: ir.Apply) -> Known:
        """The lengths and values of a function's parameters, and of `at`, where it is used."""
        pairs = zip(node.function.parameters, node.arguments, strict=True)
        return {**{one.name: self.certain(argument) for one, argument in pairs}, "at": self._known.get("at")}

    def certain(self, node: ir.Expr) -> int | None:
        """The length of a list, or the value of an integer, if dimension counts determine it."""
        least, most = self.length(node) if node.type == ir.INTS else self.value(node)
        return least if least == most else None


class Lengths:
    """The lengths of lists for one combination of dimension counts.

    `kept` has the dimension counts of intermediate tensors.
    """

    def __init__(self, counts: Counts, kept: Mapping[str, int | None]) -> None:
        self.counts = counts
        self.kept = kept
        self._seen: set[tuple[ir.Function, tuple[tuple[str, int | None], ...]]] = set()

    def length(self, node: ir.Expr, known: Known) -> int | None:
        """The length of a list; None if it depends on more than dimension counts."""
        return _Counted(self.counts, known).certain(node)

    def misfits(self, node: ir.Expr, known: Known) -> Iterator[tuple[ir.Expr, str]]:
        """The reads and choices that do not fit, each with the reason.

        `known` has the lengths of list locals and the values of integer locals.
        """
        match node:
            case ir.Load(tensor=ir.Tensor(name=name), coordinate=coordinate):
                yield from self._fits(node, name, self.counts.ranks.get(name), self.length(coordinate, known))
            case ir.Entry(tensor=name, coordinate=coordinate):
                yield from self._fits(node, name, self.kept.get(name), self.length(coordinate, known))
            case ir.Apply(function=function):
                inner = _Counted(self.counts, known).parameters(node)
                key = (function, tuple(sorted(inner.items())))
                if key not in self._seen:
                    self._seen.add(key)
                    yield from self.misfits(function.body, inner)
            case ir.Conditional(test=ir.Present(item=ir.Tensor(name=name)), otherwise=otherwise):
                if name not in self.counts.ranks:  # absent: only the other value is evaluated
                    yield from self.misfits(otherwise, known)
                    return
            case ir.Conditional(then=then, otherwise=otherwise) if node.type == ir.INTS:
                a, b = self.length(then, known), self.length(otherwise, known)
                if a is not None and b is not None and a != b:
                    yield node, f"one choice has {a} entries and the other {b}"
            case ir.Reduce(loops=loops):
                boxes = {loop.variable.name: loop for loop in loops if loop.variable.type == ir.INTS}
                known = {**known, **{name: self.length(loop.upper, known) for name, loop in boxes.items()}}
        for child in ir.children(node):
            yield from self.misfits(child, known)

    def _fits(
        self, node: ir.Expr, name: str, rank: int | None, length: int | None
    ) -> Iterator[tuple[ir.Expr, str]]:
        if rank is not None and length is not None and rank != length:
            yield node, f"{name} has {rank} dimensions and is read at {length} indices"


def _only(value: int | None) -> Interval | None:
    """The interval of a value that is known."""
    return None if value is None else (value, value)


def _holds(node: ir.Compare, bounds: Bounds) -> bool | None:
    """Whether a rule's condition on dimension counts holds; None for any other condition."""
    if node.left.type == ir.INT:
        return bounds.holds(node)
    if node.left.type == ir.INTS and node.op == "==":
        (a, b), (c, d) = bounds.length(node.left), bounds.length(node.right)
        return False if b < c or d < a else None
    return None


def dimension_counts(
    members: Mapping[str, Member], resolved: Iterable[Rule], support: Mapping[str, tuple[Support, ...]]
) -> list[Counts]:
    """The combinations of dimension counts that valid descriptions have; of many, some with each count."""
    found: dict[str, set[int]] = {}
    for row in (row for rows in support.values() for row in rows):
        if members[row.tensor].count is None:  # rules apply to an array's entries inside loops
            found.setdefault(row.tensor, set()).update(row.ranks)
    ranks = {name: tuple(sorted(counts)) for name, counts in found.items()}
    arrays = {name: member.count for name, member in members.items() if member.count and not member.is_tensor}
    checks = (check for check in demanded(resolved) if is_of_given(check) and not check.loops)
    conditions = tuple(one.condition for one in checks if isinstance(one.condition, ir.Compare))
    choices = {**ranks, **{name: tuple(range(MAX_RANK + 1)) for name in set(arrays.values())}}
    every = list(islice(_allowed(choices, ranks, arrays, conditions), MAX_COMBINATIONS + 1))
    if len(every) <= MAX_COMBINATIONS:
        return every
    some: list[Counts] = []
    for turn in range(2 * MAX_RANK):
        # Each tensor starts with a different count; in the second half they do not advance together.
        turned = {}
        for place, (name, counts) in enumerate(choices.items()):
            first = turn * (1 + place * (turn // MAX_RANK)) % len(counts)
            turned[name] = counts[first:] + counts[:first]
        some += islice(_allowed(turned, ranks, arrays, conditions), 1)
    return some


def _allowed(
    choices: Mapping[str, tuple[int, ...]],
    ranks: Mapping[str, object],
    members: Mapping[str, str],
    conditions: Sequence[ir.Compare],
    chosen: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[Counts]:
    """Chooses counts one by one, and checks a condition as soon as all counts it needs are chosen."""
    tensors = {name: count for name, count in chosen.items() if name in ranks}
    counts = Counts(tensors, {name: count for name, count in chosen.items() if name not in ranks}, members)
    bounds = _Counted(counts, {})
    undecided: list[ir.Compare] = []
    for condition in conditions:
        held = _holds(condition, bounds)
        if held is False:
            return
        if held is None:
            undecided.append(condition)
    if len(chosen) == len(choices):
        yield counts
        return
    name = list(choices)[len(chosen)]
    for count in choices[name]:
        yield from _allowed(choices, ranks, members, undecided, {**chosen, name: count})
