"""Definitions that contract two tensors: sums of products, one factor from each, over one loop.

Matrix products have this form. Each factor is read at a coordinate whose entries are coordinates of the
output, or the variable of the loop; which is which may depend on the description, never on the element. What
is made of the sum is stored: anything that reads neither factor again.
"""

from __future__ import annotations

from dmlgen.expr import ir
from dmlgen.expr.defined import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import TooLarge, written
from dmlgen.schedules.described import Described
from dmlgen.schedules.elements import Unfit
from dmlgen.schedules.schedule import Contraction, Factor
from dmlgen.schedules.sets import AT

TOTAL = ir.Local("total", ir.FLOAT, varies=True)
"""The sum, in what is made of it."""


def recognise(defines: OutputDefinitions, described: Described) -> Contraction | None:
    """The contraction that a definition of one output comes down to."""
    if len(defines.outputs) != 1:
        return None
    ((output, value),) = defines.outputs.items()
    try:
        whole = _whole(defines, output, written(value, {}))
        (total,) = {part for part in ir.walk(whole) if isinstance(part, ir.Fold)}
        return _read(whole, total, output, described)
    except (Unfit, TooLarge, ValueError):  # ValueError: no sum, or several
        return None


def _whole(defines: OutputDefinitions, output: str, value: ir.Expr) -> ir.Expr:
    """The value of an output without intermediate tensors, which must be read where they are defined."""
    sizes = ir.Field(ir.Tensor(output), "Sizes", ir.INTS)
    new: dict[ir.Expr, ir.Expr] = {}
    for one in defines.tensors:
        if one.along or one.decides or one.type != ir.FLOAT or written(one.sizes, {}) != sizes:
            raise Unfit
        new[ir.Entry(one.name, AT, one.type)] = ir.substitute(written(one.value, {}), new)
    whole = ir.substitute(value, new)
    if any(isinstance(part, ir.Entry) for part in ir.walk(whole)):
        raise Unfit
    return whole


def _read(whole: ir.Expr, total: ir.Fold, output: str, described: Described) -> Contraction:
    match total:
        case ir.Fold(
            kind="sum",
            loops=(ir.Each(variable=ir.Local(type=ir.INT) as k, first=None, last=depth),),
            condition=None,
            body=ir.Binary("*", left, right, ir.FLOAT),
        ):
            rank = ir.Field(ir.Tensor(output), "DimensionCount", ir.INT)
            factors = _factor(left, k, rank, described), _factor(right, k, rank, described)
            value = ir.substitute(whole, {total: TOTAL})
            read = {part.tensor.name for part in ir.walk(value) if isinstance(part, ir.Load)}
            names = {one.tensor for one in factors}
            free = not names & read and len(names) == 2 and is_known(depth)
            if free and described.is_certain(output) and described.is_float(output, {}):
                return Contraction(output, factors[0], factors[1], depth, value)
    raise Unfit


def _factor(node: ir.Expr, k: ir.Local, rank: ir.Expr, described: Described) -> Factor:
    match node:
        case ir.Load(tensor=ir.Tensor(name=name, index=None), coordinate=place, type=ir.FLOAT):
            if described.is_certain(name):
                return Factor(name, _places(place, k, rank))
    raise Unfit


def _places(node: ir.Expr, k: ir.Local, rank: ir.Expr) -> ir.Expr:
    """For each entry of a coordinate, the dimension of the output whose coordinate it is.

    The output's dimension count stands for the variable of the loop, and the number after it for 0.
    """
    match node:
        case ir.Slice(sequence=sequence, lower=lower, upper=upper) if sequence == AT:
            if all(end is None or is_known(end) for end in (lower, upper)):
                return _numbers(lower or ir.Number(0, ir.INT), upper or rank)
        case ir.ListOf(items):
            return ir.ListOf(tuple(_place(item, k, rank) for item in items))
        case ir.Binary("+", left, right, ir.INTS):
            return ir.Binary("+", _places(left, k, rank), _places(right, k, rank), ir.INTS)
        case ir.Conditional(test, then, otherwise) if is_known(test):
            return ir.Conditional(test, _places(then, k, rank), _places(otherwise, k, rank))
    raise Unfit


def _place(item: ir.Expr, k: ir.Local, rank: ir.Expr) -> ir.Expr:
    match item:
        case ir.Index(sequence, index) if sequence == AT and is_known(index):
            return index
        case ir.Number(value=0):
            return ir.Binary("+", rank, ir.Number(1, ir.INT), ir.INT)
    if item == k:
        return rank
    raise Unfit


def _numbers(first: ir.Expr, last: ir.Expr) -> ir.Expr:
    """The list of the numbers from `first` up to, without, `last`."""
    number = ir.Local("d", ir.INT)
    return ir.Reduce("list", ir.Loop(number, first, last, None), number, ir.INTS)
