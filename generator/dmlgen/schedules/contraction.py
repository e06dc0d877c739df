"""Definitions that contract two tensors: sums of products, with one factor from each.

Matrix products and convolutions have this form. Each factor is read at a coordinate whose entries are
coordinates of the output or the loop variable; which is which may depend on the description, never on the
element. With a window, the last entries of both are linear functions of the output's and the window's
coordinates. Taps outside of one factor, the right one, contribute nothing; there the linear function may also
be divided, for some descriptions, and taps that leave a remainder contribute nothing either. The element may
be any function of the sum that does not read either factor again.

Factors are floats, or integers, each minus a zero point that may depend on the output's coordinate. Sums of
those are integers, even if the definition adds them up as floats, which may round; planners see to it that
they have 8 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, free_locals, is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import Window, either, linear, loads_of, numbers
from dmlgen.schedules.cases import folds_of, has_folds, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts


@dataclass(frozen=True)
class Factor:
    """A factor of the products that are summed: the element of `tensor` at `places`.

    For each dimension of the tensor apart from the window's, `places` has the dimension of the output that
    indexes it; the rank of the output if k does. For integers, `less` is the zero point, of the same type,
    which may depend on the coordinates of the output; it is None for floats.
    """

    tensor: str
    places: ir.Expr
    less: ir.Expr | None

    @property
    def less_axes(self) -> ir.ListOf:
        """The dimensions of the output on whose coordinates the zero point depends."""
        parts = () if self.less is None else ir.walk(self.less)
        entries = (one.index for one in parts if isinstance(one, ir.Index) and one.sequence == ir.AT)
        return ir.ListOf(tuple(dict.fromkeys(entries)))

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
class Contraction(FastForm):
    """A faster way to compute an output from sums of products (`schedules`).

    A sum has `depth` products, or that many per tap of the window. With one, each of its groups has its own
    part of the left factor's first dimension and of the right factor's second. `value` is the element as a
    function of the sum, the local `total`: an integer if the factors are bytes.
    """

    output: str
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
    """The contraction that a definition of one output amounts to."""
    return _Reader(defines, facts).contraction() if len(defines.outputs) == 1 else None


_GROUP = "unravel_index(at[1], [groups, Output.Sizes[1] // groups])"
_CHANNEL = f"ravel_index([{_GROUP}[0], k], [groups, depth])"
"""The group that a row is in, with its number there, and the channel over all groups."""
_INSIDE = "in_bounds(place, RightTensor.Sizes[2:])"
_DIVIDED = "[plain if is_whole else dividend // divisor for d in range(count)]"
_DIVIDES = f"{_INSIDE} and (is_whole or all(dividend % divisor == 0 for d in range(count)))"


class _Reader:
    """Reads a definition."""

    def __init__(self, defines: OutputDefinitions, facts: TensorFacts) -> None:
        self._defines, self._facts = defines, facts
        (self._output,) = defines.outputs
        self._rank = ir.Field(ir.Tensor(self._output), "DimensionCount", ir.INT)

    def contraction(self) -> Contraction:
        whole = self._whole()
        folds = {fold: written(fold, {}) for fold in folds_of(whole)}
        total, *others = dict.fromkeys(folds.values()) or [ir.ZERO]
        left, right, depth, window = self._products(total)
        of_bytes = left.less is not None
        result: ir.Expr = ir.Local("total", ir.INT if of_bytes else ir.FLOAT, varies=True)
        if result.type != total.type:
            result = ir.Call("float", (result,), ir.FLOAT)
        value = ir.substitute(whole, dict.fromkeys(folds, result))
        names = {left.tensor, right.tensor}
        if others or len(names) != 2 or names & {one.tensor.name for one in loads_of(value)}:
            raise Unfit
        types = self._facts.types(self._output)
        fits = all(one.bits <= 32 if of_bytes else one.kind == "float" for one in types)
        if not fits or not self._facts.is_certain(self._output) or not is_known(depth):
            raise Unfit
        return Contraction(self._output, left, right, depth, window, value)

    def _whole(self) -> ir.Expr:
        """The value of the output, with intermediate tensors substituted; they must be read at their own
        coordinate."""
        sizes = ir.Field(ir.Tensor(self._output), "Sizes", ir.INTS)
        new: dict[ir.Expr, ir.Expr] = {}
        for one in self._defines.tensors:
            if one.along or one.decides or one.type != ir.FLOAT or written(one.sizes, {}) != sizes:
                raise Unfit
            value = ir.substitute(written(one.value, {}, has_folds), new)
            new[ir.Entry(one.name, ir.AT, one.type)] = value
        whole = ir.substitute(written(self._defines.outputs[self._output], {}, has_folds), new)
        if entries_of(whole):
            raise Unfit
        return whole

    def _products(self, total: ir.Expr) -> tuple[Factor, Factor, ir.Expr, Window | None]:
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
        if match("head + place", left.places, place=_place_in(found.test)):
            left, right = right, left
        return self._windowed(left, right, found)

    def _element(self, node: ir.Expr) -> Factor:
        """An element of a tensor that is never absent, at a coordinate: a float, or an integer minus a zero
        point of the same type."""
        if (whole := match("float(whole)", node)) and whole.whole.type == ir.INT:
            return self._element(whole.whole)
        found = match("XTensor[place]", node) or fit("XTensor[place] - less", node)
        less = getattr(found, "less", ir.ZERO if node.type == ir.INT else None)
        factor = Factor(found.XTensor.name, found.place, less)
        is_certain = found.XTensor.index is None and self._facts.is_certain(factor.tensor)
        if node.type != (ir.FLOAT if less is None else ir.INT) or not is_certain:
            raise Unfit
        if less is not None:
            axes = factor.less_axes.items
            rest = ir.substitute(less, {ir.Index(ir.AT, axis): ir.ZERO for axis in axes})
            is_typed = self._has_type_of(factor.tensor, less)
            if not is_typed or not all(map(is_known, axes)) or free_locals(rest):
                raise Unfit
        return factor

    def _has_type_of(self, tensor: str, less: ir.Expr) -> bool:
        """Whether a zero point is 0 or an element of a tensor that has the same type by the rules."""
        match less:
            case ir.Load(ir.Tensor(name=name, index=None)):
                return self._defines.classes[name] == self._defines.classes[tensor]
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return self._has_type_of(tensor, then) and self._has_type_of(tensor, otherwise)
        return less == ir.ZERO

    def _places(self, node: ir.Expr, k: ir.Local) -> ir.Expr:
        """For each entry of a coordinate, the dimension of the output whose coordinate it is, or its rank for
        the loop variable."""
        match node:
            case ir.Slice(ir.AT, lower, upper) if all(end is None or is_known(end) for end in (lower, upper)):
                return numbers(lower or ir.ZERO, upper or self._rank)
            case ir.ListOf(items):
                found = [self._rank if item == k else fit("at[axis]", item).axis for item in items]
                if all(map(is_known, found)):
                    return ir.ListOf(tuple(found))
            case ir.Binary("+", left, right, ir.INTS):
                return ir.Binary("+", self._places(left, k), self._places(right, k), ir.INTS)
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return either(test, self._places(then, k), self._places(otherwise, k))
        raise Unfit

    def _windowed(
        self, left: Factor, right: Factor, found: SimpleNamespace
    ) -> tuple[Factor, Factor, ir.Expr, Window]:
        """The factors with a window on the right one: taps outside of it contribute nothing, nor do those
        that leave a remainder."""
        own = fit("rows + taps", left.places)
        beside = fit("[at[0], channel] + place", right.places, place=_place_in(found.test))
        w, k, place, taps = found.w, found.k, beside.place, own.taps
        inside: dict[str, ir.Expr] = {"place": place, "RightTensor": ir.Tensor(right.tensor)}
        if parts := match(_DIVIDED, place):
            fit(_DIVIDES, found.test, **inside, **vars(parts))
            place = replace(place, body=either(parts.is_whole, parts.plain, parts.dividend))
            divisors = replace(place, body=either(parts.is_whole, ir.ONE, parts.divisor))
        else:
            fit(_INSIDE, found.test, **inside)
            divisors = replace(place, body=ir.ONE)
        group = fit(_CHANNEL, beside.channel, k=k, depth=found.depth, Output=ir.Tensor(self._output))
        if taps == w:
            taps = replace(place, body=ir.Index(w, place.loop.variable))
        if not all(map(is_known, (found.sizes, group.groups, divisors))) or ir.AT in ir.walk(taps):
            raise Unfit
        a, b = linear(taps, w), linear(place, w)
        window = Window(found.sizes, b.first, b.steps, b.taps, divisors, a.first, a.taps, group.groups)
        return (
            replace(left, places=self._rows(own.rows, beside.channel, k, group)),
            replace(right, places=ir.ListOf((ir.ZERO, self._rank))),
            found.depth,
            window,
        )

    def _rows(self, rows: ir.Expr, channel: ir.Expr, k: ir.Local, group: SimpleNamespace) -> ir.Expr:
        """The places of the first two entries of the left factor's coordinate: the row and the channel in its
        group, or the channel over all groups and the row in its group."""
        match rows:
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return either(test, *(self._rows(one, channel, k, group) for one in (then, otherwise)))
            case ir.ListOf((first, second)) if second == k and first == ir.at(1):
                return ir.ListOf((ir.ONE, self._rank))
            case ir.ListOf((first, second)) if first == channel:
                fit(f"{_GROUP}[1]", second, **vars(group))
                return ir.ListOf((self._rank, ir.ONE))
        raise Unfit


def _place_in(test: ir.Expr) -> ir.Expr:
    """The coordinate that must be inside of a tensor."""
    found = fit(_INSIDE, test.operands[0] if isinstance(test, ir.Logic) else test)
    return found.place  # type: ignore[no-any-return]
