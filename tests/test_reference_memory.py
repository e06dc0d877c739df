"""The reference gives the same bytes for any memory layout of its inputs, and never writes to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dmlops import reference
from test_gpu_matrix import OPERATORS, cases, described, inputs_of


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _reversed(array: np.ndarray) -> np.ndarray:
    backward = (slice(None, None, -1),) * array.ndim
    return array[backward].copy()[backward]


def _spaced(array: np.ndarray) -> np.ndarray:
    """Every other element of a larger array."""
    apart = np.zeros([2 * size for size in array.shape], array.dtype)
    view = apart[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


class _Subclass(np.ndarray):
    pass


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran order": np.asfortranarray,
    "reversed": _reversed,
    "spaced": _spaced,
    "a subclass": lambda array: array.view(_Subclass),
}


def _mapped(inputs: dict[str, Any], change: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    return {
        name: [_read_only(change(part)) for part in value]
        if isinstance(value, list)
        else _read_only(change(value))
        for name, value in inputs.items()
    }


def _parts(outputs: dict[str, Any]) -> list[np.ndarray]:
    return [part for value in outputs.values() for part in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("operator", OPERATORS)
def test_memory_order_does_not_matter(operator: str) -> None:
    for number, case in enumerate(cases(operator)):
        desc = described(case)
        inputs = inputs_of(desc, np.random.default_rng(number))
        expected = _parts(reference.run(desc, _mapped(inputs, np.ascontiguousarray)))
        for layout, change in LAYOUTS.items():
            found = _parts(reference.run(desc, _mapped(inputs, change)))
            for one, other in zip(found, expected, strict=True):
                assert type(one) is np.ndarray, f"{case['id']}, {layout}"
                assert one.tobytes() == other.tobytes(), f"{case['id']}, {layout}"
