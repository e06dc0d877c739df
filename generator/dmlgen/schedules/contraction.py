"""Definitions that contract two tensors: sums of products, one factor from each.

Matrix products have this form, and convolutions. Each factor is read at a coordinate whose entries are
coordinates of the output, or the variable of the loop; which is which may depend on the description, never on
the element. With a window, the last entries of both are sums of constants, coordinates of the output and
those of the window, each times a constant; what is outside of one factor takes no part. There such a sum may
be divided, and what leaves a remainder takes no part either. What is made of the sum is stored: anything that
reads neither factor again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from dmlgen.expr import ir
from dmlgen.expr.defined import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Choice, TooLarge, spelled, written
from dmlgen.schedules.described import Described
from dmlgen.schedules.elements import Unfit
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.sets import AT
from dmlgen.schedules.windows import axes_of, numbers, sum_at

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
"""The sum, in what is made of it."""


@dataclass(frozen=True)
class Factor:
    """A factor of the products that are summed: the element of `tensor` that `places` say.

    For each dimension of the tensor, those of a window apart, `places` has the dimension of the output whose
    coordinate is taken; the output's dimension count where it is the number of the product, and one more
    where it is 0.
    """

    tensor: str
    places: ir.Expr


@dataclass(frozen=True)
class Window:
    """A box of `sizes` over whose coordinates the products run, too: the last dimensions of both factors.

    In each of them a coordinate of the left factor is a sum of a constant and a multiple of the window's; of
    the right one also of a multiple of the output's in dimension `axes`, and divided by `right_divisors`;
    where that leaves a remainder, or is outside, there is no product. Lists have the sums where all that they
    are of is 0 (`first`), the output's coordinate is 1 instead (`steps`), and where the window's is 1
    (`taps`). There are `groups`, each of which has its own part of the left factor's first dimension and of
    the right one's second.
    """

    sizes: ir.Expr
    groups: ir.Expr
    axes: ir.Expr
    left_first: ir.Expr
    left_taps: ir.Expr
    right_first: ir.Expr
    right_steps: ir.Expr
    right_taps: ir.Expr
    right_divisors: ir.Expr


@dataclass(frozen=True)
class Contraction(FastForm):
    """A faster way to an output whose elements follow from sums of products (`schedules`).

    It is one where `when` holds. There are `depth` products, or so many at each place of the window. `value`
    is the element, made of the sum, the local `total`.
    """

    output: str
    when: ir.Expr
    left: Factor
    right: Factor
    depth: ir.Expr
    window: Window | None
    value: ir.Expr


def recognise(defines: OutputDefinitions, described: Described) -> Contraction | None:
    """The contraction that a definition of one output comes down to, for all descriptions or for those with
    some values of an enumeration."""
    if len(defines.outputs) != 1:
        return None
    found: Contraction | None = None
    for choice in _choices(defines, described):
        try:
            one = _Reader(defines, described, choice).contraction()
        except (Unfit, TooLarge):
            continue
        if not choice:
            return one
        found = one if found is None else _either(found, one)
    return found


def _either(one: Contraction, other: Contraction) -> Contraction:
    """The contraction that is the one or the other, as the description has it; the first one where they
    differ in what shaders have."""

    def either(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return a if a == b else ir.Conditional(one.when, a, b)

    def factor(a: Factor, b: Factor) -> Factor:
        return Factor(a.tensor, either(a.places, b.places))

    fixed = [(each.output, each.left.tensor, each.right.tensor, each.value) for each in (one, other)]
    if fixed[0] != fixed[1] or (one.window is None) != (other.window is None):
        return one
    window = one.window
    if window is not None and other.window is not None:
        names = [each.name for each in fields(window)]
        merged = {name: either(getattr(window, name), getattr(other.window, name)) for name in names}
        window = replace(window, **merged)
    return replace(
        one,
        when=ir.Logic("or", (one.when, other.when)),
        left=factor(one.left, other.left),
        right=factor(one.right, other.right),
        depth=either(one.depth, other.depth),
        window=window,
    )


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
        value = spelled(ir.substitute(whole, {total: TOTAL}), self._output)
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
                ir.Each(variable=ir.Local(type=ir.INTS) as w, first=None, last=sizes),
                ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth),
            ), condition:
                inside, divides = _tests(condition)
                if _tail(left.coordinate) == inside.arguments[0]:
                    left, right = right, left
                return self._windowed(left, right, inside, divides, w, sizes, k, depth)
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
                    return numbers(lower or ir.Number(0, ir.INT), upper or self._rank)
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
        divides: ir.Expr | None,
        w: ir.Local,
        sizes: ir.Expr,
        k: ir.Local,
        depth: ir.Expr,
    ) -> tuple[Factor, Factor, ir.Expr, Window]:
        """The same with a window on the right factor, of which what is outside takes no part, and what leaves
        a remainder."""
        match left.coordinate, right.coordinate, inside.arguments:
            case (
                ir.Binary("+", ir.ListOf((_, _) as own), taps, ir.INTS),
                ir.Binary("+", ir.ListOf((first, channel)), ir.Reduce(kind="list") as place, ir.INTS),
                (tested, ir.Slice(ir.Field(tensor, "Sizes"), ir.Number(value=2), None)),
            ) if tested == place and tensor == right.tensor and is_known(sizes):
                places, groups = self._in_groups(own, channel, k, depth)
                beside = ir.ListOf((self._place(first, k), self._place(k, k)))
                if AT in ir.walk(taps):
                    raise Unfit
                dividend, divisors = _quotient(place, divides)
                window = Window(
                    sizes=sizes,
                    groups=groups,
                    axes=axes_of(dividend),
                    left_first=sum_at(taps, w, 0, 0),
                    left_taps=sum_at(taps, w, 0, 1),
                    right_first=sum_at(dividend, w, 0, 0),
                    right_steps=sum_at(dividend, w, 1, 0),
                    right_taps=sum_at(dividend, w, 0, 1),
                    right_divisors=divisors,
                )
                return Factor(left.tensor.name, places), Factor(right.tensor.name, beside), depth, window
        raise Unfit

    def _in_groups(
        self, own: tuple[ir.Expr, ...], channel: ir.Expr, k: ir.Local, depth: ir.Expr
    ) -> tuple[ir.Expr, ir.Expr]:
        """The places of the left factor, whose first two entries are `own`, and how many groups there are.
        The first entry counts rows or channels of all groups, the second one the others, of one group."""
        match own:
            case (row, last) if last == k:
                groups = _groups(channel, row, k, depth, self._output)
                return ir.ListOf((self._place(row, k), self._place(k, k))), groups
            case (first, row) if first == channel:
                match row:
                    case ir.Index(ir.Call("unflat", (whole, _)) as place, ir.Number(value=1)):
                        groups = _groups(channel, whole, k, depth, self._output)
                        if channel == k or _group_place(channel) != place:
                            raise Unfit
                        return ir.ListOf((self._place(k, k), self._place(whole, k))), groups
                    case _ if channel == k:
                        return ir.ListOf((self._place(k, k), self._place(row, k))), ir.Number(1, ir.INT)
        raise Unfit


def _tests(condition: ir.Expr | None) -> tuple[ir.Call, ir.Expr | None]:
    """Of the condition of products under a window: that places are inside, and that they are whole numbers,
    if it asks for that."""
    match condition:
        case ir.Call(function="inside") as inside:
            return inside, None
        case ir.Logic("and", (ir.Call(function="inside") as inside, divides)):
            return inside, divides
    raise Unfit


def _quotient(place: ir.Reduce, divides: ir.Expr | None) -> tuple[ir.Reduce, ir.Expr]:
    """Sums and what they are divided by, where all divide; by 1 where nothing is said of that."""
    if divides is None:
        return place, replace(place, body=ir.Number(1, ir.INT))
    match place.body:
        case ir.Binary("//", dividend, divisor, ir.INT):
            rest = ir.Compare("==", ir.Binary("%", dividend, divisor, ir.INT), ir.Number(0, ir.INT))
            divisors = replace(place, body=divisor)
            if divides == ir.Reduce("all", place.loop, rest, ir.BOOL) and is_known(divisors):
                return replace(place, body=dividend), divisors
    raise Unfit


def _group_place(channel: ir.Expr) -> ir.Expr | None:
    """The place, group and row, whose group a channel is of."""
    match channel:
        case ir.Call("flat", (ir.ListOf((ir.Index(place, ir.Number(value=0)), _)), _)):
            return place
    return None


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
