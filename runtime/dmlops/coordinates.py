"""Coordinates of tensor elements, for the `element` functions of operators.

A coordinate is an int, a NumPy integer array (the reference passes an open grid with one array per dimension)
or one of the GPU planner's symbols; `at` is a tuple of coordinates, outermost dimension first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

Coordinates = tuple[Any, ...]
Load = Callable[..., Any]
"""Reads a tensor's element, `load("InputTensor", at)`; of one in an array, `load("InputTensors", at, 1)`."""


@singledispatch
def normalize_index(index: Any, size: int) -> Any:
    """The coordinate 0..size-1 for an index of any value.

    A negative index counts from the end of the dimension; what is still out of range is clamped, so no index
    can reach outside a tensor. Exact for the extremes of all integer types and sizes below 2**32.
    """
    if index.dtype.kind == "u":
        return index.clip(max=size - 1).astype("int64")
    wide = index.astype("int64")
    return (wide + size * (wide < 0)).clip(0, size - 1)


@normalize_index.register
def _(index: int, size: int) -> int:
    return min(max(index + size if index < 0 else index, 0), size - 1)


def replace(at: Coordinates, dimension: int, coordinate: Any) -> Coordinates:
    """`at` with the coordinate of one dimension replaced."""
    return (*at[:dimension], coordinate, *at[dimension + 1 :])
