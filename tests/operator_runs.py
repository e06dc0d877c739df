"""Runs one operator in the reference and in its shader, from arrays and layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
from gather_cases import padded, permuted
from gpu_device import run_in_guard_zones
from gpu_results import by_tensor
from whole_registry import whole_registry

REGISTRY = whole_registry()
LAYOUTS = ("packed", "gaps", "backwards")

Layouts = Mapping[str, Sequence[int]]  # tensor member -> strides; the others are packed


@pytest.fixture(autouse=True)
def vectors_of_any_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tensors are processed in vectors, as large ones are, rather than one element per thread."""
    monkeypatch.setattr("dmlops.gpu.plans.map.MULTIPROCESSORS", 0)


def newest_types(operator: str, tensor: str = "OutputTensor") -> list[str]:
    """The data types of a tensor at the newest feature level, as NumPy names them."""
    rows = REGISTRY.operator[operator].support["6.4"]
    return [name.lower() for row in rows if row.tensor == tensor for name in row.types]


def with_gaps(arrays: Mapping[str, np.ndarray]) -> Layouts:
    """Strides that leave a gap after every dimension."""
    return {name: padded(array.shape, 1) for name, array in arrays.items()}


def layout(kind: str, sizes: Sequence[int]) -> list[int] | None:
    """Strides of a tensor: none, with gaps after every element and row, or the first dimension innermost."""
    if kind == "gaps":
        return [2 * stride for stride in padded(sizes, 1)]
    return permuted(sizes, range(len(sizes))[::-1]) if kind == "backwards" else None


def description(
    operator: str, members: Mapping[str, Any], arrays: Mapping[str, Any], layouts: str | Layouts = "packed"
) -> dmlops.Description:
    """The description of an operator on tensors like these arrays, or lists of arrays."""

    def tensor(name: str, array: Any) -> Any:
        if isinstance(array, list):
            return [tensor(name, one) for one in array]
        strides = layout(layouts, array.shape) if isinstance(layouts, str) else layouts.get(name)
        given = {} if strides is None else {"Strides": list(strides)}
        return {"DataType": array.dtype.name.upper(), "Sizes": list(array.shape), **given}

    tensors = {name: tensor(name, array) for name, array in arrays.items()}
    return dmlops.from_json({"type": operator, "desc": {**tensors, **members}})


def check(
    device: Any,
    operator: str,
    members: Mapping[str, Any],
    inputs: Mapping[str, Any],
    expected: Mapping[str, Any],
    layouts: str | Layouts = "packed",
    tolerance: float = 0.0,
) -> None:
    """Reference and shader, run between guard zones, give what is expected.

    Bit for bit, but for those of NaN where it is computed, or, where there is a relative tolerance, within it
    of the largest number of the output.
    """
    desc = description(operator, members, {**inputs, **expected}, layouts)
    assert desc.validate("6.4") == []
    wanted = dict(by_tensor(expected))
    for outputs in (dmlops.reference.run(desc, inputs), run_in_guard_zones(device, desc, inputs)):
        found = dict(by_tensor(outputs))
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            one = found[name]
            assert (one.dtype, one.shape) == (array.dtype, array.shape), name
            if tolerance:
                limit = tolerance * np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0)
                np.testing.assert_allclose(one, array, 0, limit, err_msg=name)
                continue
            if operator == "CAST" and array.dtype.kind == "f":
                one, array = (np.where(np.isnan(each), np.nan, each) for each in (one, array))
            bits = f"u{array.itemsize}"
            np.testing.assert_array_equal(one.view(bits), array.view(bits), name)
