"""Tensors of any layout, and numbers for them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

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
    """Numbers, the same along dimensions of stride 0, and wherever elements overlap."""
    strides = zip(tensor.Sizes, tensor.element_strides, strict=True)
    sizes = [1 if stride == 0 else size for size, stride in strides]
    is_float = tensor.DataType.kind == "float"
    numbers = rng.normal(0, 2, sizes) if is_float else rng.integers(0, 100, sizes)
    grid = np.ix_(*map(range, tensor.Sizes))
    places = np.asarray(sum(map(mul, grid, tensor.element_strides)))
    memory = np.empty(places.max(initial=0) + 1, tensor.DataType.numpy)
    memory[places] = numbers
    return memory[places]


def random_bits(rng: np.random.Generator, sizes: Sequence[int], data_type: str) -> np.ndarray:
    count = int(np.prod(sizes)) * np.dtype(data_type).itemsize
    return rng.integers(0, 256, count, np.uint8).view(data_type).reshape(sizes)


def random_indices(rng: np.random.Generator, sizes: Sequence[int], data_type: str, limit: int) -> np.ndarray:
    """Mostly in range, some past both ends, and a few of the type's extremes."""
    info = np.iinfo(data_type)
    usual = rng.integers(max(-limit - 3, info.min), limit + 3, sizes).astype(data_type)
    extremes = np.array(
        [info.min, info.max, info.min + 1, info.max // 2 + 1, min(2**32 + 1, info.max)], data_type
    )
    return np.where(rng.random(sizes) < 0.03, rng.choice(extremes, sizes), usual)


def padded(sizes: Sequence[int], unit: int) -> list[int]:
    """Strides with a gap after every dimension: multiples of `unit`, the innermost apart, which is 1."""
    strides = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, ((size * strides[0]) // unit + 1) * unit)
    return strides


def permuted(sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    """Packed strides of the dimensions taken in another order, the outermost named first."""
    strides, step = [0] * len(sizes), 1
    for dimension in reversed(order):
        strides[dimension] = step
        step *= sizes[dimension]
    return strides
