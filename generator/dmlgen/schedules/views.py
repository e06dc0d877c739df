"""Views: where the entries of an intermediate tensor of four dimensions are in a tensor of the description,
if it only contains elements of that, at linear functions of their own coordinates. Code that reads or writes
the intermediate tensor can access the other one directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from dmlgen.analysis.elements import Unfit
from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_known
from dmlgen.schedules.access import either, linear_parts, raveled
from dmlgen.schedules.cases import written

RANK = 4
_KEYS: tuple[ir.Expr, ...] = (ir.ONE, *map(ir.at, range(RANK)))


@dataclass(frozen=True)
class View:
    """The number of a tensor, -1 for none; the coordinate of the first entry there, and the steps from it for
    each unit of an entry's own coordinate. Further numbers may follow these, which must be in [0, limit) for
    all entries."""

    tensor: ir.Expr
    first: ir.Expr
    batch: ir.Expr
    head: ir.Expr
    row: ir.Expr
    element: ir.Expr
    limits: ir.Expr

    @property
    def tensors(self) -> frozenset[int]:
        """The tensors that it may be in."""
        return frozenset(number for number in _leaves(self.tensor) if number >= 0)


_NONE = ir.ListOf(())
NO_VIEW = View(ir.Number(-1, ir.INT), _NONE, _NONE, _NONE, _NONE, _NONE, _NONE)

_Bounds = Sequence[tuple[ir.Expr, ir.Expr]]
"""Numbers, each with its exclusive upper limit."""

_TARGET = "Target[at_]"
_MERGED = (
    "Target[[at_[0], unravel_index(at_[2], [heads, width])[0], at_[1],"
    " unravel_index(at_[2], [heads, width])[1]]]"
)


def view_of(value: ir.Expr, numbers: Mapping[str, int]) -> View:
    """The view of a tensor with that value, written out; `numbers` are those of the description's tensors."""
    return _view(value, numbers, ())


def view_before(value: ir.Expr, numbers: Mapping[str, int]) -> View:
    """The view of the entries of which a number is out of its limits, if the value has others where it is
    within. Limits must tell which these are."""
    match value:
        case ir.Conditional(ir.Call("in_bounds"), _, otherwise):
            found = view_of(otherwise, numbers)
            return NO_VIEW if found.limits == NO_VIEW.limits else found
    return NO_VIEW


def view_in(output: str, value: ir.Expr, target: str, numbers: Mapping[str, int]) -> View:
    """The view of an intermediate tensor in an output, if that contains nothing else: with the same
    coordinates, or with rows before heads, which are merged with elements."""
    whole = written(value, {})
    entries: list[ir.Expr] = [ir.at(place) for place in range(RANK)]
    bounds: _Bounds = ()
    merged = match(_MERGED, whole, Target=ir.Tensor(target))
    if merged is not None:
        batch, head, row, element = entries
        bounds = ((head, merged.heads), (element, merged.width))
        entries = [batch, row, raveled((head, element), (merged.heads, merged.width))]
    found = merged or match(_TARGET, whole, Target=ir.Tensor(target))
    own = ir.Call("align", (ir.AT, ir.Number(len(entries), ir.INT), ir.ZERO), ir.INTS)
    if found is None or found.at_ not in (ir.AT, own):
        return NO_VIEW
    rank = ir.Field(ir.Tensor(output), "DimensionCount", ir.INT)
    place = ir.Call("align", (ir.ListOf(tuple(entries)), rank, ir.ZERO), ir.INTS)
    return _placed(numbers[output], place, bounds)


def _view(node: ir.Expr, numbers: Mapping[str, int], bounds: _Bounds) -> View:
    """The view that a value amounts to, where numbers are within bounds.

    Ends: each call takes a part of the value, or decides one of its conditions.
    """
    inner = node.test if isinstance(node, ir.Conditional) and not is_known(node.test) else node
    decided = _decision(inner)
    if decided is not None:
        yes, no = (_view(_decided(node, decided, holds), numbers, bounds) for holds in (True, False))
        return _where(decided, yes, no)
    with suppress(Unfit):
        match node:
            case ir.Conditional(test, then):
                tests = test.operands if isinstance(test, ir.Logic) and test.op == "and" else (test,)
                more = [bound for one in tests if not is_known(one) for bound in _bounds(one)]
                found = _view(then, numbers, (*bounds, *more))
                for one in filter(is_known, tests):
                    found = _where(one, found, NO_VIEW)
                return found
            case ir.Binary("+", one, ir.Number(value=0)):
                return _view(one, numbers, bounds)
            case ir.Load(tensor, coordinate) if tensor.entry in numbers:
                return _placed(numbers[tensor.entry], coordinate, bounds)
    return NO_VIEW


def _where(test: ir.Expr, one: View, other: View) -> View:
    """One view where a test holds, and another elsewhere; where there is none, only its tensor tells."""
    if NO_VIEW.tensor in (one.tensor, other.tensor):
        some = other if one.tensor == NO_VIEW.tensor else one
        return replace(some, tensor=either(test, one.tensor, other.tensor))
    return either(test, one, other)


def _placed(number: int, coordinate: ir.Expr, bounds: _Bounds) -> View:
    """The view in a tensor at a coordinate that is a linear function of an entry's own."""

    def each(key: ir.Expr) -> ir.Expr:
        found, more = _each(coordinate, key), tuple(_part(one, key) for one, _ in bounds)
        return ir.Binary("+", found, ir.ListOf(more), ir.INTS) if more else found

    first, batch, head, row, element = map(each, _KEYS)
    limits = ir.ListOf(tuple(limit for _, limit in bounds))
    return View(ir.Number(number, ir.INT), first, batch, head, row, element, limits)


def _bounds(test: ir.Expr) -> _Bounds:
    """The numbers that a test bounds."""
    match test:
        case ir.Compare("<", number, limit) if is_known(limit):
            return [(number, limit)]
        case ir.Call("in_bounds", (ir.ListOf(found), ir.ListOf(limits))) if all(map(is_known, limits)):
            return list(zip(found, limits, strict=True))
    raise Unfit


def _decision(node: ir.Expr) -> ir.Expr | None:
    """The last condition in a value that depends only on the description, except within numbers that do so
    anyway. What is added last, such as a bias, decides whether there is a view at all."""
    if is_known(node):
        return None
    if isinstance(node, ir.Conditional) and is_known(node.test):
        return node.test
    parts = reversed(tuple(ir.children(node)))
    return next((found for part in parts if (found := _decision(part)) is not None), None)


def _decided(node: ir.Expr, test: ir.Expr, holds: bool) -> ir.Expr:
    """The value, given whether a test holds."""
    found = (part for part in ir.walk(node) if isinstance(part, ir.Conditional) and part.test == test)
    return ir.substitute(node, {part: part.then if holds else part.otherwise for part in found})


def _part(node: ir.Expr, key: ir.Expr) -> ir.Expr:
    """The coefficient of an entry of `at`, or of 1, in a linear function of these."""
    match node:
        case ir.Call("ravel_index", (ir.ListOf(items), ir.ListOf(box))):
            node = raveled(items, box)
    parts = linear_parts(node, ir.AT)
    if not parts.keys() <= set(_KEYS):
        raise Unfit
    return parts.get(key, ir.ZERO)


def _each(coordinate: ir.Expr, key: ir.Expr) -> ir.Expr:
    """That coefficient in each entry of a coordinate, which may be aligned."""
    match coordinate:
        case ir.Call("align", (list_, length, fill)):
            return ir.Call("align", (_each(list_, key), length, _part(fill, key)), ir.INTS)
        case ir.ListOf(items):
            return ir.ListOf(tuple(_part(item, key) for item in items))
        case ir.AT:
            return ir.ListOf(tuple(ir.Number(int(key == one), ir.INT) for one in _KEYS[1:]))
    raise Unfit


def _leaves(node: ir.Expr) -> frozenset[int]:
    """The numbers that conditionals may be."""
    if isinstance(node, ir.Conditional):
        return _leaves(node.then) | _leaves(node.otherwise)
    assert isinstance(node, ir.Number)
    return frozenset((int(node.value),))
