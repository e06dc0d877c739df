"""Scans: the combination of all elements up to each one along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..description import Description
from ..elements import computed, stored


@dataclass(frozen=True)
class Steps:
    """The combination of elements: an associative operation on `x` and `y`, and its neutral element."""

    identity: Callable[..., Any]
    combine: Callable[..., Any]


@dataclass(frozen=True)
class Scan:
    """For each element, the combination of those up to it along `axis`, itself excluded if `exclusive`.

    `decreasing`: from the last element to the first.
    """

    desc: Description
    output: str
    input: str
    axis: int
    decreasing: bool
    exclusive: bool
    steps: Mapping[str, Steps]

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The output, combined one by one in the type in which elements are computed."""
        data_type = getattr(self.desc, self.input).DataType
        step = self.steps["ALWAYS"]
        elements = np.moveaxis(computed(arrays[self.input], data_type), self.axis, 0)
        results = np.empty_like(elements)
        running = np.full(elements.shape[1:], step.identity(None), elements.dtype)
        for place in range(len(elements))[:: -1 if self.decreasing else 1]:
            past, running = running, step.combine(running, elements[place])
            results[place] = past if self.exclusive else running
        return {self.output: stored(np.moveaxis(results, 0, self.axis), data_type)}
