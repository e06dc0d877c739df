"""Where a window is read: in each of its dimensions at a linear function of the output's coordinate and of
the window's own."""

from __future__ import annotations

from typing import TypeGuard

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.defined import is_known
from dmlgen.schedules.sets import AT


def axes_of(place: ir.Expr) -> ir.Expr:
    """For each dimension of a window, the dimension of the output that it moves along."""
    match place:
        case ir.Reduce(kind="list", loop=loop, body=body):
            axes = [part.index for part in ir.walk(body) if _is_entry(part, AT)]
            if len(axes) == 1:
                return ir.Reduce("list", loop, axes[0], ir.INTS)
    raise Unfit


def sum_at(node: ir.Expr, w: ir.Local, at: int, tap: int) -> ir.Expr:
    """A list of linear functions, evaluated where all coordinates of the output and of the window have these
    values."""
    match node:
        case ir.Reduce(kind="list", loop=ir.Loop(variable, ir.Number(value=0), _, None) as loop, body=body):
            if any(_is_entry(part, w) and part.index != variable for part in ir.walk(body)):
                raise Unfit
            if not is_sum(body, AT, w):
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


def is_sum(node: ir.Expr, *lists: ir.Expr) -> bool:
    """Whether a number is a linear function of the entries of lists."""
    constant = all(part not in lists for part in ir.walk(node))
    match node:
        case _ if constant:
            return not any(isinstance(part, ir.Load | ir.Fold) for part in ir.walk(node))
        case ir.Index(sequence):
            return sequence in lists
        case ir.Binary("+" | "-", left, right, ir.INT):
            return is_sum(left, *lists) and is_sum(right, *lists)
        case ir.Binary("*", left, right, ir.INT):
            sides = [all(part not in lists for part in ir.walk(side)) for side in (left, right)]
            return any(sides) and is_sum(left, *lists) and is_sum(right, *lists)
        case ir.Conditional(test, then, otherwise) if is_known(test):
            return is_sum(then, *lists) and is_sum(otherwise, *lists)
    return False


def _is_entry(node: ir.Expr, of: ir.Expr) -> TypeGuard[ir.Index]:
    return isinstance(node, ir.Index) and node.sequence == of


def numbers(first: ir.Expr, last: ir.Expr) -> ir.Expr:
    """The list of the numbers from `first` up to but not including `last`."""
    number = ir.Local("d", ir.INT)
    return ir.Reduce("list", ir.Loop(number, first, last, None), number, ir.INTS)
