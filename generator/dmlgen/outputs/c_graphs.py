"""The part of the C header that checks graphs and bindings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmlgen.outputs.c_program import TENSOR
from dmlgen.outputs.c_rules import Code, ProgramView
from dmlgen.registry import EdgeRule, Registry
from dmlgen.resolve.bindings import RANGE_FIELDS

SHOWN_OF_CYCLE = 8  # most nodes of a cycle that a message lists, as in Python


@dataclass(frozen=True)
class PairRuleView:
    """A condition on two tensors: the start of its program, its message, the field of the tensor `end`."""

    id: str
    field: str
    format: str
    start: int
    end: int
    writer: str
    advice: bool


@dataclass(frozen=True)
class PairsView:
    """The rules on two tensors with these names, and their programs."""

    name: str
    tensors: tuple[str, str]
    programs: tuple[ProgramView, ...]
    rules: tuple[PairRuleView, ...]
    lists: int


def pairs_views(registry: Registry) -> tuple[PairsView, ...]:
    """The rules on the tensors of an edge, and on those that read the same input of a graph."""
    inputs = [EdgeRule(rule, None) for rule in registry.graphs.inputs]
    return (
        _pairs(registry, "edge", ("From", "To"), registry.graphs.edges),
        _pairs(registry, "input", ("One", "Other"), inputs),
    )


def _pairs(registry: Registry, name: str, tensors: tuple[str, str], rules: Sequence[EdgeRule]) -> PairsView:
    code = Code(registry, None, paths={one: f"%{number}" for number, one in enumerate(tensors, 1)})
    views: list[PairRuleView] = []
    for one in rules:
        for check in one.rule.checks:
            start, format_ = code.check(one.rule, check)
            tensor, _, field = check.member.partition(".")
            end, writer = tensors.index(tensor), one.writer or "any"
            views.append(PairRuleView(one.rule.id, field, format_, start, end, writer, one.rule.advice))
    return PairsView(name, tensors, tuple(code.programs), tuple(views), code.lists)


def values(registry: Registry) -> dict[str, int]:
    """The types of nodes and of edges."""
    enums = (registry.enums["GRAPH_NODE_TYPE"], registry.enums["GRAPH_EDGE_TYPE"])
    return {entry.name: entry.value for enum in enums for entry in enum.entries}


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
