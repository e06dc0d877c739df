"""Resolves the rules of bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dmlgen import written
from dmlgen.expr import ir
from dmlgen.registry import BindingRule, Bindings, Phase, Rule, Stage
from dmlgen.resolve.checks import BINDING_CHECKS
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.resolve.general import General
from dmlgen.resolve.plain_rules import check_complete, checked, plain, required
from dmlgen.source import Scalar

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
            rule = checked(general, "BINDING", check, Stage.VALUES, BINDING_CHECKS)
            checks.append(_binding(general, node, check, rule, check.phases))
    for one in node.range:
        with faults:
            rule = required(general, "BINDING", one, scope)
            ranges.append(replace(_binding(general, node, one, rule, _BOTH), roles=one.roles))
    faults.stop()
    check_complete((one.rule for one in checks), BINDING_CHECKS, node.place("bindings"))
    heaps = {name.value: value for name, value in node.heaps.items()}
    return Bindings(
        heaps=heaps,
        bound_heaps=_known(node.bound_heaps, heaps),
        owned_heaps=_known(node.owned_heaps, heaps),
        dimensions={name.value: value for name, value in node.dimensions.items()},
        checks=tuple(checks),
        ranges=tuple(ranges),
        examples={"execute": plain(node.examples.execute), "initialize": plain(node.examples.initialize)},
    )


def _known(names: Iterable[Scalar[str]], known: Mapping[str, int]) -> tuple[str, ...]:
    """Names of an enumeration."""
    for name in names:
        check_known(name, known, f"there is no {name.value}")
    return tuple(name.value for name in names)


def _binding(
    general: General, file: written.Bindings, node: written.BindingRule, rule: Rule, phases: tuple[Phase, ...]
) -> BindingRule:
    page = general.guides + node.guide if node.guide else general.pages + (node.page or file.page)
    return BindingRule(rule, page, phases, (), plain(node.broken))
