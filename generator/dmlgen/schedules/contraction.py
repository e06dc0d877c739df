"""Definitions that contract two tensors: sums of products, with one factor from each.

Matrix products and convolutions have this form. Each factor is read at a coordinate whose entries are
coordinates of the output or the loop variable; which is which may depend on the description, never on the
element. With a window, the last entries of both are linear functions of the output's and the window's
coordinates. Taps outside of one factor, the right one, contribute nothing; there the linear function may also
be divided, and taps that leave a remainder contribute nothing either. The element may be any function of the
sum that does not read either factor again.

Factors are floats, or 8-bit integers, each minus a zero point that may depend on the output's coordinate.
Sums of those are integers, even if the definition adds them up as floats, which may round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.defined import free_locals, is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Choice, TooLarge, spelled, written
from dmlgen.schedules.described import Described
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.sets import AT
from dmlgen.schedules.windows import axes_of, numbers, sum_at

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
WHOLE_TOTAL = ir.Local("total", ir.INT, varies=True)
"""The sum in the expression of an element: of floats, and of integers."""


@dataclass(frozen=True)
class Factor:
    """A factor of the products that are summed: the element of `tensor` at `places`.

    For each dimension of the tensor apart from the window's, `places` has the dimension of the output that
    indexes it; the rank of the output if k does, and one more if the index is 0. For bytes, `less` is the
    zero point, also a byte, which may depend on the coordinates of the output in `less_axes`; it is None for
    floats.
    """

    tensor: str
    places: ir.Expr
    less: ir.Expr | None
    less_axes: ir.Expr

    @property
    def lessens(self) -> ir.Expr:
        """Whether the zero point may be nonzero."""
        match self.less:
            case None | ir.Number(value=0):
                return ir.Number(False, ir.BOOL)
            case ir.Conditional(test, _, ir.Number(value=0)) if is_known(test):
                return test
        return ir.Number(True, ir.BOOL)


@dataclass(frozen=True)
class Window:
    """A box of `sizes` over which the products also run: the last dimensions of both factors.

    In each of them, a coordinate of the left factor is a constant plus a multiple of the window's; one of the
    right factor also includes a multiple of the output's in dimension `axes`, and is divided by
    `right_divisors`. If that leaves a remainder, or is outside, there is no product. The lists have these
    values where all coordinates are 0 (`first`), where the output's is 1 instead (`steps`), and where the
    window's is 1 (`taps`). There are `groups`, each with its own part of the left factor's first dimension
    and of the right factor's second.
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
    """A faster way to compute an output from sums of products (`schedules`).

    It applies where `when` holds. A sum has `depth` products, or as many per tap of the window. `value` is
    the element as a function of the sum, the local `total`: an integer if the factors are bytes.
    """

    output: str
    when: ir.Expr
    left: Factor
    right: Factor
    depth: ir.Expr
    window: Window | None
    value: ir.Expr

    @property
    def of_bytes(self) -> bool:
        return self.left.less is not None


def recognize(defines: OutputDefinitions, described: Described) -> Contraction | None:
    """The contraction that a definition of one output amounts to, for all descriptions or for those with
    certain values of an enumeration."""
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
    """The contraction that is either of two, depending on the description; the first one if their shaders
    would differ."""

    def either(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return a if a == b else ir.Conditional(one.when, a, b)

    def factor(a: Factor, b: Factor) -> Factor:
        return replace(a, places=either(a.places, b.places))

    def in_shaders(each: Contraction) -> tuple[object, ...]:
        return each.output, each.value, *((one.tensor, one.less) for one in (each.left, each.right))

    fixed = [in_shaders(each) for each in (one, other)]
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
    """No choice first, then each value of each enumeration that the definition depends on."""
    yield {}
    nodes = (node for whole in defines.whole for node in ir.walk(whole))
    for member in dict.fromkeys(node for node in nodes if isinstance(node, ir.Member)):
        if member.type.kind == "enum":
            for entry in described.enums[member.type.name or ""].entries:
                yield {member: ir.EnumValue(entry.name, entry.value, member.type)}


class _Element(NamedTuple):
    """An element of a factor, and, for bytes, its zero point."""

    load: ir.Load
    less: ir.Expr | None


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
        of_bytes = left.less is not None
        value = spelled(ir.substitute(whole, {total: _sum(total.type, of_bytes)}), self._output)
        read = {part.tensor.name for part in ir.walk(value) if isinstance(part, ir.Load)}
        names = {left.tensor, right.tensor}
        certain = self._described.is_certain(self._output) and (
            self._described.has_words(self._output, self._choice)
            if of_bytes
            else self._described.is_float(self._output, self._choice)
        )
        if len(names) != 2 or names & read or not is_known(depth) or not certain:
            raise Unfit
        tests: list[ir.Expr] = [ir.Compare("==", member, value_) for member, value_ in self._choice.items()]
        if of_bytes:
            tests += self._of_bytes(left) + self._of_bytes(right)
        if not tests:
            tests.append(ir.Number(True, ir.BOOL))
        when = tests[0] if len(tests) == 1 else ir.Logic("and", tuple(tests))
        return Contraction(self._output, when, left, right, depth, window, value)

    def _whole(self) -> ir.Expr:
        """The value of the output, with intermediate tensors substituted; they must be read at their own
        coordinate."""
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

    def _products(self, total: ir.Fold) -> tuple[Factor, Factor, ir.Expr, Window | None]:
        """The factors of the products, the number of products per sum or per tap of the window, and that
        window."""
        match total:
            case ir.Fold(kind="sum", body=ir.Binary("*", one, other)):
                left, right = self._element(one), self._element(other)
            case _:
                raise Unfit
        if (left.less is None) != (right.less is None):
            raise Unfit
        match total.loops, total.condition:
            case (ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth),), None:
                rows, columns = (self._places(one.load.coordinate, k) for one in (left, right))
                return self._factor(left, rows), self._factor(right, columns), depth, None
            case (
                ir.Each(variable=ir.Local(type=ir.INTS) as w, first=None, last=sizes),
                ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth),
            ), condition:
                inside, divides = _tests(condition)
                if _tail(left.load.coordinate) == inside.arguments[0]:
                    left, right = right, left
                return self._windowed(left, right, inside, divides, w, sizes, k, depth)
        raise Unfit

    def _element(self, node: ir.Expr) -> _Element:
        """An element of a tensor that is never absent: a float, or an integer minus a zero point."""
        match node:
            case ir.Load(type=ir.FLOAT):
                found = _Element(node, None)
            case ir.Call("float", (whole,)) if whole.type == ir.INT:
                return self._element(whole)
            case ir.Load(type=ir.INT):
                found = _Element(node, ir.Number(0, ir.INT))
            case ir.Binary("-", ir.Load(type=ir.INT) as load, less, ir.INT):
                found = _Element(load, less)
            case _:
                raise Unfit
        tensor = found.load.tensor
        if tensor.index is not None or not self._described.is_certain(tensor.name):
            raise Unfit
        return found

    def _factor(self, element: _Element, places: ir.Expr) -> Factor:
        axes: tuple[ir.Expr, ...] = ()
        if element.less is not None:
            indices = [part for part in ir.walk(element.less) if isinstance(part, ir.Index)]
            entries = [part for part in indices if part.sequence == AT]
            axes = tuple(dict.fromkeys(part.index for part in entries))
            rest = ir.substitute(element.less, {part: ir.Number(0, ir.INT) for part in entries})
            if not all(map(is_known, axes)) or free_locals(rest):
                raise Unfit
        return Factor(element.load.tensor.name, places, element.less, ir.ListOf(axes))

    def _of_bytes(self, factor: Factor) -> list[ir.Expr]:
        """Tests of types: that elements have 8 bits, and zero points have the same type."""
        own = _type_of(factor.tensor)
        types = self._described.enums["TENSOR_DATA_TYPE"].entries
        bytes_ = [one for one in types if one.bits == 8 and one.kind != "float"]
        choices = tuple(ir.EnumValue(one.name, one.value, own.type) for one in bytes_)
        tests: list[ir.Expr] = [ir.OneOf(own, choices)]
        todo = [factor.less]
        while todo:  # ends: expressions are finite
            match todo.pop():
                case None | ir.Number(value=0):
                    pass
                case ir.Load(ir.Tensor(name=name, index=None) as other):
                    same = ir.Compare("==", _type_of(name), own)
                    tests.append(ir.Logic("or", (ir.Not(ir.Present(other)), same)))
                case ir.Conditional(test, then, otherwise) if is_known(test):
                    todo += [then, otherwise]
                case _:
                    raise Unfit
        return tests

    def _places(self, node: ir.Expr, k: ir.Local) -> ir.Expr:
        """For each entry of a coordinate, the dimension of the output whose coordinate it is.

        The rank of the output stands for the loop variable, and the number after it for 0.
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
        left: _Element,
        right: _Element,
        inside: ir.Call,
        divides: ir.Expr | None,
        w: ir.Local,
        sizes: ir.Expr,
        k: ir.Local,
        depth: ir.Expr,
    ) -> tuple[Factor, Factor, ir.Expr, Window]:
        """The same with a window on the right factor: taps outside of it contribute nothing, nor do those
        that leave a remainder."""
        match left.load.coordinate, right.load.coordinate, inside.arguments:
            case (
                ir.Binary("+", ir.ListOf((_, _) as own), taps, ir.INTS),
                ir.Binary("+", ir.ListOf((first, channel)), ir.Reduce(kind="list") as place, ir.INTS),
                (tested, ir.Slice(ir.Field(tensor, "Sizes"), ir.Number(value=2), None)),
            ) if tested == place and tensor == right.load.tensor and is_known(sizes):
                places, groups = self._in_groups(own, channel, k, depth)
                beside = ir.ListOf((self._place(first, k), self._place(k, k)))
                if AT in ir.walk(taps):
                    raise Unfit
                if taps == w:
                    each = place.loop
                    taps = ir.Reduce("list", each, ir.Index(w, each.variable), ir.INTS)
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
                return self._factor(left, places), self._factor(right, beside), depth, window
        raise Unfit

    def _in_groups(
        self, own: tuple[ir.Expr, ...], channel: ir.Expr, k: ir.Local, depth: ir.Expr
    ) -> tuple[ir.Expr, ir.Expr]:
        """The places of the left factor, whose first two entries are `own`, and the number of groups. The
        first entry is the row or the channel over all groups, the second the other one, within a group."""
        match own:
            case (row, last) if last == k:
                groups = _groups(channel, row, k, depth, self._output)
                return ir.ListOf((self._place(row, k), self._place(k, k))), groups
            case (first, row) if first == channel:
                match row:
                    case ir.Index(ir.Call("unravel_index", (whole, _)) as place, ir.Number(value=1)):
                        groups = _groups(channel, whole, k, depth, self._output)
                        if channel == k or _group_place(channel) != place:
                            raise Unfit
                        return ir.ListOf((self._place(k, k), self._place(whole, k))), groups
                    case _ if channel == k:
                        return ir.ListOf((self._place(k, k), self._place(row, k))), ir.Number(1, ir.INT)
        raise Unfit


def _tests(condition: ir.Expr | None) -> tuple[ir.Call, ir.Expr | None]:
    """The parts of the condition on products under a window: that taps are inside, and, if it says so, that
    their coordinates are whole numbers."""
    match condition:
        case ir.Call(function="in_bounds") as inside:
            return inside, None
        case ir.Logic("and", (ir.Call(function="in_bounds") as inside, divides)):
            return inside, divides
    raise Unfit


def _quotient(place: ir.Reduce, divides: ir.Expr | None) -> tuple[ir.Reduce, ir.Expr]:
    """The dividends and their divisors, if the condition demands that all divide; else divisors of 1."""
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
    """The split into group and row from which a channel takes its group."""
    match channel:
        case ir.Call("ravel_index", (ir.ListOf((ir.Index(place, ir.Number(value=0)), _)), _)):
            return place
    return None


def _type_of(tensor: str) -> ir.Field:
    return ir.Field(ir.Tensor(tensor), "DataType", ir.Type("enum", "TENSOR_DATA_TYPE"))


def _sum(type_: ir.Type, of_bytes: bool) -> ir.Expr:
    """The local that stands for a sum of that type in the expression of an element."""
    if of_bytes and type_ == ir.FLOAT:
        return ir.Call("float", (WHOLE_TOTAL,), ir.FLOAT)
    return WHOLE_TOTAL if of_bytes else TOTAL


def _tail(coordinate: ir.Expr) -> ir.Expr | None:
    """The entries of a coordinate after the first ones."""
    return coordinate.right if isinstance(coordinate, ir.Binary) else None


def _groups(channel: ir.Expr, row: ir.Expr, k: ir.Local, depth: ir.Expr, output: str) -> ir.Expr:
    """The number of groups, each with `depth` channels and the same number of rows."""
    if channel == k:
        return ir.Number(1, ir.INT)
    match channel:
        case ir.Call(
            "ravel_index", (ir.ListOf((ir.Index(place, ir.Number(value=0)), own)), ir.ListOf((groups, each)))
        ):
            if isinstance(row, ir.Index) and (own, each) == (k, depth) and is_known(groups):
                sizes = ir.Field(ir.Tensor(output), "Sizes", ir.INTS)
                rows = ir.Binary("//", ir.Index(sizes, row.index), groups, ir.INT)
                if place == ir.Call("unravel_index", (row, ir.ListOf((groups, rows))), ir.INTS):
                    return groups
    raise Unfit
