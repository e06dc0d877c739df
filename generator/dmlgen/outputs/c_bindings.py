"""The part of the C header that checks bindings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgen.outputs.c_program import TENSOR
from dmlgen.outputs.c_rules import Code, ProgramView
from dmlgen.registry import Registry
from dmlgen.resolve.bindings import RANGE_FIELDS


@dataclass(frozen=True)
class RangeRuleView:
    """A condition on a range: the start of its program, its message, and the roles of ranges it is for."""

    id: str
    field: str
    format: str
    start: int
    roles: tuple[str, ...]
    advice: bool


@dataclass(frozen=True)
class RangesView:
    """The rules on ranges, what their programs read, and these programs."""

    fields: tuple[str, ...]
    programs: tuple[ProgramView, ...]
    rules: tuple[RangeRuleView, ...]


def ranges_view(registry: Registry) -> RangesView:
    """The rules on ranges, whose paths messages show as %p; the name of a tensor is %1."""
    number = next(one for one in registry.structs[TENSOR].members if one.name == "TotalTensorSizeInBytes")
    fields = {name: replace(number, name=name) for name in RANGE_FIELDS}
    code = Code(registry, None, fields, {"Slot": "%1"})
    rules: list[RangeRuleView] = []
    for one in registry.bindings.ranges:
        for check in one.rule.checks:
            start, format_ = code.check(one.rule, check)
            rules.append(RangeRuleView(one.rule.id, check.member, format_, start, one.roles, one.rule.advice))
    return RangesView(RANGE_FIELDS, tuple(code.programs), tuple(rules))
