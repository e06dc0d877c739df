"""Tensors of any layout, and numbers for them."""

from __future__ import annotations

import numpy as np

from dmlops import TensorDesc


def of(data_type: str, *sizes: int, strides: tuple[int, ...] | None = None) -> TensorDesc:
    return TensorDesc(data_type, sizes, Strides=strides)


def last(data_type: str, count: int, channels: int, *spatial: int) -> TensorDesc:
    """A channels-last tensor."""
    steps = [channels * int(np.prod(spatial[d + 1 :])) for d in range(len(spatial))]
    strides = (steps[0] * spatial[0], 1, *steps)
    return of(data_type, count, channels, *spatial, strides=strides)


def filled(tensor: TensorDesc, rng: np.random.Generator) -> np.ndarray:
    """Numbers, the same along dimensions of stride 0."""
    strides = zip(tensor.Sizes, tensor.element_strides, strict=True)
    sizes = [1 if stride == 0 else size for size, stride in strides]
    is_float = tensor.DataType.kind == "float"
    numbers = rng.normal(0, 2, sizes) if is_float else rng.integers(0, 100, sizes)
    return np.broadcast_to(numbers, tensor.Sizes).astype(tensor.DataType.numpy)
