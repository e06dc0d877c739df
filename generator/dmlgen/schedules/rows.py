"""Definitions whose elements each depend on statistics of their row: normalizations, for instance.

A row (`row_coordinates`) runs along dimensions that depend on the description. Statistics are intermediate
tensors with one entry per row, computed from totals of the row and from earlier statistics. Tensors are read
at the element itself, or at 0 along dimensions of size 1; of some only the first element is read, which may
be an integer that is converted to float. There may be no statistics at all, and there may be several outputs,
some with only one entry per row. `reduction` recognizes rows whose only total is the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from dmlgen.analysis.elements import Unfit, rebuilt
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import written
from dmlgen.schedules.row_coordinates import ITEM, RowCoordinates, Whole, normal, rows_of
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_PLACE = ir.Local("place", ir.INTS)
"""The coordinate of the current element of a loop over a row."""

_SPREAD = "[place[d] if Own.Sizes[d] != 1 else 0 for d in range(Own.DimensionCount)]"


@dataclass(frozen=True)
class Total:
    """A fold over a row, a "sum", "min" or "max" (`kind`), or "peak", a maximum that may miss NaN. Its `term`
    is a function of earlier statistics and of elements, locals such as `InputTensorElement`."""

    kind: ir.FoldKind | Literal["peak"]
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
class Fold:
    """Reduces a row to one value: a fold of a `kind` of a function `map` of each element, the local `x`; the
    result is a function `finish` of the total, also `x`. Of "argmax" and "argmin", it is the place of the
    element."""

    kind: ir.FoldKind
    map: ir.Expr
    finish: ir.Expr


@dataclass(frozen=True)
class Reduction:
    """Reduces each row to one value, of any type: by one of `folds`, which the value of member `function`
    selects, or the only one, of None. `decreasing`: of elements that are equally good, the last is chosen."""

    folds: Mapping[ir.EnumValue | None, Fold]
    function: ir.Member | None
    decreasing: ir.Expr


@dataclass(frozen=True)
class Rows(FastForm):
    """A faster way to compute all outputs: row by row of `source`, with the statistics of each (`schedules`).

    `reduced` has a 1 for each dimension that rows run along, else 0; it is empty if there are no statistics,
    and rows may run along any dimensions. `elements` are the tensors that are read at the element itself;
    others are read at 0 where sizes are 1, and `single` only at 0. `each` are the values of outputs as large
    as `source`, as functions of elements and statistics; `of_rows` are those of outputs with one entry per
    row. In a `reduction` the only output is the total, or it says of each element whether it is the chosen
    one.
    """

    source: str
    reduced: ir.Expr
    elements: frozenset[str]
    each: Mapping[str, ir.Expr]
    of_rows: Mapping[str, ir.Expr]
    statistics: tuple[Statistic, ...] = ()
    single: frozenset[str] = frozenset()
    reduction: Reduction | None = None


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Rows | None:
    """All outputs of a definition, by rows."""
    outputs = list(defines.outputs)
    are_words = all(facts.members[one].count is None and facts.has_words(one, {}) for one in outputs)
    if not facts.is_certain(outputs[0]) or not are_words or any(_misfits(one) for one in defines.tensors):
        return None
    return _Reader(defines, facts).rows()


def _times_reciprocal(node: ir.Expr, divisor: ir.Expr) -> ir.Expr:
    """A quotient by this divisor as a product."""
    match node:
        case ir.Binary("/", left, right, type_) if right == divisor:
            return ir.Binary("*", left, ir.Binary("/", ir.Number(1.0, type_), right, type_), type_)
    return node


def _misfits(tensor: Intermediate) -> bool:
    return tensor.type not in (ir.FLOAT, ir.INT) or tensor.along


class _Reader:
    """Reads a definition, in terms of locals: elements, statistics, totals."""

    def __init__(self, defines: OutputDefinitions, facts: TensorFacts) -> None:
        self._defines, self._facts = defines, facts
        self._rows: RowCoordinates | None = None  # rows, if there are statistics
        self._statistics: list[Statistic] = []
        self._entries: dict[str, ir.Expr] = {}  # of intermediate tensors, for the current row
        self._totals: list[Total] = []  # of the current statistic
        self._elements: set[str] = set()  # tensors as large as the source, as far as their reads show
        self._single: set[str] = set()  # tensors of which only the first element is read
        self._hoisted: dict[ir.Expr, ir.Local] = {}

    def rows(self) -> Rows:
        parts = (part for value in self._values() for part in ir.walk(value))
        folds = (part for part in parts if isinstance(part, ir.Fold) and not part.unrolled)
        self._rows = next(filter(None, map(rows_of, folds)), None)
        for one in self._defines.tensors:
            value = written(one.value, {})
            if self._rows is None or normal(one.sizes) != self._rows.kept:
                raise Unfit
            self._totals = []
            result = self._of_row(value)
            if one.type == ir.FLOAT:
                name = f"row{one.name}"
                self._statistics.append(Statistic(name, tuple(self._totals), result, one.decides))
                result = ir.Local(name, ir.FLOAT, varies=True)
            elif self._totals:
                raise Unfit
            self._entries[one.name] = result
        each: dict[str, ir.Expr] = {}
        of_rows: dict[str, ir.Expr] = {}
        for name, value in self._defines.outputs.items():
            whole = written(value, {})
            if self._is_of_row(whole):
                of_rows[name] = self._of_row(whole)
            else:
                each[name] = self._of_element(whole, ir.AT)
        if not of_rows:
            each = self._from_peak(each)
        each = {name: self._without_statistics(value) for name, value in each.items()}
        source = self._rows.tensor if self._rows else next(iter(self._defines.outputs))
        if not each or not self._elements or not self._facts.is_certain(source):
            raise Unfit
        hoisted = tuple(Statistic(local.name, (), value, False) for value, local in self._hoisted.items())
        return Rows(
            source=source,
            reduced=self._rows.flags if self._rows else ir.ListOf(()),
            statistics=(*self._statistics, *hoisted),
            elements=frozenset(self._elements),
            single=frozenset(self._single),
            each=each,
            of_rows=of_rows,
        )

    def _values(self) -> Iterator[ir.Expr]:
        """All values, with functions written out."""
        for one in self._defines.tensors:
            yield written(one.value, {})
        for value in self._defines.outputs.values():
            yield written(value, {})

    def _is_of_row(self, value: ir.Expr) -> bool:
        """Whether an output has one entry per row."""
        parts = list(ir.walk(value))
        if isinstance(self._rows, Whole):
            return not any(isinstance(part, ir.Load) for part in parts)
        return any(isinstance(part, ir.Entry) and part.coordinate == ir.AT for part in parts)

    def _is_here(self, coordinate: ir.Expr) -> bool:
        """Whether an entry is that of the row of the element at `at`."""
        return self._rows is not None and normal(coordinate) == self._rows.here

    def _of_row(self, node: ir.Expr) -> ir.Expr:
        """A value with one entry per row, given its coordinate there."""
        match node:
            case ir.Fold(kind="sum" | "min" | "max", type=ir.FLOAT, unrolled=False):
                return self._total(node)
            case ir.Entry(tensor=name, coordinate=place) if name in self._entries:
                if place == ir.AT or self._is_here(place):
                    return self._entries[name]
            case ir.Load() if not isinstance(self._rows, Whole):
                return self._load(node, ir.AT, "OfRow")
        return self._rebuilt(node, self._of_row)

    def _total(self, fold: ir.Fold) -> ir.Expr:
        if self._rows is None or rows_of(fold) != self._rows:
            raise Unfit
        whole = ir.substitute(fold.body, {fold.loops[0].variable: ITEM})
        lists = (part for part in ir.walk(whole) if part.type == ir.INTS)
        places: dict[ir.Expr, ir.Expr] = {part: _PLACE for part in lists if normal(part) == self._rows.over}
        total = Total(fold.kind, self._of_element(ir.substitute(whole, places), _PLACE))
        if total not in self._totals:
            self._totals.append(total)
        return ir.Local(f"total{self._totals.index(total)}", ir.FLOAT, varies=True)

    def _of_element(self, node: ir.Expr, place: ir.Local) -> ir.Expr:
        """A value at an element, whose coordinate is `place`."""
        match node:
            case ir.Entry(tensor=name, coordinate=coordinate) if name in self._entries:
                if self._is_here(coordinate) or (coordinate == ir.AT and place == _PLACE):
                    return self._entries[name]
            case ir.Call("float", (ir.Load(tensor=ir.Tensor(name=name)) as load,)) if self._is_word(name):
                return self._load(replace(load, type=ir.FLOAT), place, "Element")
            case ir.Load():
                return self._load(node, place, "Element")
            case ir.Fold(kind="sum" | "min" | "max", type=ir.FLOAT, unrolled=False) if place == ir.AT:
                self._totals = []
                value = self._total(node)
                local = ir.Local(f"row{len(self._statistics)}", ir.FLOAT, varies=True)
                self._statistics.append(Statistic(local.name, tuple(self._totals), value, False))
                return local
        return self._rebuilt(node, lambda part: self._of_element(part, place))

    def _is_word(self, tensor: str) -> bool:
        """Whether elements are 32-bit integers, which shaders convert to float as they load them."""
        return not self._facts.is_float(tensor, {}) and self._facts.has_whole_words(tensor)

    def _load(self, node: ir.Load, place: ir.Local, suffix: str) -> ir.Expr:
        """An element of a tensor with all dimensions of the rows' tensor, some of which may have size 1."""
        name = node.tensor.name
        if node.type != ir.FLOAT or self._facts.members[name].count is not None:
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
        if isinstance(node, ir.Local | ir.Fold | ir.Reduce | ir.Entry | ir.Load | ir.Index | ir.Slice):
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
