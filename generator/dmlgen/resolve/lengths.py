"""Lengths of coordinates: every read of a definition must have as many indices as the tensor has dimensions.

The length of a list depends only on dimension counts. The check tries the combinations of dimension counts
that the tables and the rules on dimension counts allow; there are few, since rules make most of them equal.
An integer that depends on anything else is unknown (None), and so is a length that depends on it. What is
unknown is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from random import Random
from typing import TypeAlias

from dmlgen.analysis.classes import demanded, is_of_given
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK, Bounds, Interval
from dmlgen.registry import Member, Rule, Support

Known: TypeAlias = Mapping[str, int | None]

MAX_COMBINATIONS = 50
"""More combinations of dimension counts than this are not all tried."""


class Lengths(Bounds):
    """Bounds for one combination of dimension counts.

    `counts` has those of tensors, and the values of members that count the entries of others: `counted` maps
    these to them. `locals` has the lengths of lists and the values of integers that are local.
    """

    def __init__(self, counts: Known, counted: Mapping[str, str]) -> None:
        super().__init__()
        self.counts, self._counted = counts, counted
        self._locals: Known = {}
        self._seen: set[tuple[object, ...]] = set()  # functions, with their locals

    def member(self, node: ir.Member) -> Interval:
        return _exactly(self.counts.get(node.name)) or super().member(node)

    def field(self, node: ir.Field) -> Interval:
        rank = self.counts.get(node.tensor.name) if node.name == "DimensionCount" else None
        return _exactly(rank) or super().field(node)

    def exact(self, node: ir.Expr) -> Interval:
        match node:
            case ir.Local(name=name) if name not in self.loops and name in self._locals:
                return _exactly(self._locals[name]) or super().exact(node)
            case ir.Apply():
                return self.within(node).exact(node.function.body)
        return super().exact(node)

    def length(self, node: ir.Expr) -> Interval:
        known: int | None = None
        match node:
            case ir.Local(name=name):
                known = self._locals.get(name)
            case ir.Field(tensor=ir.Tensor(name=name)):
                known = self.counts.get(name)
            case ir.Member(name=name):
                known = self.counts.get(self._counted.get(name, ""))
            case ir.Apply():
                return self.within(node).length(node.function.body)
            case ir.Call(function="unravel_index", arguments=(_, sizes)):
                return self.length(sizes)
            case ir.Reduce(kind="argmax" | "argmin", loops=(loop,)):
                return self.length(loop.upper)
        return _exactly(known) or super().length(node)

    def holds(self, node: ir.Compare) -> bool | None:
        """Whether a comparison of integers, or of lists by their lengths, holds; None for any other."""
        if node.left.type == ir.INTS and node.op == "==":
            (a, b), (c, d) = self.length(node.left), self.length(node.right)
            return False if b < c or d < a else None
        return super().holds(node) if node.left.type == ir.INT else None

    def certain(self, node: ir.Expr) -> int | None:
        """The length of a list, or the value of an integer, if dimension counts determine it."""
        least, most = self.length(node) if node.type == ir.INTS else self.value(node)
        return least if least == most else None

    def with_counts(self, counts: Known) -> Lengths:
        """These lengths, with the counts of more tensors or members."""
        return Lengths({**self.counts, **counts}, self._counted)

    def with_locals(self, known: Known) -> Lengths:
        """These lengths where these locals are known, and no others."""
        found = copy(self)
        found._locals, found.loops = known, {}
        return found

    def within(self, node: ir.Apply) -> Lengths:
        """Lengths in a function: its parameters are known, and `at`, where it is used."""
        pairs = zip(node.function.parameters, node.arguments, strict=True)
        given = {one.name: self.certain(argument) for one, argument in pairs}
        return self.with_locals({**given, "at": self._locals.get("at")})

    def misfits(self, node: ir.Expr) -> Iterator[tuple[ir.Expr, str]]:
        """The reads and choices that do not fit, each with the reason."""
        inside = self
        match node:
            case ir.Load(tensor=ir.Tensor(name=name)) | ir.Entry(tensor=name):
                rank, length = self.counts.get(name), self.certain(node.coordinate)
                if rank is not None and length is not None and rank != length:
                    yield node, f"{name} has {rank} dimensions and is read at {length} indices"
            case ir.Apply(function=function):
                called = self.within(node)
                if (key := (function, *called._locals.items())) not in self._seen:
                    self._seen.add(key)
                    yield from called.misfits(function.body)
            case ir.Conditional(test=ir.Present(item=ir.Tensor(name=name)), otherwise=otherwise) if (
                name not in self.counts
            ):  # absent: only the other value is evaluated
                yield from self.misfits(otherwise)
                return
            case ir.Conditional(then=then, otherwise=otherwise) if node.type == ir.INTS:
                a, b = self.certain(then), self.certain(otherwise)
                if a is not None and b is not None and a != b:
                    yield node, f"one choice has {a} entries and the other {b}"
            case ir.Reduce(loops=loops):
                boxes = {loop.variable.name: loop.upper for loop in loops if loop.variable.type == ir.INTS}
                known = {name: self.certain(sizes) for name, sizes in boxes.items()}
                inside = self.with_locals({**self._locals, **known})
        for child in ir.children(node):
            yield from inside.misfits(child)


def _exactly(value: int | None) -> Interval | None:
    """The interval of a value that is known."""
    return None if value is None else (value, value)


def combinations(
    members: Mapping[str, Member], resolved: Iterable[Rule], support: Mapping[str, tuple[Support, ...]]
) -> list[Lengths]:
    """The combinations of dimension counts that valid descriptions have; of many, some chosen at random."""
    choices: dict[str, Sequence[int]] = {}
    for row in (row for rows in support.values() for row in rows):
        if members[row.tensor].count is None:  # rules apply to an array's entries inside loops
            choices[row.tensor] = sorted({*choices.get(row.tensor, ()), *row.ranks})
    counted = {name: one.count for name, one in members.items() if one.count and not one.is_tensor}
    choices |= dict.fromkeys(counted.values(), range(MAX_RANK + 1))
    checks = (check for check in demanded(resolved) if is_of_given(check) and not check.loops)
    conditions = [one.condition for one in checks if isinstance(one.condition, ir.Compare)]
    every = list(islice(_allowed(Lengths({}, counted), choices, conditions), MAX_COMBINATIONS + 1))
    if len(every) <= MAX_COMBINATIONS:
        return every
    some, random = list[Lengths](), Random(1)
    for _ in range(2 * MAX_RANK):
        shuffled = {name: random.sample(counts, len(counts)) for name, counts in choices.items()}
        some += islice(_allowed(Lengths({}, counted), shuffled, conditions), 1)
    return some


def _allowed(
    lengths: Lengths, choices: Mapping[str, Sequence[int]], conditions: Sequence[ir.Compare]
) -> Iterator[Lengths]:
    """Chooses counts one by one, and checks a condition as soon as all counts it needs are chosen."""
    held = [lengths.holds(one) for one in conditions]
    if False in held:
        return
    if len(lengths.counts) == len(choices):
        yield lengths
        return
    undecided = [one for one, holds in zip(conditions, held, strict=True) if holds is None]
    name = list(choices)[len(lengths.counts)]
    for count in choices[name]:
        yield from _allowed(lengths.with_counts({name: count}), choices, undecided)
