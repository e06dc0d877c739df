"""Definitions whose elements consist of a box of taps on one tensor that separates by axis: resampling,
gradients.

Along each dimension, which coordinates are read and with what weights depends only on the dimension and on
the output's coordinate in it, so that one table per axis suffices. An element is a sum over the box, of
products of a weight per dimension, or the single element that all tables lead to. The description selects
between several of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import factors_of, is_known
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.cases import written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

DIMENSION, RESULT, TAP = (ir.Local(name, ir.INT, varies=True) for name in ("d", "i", "p"))
"""In expressions of an axis: its number, the output's coordinate along it, and that of a tap."""


@dataclass(frozen=True)
class Taps:
    """The taps along an axis: those from `first` up to but not including `last` for which `takes` holds, each
    with its `weight`.

    Without `last`, `first` is the only tap; without `takes` all contribute, and without `weight` each weighs
    1. `first` and `last` are expressions of DIMENSION and RESULT, the others of these and TAP. They may use
    locals that represent entries of intermediate tensors: those in `of_result` are values at DIMENSION and
    RESULT, those in `of_tap` at DIMENSION and TAP.
    """

    first: ir.Expr
    last: ir.Expr | None
    takes: ir.Expr | None
    weight: ir.Expr | None
    of_result: Mapping[ir.Local, ir.Expr]
    of_tap: Mapping[ir.Local, ir.Expr]


@dataclass(frozen=True)
class Mode:
    """An output made from taps where `when` holds: `value` is a function of locals.

    Those are weighted sums over the box, `totals` by name, each of a term, which is a function of the local
    `element`, or None for 1; or `element` itself if there is a single tap.
    """

    when: ir.Expr
    taps: Taps
    element: ir.Local
    totals: Mapping[str, ir.Expr | None]
    value: ir.Expr

    @property
    def combined(self) -> ir.Expr | None:
        """The value before it is converted to the output's type, if that is the same, apart from rounding,
        where taps are combined along some axes first, and the results along the others: a weighted sum of
        elements, or their weighted mean."""
        value = _unconverted(self.value)
        match value:
            case ir.Binary("/", ir.Local(total), ir.Local(whole)) if self.totals.get(whole, total) is None:
                term = self.totals[total]
            case ir.Local(total):
                term = self.totals.get(total)
            case _:
                term = None
        return value if term is not None and _unconverted(term) == self.element else None


def _unconverted(value: ir.Expr) -> ir.Expr:
    match value:
        case ir.Call("convert" | "float", (converted, *_)):
            return converted
    return value


@dataclass(frozen=True)
class Separable(FastForm):
    """A faster way to compute an output from taps on a tensor, along each of `rank` dimensions
    (`schedules`)."""

    output: str
    tensor: str
    rank: ir.Expr
    modes: tuple[Mode, ...]


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Separable | None:
    """The taps that the output of a definition amounts to."""
    output, *others = defines.outputs
    if others or not facts.is_certain(output) or facts.may_be(output, "FLOAT64"):
        return None
    modes: list[Mode] = []
    shapes: set[tuple[str, ir.Expr]] = set()
    for when, value in _choices(written(defines.outputs[output], {})):
        with suppress(Unfit):
            reader = _Reader(defines.tensors, facts)
            modes.append(reader.mode(when, value))
            shapes |= {(reader.tensor, rank) for rank in reader.ranks}
    if len(shapes) != 1:
        return None
    ((tensor, rank),) = shapes
    return Separable(output, tensor, rank, tuple(modes))


def _choices(value: ir.Expr, *known: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The value in each case that the description distinguishes."""
    match value:
        case ir.Conditional(test, then, otherwise) if is_known(test):
            yield from _choices(then, *known, test)
            yield from _choices(otherwise, *known, _negated(test))
        case _:
            yield (ir.Logic("and", known) if len(known) > 1 else (*known, ir.Number(True, ir.BOOL))[0]), value


def _negated(test: ir.Expr) -> ir.Expr:
    match test:
        case ir.Compare("==", left, right):
            return ir.Compare("!=", left, right)
    return ir.Not(test)


class _Reader:
    """Reads an output in one case, and collects the tensor and the lengths of lists."""

    def __init__(self, tensors: tuple[Intermediate, ...], facts: TensorFacts) -> None:
        self._tensors = {one.name: one for one in tensors}
        self._facts = facts
        self._of_result: dict[ir.Local, ir.Expr] = {}
        self._of_tap: dict[ir.Local, ir.Expr] = {}
        self.tensor = ""
        self.ranks: set[ir.Expr] = set()

    def mode(self, when: ir.Expr, value: ir.Expr) -> Mode:
        loads = list(dict.fromkeys(part for part in ir.walk(value) if isinstance(part, ir.Load)))
        if len(loads) != 1 or not self._facts.is_certain(loads[0].tensor.name):
            raise Unfit
        (load,) = loads
        self.tensor = load.tensor.name
        element = ir.Local("element", load.type, varies=True)
        folds = list(dict.fromkeys(part for part in ir.walk(value) if isinstance(part, ir.Fold)))
        if folds:
            names = {fold: f"total{number}" for number, fold in enumerate(folds)}
            found = {name: self._sum(fold, load, element) for fold, name in names.items()}
            if len({taps for taps, _ in found.values()}) != 1:
                raise Unfit
            first, last, takes, weight = next(taps for taps, _ in found.values())
            totals = {name: term for name, (_, term) in found.items()}
            new: dict[ir.Expr, ir.Expr] = {
                fold: ir.Local(name, ir.FLOAT, varies=True) for fold, name in names.items()
            }
        else:
            first, last, takes, weight = self._axis(load.coordinate), None, None, None
            totals, new = {}, {load: element}
        made = ir.substitute(value, new)
        if any(part == ir.AT or isinstance(part, ir.Load | ir.Entry) for part in ir.walk(made)):
            raise Unfit
        taps = Taps(first, last, takes, weight, self._of_result, self._of_tap)
        return Mode(when, taps, element, totals, made)

    def _sum(
        self, fold: ir.Fold, load: ir.Load, element: ir.Local
    ) -> tuple[tuple[ir.Expr, ir.Expr, ir.Expr | None, ir.Expr | None], ir.Expr | None]:
        """The first and last taps of a sum, which of them contribute, their weights, and the weighted
        term."""
        found = fit("sum(body for tap in ndindex(first, last) if takes)", fold)
        tap = found.tap
        if load.coordinate != tap or fold.type != ir.FLOAT:
            raise Unfit
        factors = factors_of(found.body)
        weights = [one for one in factors if isinstance(one, ir.Reduce) and one.kind == "product"]
        others = [one for one in factors if one not in weights]
        if len(weights) > 1 or len(others) > 1:
            raise Unfit
        term = ir.substitute(others[0], {load: element}) if others else None
        parts = () if term is None else ir.walk(term)
        if any(part in (ir.AT, tap) or isinstance(part, ir.Entry) for part in parts):
            raise Unfit
        takes = None if found.takes is None else self._axis(found.takes, "all({})", tap)
        weight = self._axis(weights[0], "product({})", tap) if weights else None
        return (self._axis(found.first), self._axis(found.last), takes, weight), term

    def _axis(self, node: ir.Expr, form: str = "[{}]", tap: ir.Local | None = None) -> ir.Expr:
        """The entry of a list, a product or a test for one dimension, as an expression of an axis."""
        found = fit(form.format("body for d in range(rank)"), node)
        if not isinstance(node, ir.Reduce) or not is_known(found.rank):
            raise Unfit
        self.ranks.add(found.rank)
        new: dict[ir.Expr, ir.Expr] = {ir.Index(ir.AT, found.d): RESULT, found.d: DIMENSION}
        if tap is not None:
            new[ir.Index(tap, found.d)] = TAP
        body = ir.substitute(found.body, new)
        entries: dict[ir.Expr, ir.Expr] = {
            part: self._entry(part) for part in ir.walk(body) if isinstance(part, ir.Entry)
        }
        body = ir.substitute(body, entries)
        if any(part in (ir.AT, tap) or isinstance(part, ir.Load | ir.Fold) for part in ir.walk(body)):
            raise Unfit
        return body

    def _entry(self, entry: ir.Entry) -> ir.Local:
        """The local that represents an entry of an intermediate tensor, whose value is recorded."""
        tensor = self._tensors[entry.tensor]
        index = fit("[d, index]", entry.coordinate, d=DIMENSION).index
        size = fit("[dims, size]", tensor.sizes).size
        if index not in (RESULT, TAP):
            raise Unfit
        value = written(tensor.value, {})
        axis = ir.substitute(value, {ir.at(0): DIMENSION, ir.at(1): index})
        is_plain = not any(
            part == ir.AT or isinstance(part, ir.Load | ir.Entry | ir.Fold) for part in ir.walk(axis)
        )
        if not is_plain or tensor.type != ir.FLOAT:
            raise Unfit
        last = ir.Binary("-", size, ir.ONE, ir.INT)
        held = ir.Call("clamp", (index, ir.ZERO, last), ir.INT)  # as reads of intermediate tensors are
        known, suffix = (self._of_tap, "OfTap") if index == TAP else (self._of_result, "OfResult")
        name = ir.Local(f"{tensor.name[0].lower()}{tensor.name[1:]}{suffix}", ir.FLOAT, varies=True)
        known[name] = ir.substitute(value, {ir.at(0): DIMENSION, ir.at(1): held})
        return name
