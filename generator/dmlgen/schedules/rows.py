"""Definitions by rows: elements that depend on statistics of their row, as in normalizations; and reductions.

A row (`row_coordinates`) runs along dimensions that depend on the description. Statistics are intermediate
tensors with one entry per row, computed from totals of the row and from earlier statistics. Tensors are read
at the element itself, or at 0 along dimensions of size 1; of some only the first element is read, which may
be an integer that is converted to float. There may be no statistics at all, and there may be several outputs,
some with only one entry per row.

A reduction has one output, of any type, that follows from a single total in each case of the description: a
fold of a function of each element, followed by a function of the result and the number of elements; or the
place of the greatest or least element, which may also be marked among all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from dmlgen.analysis.elements import Unfit, rebuilt
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import Case, Choice, Writer, cases_of, test_for, written
from dmlgen.schedules.row_coordinates import ITEM, RowCoordinates, normal, rows_along, rows_of
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_PLACE = ir.Local("place", ir.INTS)
"""The coordinate of the current element of a loop over a row."""

_SPREAD = "[place[d] if Own.Sizes[d] != 1 else 0 for d in range(Own.DimensionCount)]"


@dataclass(frozen=True)
class Total:
    """A fold over a row: a "sum", "min" or "max" (`kind`); "peak", a maximum that may miss NaN; or any in a
    reduction. Its `term` is a function of earlier statistics and of elements, locals such as
    `InputTensorElement`."""

    kind: ir.Reduction | Literal["peak"]
    term: ir.Expr


@dataclass(frozen=True)
class Statistic:
    """A number per row, `name`. Its `value` is a function of the row's `totals`, the locals `total0` and so
    on, of earlier statistics, and of elements at the row's own coordinate, locals such as `ScaleTensorOfRow`.
    `decides`: see `Intermediate`."""

    name: str
    totals: tuple[Total, ...]
    value: ir.Expr
    decides: bool


@dataclass(frozen=True)
class Reduction:
    """Reduces each row to one value, of any type: to one of `results`, which the value of member `function`
    selects, or the only one, of None. Each follows from a single total, in the type of elements; that of
    "argmax" and "argmin" is the place of an element. `decreasing`: of elements that are equally good, the
    last is chosen."""

    results: Mapping[ir.EnumValue | None, Statistic]
    function: ir.Member | None
    decreasing: ir.Expr


@dataclass(frozen=True)
class Rows(FastForm):
    """A faster way to compute all outputs: row by row of `source`, with the statistics of each (`schedules`).

    `reduced` has a 1 for each dimension that rows run along, else 0; if there are no statistics, they may run
    along any. `elements` are the tensors that are read at the element itself; others are read at 0 where
    sizes are 1, and `single` only at 0. `each` are the values of outputs as large as `source`, as functions
    of elements and statistics; `of_rows` are those of outputs with one entry per row. In a `reduction` the
    only output is the total, or it says of each element whether it is the chosen one.
    """

    source: str
    reduced: ir.Expr
    elements: frozenset[str]
    each: Mapping[str, ir.Expr]
    of_rows: Mapping[str, ir.Expr]
    statistics: tuple[Statistic, ...] = ()
    single: frozenset[str] = frozenset()
    reduction: Reduction | None = None


@dataclass(frozen=True)
class _Form:
    """A reduction in one case; `is_each`: the chosen element is marked among all; `backward`: the last of
    equal elements counts."""

    rows: RowCoordinates
    result: Statistic
    is_each: bool
    backward: bool


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Rows | None:
    """All outputs of a definition, by rows."""
    outputs = list(defines.outputs)
    if not facts.is_certain(outputs[0]) or any(one.along for one in defines.tensors):
        return None
    if len(outputs) == 1:
        with suppress(Unfit):
            cases = cases_of(defines, facts.enums)
            forms = [
                _Reader(one.tensors, {outputs[0]: one.output}, facts, one.choice).reduction() for one in cases
            ]
            return _reduction(outputs[0], cases, forms)
    are_words = all(facts.members[one].count is None and facts.has_words(one, {}) for one in outputs)
    if not are_words or any(one.type not in (ir.FLOAT, ir.INT) for one in defines.tensors):
        return None
    values = {name: written(value, {}) for name, value in defines.outputs.items()}
    return _Reader(Writer().tensors(defines, {}), values, facts).rows()


def _reduction(output: str, cases: Sequence[Case], forms: Sequence[_Form]) -> Rows:
    """All cases together: one enumeration may select the result, and a test of one member the direction."""
    rows, is_each = forms[0].rows, forms[0].is_each
    if any((form.rows, form.is_each) != (rows, is_each) for form in forms):
        raise Unfit
    results: dict[ir.EnumValue | None, Statistic] = {None: forms[0].result}
    if (chooser := _decides(cases, [form.result for form in forms])) is not None:
        values = [case.choice[chooser] for case in cases]
        results = {
            value: form.result
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
        reduction=Reduction(results, chooser, decreasing),
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


def _times_reciprocal(node: ir.Expr, divisor: ir.Expr) -> ir.Expr:
    """A quotient by this divisor as a product."""
    match node:
        case ir.Binary("/", left, right, type_) if right == divisor:
            return ir.Binary("*", left, ir.Binary("/", ir.Number(1.0, type_), right, type_), type_)
    return node


class _Reader:
    """Reads a definition, in terms of locals: elements, statistics, totals. Intermediate tensors and outputs
    are written out, for the case of a `choice`."""

    def __init__(
        self,
        tensors: Mapping[str, Intermediate],
        outputs: Mapping[str, ir.Expr],
        facts: TensorFacts,
        choice: Choice = MappingProxyType({}),
    ) -> None:
        self._tensors, self._outputs, self._facts, self._choice = tensors, outputs, facts, choice
        values = (*(one.value for one in tensors.values()), *outputs.values())
        folds = (part for value in values for part in ir.walk(value) if ir.is_fold(part))
        self._rows = next(filter(None, map(rows_of, folds)), None)  # rows, if there are statistics
        self._reduces = False  # whether totals may have any type
        self._backward = False  # whether the total starts with the last element
        self._statistics: list[Statistic] = []
        self._entries: dict[str, ir.Expr] = {}  # of intermediate tensors, for the current row
        self._totals: list[Total] = []  # of the current statistic
        self._elements: set[str] = set()  # tensors as large as the source, as far as their reads show
        self._single: set[str] = set()  # tensors of which only the first element is read
        self._hoisted: dict[ir.Expr, ir.Local] = {}

    def rows(self) -> Rows:
        """All outputs, by rows with statistics."""
        for one in self._tensors.values():
            self._totals = []
            result = self._of_tensor(one)
            if one.type == ir.FLOAT:
                name = f"row{one.name}"
                self._statistics.append(Statistic(name, tuple(self._totals), result, one.decides))
                self._entries[one.name] = ir.Local(name, ir.FLOAT, varies=True)
            elif self._totals:
                raise Unfit
        each: dict[str, ir.Expr] = {}
        of_rows: dict[str, ir.Expr] = {}
        for name, value in self._outputs.items():
            if self._is_of_row(value):
                of_rows[name] = self._of_row(value)
            else:
                each[name] = self._of_element(value, ir.AT)
        if not of_rows:
            each = self._from_peak(each)
        each = {name: self._without_statistics(value) for name, value in each.items()}
        source = self._rows.tensor if self._rows else next(iter(self._outputs))
        if not each or not self._elements or not self._facts.is_certain(source):
            raise Unfit
        hoisted = tuple(Statistic(local.name, (), value, False) for value, local in self._hoisted.items())
        return Rows(
            source=source,
            reduced=(self._rows or rows_along(source, ir.Number(True, ir.BOOL))).flags,
            statistics=(*self._statistics, *hoisted),
            elements=frozenset(self._elements),
            single=frozenset(self._single),
            each=each,
            of_rows=of_rows,
        )

    def reduction(self) -> _Form:
        """The only output, as a function of a single total."""
        ((output, value),) = self._outputs.items()
        rows, sizes = self._rows, self._facts.field(output, "Sizes", self._choice)
        if rows is None or sizes is None or not self._facts.is_certain(rows.tensor):
            raise Unfit
        is_each = sizes == ir.Field(ir.Tensor(rows.tensor), "Sizes", ir.INTS)
        if not is_each and normal(sizes) != rows.kept:
            raise Unfit
        self._reduces = True
        for one in self._tensors.values():
            self._of_tensor(one)
        if found := match("convert(value, Output)", value, Output=ir.Tensor(output)):
            value = found.value
        if is_each:
            marked = fit("ravel_index(own, extent) == place", value)
            if normal(marked.own) != rows.own or normal(marked.extent) != rows.extent:
                raise Unfit
            value = marked.place
        result = self._of_row(value)
        if len(self._totals) != 1 or self._elements != {rows.tensor}:
            raise Unfit
        (total,) = self._totals
        mapped = self._in_elements(total.term, f"{rows.tensor}Element")
        finished = self._in_elements(result, "total0")
        if total.kind in ("argmax", "argmin"):
            fits = isinstance(mapped, ir.Local) and isinstance(finished, ir.Local)
        else:
            fits = not is_each and self._facts.has_type_of(output, rows.tensor, self._choice)
        if not fits:
            raise Unfit
        single = Statistic("result", (replace(total, term=mapped),), finished, False)
        return _Form(rows, single, is_each, self._backward)

    def _of_tensor(self, tensor: Intermediate) -> ir.Expr:
        """The entry of an intermediate tensor for the current row."""
        if self._rows is None or normal(tensor.sizes) != self._rows.kept:
            raise Unfit
        self._entries[tensor.name] = self._of_row(tensor.value)
        return self._entries[tensor.name]

    def _in_elements(self, node: ir.Expr, of: str) -> ir.Expr:
        """A function of a local in the type of elements. Raises Unfit for what is no arithmetic."""
        if self._rows is None:
            raise Unfit
        type_ = ir.element_of(self._rows.tensor)

        def inner(part: ir.Expr) -> ir.Expr:
            return self._in_elements(part, of)

        match node:
            case ir.Local(name=name) if name == of:
                return replace(node, type=type_)
            case ir.Number(type=ir.INT | ir.FLOAT) | ir.Call("element", (ir.Number(),)):
                number = node.arguments[0] if isinstance(node, ir.Call) else node
                return ir.Call("element", (number,), type_)
            case ir.Call("float", (ir.Call("product", (sizes,)),)):
                if normal(sizes) == self._rows.extent:
                    return node
            case ir.Call("float", (item,)) if item.type.kind == "element":
                if self._facts.is_float(self._rows.tensor, self._choice):
                    return inner(item)
            case ir.Call(name, arguments) if node.type.kind in ("float", "element"):
                if name in ELEMENT_FUNCTIONS and set(ELEMENT_FUNCTIONS[name].arguments) == {"element"}:
                    return ir.Call(name, tuple(map(inner, arguments)), type_)
            case ir.Negate(operand) if node.type.kind in ("float", "element"):
                return ir.Negate(inner(operand))
            case ir.Binary(op, left, right) if node.type.kind in ("float", "element"):
                return ir.Binary(op, inner(left), inner(right), type_)
        raise Unfit

    def _is_of_row(self, value: ir.Expr) -> bool:
        """Whether an output has one entry per row."""
        parts = list(ir.walk(value))
        if self._rows is not None and self._rows.is_whole:
            return not any(isinstance(part, ir.Load) for part in parts)
        return any(isinstance(part, ir.Entry) and part.coordinate == ir.AT for part in parts)

    def _is_here(self, coordinate: ir.Expr) -> bool:
        """Whether an entry is that of the row of the element at `at`."""
        return self._rows is not None and normal(coordinate) == self._rows.here

    def _of_row(self, node: ir.Expr) -> ir.Expr:
        """A value with one entry per row, given its coordinate there."""
        match node:
            case ir.Reduce(over_elements=True):
                return self._total(node)
            case ir.Call("ravel_index", (place, sizes)) if self._rows and normal(sizes) == self._rows.extent:
                mirrored = self._rows.mirrored(place)
                self._backward = mirrored is not None
                match mirrored or place:
                    case ir.Reduce("argmax" | "argmin") as fold:
                        return replace(self._total(fold), type=ir.INT)
            case ir.Entry(tensor=name, coordinate=place) if name in self._entries:
                if place == ir.AT or self._is_here(place):
                    return self._entries[name]
            case ir.Load() if self._rows is None or not self._rows.is_whole:
                return self._load(node, ir.AT, "OfRow")
        return self._rebuilt(node, self._of_row)

    def _total(self, fold: ir.Reduce) -> ir.Local:
        """A total of the row, which must have the type of statistics unless it is that of a reduction."""
        is_float = fold.type == ir.FLOAT and fold.kind in ("sum", "min", "max")
        if self._rows is None or rows_of(fold) != self._rows or not (is_float or self._reduces):
            raise Unfit
        whole = ir.substitute(fold.body, {fold.loops[0].variable: ITEM})
        lists = (part for part in ir.walk(whole) if part.type == ir.INTS)
        over = self._rows.backward if self._backward else self._rows.over
        places: dict[ir.Expr, ir.Expr] = {part: _PLACE for part in lists if normal(part) == over}
        total = Total(fold.kind, self._of_element(ir.substitute(whole, places), _PLACE))
        if fold.type == ir.INT and not isinstance(total.term, ir.Local):
            raise Unfit  # such integers are exact, while elements wrap around
        if total not in self._totals:
            self._totals.append(total)
        return ir.Local(f"total{self._totals.index(total)}", fold.type, varies=True)

    def _of_element(self, node: ir.Expr, place: ir.Local) -> ir.Expr:
        """A value at an element, whose coordinate is `place`."""
        match node:
            case ir.Entry(tensor=name, coordinate=coordinate) if name in self._entries:
                if self._is_here(coordinate) or (coordinate == ir.AT and place == _PLACE):
                    return self._entries[name]
            case ir.Call("float", (ir.Load(tensor=ir.Tensor(name=name)) as load,)) if (
                self._is_loaded_as_float(name)
            ):
                return self._load(replace(load, type=ir.FLOAT), place, "Element")
            case ir.Load():
                return self._load(node, place, "Element")
            case ir.Reduce(over_elements=True) if place == ir.AT:
                self._totals = []
                value = self._total(node)
                local = ir.Local(f"row{len(self._statistics)}", ir.FLOAT, varies=True)
                self._statistics.append(Statistic(local.name, tuple(self._totals), value, False))
                return local
        return self._rebuilt(node, lambda part: self._of_element(part, place))

    def _is_loaded_as_float(self, tensor: str) -> bool:
        """Whether shaders convert elements to float as they load them: floats, or 32-bit integers."""
        is_float = self._facts.is_float(tensor, self._choice)
        return is_float if self._reduces else not is_float and self._facts.has_whole_words(tensor)

    def _load(self, node: ir.Load, place: ir.Local, suffix: str) -> ir.Expr:
        """An element of a tensor with all dimensions of the rows' tensor, some of which may have size 1."""
        name = node.tensor.name
        if self._facts.members[name].count is not None or not (node.type == ir.FLOAT or self._reduces):
            raise Unfit
        if match("[0 for d in range(Own.DimensionCount)]", node.coordinate, Own=node.tensor):
            self._single.add(name)
            return ir.Local(f"{name}OfRow", node.type, varies=True)
        if node.coordinate == place:
            self._elements |= {name} if suffix == "Element" else set()
        else:
            fit(_SPREAD, node.coordinate, Own=node.tensor, place=place)
        return ir.Local(f"{name}{suffix}", node.type, varies=True)

    def _rebuilt(self, node: ir.Expr, write: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
        if is_known(node) or isinstance(node, ir.Tensor | ir.Tensors):
            return node
        if isinstance(node, ir.Local | ir.Reduce | ir.Entry | ir.Load | ir.Index | ir.Slice):
            raise Unfit
        return rebuilt(node, write)

    def _from_peak(self, each: Mapping[str, ir.Expr]) -> dict[str, ir.Expr]:
        """Outputs that follow from a sum of exponentials less the maximum, by faster functions.

        NaN reaches the sum in any case; else it is at least 1, since the maximum contributes exp(0), unless
        it is 0 or infinite.
        """
        for place, (one, other) in enumerate(pairwise(self._statistics)):
            match one.totals, other.totals, other.value:
                case [
                    (Total("max", element),),
                    (Total("sum", ir.Call("exp", (ir.Binary("-", first, peak),)) as power),),
                    ir.Local("total0"),
                ] if first == element and isinstance(peak, ir.Local) and peak.name == one.name:
                    total = ir.Local(other.name, ir.FLOAT, varies=True)
                    is_finite = match("0 if is_infinity(total) else total", one.value)
                    if is_finite and all(total in ir.walk(value) for value in each.values()):
                        faster = replace(power, function="exp_shifted")
                        peaks = replace(one, totals=(Total("peak", element),))
                        sums = replace(other, totals=(Total("sum", faster),))
                        self._statistics[place : place + 2] = [peaks, sums]
                        return {
                            name: _times_reciprocal(ir.substitute(value, {power: faster}), total)
                            for name, value in each.items()
                        }
        return dict(each)

    def _without_statistics(self, node: ir.Expr) -> ir.Expr:
        """A value with the parts that depend only on statistics hoisted, so that they are computed once per
        row."""
        names = {part.name for part in ir.walk(node) if isinstance(part, ir.Local)}
        if isinstance(node, ir.Local) or is_known(node):
            return node
        if any(name.endswith("Element") for name in names):
            return rebuilt(node, self._without_statistics)
        local = ir.Local(f"ofRow{len(self._hoisted)}", ir.FLOAT, varies=True)
        return self._hoisted.setdefault(node, local)
