"""The rules of bindings in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.names import field_local
from dmlgen.outputs.python_printer import PythonPrinter
from dmlgen.outputs.python_rules import Assignments, RuleView, constants_of, parts_of, rule_view
from dmlgen.registry import BindingRule, Registry, Stage


@dataclass(frozen=True)
class RangesView:
    """The rules on ranges, each limited to its roles, and the variables that they read."""

    fields: Assignments
    rules: tuple[RuleView, ...]
    constants: Assignments


def ranges_view(registry: Registry) -> RangesView:
    ranges = registry.bindings.ranges
    printer = PythonPrinter(registry, None, Stage.VALUES)
    read = dict.fromkeys(_fields(ranges))
    return RangesView(
        tuple((field_local("", name), f"slot.{field_local('', name)}") for name in read),
        tuple(_limited(one, rule_view(one.rule, printer, of_tensor=True)) for one in ranges),
        constants_of(printer),
    )


def _fields(ranges: tuple[BindingRule, ...]) -> Iterator[str]:
    parts = (part for one in ranges for check in one.rule.checks for part in parts_of(check))
    return (node.name for part in parts for node in ir.walk(part) if isinstance(node, ir.Field))


def _limited(one: BindingRule, view: RuleView) -> RuleView:
    """The rule for ranges of its roles."""
    roles = ", ".join(f'"{role}"' for role in one.roles)
    test = f"slot.role in ({roles})" if len(one.roles) > 1 else f"slot.role == {roles}"
    checks = (replace(check, failure=f"{test} and {check.failure}") for check in view.checks)
    return replace(view, checks=tuple(checks))
