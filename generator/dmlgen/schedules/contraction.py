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

from dmlgen.analysis.pattern import Unfit, fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import linear, loads_of
from dmlgen.schedules.cases import has_folds, total_of, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts


@dataclass(frozen=True)
class Contraction(FastForm):
    """A faster way to compute an output from sums of products of elements of `left` and `right`
    (`schedules`).

    `factors` and `window` have the fields of planners' records, `window` none if there is no window. For
    integers, `less` has the zero points by side, which may depend on the coordinates of the output. `value`
    is the element as a function of the sum, the local `total`: an integer if the factors are.
    """

    output: str
    left: str
    right: str
    factors: Mapping[str, ir.Expr]
    less: Mapping[str, ir.Expr]
    window: Mapping[str, ir.Expr]
    value: ir.Expr

    @property
    def of_bytes(self) -> bool:
        return bool(self.less)

    @property
    def operands(self) -> dict[str, ir.Expr]:
        """The planner's operands, by the path below its `Definition`."""
        records = {"factors": self.factors, "window": self.window}
        return {f"{one}.{name}": node for one, record in records.items() for name, node in record.items()}


_TERM = "(LeftTensor[{}] - (left_less or 0)) * (RightTensor[{}] - (right_less or 0))"
_GROUP = "unravel_index(at[1], [groups, Output.Sizes[1] // groups])"
_CHANNEL = f"ravel_index([{_GROUP}[0], k], [groups, depth])"
"""The group that a row is in, with its number there, and the channel over all groups."""


def _windowed(place: str, more: str = "") -> str:
    """A sum over a window: taps outside of the right factor contribute nothing."""
    term = _TERM.format("rows + taps", f"[at[0], {_CHANNEL}] + {place}")
    inside = f"in_bounds({place}, RightTensor.Sizes[2:])"
    return f"sum({term} for w in ndindex(sizes) for k in range(depth) if {inside}{more})"


_FORMS = (
    f"sum({_TERM.format('left', 'right')} for k in range(depth))",
    _windowed("place"),
    _windowed(  # nor do taps that leave a remainder
        "[plain if is_whole else dividend // divisor for d in range(count)]",
        " and (is_whole or all(dividend % divisor == 0 for d in range(count)))",
    ),
)


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Contraction | None:
    """The contraction that a definition of one output amounts to."""
    output, *others = defines.outputs
    fold, value = total_of(_whole(output, defines))
    floats = [part for part in ir.walk(fold) if isinstance(part, ir.Call) and part.function == "float"]
    exact = ir.substitute(fold, {one: one.arguments[0] for one in floats if one.arguments[0].type == ir.INT})
    found = next(filter(None, (match(form, exact, Output=ir.Tensor(output)) for form in _FORMS)), None)
    if found is None:
        raise Unfit
    tensors = (found.LeftTensor, found.RightTensor)
    loaded = {load.type for load in loads_of(fold) if load.tensor in tensors}
    of_bytes, types = loaded == {ir.INT}, facts.types(output)
    if of_bytes and fold.type == ir.FLOAT:
        total = ir.Local("total", ir.INT, varies=True)
        value = ir.substitute(value, {replace(total, type=ir.FLOAT): ir.Call("float", (total,), ir.FLOAT)})
    if (
        others
        or loaded not in ({ir.INT}, {ir.FLOAT})
        or not is_known(found.depth)
        or len(set(tensors)) != 2
        or not all(map(facts.is_certain, (output, *(one.name for one in tensors))))
        or not all(one.bits <= 32 if of_bytes else one.kind == "float" for one in types)
        or any(load.tensor in tensors for load in loads_of(value))
    ):
        raise Unfit
    window = _window(found) if hasattr(found, "w") else {}
    sides = {"left": found.left_less, "right": found.right_less}
    factors = _places(found, ir.Field(ir.Tensor(output), "DimensionCount", ir.INT))
    for (side, less), tensor in zip(sides.items(), tensors, strict=True):
        zero_point = _zero_point(less, tensor, defines.classes)
        factors[f"{side}_less"], factors[f"lessens_{side}"] = zero_point
    left, right = (one.name for one in tensors)
    less = sides if of_bytes else {}
    return Contraction(output, left, right, {**factors, "depth": found.depth}, less, window, value)


def _whole(output: str, defines: OutputDefinitions) -> ir.Expr:
    """The value of the output, with intermediate tensors substituted; they must be read at their own
    coordinate."""
    sizes = ir.Field(ir.Tensor(output), "Sizes", ir.INTS)
    new: dict[ir.Expr, ir.Expr] = {}
    for one in defines.tensors:
        if one.along or one.decides or one.type != ir.FLOAT or written(one.sizes, {}) != sizes:
            raise Unfit
        value = ir.substitute(written(one.value, {}, has_folds), new)
        new[ir.Entry(one.name, ir.AT, one.type)] = value
    whole = ir.substitute(written(defines.outputs[output], {}, has_folds), new)
    if entries_of(whole):
        raise Unfit
    return whole


def _zero_point(less: ir.Expr, tensor: ir.Tensor, classes: Mapping[str, str]) -> tuple[ir.Expr, ir.Expr]:
    """The dimensions of the output on whose coordinates a zero point depends, and whether it may be nonzero.
    It is 0 or an element of a tensor that has the same type by the rules."""
    if less == ir.ZERO:
        return ir.ListOf(()), ir.Number(False, ir.BOOL)
    found = match("ZeroTensor[place] if given else 0", less) or fit("ZeroTensor[place]", less)
    given = getattr(found, "given", ir.Number(True, ir.BOOL))
    indices = (one for one in ir.walk(found.place) if isinstance(one, ir.Index) and one.sequence == ir.AT)
    axes = tuple(dict.fromkeys(one.index for one in indices))
    rest = ir.substitute(found.place, {ir.Index(ir.AT, axis): ir.ZERO for axis in axes})
    is_typed = classes[found.ZeroTensor.entry] == classes[tensor.name]
    if not is_typed or not all(map(is_known, (given, rest, *axes))):
        raise Unfit
    return ir.ListOf(axes), given


def _places(found: SimpleNamespace, rank: ir.Expr) -> dict[str, ir.Expr]:
    """For each factor, and each entry of its coordinate apart from those along the window: the dimension of
    the output whose coordinate it is, or the output's rank for k. With a window, the left factor is at the
    row and the channel in its group, or at the channel over all groups and the row in its group."""

    def places(node: ir.Expr) -> ir.Expr:
        match node:
            case ir.Slice(ir.AT, lower, upper) if all(one is None or is_known(one) for one in (lower, upper)):
                number = ir.Local("d", ir.INT)
                loop = ir.Loop(number, lower or ir.ZERO, upper or rank)
                return ir.Reduce("list", (loop,), number, ir.INTS)
            case ir.ListOf(items):
                axes = [rank if item == found.k else fit("at[axis]", item).axis for item in items]
                if all(map(is_known, axes)):
                    return ir.ListOf(tuple(axes))
            case ir.Binary("+", left, right, ir.INTS):
                return ir.Binary("+", places(left), places(right), ir.INTS)
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return ir.Conditional(test, places(then), places(otherwise))
        raise Unfit

    def rows(node: ir.Expr) -> ir.Expr:
        match node:
            case ir.Conditional(test, then, otherwise) if is_known(test):
                return ir.Conditional(test, rows(then), rows(otherwise))
        if match("[at[1], k]", node, k=found.k):
            return ir.ListOf((ir.ONE, rank))
        fit(f"[{_CHANNEL}, {_GROUP}[1]]", node, **vars(found))
        return ir.ListOf((rank, ir.ONE))

    if hasattr(found, "w"):
        return {"left": rows(found.rows), "right": ir.ListOf((ir.ZERO, rank))}
    return {"left": places(found.left), "right": places(found.right)}


def _window(found: SimpleNamespace) -> dict[str, ir.Expr]:
    """The window of a sum, on the right factor, whose taps may be divided, and on the left one."""
    window: dict[str, ir.Expr] = {"sizes": found.sizes, "groups": found.groups}
    place, divisor = getattr(found, "place", None), getattr(found, "divisor", ir.ONE)
    if place is None:
        whole = ir.Conditional(found.is_whole, found.plain, found.dividend)
        place = ir.Reduce("list", (ir.Loop(found.d, ir.ZERO, found.count),), whole, ir.INTS)
        divisor = ir.Conditional(found.is_whole, ir.ONE, divisor)
    window |= linear("right", place, found.w)
    window["right_divisors"] = replace(place, body=divisor)
    own = replace(place, body=ir.Index(found.w, place.loop.variable))
    taps = own if found.taps == found.w else found.taps
    window |= linear("left", taps, found.w)
    del window["left_steps"]  # there are none
    if ir.AT in ir.walk(taps) or not all(map(is_known, window.values())):
        raise Unfit
    return window
