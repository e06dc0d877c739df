"""Definitions that contract two tensors: sums of products, one factor from each.

Matrix products have this form, and convolutions. Each factor is read at a coordinate whose entries are
coordinates of the output, or the variable of the loop; which is which may depend on the description, never on
the element. With a window, the last entries of both are sums of constants, coordinates of the output and
those of the window, each times a constant; what is outside of one factor takes no part. What is made of the
sum is stored: anything that reads neither factor again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.expr.defined import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Choice, TooLarge, written
from dmlgen.schedules.described import Described
from dmlgen.schedules.elements import Unfit
from dmlgen.schedules.schedule import Contraction, Factor, Window
from dmlgen.schedules.sets import AT

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
"""The sum, in what is made of it."""


def recognise(defines: OutputDefinitions, described: Described) -> Contraction | None:
    """The contraction that a definition of one output comes down to, for all descriptions or for those with
    one value of an enumeration."""
    if len(defines.outputs) != 1:
        return None
    for choice in _choices(defines, described):
        try:
            return _Reader(defines, described, choice).contraction()
        except (Unfit, TooLarge):
            continue
    return None


def _choices(defines: OutputDefinitions, described: Described) -> Iterator[Choice]:
    """No choice, then each value of each enumeration that the definition asks for."""
    yield {}
    nodes = (node for whole in defines.whole for node in ir.walk(whole))
    for member in dict.fromkeys(node for node in nodes if isinstance(node, ir.Member)):
        if member.type.kind == "enum":
            for entry in described.enums[member.type.name or ""].entries:
                yield {member: ir.EnumValue(entry.name, entry.value, member.type)}


class _Reader:
    """Reads a definition in one case."""

    def __init__(self, defines: OutputDefinitions, described: Described, choice: Choice) -> None:
        self._defines, self._described, self._choice = defines, described, choice
        ((self._output, self._value),) = defines.outputs.items()
        self._rank = ir.Field(ir.Tensor(self._output), "DimensionCount", ir.INT)

    def contraction(self) -> Contraction:
        whole = self._whole()
        totals = {part for part in ir.walk(whole) if isinstance(part, ir.Fold)}
        if len(totals) != 1:
            raise Unfit
        (total,) = totals
        left, right, depth, window = self._products(total)
        value = _spelled(ir.substitute(whole, {total: TOTAL}))
        read = {part.tensor.name for part in ir.walk(value) if isinstance(part, ir.Load)}
        names = {left.tensor, right.tensor}
        certain = self._described.is_certain(self._output) and self._is_float(self._output)
        if len(names) != 2 or names & read or not is_known(depth) or not certain:
            raise Unfit
        tests: list[ir.Expr] = [ir.Compare("==", member, value_) for member, value_ in self._choice.items()]
        when = tests[0] if tests else ir.Number(True, ir.BOOL)
        return Contraction(self._output, when, left, right, depth, window, value)

    def _whole(self) -> ir.Expr:
        """The value of the output without intermediate tensors, which must be read where they are defined."""
        sizes = ir.Field(ir.Tensor(self._output), "Sizes", ir.INTS)
        new: dict[ir.Expr, ir.Expr] = {}
        for one in self._defines.tensors:
            if one.along or one.decides or one.type != ir.FLOAT or written(one.sizes, self._choice) != sizes:
                raise Unfit
            value = ir.substitute(written(one.value, self._choice), new)
            new[ir.Entry(one.name, AT, one.type)] = value
        whole = ir.substitute(written(self._value, self._choice), new)
        if any(isinstance(part, ir.Entry) for part in ir.walk(whole)):
            raise Unfit
        return whole

    def _is_float(self, tensor: str) -> bool:
        return self._described.is_float(tensor, self._choice)

    def _products(self, total: ir.Fold) -> tuple[Factor, Factor, ir.Expr, Window | None]:
        """The factors of the products, how many there are in a sum, or at a place of the window, and that."""
        match total:
            case ir.Fold(kind="sum", body=ir.Binary("*", ir.Load() as left, ir.Load() as right, ir.FLOAT)):
                if not all(self._is_certain(one.tensor) for one in (left, right)):
                    raise Unfit
            case _:
                raise Unfit
        match total.loops, total.condition:
            case (ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth),), None:
                return self._factor(left, k), self._factor(right, k), depth, None
            case (
                (ir.Each(variable=ir.Local(type=ir.INTS) as w, first=None, last=sizes),
                 ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth)),
                ir.Call(function="inside") as inside,
            ):  # fmt: skip
                if _tail(left.coordinate) == inside.arguments[0]:
                    left, right = right, left
                return self._windowed(left, right, inside, w, sizes, k, depth)
        raise Unfit

    def _is_certain(self, tensor: ir.Tensor) -> bool:
        return tensor.index is None and self._described.is_certain(tensor.name)

    def _factor(self, load: ir.Load, k: ir.Local) -> Factor:
        return Factor(load.tensor.name, self._places(load.coordinate, k))

    def _places(self, node: ir.Expr, k: ir.Local) -> ir.Expr:
        """For each entry of a coordinate, the dimension of the output whose coordinate it is.

        The output's dimension count stands for the variable of the loop, and the number after it for 0.
        """
        match node:
            case ir.Slice(sequence=sequence, lower=lower, upper=upper) if sequence == AT:
                if all(end is None or is_known(end) for end in (lower, upper)):
                    return _numbers(lower or ir.Number(0, ir.INT), upper or self._rank)
            case ir.ListOf(items):
                return ir.ListOf(tuple(self._place(item, k) for item in items))
            case ir.Binary("+", left, right, ir.INTS):
                return ir.Binary("+", self._places(left, k), self._places(right, k), ir.INTS)
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return ir.Conditional(test, self._places(then, k), self._places(otherwise, k))
        raise Unfit

    def _place(self, item: ir.Expr, k: ir.Local) -> ir.Expr:
        match item:
            case ir.Index(sequence, index) if sequence == AT and is_known(index):
                return index
            case ir.Number(value=0):
                return ir.Binary("+", self._rank, ir.Number(1, ir.INT), ir.INT)
        if item == k:
            return self._rank
        raise Unfit

    def _windowed(
        self,
        left: ir.Load,
        right: ir.Load,
        inside: ir.Call,
        w: ir.Local,
        sizes: ir.Expr,
        k: ir.Local,
        depth: ir.Expr,
    ) -> tuple[Factor, Factor, ir.Expr, Window]:
        """The same with a window on the right factor, of which what is outside takes no part."""
        match left.coordinate, right.coordinate, inside.arguments:
            case (
                ir.Binary("+", ir.ListOf((row, own)), taps, ir.INTS),
                ir.Binary("+", ir.ListOf((first, channel)), ir.Reduce(kind="list") as place, ir.INTS),
                (tested, ir.Slice(ir.Field(tensor, "Sizes"), ir.Number(value=2), None)),
            ) if own == k and tested == place and tensor == right.tensor and is_known(sizes):
                groups = _groups(channel, row, k, depth, self._output)
                head = ir.ListOf((self._place(row, k), self._place(k, k)))
                beside = ir.ListOf((self._place(first, k), self._place(k, k)))
                axes = [part.index for part in ir.walk(place.body) if _is_entry(part, AT)]
                if axes != axes[:1] or not axes or AT in ir.walk(taps):
                    raise Unfit
                window = Window(
                    sizes=sizes,
                    groups=groups,
                    axes=ir.Reduce("list", place.loop, axes[0], ir.INTS),
                    left_first=_at(taps, w, 0, 0),
                    left_taps=_at(taps, w, 0, 1),
                    right_first=_at(place, w, 0, 0),
                    right_steps=_at(place, w, 1, 0),
                    right_taps=_at(place, w, 0, 1),
                )
                return Factor(left.tensor.name, head), Factor(right.tensor.name, beside), depth, window
        raise Unfit


def _tail(coordinate: ir.Expr) -> ir.Expr | None:
    """What stands behind the first entries of a coordinate."""
    return coordinate.right if isinstance(coordinate, ir.Binary) else None


def _groups(channel: ir.Expr, row: ir.Expr, k: ir.Local, depth: ir.Expr, output: str) -> ir.Expr:
    """How many groups there are, each with `depth` channels and as many rows as the others."""
    if channel == k:
        return ir.Number(1, ir.INT)
    match channel:
        case ir.Call(
            "flat", (ir.ListOf((ir.Index(place, ir.Number(value=0)), own)), ir.ListOf((groups, each)))
        ):
            if isinstance(row, ir.Index) and (own, each) == (k, depth) and is_known(groups):
                sizes = ir.Field(ir.Tensor(output), "Sizes", ir.INTS)
                rows = ir.Binary("//", ir.Index(sizes, row.index), groups, ir.INT)
                if place == ir.Call("unflat", (row, ir.ListOf((groups, rows))), ir.INTS):
                    return groups
    raise Unfit


def _is_entry(node: ir.Expr, of: ir.Expr) -> TypeGuard[ir.Index]:
    return isinstance(node, ir.Index) and node.sequence == of


def _at(node: ir.Expr, w: ir.Local, at: int, tap: int) -> ir.Expr:
    """A list of sums where all coordinates of the output and of the window have those values."""
    match node:
        case ir.Reduce(kind="list", loop=ir.Loop(variable, ir.Number(value=0), _, None) as loop, body=body):
            if not _is_sum(body, w, variable):
                raise Unfit
            values = ((AT, at), (w, tap))
            new: dict[ir.Expr, ir.Expr] = {
                part: ir.Number(value, ir.INT)
                for part in ir.walk(body)
                for of, value in values
                if _is_entry(part, of)
            }
            return ir.Reduce("list", loop, ir.substitute(body, new), ir.INTS)
    raise Unfit


def _is_sum(node: ir.Expr, w: ir.Local, d: ir.Local) -> bool:
    """Whether a number is a sum of constants and of entries of `at` and entry `d` of the window, all of them
    times constants."""
    constant = all(part not in (AT, w) for part in ir.walk(node))
    match node:
        case _ if constant:
            return not any(isinstance(part, ir.Load | ir.Fold) for part in ir.walk(node))
        case ir.Index(sequence, index):
            return sequence == AT or (sequence == w and index == d)
        case ir.Binary("+" | "-", left, right, ir.INT):
            return _is_sum(left, w, d) and _is_sum(right, w, d)
        case ir.Binary("*", left, right, ir.INT):
            sides = [all(part not in (AT, w) for part in ir.walk(side)) for side in (left, right)]
            return any(sides) and _is_sum(left, w, d) and _is_sum(right, w, d)
        case ir.Conditional(test, then, otherwise) if is_known(test):
            return _is_sum(then, w, d) and _is_sum(otherwise, w, d)
    return False


def _spelled(node: ir.Expr) -> ir.Expr:
    """An expression with its reductions as definitions have them, those of truth values written out: what is
    made of a sum is worked out for many elements at once, where a loop would be slow."""
    found = {part for part in ir.walk(node) if isinstance(part, ir.Reduce) and part.kind != "list"}
    return ir.substitute(node, {part: _written_out(part) for part in found})


def _written_out(node: ir.Reduce) -> ir.Expr:
    assert node.kind != "list"
    loop, most = node.loop, BOUNDS.value(node.loop.upper)[1]
    whole = loop.lower == ir.Number(0, ir.INT) and loop.condition is None and most <= MAX_RANK
    if node.type != ir.BOOL or not whole:
        first = None if loop.lower == ir.Number(0, ir.INT) else loop.lower
        each = ir.Each(loop.variable, first, loop.upper)
        return ir.Fold(node.kind, (each,), loop.condition, node.body, node.type, unrolled=True)
    parts: list[ir.Expr] = []
    for number in range(most):
        d = ir.Number(number, ir.INT)
        there, body = ir.Compare("<", d, loop.upper), _summed(ir.substitute(node.body, {loop.variable: d}))
        if node.kind == "any":
            parts.append(ir.Logic("and", (there, body)))
        else:
            parts.append(ir.Logic("or", (ir.Not(there), body)))
    return ir.Logic("or" if node.kind == "any" else "and", tuple(parts))


def _summed(node: ir.Expr) -> ir.Expr:
    """An expression with sums of written numbers as numbers."""
    new: dict[ir.Expr, ir.Expr] = {}
    for part in ir.walk(node):
        match part:
            case ir.Binary("+", ir.Number(value=int(a), type=ir.INT), ir.Number(value=int(b)), ir.INT):
                new[part] = ir.Number(a + b, ir.INT)
    return ir.substitute(node, new)


def _numbers(first: ir.Expr, last: ir.Expr) -> ir.Expr:
    """The list of the numbers from `first` up to, without, `last`."""
    number = ir.Local("d", ir.INT)
    return ir.Reduce("list", ir.Loop(number, first, last, None), number, ir.INTS)
