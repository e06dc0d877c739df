"""Definitions by rows: reductions, and elements that depend on statistics of their row, as in normalizations.

A row (`row_coordinates`) runs along dimensions that depend on the description. Totals are folds of it, for
all of which it is read once. Statistics are intermediate tensors with one entry per row, computed from totals
and from earlier statistics. Tensors are read at the element itself, or at 0 along dimensions of size 1; of
some only the first element is read, which may be an integer that is converted to float. There may be no
totals at all, and there may be several outputs, some with only one entry per row. An enumeration may select
what is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dmlgen.analysis.pattern import Unfit, fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.cases import Choice, written
from dmlgen.schedules.row_coordinates import ITEM, RowCoordinates, rows_of
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

_PLACE = ir.Local("place", ir.INTS)
"""The coordinate of the current element of a loop over a row."""

_SPREAD = "[place[d] if Own.Sizes[d] != 1 else 0 for d in range(Own.DimensionCount)]"


@dataclass(frozen=True)
class Total:
    """A total of rows: a fold whose body is a function of elements, locals such as `InputTensorElement`. That
    of "argmax" and "argmin" is the place of an element in its row; `takes_last`: of equally good ones, it is
    the last.

    Two kinds come in pairs with the total before them, which has the same term, and are about a statistic
    that follows from it, `center`: sums of "exponentials" of the differences of terms from their maximum, the
    "peak", or from 0 if that is infinite, and of "squares" of "deviations" of terms, which add up to the sum
    of the terms.
    """

    kind: ir.Reduction | Literal["peak", "exponentials", "deviations", "squares"]
    fold: ir.Reduce
    takes_last: bool = False
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
class RowValues:
    """The outputs in one case. `each` are the values of those as large as the rows' tensor, as
    functions of elements, totals and statistics; `of_rows` are those of outputs with one entry per row."""

    totals: tuple[Total, ...]
    statistics: tuple[Statistic, ...]
    each: Mapping[str, ir.Expr]
    of_rows: Mapping[str, ir.Expr]


@dataclass(frozen=True)
class Rows(FastForm):
    """A faster way to compute all outputs: row by row of `source` (`schedules`).

    `reduced` has a 1 for each dimension that rows run along, else 0; if there are no totals, they may run
    along any. Of tensors in `single` only the first element is read. The value of the member `function`
    selects one of the `cases`; several have only totals and outputs with one entry per row. If there is no
    such member, there is one case, that of None.
    """

    source: str
    reduced: ir.Expr
    single: frozenset[str]
    function: ir.Member | None
    cases: Mapping[ir.EnumValue | None, RowValues]


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Rows | None:
    """All outputs of a definition, by rows."""
    outputs = list(defines.outputs)
    are_alike = all(not one.along and one.type in (ir.FLOAT, ir.INT) for one in defines.tensors)
    are_single = all(facts.members[one].count is None for one in outputs)
    if not (are_alike and are_single) or facts.members[outputs[0]].optional:
        return None
    if any(facts.may_be(one, "float", 64) for one in outputs):
        return None
    nodes = (node for whole in defines.whole for node in ir.walk(whole))
    members = [node for node in nodes if isinstance(node, ir.Member) and node.type.kind == "enum"]
    function = members[0] if members else None
    choices: dict[ir.EnumValue | None, Choice] = {} if function else {None: {}}
    for one in members[:1]:
        for entry in facts.enums[one.type.name or ""].entries:
            value = ir.EnumValue(entry.name, entry.value, one.type)
            choices[value] = {one: value}
    readers = {value: _Reader(defines, choice, facts) for value, choice in choices.items()}
    cases = {value: reader.values() for value, reader in readers.items()}
    first, *others = readers.values()
    has_more = others and any(values.statistics or values.each for values in cases.values())
    if has_more or any((one.rows, one.single) != (first.rows, first.single) for one in others):
        return None
    return Rows(first.rows.tensor, first.rows.flags, frozenset(first.single), function, cases)


class _Reader:
    """Reads a definition in one case, written out, in terms of locals: elements, statistics, totals."""

    def __init__(self, defines: OutputDefinitions, choice: Choice, facts: TensorFacts) -> None:
        self._facts, self._choice = facts, choice
        self._tensors = {
            one.name: replace(one, sizes=written(one.sizes, choice), value=written(one.value, choice))
            for one in defines.tensors
        }
        self._outputs = {name: written(value, choice) for name, value in defines.outputs.items()}
        values = (*(one.value for one in self._tensors.values()), *self._outputs.values())
        folds = (part for value in values for part in ir.walk(value) if ir.is_fold(part))
        found = filter(None, map(rows_of, folds))
        self.rows = next(found, RowCoordinates(next(iter(self._outputs))))  # a whole output without totals
        self.single: set[str] = set()  # tensors of which only the first element is read
        self._statistics: list[Statistic] = []
        self._entries: dict[str, ir.Expr] = {}  # of intermediate tensors, for the current row
        self._totals: list[Total] = []
        self._sums: list[ir.Expr] = []  # of exponentials
        self._is_read = False  # whether elements are
        self._loaded: set[str] = set()  # the tensors of which any are

    def values(self) -> RowValues:
        """The values of all outputs."""
        for one in self._tensors.values():
            before, result = len(self._totals), self._read(one.value, ir.AT, "OfRow")
            self._entries[one.name] = result
            if one.type == ir.FLOAT:
                self._entries[one.name] = self._statistic(result, f"row{one.name}", one.decides)
            if result in self._sums:
                self._sums.append(self._entries[one.name])
            is_late = one.type == ir.INT and len(self._totals) > before and not isinstance(result, ir.Local)
            if is_late or not self.rows.matches("kept", one.sizes):
                raise Unfit
        each: dict[str, ir.Expr] = {}
        of_rows: dict[str, ir.Expr] = {}
        for name, value in self._outputs.items():
            if self._is_of_row(name, value):
                of_rows[name] = self._read(self._unconverted(name, value), ir.AT, "OfRow")
            else:
                each[name] = self._hoisted(self._read(value, ir.AT, "Element"))
        source = self.rows.tensor
        is_one_type = self._facts.is_float(source, self._choice) or not self._loaded > {source}
        if not self._is_read or not self._facts.is_certain(source) or not is_one_type:
            raise Unfit  # also where elements are not all computed in one type
        return RowValues(tuple(self._totals), tuple(self._statistics), each, of_rows)

    def _is_of_row(self, name: str, value: ir.Expr) -> bool:
        """Whether an output has one entry per row."""
        parts = list(ir.walk(value))
        if self.rows.is_whole:
            return not any(isinstance(part, ir.Load) for part in parts)
        sizes = self._facts.field(name, "Sizes", self._choice)
        is_kept = sizes is not None and self.rows.matches("kept", sizes)
        return is_kept or any(isinstance(part, ir.Entry) and part.coordinate == ir.AT for part in parts)

    def _unconverted(self, name: str, value: ir.Expr) -> ir.Expr:
        """The value of an output before a conversion that stores have anyway. Raises Unfit for elements of
        another type."""
        found = match("convert(value, Output)", value, Output=ir.Tensor(name))
        inner: ir.Expr = found.value if found else value
        is_same = self._facts.has_type_of(name, self.rows.tensor, self._choice)
        if inner.type.kind == "element" and not is_same:
            raise Unfit
        return inner if inner.type != ir.FLOAT or self._facts.is_float(name, self._choice) else value

    def _read(self, node: ir.Expr, place: ir.Local, what: Literal["OfRow", "Element"]) -> ir.Expr:
        """A value at an element whose coordinate is `place`, or one of a row, given its coordinate there."""
        match node:
            case ir.Entry(tensor=name, coordinate=at) if name in self._entries:
                is_own = at == ir.AT and (place == _PLACE or what == "OfRow")
                if is_own or self.rows.matches("here", at):
                    return self._entries[name]
            case ir.Call("ravel_index", (at, extent)) if self.rows.matches("extent", extent):
                mirrored = self.rows.mirrored(at)
                if ir.is_fold(fold := mirrored or at) and what == "OfRow":
                    return self._total(fold, takes_last=mirrored is not None)
                if self.rows.matches("own", at) and place == ir.AT:
                    return ir.Local("placeOfElement", ir.INT, varies=True)
            case ir.Call("float", (ir.Load(tensor=ir.Tensor(name=name)) as load,)):
                # Shaders convert integers of other tensors as they load them.
                is_fit = self._facts.has_whole_words(name)
                if name == self.rows.tensor:
                    is_fit = self._facts.is_float(name, self._choice)
                if is_fit:
                    return self._load(replace(load, type=ir.FLOAT), place, what)
            case ir.Load() if what == "Element" or not self.rows.is_whole:
                return self._load(node, place, what)
            case ir.Reduce(over_elements=True) if place == ir.AT and node.type != ir.INTS:
                return self._total(node) if what == "OfRow" else self._statistic(self._total(node))
        if is_known(node) or isinstance(node, ir.Tensor | ir.Tensors):
            return node
        if isinstance(node, ir.Local | ir.Reduce | ir.Entry | ir.Load | ir.Index | ir.Slice):
            raise Unfit
        return ir.rebuilt(node, lambda part: self._read(part, place, what))

    def _load(self, node: ir.Load, place: ir.Local, what: str) -> ir.Local:
        """An element of a tensor with all dimensions of the rows' tensor, some of which may have size 1."""
        name = node.tensor.name
        if self._facts.members[name].count is not None:
            raise Unfit
        if node.type != ir.FLOAT and (node.type.kind, name) != ("element", self.rows.tensor):
            raise Unfit
        if match("[0 for d in range(Own.DimensionCount)]", node.coordinate, Own=node.tensor):
            self.single.add(name)
            what = "OfRow"
        elif node.coordinate == place:
            self._is_read |= what == "Element"
        else:
            fit(_SPREAD, node.coordinate, Own=node.tensor, place=place)
        self._loaded.add(name)
        return ir.Local(f"{name}{what}", node.type, varies=True)

    def _total(self, fold: ir.Reduce, takes_last: bool = False) -> ir.Local:
        """A total of the row."""
        chooses = fold.type == ir.INTS
        if rows_of(fold) != self.rows or fold.type == ir.INT:
            raise Unfit
        whole = ir.substitute(fold.body, {fold.loops[0].variable: ITEM})
        lists = [part for part in ir.walk(whole) if part.type == ir.INTS]
        over = "backward" if takes_last else "over"
        places: dict[ir.Expr, ir.Expr] = {part: _PLACE for part in lists if self.rows.matches(over, part)}
        term = self._read(ir.substitute(whole, places), _PLACE, "Element")
        if chooses and not isinstance(term, ir.Local):
            raise Unfit  # such integers are exact, while elements wrap around
        total = self._paired(replace(fold, body=term), takes_last)
        if total not in self._totals:
            self._totals.append(total)
        type_ = ir.INT if chooses else fold.type
        return ir.Local(f"total{self._totals.index(total)}", type_, varies=True)

    def _paired(self, fold: ir.Reduce, takes_last: bool) -> Total:
        """A total; as the second of a pair with the last one so far if its term depends on a statistic."""
        parts = {part.name for part in ir.walk(fold.body) if isinstance(part, ir.Local)}
        used = [one for one in self._statistics if one.name in parts]
        if not used:
            return Total(fold.kind, fold, takes_last)
        if not self._totals or any(one.center for one in self._totals):
            raise Unfit
        last = self._totals[-1]
        match fold.kind, fold.body, last.kind:
            case "sum", ir.Binary("*", ir.Binary("-", first, ir.Local(name=center)) as left, right), "sum":
                if left == right and last.fold.body == first:
                    self._totals[-1] = replace(last, kind="deviations")
                    return Total("squares", replace(fold, body=first), center=center)
            case "sum", ir.Call("exp", (ir.Binary("-", first, ir.Local(name=center)),)), "max":
                if last.fold.body == first and match("0 if is_infinity(total) else total", used[0].value):
                    self._totals[-1] = replace(last, kind="peak")
                    self._sums.append(ir.Local(f"total{len(self._totals)}", ir.FLOAT, varies=True))
                    return Total("exponentials", replace(fold, body=first), center=center)
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
            return ir.rebuilt(node, self._hoisted)
        return self._statistic(node)
