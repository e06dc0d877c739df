"""Coordinates of reads: what they depend on, and the linear functions among their entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.defined import is_known


def entries(coordinate: ir.Expr) -> tuple[ir.Expr, ...]:
    """The entries of a list one by one. Raises Unfit if their number depends on the description."""
    match coordinate:
        case ir.ListOf(items):
            return items
        case ir.Binary("+", left, right, ir.INTS):
            return entries(left) + entries(right)
        case ir.Slice(ir.AT, None, ir.Number(value=int(upper))):
            return tuple(map(ir.at, range(upper)))
    raise Unfit


def dimensions(parts: Iterable[ir.Expr]) -> set[int] | None:
    """The dimensions on whose coordinates the parts of expressions may depend; None if that is not known."""
    found, uses, known = set[int](), 0, 0
    for part in parts:
        match part:
            case ir.Call("previous_contents" | "concat"):
                return None
            case ir.AT:
                uses += 1
            case ir.Index(ir.AT, ir.Number(value=int(d))):
                found, known = found | {d}, known + 1
            case ir.Index(ir.AT, ir.Binary("+", ir.Local(), ir.Number(value=int(d)))) | ir.Slice(
                ir.AT, ir.Number(value=int(d)), None
            ):  # dimension d and those after it
                found, known = found | set(range(d, MAX_RANK)), known + 1
    return found if uses == known else None


def axes_of(place: ir.Expr) -> ir.Expr:
    """For each dimension of a window, the dimension of the output that it moves along."""
    match place:
        case ir.Reduce(kind="list", loop=loop, body=body):
            axes = [part.index for part in ir.walk(body) if _is_entry(part, ir.AT)]
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
            if not is_sum(body, ir.AT, w):
                raise Unfit
            values = ((ir.AT, at), (w, tap))
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


def raveled(items: Sequence[ir.Expr], box: Sequence[ir.Expr]) -> ir.Expr:
    """The row-major index of a coordinate in a box, as a sum."""
    number = items[0]
    for item, size in zip(items[1:], box[1:], strict=True):
        number = ir.Binary("+", ir.Binary("*", number, size, ir.INT), item, ir.INT)
    return number


def term(node: ir.Expr, entry: int | None) -> ir.Expr:
    """The coefficient of an entry of `at` in a sum, or its constant if that is None."""
    if is_known(node):
        return node if entry is None else ir.ZERO
    match node:
        case ir.Index(_, ir.Number(number)):
            return ir.ONE if number == entry else ir.ZERO
        case ir.Binary("*", left, right) if is_known(right):
            return _simple("*", term(left, entry), right)
        case ir.Binary("*", left, right):
            return _simple("*", left, term(right, entry))
        case ir.Binary(op, left, right):
            return _simple(op, term(left, entry), term(right, entry))
    raise Unfit


def _simple(op: ir.ArithmeticOp | ir.BitOp, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if op == "*" and ir.ZERO in (left, right):
        return ir.ZERO
    if (op == "*" and left == ir.ONE) or (op == "+" and left == ir.ZERO):
        return right
    if (op == "*" and right == ir.ONE) or (op != "*" and right == ir.ZERO):
        return left
    return ir.Binary(op, left, right, ir.INT)
