"""Definitions that sum entries of an intermediate tensor in a box around each element, as gradients of
poolings do: those of all windows that cover the element.

The bounds of the box along a dimension depend only on the element's coordinate in that dimension. Groups can
then compute the entries for their own elements, and need no buffer for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.defined import is_known
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import TooLarge, written
from dmlgen.schedules.described import Described
from dmlgen.schedules.elements import Unfit
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.sets import AT

DIMENSION, RESULT = (ir.Local(name, ir.INT, varies=True) for name in ("d", "i"))
"""In expressions of a dimension of boxes: its number among these, and the output's coordinate along it."""
TAKEN = ir.Local("taken", ir.INTS, varies=True)
TOTAL = ir.Local("total", ir.FLOAT, varies=True)


@dataclass(frozen=True)
class Nearby(FastForm):
    """A faster way to compute an output from sums of entries of `tensor`, the only intermediate tensor
    (`schedules`).

    A box extends over all dimensions but the first `head`, from `first` up to but not including `last`, which
    are functions of DIMENSION and RESULT; `covering` are its sizes for the element in the middle of the
    output. At its coordinate TAKEN, `term` is added if `condition` holds, if any; both are functions of the
    local `entry`. `value` is the output's, as a function of TOTAL.
    """

    output: str
    tensor: str
    head: int
    first: ir.Expr
    last: ir.Expr
    covering: ir.Expr
    entry: ir.Local
    condition: ir.Expr | None
    term: ir.Expr
    value: ir.Expr


def recognise(defines: OutputDefinitions, described: Described) -> Nearby | None:
    """The sum of entries that the output of a definition amounts to."""
    (output, *others), tensors = defines.outputs, defines.tensors
    if others or len(tensors) != 1 or not described.is_certain(output):
        return None
    if described.may_be(output, "FLOAT64") or tensors[0].type not in (ir.INT, ir.FLOAT):
        return None
    try:
        return _nearby(output, written(defines.outputs[output], {}), tensors[0])
    except (Unfit, TooLarge):
        return None


def _nearby(output: str, value: ir.Expr, tensor: Intermediate) -> Nearby:
    folds = [part for part in ir.walk(value) if isinstance(part, ir.Fold) and _entries(part)]
    if len(folds) != 1 or _entries(tensor.value):
        raise Unfit
    match folds[0]:
        case (
            ir.Fold(
                kind="sum",
                loops=(
                    ir.Each(ir.Local(type=ir.INTS) as variable, ir.Reduce() as first, ir.Reduce() as last),
                ),
                type=ir.FLOAT,
            ) as fold
        ):
            pass
        case _:
            raise Unfit
    parts = [part for one in (fold.condition, fold.body) if one is not None for part in ir.walk(one)]
    coordinates = {part.coordinate for part in parts if isinstance(part, ir.Entry)}
    match list(coordinates):
        case [ir.Binary("+", ir.Slice(sequence, None, ir.Number(value=int(head))), place, ir.INTS)] if (
            sequence == AT and place == variable
        ):
            pass
        case _:
            raise Unfit
    made = ir.substitute(value, {fold: TOTAL})
    if any(isinstance(part, ir.Fold) for part in parts) or _entries(made):
        raise Unfit
    entry = ir.Local("entry", tensor.type, varies=True)
    new: dict[ir.Expr, ir.Expr] = {part: entry for part in parts if isinstance(part, ir.Entry)}
    new[variable] = TAKEN
    begins, ends = (_along(one, head) for one in (first, last))
    loop = first.loop
    sizes = ir.Field(ir.Tensor(output), "Sizes", ir.INTS)
    size = ir.Index(sizes, ir.Binary("+", loop.variable, ir.Number(head, ir.INT), ir.INT))
    middle = ir.Binary("//", size, ir.Number(2, ir.INT), ir.INT)
    there: dict[ir.Expr, ir.Expr] = {DIMENSION: loop.variable, RESULT: middle}
    covering = ir.substitute(ir.Binary("-", ends, begins, ir.INT), there)
    return Nearby(
        output=output,
        tensor=tensor.name,
        head=head,
        first=begins,
        last=ends,
        covering=ir.Reduce("list", loop, _for_planners(covering), ir.INTS),
        entry=entry,
        condition=None if fold.condition is None else ir.substitute(fold.condition, new),
        term=ir.substitute(fold.body, new),
        value=made,
    )


def _along(node: ir.Reduce, head: int) -> ir.Expr:
    """The entry of a list for one dimension, as an expression of that dimension."""
    match node:
        case ir.Reduce(kind="list", loop=ir.Loop(variable, ir.Number(value=0), rank, None), body=body) if (
            is_known(rank)
        ):
            pass
        case _:
            raise Unfit
    new: dict[ir.Expr, ir.Expr] = {variable: DIMENSION}
    for part in ir.walk(body):
        match part:
            case ir.Index(sequence, ir.Binary("+", index, ir.Number(value=behind), ir.INT)) if (
                sequence == AT and index == variable and behind == head
            ):
                new[part] = RESULT
    body = ir.substitute(body, new)
    if any(part == AT or isinstance(part, ir.Load | ir.Fold | ir.Entry) for part in ir.walk(body)):
        raise Unfit
    return body


def _for_planners(node: ir.Expr) -> ir.Expr:
    """The expression in terms of the functions that planners have."""
    new: dict[ir.Expr, ir.Expr] = {}
    for part in ir.walk(node):
        match part:
            case ir.Call("clamp", (value, low, high), type_):
                new[part] = ir.Call("max", (ir.Call("min", (value, high), type_), low), type_)
    return ir.substitute(node, new)


def _entries(node: ir.Expr) -> bool:
    return any(isinstance(part, ir.Entry) for part in ir.walk(node))
