"""The greatest or least elements of each line along an axis, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..description import Description
from ..elements import computed


@dataclass(frozen=True)
class TopK:
    """The first `count` elements of each line in sorted order, and their positions in the line.

    `largest`: greatest first, otherwise least first. NaN is greater than any number; of equal elements, which
    include zeros of either sign, the first in the line comes first.
    """

    desc: Description
    output: str
    input: str
    indices: str
    axis: int
    count: int
    largest: bool

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The values, with the bits they have in the input, and the indices."""
        values = arrays[self.input]
        keys = computed(values, getattr(self.desc, self.input).DataType)
        # NumPy sorts NaN last. Reversing the order reverses equal elements too, so lines are sorted back to
        # front.
        order = np.argsort(np.flip(keys, self.axis) if self.largest else keys, self.axis, kind="stable")
        if self.largest:
            order = values.shape[self.axis] - 1 - np.flip(order, self.axis)
        first = np.take(order, range(self.count), self.axis)
        index_type = getattr(self.desc, self.indices).DataType.numpy
        return {
            self.output: np.take_along_axis(values, first, self.axis),
            self.indices: first.astype(index_type),
        }
