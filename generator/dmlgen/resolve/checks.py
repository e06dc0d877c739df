"""The rules that no condition states, which outputs check in their own ways.

Each has the names of the values that its texts can show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

Checks: TypeAlias = Mapping[str, Collection[str]]


def _shown(texts: Mapping[str, str]) -> Checks:
    return {slug: frozenset(names.split()) for slug, names in texts.items()}


OPERATOR_CHECKS = _shown(
    {
        "type": "value",
        "feature-level": "value",
        "since": "operator since level",
        "required": "member operator",
        "type-of-member": "member value choices",
        "integer-range": "member value least most type",
        "scalar-range": "member value least most type",
        "enum-value": "member value type",
        "array-length": "member value count choices",
        "fused-activation": "member value operator choices",
        "fused-activation-tensors": "member",
        "dimension-count": "member value level choices",
        "data-type": "member value level choices",
    }
)
GRAPH_CHECKS = _shown(
    {
        "required": "member",
        "since": "operator since level",
        "node-type": "member value choices",
        "node-operator": "member",
        "edge-type": "member value choices",
        "node-range": "member value count",
        "input-range": "member value count",
        "output-range": "member value count",
        "slot-range": "member value count label choices",
        "slot-present": "label",
        "input-connected": "label operator",
        "input-once": "label count",
        "acyclic": "label choices",
        "dead-node": "label",
        "output-connected": "label operator",
        "output-fed": "label",
        "output-fed-once": "label count",
        "input-unread": "label",
    }
)
BINDING_CHECKS = _shown(
    {
        "count": "member value choices operator kind",
        "required": "label operator",
        "owned": "label operator",
        "unused": "label operator",
        "init-count": "member value choices",
        "init-array": "member value choices operator",
        "owned-init": "label reason",
        "init-outputs": "member value choices",
        "type": "member value choices",
        "temporary-required": "choices",
        "temporary-unneeded": "",
        "persistent-required": "operator choices",
        "persistent-unneeded": "member operator",
        "persistent-same": "member operator",
        "buffer-dimension": "member value choices",
        "heap": "member value choices",
        "bounds": "member value choices count",
        "hazard-init": "label other",
        "hazard-in-place": "label other reason",
        "in-place-layout": "label other",
        "hazard-graph": "label other",
        "outputs-disjoint": "label other",
        "hazard-persistent": "label",
        "hazard-temporary": "other",
    }
)
CALL_VALUES = frozenset({"value", "count", "label", "choices"})  # of all rules on calls
