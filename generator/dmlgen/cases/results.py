"""The inputs and results of the evaluators of definitions and of algorithms, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dmlgen.cases import elements

Elements = tuple[int | float | None, ...]  # of a tensor, in row-major order; None if any value is correct
Data = Mapping[str, Elements | tuple[Elements, ...]]  # by member; for an array of tensors, one entry each
Coordinate = tuple[int, ...]
Origin = tuple[str, int | None, int]
"""An input element: its tensor, the index in an array of tensors, the row-major index."""

DUPLICATES = "several updates of one element"
EQUALS = "which of equal elements counts"
RANDOM = "the order of random words"

CHOICES = elements.CHOICES | {DUPLICATES, EQUALS, RANDOM}
"""Values that no source defines; they are this registry's choice."""

ALWAYS = frozenset({RANDOM})
"""Choices that every data set involves."""


class Element(NamedTuple):
    """An element of an output: its position, the choices it depends on (`notes`), and its `origins`.

    `entry` is the index in an array of tensors, `place` the row-major index in the tensor.
    """

    output: str
    entry: int | None
    place: int
    value: int | float
    error: float
    notes: frozenset[str]
    origins: frozenset[Origin]
