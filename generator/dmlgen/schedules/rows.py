"""Definitions by rows: elements that depend on statistics of their row, as in normalizations.

A row (`row_coordinates`) runs along dimensions that depend on the description. Statistics are intermediate
tensors with one entry per row, computed from totals of the row, for which it is read once, and from earlier
statistics. Tensors are read at the element itself, or at 0 along dimensions of size 1; of some only the first
element is read, which may be an integer that is converted to float. There may be no statistics at all, and
there may be several outputs, some with only one entry per row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dmlgen.analysis.elements import Unfit, rebuilt
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import Writer, written
from dmlgen.schedules.row_coordinates import ITEM, RowCoordinates, rows_of
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_PLACE = ir.Local("place", ir.INTS)
"""The coordinate of the current element of a loop over a row."""

_SPREAD = "[place[d] if Own.Sizes[d] != 1 else 0 for d in range(Own.DimensionCount)]"


@dataclass(frozen=True)
class Total:
    """A fold over a row: a "sum", "min" or "max" (`kind`). Its `term` is a function of elements, locals such
    as `InputTensorElement`.

    Two come in pairs with the total before them, which has the same term, and are about a statistic that
    follows from it, `center`. "exponentials" are those of the differences of terms from their maximum, the
    "peak", or from 0 if that is infinite; "squares" are those of "deviations" of terms, which add up to the
    sum of the terms.
    """

    kind: Literal["sum", "min", "max", "peak", "exponentials", "deviations", "squares"]
    term: ir.Expr
    center: str = ""


@dataclass(frozen=True)
class Statistic:
    """A number per row, `name`. Its `value` is a function of the row's totals, the locals `total0` and so on,
    of earlier statistics, and of elements at the row's own coordinate, locals such as `ScaleTensorOfRow`.
    `decides`: see `Intermediate`."""

    name: str
    value: ir.Expr
    decides: bool


@dataclass(frozen=True)
class Rows(FastForm):
    """A faster way to compute all outputs: row by row of `source`, with the statistics of each (`schedules`).

    `reduced` has a 1 for each dimension that rows run along, else 0; if there are no statistics, they may run
    along any. `elements` are the tensors that are read at the element itself; others are read at 0 where
    sizes are 1, and `single` only at 0. `each` are the values of outputs as large as `source`, as functions
    of elements and statistics; `of_rows` are those of outputs with one entry per row.
    """

    source: str
    reduced: ir.Expr
    elements: frozenset[str]
    each: Mapping[str, ir.Expr]
    of_rows: Mapping[str, ir.Expr]
    totals: tuple[Total, ...] = ()
    statistics: tuple[Statistic, ...] = ()
    single: frozenset[str] = frozenset()


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Rows | None:
    """All outputs of a definition, by rows."""
    outputs = list(defines.outputs)
    if not facts.is_certain(outputs[0]) or any(one.along for one in defines.tensors):
        return None
    are_words = all(facts.members[one].count is None and facts.has_words(one, {}) for one in outputs)
    if not are_words or any(one.type not in (ir.FLOAT, ir.INT) for one in defines.tensors):
        return None
    values = {name: written(value, {}) for name, value in defines.outputs.items()}
    return _Reader(Writer().tensors(defines, {}), values, facts).rows()


class _Reader:
    """Reads a definition, whose intermediate tensors and outputs are written out, in terms of locals:
    elements, statistics, totals."""

    def __init__(
        self, tensors: Mapping[str, Intermediate], outputs: Mapping[str, ir.Expr], facts: TensorFacts
    ) -> None:
        self._tensors, self._outputs, self._facts = tensors, outputs, facts
        values = (*(one.value for one in tensors.values()), *outputs.values())
        folds = (part for value in values for part in ir.walk(value) if ir.is_fold(part))
        self._rows = next(filter(None, map(rows_of, folds)), None)  # rows, if there are statistics
        self._statistics: list[Statistic] = []
        self._entries: dict[str, ir.Expr] = {}  # of intermediate tensors, for the current row
        self._totals: list[Total] = []
        self._sums: list[ir.Expr] = []  # of exponentials
        self._elements: set[str] = set()  # tensors as large as the source, as far as their reads show
        self._single: set[str] = set()  # tensors of which only the first element is read

    def rows(self) -> Rows:
        """All outputs, by rows with statistics."""
        for one in self._tensors.values():
            before = len(self._totals)
            result = self._of_tensor(one)
            if one.type == ir.FLOAT:
                self._entries[one.name] = self._statistic(result, f"row{one.name}", one.decides)
                if result in self._sums:
                    self._sums.append(self._entries[one.name])
            elif len(self._totals) > before:
                raise Unfit
        each: dict[str, ir.Expr] = {}
        of_rows: dict[str, ir.Expr] = {}
        for name, value in self._outputs.items():
            if self._is_of_row(value):
                of_rows[name] = self._of_row(value)
            else:
                each[name] = self._of_element(value, ir.AT)
        source = self._rows.tensor if self._rows else next(iter(self._outputs))
        each = {name: self._hoisted(value) for name, value in each.items()}
        if not each or not self._elements or not self._facts.is_certain(source):
            raise Unfit
        return Rows(
            source=source,
            reduced=(self._rows or RowCoordinates(source)).flags,
            totals=tuple(self._totals),
            statistics=tuple(self._statistics),
            elements=frozenset(self._elements),
            single=frozenset(self._single),
            each=each,
            of_rows=of_rows,
        )

    def _of_tensor(self, tensor: Intermediate) -> ir.Expr:
        """The entry of an intermediate tensor for the current row."""
        if self._rows is None or not self._rows.matches("kept", tensor.sizes):
            raise Unfit
        self._entries[tensor.name] = self._of_row(tensor.value)
        return self._entries[tensor.name]

    def _is_of_row(self, value: ir.Expr) -> bool:
        """Whether an output has one entry per row."""
        parts = list(ir.walk(value))
        if self._rows is not None and self._rows.is_whole:
            return not any(isinstance(part, ir.Load) for part in parts)
        return any(isinstance(part, ir.Entry) and part.coordinate == ir.AT for part in parts)

    def _is_here(self, coordinate: ir.Expr) -> bool:
        """Whether an entry is that of the row of the element at `at`."""
        return self._rows is not None and self._rows.matches("here", coordinate)

    def _of_row(self, node: ir.Expr) -> ir.Expr:
        """A value with one entry per row, given its coordinate there."""
        match node:
            case ir.Reduce(over_elements=True):
                return self._total(node)
            case ir.Entry(tensor=name, coordinate=place) if name in self._entries:
                if place == ir.AT or self._is_here(place):
                    return self._entries[name]
            case ir.Load() if self._rows is None or not self._rows.is_whole:
                return self._load(node, ir.AT, "OfRow")
        return self._rebuilt(node, self._of_row)

    def _total(self, fold: ir.Reduce) -> ir.Local:
        """A total of the row."""
        if self._rows is None or rows_of(fold) != self._rows or fold.type != ir.FLOAT:
            raise Unfit
        whole = ir.substitute(fold.body, {fold.loops[0].variable: ITEM})
        lists = (part for part in ir.walk(whole) if part.type == ir.INTS)
        places: dict[ir.Expr, ir.Expr] = {part: _PLACE for part in lists if self._rows.matches("over", part)}
        term = self._of_element(ir.substitute(whole, places), _PLACE)
        total = self._paired(fold.kind, term)
        if total not in self._totals:
            self._totals.append(total)
        return ir.Local(f"total{self._totals.index(total)}", ir.FLOAT, varies=True)

    def _paired(self, kind: ir.Reduction, term: ir.Expr) -> Total:
        """A total; as the second of a pair with the last one so far if its term depends on a statistic."""
        parts = {part.name for part in ir.walk(term) if isinstance(part, ir.Local)}
        used = [one for one in self._statistics if one.name in parts]
        match kind, term:
            case (("sum" | "min" | "max"), _) if not used:
                return Total(kind, term)
            case "sum", ir.Binary("*", ir.Binary("-", first, ir.Local(name=center)) as left, right):
                if left == right and self._totals[-1] == Total("sum", first):
                    self._totals[-1] = Total("deviations", first)
                    return Total("squares", first, center)
            case "sum", ir.Call("exp", (ir.Binary("-", first, ir.Local(name=center)),)):
                is_finite = match("0 if is_infinity(total) else total", used[0].value)
                if is_finite and self._totals[-1] == Total("max", first):
                    self._totals[-1] = Total("peak", first)
                    self._sums.append(ir.Local(f"total{len(self._totals)}", ir.FLOAT, varies=True))
                    return Total("exponentials", first, center)
        raise Unfit

    def _statistic(self, value: ir.Expr, name: str = "", decides: bool = False) -> ir.Local:
        """The statistic of this value, which gets the name if it is a new one."""
        found = next((one for one in self._statistics if one.value == value), None)
        if found is None:
            found = Statistic(name or f"row{len(self._statistics)}", value, decides)
            self._statistics.append(found)
        return ir.Local(found.name, ir.FLOAT, varies=True)

    def _hoisted(self, node: ir.Expr) -> ir.Expr:
        """A value in which the parts that depend only on statistics are further ones. So is the reciprocal of
        a sum of exponentials: that is at least 1, since the maximum contributes exp(0), 0 or infinite."""
        if isinstance(node, ir.Local) or is_known(node):
            return node
        if isinstance(node, ir.Binary) and node.op == "/" and node.right in self._sums:
            reciprocal = ir.Binary("/", ir.Number(1.0, ir.FLOAT), node.right, ir.FLOAT)
            node = ir.Binary("*", node.left, self._statistic(reciprocal), ir.FLOAT)
        if any(isinstance(part, ir.Local) and part.name.endswith("Element") for part in ir.walk(node)):
            return rebuilt(node, self._hoisted)
        return self._statistic(node)

    def _of_element(self, node: ir.Expr, place: ir.Local) -> ir.Expr:
        """A value at an element, whose coordinate is `place`."""
        match node:
            case ir.Entry(tensor=name, coordinate=coordinate) if name in self._entries:
                if self._is_here(coordinate) or (coordinate == ir.AT and place == _PLACE):
                    return self._entries[name]
            case ir.Call("float", (ir.Load(tensor=ir.Tensor(name=name)) as load,)) if (
                not self._facts.is_float(name, {}) and self._facts.has_whole_words(name)
            ):  # shaders convert such integers as they load them
                return self._load(replace(load, type=ir.FLOAT), place, "Element")
            case ir.Load():
                return self._load(node, place, "Element")
            case ir.Reduce(over_elements=True) if place == ir.AT:
                return self._statistic(self._total(node))
        return self._rebuilt(node, lambda part: self._of_element(part, place))

    def _load(self, node: ir.Load, place: ir.Local, suffix: str) -> ir.Expr:
        """An element of a tensor with all dimensions of the rows' tensor, some of which may have size 1."""
        name = node.tensor.name
        if self._facts.members[name].count is not None or node.type != ir.FLOAT:
            raise Unfit
        if match("[0 for d in range(Own.DimensionCount)]", node.coordinate, Own=node.tensor):
            self._single.add(name)
            return ir.Local(f"{name}OfRow", ir.FLOAT, varies=True)
        if node.coordinate == place:
            self._elements |= {name} if suffix == "Element" else set()
        else:
            fit(_SPREAD, node.coordinate, Own=node.tensor, place=place)
        return ir.Local(f"{name}{suffix}", ir.FLOAT, varies=True)

    def _rebuilt(self, node: ir.Expr, write: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
        if is_known(node) or isinstance(node, ir.Tensor | ir.Tensors):
            return node
        if isinstance(node, ir.Local | ir.Reduce | ir.Entry | ir.Load | ir.Index | ir.Slice):
            raise Unfit
        return rebuilt(node, write)
