"""Coordinates of tensor elements: the vocabulary of every operator's `element` function.

A coordinate is an int, a NumPy integer array (the reference passes one open grid per dimension) or one of the
GPU planner's symbols; `at` is a tuple of them, outermost dimension first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

Coordinates = tuple[Any, ...]
Load = Callable[..., Any]
"""Reads a tensor's element, `load("InputTensor", at)`; of one in an array, `load("InputTensors", at, 1)`."""


@singledispatch
def wrap(index: Any, size: int) -> Any:
    """The coordinate 0..size-1 that an index of any value stands for.

    A negative index counts from the end of the dimension; what is still outside is clamped, so no index
    data can reach outside a tensor. Exact for the extremes of all integer types and sizes below 2**32.
    """
    if index.dtype.kind == "u":
        return index.clip(max=size - 1).astype("int64")
    wide = index.astype("int64")
    return (wide + size * (wide < 0)).clip(0, size - 1)


@wrap.register
def _(index: int, size: int) -> int:
    return min(max(index + size if index < 0 else index, 0), size - 1)


def replace(at: Coordinates, dimension: int, coordinate: Any) -> Coordinates:
    """`at` with another coordinate in one dimension."""
    return (*at[:dimension], coordinate, *at[dimension + 1 :])


def align(at: Coordinates, count: int, fill: Any) -> Coordinates:
    """The last `count` coordinates of `at`; missing leading ones are `fill`."""
    return (fill,) * (count - len(at)) + at[max(len(at) - count, 0) :]
