"""Resolves the rules of graphs."""

from __future__ import annotations

from dmlgen import source, sugar, written
from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope
from dmlgen.graph_checks import GRAPH_CHECKS
from dmlgen.registry import BrokenGraph, EdgeRule, FeatureLevel, Graphs, Rule, Stage
from dmlgen.resolve.faults import Faults, fault
from dmlgen.resolve.general import General, message
from dmlgen.resolve.rules import define, expression, template
from dmlgen.sugar import Wording


def resolve_graphs(general: General, node: written.Graphs) -> Graphs:
    """The rules of graphs, each with how the example breaks it."""
    if not isinstance(node.example, source.Mapping):
        raise fault(node.example.position, "wrong-type", "expected a graph, as a mapping")
    faults = Faults()
    checks: list[Rule] = []
    edges: list[EdgeRule] = []
    inputs: list[Rule] = []
    joined, definitions = define(node.let, general.scope(_tensors("From", "To")))
    shared = general.scope(_tensors("One", "Other"))
    for check in node.graph:
        with faults:
            checks.append(_check(general, check))
    for edge in node.edge:
        with faults:
            edges.append(EdgeRule(_pair_rule(general, edge, joined), edge.from_))
    for pair in node.input:
        with faults:
            inputs.append(_pair_rule(general, pair, shared))
    missing = sorted(GRAPH_CHECKS.keys() - {rule.slug for rule in checks})
    if missing and not faults:
        raise fault(node.place("graph"), "missing", f"the check {missing[0]} is missing")
    faults.stop()
    kinds = general.enums["GRAPH_NODE_TYPE"].entries
    rules = [*checks, *(one.rule for one in edges), *inputs]
    return Graphs(
        page=node.page,
        since=general.structs["GRAPH_DESC"].since,
        constants_since=next(one.since for one in kinds if one.name == "CONSTANT"),
        checks=tuple(checks),
        definitions=definitions,
        edges=tuple(edges),
        inputs=tuple(inputs),
        example=node.example.plain(),
        broken=tuple(
            BrokenGraph(rule, _level(general, one), {path: new.plain() for path, new in one.broken.items()})
            for rule, one in zip(rules, (*node.graph, *node.edge, *node.input), strict=True)
        ),
    )


def _tensors(*names: str) -> dict[str, ir.Expr]:
    return {name: ir.Tensor(name) for name in names}


def _level(general: General, node: written.GraphRule) -> FeatureLevel:
    """The level at which the example breaks a rule: the newest unless the rule says otherwise."""
    at = general.level_at(node.at) if isinstance(node, written.GraphCheck) else None
    return at or general.levels[-1]


def _check(general: General, node: written.GraphCheck) -> Rule:
    slug = node.id.value
    if slug not in GRAPH_CHECKS:
        unknown = f"there is no check {slug}; outputs make each of them in their own way"
        raise fault(node.id.position, "unknown-name", unknown, nearest(slug, GRAPH_CHECKS))
    return Rule(
        id=f"DML-GRAPH-{slug}",
        slug=slug,
        stage=Stage.ADVICE if node.advice else Stage.STRUCTURE,
        summary=node.summary,
        checks=(),
        since=general.levels[0],
        until=None,
        applies_to=node.applies_to or "any",
        source=node.source,
        position=node.node.position,
        message=message(node.message, GRAPH_CHECKS[slug]),
        broken_by=node.broken_by,
    )


def _pair_rule(general: General, node: written.PairRule, scope: Scope) -> Rule:
    words = Wording(
        position=node.id.position,
        message=lambda _: template(node.message, scope, paths=True),
        because=lambda _: (),
        hint=lambda _: None,
        general=general.hints,
        inputs=frozenset(),
    )
    return Rule(
        id=f"DML-GRAPH-{node.id.value}",
        slug=node.id.value,
        stage=Stage.ADVICE if node.advice else Stage.VALUES,
        summary=node.summary,
        checks=sugar.require(expression(node.require, scope, ir.BOOL), None, words),
        since=general.levels[0],
        until=None,
        applies_to="any",
        source=node.source,
        position=node.node.position,
    )
