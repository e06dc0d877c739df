"""The rules of graphs that have no condition: the names of the values that their messages can show."""

from __future__ import annotations

from collections.abc import Mapping

_RANGE = frozenset({"member", "value", "count"})
_SLOT = frozenset({"label", "operator"})

GRAPH_CHECKS: Mapping[str, frozenset[str]] = {
    "required": frozenset({"member"}),
    "since": frozenset({"operator", "since", "level"}),
    "node-type": frozenset({"member", "value", "choices"}),
    "node-operator": frozenset({"member"}),
    "edge-type": frozenset({"member", "value", "choices"}),
    "node-range": _RANGE,
    "input-range": _RANGE,
    "output-range": _RANGE,
    "slot-range": _RANGE | {"label", "choices"},
    "slot-present": frozenset({"label"}),
    "input-connected": _SLOT,
    "input-once": frozenset({"label", "count"}),
    "acyclic": frozenset({"label", "choices"}),
    "dead-node": frozenset({"label"}),
    "output-connected": _SLOT,
    "output-fed": frozenset({"label"}),
    "output-fed-once": frozenset({"label", "count"}),
    "input-unread": frozenset({"label"}),
}
