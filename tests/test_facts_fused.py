"""Double entry: which activations can be fused, into what and from which level, against the registry."""

from __future__ import annotations

from dmlgen.registry import Registry
from facts_data import rows


def test_fused_activations(registry: Registry) -> None:
    """An activation that the sources give no level for is fused from the one that brought it."""
    theirs = {}
    for name, *rest in rows("fused.tsv"):
        into, level = rest or ("any", str(registry.operator[name].since.name))
        theirs[name] = dict.fromkeys(into.split(","), level)
    ours = {
        one.name: {into: level.name for into, level in one.fusible_into.items()}
        for one in registry.operators
        if one.fusible_into
    }
    assert ours == theirs
