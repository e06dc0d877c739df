"""Static bounds: how large an integer or how long an array can be, for any description.

A loop or a list without such a bound is an error in a spec, so that no description can make a validator slow,
and C can hold every array in fixed storage.
"""

from __future__ import annotations

from collections.abc import Callable

from dmlgen.expr import ir

MAX_RANK = 8  # of the arrays a description holds; resolve checks it against the header's constant
MAX_TENSORS = 64  # entries of an array member that validators look at


def upper_bound(node: ir.Expr) -> int | None:
    """The largest value of an integer, or the greatest length of an array; None when nothing bounds it."""
    match node:
        case ir.Number(value=int(value)):
            return value
        case ir.Constant(value=value):
            return value
        case ir.Field(name="DimensionCount") | ir.Field(name="Sizes" | "Strides"):
            return MAX_RANK
        case ir.Member(type=ir.INTS | ir.FLOATS) | ir.Local(type=ir.INTS):
            return MAX_RANK * 2
        case ir.Tensors() | ir.Local(name="index"):
            return MAX_TENSORS
        case ir.Call(function="len", arguments=(item,)):
            return upper_bound(item)
        case ir.Call(function="min", arguments=(left, right)):
            known = [bound for bound in (upper_bound(left), upper_bound(right)) if bound is not None]
            return min(known, default=None)
        case ir.Call(function="max", arguments=(left, right)) | ir.Conditional(then=left, otherwise=right):
            return _both(left, right, max)
        case ir.Call(function="align", arguments=(_, length, _)):
            return upper_bound(length)
        case ir.Call(function="replace", arguments=(sequence, _, _)) | ir.Slice(sequence=sequence):
            return upper_bound(sequence)
        case ir.Binary(op="+", left=left, right=right):
            return _both(left, right, int.__add__)
        case ir.Binary(op="-" | "//" | "%", left=left, right=right) if lower_bound(right) is not None:
            return upper_bound(left)
        case ir.ListOf(items=items):
            return len(items)
        case ir.Reduce(kind="list", loop=loop):
            return upper_bound(loop.upper)
        case ir.Definition(value=value):
            return upper_bound(value)
        case _:
            return None


def lower_bound(node: ir.Expr) -> int | None:
    """The smallest value of an integer, when it cannot be negative; None when it may be."""
    match node:
        case ir.Number(value=int(value)) | ir.Constant(value=value):
            return value if value >= 0 else None
        case ir.Field(name="DimensionCount"):
            return 1
        case ir.Definition(value=value):
            return lower_bound(value)
        case ir.Member(signed=True):
            return None
        case ir.Index(sequence=ir.Member(signed=True)):
            return None
        case ir.Index(sequence=ir.Definition(value=sequence)) | ir.Index(sequence=ir.Reduce() as sequence):
            return lower_bound(sequence.body) if isinstance(sequence, ir.Reduce) else 0
        case ir.Field() | ir.Part() | ir.Index() | ir.Member():
            return 0
        case ir.Local(type=ir.INT):
            return 0
        case (
            ir.Binary(op="+" | "*", left=left, right=right) | ir.Call(function="min", arguments=(left, right))
        ):
            return None if lower_bound(left) is None or lower_bound(right) is None else 0
        case ir.Binary(op="//" | "%", left=left):
            return lower_bound(left)
        case ir.Call(function="max", arguments=(left, right)):
            return 0 if lower_bound(left) is not None or lower_bound(right) is not None else None
        case ir.Call(function="len" | "abs" | "bits" | "wrap" | "product" | "sum"):
            return 0
        case _:
            return None


def _both(left: ir.Expr, right: ir.Expr, combine: Callable[[int, int], int]) -> int | None:
    a, b = upper_bound(left), upper_bound(right)
    return None if a is None or b is None else combine(a, b)
