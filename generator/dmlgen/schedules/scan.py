"""Definitions of running sums and products: a fold along one axis, up to the element being defined."""

from __future__ import annotations

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.schedule import Schedule
from dmlgen.schedules.tensor_facts import TensorFacts

_COMBINED: dict[ir.Reduction, tuple[int, ir.ArithmeticOp]] = {"sum": (0, "+"), "product": (1, "*")}
"""The identity and the operation of a scan."""

_BEGIN = "(at[axis] + 1 if exclusive else at[axis]) if decreasing else 0"
_END = "XTensor.Sizes[axis] if decreasing else at[axis] if exclusive else at[axis] + 1"


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Schedule | None:
    """The schedule of a definition of this form."""
    if len(defines.outputs) != 1 or defines.tensors:
        return None
    ((output, value),) = defines.outputs.items()
    for kind, (neutral, operation) in _COMBINED.items():
        found = match(f"{kind}(XTensor[replace(at, axis, i)] for i in range({_BEGIN}, {_END}))", value)
        if found is None:
            continue
        name, type_ = found.XTensor.name, ir.element_of(found.XTensor.name)
        if (
            facts.is_certain(output)
            and facts.is_certain(name)
            and facts.field(output, "Sizes", {}) == ir.Field(found.XTensor, "Sizes", ir.INTS)
            and facts.has_type_of(output, name, {})
        ):
            x, y, *_ = (ir.Local(name, type_) for name in ir.STEP_NAMES)
            steps: dict[str, ir.Expr] = {
                "identity": ir.Call("element", (ir.Number(neutral, ir.INT),), type_),
                "combine": ir.Binary(operation, x, y, type_),
            }
            roles = {"input": found.XTensor, "axis": found.axis, "decreasing": found.decreasing}
            roles["exclusive"] = found.exclusive
            return Schedule("scan", output, output, (), None, None, roles, steps)
    return None
