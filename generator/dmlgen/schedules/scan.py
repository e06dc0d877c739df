"""Definitions of running sums and products: a fold along one axis, up to the element being defined."""

from __future__ import annotations

from typing import TypeAlias

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Case, cases_of, test_for
from dmlgen.schedules.pattern import match
from dmlgen.schedules.schedule import Schedule, Steps
from dmlgen.schedules.tensor_facts import TensorFacts

_FORM = "XTensor[replace(at, axis, i)] for i in range(XTensor.Sizes[axis]) if test"
_COMBINED: dict[ir.FoldKind, tuple[int, ir.ArithmeticOp]] = {"sum": (0, "+"), "product": (1, "*")}
"""The identity and the operation of a scan."""

_Admitted: TypeAlias = tuple[bool, ...]

_WAYS: dict[_Admitted, tuple[bool, bool]] = {
    (True, True, False): (False, False),
    (True, False, False): (False, True),
    (False, True, True): (True, False),
    (False, False, True): (True, True),
}
"""By whether a loop admits places before the element, its own and those after it: whether the scan runs from
the last element to the first, and whether it is exclusive."""


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Schedule | None:
    """The schedule of a definition of this form."""
    if len(defines.outputs) != 1 or defines.tensors:
        return None
    ((output, value),) = defines.outputs.items()
    if not isinstance(value, ir.Fold) or not facts.is_certain(output):
        return None
    cases = cases_of(defines, facts.enums)
    try:
        read = [_read(case, output, facts) for case in cases]
    except Unfit:
        return None
    if not read or any(one[:3] != read[0][:3] for one in read):
        return None
    kind, tensor, axis, _ = read[0]
    ways = [_WAYS[admitted] for *_, admitted in read]
    decreasing, exclusive = (test_for(cases, truths) for truths in zip(*ways, strict=True))
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
    return Schedule("scan", output, output, (), None, None, roles, (Steps("ALWAYS", steps),))


def _read(case: Case, output: str, facts: TensorFacts) -> tuple[ir.FoldKind, str, ir.Expr, _Admitted]:
    """The kind, tensor and axis of the scan in one case, and the places that the loop admits."""
    for kind in _COMBINED:
        found = match(f"{kind}({_FORM})", case.output)
        if found is None or found.test is None:
            continue
        name = found.XTensor.name
        fits = (
            facts.is_certain(name)
            and facts.field(output, "Sizes", case.choice) == ir.Field(found.XTensor, "Sizes", ir.INTS)
            and facts.has_type_of(output, name, case.choice)
        )
        own = ir.Index(ir.AT, found.axis)
        admitted = tuple(_admits(found.test, found.i, own, order) for order in (-1, 0, 1))
        if fits and admitted in _WAYS:
            return kind, name, found.axis, admitted
    raise Unfit


def _admits(test: ir.Expr, i: ir.Local, own: ir.Expr, order: int) -> bool:
    """Whether a test holds where `i` is before the element's own place (-1), is that (0), or after it (1)."""
    match test:
        case ir.Number(value=value):
            return bool(value)
        case ir.Not(operand=operand):
            return not _admits(operand, i, own, order)
        case ir.Logic(op=op, operands=operands):
            holds = all if op == "and" else any
            return holds([_admits(one, i, own, order) for one in operands])
        case ir.Compare(op=op, left=left, right=right) if (left, right) in ((i, own), (own, i)):
            way = order if left == i else -order
            return {
                "==": way == 0, "!=": way != 0, "<": way < 0, "<=": way <= 0, ">": way > 0, ">=": way >= 0,
            }[op]  # fmt: skip
    raise Unfit
