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
        case ir.Binary(op="-", left=left, right=right) if lower_bound(right) is not None:
            return upper_bound(left)
        case ir.Binary(op="//", left=left, right=right) if lower_bound(right) is not None:
            bound = upper_bound(left)  # what is negative comes nearer to 0
            return None if bound is None else max(bound, 0)
        case ir.Binary(op="%", left=left, right=right) if lower_bound(right) is not None:
            largest = upper_bound(right)
            known = [] if largest is None else [max(largest - 1, 0)]
            if lower_bound(left) is not None and (bound := upper_bound(left)) is not None:
                known.append(bound)
            return min(known, default=None)
        case ir.ListOf(items=items):
            return len(items)
        case ir.Reduce(kind="list", loop=loop):
            return upper_bound(loop.upper)
        case ir.Definition(value=value):
            return upper_bound(value)
        case _:
            return None


def lower_bound(node: ir.Expr) -> int | None:
    """A value that an integer is never below, when it cannot be negative; None when it may be."""
    match node:
        case ir.Number(value=int(value)) | ir.Constant(value=value):
            return value if value >= 0 else None
        case ir.Definition(value=value):
            return lower_bound(value)
        case ir.Member(signed=True):
            return None
        case ir.Index(sequence=sequence):
            return _least_entry(sequence)
        case ir.Field() | ir.Part() | ir.Member() | ir.Local(type=ir.INT):
            return 0
        case ir.Binary(op="+" | "*" | "//", left=left, right=right):
            return _zero(left, right)
        case ir.Call(function="min", arguments=(left, right)) | ir.Conditional(then=left, otherwise=right):
            return _zero(left, right)
        case ir.Binary(op="%", right=right):
            return _zero(right)
        case ir.Call(function="max", arguments=(left, right)):
            return 0 if lower_bound(left) is not None or lower_bound(right) is not None else None
        case ir.Call(function="product" | "sum", arguments=(sequence,)):
            return _least_entry(sequence)
        case ir.Call(function="len" | "abs" | "bits" | "wrap"):
            return 0
        case _:
            return None


def _least_entry(node: ir.Expr) -> int | None:
    """0 when no entry of an array is negative; None when one may be. What lies beyond its end is 0."""
    match node:
        case ir.Definition(value=value):
            return _least_entry(value)
        case ir.Field() | ir.Local():
            return 0
        case ir.Member(signed=signed):
            return None if signed else 0
        case ir.Slice(sequence=sequence):
            return _least_entry(sequence)
        case ir.ListOf(items=items):
            return _zero(*items)
        case ir.Reduce(kind="list", body=body):
            return _zero(body)
        case ir.Binary(op="+", left=left, right=right) | ir.Conditional(then=left, otherwise=right):
            return 0 if _least_entry(left) is not None and _least_entry(right) is not None else None
        case ir.Call(function="replace" | "align", arguments=(sequence, *_, value)):
            return 0 if _least_entry(sequence) is not None and lower_bound(value) is not None else None
        case _:
            return None


def _zero(*nodes: ir.Expr) -> int | None:
    """0 when none of the integers can be negative."""
    return None if any(lower_bound(node) is None for node in nodes) else 0


def _both(left: ir.Expr, right: ir.Expr, combine: Callable[[int, int], int]) -> int | None:
    a, b = upper_bound(left), upper_bound(right)
    return None if a is None or b is None else combine(a, b)
