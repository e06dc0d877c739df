"""Definitions of reductions: one output, of any type, that follows from a single total of each row.

In each case of the description it is a fold of a function of each element, followed by a function of the
result and the number of elements; or the place of the greatest or least element, which may also be marked
among all elements. One enumeration may select the total, and a test of one member the direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Case, cases_of, test_for
from dmlgen.schedules.row_coordinates import ITEM, RowCoordinates, rows_of
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_ELEMENT = ir.Local("element", ir.FLOAT, varies=True)
_TOTAL = ir.Local("total", ir.FLOAT, varies=True)


@dataclass(frozen=True)
class Total:
    """A fold of `term`, a function of the local `element`, and `value`, a function of the local `total`, in
    the type of elements. The total of "argmax" and "argmin" is the place of an element."""

    kind: ir.Reduction
    term: ir.Expr
    value: ir.Expr


@dataclass(frozen=True)
class Reduction(FastForm):
    """Reduces rows of `source` to one number each, of any type. `reduced` has a 1 for each dimension that
    they run along, else 0. The value of member `function` selects one of the `totals`, or the one of None is
    the only one. `decreasing`: of equally good elements, the last is chosen. `marks`: the output says of each
    element whether it is the chosen one.
    """

    source: str
    output: str
    reduced: ir.Expr
    marks: bool
    totals: Mapping[ir.EnumValue | None, Total]
    function: ir.Member | None
    decreasing: ir.Expr


@dataclass(frozen=True)
class _Read:
    """A reduction in one case; `backward`: of equally good elements, the last is chosen."""

    rows: RowCoordinates
    marks: bool
    total: Total
    backward: bool


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Reduction | None:
    """The only output of a definition, as a reduction."""
    if len(defines.outputs) != 1 or any(one.along for one in defines.tensors):
        return None
    (output,) = defines.outputs
    cases = cases_of(defines, facts.enums) if facts.is_certain(output) else []
    read = [_read(case, output, facts) for case in cases]
    if not read or any((one.rows, one.marks) != (read[0].rows, read[0].marks) for one in read):
        return None
    decreasing = test_for(cases, [one.backward for one in read])
    if decreasing is None:
        return None
    rows, marks = read[0].rows, read[0].marks
    function, totals = _by_function(cases, [one.total for one in read])
    return Reduction(rows.tensor, output, rows.flags, marks, totals, function, decreasing)


def _by_function(
    cases: Sequence[Case], totals: Sequence[Total]
) -> tuple[ir.Member | None, Mapping[ir.EnumValue | None, Total]]:
    """The only enumeration that the total depends on, and the total for each of its values; None for both if
    it is always the same."""
    if all(one == totals[0] for one in totals):
        return None, {None: totals[0]}
    for member in (one for one in cases[0].choice if one.type.kind == "enum"):
        values = [cast(ir.EnumValue, case.choice[member]) for case in cases]
        found: dict[ir.EnumValue | None, Total] = dict(zip(values, totals, strict=True))
        if all(found[value] == total for value, total in zip(values, totals, strict=True)):
            return member, found
    raise Unfit


def _read(case: Case, output: str, facts: TensorFacts) -> _Read:
    value = case.output
    values = (value, *(one.value for one in case.tensors.values()))
    folds = {part for one in values for part in ir.walk(one) if ir.is_fold(part)}
    rows, sizes = next(filter(None, map(rows_of, folds)), None), facts.field(output, "Sizes", case.choice)
    if len(folds) != 1 or rows is None or sizes is None or not facts.is_certain(rows.tensor):
        raise Unfit
    (fold,) = folds
    if found := match("convert(value, Output)", value, Output=ir.Tensor(output)):
        value = found.value
    marks = sizes == ir.Field(ir.Tensor(rows.tensor), "Sizes", ir.INTS)
    if marks:
        marked = fit("ravel_index(own, extent) == place", value)
        if not rows.matches("own", marked.own) or not rows.matches("extent", marked.extent):
            raise Unfit
        value = marked.place
    elif not rows.matches("kept", sizes):
        raise Unfit
    if isinstance(value, ir.Entry) and rows.matches("here", value.coordinate):
        if not rows.matches("kept", case.tensors[value.tensor].sizes):
            raise Unfit
        value = case.tensors[value.tensor].value
    backward, chooses = False, fold.kind in ("argmax", "argmin")
    if chooses:
        chosen = fit("ravel_index(place, extent)", value)
        mirrored = rows.mirrored(chosen.place)
        backward = mirrored is not None
        if not rows.matches("extent", chosen.extent) or (mirrored or chosen.place) != fold:
            raise Unfit
        value = fold
    elif marks or not facts.has_type_of(output, rows.tensor, case.choice):
        raise Unfit
    whole = ir.substitute(fold.body, {fold.loops[0].variable: ITEM})
    over = "backward" if backward else "over"
    reads = (part for part in ir.walk(whole) if isinstance(part, ir.Load))
    elements: dict[ir.Expr, ir.Expr] = {
        part: _ELEMENT
        for part in reads
        if part.tensor.name == rows.tensor and rows.matches(over, part.coordinate)
    }
    is_float = facts.is_float(rows.tensor, case.choice)
    term = _in_elements(ir.substitute(whole, elements), rows, is_float)
    if (chooses or fold.type == ir.INT) and not isinstance(term, ir.Local):
        raise Unfit  # such integers are exact, while elements wrap around
    value = _in_elements(ir.substitute(value, {fold: _TOTAL}), rows, is_float)
    return _Read(rows, marks, Total(fold.kind, term, value), backward)


def _in_elements(node: ir.Expr, rows: RowCoordinates, is_float: bool) -> ir.Expr:
    """Arithmetic with an element or the total in the type of elements, which may be that `is_float`. Raises
    Unfit for anything else."""
    type_ = ir.element_of(rows.tensor)

    def inner(part: ir.Expr) -> ir.Expr:
        return _in_elements(part, rows, is_float)

    match node:
        case ir.Local():
            if node in (_ELEMENT, _TOTAL):
                return replace(node, type=type_)
        case ir.Number(type=ir.INT | ir.FLOAT) | ir.Call("element", (ir.Number(),)):
            number = node.arguments[0] if isinstance(node, ir.Call) else node
            return ir.Call("element", (number,), type_)
        case ir.Call("float", (ir.Call("product", (sizes,)),)):
            if rows.matches("extent", sizes):
                return node
        case ir.Call("float", (item,)):
            if is_float:
                return inner(item)
        case ir.Call(name, arguments):
            if name in ELEMENT_FUNCTIONS and set(ELEMENT_FUNCTIONS[name].arguments) == {"element"}:
                return ir.Call(name, tuple(map(inner, arguments)), type_)
        case ir.Negate(operand):
            return ir.Negate(inner(operand))
        case ir.Binary(op, left, right):
            return ir.Binary(op, inner(left), inner(right), type_)
    raise Unfit
