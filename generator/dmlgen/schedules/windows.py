"""Where a window is read: in each of its dimensions at a sum of constants, of coordinates of the output and
of its own coordinate, each times a constant."""

from __future__ import annotations

from typing import TypeGuard

from dmlgen.expr import ir
from dmlgen.expr.defined import is_known
from dmlgen.schedules.elements import Unfit
from dmlgen.schedules.sets import AT


def axes_of(place: ir.Expr) -> ir.Expr:
    """For each dimension of a window, the dimension of the output along which it goes."""
    match place:
        case ir.Reduce(kind="list", loop=loop, body=body):
            axes = [part.index for part in ir.walk(body) if _is_entry(part, AT)]
            if len(axes) == 1:
                return ir.Reduce("list", loop, axes[0], ir.INTS)
    raise Unfit


def sum_at(node: ir.Expr, w: ir.Local, at: int, tap: int) -> ir.Expr:
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


def _is_entry(node: ir.Expr, of: ir.Expr) -> TypeGuard[ir.Index]:
    return isinstance(node, ir.Index) and node.sequence == of


def numbers(first: ir.Expr, last: ir.Expr) -> ir.Expr:
    """The list of the numbers from `first` up to, without, `last`."""
    number = ir.Local("d", ir.INT)
    return ir.Reduce("list", ir.Loop(number, first, last, None), number, ir.INTS)
