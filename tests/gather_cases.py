"""Gather descriptions with their inputs, and the outputs according to NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ELEMENT_TYPES = (
    "float64",
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
)
INDEX_TYPES = ("int64", "int32", "uint64", "uint32")
OPERATORS = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1")

Layouts = Mapping[str, Sequence[int]]  # tensor member -> strides; the others are packed


@dataclass(frozen=True)
class Case:
    description: dict[str, Any]  # the JSON form
    inputs: dict[str, np.ndarray]
    expected: np.ndarray


def in_range(indices: np.ndarray, size: int) -> np.ndarray:
    """Negative indices from the end, then clamped; in Python's integers, which have no width."""
    exact = indices.astype(object)
    return np.clip(np.where(exact < 0, exact + size, exact), 0, size - 1).astype(np.int64)


def gather_elements(
    values: np.ndarray, indices: np.ndarray, axis: int, layouts: Layouts | None = None
) -> Case:
    expected = np.take_along_axis(values, in_range(indices, values.shape[axis]), axis)
    return _case("GATHER_ELEMENTS", values, indices, expected, layouts, Axis=axis)


def gather(
    values: np.ndarray, indices: np.ndarray, axis: int, index_dimensions: int, layouts: Layouts | None = None
) -> Case:
    """`indices` has the rank of `values`; its last `index_dimensions` dimensions count, the others are 1."""
    picked = in_range(indices, values.shape[axis]).reshape(indices.shape[indices.ndim - index_dimensions :])
    expected = _to_rank(np.take(values, picked, axis), values.ndim)
    return _case("GATHER", values, indices, expected, layouts, Axis=axis, IndexDimensions=index_dimensions)


def gather_nd(
    values: np.ndarray,
    indices: np.ndarray,
    input_dimensions: int,
    indices_dimensions: int,
    batch: int | None = None,
    layouts: Layouts | None = None,
) -> Case:
    """GATHER_ND1 where `batch` is given; the leading dimensions that the counts leave out are 1."""
    inner_values = values.reshape(values.shape[values.ndim - input_dimensions :])
    inner_indices = indices.reshape(indices.shape[indices.ndim - indices_dimensions :])
    first = batch or 0
    tuples = np.moveaxis(inner_indices, -1, 0)
    grid: list[np.ndarray] = [np.asarray(g) for g in np.ix_(*map(range, tuples.shape[1 : 1 + first]))]
    batches = [g.reshape(g.shape + (1,) * (tuples.ndim - 1 - first)) for g in grid]
    picked = [in_range(t, inner_values.shape[first + j]) for j, t in enumerate(tuples)]
    expected = _to_rank(inner_values[(*batches, *picked)], values.ndim)
    members = {"InputDimensionCount": input_dimensions, "IndicesDimensionCount": indices_dimensions}
    if batch is None:
        return _case("GATHER_ND", values, indices, expected, layouts, **members)
    return _case("GATHER_ND1", values, indices, expected, layouts, **members, BatchDimensionCount=batch)


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


def random_case(operator: str, seed: int) -> Case:
    """Any operator, rank, types, sizes and layouts."""
    rng = np.random.default_rng([OPERATORS.index(operator), seed])
    rank = int(rng.integers(1, 9))
    longest = {1: 700, 2: 40, 3: 12, 4: 8}.get(rank, 4)
    sizes = [int(size) for size in rng.integers(1, longest + 1, rank)]
    if rng.random() < 0.6:
        sizes[-1] = int(rng.choice([4, 8, 16, 32]))
    data_type, index_type = str(rng.choice(ELEMENT_TYPES)), str(rng.choice(INDEX_TYPES))
    values, axis = random_bits(rng, sizes, data_type), int(rng.integers(rank))

    if operator == "GATHER_ELEMENTS":
        shape = list(sizes)
        shape[axis] = int(rng.integers(1, 2 * longest))
        indices = random_indices(rng, shape, index_type, sizes[axis])
        plain = gather_elements(values, indices, axis)
    elif operator == "GATHER":
        padding = int(
            rng.integers(rank)
        )  # leading dimensions of 1, which leave room for those of the indices
        values = random_bits(rng, [1] * padding + sizes[padding:], data_type)
        axis = int(rng.integers(padding, rank))
        index_dimensions = int(rng.integers(0, padding + 2))
        shape = [1] * (rank - index_dimensions) + [
            int(n) for n in rng.integers(1, longest + 1, index_dimensions)
        ]
        indices = random_indices(rng, shape, index_type, sizes[axis])
        plain = gather(values, indices, axis, index_dimensions)
    else:
        while True:  # counts whose output has room in `rank` dimensions
            dimensions, index_dimensions = (int(n) for n in rng.integers(1, rank + 1, 2))
            batch = int(rng.integers(0, min(dimensions, index_dimensions))) if operator == "GATHER_ND1" else 0
            length = int(rng.integers(1, dimensions - batch + 1))
            if index_dimensions - 1 + dimensions - batch - length <= rank and rank:
                break
        values = random_bits(rng, [1] * (rank - dimensions) + sizes[rank - dimensions :], data_type)
        shape = sizes[rank - dimensions : rank - dimensions + batch]
        shape += [int(n) for n in rng.integers(1, longest + 1, index_dimensions - 1 - batch)] + [length]
        shape = [1] * (rank - index_dimensions) + shape
        indices = random_indices(rng, shape, index_type, max(sizes))
        plain = gather_nd(
            values, indices, dimensions, index_dimensions, batch if operator == "GATHER_ND1" else None
        )

    for name in (*plain.inputs, "OutputTensor"):
        tensor, kind = plain.description["desc"][name], rng.integers(4)
        if kind == 1:
            tensor["Strides"] = padded(tensor["Sizes"], int(rng.choice([1, 4, 16])))
        elif kind == 2:
            tensor["Strides"] = permuted(tensor["Sizes"], rng.permutation(rank).tolist())
    return plain


def elements_in(tensor: dict[str, Any]) -> np.ndarray:
    """The element offsets that a tensor's elements have, in their logical shape."""
    sizes = tensor["Sizes"]
    strides = tensor.get("Strides") or permuted(sizes, range(len(sizes)))
    offsets = np.zeros(sizes, np.int64)
    for dimension, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        offsets += (np.arange(size) * stride).reshape(
            [-1 if d == dimension else 1 for d in range(len(sizes))]
        )
    return offsets


def _to_rank(array: np.ndarray, rank: int) -> np.ndarray:
    """Leading ones added or dropped."""
    extra = array.ndim - rank
    assert all(size == 1 for size in array.shape[: max(extra, 0)])
    return array.reshape((1,) * -extra + array.shape[max(extra, 0) :])


def _case(
    operator: str,
    values: np.ndarray,
    indices: np.ndarray,
    expected: np.ndarray,
    layouts: Layouts | None,
    **members: int,
) -> Case:
    arrays = {"InputTensor": values, "IndicesTensor": indices, "OutputTensor": expected}
    tensors = {
        name: {
            "DataType": array.dtype.name.upper(),
            "Sizes": list(array.shape),
            **({"Strides": list(layouts[name])} if layouts and name in layouts else {}),
        }
        for name, array in arrays.items()
    }
    inputs = dict(itertools.islice(arrays.items(), 2))
    return Case({"type": f"DML_OPERATOR_{operator}", "desc": {**tensors, **members}}, inputs, expected)
