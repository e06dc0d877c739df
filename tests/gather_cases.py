"""Random gathers: descriptions, data with any bits and any indices, and what NumPy gathers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np

from random_shapes import described
from tensors import random_bits, random_indices

OPERATORS = {"GATHER": "moves", "GATHER_ELEMENTS": "moves", "GATHER_ND": "tuples", "GATHER_ND1": "tuples"}
"""The families of random descriptions that they are in."""
MOST = 1 << 16  # bytes of an output

Inputs = dict[str, np.ndarray]


def random_gathers(operator: str, number: int) -> Iterator[tuple[Any, Inputs]]:
    """A `number` of descriptions of any rank, types, sizes and layouts, with arrays."""
    every: Any = (described(OPERATORS[operator], seed) for seed in count())
    small = (one for one in every if operator == one.OPERATOR and one.OutputTensor.size_in_bytes < MOST)
    for seed, desc in enumerate(islice(small, number)):
        yield desc, inputs_of(desc, seed)


def inputs_of(desc: Any, seed: int) -> Inputs:
    """Elements of any bits and indices of any size, the same along strides of 0."""
    rng = np.random.default_rng(seed)
    values, indices = desc.InputTensor, desc.IndicesTensor
    limit, of_indices = max(values.Sizes), indices.DataType.numpy.name
    arrays = {
        "InputTensor": random_bits(rng, values.Sizes, values.DataType.numpy.name),
        "IndicesTensor": random_indices(rng, indices.Sizes, of_indices, limit),
    }
    for name, array in arrays.items():
        kept = array[tuple(slice(None if stride else 1) for stride in getattr(desc, name).element_strides)]
        arrays[name] = np.array(np.broadcast_to(kept, array.shape))
    return arrays


def in_range(indices: np.ndarray, size: int) -> np.ndarray:
    """Negative indices from the end, then clamped."""
    least = np.minimum(indices, size).astype(np.int64)
    return np.clip(np.where(least < 0, least + size, least), 0, size - 1)


def gathered(desc: Any, inputs: Inputs) -> np.ndarray:
    """What a gather outputs, according to NumPy."""
    values, indices = inputs["InputTensor"], inputs["IndicesTensor"]
    if desc.OPERATOR == "GATHER_ELEMENTS":
        return np.take_along_axis(values, in_range(indices, values.shape[desc.Axis]), desc.Axis)
    if desc.OPERATOR == "GATHER":
        some = indices.reshape(indices.shape[indices.ndim - desc.IndexDimensions :])
        found = np.take(values, in_range(some, values.shape[desc.Axis]), desc.Axis)
    else:  # leading dimensions that the counts leave out are 1
        inner = values.reshape(values.shape[values.ndim - desc.InputDimensionCount :])
        tuples = indices.reshape(indices.shape[indices.ndim - desc.IndicesDimensionCount :])
        first = getattr(desc, "BatchDimensionCount", 0)
        grid = np.ix_(*map(range, tuples.shape[:first]))
        batches = [one.reshape(one.shape + (1,) * (tuples.ndim - 1 - first)) for one in grid]
        picked = [in_range(tuples[..., j], inner.shape[first + j]) for j in range(tuples.shape[-1])]
        found = inner[(*batches, *picked)]
    return found.reshape(desc.OutputTensor.Sizes)
