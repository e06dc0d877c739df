"""The rules of bindings that have no condition: the names of the values that their messages can show."""

from __future__ import annotations

from collections.abc import Mapping

_VALUE = frozenset({"member", "value", "choices"})
_SLOT = frozenset({"label", "operator"})
_PAIR = frozenset({"label", "other"})

BINDING_CHECKS: Mapping[str, frozenset[str]] = {
    "count": _VALUE | {"operator", "kind"},
    "required": _SLOT,
    "owned": _SLOT,
    "unused": _SLOT,
    "init-count": _VALUE,
    "init-array": _VALUE | {"operator"},
    "owned-init": frozenset({"label", "reason"}),
    "init-outputs": _VALUE,
    "type": _VALUE,
    "temporary-required": frozenset({"choices"}),
    "temporary-unneeded": frozenset(),
    "persistent-required": frozenset({"operator", "choices"}),
    "persistent-unneeded": frozenset({"member", "operator"}),
    "persistent-same": frozenset({"member", "operator"}),
    "buffer-dimension": _VALUE,
    "heap": _VALUE,
    "bounds": _VALUE | {"count"},
    "hazard-init": _PAIR,
    "hazard-in-place": _PAIR | {"reason"},
    "in-place-layout": _PAIR,
    "hazard-graph": _PAIR,
    "outputs-disjoint": _PAIR,
    "hazard-persistent": frozenset({"label"}),
    "hazard-temporary": frozenset({"other"}),
}
