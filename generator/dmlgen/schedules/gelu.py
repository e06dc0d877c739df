"""GELU on elements: a product that would cancel for negative numbers if computed as its definition reads."""

from __future__ import annotations

import math

from dmlgen.expr import ir

_SCALE = math.sqrt(0.5)


def gelu_of(node: ir.Expr) -> ir.Expr | None:
    """x, if a value is x 0.5 (1 + erf(x sqrt(0.5))), but 0 where the second factor is 0; else None."""
    match node:
        case ir.Conditional(
            test=ir.Compare(op="==", left=weight, right=zero),
            then=none,
            otherwise=ir.Binary(op="*", left=x, right=factor),
        ) if factor == weight and _is(zero, 0) and _is(none, 0) and _is_weight(weight, x):
            return x
    return None


def _is_weight(node: ir.Expr, x: ir.Expr) -> bool:
    """Whether a value is 0.5 (1 + erf(x sqrt(0.5)))."""
    match node:
        case ir.Definition(value=value):
            return _is_weight(value, x)
        case ir.Binary(
            op="*",
            left=half,
            right=ir.Binary(
                op="+",
                left=one,
                right=ir.Call("erf", (ir.Binary(op="*", left=scaled, right=scale),)),
            ),
        ):
            return scaled == x and _is(half, 0.5) and _is(one, 1) and _is(scale, _SCALE)
    return False


def _is(node: ir.Expr, number: float) -> bool:
    match node:
        case ir.Call("element", (ir.Number(value=value),)):
            return value == number
    return False
