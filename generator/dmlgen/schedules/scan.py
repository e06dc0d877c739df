"""Definitions of running sums and products: a fold along one axis, up to the element being defined. They are
computed as if their specs named an algorithm."""

from __future__ import annotations

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import AlgorithmUse, OutputDefinitions
from dmlgen.schedules.cases import written
from dmlgen.schedules.tensor_facts import TensorFacts

_SCAN = (
    "{}(XTensor[replace(at, axis, i)] for i in range("
    "(at[axis] + 1 if exclusive else at[axis]) if decreasing else 0, "
    "XTensor.Sizes[axis] if decreasing else at[axis] if exclusive else at[axis] + 1))"
)
_PARTS = ("axis", "decreasing", "exclusive")


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> AlgorithmUse | None:
    """The scan that a definition amounts to, by its `fold`."""
    if len(defines.outputs) != 1 or defines.tensors:
        return None
    ((output, value),) = defines.outputs.items()
    for kind in ("sum", "product"):
        if found := match(_SCAN.format(kind), fold := written(value, {})):
            tensor, parts = found.XTensor, {name: getattr(found, name) for name in _PARTS}
            are_certain = facts.is_certain(output) and facts.is_certain(tensor.name)
            is_alike = facts.field(output, "Sizes", {}) == ir.Field(tensor, "Sizes", ir.INTS)
            is_alike = is_alike and facts.has_type_of(output, tensor.name, {})
            if are_certain and is_alike and all(map(is_known, parts.values())):
                return AlgorithmUse("scan", output, {"input": tensor, "fold": fold, **parts})
    return None
