"""The memory movement behind an operator's description: which element goes where, as strides.

The operator's own function of a coordinate is called with symbols in place of coordinates, and the strides
are read off the result. Nothing here needs a GPU. Offsets, strides and sizes are in elements, not bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..coordinates import Coordinates, normalize_index
from .plans.operands import Lookup, Movement

NO_MOVEMENT = Movement((), (), (), False)


@dataclass(slots=True)
class Linear:
    """A weighted sum of coordinates, by dimension, and of coordinates that are looked up, plus a constant."""

    constant: int = 0
    factors: Mapping[int | Wrapped, int] = field(default_factory=dict)

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.factors)
        factors = dict(self.factors)
        for key, factor in other.factors.items():
            factors[key] = factors.get(key, 0) + factor
        return Linear(self.constant + other.constant, factors)

    def __mul__(self, factor: int) -> Linear:
        if not isinstance(factor, int):
            return NotImplemented
        return Linear(self.constant * factor, {key: own * factor for key, own in self.factors.items()})

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def lookups(self) -> dict[Wrapped, int]:
        """The factors of coordinates that are looked up."""
        return {key: factor for key, factor in self.factors.items() if isinstance(key, Wrapped)}

    def strides(self, rank: int) -> tuple[int, ...]:
        """The factors of coordinates of that many dimensions."""
        return tuple(self.factors.get(dimension, 0) for dimension in range(rank))


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
    return Linear(0, {Wrapped(index, size): 1})


def coordinates(rank: int) -> tuple[Linear, ...]:
    """The symbolic coordinate that represents all coordinates of that rank."""
    return tuple(Linear(0, {dimension: 1}) for dimension in range(rank))


def reads(desc: Any, name: str, at: Coordinates) -> Read:
    """The element of a description's tensor."""
    return Read(name, offset_of(at, getattr(desc, name).element_strides))


def offset_of(at: Coordinates, strides: Iterable[int]) -> Linear:
    """The offset of a coordinate. Raises AttributeError or TypeError if it is not a sum of symbols."""
    offset = Linear()
    for coordinate, stride in zip(at, strides, strict=True):
        offset = offset + coordinate * stride
    return offset


def movement_of(desc: Any, target: Callable[..., Coordinates], visited: str, moved: str) -> Movement:
    """The places where elements are moved, or come from: a function of coordinates of the tensor `visited` in
    the tensor `moved`, called with symbols."""
    rank = len(getattr(desc, visited).Sizes)
    try:
        found = target(desc, coordinates(rank), partial(reads, desc))
        offset = offset_of(found, getattr(desc, moved).element_strides)
    except (AttributeError, TypeError):  # from an operation that symbols do not support
        return NO_MOVEMENT
    indices = [wrapped.index.offset for wrapped in offset.lookups]
    are_alike = all(not one.lookups and one.factors == indices[0].factors for one in indices)
    if not indices or offset.constant or not are_alike:
        return NO_MOVEMENT
    return Movement(
        offset.strides(rank),
        indices[0].strides(rank),
        [Lookup(one.size, stride, one.index.offset.constant) for one, stride in offset.lookups.items()],
        True,
    )
