"""Softplus on elements: a sum that has a function of its own."""

from __future__ import annotations

from dmlgen.expr import ir


def softplus_of(node: ir.Expr) -> ir.Expr | None:
    """x, if a value is max(x, 0) + log1p(exp(-abs(x))), which is ln(1 + e^x); else None."""
    match node:
        case ir.Binary(
            op="+",
            left=ir.Call("max", (x, ir.Call("element", (ir.Number(value=0),)))),
            right=ir.Call("log1p", (ir.Call("exp", (ir.Negate(operand=ir.Call("abs", (other,))),)),)),
        ) if other == x:
            return x
    return None
