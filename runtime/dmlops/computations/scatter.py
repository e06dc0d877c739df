"""Scatters: a tensor with some of its elements replaced, at places given by indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..coordinates import Coordinates
from ..description import Description
from ..elements import computed


@dataclass(frozen=True)
class Scatter:
    """The input, with each element of `updates` stored at its `target`.

    If several updates go to the same element, the last one in row-major order wins.
    """

    desc: Description
    output: str
    input: str
    indices: str
    updates: str
    target: Callable[..., Coordinates]

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The output; elements keep the bits they have in the input and the updates."""

        def load(name: str, at: Coordinates) -> Any:
            return computed(arrays[name][at], getattr(self.desc, name).DataType)

        updates = arrays[self.updates]
        result = np.array(arrays[self.input])
        where = self.target(self.desc, tuple(np.ogrid[tuple(map(slice, updates.shape))]), load)
        # With one flat index per element, NumPy assigns in the order of the elements.
        flat = np.ravel_multi_index(np.broadcast_arrays(*where), result.shape)
        result.reshape(-1)[np.broadcast_to(flat, updates.shape).reshape(-1)] = updates.reshape(-1)
        return {self.output: result}
