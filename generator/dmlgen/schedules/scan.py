"""Definitions of running sums and products: a fold along one axis, up to the element being defined."""

from __future__ import annotations

from itertools import product

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Case, cases_of, test_for
from dmlgen.schedules.schedule import Schedule
from dmlgen.schedules.tensor_facts import TensorFacts

_COMBINED: dict[ir.Reduction, tuple[int, ir.ArithmeticOp]] = {"sum": (0, "+"), "product": (1, "*")}
"""The identity and the operation of a scan."""

_RANGES: dict[str, tuple[bool, bool]] = {
    "range(at[axis] + 1)": (False, False),
    "range(at[axis])": (False, True),
    "range(at[axis], XTensor.Sizes[axis])": (True, False),
    "range(at[axis] + 1, XTensor.Sizes[axis])": (True, True),
}
"""Whether the scan runs from the last element to the first, and whether it is exclusive."""


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Schedule | None:
    """The schedule of a definition of this form."""
    if len(defines.outputs) != 1 or defines.tensors:
        return None
    ((output, value),) = defines.outputs.items()
    if not ir.is_fold(value) or not facts.is_certain(output):
        return None
    cases = cases_of(defines, facts.enums)
    read = [_read(case, output, facts) for case in cases]
    if any(one[:3] != read[0][:3] for one in read):
        return None
    kind, tensor, axis, _ = read[0]
    ways = zip(*(way for *_, way in read), strict=True)
    decreasing, exclusive = (test_for(cases, truths) for truths in ways)
    if decreasing is None or exclusive is None:
        return None
    type_ = ir.element_of(tensor)
    x, y, *_ = (ir.Local(name, type_) for name in ir.STEP_NAMES)
    neutral, operation = _COMBINED[kind]
    steps: dict[str, ir.Expr] = {
        "identity": ir.Call("element", (ir.Number(neutral, ir.INT),), type_),
        "combine": ir.Binary(operation, x, y, type_),
    }
    roles = {"input": ir.Tensor(tensor), "axis": axis, "decreasing": decreasing, "exclusive": exclusive}
    return Schedule("scan", output, output, (), None, None, roles, steps)


def _read(
    case: Case, output: str, facts: TensorFacts
) -> tuple[ir.Reduction, str, ir.Expr, tuple[bool, bool]]:
    """The kind, tensor and axis of the scan in one case, and its entry of `_RANGES`."""
    for kind, (loop, way) in product(_COMBINED, _RANGES.items()):
        found = match(f"{kind}(XTensor[replace(at, axis, i)] for i in {loop})", case.output)
        if found is None:
            continue
        name = found.XTensor.name
        if (
            facts.is_certain(name)
            and facts.field(output, "Sizes", case.choice) == ir.Field(found.XTensor, "Sizes", ir.INTS)
            and facts.has_type_of(output, name, case.choice)
        ):
            return kind, name, found.axis, way
    raise Unfit
