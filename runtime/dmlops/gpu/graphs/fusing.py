"""Activations that the operator in front of them applies itself.

Which operators can take which activations is data of the registry (`fusible_into`), and so is the member that
holds them. Nothing here knows an operator.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf, prod
from typing import Any, NamedTuple

from ...data import operator_data
from ...description import Description
from ...registry import operator
from .. import plan
from ..errors import Unsupported
from ..planner_inputs import planner_of
from ..plans.capabilities import NO_CAPABILITIES, Capability
from .net import Net, Source
from .views import is_packed

ACTIVATION = "OPERATOR_DESC"  # the type of members that hold a fused activation


def fuse(net: Net, capabilities: Capability = NO_CAPABILITIES) -> None:
    """Fuses activations into the operators in front of them, where nothing else reads the result in between.

    An operator takes at most one, so that one pass is enough.
    """
    readers = net.readers()
    kept = {source[:2] for source, _ in net.ends}
    for at in list(net.order):
        sources = [source for *_, source in net.inputs(at)]
        if len(sources) != 1:
            continue
        (source,) = sources
        if source[:2] in kept or source.node not in net.descs or len(readers[source[:2]]) > 1:
            continue
        apart = net.descs[source.node], net.descs[at]
        fused = together(*apart)
        if fused is not None and _dispatches(capabilities, fused) < _dispatches(capabilities, *apart):
            _merge(net, source.node, at, fused)


def _merge(net: Net, first: int, activation: int, fused: Description) -> None:
    """Puts the operator with the activation in place of the two."""
    net.descs[first] = fused
    net.order.remove(activation)
    (written,), (result,) = ([number for number, *_ in net.outputs(at)] for at in (first, activation))

    def moved(source: Source) -> Source:
        return Source(first, written, source.offset) if source[:2] == (activation, result) else source

    net.reads = {key: moved(source) for key, source in net.reads.items()}
    net.ends = [(moved(source), tensor) for source, tensor in net.ends]


def together(first: Description, activation: Description) -> Description | None:
    """The operator with the activation in it, provided that the registry allows it and both see the tensor in
    between in one layout, or as packed elements of other sizes."""
    found = with_activation(first)
    if found is None or activation.OPERATOR not in found[0].FUSABLE:
        return None
    first, holder = found
    written = [member.name for member in first.MEMBERS if member.role == "output"]
    tensors = {member.role: member.name for member in activation.MEMBERS if member.role != "attribute"}
    if len(written) != 1 or len(tensors) != 2:
        return None
    between, read, result = (
        getattr(first, written[0]),
        *(getattr(activation, tensors[r]) for r in ("input", "output")),
    )
    if (read.DataType, result.DataType) != (between.DataType,) * 2:
        return None
    if (between.Sizes, between.element_strides) != (read.Sizes, read.element_strides):
        if not all(map(is_packed, (between, read, result))) or prod(between.Sizes) != prod(read.Sizes):
            return None
        result = between
    elif result.Sizes != read.Sizes:
        return None
    given: Any = activation
    without = replace(given, **dict.fromkeys(tensors.values()))
    target: Any = first
    fused: Description = replace(target, **{holder: without, written[0]: result})
    return None if fused.validate() else fused


def with_activation(desc: Description) -> tuple[Description, str] | None:
    """The operator in a form that can take an activation, and the member for that; None if it has no such
    form, or an activation already.

    Another operator with the same members and one for an activation is such a form if its definition,
    without an activation, is the same expression.
    """
    holders = _holders(desc.OPERATOR)
    if holders:
        return (desc, holders[0]) if getattr(desc, holders[0]) is None else None
    other = _like(desc.OPERATOR)
    if other is None:
        return None
    members = {member.name: getattr(desc, member.name) for member in desc.MEMBERS}
    made: Description = other(**members)
    expression = _expression(desc)
    same = expression is not None and _expression(made) == expression
    return (made, _holders(other.OPERATOR)[0]) if same else None


@cache
def _like(name: str) -> type[Description] | None:
    """The operator whose members are those of another one and one for an activation, with equal roles."""
    own = _members(name)
    for other in operator_data():
        if own < _members(other) and [one for one, *_ in _members(other) - own] == _holders(other):
            return operator(other)
    return None


@cache
def _holders(name: str) -> list[str]:
    """The members of an operator that hold one activation."""
    members = operator_data()[name]["members"]
    return [one["name"] for one in members if one["type"] == ACTIVATION and "count" not in one]


@cache
def _members(name: str) -> frozenset[tuple[str, str, str]]:
    """The members of an operator, with roles and types."""
    members = operator_data()[name]["members"]
    return frozenset((one["name"], one["role"], one["type"]) for one in members)


class _Term(NamedTuple):
    """An expression of a definition, for comparison; any other operation raises an error."""

    function: str
    operands: tuple[Any, ...]

    def __add__(self, other: Any) -> _Term:
        return _Term("+", (self, other))

    def __sub__(self, other: Any) -> _Term:
        return _Term("-", (self, other))

    def __mul__(self, other: Any) -> _Term:
        return _Term("*", (self, other))

    def __truediv__(self, other: Any) -> _Term:
        return _Term("/", (self, other))


def _expression(desc: Description) -> _Term | None:
    """The value that an element-wise operator computes at a coordinate; None for any other."""
    planner = planner_of(desc.OPERATOR)
    if planner.element is None:
        return None

    def load(name: str, at: Any) -> _Term:
        return _Term(name, (at,))

    try:
        found = planner.element(desc, ("at",), load)
    except (AttributeError, TypeError):
        return None
    return found if isinstance(found, _Term) else None


def _dispatches(capabilities: Capability, *descs: Description) -> float:
    """The number of dispatches of operators; a shader that lacks an activation takes one more for it."""
    try:
        return sum(len(plan(desc, capabilities).dispatches) for desc in descs)
    except Unsupported:
        return inf
