"""Runs of elements that are moved as one, of up to 128 bits, from where indices point."""

from __future__ import annotations

from math import gcd
from typing import Annotated

from .loops import Loop, Loops, Row, merged_in_order
from .operands import Lookup, Lookups, Movement, Sizes, Tensor

GATHERED = 0
"""The number of the tensor whose elements are where indices point."""
INDICES = 1
"""The number of the indices."""


def stride_of(labels: Sizes, strides: Sizes, label: int) -> int:
    """The stride of a tensor along the dimensions with a label of a movement."""
    found = 0
    for one, stride in zip(labels, strides, strict=True):
        found += stride if one == label else 0
    return found


def lookups_of(movement: Movement, moved: Tensor, indices: Tensor) -> Lookups:
    """The indices to look up, in the order of the dimensions that they select."""
    step = stride_of(movement.picked, indices.strides, -1)
    lookups: Annotated[list[Lookup], 8] = []
    for place, label in enumerate(movement.moved):
        if label < 0:
            lookups.append(Lookup(moved.sizes[place], moved.strides[place], step * (-1 - label)))
    return lookups


def run_of(most: int, loops: Loops, lookups: Lookups) -> int:
    """The elements of a run, `most` or fewer, that is contiguous in the tensor gathered and in the last one,
    and that the same indices select."""
    inner = loops[-1]
    if inner.strides[GATHERED] != 1 or inner.strides[INDICES] != 0 or inner.strides[-1] != 1:
        return 1
    run = gcd(most, inner.size)
    for loop in loops[:-1]:
        run = gcd(run, gcd(loop.strides[GATHERED], loop.strides[-1]))
    for lookup in lookups:
        run = gcd(run, lookup.stride)
    return run


def in_runs(loops: Loops, run: int) -> Loops:
    """Loops over runs of that many elements, with strides in runs, except those of indices."""
    found: Loops = []
    for loop in loops[:-1]:
        strides: Row = []
        for place, stride in enumerate(loop.strides):
            strides.append(stride if place == INDICES else stride // run)
        found.append(Loop(loop.size, strides))
    found.append(Loop(loops[-1].size // run, loops[-1].strides))
    return merged_in_order(found)


def lookups_in_runs(lookups: Lookups, run: int) -> Lookups:
    """Lookups that move by runs of that many elements."""
    return [Lookup(one.size, one.stride // run, one.offset) for one in lookups]
