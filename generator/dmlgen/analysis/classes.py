"""Finds which tensors have the same data type, sizes or rank, by the rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from dmlgen.expr import ir
from dmlgen.registry import Check, Member, Operator, Rule, Stage


def element_classes(members: Iterable[Member], resolved: Collection[Rule]) -> dict[str, str]:
    """Maps every tensor and data type member to a representative of those with the same data type."""
    typed = [member for member in members if member.is_tensor or member.type == "TENSOR_DATA_TYPE"]
    typed.sort(key=lambda member: (not member.is_tensor, member.count is not None, member.optional))
    classes = {member.name: member.name for member in typed}
    checks = demanded(resolved)
    nodes = [node for check in checks for node in ir.walk(check.condition)]
    single = [node for node in nodes if isinstance(node, ir.Tensor) and isinstance(node.index, ir.Number)]
    classes |= {tensor.entry: tensor.entry for tensor in single}
    return _joined(classes, filter(is_of_given, checks), _typed)


def size_classes(tensors: Iterable[Member], resolved: Iterable[Rule]) -> dict[str, str]:
    """Maps every tensor to a representative of those with the same sizes."""
    classes = {tensor.name: tensor.name for tensor in tensors}
    return _joined(classes, filter(is_of_given, demanded(resolved)), lambda node: _field("Sizes", node))


def rank_classes(operator: Operator) -> dict[str, str]:
    """Maps every tensor to a representative of those with the same rank after COUNTS, present or not."""
    rules = [one for one in operator.rules if one.stage is Stage.COUNTS]
    always = [one for one in rules if one.since.ordinal <= operator.since.ordinal]
    checks = [check for check in demanded(always) if check.guard is None and not check.loops]
    classes = {tensor.name: tensor.name for tensor in operator.tensors}
    return _joined(classes, checks, lambda node: _field("DimensionCount", node))


def _joined(
    classes: dict[str, str], checks: Iterable[Check], subject: Callable[[ir.Expr], str]
) -> dict[str, str]:
    """The classes, merged where checks equate the subjects of two expressions."""
    for check in checks:
        match check.condition:
            case ir.Compare(op="==", left=left, right=right):
                a, b = subject(left), subject(right)
                if a in classes and b in classes:
                    old, new = sorted((classes[a], classes[b]), key=list(classes).index, reverse=True)
                    classes = {name: new if one == old else one for name, one in classes.items()}
    return classes


def demanded(resolved: Iterable[Rule]) -> list[Check]:
    """The checks that apply at every level to every valid description."""
    return [check for rule in resolved if rule.until is None and not rule.advice for check in rule.checks]


def is_of_given(check: Check) -> bool:
    """Whether a check applies whenever its tensors are present."""
    return check.guard is None or isinstance(check.guard, ir.Present)


def _field(name: str, node: ir.Expr) -> str:
    """The tensor of which an expression is this field."""
    return node.tensor.entry if isinstance(node, ir.Field) and node.name == name else ""


def _typed(node: ir.Expr) -> str:
    """The tensor, or data type member, whose data type an expression denotes."""
    if isinstance(node, ir.Member) and node.type.name == "TENSOR_DATA_TYPE":
        return node.name
    return _field("DataType", node)
