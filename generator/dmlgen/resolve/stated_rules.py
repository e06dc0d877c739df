"""The rules that have no form: of all operators, of graphs, of bindings and of calls.

Outputs check them in their own ways, or they are conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from dmlgen import sugar, written
from dmlgen.diagnostics import Position, fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope
from dmlgen.registry import Bindings, Graphs, Interface, Rule, Stage, StatedRule
from dmlgen.resolve.checks import BINDING_CHECKS, CALL_VALUES, GRAPH_CHECKS, OPERATOR_CHECKS, Checks
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.resolve.general import General, message
from dmlgen.resolve.rules import define, expression, template
from dmlgen.source import Node, Scalar

RANGE_FIELDS = ("Offset", "SizeInBytes", "Width", "RequiredSize", "GuaranteedBaseOffsetAlignment")
"""Inputs of the conditions on a range: its members, its buffer's size, and what it is bound to."""

_STAGES = {"dimension-count": Stage.COUNTS, "data-type": Stage.VALUES}
_Conditional: TypeAlias = written.PairRule | written.RangeRule
_Checked: TypeAlias = written.GeneralRule | written.GraphCheck | written.BindingCheck


def resolve_operator_rules(
    general: General, nodes: Iterable[written.GeneralRule], where: Position
) -> tuple[Rule, ...]:
    """The rules on every operator."""
    found: list[Rule] = []
    for node in nodes:
        stage = _STAGES.get(node.id.value, Stage.STRUCTURE)
        rule = _checked(general, "OPERATOR", node, stage, OPERATOR_CHECKS)
        hint = message(node.hint, {*OPERATOR_CHECKS[rule.slug], "needed"})
        found.append(replace(rule, applies_to=node.applies_to or "any", hint=hint))
    _check_complete(found, OPERATOR_CHECKS, where)
    return tuple(found)


def resolve_graphs(general: General, node: written.Graphs) -> Graphs:
    """The rules of graphs, each with how the example breaks it."""
    joined, definitions = define(node.let, general.scope(_tensors("From", "To")))
    shared = general.scope(_tensors("One", "Other"))

    def check(one: written.GraphCheck) -> StatedRule:
        rule = _checked(general, "GRAPH", one, Stage.STRUCTURE, GRAPH_CHECKS)
        of = one.applies_to or "any"
        return replace(rule, applies_to=of, broken_by=one.broken_by, broken_at=one.at)

    def pair(one: written.PairRule) -> StatedRule:
        if isinstance(one, written.EdgeRule):
            return replace(_required(general, "GRAPH", one, joined), writer=one.from_)
        return _required(general, "GRAPH", one, shared)

    faults = Faults()
    checks, edges = faults.each(check, node.graph), faults.each(pair, node.edge)
    inputs = faults.each(pair, node.input)
    faults.stop()
    _check_complete(checks, GRAPH_CHECKS, node.place("graph"))
    kinds = general.enums["GRAPH_NODE_TYPE"].entries
    return Graphs(
        page=node.page,
        since=general.structs["GRAPH_DESC"].since,
        constants_since=next(one.since for one in kinds if one.name == "CONSTANT"),
        checks=checks,
        definitions=definitions,
        edges=edges,
        inputs=inputs,
        example=_plain(node.example),
    )


def resolve_bindings(general: General, node: written.Bindings) -> Bindings:
    """The rules of bindings, each with how an example breaks it."""
    names: dict[str, ir.Expr] = {name: ir.Field(ir.Tensor(""), name, ir.INT) for name in RANGE_FIELDS}
    scope = general.scope(names | {"Range": ir.Tensor(""), "Slot": ir.Tensor("Slot")})

    def page(one: written.BindingRule) -> str:
        return general.guides + one.guide if one.guide else general.pages + (one.page or node.page)

    def check(one: written.BindingCheck) -> StatedRule:
        rule = _checked(general, "BINDING", one, Stage.VALUES, BINDING_CHECKS)
        return replace(rule, page=page(one), phases=one.phases)

    def limited(one: written.RangeRule) -> StatedRule:
        rule = _required(general, "BINDING", one, scope)
        return replace(rule, page=page(one), phases=("execute", "initialize"), roles=one.roles)

    faults = Faults()
    checks, ranges = faults.each(check, node.bindings), faults.each(limited, node.range)
    faults.stop()
    _check_complete(checks, BINDING_CHECKS, node.place("bindings"))
    heaps = {name.value: value for name, value in node.heaps.items()}
    return Bindings(
        heaps=heaps,
        bound_heaps=_known(node.bound_heaps, heaps),
        owned_heaps=_known(node.owned_heaps, heaps),
        dimensions={name.value: value for name, value in node.dimensions.items()},
        checks=checks,
        ranges=ranges,
        examples={"execute": _plain(node.examples.execute), "initialize": _plain(node.examples.initialize)},
    )


def resolve_interfaces(
    general: General, node: written.Interfaces
) -> tuple[Mapping[str, Interface], tuple[StatedRule, ...]]:
    """The interfaces by name, each after the one that it extends, and the rules on calls of their methods."""
    faults = Faults()
    found: dict[str, Interface] = {}
    for name, one in node.interfaces.items():
        if one.base is not None and one.base not in found:
            unknown = f"there is no interface {one.base} before this one"
            faults.report(one.position, "unknown-name", unknown, nearest(one.base, found))
        found[name] = one

    def call(one: written.CallRule) -> StatedRule:
        rule = _stated(general, "CALL", one, Stage.STRUCTURE)
        return replace(rule, applies_to="abi", message=message(one.message, CALL_VALUES), page=one.page)

    calls = faults.each(call, node.calls)
    faults.stop()
    return found, calls


def _checked(general: General, family: str, node: _Checked, stage: Stage, known: Checks) -> StatedRule:
    """A rule that each output checks in its own way."""
    slug = node.id.value
    check_known(node.id, known, f"there is no check {slug}; outputs make each of them in their own way")
    return replace(_stated(general, family, node, stage), message=message(node.message, known[slug]))


def _required(general: General, family: str, node: _Conditional, scope: Scope) -> StatedRule:
    """A condition, in whose message a tensor is replaced by its path."""
    words = sugar.Wording(
        node.id.position, lambda _: template(node.message, scope, paths=True), general.hints
    )
    checks = sugar.require(expression(node.require, scope, ir.BOOL), None, words)
    return replace(_stated(general, family, node, Stage.VALUES), checks=checks)


def _stated(
    general: General, family: str, node: written.GeneralRule | written.StatedRule, stage: Stage
) -> StatedRule:
    """A rule, without what it checks; advice is judged last. Pages state those on every operator."""
    return StatedRule(
        id=f"DML-{family}-{node.id.value}",
        slug=node.id.value,
        stage=Stage.ADVICE if isinstance(node, written.StatedRule) and node.advice else stage,
        summary=node.summary,
        checks=(),
        since=general.levels[0],
        until=None,
        applies_to="any",
        source=node.source if isinstance(node, written.StatedRule) else "docs",
        position=node.position,
        broken=_plain(node.broken) if isinstance(node, written.GraphRule | written.BindingRule) else {},
    )


def _tensors(*names: str) -> dict[str, ir.Expr]:
    return {name: ir.Tensor(name) for name in names}


def _known(names: Iterable[Scalar[str]], known: Mapping[str, int]) -> tuple[str, ...]:
    """Names of an enumeration."""
    for name in names:
        check_known(name, known, f"there is no {name.value}")
    return tuple(name.value for name in names)


def _plain(nodes: Mapping[str, Node]) -> dict[str, Any]:
    """The nodes of an example, or of how it is broken, as lists, dicts and scalars."""
    return {name: node.plain() for name, node in nodes.items()}


def _check_complete(rules: Iterable[Rule], known: Checks, where: Position) -> None:
    """Raises SpecError if a check that outputs make is not among the rules."""
    missing = sorted(known.keys() - {rule.slug for rule in rules})
    if missing:
        raise fault(where, "missing", f"the check {missing[0]} is missing")
