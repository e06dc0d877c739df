"""Finds which tensors have the same data type, or the same sizes, by the rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from dmlgen.expr import ir
from dmlgen.registry import Check, Member, Rule


def element_classes(members: Iterable[Member], resolved: Collection[Rule]) -> dict[str, str]:
    """Maps every tensor and data type member to a representative of those with the same data type."""
    typed = [member for member in members if member.is_tensor or member.type == "TENSOR_DATA_TYPE"]
    typed.sort(key=lambda member: (not member.is_tensor, member.count is not None, member.optional))
    classes = {member.name: member.name for member in typed}
    nodes = [node for check in _demanded(resolved) for node in ir.walk(check.condition)]
    single = [node for node in nodes if isinstance(node, ir.Tensor) and isinstance(node.index, ir.Number)]
    classes |= {tensor.entry: tensor.entry for tensor in single}
    return _joined(classes, resolved, _typed)


def size_classes(tensors: Iterable[Member], resolved: Iterable[Rule]) -> dict[str, str]:
    """Maps every tensor to a representative of those with the same sizes."""
    return _joined({tensor.name: tensor.name for tensor in tensors}, resolved, _sized)


def _joined(
    classes: dict[str, str], resolved: Iterable[Rule], subject: Callable[[ir.Expr], str]
) -> dict[str, str]:
    """The classes, merged where rules equate the subjects of two expressions."""
    for check in _demanded(resolved):
        match check.condition:
            case ir.Compare(op="==", left=left, right=right) if _optional(check.guard):
                a, b = subject(left), subject(right)
                if a in classes and b in classes:
                    old, new = sorted((classes[a], classes[b]), key=list(classes).index, reverse=True)
                    classes = {name: new if one == old else one for name, one in classes.items()}
    return classes


def _demanded(resolved: Iterable[Rule]) -> list[Check]:
    """The checks that apply at every level to every valid description."""
    return [check for rule in resolved if rule.until is None and not rule.advice for check in rule.checks]


def _optional(guard: ir.Expr | None) -> bool:
    """Whether a check applies whenever its tensors are present."""
    return guard is None or isinstance(guard, ir.Present)


def _sized(node: ir.Expr) -> str:
    """The tensor whose sizes an expression denotes."""
    match node:
        case ir.Field(tensor=tensor, name="Sizes"):
            return tensor.entry
        case _:
            return ""


def _typed(node: ir.Expr) -> str:
    """The tensor, or data type member, whose data type an expression denotes."""
    match node:
        case ir.Field(tensor=tensor, name="DataType"):
            return tensor.entry
        case ir.Member(name=name, type=ir.Type(kind="enum", name="TENSOR_DATA_TYPE")):
            return name
        case _:
            return ""
