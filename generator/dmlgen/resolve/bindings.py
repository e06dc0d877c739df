"""Resolves the rules of bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dmlgen import source, sugar, written
from dmlgen.binding_checks import BINDING_CHECKS
from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope
from dmlgen.registry import BindingRule, Bindings, Phase, Rule, Stage
from dmlgen.resolve.faults import Faults, fault
from dmlgen.resolve.general import General, message
from dmlgen.resolve.rules import expression, template
from dmlgen.sugar import Wording

RANGE_FIELDS = ("Offset", "SizeInBytes", "Width", "RequiredSize", "GuaranteedBaseOffsetAlignment")
"""Inputs of the conditions on a range: its members, its buffer's size, and what it is bound to."""

_BOTH: tuple[Phase, ...] = ("execute", "initialize")


def resolve_bindings(general: General, node: written.Bindings) -> Bindings:
    """The rules of bindings, each with how an example breaks it."""
    names: dict[str, ir.Expr] = {name: ir.Field(ir.Tensor(""), name, ir.INT) for name in RANGE_FIELDS}
    scope = general.scope(names | {"Range": ir.Tensor(""), "Slot": ir.Tensor("Slot")})
    faults = Faults()
    checks: list[BindingRule] = []
    ranges: list[BindingRule] = []
    for check in node.bindings:
        with faults:
            checks.append(_binding(general, node, check, _check(general, check), check.phases))
    for one in node.range:
        with faults:
            rule = _range(general, one, scope)
            ranges.append(replace(_binding(general, node, one, rule, _BOTH), roles=one.roles))
    missing = sorted(BINDING_CHECKS.keys() - {one.rule.slug for one in checks})
    if missing and not faults:
        raise fault(node.place("bindings"), "missing", f"the check {missing[0]} is missing")
    faults.stop()
    heaps = {name.value: value for name, value in node.heaps.items()}
    examples = {"execute": node.examples.execute, "initialize": node.examples.initialize}
    return Bindings(
        heaps=heaps,
        bound_heaps=_known(node.bound_heaps, heaps),
        owned_heaps=_known(node.owned_heaps, heaps),
        dimensions={name.value: value for name, value in node.dimensions.items()},
        checks=tuple(checks),
        ranges=tuple(ranges),
        examples={phase: _example(examples[phase]) for phase in _BOTH},
    )


def _known(names: Iterable[source.Scalar[str]], known: Mapping[str, int]) -> tuple[str, ...]:
    """Names of an enumeration."""
    for name in names:
        if name.value not in known:
            message = f"there is no {name.value}"
            raise fault(name.position, "unknown-name", message, nearest(name.value, known))
    return tuple(name.value for name in names)


def _example(node: source.Node) -> dict[str, object]:
    if not isinstance(node, source.Mapping):
        raise fault(node.position, "wrong-type", "expected bindings, as a mapping")
    return node.plain()


def _binding(
    general: General, file: written.Bindings, node: written.BindingRule, rule: Rule, phases: tuple[Phase, ...]
) -> BindingRule:
    broken = {path: new.plain() for path, new in node.broken.items()}
    page = general.guides + node.guide if node.guide else general.pages + (node.page or file.page)
    return BindingRule(rule, page, phases, (), broken)


def _check(general: General, node: written.BindingCheck) -> Rule:
    slug = node.id.value
    if slug not in BINDING_CHECKS:
        unknown = f"there is no check {slug}; outputs make each of them in their own way"
        raise fault(node.id.position, "unknown-name", unknown, nearest(slug, BINDING_CHECKS))
    return replace(_rule(general, node), message=message(node.message, BINDING_CHECKS[slug]))


def _range(general: General, node: written.RangeRule, scope: Scope) -> Rule:
    words = Wording(
        position=node.id.position,
        message=lambda _: template(node.message, scope, paths=True),
        because=lambda _: (),
        hint=lambda _: None,
        general=general.hints,
        inputs=frozenset(),
    )
    condition = expression(node.require, scope, ir.BOOL)
    return replace(_rule(general, node), checks=sugar.require(condition, None, words))


def _rule(general: General, node: written.BindingRule) -> Rule:
    """A rule, without what it checks."""
    return Rule(
        id=f"DML-BINDING-{node.id.value}",
        slug=node.id.value,
        stage=Stage.ADVICE if node.advice else Stage.VALUES,
        summary=node.summary,
        checks=(),
        since=general.levels[0],
        until=None,
        applies_to="any",
        source=node.source,
        position=node.node.position,
    )
