"""The memory movement behind an operator's description: which element goes where, as strides.

The operator's own function of a coordinate is called with symbols in place of coordinates, and the strides
are read off the result. Nothing here needs a GPU. Offsets, strides and sizes are in elements, not bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..coordinates import Coordinates, normalize_index
from .plans.operands import Lookup, Movement

NO_MOVEMENT = Movement((), (), (), False)


@dataclass(slots=True)
class Linear:
    """A weighted sum of coordinates and looked-up coordinates, plus a constant."""

    constant: int = 0
    coordinates: dict[int, int] = field(default_factory=dict)  # dimension -> factor
    lookups: dict[Wrapped, int] = field(default_factory=dict)  # looked-up coordinate -> factor

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.coordinates, self.lookups)
        return Linear(
            self.constant + other.constant,
            _sum(self.coordinates, other.coordinates),
            _sum(self.lookups, other.lookups),
        )

    def __mul__(self, factor: int) -> Linear:
        if not isinstance(factor, int):
            return NotImplemented
        return Linear(
            self.constant * factor,
            {key: value * factor for key, value in self.coordinates.items()},
            {key: value * factor for key, value in self.lookups.items()},
        )

    __radd__ = __add__
    __rmul__ = __mul__


def _sum(left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
    if not (left and right):
        return left or right
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}


@dataclass(slots=True)
class Read:
    """The value of a tensor element, as an operator's result or as an index."""

    tensor: str
    offset: Linear


@dataclass(slots=True, eq=False)
class Wrapped:
    """A coordinate that an index tensor supplies at run time."""

    index: Read
    size: int


@normalize_index.register
def _(index: Read, size: int) -> Linear:
    return Linear(lookups={Wrapped(index, size): 1})


def coordinates(rank: int) -> tuple[Linear, ...]:
    """The symbolic coordinate that represents all coordinates of that rank."""
    return tuple(Linear(coordinates={dimension: 1}) for dimension in range(rank))


def reads(desc: Any, name: str, at: Coordinates) -> Read:
    """The element of a description's tensor."""
    return Read(name, offset_of(at, getattr(desc, name).element_strides))


def offset_of(at: Coordinates, strides: Iterable[int]) -> Linear:
    """The offset of a coordinate. Raises AttributeError or TypeError if it is not a sum of symbols."""
    place = Linear()
    for coordinate, stride in zip(at, strides, strict=True):
        if isinstance(coordinate, int):
            place.constant += coordinate * stride
        else:
            place.constant += coordinate.constant * stride
            _add(place.coordinates, coordinate.coordinates, stride)
            _add(place.lookups, coordinate.lookups, stride)
    return place


def _add(to: dict[Any, int], terms: dict[Any, int], factor: int) -> None:
    for key, value in terms.items():
        to[key] = to.get(key, 0) + value * factor


def movement(offset: Any, rank: int) -> Movement:
    """The movement described by an offset, as a function of coordinates of that rank."""
    if not isinstance(offset, Linear) or not offset.lookups or offset.constant:
        return NO_MOVEMENT
    indices = [wrapped.index.offset for wrapped in offset.lookups]
    steps = indices[0].coordinates
    if any(index.lookups or index.coordinates != steps for index in indices):
        return NO_MOVEMENT
    return Movement(
        [offset.coordinates.get(dimension, 0) for dimension in range(rank)],
        [steps.get(dimension, 0) for dimension in range(rank)],
        [Lookup(one.size, stride, one.index.offset.constant) for one, stride in offset.lookups.items()],
        True,
    )
