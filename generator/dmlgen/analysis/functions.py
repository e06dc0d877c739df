"""Functions of elements that definitions write as expressions, which would lose digits as they read."""

from __future__ import annotations

import math

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir

_GELU = "0 if weight == 0 else x * weight"
_WEIGHT = f"0.5 * (1 + erf(x * {math.sqrt(0.5)!r}))"
_SOFTPLUS = "max(x, 0) + log1p(exp(-abs(x)))"


def gelu_of(node: ir.Expr) -> ir.Expr | None:
    """x, if a value is x 0.5 (1 + erf(x sqrt(0.5))), but 0 where the second factor is 0; else None."""
    found = match(_GELU, node)
    return found.x if found and match(_WEIGHT, found.weight, x=found.x) else None


def softplus_of(node: ir.Expr) -> ir.Expr | None:
    """x, if a value is ln(1 + e^x), written without overflow; else None."""
    found = match(_SOFTPLUS, node)
    return found.x if found else None
