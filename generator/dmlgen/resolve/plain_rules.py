"""The rules of operators, graphs, bindings and calls that have no form: checks of outputs, and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dmlgen import sugar, written
from dmlgen.diagnostics import Position, fault
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope
from dmlgen.registry import Rule, Stage
from dmlgen.resolve.checks import OPERATOR_CHECKS, Checks
from dmlgen.resolve.faults import check_known
from dmlgen.resolve.general import General, message
from dmlgen.resolve.rules import expression, template
from dmlgen.source import Node

_STAGES = {"dimension-count": Stage.COUNTS, "data-type": Stage.VALUES}


def resolve_operator_rules(
    general: General, nodes: Iterable[written.GeneralRule], where: Position
) -> tuple[Rule, ...]:
    """The rules on every operator."""
    found: list[Rule] = []
    for node in nodes:
        stage = _STAGES.get(node.id.value, Stage.STRUCTURE)
        rule = checked(general, "OPERATOR", node, stage, OPERATOR_CHECKS)
        hint = message(node.hint, {*OPERATOR_CHECKS[rule.slug], "needed"})
        found.append(replace(rule, applies_to=node.applies_to or "any", hint=hint))
    check_complete(found, OPERATOR_CHECKS, where)
    return tuple(found)


def checked(
    general: General,
    family: str,
    node: written.GeneralRule | written.GraphCheck | written.BindingCheck,
    stage: Stage,
    known: Checks,
) -> Rule:
    """A rule that each output checks in its own way."""
    slug = node.id.value
    check_known(node.id, known, f"there is no check {slug}; outputs make each of them in their own way")
    return replace(stated(general, family, node, stage), message=message(node.message, known[slug]))


def required(general: General, family: str, node: written.PairRule | written.RangeRule, scope: Scope) -> Rule:
    """A condition, in whose message a tensor is replaced by its path."""
    words = sugar.Wording(
        node.id.position, lambda _: template(node.message, scope, paths=True), general.hints
    )
    checks = sugar.require(expression(node.require, scope, ir.BOOL), None, words)
    return replace(stated(general, family, node, Stage.VALUES), checks=checks)


def stated(
    general: General, family: str, node: written.GeneralRule | written.StatedRule, stage: Stage
) -> Rule:
    """A rule, without what it checks; advice is judged last. Pages state those on every operator."""
    advice = isinstance(node, written.StatedRule) and node.advice
    return Rule(
        id=f"DML-{family}-{node.id.value}",
        slug=node.id.value,
        stage=Stage.ADVICE if advice else stage,
        summary=node.summary,
        checks=(),
        since=general.levels[0],
        until=None,
        applies_to="any",
        source=node.source if isinstance(node, written.StatedRule) else "docs",
        position=node.position,
    )


def plain(nodes: Mapping[str, Node]) -> dict[str, Any]:
    """The nodes of an example, or of how it is broken, as lists, dicts and scalars."""
    return {name: node.plain() for name, node in nodes.items()}


def check_complete(rules: Iterable[Rule], known: Checks, where: Position) -> None:
    """Raises SpecError if a check that outputs make is not among the rules."""
    missing = sorted(known.keys() - {rule.slug for rule in rules})
    if missing:
        raise fault(where, "missing", f"the check {missing[0]} is missing")
