"""Which tensors have the same data type, by the rules."""

from __future__ import annotations

from collections.abc import Iterable

from dmlgen.expr import ir
from dmlgen.registry import Member, Rule


def element_classes(members: Iterable[Member], resolved: Iterable[Rule]) -> dict[str, str]:
    """For every tensor and data type member, one that stands for all that have its data type by the rules."""
    typed = [member for member in members if member.is_tensor or member.type == "TENSOR_DATA_TYPE"]
    typed.sort(key=lambda member: (not member.is_tensor, member.count is not None, member.optional))
    classes = {member.name: member.name for member in typed}
    demanded = [rule for rule in resolved if rule.until is None and not rule.advice]
    checks = [check for rule in demanded for check in rule.checks]
    nodes = [node for check in checks for node in ir.walk(check.condition)]
    single = [node for node in nodes if isinstance(node, ir.Tensor) and isinstance(node.index, ir.Number)]
    classes |= {tensor.entry: tensor.entry for tensor in single}
    for check in checks:
        match check.condition:
            case ir.Compare(op="==", left=left, right=right) if _optional(check.guard):
                a, b = _typed(left), _typed(right)
                if a in classes and b in classes:
                    old, new = sorted((classes[a], classes[b]), key=list(classes).index, reverse=True)
                    classes = {name: new if one == old else one for name, one in classes.items()}
    return classes


def _optional(guard: ir.Expr | None) -> bool:
    """Whether a check holds wherever its tensors are there at all."""
    return guard is None or isinstance(guard, ir.Present)


def _typed(node: ir.Expr) -> str:
    """The tensor, or the data type member, whose data type an expression is."""
    match node:
        case ir.Field(tensor=tensor, name="DataType"):
            return tensor.entry
        case ir.Member(name=name, type=ir.Type(kind="enum", name="TENSOR_DATA_TYPE")):
            return name
        case _:
            return ""
