"""Scatters, in the reference and in shaders, against a loop of assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dmlops import TensorDesc, gpu, make
from dmlops.gpu.plans import pass_selection
from gpu_device import device
from operator_runs import Layouts, check, newest_types, with_gaps
from tensors import permuted, random_bits, random_indices

__all__ = ["device"]

TYPES = newest_types("SCATTER_ELEMENTS", "InputTensor")
INDEX_TYPES = newest_types("SCATTER_ELEMENTS", "IndicesTensor")


def within(index: int, size: int) -> int:
    """A negative index counts from the end; what is still outside is clamped."""
    return min(max(index + size if index < 0 else index, 0), size - 1)


def check_elements(
    device: Any,
    values: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    axis: int,
    layouts: Layouts | None = None,
) -> None:
    expected = values.copy()
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = within(int(indices[at]), values.shape[axis])
        expected[tuple(place)] = updates[at]
    inputs = {"InputTensor": values, "IndicesTensor": indices, "UpdatesTensor": updates}
    check(device, "SCATTER_ELEMENTS", {"Axis": axis}, inputs, {"OutputTensor": expected}, layouts or {})


def check_nd(
    device: Any,
    values: np.ndarray,
    tuples: np.ndarray,
    updates: np.ndarray,
    layouts: Layouts | None = None,
    rank: int | None = None,
) -> None:
    """Arrays without the leading ones that bring tensors to one rank."""
    expected = values.copy()
    blocks = updates.reshape((*tuples.shape[:-1], *values.shape[tuples.shape[-1] :]))
    for at in np.ndindex(tuples.shape[:-1]):
        place = tuple(within(int(i), size) for i, size in zip(tuples[at], values.shape, strict=False))
        expected[place] = blocks[at]
    ranks = (values.ndim, tuples.ndim, updates.ndim)
    common = rank or max(ranks)

    def full(array: np.ndarray) -> np.ndarray:
        return array.reshape((1,) * (common - array.ndim) + array.shape)

    inputs = {"InputTensor": full(values), "IndicesTensor": full(tuples), "UpdatesTensor": full(updates)}
    counts = {"InputDimensionCount": values.ndim, "IndicesDimensionCount": tuples.ndim}
    check(device, "SCATTER_ND", counts, inputs, {"OutputTensor": full(expected)}, layouts or {})


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("data_type", TYPES)
def test_every_data_type(device: Any, data_type: str, index_type: str) -> None:
    rng = np.random.default_rng(0)
    values, updates = random_bits(rng, (5, 9), data_type), random_bits(rng, (5, 7), data_type)
    check_elements(device, values, random_indices(rng, (5, 7), index_type, 9), updates, 1)
    blocks = random_bits(rng, (3, 9), data_type)
    check_nd(device, values, random_indices(rng, (3, 1), index_type, 5), blocks)


@pytest.fixture(params=[0, 2**15], ids=["scattered", "searched"])
def any_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if updates were many, and as if they were few."""
    monkeypatch.setattr(pass_selection, "SEARCHED", request.param)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank_and_layout(device: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    sizes = [2, 3, 1, 2, 3, 2, 1, 4][-rank:]
    data_type = ["uint8", "float32"][rank % 2]
    values = random_bits(rng, sizes, data_type)
    for axis in range(0, rank, 3):
        fewer = [3 if d == axis else size for d, size in enumerate(sizes)]
        indices, updates = (
            random_indices(rng, fewer, "int32", sizes[axis]),
            random_bits(rng, fewer, data_type),
        )
        tensors = {"IndicesTensor": indices, "UpdatesTensor": updates}
        gaps = with_gaps({"InputTensor": values, "OutputTensor": values, **tensors})
        order = list(reversed(range(rank)))
        turned = {name: permuted(array.shape, order) for name, array in tensors.items()}
        turned["OutputTensor"] = permuted(sizes, order)
        for layout in (gaps, turned):
            check_elements(device, values, indices, updates, axis, layout)


@pytest.mark.parametrize(
    ("sizes", "tuples", "rank"),
    [
        ([8], [4, 1], None),
        ([8], [1], None),
        ([8], [5, 1], 8),
        ([4, 5], [2], None),
        ([4, 5], [7, 2], 3),
        ([4, 5, 6], [2, 3, 1], None),
        ([4, 5, 6], [2, 3, 2], 5),
        ([4, 5, 6], [2, 3, 3], None),
        ([2, 3, 2, 3, 2, 3, 2, 3], [5, 3], None),
        ([2, 3, 2, 3, 2, 3, 2, 3], [2, 1, 2, 1, 1, 1, 2, 8], None),
    ],
)
def test_tuples_of_any_length(
    device: Any, sizes: Sequence[int], tuples: Sequence[int], rank: int | None
) -> None:
    rng = np.random.default_rng(len(sizes))
    shape = [*tuples[:-1], *sizes[tuples[-1] :]]
    limits = sizes[: tuples[-1]]
    indices = np.stack([rng.integers(-size, size, tuples[:-1]) for size in limits], axis=-1)
    for data_type in ("int8", "float64"):
        values, updates = random_bits(rng, sizes, data_type), random_bits(rng, shape, data_type)
        check_nd(device, values, indices, updates, None, rank)


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("count", [100, 5000])
@pytest.mark.parametrize("data_type", ["uint8", "int16", "float32"])
def test_the_last_of_many_updates_stays(device: Any, data_type: str, count: int) -> None:
    rng = np.random.default_rng(1)
    values, updates = random_bits(rng, (3, 40), data_type), random_bits(rng, (count, 40), data_type)
    indices = rng.integers(0, 3, (count, 40))
    check_elements(device, values, indices, updates, 0)
    # In the order of coordinates, for any layout of the tensors.
    turned = permuted((count, 40), [1, 0])
    check_elements(device, values, indices, updates, 0, {"UpdatesTensor": turned, "IndicesTensor": turned})


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_indices_far_outside_are_clamped(device: Any, index_type: str) -> None:
    info = np.iinfo(index_type)
    chosen = [info.min, info.min + 1, -(2**32) - 1, -(2**32), -(2**31), -7, -6, -5, -1, 4, 5]
    chosen += [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, info.max - 1, info.max]
    kept = [index for index in chosen if info.min <= index <= info.max]
    for index in kept:
        indices = np.array([index, 2], index_type)
        updates = np.array([7, 8], np.uint8)
        check_elements(device, np.arange(5, dtype=np.uint8), indices, updates, 0)
    check_nd(device, np.arange(5.0), np.array(kept, index_type)[:, None], np.arange(float(len(kept))))


def test_inputs_that_repeat(device: Any) -> None:
    row = np.arange(6, dtype=np.float32)
    inputs = np.broadcast_to(row, (4, 6)).copy()
    indices = np.broadcast_to(np.array([5, 0, 1], np.int32), (4, 3)).copy()
    updates = np.full((4, 3), -1, np.float32)
    layouts = {"InputTensor": [0, 1], "IndicesTensor": [0, 1], "UpdatesTensor": [0, 0]}
    check_elements(device, inputs, indices, updates, 1, layouts)


@pytest.mark.parametrize("count", [1, 40, 100])
@pytest.mark.parametrize(
    ("data_type", "width"),
    [("float32", 12), ("float32", 5), ("float16", 24), ("uint8", 12), ("uint8", 7), ("int64", 4)],
)
def test_rows(data_type: str, width: int, count: int, device: Any) -> None:
    """Some are replaced twice."""
    rng = np.random.default_rng(3)
    values, rows = random_bits(rng, (50, width), data_type), random_bits(rng, (count, width), data_type)
    check_nd(device, values, rng.integers(-50, 50, (count, 1), np.int32), rows)


def test_few_updates_of_few_elements_are_searched_for() -> None:
    """Nothing has to be cleared then."""
    for sizes, count, searched in (((64, 64), 64, [1]), ((64, 64), 65, [0, 0]), ((1024, 64), 1, [0, 0])):
        values, rows = TensorDesc("FLOAT32", sizes), TensorDesc("FLOAT32", (count, 64))
        places = TensorDesc("UINT32", (count, 1))
        desc = make.scatter_nd(values, places, rows, InputDimensionCount=2, IndicesDimensionCount=2)
        plan = gpu.plan(desc)
        assert [one.defines["SEARCHED"] for one in plan.dispatches] == searched
        assert len(plan.zero_initialize) == len(searched) - 1
