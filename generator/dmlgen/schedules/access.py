"""Coordinates of reads: what they depend on, and the linear functions among their entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, TypeVar, cast

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.definition_queries import is_known, walk_through


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


def loads_of(*nodes: ir.Expr) -> list[ir.Load]:
    """The reads of tensors of the description in values, functions included."""
    return [part for part in chain(*map(walk_through, nodes)) if isinstance(part, ir.Load)]


def dimensions(*nodes: ir.Expr) -> frozenset[int]:
    """The dimensions on whose coordinates expressions may depend, in functions too: all, if that is not
    known."""
    found, uses, known = set[int](), 0, 0
    for part in chain(*map(walk_through, nodes)):
        match part:
            case ir.AT | ir.Call("previous_contents" | "concat"):
                uses += 1
            case ir.Index(ir.AT, ir.Number(value=int(d))):
                found, known = found | {d}, known + 1
            case ir.Index(ir.AT, ir.Binary("+", ir.Local(), ir.Number(value=int(d)))) | ir.Slice(
                ir.AT, ir.Number(value=int(d)), None
            ):  # dimension d and those after it
                found, known = found | set(range(d, MAX_RANK)), known + 1
    return frozenset(found if uses == known else range(MAX_RANK))


_T = TypeVar("_T")


@dataclass(frozen=True)
class Window:
    """A box of `sizes` over which a fold runs, and its taps, whose coordinates are linear functions: on a
    tensor, the right factor of a contraction, whose dimensions from the third on are those of the window and
    of the output; and on the left one, if there is one. Only those of the right one depend on the output's,
    and are still to be divided by `right_divisors`. Fields are those of the planners' record
    (`plans/definition_types.py`)."""

    sizes: ir.Expr
    right_first: ir.Expr
    right_steps: ir.Expr
    right_taps: ir.Expr
    right_divisors: ir.Expr | None = None
    left_first: ir.Expr | None = None
    left_taps: ir.Expr | None = None
    groups: ir.Expr | None = None

    @property
    def operands(self) -> dict[str, ir.Expr]:
        """The planner's operands, by the path below its `Definition`."""
        return {f"window.{name}": node for name, node in vars(self).items() if node is not None}


@dataclass(frozen=True)
class Linear:
    """Coordinates along the dimensions of a window, each a linear function of the output's coordinate in the
    same dimension and of the window's: its value where both are 0 (`first`), and how far it moves with the
    output's (`steps`) and with the window's (`taps`)."""

    first: ir.Expr
    steps: ir.Expr
    taps: ir.Expr


def linear(coordinates: ir.Expr, w: ir.Local) -> Linear:
    """A list of coordinates as linear functions. Raises Unfit for any other list."""
    match coordinates:
        case ir.Reduce("list", (ir.Loop(d, ir.Number(value=0), _, None),), body):
            of_output = ir.Index(ir.AT, ir.Binary("+", d, ir.Number(2, ir.INT), ir.INT))
            keys, parts = (ir.ONE, of_output, ir.Index(w, d)), linear_parts(body, ir.AT, w)
            lists = [replace(coordinates, body=parts.pop(key, ir.ZERO)) for key in keys]
            if not parts and all(map(is_known, lists)):
                return Linear(*lists)
    raise Unfit


def linear_parts(node: ir.Expr, *lists: ir.Expr) -> dict[ir.Expr, ir.Expr]:
    """An integer as a linear function of entries of lists: the coefficient of each entry, and the number that
    is added, that of 1. Raises Unfit for any other integer."""
    if isinstance(node, ir.Index) and node.sequence in lists:
        return {node: ir.ONE}
    if not any(part in lists or isinstance(part, ir.Load) or ir.is_fold(part) for part in ir.walk(node)):
        return {ir.ONE: node}
    match node:
        case ir.Binary("+" | "-", left, right, ir.INT):
            found = linear_parts(left, *lists)
            for key, one in linear_parts(right, *lists).items():
                is_new = node.op == "+" and key not in found
                found[key] = one if is_new else replace(node, left=found.get(key, ir.ZERO), right=one)
            return found
        case ir.Binary("*", left, right, ir.INT):
            a, b = linear_parts(left, *lists), linear_parts(right, *lists)
            a, b = (b, a) if a.keys() == {ir.ONE} else (a, b)
            if b.keys() == {ir.ONE}:
                return {key: replace(node, left=one, right=b[ir.ONE]) for key, one in a.items()}
        case ir.Conditional(test, left, right) if is_known(test):
            a, b = linear_parts(left, *lists), linear_parts(right, *lists)
            return {key: either(test, a.get(key, ir.ZERO), b.get(key, ir.ZERO)) for key in {**a, **b}}
    raise Unfit


def either(test: ir.Expr, one: _T, other: _T) -> _T:
    """The expression, or the record of expressions, that is one where a test holds, and the other
    elsewhere."""
    if one == other:
        return one
    if isinstance(one, ir.Expr) and isinstance(other, ir.Expr):
        return cast(_T, ir.Conditional(test, one, other))
    a, b = cast(Any, one), cast(Any, other)
    changed = {
        field.name: either(test, getattr(a, field.name), getattr(b, field.name)) for field in fields(a)
    }
    return cast(_T, replace(a, **changed))


def numbers(first: ir.Expr, last: ir.Expr) -> ir.Expr:
    """The list of the numbers from `first` up to but not including `last`."""
    number = ir.Local("d", ir.INT)
    return ir.Reduce("list", (ir.Loop(number, first, last),), number, ir.INTS)


def raveled(items: Sequence[ir.Expr], box: Sequence[ir.Expr]) -> ir.Expr:
    """The row-major index of a coordinate in a box, as a sum."""
    number = items[0]
    for item, size in zip(items[1:], box[1:], strict=True):
        number = ir.Binary("+", ir.Binary("*", number, size, ir.INT), item, ir.INT)
    return number
