"""The catalog of algorithms, for operators that a formula does not express well.

An algorithm has its own schedule in every target, with the same name; all have an `output`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["input", "output", "int", "bool"]

KINDS: Mapping[Kind, str] = {
    "input": "an input tensor",
    "output": "an output tensor",
    "int": "an int, which the description alone gives",
    "bool": "a bool, which the description alone gives",
}
"""The forms in which a spec gives a role."""


@dataclass(frozen=True)
class Role:
    """An input or a parameter of an algorithm.

    `optional`: the tensor can be absent. `moved`: shaders only need the bits of its elements.
    """

    kind: Kind
    meaning: str
    optional: bool = False
    moved: bool = False


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: what it computes, and its roles in order."""

    meaning: str
    roles: Mapping[str, Role]


ALGORITHMS: Mapping[str, Algorithm] = {
    "top_k": Algorithm(
        "The first elements of each line along an axis, in sorted order. NaN is greater than any number; of "
        "equal elements, the first in the line comes first.",
        {
            "output": Role("output", "the elements", moved=True),
            "input": Role("input", "what is sorted", moved=True),
            "indices": Role("output", "their positions in their lines"),
            "axis": Role("int", "the dimension along which lines run"),
            "count": Role("int", "the number of elements from each line"),
            "largest": Role("bool", "whether the greatest rather than the least come first"),
        },
    ),
    "nonzero": Algorithm(
        "The coordinates of the nonzero elements, in row-major order.",
        {
            "output": Role("output", "the number of nonzero elements"),
            "input": Role("input", "the elements", moved=True),
            "coordinates": Role("output", "one row per coordinate, with its last entries; then zeros"),
        },
    ),
    "philox": Algorithm(
        "Random words: Philox 4x32-10 by Salmon et al., a block of four words per counter.",
        {
            "output": Role("output", "the words, starting with the block for the state's counter"),
            "state": Role("input", "four words of counter and two of key, lowest first"),
            "next_state": Role("output", "the state after the last block", optional=True),
        },
    ),
}
