"""A case of the benchmark: an operator at a realistic size, with its equivalent in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dmlops

LARGE, MEDIUM, SMALL = 4096, 1024, 64  # sides of square tensors

Torch = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Case:
    """An operator with its data; `torch` computes the same, `bytes_moved` is the least traffic possible, and
    `operations` are the multiplications and additions of products, 0 if memory bandwidth is the only
    limit."""

    name: str
    operator: str
    desc: dict[str, Any]
    arrays: Callable[[], dict[str, np.ndarray]]
    torch: Torch
    bytes_moved: int
    operations: int = 0

    def describe(self, package: Any = dmlops) -> Any:
        """The description, as an object of this package."""
        return package.from_json({"type": f"DML_OPERATOR_{self.operator}", "desc": self.desc})


def tensor(sizes: Sequence[int], data_type: str, strides: Sequence[int] | None = None) -> dict[str, Any]:
    return {"DataType": data_type.upper(), "Sizes": list(sizes)} | (
        {"Strides": list(strides)} if strides else {}
    )


def channels_last(sizes: Sequence[int], data_type: str) -> dict[str, Any]:
    """A tensor with the channels of a pixel adjacent: NHWC."""
    _, channels, height, width = sizes
    return tensor(sizes, data_type, (channels * height * width, 1, channels * width, channels))


def size_of(*tensors: dict[str, Any]) -> int:
    """The bytes of tensors, counting elements along dimensions of stride 0 once."""
    return sum(np.dtype(one["DataType"].lower()).itemsize * math.prod(_stored(one)) for one in tensors)


def _stored(one: dict[str, Any]) -> list[int]:
    """The sizes of a tensor, 1 where the stride is 0."""
    strides = one.get("Strides") or [1] * len(one["Sizes"])
    return [size if stride else 1 for size, stride in zip(one["Sizes"], strides, strict=True)]


def uniform(sizes: Sequence[int], data_type: str, seed: int = 0) -> np.ndarray:
    """Floats between -4 and 4, or any signed bytes."""
    rng = np.random.default_rng(seed)
    if data_type == "int8":
        return rng.integers(-128, 128, sizes, np.int8)
    return (rng.random(sizes, np.float32) * 8 - 4).astype(data_type)


def drawn(
    name: str,
    operator: str,
    tensors: dict[str, dict[str, Any]],
    torch: Torch,
    operations: int = 0,
    **members: Any,
) -> Case:
    """A case with random inputs, repeated along dimensions of stride 0; variances are at least 1."""
    inputs = {key: one for key, one in tensors.items() if not key.startswith("Output")}

    def array(one: dict[str, Any], seed: int) -> np.ndarray:
        data = uniform(_stored(one), one["DataType"].lower(), seed)
        return np.ascontiguousarray(np.broadcast_to(data, one["Sizes"]))

    def arrays() -> dict[str, np.ndarray]:
        found = {key: array(one, seed) for seed, (key, one) in enumerate(inputs.items())}
        return {key: abs(one) + 1 if key == "VarianceTensor" else one for key, one in found.items()}

    return Case(name, operator, tensors | members, arrays, torch, size_of(*tensors.values()), operations)
