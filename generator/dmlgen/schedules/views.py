"""Views: tensors of the description that have the entries of an intermediate tensor of four dimensions, each
dimension along one of their own. Code that reads or writes the intermediate tensor can access the other one
directly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce

from dmlgen.analysis.pattern import Unfit, fit, match
from dmlgen.expr import ir
from dmlgen.registry import Intermediate
from dmlgen.schedules.access import entries, loads_of, raveled
from dmlgen.schedules.cases import written

BATCH, HEAD, ROW, ELEMENT = map(ir.at, range(4))
LABELS = {BATCH: 8, HEAD: 9, ROW: 10, ELEMENT: 11}
MERGED = 12
"""Labels of dimensions (`View`, in `plans/definition_types.py`)."""

_REST = "new if in_bounds([at[2] - past], [count]) else old"
_FIRST = "entry if is_there and at[2] < limit else rest"
_HEADS = (
    "Target[[place[0], unravel_index(place[2], [heads, width])[0], place[1],"
    " unravel_index(place[2], [heads, width])[1]]]"
)


@dataclass(frozen=True)
class View:
    """A tensor, and the labels of its dimensions, four bits each, the last one's lowest; unless a tensor is
    present that has something else than entries, such as a bias (`without`)."""

    tensor: str
    labels: int
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Views:
    """The views of rows from number `past` on, and of those before; of each, the first one that is present
    counts."""

    rows: Sequence[View] = ()
    before: Sequence[View] = ()
    past: ir.Expr = ir.ZERO


def views_of(tensor: Intermediate) -> Views:
    """The views of an intermediate tensor; none if it has other entries, too."""
    value, sizes = _written(tensor)
    others = sorted({load.tensor.name for load in loads_of(value)} - _read(value))
    plain, total = (_assuming(node, dict.fromkeys(others, False)) for node in (value, sizes[2]))
    box = ((HEAD, ELEMENT), (sizes[1], sizes[3]))
    merged: list[ir.Expr] = [raveled(*box), ir.Call("ravel_index", tuple(map(ir.ListOf, box)), ir.INT)]
    labels = LABELS | dict.fromkeys(merged, MERGED)
    with suppress(Unfit):
        split = match(_REST, plain)
        if split is None:
            return Views(tuple(_views(plain, labels, others)))
        past, first = split.past, fit(_FIRST, split.old)
        (old,) = _views(first.entry, labels, others)
        fits = total == ir.Binary("+", past, split.count, ir.INT)
        fits = fits and first.limit in (past, ir.Call("min", (past, past), ir.INT))
        if fits and first.is_there == ir.Present(ir.Tensor(old.tensor)):
            labels[ir.Binary("-", ROW, past, ir.INT)] = labels.pop(ROW)
            return Views(tuple(_views(split.new, labels, others)), (old,), past)
    return Views()


def views_in(output: str, value: ir.Expr, tensor: Intermediate) -> Iterator[View]:
    """The view of an intermediate tensor in an output, if that contains nothing else: with the same
    coordinates, or with rows before heads, which are merged with elements."""
    _, sizes = _written(tensor)
    whole, known = written(value, {}), {"Target": ir.Tensor(tensor.name)}
    plain, heads = match("Target[place]", whole, **known), match(_HEADS, whole, **known)
    if plain and plain.place in (ir.AT, _aligned(4)):
        yield View(output, _packed(LABELS.values()))
    elif heads and (heads.place, heads.heads, heads.width) == (_aligned(3), sizes[1], sizes[3]):
        yield View(output, _packed((LABELS[BATCH], LABELS[ROW], MERGED)))


def _written(tensor: Intermediate) -> tuple[ir.Expr, Sequence[ir.Expr]]:
    return written(tensor.value, {}), entries(written(tensor.sizes, {}))


def _views(node: ir.Expr, labels: Mapping[ir.Expr, int], without: Sequence[str]) -> Iterator[View]:
    """The tensors of whose elements a value is one, in the order in which it asks which are present. Raises
    Unfit for any other value."""
    match node:
        case ir.Conditional(ir.Present(ir.Tensor(name)), ir.Load(ir.Tensor(read)) as one, otherwise) if (
            name == read
        ):
            within = {_assuming(item, {name: True}): label for item, label in labels.items()}
            yield from _views(one, within, without)
            yield from _views(otherwise, labels, without)
        case ir.Binary("+", one, ir.Number(value=0)):
            yield from _views(one, labels, without)
        case ir.Load(tensor, coordinate):
            yield View(tensor.name, _packed(_labels(coordinate, labels)), without)
        case _:
            raise Unfit


def _labels(coordinate: ir.Expr, labels: Mapping[ir.Expr, int]) -> Iterator[int]:
    match coordinate:
        case ir.Call("align", (inner, _, ir.Number(value=0))):
            coordinate = inner
    for item in LABELS if coordinate == ir.AT else entries(coordinate):
        match labels.get(item, item):
            case int(label) | ir.Number(value=int(label)) if 0 <= label <= MERGED:
                yield label
            case _:
                raise Unfit


def _assuming(node: ir.Expr, are_present: Mapping[str, bool]) -> ir.Expr:
    """The expression where some tensors are present, and others absent."""
    tests: dict[ir.Expr, ir.Expr] = {
        ir.Present(ir.Tensor(name)): ir.Number(one, ir.BOOL) for name, one in are_present.items()
    }
    return written(ir.substitute(node, tests), {})


def _packed(labels: Iterable[int]) -> int:
    return reduce(lambda before, label: before << 4 | label, labels)


def _aligned(length: int) -> ir.Expr:
    return ir.Call("align", (ir.AT, ir.Number(length, ir.INT), ir.ZERO), ir.INTS)


def _read(node: ir.Expr) -> set[str]:
    """The tensors of which a value may be an element."""
    match node:
        case ir.Conditional(_, then, otherwise):
            return _read(then) | _read(otherwise)
        case ir.Binary("+", one):
            return _read(one)
        case ir.Load(tensor):
            return {tensor.name}
    return set()
