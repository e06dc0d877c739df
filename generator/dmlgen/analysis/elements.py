"""Expressions with other parts, and the sign that a definition does not have a form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dmlgen.expr import ir


class Unfit(Exception):
    """A definition does not have the form in question."""


def rebuilt(node: ir.Expr, write: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """The expression with each of its direct parts written again; it has no loops."""
    changes: dict[str, Any] = {}
    for name in ir.PARTS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            changes[name] = tuple(map(write, value))
        elif type(value) in ir.PARTS:
            changes[name] = write(value)
    return replace(node, **changes) if changes else node
