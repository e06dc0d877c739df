"""Runs one operator, in the reference and in its shader, on tensors of any layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import dmlops
from gpu_device import run_in_guard_zones
from gpu_results import by_tensor
from tensors import padded, permuted
from whole_registry import whole_registry

REGISTRY = whole_registry()
LAYOUTS = ("packed", "gaps", "backwards")  # those of inputs may also be "shared"

Layouts = Mapping[str, Sequence[int]]  # tensor member -> strides; the others are packed


@pytest.fixture(autouse=True)
def vectors_of_any_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tensors are processed in vectors, as large ones are, rather than one element per thread."""
    monkeypatch.setattr("dmlops.gpu.plans.map.MULTIPROCESSORS", 0)


def newest_types(operator: str, tensor: str = "OutputTensor") -> list[str]:
    """The data types of a tensor at the newest feature level, as NumPy names them."""
    return list(map(str.lower, types_of(operator, tensor)))


def types_of(operator: str, tensor: str) -> tuple[str, ...]:
    """The same, as descriptions name them."""
    return next(row.types for row in REGISTRY.operator[operator].support["6.4"] if row.tensor == tensor)


def with_gaps(arrays: Mapping[str, np.ndarray]) -> Layouts:
    """Strides that leave a gap after every dimension."""
    return {name: padded(array.shape, 1) for name, array in arrays.items()}


def layout(kind: str, sizes: Sequence[int], is_input: bool) -> list[int] | None:
    """Strides of a tensor: none, with gaps after every element and row, the first dimension innermost, or 0
    for all elements of an input."""
    if kind == "shared" and is_input:
        return [0] * len(sizes)
    if kind == "gaps":
        return [2 * stride for stride in padded(sizes, 1)]
    return permuted(sizes, range(len(sizes))[::-1]) if kind == "backwards" else None


def description(
    operator: str,
    members: Mapping[str, Any],
    arrays: Mapping[str, Any],
    layouts: str | Layouts = "packed",
    types: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """The description of an operator on tensors like these arrays, or lists of arrays; `types` are the data
    types that arrays do not show, those of 4 bits."""
    inputs = [one.name for one in REGISTRY.operator[operator].inputs]

    def tensor(name: str, array: Any) -> Any:
        if isinstance(array, list):
            return [tensor(f"{name}[{place}]", one) for place, one in enumerate(array)]
        strides = (
            layout(layouts, array.shape, name.partition("[")[0] in inputs)
            if isinstance(layouts, str)
            else layouts.get(name)
        )
        given = {} if strides is None else {"Strides": list(strides)}
        return {"DataType": types.get(name, array.dtype.name.upper()), "Sizes": list(array.shape), **given}

    tensors = {name: tensor(name, array) for name, array in arrays.items()}
    return dmlops.from_json({"type": operator, "desc": {**tensors, **members}})


def like(type_: str, sizes: Sequence[int]) -> np.ndarray:
    """An array for the description of a tensor; NumPy has bytes for 4 bits."""
    return np.broadcast_to(np.zeros((), type_.lower().replace("t4", "t8")), tuple(sizes))


def run(
    device: Any,
    operator: str,
    inputs: Mapping[str, Any],
    output: tuple[str, Sequence[int]],
    members: Mapping[str, Any] = MappingProxyType({}),
    layouts: str | Layouts = "packed",
    types: Mapping[str, str] = MappingProxyType({}),
) -> list[np.ndarray]:
    """The only output, as the reference gives it and as the shader does."""
    (result,) = (one.name for one in REGISTRY.operator[operator].outputs)
    arrays = {**inputs, result: like(*output)}
    desc = description(operator, members, arrays, layouts, {**types, result: output[0]})
    return [dmlops.reference.run(desc, inputs)[result], dmlops.gpu.run(desc, inputs, device)[result]]


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
