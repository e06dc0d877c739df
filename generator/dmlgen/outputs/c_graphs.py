"""The part of the C header that checks graphs and bindings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgen.outputs.c_program import TENSOR, CheckView, Code, ProgramView
from dmlgen.registry import Registry
from dmlgen.resolve.stated_rules import RANGE_FIELDS

SHOWN_OF_CYCLE = 8  # most nodes of a cycle that a message lists, as in Python
_WRITERS = ("operator", "constant")  # bits of these, and of roles, in their order
_ROLES = ("input", "output", "persistent", "temporary")


@dataclass(frozen=True)
class GroupCheck:
    """A check of some groups of values, as bits, and the number of the place that it reports."""

    view: CheckView
    place: int
    groups: int


@dataclass(frozen=True)
class ValuesView:
    """Checks whose programs read a struct with these fields."""

    name: str
    fields: tuple[str, ...]
    programs: tuple[ProgramView, ...]
    checks: tuple[GroupCheck, ...]
    lists: int


def pairs_views(registry: Registry) -> dict[str, ValuesView]:
    """The rules on the tensors of an edge, and on those that read the same input of a graph."""
    found = {}
    for name, tensors, rules in (
        ("edge", ("From", "To"), registry.graphs.edges),
        ("input", ("One", "Other"), registry.graphs.inputs),
    ):
        code = Code(registry, None, paths={one: f"%{number}" for number, one in enumerate(tensors, 1)})
        checks = []
        for one in rules:
            groups = _bits(_WRITERS, (one.writer,) if one.writer else _WRITERS)
            for check in one.checks:
                tensor, _, field = check.member.partition(".")
                view = replace(code.check(one, check), member=field)
                checks.append(GroupCheck(view, tensors.index(tensor), groups))
        found[name] = ValuesView(name, tensors, tuple(code.programs), tuple(checks), code.lists)
    return found


def ranges_view(registry: Registry) -> ValuesView:
    """The rules on ranges, whose paths messages show as %p; the name of a tensor is %1."""
    number = next(one for one in registry.structs[TENSOR].members if one.name == "TotalTensorSizeInBytes")
    fields = {name: replace(number, name=name) for name in RANGE_FIELDS}
    code = Code(registry, None, fields, {"Slot": "%1"})
    checks = tuple(
        GroupCheck(code.check(one, check), 0, _bits(_ROLES, one.roles))
        for one in registry.bindings.ranges
        for check in one.checks
    )
    return ValuesView("range", RANGE_FIELDS, tuple(code.programs), checks, code.lists)


def _bits(names: tuple[str, ...], chosen: tuple[str, ...]) -> int:
    return sum(1 << names.index(one) for one in chosen)


def values(registry: Registry) -> dict[str, int]:
    """The types of nodes and of edges."""
    enums = (registry.enums["GRAPH_NODE_TYPE"], registry.enums["GRAPH_EDGE_TYPE"])
    return {entry.name: entry.value for enum in enums for entry in enum.entries}
