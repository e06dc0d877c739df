"""The values that a rule reads, so that it is skipped if an earlier rule has found that to be wrong.

Paths are those of violations without indices: `InputTensor.Sizes`, `Axis`; for a rule on every tensor, only
the field: `Sizes`.
"""

from __future__ import annotations

from dmlgen.expr import ir
from dmlgen.registry import Rule


def reads(rule: Rule) -> frozenset[str]:
    """The members and fields of tensors that the conditions of a rule read."""
    return frozenset(
        path
        for check in rule.checks
        for expression in check.read
        for node in ir.walk(expression)
        if (path := _path(node))
    )


def _path(node: ir.Expr) -> str:
    match node:
        case ir.Field(tensor=tensor, name=name):
            return f"{tensor.name}.{name}" if tensor.name else name
        case ir.Member(name=name) | ir.Tensors(name=name) | ir.Present(item=ir.Tensor(name=name)):
            return name
        case _:
            return ""
