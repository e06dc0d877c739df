"""Definitions that fold a sliding window over one tensor, as poolings do.

The window moves over the last dimensions; taps outside of the tensor are ignored. What is folded is a
function of one element, or an integer element minus its zero point, which may depend on the channel. Outputs
are functions of the result, of the place of the greatest element within the window, of whether there is any
element at all, and of how many taps are in a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import Linear, either, linear, numbers
from dmlgen.schedules.cases import spelled, written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

COUNTED = ir.Local("counted", ir.INT, varies=True)
CHOSEN = ir.Local("chosen", ir.INTS, varies=True)
IS_ANY = ir.Local("isAny", ir.BOOL, varies=True)
"""In the expressions of outputs: how many taps are in the box, the place of the greatest element, and whether
there is one."""


@dataclass(frozen=True)
class Frame:
    """The coordinates of a window's taps, and the sizes of the box that must contain them (`limits`)."""

    place: Linear
    limits: ir.Expr

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        """Its expressions, as planners name them."""
        place = self.place
        return {"first": place.first, "steps": place.steps, "taps": place.taps, "limits": self.limits}


@dataclass(frozen=True)
class Sliding(FastForm):
    """A faster way to compute outputs from a fold over a window of `tensor` (`schedules`).

    `places` is as in `contraction.Factor`; the window, of `sizes`, moves over the dimensions after those,
    along the output's in `axes`. `fold` is the fold as defined, `term` what is folded, as a function of the
    local `element`, from which `less` is subtracted unless it is None, and `values` are the outputs as
    functions of the local `total`. They may also depend on the number of taps in the box of `counted`.
    """

    tensor: str
    places: ir.Expr
    sizes: ir.Expr
    axes: ir.Expr
    window: Frame
    counted: Frame | None
    fold: ir.Fold
    element: ir.Local
    term: ir.Expr
    less: ir.Expr | None
    values: Mapping[str, ir.Expr]


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Sliding | None:
    """The fold over a window that the outputs of a definition amount to."""
    return None if defines.tensors else _Reader(defines, facts).sliding()


class _Reader:
    """Reads a definition."""

    def __init__(self, defines: OutputDefinitions, facts: TensorFacts) -> None:
        self._facts = facts
        self._values = {name: _plain(written(value, {})) for name, value in defines.outputs.items()}

    def sliding(self) -> Sliding:
        folds = dict.fromkeys(fold for value in self._values.values() for fold in _folds(value))
        totals = [one for one in folds if one.kind in ("sum", "product", "min", "max") and _loads(one.body)]
        output = next(iter(self._values))
        if len(totals) != 1 or not self._facts.is_certain(output):
            raise Unfit
        fold = written(totals[0], {})  # numbers variables as if it stood alone
        assert isinstance(fold, ir.Fold)
        w, sizes = _window(fold)
        difference = match("XTensor[element] - less", fold.body) if fold.type == ir.INT else None
        less = difference.less if difference else None
        folded = fold.body.left if difference and isinstance(fold.body, ir.Binary) else fold.body
        load, head, place = self._read(fold, folded, w)
        window = linear(place, w)
        if window.axes is None:
            raise Unfit
        rest = () if less is None else tuple(ir.walk(ir.substitute(less, {ir.at(1): ir.ZERO})))
        if any(part in (w, ir.AT, load.tensor) for part in rest):
            raise Unfit
        counted: Frame | None = None
        new: dict[ir.Expr, ir.Expr] = {}
        for one in folds:
            match written(one, {}):
                case same if same == fold:
                    new[one] = ir.Local("total", fold.type, varies=True)
                case ir.Fold(kind="argmax", loops=fold.loops, condition=fold.condition, body=fold.body):
                    new[one] = CHOSEN
                case ir.Fold(kind="any", loops=fold.loops, condition=None, body=fold.condition):
                    new[one] = IS_ANY
                case ir.Fold("sum", fold.loops, condition, body) if body == ir.ONE and counted is None:
                    counted, new[one] = _box(condition, w), COUNTED
                case _:
                    raise Unfit
        values = {name: spelled(ir.substitute(value, new), name) for name, value in self._values.items()}
        if any(one.tensor == load.tensor for value in values.values() for one in _loads(value)):
            raise Unfit
        element = ir.Local("element", load.type, varies=True)
        return Sliding(
            tensor=load.tensor.name,
            places=numbers(ir.ZERO, head),
            sizes=sizes,
            axes=window.axes,
            window=Frame(window, ir.Slice(ir.Field(load.tensor, "Sizes", ir.INTS), head, None)),
            counted=counted,
            fold=fold,
            element=element,
            term=ir.substitute(folded, {load: element}),
            less=less,
            values=values,
        )

    def _read(self, fold: ir.Fold, body: ir.Expr, w: ir.Local) -> tuple[ir.Load, ir.Expr, ir.Expr]:
        """The only element that a term, `body`, reads in each iteration of a fold, the number of dimensions
        before the window's, and the place in the window's."""
        loads = _loads(body)
        if len(loads) != 1:
            raise Unfit
        (load,) = loads
        found = fit("XTensor[at[:head] + place]", load)
        fit("in_bounds(place, XTensor.Sizes[head:])", fold.condition, **vars(found))
        rest = ir.substitute(body, {load: ir.ZERO})
        is_certain = load.tensor.index is None and self._facts.is_certain(load.tensor.name)
        if not is_certain or not is_known(found.head) or any(part in (w, ir.AT) for part in ir.walk(rest)):
            raise Unfit
        return load, found.head, found.place


def _window(fold: ir.Fold) -> tuple[ir.Local, ir.Expr]:
    """The variable of a fold over a window, and the window's sizes."""
    match fold:
        case ir.Fold(
            loops=(ir.Each(variable=ir.Local(type=ir.INTS) as w, first=None, last=sizes),),
            type=ir.Type(kind="float" | "element" | "ints" | "bool" | "int"),
        ) if is_known(sizes):
            return w, sizes
    raise Unfit


def _box(condition: ir.Expr | None, w: ir.Local) -> Frame:
    """The box that a condition restricts taps to; it may depend on the description."""
    if (found := match("then if test else otherwise", condition)) and is_known(found.test):
        return either(found.test, _box(found.then, w), _box(found.otherwise, w))
    box = fit("in_bounds(place, limits)", condition)
    if not is_known(box.limits):
        raise Unfit
    return Frame(linear(box.place, w), box.limits)


def _folds(node: ir.Expr) -> Iterator[ir.Fold]:
    return (part for part in ir.walk(node) if isinstance(part, ir.Fold) and not part.unrolled)


def _loads(node: ir.Expr) -> list[ir.Load]:
    return [part for part in ir.walk(node) if isinstance(part, ir.Load)]


def _plain(node: ir.Expr) -> ir.Expr:
    """An expression that indexes coordinates themselves, not their slices."""
    new: dict[ir.Expr, ir.Expr] = {}
    for part in ir.walk(node):
        match part:
            case ir.Index(ir.Slice(ir.AT, ir.Number() as lower, None), index):
                new[part] = ir.Index(ir.AT, ir.Binary("+", index, lower, ir.INT))
    return ir.substitute(node, new)
