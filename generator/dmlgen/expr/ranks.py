"""Lengths of coordinates: every read of a definition must have as many indices as the tensor has dimensions.

The length of a list depends only on dimension counts. The check tries the combinations of dimension counts
that the tables and the rules on dimension counts allow; there are few, since rules make most of them equal.
An integer that depends on anything else is unknown (None), and so is a length that depends on it. What is
unknown is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK

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


class Lengths:
    """The lengths of lists for one combination of dimension counts.

    `kept` has the dimension counts of intermediate tensors.
    """

    def __init__(self, counts: Counts, kept: Mapping[str, int | None]) -> None:
        self.counts = counts
        self.kept = kept
        self._seen: set[tuple[ir.Function, tuple[tuple[str, int | None], ...], int | None]] = set()

    def misfits(self, node: ir.Expr, known: Mapping[str, int | None]) -> Iterator[tuple[ir.Expr, str]]:
        """The reads and choices that do not fit, each with the reason.

        `known` has the lengths of list locals and the values of integer locals.
        """
        match node:
            case ir.Load(tensor=ir.Tensor(name=name), coordinate=coordinate):
                yield from self._fits(node, name, self.counts.ranks.get(name), coordinate, known)
            case ir.Entry(tensor=name, coordinate=coordinate):
                yield from self._fits(node, name, self.kept.get(name), coordinate, known)
            case ir.Apply(function=function, arguments=arguments):
                inner = self._parameters(function, arguments, known)
                key = (function, tuple(sorted(inner.items())), known.get("at"))
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
            case ir.Fold(loops=loops):
                known = {**known, **{each.variable.name: self._variable(each, known) for each in loops}}
            case ir.Reduce(loop=loop):
                known = {**known, loop.variable.name: None}
        for child in ir.children(node):
            yield from self.misfits(child, known)

    def _fits(
        self,
        node: ir.Expr,
        name: str,
        rank: int | None,
        coordinate: ir.Expr,
        known: Mapping[str, int | None],
    ) -> Iterator[tuple[ir.Expr, str]]:
        length = self.length(coordinate, known)
        if rank is not None and length is not None and rank != length:
            yield node, f"{name} has {rank} dimensions and is read at {length} indices"

    def _variable(self, each: ir.Each, known: Mapping[str, int | None]) -> int | None:
        return self.length(each.last, known) if each.variable.type == ir.INTS else None

    def _parameters(
        self, function: ir.Function, arguments: tuple[ir.Expr, ...], known: Mapping[str, int | None]
    ) -> dict[str, int | None]:
        inner = {
            parameter.name: self.length(argument, known)
            if argument.type == ir.INTS
            else self.value(argument, known)
            for parameter, argument in zip(function.parameters, arguments, strict=True)
        }
        return {**inner, "at": known.get("at")}

    def length(self, node: ir.Expr, known: Mapping[str, int | None]) -> int | None:
        """The length of a list."""
        match node:
            case ir.Local(name=name):
                return known.get(name)
            case ir.Definition(value=value):
                return self.length(value, {})
            case ir.Apply(function=function, arguments=arguments):
                return self.length(function.body, self._parameters(function, arguments, known))
            case ir.Field(tensor=ir.Tensor(name=name)):
                return self.counts.ranks.get(name)
            case ir.Member(name=name):
                return self.counts.values.get(self.counts.members.get(name, ""))
            case ir.ListOf(items=items):
                return len(items)
            case ir.Binary(op="+", left=left, right=right):
                a, b = self.length(left, known), self.length(right, known)
                return None if a is None or b is None else a + b
            case ir.Slice(sequence=sequence, lower=lower, upper=upper):
                whole = self.length(sequence, known)
                first = 0 if lower is None else self.value(lower, known)
                last = whole if upper is None else self.value(upper, known)
                if whole is None or first is None or last is None:
                    return None
                return max(min(max(last, 0), whole) - min(max(first, 0), whole), 0)
            case ir.Reduce(loop=loop):
                low, high = self.value(loop.lower, known), self.value(loop.upper, known)
                return None if low is None or high is None else max(high - low, 0)
            case ir.Conditional(then=then, otherwise=otherwise):
                a, b = self.length(then, known), self.length(otherwise, known)
                return a if a == b else None
            case ir.Call(function="align", arguments=(_, count, _)):
                return self.value(count, known)
            case ir.Call(function="unravel_index", arguments=(_, sizes)):
                return self.length(sizes, known)
            case ir.Call(function="replace", arguments=(sequence, _, _)):
                return self.length(sequence, known)
            case ir.Fold(kind="argmax" | "argmin", loops=loops):
                return self._variable(loops[0], known)
            case _:
                return None

    def value(self, node: ir.Expr, known: Mapping[str, int | None]) -> int | None:
        """An integer that depends only on dimension counts."""
        match node:
            case ir.Number(value=int(value)) | ir.Constant(value=value):
                return value
            case ir.Local(name=name):
                return known.get(name)
            case ir.Definition(value=value_):
                return self.value(value_, {})
            case ir.Apply(function=function, arguments=arguments):
                return self.value(function.body, self._parameters(function, arguments, known))
            case ir.Field(tensor=ir.Tensor(name=name), name="DimensionCount"):
                return self.counts.ranks.get(name)
            case ir.Member(name=name):
                return self.counts.values.get(name)
            case ir.Call(function="len", arguments=(item,)):
                return self.length(item, known)
            case ir.Call(function="min" | "max" as function_, arguments=(left, right)):
                a, b = self.value(left, known), self.value(right, known)
                if a is None or b is None:
                    return None
                return min(a, b) if function_ == "min" else max(a, b)
            case ir.Binary(op="+" | "-" | "*" as op, left=left, right=right):
                a, b = self.value(left, known), self.value(right, known)
                if a is None or b is None:
                    return None
                return a + b if op == "+" else a - b if op == "-" else a * b
            case _:
                return None


def holds(node: ir.Expr, lengths: Lengths) -> bool | None:
    """Whether a rule's condition on dimension counts holds; None for any other condition."""
    match node:
        case ir.Compare(op=op, left=left, right=right) if left.type == ir.INT:
            a, b = lengths.value(left, {}), lengths.value(right, {})
            if a is None or b is None:
                return None
            return ir.COMPARE[op](a, b)
        case ir.Compare(op="==", left=left, right=right) if left.type == ir.INTS:
            a, b = lengths.length(left, {}), lengths.length(right, {})
            return False if a is not None and b is not None and a != b else None
        case _:
            return None


def combinations(
    ranks: Mapping[str, tuple[int, ...]], members: Mapping[str, str], conditions: tuple[ir.Expr, ...]
) -> list[Counts]:
    """The combinations of dimension counts that no condition excludes; of many, some with each count."""
    conditions = tuple(one for one in conditions if isinstance(one, ir.Compare))
    choices = {**ranks, **{name: tuple(range(MAX_RANK + 1)) for name in set(members.values())}}
    every = list(islice(_allowed(choices, ranks, members, conditions), MAX_COMBINATIONS + 1))
    if len(every) <= MAX_COMBINATIONS:
        return every
    some: list[Counts] = []
    for turn in range(2 * MAX_RANK):
        # Each tensor starts with a different count; in the second half they do not advance together.
        turned = {
            name: _turned(counts, turn * (1 + place * (turn // MAX_RANK)))
            for place, (name, counts) in enumerate(choices.items())
        }
        some += islice(_allowed(turned, ranks, members, conditions), 1)
    return some


def _turned(counts: tuple[int, ...], places: int) -> tuple[int, ...]:
    first = places % len(counts)
    return counts[first:] + counts[:first]


def _allowed(
    choices: Mapping[str, tuple[int, ...]],
    ranks: Mapping[str, object],
    members: Mapping[str, str],
    conditions: Sequence[ir.Expr],
    chosen: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[Counts]:
    """Chooses counts one by one, and checks a condition as soon as all counts it needs are chosen."""
    counts = _counts(chosen, ranks, members)
    lengths = Lengths(counts, {})
    undecided: list[ir.Expr] = []
    for condition in conditions:
        held = holds(condition, lengths)
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


def _counts(chosen: Mapping[str, int], ranks: Mapping[str, object], members: Mapping[str, str]) -> Counts:
    tensors = {name: count for name, count in chosen.items() if name in ranks}
    return Counts(tensors, {name: count for name, count in chosen.items() if name not in ranks}, members)
