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
from types import SimpleNamespace

from dmlgen.analysis.pattern import Unfit, fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import entries_of, factors_of, is_known, walk_through
from dmlgen.registry import Intermediate, OutputDefinitions
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.cases import written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts

DIMENSION, RESULT, TAP = (ir.Local(name, ir.INT, varies=True) for name in ("d", "i", "p"))
"""In expressions of an axis: its number, the output's coordinate along it, and that of a tap."""


_TAP = "[first for b in range(rank)]"
_BOX = f"for tap in ndindex({_TAP}, [last for b in range(rank)]) if test"
_WEIGHT = "product(weight for d in range(rank))"
_SUMS = tuple(f"sum({body} {_BOX})" for body in (f"{_WEIGHT} * term", _WEIGHT, "term"))
_TEST = "all(takes for d in range(rank))"


@dataclass(frozen=True)
class Mode:
    """An output made from taps where `when` holds: `value` is a function of locals.

    Those are weighted sums over the box, `totals` by name, each of a term, which is a function of the local
    `element`, or None for 1; or `element` itself if there is a single tap. Taps along an axis are those from
    `first` up to but not including `last` for which `takes` holds, each with its `weight`. Without `last`,
    `first` is the only one; without `takes` all contribute, and without `weight` each weighs 1. `taps` has
    these by name: `first` and `last` as expressions of DIMENSION and RESULT, the others of these and TAP.
    They may read intermediate tensors whose entries depend on no element.
    """

    when: ir.Expr
    taps: Mapping[str, ir.Expr]
    element: ir.Local
    totals: Mapping[str, ir.Expr | None]
    value: ir.Expr


@dataclass(frozen=True)
class Separable(FastForm):
    """A faster way to compute an output from taps on a tensor, along each of `rank` dimensions
    (`schedules`)."""

    output: str
    tensor: str
    rank: ir.Expr
    modes: tuple[Mode, ...]

    def entries(self, index: ir.Expr) -> list[ir.Entry]:
        """The entries of intermediate tensors that taps read at DIMENSION and `index`."""
        values = (value for mode in self.modes for value in mode.taps.values())
        found = dict.fromkeys(entry for value in values for entry in entries_of(value))
        return [one for one in found if one.coordinate == ir.ListOf((DIMENSION, index))]


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Separable | None:
    """The taps that the output of a definition amounts to."""
    output, *others = defines.outputs
    if others or not facts.is_certain(output) or facts.may_be(output, "float", 64):
        return None
    if all(part.type != ir.FLOAT for part in walk_through(defines.outputs[output])):
        return None  # coordinates that take only integers are found faster than tabulated
    tensors = {one.name: one for one in defines.tensors}
    modes, shapes = list[Mode](), set[tuple[str, ir.Expr]]()
    for when, value in _choices(written(defines.outputs[output], {})):
        with suppress(Unfit):
            mode, shape = _mode(when, value, tensors)
            modes.append(mode)
            shapes.add(shape)
    if len(shapes) != 1:
        return None
    ((tensor, rank),) = shapes
    return Separable(output, tensor, rank, tuple(modes)) if facts.is_certain(tensor) else None


def _choices(value: ir.Expr, *known: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The value in each case that the description distinguishes."""
    match value:
        case ir.Conditional(test, then, otherwise) if is_known(test):
            yield from _choices(then, *known, test)
            yield from _choices(otherwise, *known, ir.opposite(test))
        case _:
            yield (ir.Logic("and", known) if len(known) > 1 else (*known, ir.Number(True, ir.BOOL))[0]), value


def _mode(
    when: ir.Expr, value: ir.Expr, tensors: Mapping[str, Intermediate]
) -> tuple[Mode, tuple[str, ir.Expr]]:
    """An output in one case, with the tensor and the number of axes."""
    loads = set(loads_of(value))
    folds = dict.fromkeys(filter(ir.is_fold, ir.walk(value)))
    if len(loads) != 1:
        raise Unfit
    (load,) = loads
    element = ir.Local("element", load.type, varies=True)
    totals: dict[str, ir.Expr | None] = {}
    new: dict[ir.Expr, ir.Expr] = {} if folds else {load: element}
    boxes = [] if folds else [fit(_TAP, load.coordinate, tap=TAP)]
    for number, fold in enumerate(folds):
        found = next(filter(None, (match(form, fold, tap=load.coordinate) for form in _SUMS)), None)
        if found is None or fold.type != ir.FLOAT:
            raise Unfit
        boxes.append(found)
        term = ir.substitute(found.term, {load: element}) if hasattr(found, "term") else None
        if term is not None and (len(factors_of(term)) > 1 or _reads(term, found.tap)):
            raise Unfit
        totals[f"total{number}"] = term
        new[fold] = ir.Local(f"total{number}", ir.FLOAT, varies=True)
    made = ir.substitute(value, new)
    taps, *others = (_taps(one, tensors) for one in boxes)
    shape, *other_shapes = {(load.tensor.name, one.rank) for one in boxes}
    if other_shapes or any(one != taps for one in others) or _reads(made):
        raise Unfit
    return Mode(when, taps, element, totals, made), shape


def _taps(found: SimpleNamespace, tensors: Mapping[str, Intermediate]) -> Mapping[str, ir.Expr]:
    """The taps along an axis, by the bodies of the loops over all dimensions."""
    if getattr(found, "test", None) is not None:
        found = fit(_TEST, found.test, **vars(found))
    taps: dict[str, ir.Expr] = {}
    for name, variable in (("first", "b"), ("last", "b"), ("takes", "d"), ("weight", "d")):
        if (body := getattr(found, name, None)) is None:
            continue
        d = getattr(found, variable)
        body = ir.substitute(body, {ir.Index(ir.AT, d): RESULT, ir.Index(found.tap, d): TAP, d: DIMENSION})
        entries = [part for part in ir.walk(body) if isinstance(part, ir.Entry) and _is_fixed(part, tensors)]
        if not is_known(found.rank) or _reads(
            ir.substitute(body, dict.fromkeys(entries, DIMENSION)), found.tap
        ):
            raise Unfit
        taps[name] = body
    return taps


def _is_fixed(entry: ir.Entry, tensors: Mapping[str, Intermediate]) -> bool:
    """Whether an entry along an axis, of the result or a tap, depends on no element."""
    indices = [ir.ListOf((DIMENSION, index)) for index in (RESULT, TAP)]
    value = ir.substitute(written(tensors[entry.tensor].value, {}), {ir.at(0): DIMENSION, ir.at(1): RESULT})
    return entry.coordinate in indices and not _reads(value)


def _reads(value: ir.Expr, tap: ir.Local = ir.AT) -> bool:
    """Whether a value depends on whole coordinates or on elements."""
    return any(
        part in (ir.AT, tap) or isinstance(part, ir.Load | ir.Entry) or ir.is_fold(part)
        for part in ir.walk(value)
    )
