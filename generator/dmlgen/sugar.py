"""The forms in which a spec states a rule, brought to checks: the one form that every target prints."""

from __future__ import annotations

from collections.abc import Iterable

from dmlgen.expr import ir
from dmlgen.message import explain, subject
from dmlgen.registry import Check, Stage

_FLIP: dict[str, ir.CompareOp] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def require(condition: ir.Expr, guard: ir.Expr | None, because: str | None) -> tuple[Check, ...]:
    """The checks of a condition: one for each operand of `and`, with the loops of `all(...)` laid open."""
    return tuple(_checks(condition, guard, (), because))


def same(
    field: str, type_: ir.Type, tensors: list[ir.Tensor | ir.Tensors], optional: set[str]
) -> tuple[Check, ...]:
    """A field is the same in all these tensors, as far as they are given; each is compared with the first."""
    checks: list[Check] = []
    first = _representative(tensors[0])
    for tensor in tensors if isinstance(tensors[0], ir.Tensors) else tensors[1:]:
        loops: tuple[ir.Loop, ...] = ()
        one: ir.Tensor
        if isinstance(tensor, ir.Tensors):
            variable = ir.Local("i", ir.INT)
            count = ir.Call("len", (tensor,), ir.INT)
            loops = (ir.Loop(variable, ir.Number(0, ir.INT), count, None),)
            one = ir.Tensor(tensor.name, variable)
        else:
            one = tensor
        given = [ir.Present(item) for item in (first, one) if item.index is None and item.name in optional]
        condition = ir.Compare("==", ir.Field(one, field, type_), ir.Field(first, field, type_))
        checks.append(
            Check(f"{one.name}.{field}", loops, conjunction(given), condition, explain(condition, None))
        )
    return tuple(checks)


def conjunction(conditions: Iterable[ir.Expr]) -> ir.Expr | None:
    """All of the conditions; None when there are none."""
    operands = tuple(conditions)
    return None if not operands else operands[0] if len(operands) == 1 else ir.Logic("and", operands)


def stage_of(checks: tuple[Check, ...]) -> Stage:
    """COUNTS for rules on dimension counts and single numbers alone, VALUES for all others."""
    for check in checks:
        parts = [check.condition, *([check.guard] if check.guard is not None else [])]
        for loop in check.loops:
            parts += [loop.lower, loop.upper, *([loop.condition] if loop.condition is not None else [])]
        for part in parts:
            for node in ir.walk(part):
                if isinstance(node, ir.Field) and node.name != "DimensionCount":
                    return Stage.VALUES
                if isinstance(node, ir.Member) and node.type.kind in ("ints", "floats"):
                    return Stage.VALUES
    return Stage.COUNTS


def _representative(tensor: ir.Tensor | ir.Tensors) -> ir.Tensor:
    return ir.Tensor(tensor.name, ir.Number(0, ir.INT)) if isinstance(tensor, ir.Tensors) else tensor


def _checks(
    condition: ir.Expr, guard: ir.Expr | None, loops: tuple[ir.Loop, ...], because: str | None
) -> Iterable[Check]:
    match condition:
        case ir.Logic(op="and", operands=operands):
            for operand in operands:
                yield from _checks(operand, guard, loops, because)
        case ir.Reduce(kind="all", loop=loop, body=body):
            yield from _checks(body, guard, (*loops, loop), because)
        case ir.Conditional(test=test, then=then, otherwise=ir.Number(value=True)) if not loops:
            both = test if guard is None else ir.Logic("and", (guard, test))
            yield from _checks(then, both, loops, because)
        case ir.Compare(op=op, left=ir.Number() | ir.Constant() as left, right=right):
            yield from _checks(ir.Compare(_FLIP[op], right, left), guard, loops, because)
        case _:
            member = subject(condition) or (subject(loops[0].upper) if loops else None) or ""
            yield Check(member, loops, guard, condition, explain(condition, because))
