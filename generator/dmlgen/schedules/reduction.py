"""Definitions that reduce rows of elements to one value each.

There are two forms: a fold of a function of each element, followed by a function of the result and the number
of elements ("map, combine, finish"); and the place of the greatest or least element, which may also be marked
among all elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Case, cases_of, test_for
from dmlgen.schedules.row_coordinates import ITEM, RowCoordinates, normal, rows_of
from dmlgen.schedules.rows import Fold, Reduction, Rows
from dmlgen.schedules.tensor_facts import TensorFacts


@dataclass(frozen=True)
class _Form:
    """The work in one case; `is_each`: the chosen element is marked among all; `backward`: the last of equal
    elements counts."""

    rows: RowCoordinates
    fold: Fold
    is_each: bool = False
    backward: bool = False


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Rows | None:
    """The reduction that a definition is."""
    if len(defines.outputs) != 1 or not any(map(_folds, (*defines.outputs.values(), *_values(defines)))):
        return None
    (output,) = defines.outputs
    if not facts.is_certain(output) or any(one.along for one in defines.tensors):
        return None
    cases = cases_of(defines, facts.enums)
    return _rows(output, cases, [_Reader(case, output, facts).form() for case in cases])


def _values(defines: OutputDefinitions) -> Iterator[ir.Expr]:
    yield from (one.value for one in defines.tensors)
    yield from (function.body for function in defines.functions)


def _folds(node: ir.Expr) -> bool:
    return any(isinstance(part, ir.Fold) and not part.unrolled for part in ir.walk(node))


def _rows(output: str, cases: Sequence[Case], forms: Sequence[_Form]) -> Rows:
    """All cases together: one enumeration may select the fold, and a test of one member the direction."""
    rows, is_each = forms[0].rows, forms[0].is_each
    if any((form.rows, form.is_each) != (rows, is_each) for form in forms):
        raise Unfit
    folds: dict[ir.EnumValue | None, Fold] = {None: forms[0].fold}
    if (chooser := _decides(cases, [form.fold for form in forms])) is not None:
        values = [case.choice[chooser] for case in cases]
        folds = {
            value: form.fold
            for value, form in zip(values, forms, strict=True)
            if isinstance(value, ir.EnumValue)
        }
    decreasing = test_for(cases, [form.backward for form in forms])
    if decreasing is None:
        raise Unfit
    total: dict[str, ir.Expr] = {output: ir.Local("total", ir.element_of(rows.tensor))}
    return Rows(
        source=rows.tensor,
        reduced=rows.flags,
        elements=frozenset({rows.tensor}),
        each=total if is_each else {},
        of_rows={} if is_each else total,
        reduction=Reduction(folds, chooser, decreasing),
    )


def _decides(cases: Sequence[Case], found: Sequence[object]) -> ir.Member | None:
    """The only enumeration that what is found depends on; None if it is always the same."""
    if all(one == found[0] for one in found):
        return None
    for member in cases[0].choice:
        by_value: dict[object, object] = {}
        same = (
            by_value.setdefault(case.choice[member], one) == one
            for case, one in zip(cases, found, strict=True)
        )
        if member.type.kind == "enum" and all(same):
            return member
    raise Unfit


class _Reader:
    """Reads one case, in terms of numbers of the type in which elements are computed."""

    def __init__(self, case: Case, output: str, facts: TensorFacts) -> None:
        self._case, self._output, self._facts = case, output, facts
        values = [case.output, *(one.value for one in case.tensors.values())]
        folds = (part for value in values for part in ir.walk(value) if isinstance(part, ir.Fold))
        rows = next(filter(None, map(rows_of, folds)), None)
        if rows is None or not facts.is_certain(rows.tensor):
            raise Unfit
        self._rows = rows
        self._type = ir.element_of(rows.tensor)
        self._x = ir.Local("x", self._type)  # an element, or the total
        self._folded: tuple[ir.FoldKind, ir.Expr] | None = None  # its kind, and its function of each element

    def form(self) -> _Form:
        """The form of the case; Unfit if it has none of these."""
        sizes = self._facts.field(self._output, "Sizes", self._case.choice)
        each = sizes == ir.Field(ir.Tensor(self._rows.tensor), "Sizes", ir.INTS)
        if sizes is None or not (each or normal(sizes) == self._rows.kept):
            raise Unfit
        value = self._stored(self._case.output)
        chosen = self._is_chosen_one(value) if each else self._chosen(value)
        if chosen is not None:
            kind, backward = chosen
            return _Form(self._rows, Fold(kind, self._x, self._x), each, backward)
        if each:
            raise Unfit
        result = self._number(value, None)
        if self._folded is None:
            raise Unfit
        kind, mapped = self._folded
        return _Form(self._rows, Fold(kind, mapped, result))

    def _stored(self, value: ir.Expr) -> ir.Expr:
        """The value of an element of the output, which has the input's type unless it is an integer."""
        converted = isinstance(value, ir.Call) and value.function == "convert"
        inner = value.arguments[0] if isinstance(value, ir.Call) and converted else value
        if inner.type == ir.INT and self._chosen(inner) is not None:
            return inner
        if not self._facts.has_type_of(self._output, self._rows.tensor, self._case.choice):
            raise Unfit
        return inner

    # The place of an element.

    def _chosen(self, node: ir.Expr) -> tuple[ir.FoldKind, bool] | None:
        """If a number is the place of the greatest or least element in its row: which of the two, and if
        backward."""
        match node:
            case ir.Call(function="ravel_index", arguments=(place, sizes)) if self._is_extent(sizes):
                mirrored = self._rows.mirrored(place)
                backward = mirrored is not None
                match mirrored or place:
                    case ir.Fold(kind="argmax" | "argmin" as kind) as fold if rows_of(fold) == self._rows:
                        if self._reads(fold.body, fold.loops[0].variable, backward=backward):
                            return kind, backward
        return None

    def _is_chosen_one(self, node: ir.Expr) -> tuple[ir.FoldKind, bool] | None:
        """Whether a truth value says that the element at `at` is the greatest or least of its row."""
        match node:
            case ir.Compare(op="==", left=left, right=right):
                for place, found in ((left, right), (right, left)):
                    if self._is_own(place):
                        return self._chosen(self._entry(found) if isinstance(found, ir.Entry) else found)
        return None

    def _is_own(self, node: ir.Expr) -> bool:
        match node:
            case ir.Call(function="ravel_index", arguments=(place, sizes)):
                return normal(place) == self._rows.own and self._is_extent(sizes)
        return False

    def _is_extent(self, sizes: ir.Expr) -> bool:
        return normal(sizes) == self._rows.extent

    # What becomes of all elements.

    def _number(self, node: ir.Expr, read: ir.Local | None) -> ir.Expr:
        """A number of a row; `read` is the variable of the loop it is in, if any."""

        def number(part: ir.Expr) -> ir.Expr:
            return self._number(part, read)

        match node:
            case ir.Load() if read is not None and self._reads(node, read, backward=False):
                return self._x
            case ir.Entry():
                return self._number(self._entry(node), None)
            case ir.Fold() if read is None:
                return self._fold(node)
            case ir.Call(function="float", arguments=(ir.Call("product", (sizes,)),)):
                if self._is_extent(sizes):
                    return node
            case ir.Call(function="float", arguments=(item,)) if item.type.kind == "element":
                if self._facts.is_float(self._rows.tensor, self._case.choice):
                    return number(item)
            case ir.Number(type=type_) if type_ in (ir.INT, ir.FLOAT):
                return ir.Call("element", (node,), self._type)
            case ir.Call(function="element", arguments=(ir.Number() as item,)):
                return ir.Call("element", (item,), self._type)
            case ir.Call(function=name, arguments=arguments, type=type_) if type_.kind in (
                "float",
                "element",
            ):
                if name in ELEMENT_FUNCTIONS and set(ELEMENT_FUNCTIONS[name].arguments) == {"element"}:
                    return ir.Call(name, tuple(map(number, arguments)), self._type)
            case ir.Negate(operand=operand) if node.type.kind in ("float", "element"):
                return ir.Negate(number(operand))
            case ir.Binary(op=op, left=left, right=right) if node.type.kind in ("float", "element"):
                return ir.Binary(op, number(left), number(right), self._type)
        raise Unfit

    def _entry(self, node: ir.Entry) -> ir.Expr:
        """The value of an intermediate tensor with one entry per row, provided that of this row is read."""
        kept = self._case.tensors[node.tensor]
        here = node.coordinate == ir.AT or normal(node.coordinate) == self._rows.here
        if not here or normal(kept.sizes) != self._rows.kept:
            raise Unfit
        return kept.value

    def _reads(self, node: ir.Expr, variable: ir.Local, *, backward: bool) -> bool:
        """Whether this is the current element of a loop over the row."""
        match node:
            case ir.Call(function="float", arguments=(item,)) if item.type.kind == "element":
                floats = self._facts.is_float(self._rows.tensor, self._case.choice)
                return floats and self._reads(item, variable, backward=backward)
            case ir.Load(tensor=ir.Tensor(name=name, index=None), coordinate=place):
                over = self._rows.backward if backward else self._rows.over
                return name == self._rows.tensor and normal(ir.substitute(place, {variable: ITEM})) == over
        return False

    def _fold(self, node: ir.Fold) -> ir.Expr:
        if rows_of(node) != self._rows or node.kind not in ("sum", "product", "max", "min"):
            raise Unfit
        body = self._number(node.body, node.loops[0].variable)
        if node.type == ir.INT and body != self._x:
            raise Unfit  # such integers are exact, while elements wrap around
        if self._folded not in (None, (node.kind, body)):
            raise Unfit
        self._folded = (node.kind, body)
        return self._x
