"""The definition that a shader follows: that of the spec, without what no pass has to write."""

from __future__ import annotations

from dataclasses import replace

from dmlgen.expr.definition_queries import entries_of
from dmlgen.registry import Operator, OutputDefinitions
from dmlgen.schedules.attention import Attention


def lowered(operator: Operator, attention: Attention) -> Operator:
    """The operator with only those intermediate tensors that lead to outputs: what only a pass that attention
    replaces would need is dropped."""
    defines = operator.defines
    assert defines is not None
    reads = {one.name: {part.tensor for part in entries_of(one.value)} for one in defines.tensors}
    reads |= {name: set(read) for name, read in attention.reads.items()}
    wanted: set[str] = set()
    new = {part.tensor for value in defines.outputs.values() for part in entries_of(value)}
    while new:  # ends: a tensor is new only once
        wanted |= new
        new = set().union(*map(reads.__getitem__, new)) - wanted
    kept = tuple(one for one in defines.tensors if one.name in wanted)
    return replace(operator, defines=OutputDefinitions(kept, defines.outputs, defines.classes))
