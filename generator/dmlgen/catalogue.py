"""The catalogue of algorithms, for operators that a formula does not express well.

An algorithm has its own schedule in every target, with the same name; all have an `output`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["input", "output", "int", "bool", "coordinate"]

KINDS: Mapping[Kind, str] = {
    "input": "an input tensor",
    "output": "an output tensor",
    "int": "an int, which the description alone gives",
    "bool": "a bool, which the description alone gives",
    "coordinate": "a list of int, which depends on `at`",
}
"""What a spec gives for a role."""


@dataclass(frozen=True)
class Role:
    """An input or a parameter of an algorithm.

    `optional`: the tensor can be absent. A coordinate indexes the tensor in the role `into`; it is computed
    for each `at` of the tensor in the role `over`, from elements of the tensor in the role `reads`.
    """

    kind: Kind
    meaning: str
    optional: bool = False
    into: str = ""
    over: str = ""
    reads: str = ""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: what it computes, and its roles in order."""

    meaning: str
    roles: Mapping[str, Role]


ALGORITHMS: Mapping[str, Algorithm] = {
    "scatter": Algorithm(
        "The input, with each update stored at its place; of several for one place the last in row-major "
        "order stays.",
        {
            "output": Role("output", "the input with the updates"),
            "input": Role("input", "what stays where no update goes"),
            "indices": Role("input", "the tensor that says where updates go"),
            "updates": Role("input", "the elements to store"),
            "place": Role(
                "coordinate", "where the update at `at` goes", into="output", over="updates", reads="indices"
            ),
        },
    ),
    "top_k": Algorithm(
        "The first elements of each line along an axis, once it is sorted. NaN is greater than any number; "
        "of equal elements the first in the line comes first.",
        {
            "output": Role("output", "the elements"),
            "input": Role("input", "what is sorted"),
            "indices": Role("output", "the places that they have in their lines"),
            "axis": Role("int", "the dimension that lines run along"),
            "count": Role("int", "how many elements of each line"),
            "largest": Role("bool", "whether the greatest come first, not the least"),
        },
    ),
    "nonzero": Algorithm(
        "The coordinates of the elements that are not zero, in row-major order.",
        {
            "output": Role("output", "how many there are"),
            "input": Role("input", "the elements"),
            "coordinates": Role("output", "a row with the last entries of each coordinate; then zeros"),
        },
    ),
    "philox": Algorithm(
        "Random words: Philox 4x32-10 of Salmon et al., a block of four words for each counter.",
        {
            "output": Role("output", "the words, from the block of the state's counter on"),
            "state": Role("input", "four words of counter and two of key, lowest first"),
            "next_state": Role("output", "the state after the last block", optional=True),
        },
    ),
}
