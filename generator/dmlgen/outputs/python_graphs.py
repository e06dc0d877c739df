"""The rules of graphs and of bindings in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.names import field_local, python_variable
from dmlgen.outputs.python_printer import PythonPrinter
from dmlgen.outputs.python_rules import (
    Assignments,
    CheckView,
    RuleView,
    assignments_of,
    constants_of,
    parts_of,
    rule_view,
    used_definitions,
)
from dmlgen.registry import Registry, Stage, StatedRule

_TOTAL = "TotalTensorSizeInBytes"  # in Python it can be absent, and follows from the rest then


@dataclass(frozen=True)
class PairsView:
    """A function that checks two tensors: its name, theirs, its variables, and the rules."""

    name: str
    summary: str
    tensors: tuple[str, str]
    fields: Assignments
    assignments: Assignments
    rules: tuple[RuleView, ...]


@dataclass(frozen=True)
class GraphsView:
    functions: tuple[PairsView, ...]
    constants: Assignments


def graphs_view(registry: Registry) -> GraphsView:
    graphs = registry.graphs
    printer = PythonPrinter(registry, None, Stage.VALUES)

    def pairs(name: str, summary: str, tensors: tuple[str, str], rules: Sequence[StatedRule]) -> PairsView:
        parts = [part for one in rules for check in one.checks for part in parts_of(check)]
        definitions = used_definitions(graphs.definitions, parts)
        read = dict.fromkeys(
            (node.tensor.name, node.name)
            for part in (*parts, *(one.value for one in definitions))
            for node in ir.walk(part)
            if isinstance(node, ir.Field)
        )
        return PairsView(
            name,
            summary,
            (python_variable(tensors[0]), python_variable(tensors[1])),
            tuple((field_local(*one), _read(*one)) for one in read),
            assignments_of(printer, definitions),
            tuple(_placed(rule_view(one, printer), one.writer) for one in rules),
        )

    edges = [one for one in graphs.edges if not one.advice]
    advice = [one for one in graphs.edges if one.advice]
    functions = (
        pairs("check_edge", "Checks the tensors that an edge joins.", ("From", "To"), edges),
        pairs("advise_on_edge", "Advice on the tensors that an edge joins.", ("From", "To"), advice),
        pairs(
            "check_input",
            "Checks two tensors that read the same input of a graph.",
            ("One", "Other"),
            graphs.inputs,
        ),
    )
    return GraphsView(functions, constants_of(printer))


def _read(tensor: str, field: str) -> str:
    """A field of a slot's tensor."""
    return f"{python_variable(tensor)}.given.{'size_in_bytes' if field == _TOTAL else field}"


def _placed(rule: RuleView, writer: str | None) -> RuleView:
    """The rule on slots, which have paths and tensors; it applies if the first is of a node of this type."""
    guard = {"operator": "not from_.is_constant and ", "constant": "from_.is_constant and "}.get(
        writer or "", ""
    )

    def path(place: str) -> str:
        tensor, _, field = place.removeprefix("f").strip('"').partition(".")
        return (
            f'f"{{{python_variable(tensor)}.path}}.{field}"' if field else f"{python_variable(tensor)}.path"
        )

    def placed(one: CheckView) -> CheckView:
        failure = f"({one.failure})" if guard and " or " in one.failure else one.failure
        message = one.message._replace(place=path(one.message.place))
        return replace(one, failure=f"{guard}{failure}", message=message)

    return replace(rule, checks=tuple(map(placed, rule.checks)))


@dataclass(frozen=True)
class RangesView:
    """The rules on ranges, each limited to its roles, and the variables that they read."""

    fields: Assignments
    rules: tuple[RuleView, ...]
    constants: Assignments


def ranges_view(registry: Registry) -> RangesView:
    ranges = registry.bindings.ranges
    printer = PythonPrinter(registry, None, Stage.VALUES)
    parts = (part for one in ranges for check in one.checks for part in parts_of(check))
    nodes = (node for part in parts for node in ir.walk(part))
    read = dict.fromkeys(node.name for node in nodes if isinstance(node, ir.Field))
    return RangesView(
        tuple((field_local("", name), f"slot.{field_local('', name)}") for name in read),
        tuple(_limited(one, rule_view(one, printer, of_tensor=True)) for one in ranges),
        constants_of(printer),
    )


def _limited(one: StatedRule, view: RuleView) -> RuleView:
    """The rule for ranges of its roles."""
    roles = ", ".join(f'"{role}"' for role in one.roles)
    test = f"slot.role in ({roles})" if len(one.roles) > 1 else f"slot.role == {roles}"
    checks = (replace(check, failure=f"{test} and {check.failure}") for check in view.checks)
    return replace(view, checks=tuple(checks))
