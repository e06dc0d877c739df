"""Reductions: one value from all elements along the axes, or one for each element derived from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..description import Description
from ..elements import computed, is_infinity, stored, where
from ..enums import AxisDirection, ReduceFunction

Step = Callable[..., Any]


@dataclass(frozen=True)
class Steps:
    """The steps of a reduction: `combine` or `better`, and those others that are not trivial.

    `shift(x, y)`: the shift of a set, from the shifts of its two parts; for a single element, the element
    itself. The steps below get this shift, or 0 if it is infinite.
    `map(x, shift)`: the mapped value of an element.
    `combine(x, y)`: the combined value of two parts, in either order.
    `move(x, old, new)`: the value of a part mapped with the shift `old`, as if mapped with `new`.
    `better(x, y)`: whether x is chosen over y; the result is then the index of the chosen element.
    `finish(x, shift, count)`: the result, from the combined value of all `count` elements.
    `each(x, result, shift)`: what is stored for an element; with `better`, `result` is 1 for the chosen
    element and 0 for all others.
    `each_mapped(x, result)`: the same, but from the element's mapped value.
    """

    combine: Step | None = None
    better: Step | None = None
    shift: Step | None = None
    map: Step | None = None
    move: Step | None = None
    finish: Step | None = None
    each: Step | None = None
    each_mapped: Step | None = None

    @property
    def is_each(self) -> bool:
        """Whether a value is stored for each element rather than for each set."""
        return self.each is not None or self.each_mapped is not None


@dataclass(frozen=True)
class Reduce:
    """Applies a function to each set of elements whose coordinates differ only along `axes`.

    `function` selects among `steps`; without it, there is only one entry. Sets are combined by halves, in the
    type in which elements are computed, so errors grow with the logarithm of the number of elements.
    """

    desc: Description
    output: str
    input: str
    axes: tuple[int, ...]
    steps: Mapping[str, Steps]
    function: ReduceFunction | None = None
    direction: AxisDirection = AxisDirection.INCREASING

    @property
    def case(self) -> Steps:
        """The steps of the function."""
        return self.steps["ALWAYS" if self.function is None else self.function.name]

    @property
    def dimensions(self) -> tuple[list[int], list[int]]:
        """The dimensions that are kept and those that are reduced; an axis given twice is reduced once."""
        reduced = sorted(set(self.axes))
        rank = getattr(self.desc, self.input).DimensionCount
        return [d for d in range(rank) if d not in reduced], reduced

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The output, shaped as its Sizes."""
        source, target = getattr(self.desc, self.input), getattr(self.desc, self.output)
        kept, reduced = self.dimensions
        count = prod(source.Sizes[d] for d in reduced)
        turned = arrays[self.input].transpose(*kept, *reduced)
        sets = computed(turned, source.DataType).reshape(-1, count)
        if not self.case.is_each:
            return {self.output: stored(self._result(sets)[0], target.DataType).reshape(target.Sizes)}
        values = stored(self._each(sets), target.DataType).reshape(turned.shape)
        return {self.output: np.ascontiguousarray(values.transpose(np.argsort([*kept, *reduced])))}

    def _each(self, sets: Any) -> Any:
        result, shift = self._result(sets)
        if self.case.better is not None:
            result = (np.arange(sets.shape[1]) == result).astype(sets.dtype)
        if self.case.each_mapped is not None:
            return self.case.each_mapped(self._mapped(sets, shift), result)
        assert self.case.each is not None
        return self.case.each(sets, result, shift)

    def _result(self, sets: Any) -> tuple[Any, Any]:
        """The result of each set, or the index of the chosen element, and the shift; both as columns."""
        steps = self.case
        if steps.better is not None:
            return self._chosen(sets), None
        assert steps.combine is not None
        shift = None
        if steps.shift is not None:
            shift = _combined(steps.shift, sets)
            shift = where(is_infinity(shift), sets.dtype.type(0), shift)
        total = _combined(steps.combine, self._mapped(sets, shift))
        if steps.finish is not None:
            total = steps.finish(total, shift, count=sets.dtype.type(sets.shape[1]))
        return total, shift

    def _mapped(self, sets: Any, shift: Any) -> Any:
        return sets if self.case.map is None else self.case.map(sets, shift)

    def _chosen(self, sets: Any) -> Any:
        assert self.case.better is not None
        better, first = self.case.better, self.direction == AxisDirection.INCREASING
        indices = np.broadcast_to(np.arange(sets.shape[1]), sets.shape)
        while sets.shape[1] > 1:
            half = sets.shape[1] // 2
            x, y = sets[:, :half], sets[:, half : 2 * half]
            i, j = indices[:, :half], indices[:, half : 2 * half]
            takes_y = better(y, x) | (~better(x, y) & ((j < i) if first else (j > i)))
            sets = np.hstack([np.where(takes_y, y, x), sets[:, 2 * half :]])
            indices = np.hstack([np.where(takes_y, j, i), indices[:, 2 * half :]])
        return indices


def _combined(combine: Step, sets: Any) -> Any:
    """The combined value of each whole set: the first half is combined with the second, repeatedly."""
    while sets.shape[1] > 1:
        half = sets.shape[1] // 2
        joined = combine(sets[:, :half], sets[:, half : 2 * half])
        sets = np.hstack([joined, sets[:, 2 * half :]])
    return sets
