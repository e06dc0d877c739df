"""The part of the C header that checks graphs and bindings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmlgen.outputs.c_program import TENSOR
from dmlgen.outputs.c_rules import CheckView, Code, ProgramView
from dmlgen.registry import Registry, StatedRule
from dmlgen.resolve.stated_rules import RANGE_FIELDS

SHOWN_OF_CYCLE = 8  # most nodes of a cycle that a message lists, as in Python


@dataclass(frozen=True)
class PairsView:
    """The rules on two tensors with these names, and their programs.

    A rule reports a field of the first or the second tensor, and applies if the first is of a node of a type.
    """

    name: str
    tensors: tuple[str, str]
    programs: tuple[ProgramView, ...]
    rules: tuple[tuple[CheckView, int, str], ...]
    lists: int


def pairs_views(registry: Registry) -> tuple[PairsView, ...]:
    """The rules on the tensors of an edge, and on those that read the same input of a graph."""
    return (
        _pairs(registry, "edge", ("From", "To"), registry.graphs.edges),
        _pairs(registry, "input", ("One", "Other"), registry.graphs.inputs),
    )


def _pairs(registry: Registry, name: str, tensors: tuple[str, str], rules: Sequence[StatedRule]) -> PairsView:
    code = Code(registry, None, paths={one: f"%{number}" for number, one in enumerate(tensors, 1)})
    views: list[tuple[CheckView, int, str]] = []
    for one in rules:
        for check in one.checks:
            tensor, _, field = check.member.partition(".")
            view = replace(code.check(one, check), member=field)
            views.append((view, tensors.index(tensor), one.writer or "any"))
    return PairsView(name, tensors, tuple(code.programs), tuple(views), code.lists)


def values(registry: Registry) -> dict[str, int]:
    """The types of nodes and of edges."""
    enums = (registry.enums["GRAPH_NODE_TYPE"], registry.enums["GRAPH_EDGE_TYPE"])
    return {entry.name: entry.value for enum in enums for entry in enum.entries}


@dataclass(frozen=True)
class RangesView:
    """The rules on ranges of some roles, what their programs read, and these programs."""

    fields: tuple[str, ...]
    programs: tuple[ProgramView, ...]
    rules: tuple[tuple[CheckView, tuple[str, ...]], ...]


def ranges_view(registry: Registry) -> RangesView:
    """The rules on ranges, whose paths messages show as %p; the name of a tensor is %1."""
    number = next(one for one in registry.structs[TENSOR].members if one.name == "TotalTensorSizeInBytes")
    fields = {name: replace(number, name=name) for name in RANGE_FIELDS}
    code = Code(registry, None, fields, {"Slot": "%1"})
    ranges = registry.bindings.ranges
    rules = [(code.check(one, check), one.roles) for one in ranges for check in one.checks]
    return RangesView(RANGE_FIELDS, tuple(code.programs), tuple(rules))
