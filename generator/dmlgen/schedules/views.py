"""Views: intermediate tensors that only contain elements of one tensor of the description, at linear
functions of their own coordinates, and outputs that contain the entries of an intermediate tensor at such
places. Code that reads or writes the intermediate tensor can access the other one directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import fit, match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import asks_presence, is_known
from dmlgen.registry import Intermediate
from dmlgen.schedules.access import entries, is_sum, raveled, term
from dmlgen.schedules.cases import written


@dataclass(frozen=True)
class View:
    """The entry at `at` of an intermediate tensor, where all `conditions` hold: `element`, an element of a
    tensor, or conditionals of such that depend only on the description. It is valid only if each of
    `numbers`, also linear functions, is in [0, limit) at all coordinates."""

    conditions: tuple[ir.Expr, ...]
    numbers: tuple[ir.Expr, ...]
    limits: tuple[ir.Expr, ...]
    element: ir.Expr

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors whose elements it may be."""
        loads = (part for part in ir.walk(self.element) if isinstance(part, ir.Load))
        return tuple(dict.fromkeys(part.tensor.entry for part in loads))

    def tensor(self, numbers: Mapping[str, int]) -> ir.Expr:
        """The number of its tensor, -1 if a condition does not hold."""
        found = _each(self.element, lambda load: ir.Number(numbers[load.tensor.entry], ir.INT))
        for one in self.conditions:
            found = ir.Conditional(one, found, ir.Number(-1, ir.INT))
        return found

    def place(self, entry: int | None) -> ir.Expr:
        """Its coordinate, followed by the numbers, at the first entry of all; or the increment of these for
        each unit of an entry of `at`."""
        numbers = tuple(term(one, entry) for one in self.numbers)
        found = _each(self.element, lambda load: _entrywise(load.coordinate, lambda one: term(one, entry)))
        return self._simplified(ir.Binary("+", found, ir.ListOf(numbers), ir.INTS) if numbers else found)

    @property
    def bounds(self) -> ir.Expr:
        """The limits as one list."""
        limits = ir.ListOf(self.limits)
        return self._simplified(limits) if self.limits else limits

    def _simplified(self, numbers: ir.Expr) -> ir.Expr:
        """Numbers, or none where absent tensors would make them meaningless."""
        for one in self.conditions:
            if asks_presence(one):
                numbers = ir.Conditional(one, numbers, ir.ListOf(()))
        return numbers


def view_of(tensor: Intermediate) -> View | None:
    """The elements that an intermediate tensor consists of, if these are all."""
    with suppress(Unfit):
        return _view(_value(tensor))
    return None


def view_before(tensor: Intermediate) -> View | None:
    """The elements of an intermediate tensor where a number is out of its limits, if it has others where it
    is within; they must be all that it has there, within their own limits."""
    with suppress(Unfit):
        match _value(tensor):
            case ir.Conditional(ir.Call("in_bounds"), _, otherwise) if (found := _view(otherwise)).limits:
                return found
    return None


def _value(tensor: Intermediate) -> ir.Expr:
    """The value of an intermediate tensor, with the entries of `at` spelled out where all of it is
    aligned."""
    value, sizes = written(tensor.value, {}), written(tensor.sizes, {})
    if not isinstance(sizes, ir.ListOf):
        return value
    whole = ir.ListOf(tuple(ir.at(place) for place in range(len(sizes.items))))
    aligned = (part for part in ir.walk(value) if isinstance(part, ir.Call) and part.function == "align")
    return ir.substitute(
        value,
        {
            one: replace(one, arguments=(whole, *one.arguments[1:]))
            for one in aligned
            if one.arguments[0] == ir.AT
        },
    )


def view_in(output: str, value: ir.Expr, target: str) -> View | None:
    """The locations of an intermediate tensor's entries in an output, if that contains nothing else.

    Each coordinate there is one of the output's, or a part of one that is split in a box (`unflat`).
    """
    with suppress(Unfit):
        found = fit("Whole[place]", written(value, {}), Whole=ir.Tensor(target))
        aligned = match("align(list_, rank, fill)", found.place)
        if aligned is None:
            return _turned([_source(item) for item in entries(found.place)], output)
        if isinstance(aligned.rank, ir.Number):
            places = (ir.Number(place, ir.INT) for place in range(int(aligned.rank.value)))
            return _turned([_source(ir.Index(found.place, place)) for place in places], output)
    return None


class _Source(NamedTuple):
    """The source of a coordinate: entry `dimension` of a list, or `part` of its split in a box."""

    sequence: ir.Expr
    dimension: int
    box: tuple[ir.Expr, ...]
    part: int


def _turned(sources: Sequence[_Source], output: str) -> View:
    """The place in an output of the entry whose coordinate comes from these sources."""
    entries = {one: ir.at(place) for place, one in enumerate(sources)}
    boxes = {one.dimension: one.box for one in sources}
    numbers, limits, place = list[ir.Expr](), list[ir.Expr](), list[ir.Expr]()
    for dimension, box in sorted(boxes.items()):
        own = [sources[0]._replace(dimension=dimension, box=box, part=part) for part in range(len(box) or 1)]
        if dimension != len(place) or not entries.keys() >= set(own):
            raise Unfit
        parts = [entries[one] for one in own]
        numbers += parts if box else []
        limits += box
        place.append(raveled(parts, box))
    if sum(len(box) or 1 for box in boxes.values()) != len(sources):
        raise Unfit
    rank = ir.Field(ir.Tensor(output), "DimensionCount", ir.INT)
    aligned = ir.Call("align", (ir.ListOf(tuple(place)), rank, ir.ZERO), ir.INTS)
    return View((), tuple(numbers), tuple(limits), ir.Load(ir.Tensor(output), aligned, ir.FLOAT))


def _source(node: ir.Expr) -> _Source:
    split = match("unravel_index(whole, box)[part]", node)
    found = fit("list_[dimension]", split.whole if split else node)
    box = entries(split.box) if split else ()
    numbers = (found.dimension, split.part if split else ir.ZERO)
    aligned = None if found.list_ == ir.AT else fit("align(at, rank, 0)", found.list_)
    if not all(isinstance(one, ir.Number) for one in (*numbers, *([aligned.rank] if aligned else []))):
        raise Unfit
    return _Source(found.list_, int(numbers[0].value), box, int(numbers[1].value))


def _view(node: ir.Expr) -> View:
    """The view that a value amounts to. Raises Unfit if there is none.

    Ends: each call takes a part of the value, or decides one of its conditions.
    """
    inner = node
    match node:
        case ir.Conditional(test) if not is_known(test):
            inner = test
    decided = _decision(inner)
    if decided is not None:
        return _either(decided, *(_decided(node, decided, holds) for holds in (True, False)))
    match node:
        case ir.Conditional(test, then):
            tests = test.operands if isinstance(test, ir.Logic) and test.op == "and" else (test,)
            bounds = [bound for one in tests if not is_known(one) for bound in _bounds(one)]
            rest = _view(then)
            return replace(
                rest,
                conditions=(*filter(is_known, tests), *rest.conditions),
                numbers=(*(number for number, _ in bounds), *rest.numbers),
                limits=(*(limit for _, limit in bounds), *rest.limits),
            )
        case ir.Binary("+", one, ir.Number(value=0)):
            return _view(one)
        case ir.Load(tensor, coordinate):
            return View((), (), (), ir.Load(tensor, _entrywise(coordinate, _sum), node.type))
    raise Unfit


def _bounds(node: ir.Expr) -> list[tuple[ir.Expr, ir.Expr]]:
    """The numbers that a test bounds, each with its exclusive upper limit."""
    match node:
        case ir.Compare("<", number, limit):
            found = [(_sum(number), limit)]
        case ir.Call("in_bounds", (ir.ListOf(numbers), ir.ListOf(limits))) if len(numbers) == len(limits):
            found = list(zip(map(_sum, numbers), limits, strict=True))
        case _:
            raise Unfit
    if not all(is_known(limit) for _, limit in found):
        raise Unfit
    return found


def _decision(node: ir.Expr) -> ir.Expr | None:
    """A condition in a value that depends only on the description, except within numbers that do so
    anyway."""
    if is_known(node):
        return None
    if isinstance(node, ir.Conditional) and is_known(node.test):
        return node.test
    return next((found for part in ir.children(node) if (found := _decision(part)) is not None), None)


def _decided(node: ir.Expr, test: ir.Expr, holds: bool) -> ir.Expr:
    """The value, given whether a test holds."""
    found = (part for part in ir.walk(node) if isinstance(part, ir.Conditional) and part.test == test)
    return ir.substitute(node, {part: part.then if holds else part.otherwise for part in found})


def _either(test: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> View:
    """The view that is one value where a test holds, and the other where it does not."""
    yes, no = _view_or_none(then), _view_or_none(otherwise)
    if yes is None and no is not None:
        return replace(no, conditions=(ir.Not(test), *no.conditions))
    if yes is not None and no is None:
        return replace(yes, conditions=(test, *yes.conditions))
    if yes is None or no is None or replace(yes, element=no.element) != no:
        raise Unfit
    return replace(yes, element=ir.Conditional(test, yes.element, no.element))


def _view_or_none(node: ir.Expr) -> View | None:
    with suppress(Unfit):
        return _view(node)
    return None


def _sum(node: ir.Expr) -> ir.Expr:
    """A number, which must be a linear function of the entries of `at`, each named by a literal."""
    match node:
        case ir.Call("ravel_index", (ir.ListOf(items), ir.ListOf(box))):
            node = raveled(items, box)
    entries = (part for part in ir.walk(node) if isinstance(part, ir.Index) and part.sequence == ir.AT)
    if not is_sum(node, ir.AT) or not all(isinstance(entry.index, ir.Number) for entry in entries):
        raise Unfit
    return node


def _entrywise(coordinate: ir.Expr, made: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """A coordinate, which may be aligned, with what `made` returns for each entry."""
    match coordinate:
        case ir.Call("align", (list_, length, fill)):
            return ir.Call("align", (_entrywise(list_, made), length, made(fill)), ir.INTS)
        case ir.ListOf(items):
            return ir.ListOf(tuple(map(made, items)))
    raise Unfit


def _each(element: ir.Expr, made: Callable[[ir.Load], ir.Expr]) -> ir.Expr:
    """The conditionals with each element replaced by what `made` returns for it."""
    if isinstance(element, ir.Conditional):
        then, otherwise = _each(element.then, made), _each(element.otherwise, made)
        return then if then == otherwise else ir.Conditional(element.test, then, otherwise)
    assert isinstance(element, ir.Load)
    return made(element)
