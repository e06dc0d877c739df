"""The coordinates of the nonzero elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..description import Description
from ..elements import computed


@dataclass(frozen=True)
class Nonzero:
    """The number of nonzero elements, and their coordinates: one row each, in row-major order, then zeros.

    A row has the last dimensions of the coordinate, as many as `coordinates` has columns.
    """

    desc: Description
    output: str
    input: str
    coordinates: str

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The count and the rows."""
        found = np.argwhere(computed(arrays[self.input], getattr(self.desc, self.input).DataType))
        count, rows = getattr(self.desc, self.output), getattr(self.desc, self.coordinates)
        *_, columns = rows.Sizes
        table = np.zeros((rows.Sizes[-2], columns), rows.DataType.numpy)
        table[: len(found)] = found[:, found.shape[1] - columns :]
        return {
            self.output: np.full(count.Sizes, len(found), count.DataType.numpy),
            self.coordinates: table.reshape(rows.Sizes),
        }
