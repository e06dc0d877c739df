"""Cumulative sums and products, in the reference and in shaders, against NumPy and Python's integers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dmlops import gpu
from gpu_device import device, run_in_guard_zones
from operator_runs import Layouts, check, description, newest_types, with_gaps
from tensors import permuted

__all__ = ["device"]

SUM, PRODUCT = "CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT"
EXCLUSIVE = {SUM: "HasExclusiveSum", PRODUCT: "HasExclusiveProduct"}
WAYS = list(itertools.product(("INCREASING", "DECREASING"), (False, True)))


def scanned(operator: str, array: np.ndarray, axis: int, direction: str, exclusive: bool) -> np.ndarray:
    """Element by element: integers modulo their range, floats in double precision."""
    lines = np.moveaxis(array, axis, -1)[..., :: 1 if direction == "INCREASING" else -1]
    kind, modulus = array.dtype.kind, 2 ** (8 * array.itemsize)
    results = np.empty(lines.shape, np.float64 if kind == "f" else f"u{array.itemsize}")
    for place in np.ndindex(lines.shape[:-1]):
        total: Any = 0 if operator == SUM else 1
        found = []
        for element in lines[place].tolist():
            before = total
            total = total + element if operator == SUM else total * element
            total = total if kind == "f" else total % modulus
            found.append(before if exclusive else total)
        results[place] = found
    with np.errstate(over="ignore"):
        results = results.astype(array.dtype) if kind == "f" else results.view(array.dtype)
    undone = results[..., :: 1 if direction == "INCREASING" else -1]
    return np.ascontiguousarray(np.moveaxis(undone, -1, axis))


def check_scan(
    device: Any,
    operator: str,
    array: np.ndarray,
    axis: int,
    way: tuple[str, bool],
    layouts: Layouts | None = None,
    tolerance: float = 0.0,
) -> None:
    direction, exclusive = way
    expected = {"OutputTensor": scanned(operator, array, axis, direction, exclusive)}
    members = {"Axis": axis, "AxisDirection": direction, EXCLUSIVE[operator]: exclusive}
    check(device, operator, members, {"InputTensor": array}, expected, layouts or {}, tolerance)


def some(rng: np.random.Generator, sizes: tuple[int, ...], data_type: str) -> np.ndarray:
    """Whole numbers whose sums every type holds, or integers whose sums and products wrap around."""
    kind = np.dtype(data_type).kind
    if kind == "f":
        return rng.integers(-4, 5, sizes).astype(data_type)
    info = np.iinfo(data_type)
    return rng.integers(info.min, info.max, sizes, data_type, endpoint=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("data_type", newest_types(SUM, "InputTensor"))
def test_sums_of_every_data_type(device: Any, data_type: str, way: tuple[str, bool]) -> None:
    array = some(np.random.default_rng(0), (3, 70, 5), data_type)
    for axis in (1, 2):
        check_scan(device, SUM, array, axis, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("data_type", newest_types(PRODUCT, "InputTensor"))
def test_products_of_every_data_type(device: Any, data_type: str, way: tuple[str, bool]) -> None:
    rng = np.random.default_rng(1)
    array = some(rng, (4, 300), data_type)
    if array.dtype.kind == "f":
        array = rng.choice([-2.0, -1.0, 1.0, 0.5], array.shape).astype(data_type)
        array[:, 11::12] = 2.0 ** rng.integers(-3, 4, array[:, 11::12].shape)  # powers of 2: all exact
    else:
        array |= 1  # or all bits would be gone soon
    check_scan(device, PRODUCT, array, 1, way)


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank_and_layout(device: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    sizes = tuple([2, 1, 3, 2, 1, 2, 3, 5][-rank:])
    array = some(rng, sizes, "int32")
    gaps = with_gaps({"InputTensor": array, "OutputTensor": array})
    turned = {"OutputTensor": permuted(sizes, list(reversed(range(rank))))}
    for axis in range(rank):
        check_scan(device, SUM, array, axis, WAYS[axis % 4], gaps)
        check_scan(device, PRODUCT, array, axis, WAYS[(axis + 1) % 4], turned)


@pytest.mark.parametrize("way", WAYS)
def test_inputs_that_repeat_along_a_dimension(device: Any, way: tuple[str, bool]) -> None:
    row = some(np.random.default_rng(2), (1, 6), "int64")
    check_scan(device, SUM, np.repeat(row, 90, axis=0), 0, way, {"InputTensor": [0, 1]})
    check_scan(device, SUM, np.repeat(row.T, 90, axis=1), 1, way, {"InputTensor": [1, 0]})


SHAPES: dict[str, tuple[tuple[int, int], int, Layouts]] = {
    **{
        f"of {length}": ((2, length), 1, {}) for length in (1, 64, 65, 1023, 1025, 4097, 16384, 32769, 50_000)
    },
    **{f"short, of {length}": ((301, length), 1, {}) for length in (9, 33, 64, 127, 200)},
    "short, with gaps": ((301, 127), 1, {"InputTensor": [256, 2], "OutputTensor": [384, 3]}),
    **{f"side by side, of {length}": ((length, 4100), 0, {}) for length in (1, 3, 20, 65)},
    "side by side, with gaps": ((20, 4100), 0, {"OutputTensor": [8200, 2]}),
    "side by side, fill no group": ((131, 261), 0, {}),
    "side by side, longer than a group": ((1030, 260), 0, {"InputTensor": [300, 1]}),
    **{f"in vectors, of {length}": ((3, length), 1, {}) for length in (8, 511, 512, 514, 1028, 40_004)},
    **{
        f"in vectors {gap} apart": ((3, 1028), 1, {"InputTensor": [1032, 1], "OutputTensor": [1028 + gap, 1]})
        for gap in (0, 2, 4)
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_of_any_shape(device: Any, shape: str) -> None:
    """From several lines a group to several groups a line, and what fills no group, segment or vector."""
    sizes, axis, layouts = SHAPES[shape]
    rng, number = np.random.default_rng(7), list(SHAPES).index(shape)
    for place, data_type in enumerate(("int64", "uint32", "float32", "float16")):
        array = some(rng, sizes, data_type)
        if data_type == "float16":
            array %= 2
            np.moveaxis(array, axis, 0)[2000:] = 0
        check_scan(device, SUM, array, axis, WAYS[(place + number) % 4], layouts)
    check_scan(device, PRODUCT, some(rng, sizes, "uint64") | 1, axis, WAYS[number % 4], layouts)


@pytest.mark.parametrize("length", [40, 3000, 40_000])
def test_what_is_no_number(device: Any, length: int) -> None:
    array = np.ones((3, length), np.float32)
    array[0, 5], array[0, 7] = np.inf, -np.inf
    array[1, 9] = np.nan
    array[2, length // 2], array[2, length - 3] = np.inf, 0
    for operator, way in itertools.product((SUM, PRODUCT), WAYS):
        check_scan(device, operator, array, 1, way, None, 1e-6)


@pytest.mark.parametrize("length", [40, 3000, 40_000])
def test_in_place(device: Any, length: int) -> None:
    array = some(np.random.default_rng(5), (2, length), "int32")
    for axis, (direction, exclusive) in enumerate(WAYS[1:3]):
        members = {"Axis": axis, "AxisDirection": direction, "HasExclusiveSum": exclusive}
        desc = description(SUM, members, {"InputTensor": array, "OutputTensor": array})
        found = gpu.run(desc, {"InputTensor": array}, device, in_place="InputTensor")["OutputTensor"]
        assert (found == scanned(SUM, array, axis, direction, exclusive)).all()


@pytest.mark.parametrize("length", [8, 100])
def test_half_precision_is_computed_in_single(device: Any, length: int) -> None:
    array = np.zeros((1, length), np.float16)
    array[0, :5] = [2048, 1, 1, 1, -1]
    array[0, 5:8] = [60000, 60000, -60000]
    exact = [2048, 2049, 2050, 2051, 2050, 62050, 122050, 62050]
    with np.errstate(over="ignore"):
        expected = np.array([exact + exact[-1:] * (length - 8)], np.float64).astype(np.float16)
    assert np.isinf(expected[0, 6])
    members: dict[str, Any] = {"Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}
    check(device, SUM, members, {"InputTensor": array}, {"OutputTensor": expected})


def test_sums_are_near_the_exact_ones_and_always_the_same(device: Any) -> None:
    array = np.random.default_rng(4).standard_normal((2, 100_000)).astype(np.float32)
    members = {"Axis": 1, "AxisDirection": "INCREASING", "HasExclusiveSum": False}
    desc = description(SUM, members, {"InputTensor": array, "OutputTensor": array})
    first = run_in_guard_zones(device, desc, {"InputTensor": array})["OutputTensor"]
    again = run_in_guard_zones(device, desc, {"InputTensor": array})["OutputTensor"]
    assert first.tobytes() == again.tobytes()
    for line, result in zip(array, first, strict=True):
        for end in (1, 1000, 16384, 50_001, 100_000):
            exact = math.fsum(line[:end].tolist())
            assert abs(result[end - 1] - exact) < 1e-5 * math.sqrt(end)
