"""Runs one operator in the reference and in its shader, from arrays and layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import dmlops
from gather_cases import padded
from gpu_device import run_in_guard_zones
from whole_registry import whole_registry

REGISTRY = whole_registry()

Layouts = Mapping[str, Sequence[int]]  # tensor member -> strides; the others are packed
Outputs = Mapping[str, np.ndarray]


def newest_types(operator: str, tensor: str) -> list[str]:
    """The data types of a tensor at the newest feature level, as NumPy names them."""
    rows = REGISTRY.operator[operator].support["6.4"]
    return [name.lower() for row in rows if row.tensor == tensor for name in row.types]


def with_gaps(arrays: Mapping[str, np.ndarray]) -> Layouts:
    """Strides that leave a gap after every dimension."""
    return {name: padded(array.shape, 1) for name, array in arrays.items()}


def description(
    operator: str, arrays: Mapping[str, np.ndarray], layouts: Layouts, **members: Any
) -> dmlops.Description:
    """The description of an operator on tensors like these arrays."""
    tensors: dict[str, Any] = {}
    for name, array in arrays.items():
        tensors[name] = {"DataType": array.dtype.name.upper(), "Sizes": list(array.shape)}
        if name in layouts:
            tensors[name]["Strides"] = list(layouts[name])
    return dmlops.from_json({"type": operator, "desc": {**tensors, **members}})


def check(
    device: Any,
    operator: str,
    inputs: Mapping[str, np.ndarray],
    expected: Outputs,
    layouts: Layouts | None = None,
    tolerance: float = 0.0,
    **members: Any,
) -> None:
    """Reference and shader, run between guard zones, give what is expected.

    Bit for bit, or, where there is a relative tolerance, within it of the largest number of the output.
    """
    desc = description(operator, {**inputs, **expected}, layouts or {}, **members)
    assert desc.validate("6.4") == []
    for found in (dmlops.reference.run(desc, inputs), run_in_guard_zones(device, desc, inputs)):
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
            if tolerance:
                limit = tolerance * np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0)
                np.testing.assert_allclose(found[name], array, 0, limit, err_msg=name)
            else:
                np.testing.assert_array_equal(
                    found[name].view(f"u{array.itemsize}"), array.view(f"u{array.itemsize}"), name
                )
