"""One piece of memory for tensors that live at different times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Lifetime(NamedTuple):
    """A tensor of `size` bytes, used from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int


class Arena(NamedTuple):
    """The offset of each tensor in bytes, the size of the memory, and the least size that lifetimes allow:
    the most bytes in use in any step, of which `fullest` is the first."""

    offsets: tuple[int, ...]
    size: int
    bound: int
    fullest: int


_ORDERS: tuple[Callable[[Lifetime], object], ...] = (
    lambda one: (-one.size, one.first),
    lambda one: (-one.size * (one.last - one.first + 1), one.first),
    lambda one: (one.first - one.last, -one.size),
    lambda one: (one.first, -one.size),
)
"""By size, by size times duration, by duration, by time."""


def assign(lifetimes: Sequence[Lifetime], alignment: int) -> Arena:
    """Offsets, multiples of `alignment`, such that tensors with a step in common do not overlap.

    Greedy interval packing: in a given order, each tensor takes the lowest gap between the tensors placed so
    far that live at the same time, in which it fits. Every tensor is placed once, at worst behind all others,
    so this ends. The best of a few orders is taken, and the first that reaches the bound ends the search.
    """
    bound, _ = _bound(lifetimes, alignment)
    best: tuple[int, list[int]] | None = None
    for order in _ORDERS:
        found = _packed(lifetimes, order, alignment)
        if best is None or found[0] < best[0]:
            best = found
        if best[0] <= bound:
            break
    assert best is not None, "there are orders"
    return Arena(tuple(best[1]), best[0], *_bound(lifetimes, 1))


def _packed(
    lifetimes: Sequence[Lifetime], order: Callable[[Lifetime], object], alignment: int
) -> tuple[int, list[int]]:
    offsets = [0] * len(lifetimes)
    placed: list[tuple[int, int, Lifetime]] = []  # start, end, sorted
    for at in sorted(range(len(lifetimes)), key=lambda at: order(lifetimes[at])):  # type: ignore[arg-type, return-value]
        one = lifetimes[at]
        size, start = _aligned(one.size, alignment), 0
        for begin, end, other in placed:
            if other.last < one.first or one.last < other.first:
                continue
            if begin - start >= size:
                break
            start = max(start, end)
        offsets[at] = start
        placed.append((start, start + size, one))
        placed.sort(key=lambda entry: entry[:2])
    return max((end for _, end, _ in placed), default=0), offsets


def _bound(lifetimes: Iterable[Lifetime], alignment: int) -> tuple[int, int]:
    """The most bytes that are in use in any step, and the first such step; they only grow where a tensor's
    life begins."""
    changes: dict[int, int] = {}
    for one in lifetimes:
        size = _aligned(one.size, alignment)
        changes[one.first] = changes.get(one.first, 0) + size
        changes[one.last + 1] = changes.get(one.last + 1, 0) - size
    most = used = fullest = 0
    for step in sorted(changes):
        used += changes[step]
        if used > most:
            most, fullest = used, step
    return most, fullest


def least(lifetimes: Iterable[Lifetime]) -> int:
    """The least bytes that lifetimes allow."""
    return _bound(lifetimes, 1)[0]


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
