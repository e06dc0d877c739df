"""The greatest or least elements of each line along an axis, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..description import Description


@dataclass(frozen=True)
class TopK:
    """The `count` first elements of each line, and their places in it, once the line is sorted.

    `largest`: greatest first, else least first. NaN is greater than any number; of equal elements, such as
    zeros of either sign, the first in the line comes first.
    """

    desc: Description
    output: str
    input: str
    indices: str
    axis: int
    count: int
    largest: bool

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Values with the bits they have in the input, and indices."""
        values = arrays[self.input]
        backward = np.flip(values, self.axis)
        # NumPy's order has NaN last. Turned around, so are lines of equal elements: hence from back to front.
        order = np.argsort(backward if self.largest else values, self.axis, kind="stable")
        if self.largest:
            order = values.shape[self.axis] - 1 - np.flip(order, self.axis)
        first = np.take(order, range(self.count), self.axis)
        index_type = getattr(self.desc, self.indices).DataType.numpy
        return {
            self.output: np.take_along_axis(values, first, self.axis),
            self.indices: first.astype(index_type),
        }
