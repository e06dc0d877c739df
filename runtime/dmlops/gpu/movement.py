"""The memory movement behind an operator's description: which element goes where, as strides.

That is linear, so the operator's own function of a coordinate, called at the first coordinate and at those
next to it, determines all. Nothing here needs a GPU. Offsets, strides and sizes are in elements, not bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..coordinates import Coordinates, normalize_index
from .plans.operands import NO_MEMBER, Lookup, Movement
from .plans.planning import Refused
from .plans.reasons import Reason


@dataclass(frozen=True, slots=True)
class Place:
    """An element of a tensor, as an operator's result or as an index: its offset, and the coordinates that
    indices supply at run time, each with its stride."""

    tensor: str
    offset: int
    lookups: tuple[tuple[Selected, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Selected:
    """A coordinate that an index supplies at run time."""

    index: Place
    size: int


@normalize_index.register
def _(index: Place, size: int) -> Selected:
    return Selected(index, size)


def place_of(tensor: str, at: Coordinates, strides: Iterable[int]) -> Place:
    """The element at a coordinate. Raises TypeError if that has anything but numbers and what is selected."""
    offset, selected = 0, []
    for coordinate, stride in zip(at, strides, strict=True):
        if isinstance(coordinate, Selected):
            selected.append((coordinate, stride))
        else:
            offset += coordinate * stride
    return Place(tensor, offset, tuple(selected))


def reads(desc: Any, name: str, at: Coordinates, entry: int | None = None) -> Place:
    """The element of a description's tensor, or of an entry of an array of them."""
    tensor, label = getattr(desc, name), name
    if entry is not None:
        tensor, label = tensor[entry], f"{name}[{entry}]"
    return place_of(label, at, tensor.element_strides)


def places(function: Callable[[Coordinates], Place], rank: int) -> list[Place]:
    """The place of the first coordinate, and then those of the next one along each dimension."""
    return [function(tuple(int(e == d) for e in range(rank))) for d in range(-1, rank)]


def movement_of(desc: Any, target: Callable[..., Coordinates], visited: str, moved: str) -> Movement:
    """The places that indices select in the tensor `moved`, for coordinates of the tensor `visited`. Raises
    Refused if planners cannot follow that."""
    strides, load = getattr(desc, moved).element_strides, partial(reads, desc)
    try:
        first, *others = places(
            lambda at: place_of(moved, target(desc, at, load), strides), len(getattr(desc, visited).Sizes)
        )
    except TypeError:
        raise Refused(Reason.UNSUPPORTED_INDEXING, NO_MEMBER, 0) from None
    indices = [selected.index for selected, _ in first.lookups]
    steps = [
        {one.index.offset - base.offset for (one, _), base in zip(other.lookups, indices, strict=True)}
        for other in others
    ]
    are_nested = any(one.lookups for one in indices)
    if not indices or are_nested or first.offset or any(len(step) > 1 for step in steps):
        raise Refused(Reason.UNSUPPORTED_INDEXING, NO_MEMBER, 0)
    return Movement(
        tuple(other.offset for other in others),
        tuple(step for (step,) in steps),
        [Lookup(one.size, stride, one.index.offset) for one, stride in first.lookups],
    )
