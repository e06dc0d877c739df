"""Rules in Python: conditions with their messages, after the variables that they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from dmlgen.expr import ir
from dmlgen.names import pascal, python_variable
from dmlgen.outputs.python_printer import Message, PythonPrinter
from dmlgen.outputs.same_field import same_field
from dmlgen.registry import Check, Definition, Operator, Rule

Assignments: TypeAlias = tuple[tuple[str, str], ...]
"""Variables, each with its value."""

_LEVEL = ir.Local("level", ir.Type("enum", "FEATURE_LEVEL"))


@dataclass(frozen=True)
class CheckView:
    """A condition whose `failure` is a violation, in loops over ranges."""

    loops: Assignments
    failure: str
    message: Message


@dataclass(frozen=True)
class RuleView:
    """A rule: its checks or, if it only compares a field of tensors, that field and the tensors.

    All others are compared with the first tensor.
    """

    id: str
    checks: tuple[CheckView, ...] = ()
    same: tuple[str, ...] = ()


def rule_view(rule: Rule, printer: PythonPrinter, of_tensor: bool = False) -> RuleView:
    same = () if printer.operator is None else _same(printer.operator, rule)
    checks = () if same else tuple(_check(rule, check, printer, of_tensor) for check in rule.checks)
    return RuleView(rule.id, checks, same)


def _same(operator: Operator, rule: Rule) -> tuple[str, ...]:
    found = [same_field(operator, rule, check) for check in rule.checks]
    same = [one for one in found if one is not None]
    if not same or len(same) < len(found) or len({(one.field, one.other) for one in same}) > 1:
        return ()
    return (same[0].field, same[0].other, *(one.tensor for one in same))


def _check(rule: Rule, check: Check, printer: PythonPrinter, of_tensor: bool) -> CheckView:
    with printer.bounds.inside(*check.loops):
        conditions = in_force(rule, printer.operator)
        conditions += [loop.condition for loop in check.loops if loop.condition is not None]
        conditions += [check.guard] if check.guard is not None else []
        message = printer.message(check, "{path}." if of_tensor else "")
        return CheckView(
            loops=tuple((python_variable(one.variable.name), printer.range(one)) for one in check.loops),
            failure=printer.print(_all([*conditions, ir.opposite(check.condition)])),
            message=message,
        )


def in_force(rule: Rule, operator: Operator | None) -> list[ir.Expr]:
    """The condition on the feature level under which the rule applies."""
    conditions: list[ir.Expr] = []
    for bound, op in ((rule.since, ">="), (rule.until, "<")):
        if bound is not None and bound.ordinal > (operator.since.ordinal if operator is not None else 0):
            value = ir.EnumValue(f"LEVEL_{bound.name.replace('.', '_')}", bound.value, _LEVEL.type)
            conditions.append(ir.Compare(cast(ir.CompareOp, op), _LEVEL, value))
    return conditions


def _all(conditions: Sequence[ir.Expr]) -> ir.Expr:
    return conditions[0] if len(conditions) == 1 else ir.Logic("and", tuple(conditions))


def parts_of(check: Check) -> list[ir.Expr]:
    """Every expression of a check."""
    return [*check.shown, *check.read]


def used_definitions(definitions: Iterable[Definition], expressions: Iterable[ir.Expr]) -> list[Definition]:
    """The definitions that the expressions use, directly or through others, in their own order."""
    names = {node.name for e in expressions for node in ir.walk(e) if isinstance(node, ir.Definition)}
    return [definition for definition in definitions if definition.name in names]


def assignments_of(printer: PythonPrinter, definitions: Iterable[Definition | ir.Definition]) -> Assignments:
    return tuple((python_variable(d.name), printer.print(d.value)) for d in definitions)


def constants_of(*printers: PythonPrinter) -> Assignments:
    """The enumerators that printed texts name, which a module looks up once."""
    values = {name: value for printer in printers for name, value in printer.enum_values.items()}
    return tuple(
        (name, f"enums.{pascal(one.type.name or '')}.{one.name}") for name, one in sorted(values.items())
    )
