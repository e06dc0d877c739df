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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals, is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import either, linear, loads_of, numbers
from dmlgen.schedules.cases import Choice, folds_of, has_folds, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

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
    """A box of `sizes` over which the products also run: the last dimensions of both factors. Fields are
    those of the planners' record (`plans/gemm_view.py`).

    The coordinates of the factors in each of them are linear functions; only those of the right one depend on
    the output's, and are still to be divided by `right_divisors`. If that leaves a remainder, or is outside,
    there is no product. There are `groups`, each with its own part of the left factor's first dimension and
    of the right factor's second.
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

    It applies where `when` holds. A sum has `depth` products, or that many per tap of the window. `value` is
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

    @property
    def roles(self) -> Mapping[str, str]:
        return {"output": self.output, "left": self.left.tensor, "right": self.right.tensor}


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Contraction | None:
    """The contraction that a definition of one output amounts to, for all descriptions or for those with
    certain values of an enumeration."""
    if len(defines.outputs) != 1:
        return None
    found: Contraction | None = None
    for choice in _choices(defines, facts):
        try:
            one = _Reader(defines, facts, choice).contraction()
        except Unfit:
            continue
        if not choice:
            return one
        found = one if found is None else _either(found, one)
    return found


def _either(one: Contraction, other: Contraction) -> Contraction:
    """The contraction that is either of two, depending on the description; the first one if their shaders
    would differ."""

    def in_shaders(each: Contraction) -> tuple[object, ...]:
        factors = ((factor.tensor, factor.less) for factor in (each.left, each.right))
        return each.output, each.value, each.window is None, *factors

    if in_shaders(one) != in_shaders(other):
        return one
    when = ir.Logic("or", (one.when, other.when))
    return either(one.when, replace(one, when=when), replace(other, when=when))


def _choices(defines: OutputDefinitions, facts: TensorFacts) -> Iterator[Choice]:
    """No choice first, then each value of each enumeration that the definition depends on."""
    yield {}
    nodes = (node for whole in defines.whole for node in ir.walk(whole))
    for member in dict.fromkeys(node for node in nodes if isinstance(node, ir.Member)):
        if member.type.kind == "enum":
            for entry in facts.enums[member.type.name or ""].entries:
                yield {member: ir.EnumValue(entry.name, entry.value, member.type)}


_GROUP = "unravel_index(at[axis], [groups, Output.Sizes[axis] // groups])"
_CHANNEL = f"ravel_index([{_GROUP}[0], k], [groups, depth])"
"""The group that a row is in, with its number there, and the channel over all groups."""
_INSIDE = "in_bounds(place, RightTensor.Sizes[2:])"


class _Reader:
    """Reads a definition in one case."""

    def __init__(self, defines: OutputDefinitions, facts: TensorFacts, choice: Choice) -> None:
        self._defines, self._facts, self._choice = defines, facts, choice
        ((self._output, self._value),) = defines.outputs.items()
        self._rank = ir.Field(ir.Tensor(self._output), "DimensionCount", ir.INT)

    def contraction(self) -> Contraction:
        whole = self._whole()
        totals = set(filter(ir.is_fold, ir.walk(whole)))
        if len(totals) != 1:
            raise Unfit
        (total,) = totals
        left, right, depth, window = self._products(total)
        of_bytes = left.less is not None
        read = {one.tensor.name for one in loads_of(ir.substitute(whole, {total: ir.ZERO}))}
        short = self._whole(has_folds)
        value = ir.substitute(short, dict.fromkeys(folds_of(short), _sum(total.type, of_bytes)))
        names = {left.tensor, right.tensor}
        certain = self._facts.is_certain(self._output) and (
            self._facts.has_words(self._output, self._choice)
            if of_bytes
            else self._facts.is_float(self._output, self._choice)
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

    def _whole(self, expands: Callable[[ir.Function], bool] = lambda _: True) -> ir.Expr:
        """The value of the output, with intermediate tensors substituted; they must be read at their own
        coordinate. Functions that it `expands` are written out."""
        sizes = ir.Field(ir.Tensor(self._output), "Sizes", ir.INTS)
        new: dict[ir.Expr, ir.Expr] = {}
        for one in self._defines.tensors:
            if one.along or one.decides or one.type != ir.FLOAT or written(one.sizes, self._choice) != sizes:
                raise Unfit
            value = ir.substitute(written(one.value, self._choice, expands), new)
            new[ir.Entry(one.name, ir.AT, one.type)] = value
        whole = ir.substitute(written(self._value, self._choice, expands), new)
        if any(isinstance(part, ir.Entry) for part in ir.walk(whole)):
            raise Unfit
        return whole

    def _products(self, total: ir.Reduce) -> tuple[Factor, Factor, ir.Expr, Window | None]:
        """The factors of the products, the number of products per sum or per tap of the window, and that
        window."""
        plain = match("sum(x * y for k in range(depth))", total)
        found = plain or fit("sum(x * y for w in ndindex(sizes) for k in range(depth) if test)", total)
        left, right = self._element(found.x), self._element(found.y)
        if (left.less is None) != (right.less is None):
            raise Unfit
        if plain:
            left, right = (replace(one, places=self._places(one.places, found.k)) for one in (left, right))
            return left, right, found.depth, None
        test = match(_INSIDE, found.test) or fit(f"{_INSIDE} and divides", found.test)
        if match("head + place", left.places, place=test.place):
            left, right = right, left
        if test.RightTensor.name != right.tensor:
            raise Unfit
        return self._windowed(left, right, SimpleNamespace(**{"divides": None} | vars(found) | vars(test)))

    def _element(self, node: ir.Expr) -> Factor:
        """An element of a tensor that is never absent, at a coordinate: a float, or an integer minus a zero
        point."""
        if (whole := match("float(whole)", node)) and whole.whole.type == ir.INT:
            return self._element(whole.whole)
        found = match("XTensor[place]", node) or fit("XTensor[place] - less", node)
        less = getattr(found, "less", ir.ZERO if node.type == ir.INT else None)
        is_certain = found.XTensor.index is None and self._facts.is_certain(found.XTensor.name)
        if node.type != (ir.FLOAT if less is None else ir.INT) or not is_certain:
            raise Unfit
        indices = [part for part in ir.walk(less or ir.ZERO) if isinstance(part, ir.Index)]
        entries = [part for part in indices if part.sequence == ir.AT]
        axes = tuple(dict.fromkeys(part.index for part in entries))
        rest = ir.substitute(less or ir.ZERO, dict.fromkeys(entries, ir.ZERO))
        if not all(map(is_known, axes)) or free_locals(rest):
            raise Unfit
        return Factor(found.XTensor.name, found.place, less, ir.ListOf(axes))

    def _of_bytes(self, factor: Factor) -> list[ir.Expr]:
        """Tests of types: that elements have 8 bits, and zero points have the same type."""
        own = _type_of(factor.tensor)
        types = self._facts.enums["TENSOR_DATA_TYPE"].entries
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

        The rank of the output denotes the loop variable, and the number after it 0.
        """
        match node:
            case ir.Slice(ir.AT, lower, upper) if all(end is None or is_known(end) for end in (lower, upper)):
                return numbers(lower or ir.ZERO, upper or self._rank)
            case ir.ListOf(items):
                return ir.ListOf(tuple(self._place(item, k) for item in items))
            case ir.Binary("+", left, right, ir.INTS):
                return ir.Binary("+", self._places(left, k), self._places(right, k), ir.INTS)
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return ir.Conditional(test, self._places(then, k), self._places(otherwise, k))
        raise Unfit

    def _place(self, item: ir.Expr, k: ir.Local) -> ir.Expr:
        match item:
            case ir.Index(ir.AT, index) if is_known(index):
                return index
            case ir.Number(value=0):
                return ir.Binary("+", self._rank, ir.ONE, ir.INT)
        if item == k:
            return self._rank
        raise Unfit

    def _windowed(
        self, left: Factor, right: Factor, found: SimpleNamespace
    ) -> tuple[Factor, Factor, ir.Expr, Window]:
        """The factors with a window on the right one: taps outside of it contribute nothing, nor do those
        that leave a remainder."""
        own = fit("[first, second] + taps", left.places)
        beside = fit("[batch, channel] + place", right.places, place=found.place)
        w, k, place, taps = found.w, found.k, found.place, own.taps
        if not isinstance(place, ir.Reduce) or not is_known(found.sizes) or ir.AT in ir.walk(taps):
            raise Unfit
        row, groups = self._in_groups(own.first, own.second, beside.channel, k, found.depth)
        rows = (row, k) if own.second == k else (k, row)
        if taps == w:
            taps = replace(place, body=ir.Index(w, place.loop.variable))
        dividend, divisors = _quotient(place, found.divides)
        a, b = linear(taps, w), linear(dividend, w)
        if b.axes is None:
            raise Unfit
        window = Window(found.sizes, groups, b.axes, a.first, a.taps, b.first, b.steps, b.taps, divisors)
        first, second = (
            ir.ListOf((self._place(one, k), self._place(other, k)))
            for one, other in (rows, (beside.batch, k))
        )
        return replace(left, places=first), replace(right, places=second), found.depth, window

    def _in_groups(
        self, first: ir.Expr, second: ir.Expr, channel: ir.Expr, k: ir.Local, depth: ir.Expr
    ) -> tuple[ir.Expr, ir.Expr]:
        """The row of the output, and the number of groups. The first two entries of the left factor's
        coordinate are the row and the channel in its group, or the channel over all groups and the row in
        its group."""
        if second != k and first != channel:
            raise Unfit
        if channel == k:
            return (first if second == k else second), ir.ONE
        found = fit(_CHANNEL, channel, k=k, depth=depth, Output=ir.Tensor(self._output))
        row = ir.Index(ir.AT, found.axis)
        if not is_known(found.groups) or (second == k and first != row):
            raise Unfit
        if second != k:
            fit(f"{_GROUP}[1]", second, **vars(found))
        return row, found.groups


def _quotient(place: ir.Reduce, divides: ir.Expr | None) -> tuple[ir.Reduce, ir.Expr]:
    """The dividends and their divisors, if the condition demands that all divide; else divisors of 1."""
    if divides is None:
        return place, replace(place, body=ir.ONE)
    found = fit("[dividend // divisor for d in range(count)]", place)
    fit("all(dividend % divisor == 0 for d in range(count))", divides, **vars(found))
    divisors = replace(place, body=found.divisor)
    if not is_known(divisors):
        raise Unfit
    return replace(place, body=found.dividend), divisors


def _type_of(tensor: str) -> ir.Field:
    return ir.Field(ir.Tensor(tensor), "DataType", ir.Type("enum", "TENSOR_DATA_TYPE"))


def _sum(type_: ir.Type, of_bytes: bool) -> ir.Expr:
    """The local that represents a sum of that type in the expression of an element."""
    if of_bytes and type_ == ir.FLOAT:
        return ir.Call("float", (WHOLE_TOTAL,), ir.FLOAT)
    return WHOLE_TOTAL if of_bytes else TOTAL
