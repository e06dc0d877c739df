"""What the evaluators of definitions and of algorithms take and give, element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dmlgen.cases import elements

Elements = tuple[int | float | None, ...]  # of a tensor, row-major; None where any value is right
Data = Mapping[str, Elements | tuple[Elements, ...]]  # by member; of an array of tensors, each one's
Coordinate = tuple[int, ...]
Origin = tuple[str, int | None, int]
"""An input element: its tensor, the place in an array of tensors, the row-major place."""

DUPLICATES = "several updates of one element"
EQUALS = "which of equal elements counts"
RANDOM = "the order of random words"

CHOICES = elements.CHOICES | {DUPLICATES, EQUALS, RANDOM}
"""What no source defines, and has a value here by this registry's choice."""

ALWAYS = frozenset({RANDOM})
"""Choices that no data can leave out."""


class Element(NamedTuple):
    """An element of an output: where it is, what it rests on (`notes`), and what it was made of (`origins`).

    `entry` is the place in an array of tensors, `place` the row-major one in the tensor.
    """

    output: str
    entry: int | None
    place: int
    value: int | float
    error: float
    notes: frozenset[str]
    origins: frozenset[Origin]
