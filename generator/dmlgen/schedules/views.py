"""Views: tensors of the description that have the entries of an intermediate tensor of four dimensions,
batch, head, row and element. Code that reads or writes the intermediate tensor can access the other one
directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dmlgen.analysis.pattern import Unfit, fit, match
from dmlgen.expr import ir
from dmlgen.registry import Intermediate
from dmlgen.schedules.access import entries, loads_of
from dmlgen.schedules.cases import written

HEADS, MERGED, STACKED = (4, 3, 2), (3, 1, 2), (5, 3, 4)
"""Axes of tensors with the same dimensions; with heads behind rows, merged with elements; and with several
tensors stacked in between."""

_COORDINATES = {
    "at": HEADS,
    "[at[0], at[1], row, at[3]]": HEADS,
    "[at[0], row, ravel_index([at[1], at[3]], [heads, width])]": MERGED,
    "[at[0], row, at[1] * width + at[3]]": MERGED,
    "[at[0], row, at[1], place, at[3]]": STACKED,
}
"""Where a view has an entry; if it has some of the rows only, that of the entry is its number `row`."""

_OUTER = "align(at, 3, 0)"
_ENTRIES = {
    "Target[at]": HEADS,
    "Target[align(at, 4, 0)]": HEADS,
    f"Target[[{_OUTER}[0], unravel_index({_OUTER}[2], [heads, width])[0], {_OUTER}[1],"
    f" unravel_index({_OUTER}[2], [heads, width])[1]]]": MERGED,
}
"""The entry that a view has, if it is an output."""

_NO_PLACE = ir.Number(-1, ir.INT)

_REST = "new if in_bounds([at[2] - past], [count]) else old"
_FIRST = "entry if is_there and at[2] < limit else rest"


@dataclass(frozen=True)
class View:
    """Fields of the planners' record: tensors by name. It is no view if one of those `without` is present,
    which have something else than entries, such as a bias."""

    tensor: str
    batch: int
    head: int
    row: int
    place: int = -1
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
    known: dict[str, ir.Expr] = {"row": ir.at(2), "heads": sizes[1], "width": sizes[3]}
    with suppress(Unfit):
        split = match(_REST, plain)
        if split is None:
            return Views(tuple(_views(plain, known, others)))
        past, first = split.past, fit(_FIRST, split.old)
        (old,) = _views(first.entry, known, others)
        fits = total == ir.Binary("+", past, split.count, ir.INT)
        fits = fits and first.limit in (past, ir.Call("min", (past, past), ir.INT))
        if fits and first.is_there == ir.Present(ir.Tensor(old.tensor)):
            known["row"] = ir.Binary("-", ir.at(2), past, ir.INT)
            return Views(tuple(_views(split.new, known, others)), (old,), past)
    return Views()


def views_in(output: str, value: ir.Expr, tensor: Intermediate) -> Iterator[View]:
    """The view of an intermediate tensor in an output, if that contains nothing else."""
    _, sizes = _written(tensor)
    known = {"Target": ir.Tensor(tensor.name), "heads": sizes[1], "width": sizes[3]}
    whole = written(value, {})
    return (View(output, *axes) for entry, axes in _ENTRIES.items() if match(entry, whole, **known))


def _written(tensor: Intermediate) -> tuple[ir.Expr, Sequence[ir.Expr]]:
    return written(tensor.value, {}), entries(written(tensor.sizes, {}))


def _views(node: ir.Expr, known: Mapping[str, ir.Expr], without: Sequence[str]) -> Iterator[View]:
    """The tensors of whose elements a value is one, in the order in which it asks which are present. Raises
    Unfit for any other value. `known` is what names in `_COORDINATES` match."""
    match node:
        case ir.Conditional(ir.Present(tensor), ir.Load(read) as one, otherwise) if tensor == read:
            within = {name: _assuming(item, {tensor.name: True}) for name, item in known.items()}
            yield from _views(one, within, without)
            yield from _views(otherwise, known, without)
        case ir.Binary("+", one, ir.Number(value=0)):
            yield from _views(one, known, without)
        case ir.Load(tensor, ir.Call("align", (coordinate, _, ir.Number(value=0))) | coordinate):
            for pattern, axes in _COORDINATES.items():
                found = match(pattern, coordinate, **known)
                match vars(found).get("place", _NO_PLACE) if found else None:
                    case ir.Number(value=int(place)):
                        yield View(tensor.name, *axes, place, without)
                        return
            raise Unfit
        case _:
            raise Unfit


def _assuming(node: ir.Expr, are_present: Mapping[str, bool]) -> ir.Expr:
    """The expression where some tensors are present, and others absent."""
    tests: dict[ir.Expr, ir.Expr] = {
        ir.Present(ir.Tensor(name)): ir.Number(one, ir.BOOL) for name, one in are_present.items()
    }
    return written(ir.substitute(node, tests), {})


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
