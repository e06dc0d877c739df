"""Tensors that expressions read, and in which way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmlgen.expr import ir
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.registry import Operator
from dmlgen.schedules.schedule import Schedule


def loads(expressions: Iterable[ir.Expr]) -> list[ir.Load]:
    """The reads of tensors."""
    return [node for expression in expressions for node in ir.walk(expression) if isinstance(node, ir.Load)]


def tensors_read(operator: Operator, expressions: Iterable[ir.Expr]) -> list[str]:
    """The tensors that are read, in the order of members; single ones of an array if their index is fixed."""
    members = [member.name for member in operator.inputs]
    read = {load.tensor.entry: members.index(load.tensor.name) for load in loads(expressions)}
    return sorted(read, key=lambda entry: (read[entry], entry))


def widened(schedule: Schedule, tensors: Sequence[str]) -> ir.Expr:
    """The tensors, as bits, whose integers shaders compute in double precision; this may depend on whether
    members are present."""
    masks: dict[ir.Expr | None, int] = {}

    def visit(node: ir.Expr, test: ir.Expr | None) -> None:
        match node:
            case ir.Call(function=name, arguments=(x, *_)) if (
                name in ELEMENT_FUNCTIONS and ELEMENT_FUNCTIONS[name].widens and x.type.name in tensors
            ):
                masks[test] = masks.get(test, 0) | 1 << tensors.index(x.type.name)
            case ir.Conditional(test=condition, then=then) if test is None and not ir.varies(condition):
                visit(then, condition)
                visit(node.otherwise, None)
                return
        for part in ir.children(node):
            visit(part, test)

    for expression in schedule.expressions:
        visit(expression, None)
    tests = [test for test in masks if test is not None]

    def mask(place: int, found: int) -> ir.Expr:
        if place == len(tests):
            return ir.Number(found, ir.INT)
        test = tests[place]
        there, absent = mask(place + 1, found | masks[test]), mask(place + 1, found)
        return there if there == absent else ir.Conditional(test, there, absent)

    return mask(0, masks.get(None, 0))
