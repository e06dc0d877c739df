"""Checks that only compare a field of two tensors, for which outputs have a shared function."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.message import explain
from dmlgen.registry import Check, Operator, Rule
from dmlgen.sugar import broadcasts

_FIELDS = ("DimensionCount", "DataType", "Sizes")


@dataclass(frozen=True)
class SameField:
    """A field of `tensor` must be that of `other`, if both are given."""

    field: str
    tensor: str
    other: str


def same_field_message() -> str:
    """The usual message, without a hint, in which {tensor}, {other} and {field} stand for names, {found} and
    {expected} for values."""
    one, other = (ir.Field(ir.Tensor(name), "{field}", ir.INT) for name in ("{tensor}", "{other}"))
    values: dict[ir.Expr, str] = {one: "{found}", other: "{expected}"}
    parts = explain(ir.Compare("==", one, other))
    return "".join(part if isinstance(part, str) else values[part] for part in parts)


def same_field(operator: Operator, rule: Rule, check: Check) -> SameField | None:
    """The comparison that a check makes, if that is all, at every level, with the usual message.

    A guard can require both tensors to be present, as it must for optional ones.
    """
    if check.loops or rule.since.ordinal or rule.until is not None or check.worded:
        return None
    match check.condition:
        case ir.Compare(
            op="==",
            left=ir.Field(tensor=ir.Tensor(name=left, index=None), name=field) as one,
            right=ir.Field(tensor=ir.Tensor(name=right, index=None), name=other) as reference,
        ) if field == other and field in _FIELDS:
            if check.hint is not None and check.hint.when != broadcasts(one, reference):
                return None
            optional = {name for name in (left, right) if operator.member[name].optional}
            given = _given(check.guard)
            if given is not None and optional <= given <= {left, right}:
                return SameField(field, left, right)
    return None


def _given(guard: ir.Expr | None) -> set[str] | None:
    """The tensors that a guard requires to be given; None if it requires anything else."""
    match guard:
        case None:
            return set()
        case ir.Present(item=ir.Tensor(name=name, index=None)):
            return {name}
        case ir.Logic(op="and", operands=operands):
            parts = [_given(operand) for operand in operands]
            known = [part for part in parts if part is not None]
            return set().union(*known) if len(known) == len(parts) else None
    return None
