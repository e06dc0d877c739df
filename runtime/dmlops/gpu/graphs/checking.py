"""Comparison of a graph on a device with the reference, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import reference
from ...paths import member_of
from ...tensor import TensorDesc
from ..work import tensor_names
from .execute import Compiled
from .program import Label

TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}
"""By data type: relative to the element, and to the largest element of the tensor. Others must be equal."""


class Difference(NamedTuple):
    """A tensor that differs: its first element that does, and how many do."""

    name: str
    at: tuple[int, ...]
    found: Any
    expected: Any
    count: int  # type: ignore[assignment]  # shadows tuple.count

    def __str__(self) -> str:
        place = ", ".join(map(str, self.at))
        return f"{self.name} differs in {self.count} elements: [{place}] is {self.found}, not {self.expected}"


def difference(name: str, found: np.ndarray, expected: np.ndarray) -> Difference | None:
    """The difference of two arrays of a shape beyond the tolerance of their type; None if there is none."""
    if found.dtype.kind == "f":
        tolerance = TOLERANCE[found.dtype.name]
        own, right = found.astype(np.float64), expected.astype(np.float64)
        finite = np.abs(right[np.isfinite(right)])
        with np.errstate(invalid="ignore"):
            close = np.abs(own - right) <= tolerance * (np.abs(right) + finite.max(initial=0))
        wrong = ~(close | (own == right) | (np.isnan(own) & np.isnan(right)))
    else:
        wrong = found != expected
    if not wrong.any():
        return None
    at = tuple(map(int, np.argwhere(wrong)[0]))
    return Difference(name, at, found[at], expected[at], int(np.count_nonzero(wrong)))


def node_differences(compiled: Compiled) -> Iterator[Difference]:
    """The nodes whose results differ from those of the reference for the same inputs, in order, after a run
    of a program that keeps all results.

    What a node gets is what the device computed, so that a mistake shows only where it is made.
    """
    for label in compiled.program.nodes:
        inputs = _arrays(compiled, label, "input")
        found = _arrays(compiled, label, "output")
        expected = reference.run(label.desc, inputs)
        for name, results in found.items():
            several = isinstance(results, list)
            pairs = zip(results, expected[name], strict=True) if several else [(results, expected[name])]
            for number, (one, right) in enumerate(pairs):
                entry = f"[{number}]" if several else ""
                wrong = difference(f"{label.name}, {name}{entry}", one, right)
                if wrong is not None:
                    yield wrong


def _arrays(compiled: Compiled, label: Label, role: str) -> dict[str, Any]:
    """The tensors of a role as the device has them, by member."""
    arrays: dict[str, Any] = {}
    tensors: Mapping[str, TensorDesc] = dict(tensor_names(label.desc, role))
    for name, tensor in tensors.items():
        member, index = member_of(name)
        array = compiled.read(label.tensors[name], tensor)
        if index is not None:
            arrays.setdefault(member, []).append(array)
        else:
            arrays[member] = array
    return arrays
