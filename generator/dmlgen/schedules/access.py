"""Coordinates of reads: what they depend on, and the linear functions among their entries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from dmlgen.analysis.pattern import Unfit
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


def linear(side: str, coordinates: ir.Expr, w: ir.Local) -> dict[str, ir.Expr]:
    """A list of coordinates along the dimensions of a window, each a linear function of the output's
    coordinate in the same dimension and of the window's: its value where both are 0 (`first`), and how far it
    moves with the output's (`steps`) and with the window's (`taps`), as fields of a side in the planners'
    record (`plans/definition_types.py`). Raises Unfit for any other list."""
    match coordinates:
        case ir.Reduce("list", (ir.Loop(d, ir.Number(value=0), _, None),), body):
            keys = (ir.Index(ir.AT, ir.Binary("+", d, ir.Number(2, ir.INT), ir.INT)), ir.Index(w, d))
            parts = [replace(coordinates, body=_part(body, key, keys)) for key in (None, *keys)]
            if all(map(is_known, parts)):
                return dict(zip((f"{side}_first", f"{side}_steps", f"{side}_taps"), parts, strict=True))
    raise Unfit


def _part(node: ir.Expr, key: ir.Index | None, keys: Collection[ir.Index]) -> ir.Expr:
    """The coefficient of an entry in an integer, a linear function of the entries `keys`, or what is added to
    these (None). Raises Unfit for any other integer."""

    def is_free(part: ir.Expr) -> bool:
        return not any(one in [key.sequence for key in keys] for one in ir.walk(part))

    if node in keys or is_free(node):
        return ir.Number(int(node == key), ir.INT) if node in keys else ir.ZERO if key else node
    match node:
        case ir.Binary("+" | "-", left, right, ir.INT):
            return replace(node, left=_part(left, key, keys), right=_part(right, key, keys))
        case ir.Binary("*", left, right, ir.INT) if is_free(right):
            return replace(node, left=_part(left, key, keys))
        case ir.Binary("*", left, right, ir.INT) if is_free(left):
            return replace(node, right=_part(right, key, keys))
        case ir.Conditional(test, then, otherwise) if is_known(test):
            return replace(node, then=_part(then, key, keys), otherwise=_part(otherwise, key, keys))
    raise Unfit
