"""The rules of graphs, bindings and calls: those that outputs check in their own ways, and conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from dmlgen import sugar, written
from dmlgen.diagnostics import Position
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope
from dmlgen.registry import Rule, Stage
from dmlgen.resolve.faults import check_known, fault
from dmlgen.resolve.general import General, message
from dmlgen.resolve.rules import expression, template

Checks: TypeAlias = Mapping[str, Collection[str]]
"""The names of the values that a message can show, by the rule that outputs check."""


def checked(
    general: General,
    family: str,
    node: written.GraphCheck | written.BindingCheck,
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
    general: General,
    family: str,
    node: written.GraphRule | written.BindingRule | written.CallRule,
    stage: Stage,
) -> Rule:
    """A rule, without what it checks; advice is judged last."""
    return Rule(
        id=f"DML-{family}-{node.id.value}",
        slug=node.id.value,
        stage=Stage.ADVICE if node.advice else stage,
        summary=node.summary,
        checks=(),
        since=general.levels[0],
        until=None,
        applies_to="any",
        source=node.source,
        position=node.node.position,
    )


def check_complete(rules: Iterable[Rule], known: Checks, where: Position) -> None:
    """Raises SpecError if a check that outputs make is not among the rules."""
    missing = sorted(known.keys() - {rule.slug for rule in rules})
    if missing:
        raise fault(where, "missing", f"the check {missing[0]} is missing")
