"""Resolves the rules of graphs."""

from __future__ import annotations

from dataclasses import replace

from dmlgen import written
from dmlgen.expr import ir
from dmlgen.registry import BrokenGraph, EdgeRule, Graphs, Rule, Stage
from dmlgen.resolve.checks import GRAPH_CHECKS
from dmlgen.resolve.faults import Faults
from dmlgen.resolve.general import General
from dmlgen.resolve.plain_rules import check_complete, checked, plain, required
from dmlgen.resolve.rules import define


def resolve_graphs(general: General, node: written.Graphs) -> Graphs:
    """The rules of graphs, each with how the example breaks it."""
    faults = Faults()
    checks: list[Rule] = []
    edges: list[EdgeRule] = []
    inputs: list[Rule] = []
    joined, definitions = define(node.let, general.scope(_tensors("From", "To")))
    shared = general.scope(_tensors("One", "Other"))
    for check in node.graph:
        with faults:
            rule = checked(general, "GRAPH", check, Stage.STRUCTURE, GRAPH_CHECKS)
            applies_to = check.applies_to or "any"
            checks.append(replace(rule, applies_to=applies_to, broken_by=check.broken_by))
    for edge in node.edge:
        with faults:
            edges.append(EdgeRule(required(general, "GRAPH", edge, joined), edge.from_))
    for pair in node.input:
        with faults:
            inputs.append(required(general, "GRAPH", pair, shared))
    faults.stop()
    check_complete(checks, GRAPH_CHECKS, node.place("graph"))
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
        example=plain(node.example),
        broken=tuple(
            BrokenGraph(
                rule,
                (isinstance(one, written.GraphCheck) and one.at) or general.levels[-1],
                plain(one.broken),
            )
            for rule, one in zip(rules, (*node.graph, *node.edge, *node.input), strict=True)
        ),
    )


def _tensors(*names: str) -> dict[str, ir.Expr]:
    return {name: ir.Tensor(name) for name in names}
