"""Top-k and nonzero coordinates, in the reference and in shaders, against sorting and loops in Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest

from gpu_device import device
from operator_runs import Layouts, check, newest_types, with_gaps
from tensors import permuted, random_bits

__all__ = ["device"]

VALUE_TYPES = newest_types("TOP_K1", "InputTensor")
INDEX_TYPES = newest_types("TOP_K1", "OutputIndexTensor")
DIRECTIONS = ("INCREASING", "DECREASING")


def in_order(line: list[Any], largest: bool) -> list[int]:
    """The places of a line's elements: NaN above all numbers, equal elements in the order of their places."""

    def key(place: int) -> tuple[bool, Any]:
        element = line[place]
        is_nan = element != element
        return is_nan != largest, 0 if is_nan else -element if largest else element

    return sorted(range(len(line)), key=key)


def check_top(
    device: Any,
    array: np.ndarray,
    axis: int,
    count: int,
    direction: str,
    index_type: str = "uint32",
    layouts: Layouts | None = None,
) -> None:
    lines = np.moveaxis(array, axis, -1)
    places = np.empty((*lines.shape[:-1], count), index_type)
    for line in np.ndindex(lines.shape[:-1]):
        places[line] = in_order(lines[line].tolist(), direction == "DECREASING")[:count]
    indices = np.ascontiguousarray(np.moveaxis(places, -1, axis))
    values = np.ascontiguousarray(np.take_along_axis(array, indices.astype(np.int64), axis))
    expected = {"OutputValueTensor": values, "OutputIndexTensor": indices}
    members: dict[str, Any] = {"Axis": axis, "K": count}
    inputs, strides = {"InputTensor": array}, layouts or {}
    check(device, "TOP_K1", {**members, "AxisDirection": direction}, inputs, expected, strides)
    if direction == "DECREASING":
        check(device, "TOP_K", members, inputs, expected, strides)


def some(rng: np.random.Generator, sizes: tuple[int, ...], data_type: str) -> np.ndarray:
    """Any bits, extremes among them, and many elements that are equal."""
    array = random_bits(rng, sizes, data_type)
    few = random_bits(rng, (4,), data_type)
    return np.where(rng.random(sizes) < 0.5, rng.choice(few, sizes), array)


def by_turns(data_type: str) -> Iterator[str]:
    """Directions for the cases of a data type: both for each type, and for each case among the types.

    A direction turns keys round and nothing else, so that every case of every type need not have both.
    """
    return islice(cycle(DIRECTIONS), VALUE_TYPES.index(data_type) % 2, None)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("data_type", VALUE_TYPES)
def test_every_data_type(device: Any, data_type: str, direction: str) -> None:
    rng = np.random.default_rng(0)
    array = some(rng, (3, 37), data_type)
    for count, index_type in zip((1, 37), INDEX_TYPES, strict=True):
        check_top(device, array, 1, count, direction, index_type)
    check_top(device, some(rng, (2, 1100), data_type), 1, 30, direction)


@pytest.mark.parametrize("data_type", ["float32", "float16"])
def test_the_order_of_special_numbers(device: Any, data_type: str) -> None:
    info = np.finfo(data_type)
    tiny = float(info.smallest_subnormal)
    numbers = [math.nan, 0.0, math.inf, -0.0, tiny, -math.inf, -tiny, 0.0, float(info.max), float(info.min)]
    array = np.array([numbers + numbers[::-1]], data_type)
    array.view(f"u{array.itemsize}")[0, 0] |= (
        1 << array.itemsize * 8 - 1
    )  # a NaN with a sign, another payload
    array.view(f"u{array.itemsize}")[0, 0] |= 1
    for direction in DIRECTIONS:
        check_top(device, array, 1, 20, direction)


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank_and_layout(device: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    sizes = tuple([2, 1, 3, 2, 1, 2, 3, 5][-rank:])
    data_type = ["int8", "float16"][rank % 2]
    array = some(rng, sizes, data_type)
    for axis in range(0, rank, 2):
        count = -(-sizes[axis] // 2)
        shape = [count if d == axis else size for d, size in enumerate(sizes)]
        output = np.empty(shape)
        gaps = {"InputTensor": array, "OutputValueTensor": output, "OutputIndexTensor": output}
        check_top(device, array, axis, count, DIRECTIONS[axis // 2 % 2], "uint32", with_gaps(gaps))
        order = list(reversed(range(rank)))
        turned = {"InputTensor": permuted(sizes, order), "OutputValueTensor": permuted(shape, order)}
        check_top(device, array, axis, count, DIRECTIONS[rank % 2], "uint64", turned)


LENGTHS = (1, 2, 3, 63, 1023, 1024, 1025, 2049, 5000)
SHAPES: dict[str, tuple[tuple[int, ...], int, tuple[int, ...]]] = {
    **{f"of {n}": ((2, n), 1, (1, min(n, 7), -(-n // 2), max(n - 1, 1), n)) for n in LENGTHS},
    "short": ((3, 200), 1, (199, 200)),
    "very short": ((3000, 5), 1, (2, 5)),
    "short and side by side": ((5, 3000), 0, (4,)),
    "of one part, sorted": ((2, 1025), 1, (600,)),
    "of one part, selected from": ((2, 4096), 1, (1, 16, 64)),
    "of parts, sorted and merged": ((2, 12_289), 1, (12_289, 7000)),
    "of parts that are merged twice": ((1, 70_001), 1, (70_001,)),
    "of parts, selected from": ((2, 40_001), 1, (50,)),
    "of many parts, selected from": ((1, 300_000), 1, (250,)),
    "apart": ((2600, 3, 2), 0, (1500, 5)),
    "side by side": ((4096, 5), 0, (16,)),
    "side by side, in several groups": ((513, 3, 20), 0, (5,)),
    "side by side, of many elements": ((33_000, 3), 0, (17,)),
    "side by side in each of two": ((2, 700, 9), 1, (64,)),
}


@pytest.mark.parametrize("data_type", ["float32", "float16", "int8", "uint64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_lines_of_any_shape(device: Any, shape: str, data_type: str) -> None:
    sizes, axis, counts = SHAPES[shape]
    array = some(np.random.default_rng(29), sizes, data_type)
    for count, direction in zip(dict.fromkeys(counts), by_turns(data_type), strict=False):
        check_top(device, array, axis, count, direction)


@pytest.mark.parametrize("data_type", VALUE_TYPES)
def test_elements_that_are_selected(device: Any, data_type: str) -> None:
    wide = some(np.random.default_rng(29), (2, 4096), data_type)
    cases = [
        (np.sort(wide[:, :700], axis=1), 40),  # neighbors
        (np.sort(wide.reshape(2, 64, 64), axis=1).transpose(0, 2, 1).reshape(2, 4096), 33),
        (np.broadcast_to(wide[:1, :1], (1, 2049)), 5),  # the first of equals
    ]
    for (array, count), direction in zip(cases, by_turns(data_type), strict=False):
        check_top(device, np.ascontiguousarray(array), 1, count, direction)


@pytest.mark.parametrize("data_type", ["float32", "int64"])
def test_elements_that_count_in_few_of_the_shares(device: Any, data_type: str) -> None:
    """A thread has elements a power of two apart. Far more pass the bound than are wanted."""
    rng = np.random.default_rng(41)
    for length, count, direction in ((8192, 250, "INCREASING"), (30_000, 200, "DECREASING")):
        array = rng.integers(0, 1000, (1, length)).astype(data_type)
        array[:, np.arange(length) % 64 < count // 8] += 1000 if direction == "DECREASING" else -1000
        check_top(device, array, 1, count, direction)


@pytest.mark.parametrize(
    ("sizes", "axis", "count", "strides"),
    [((2600, 3, 2), 0, 1500, [1, 2600, 7800]), ((700, 3, 4), 0, 7, [12, 1, 3]), ((3, 1500), 1, 1200, [0, 0])],
    ids=["turned", "side by side", "repeated"],
)
def test_lines_of_other_layouts(
    device: Any, sizes: tuple[int, ...], axis: int, count: int, strides: list[int]
) -> None:
    whole = some(np.random.default_rng(1), sizes, "int16")
    array = whole if any(strides) else np.full(sizes, 7, np.int16)
    for direction in DIRECTIONS:
        check_top(device, array, axis, count, direction, "uint64", {"InputTensor": strides})


def check_nonzero(
    device: Any, array: np.ndarray, columns: int, rank: int = 4, layouts: Layouts | None = None
) -> None:
    found = [at for at in np.ndindex(array.shape) if array[at] != 0]
    rows = np.zeros((array.size, columns), np.uint32)
    for row, at in enumerate(found):
        rows[row] = at[array.ndim - columns :]
    expected = {
        "OutputCountTensor": np.full((1,) * rank, len(found), np.uint32),
        "OutputCoordinatesTensor": rows.reshape((1,) * (rank - 2) + rows.shape),
    }
    check(device, "NONZERO_COORDINATES", {}, {"InputTensor": array}, expected, layouts or {})


def sparse(rng: np.random.Generator, sizes: tuple[int, ...], data_type: str) -> np.ndarray:
    """Any bits, a half of them zeros, and zeros of either sign."""
    array = random_bits(rng, sizes, data_type)
    zeros = np.zeros(sizes, data_type)
    if zeros.dtype.kind == "f":
        zeros = np.where(rng.random(sizes) < 0.5, zeros, -zeros)
    return np.where(rng.random(sizes) < 0.5, array, zeros)


@pytest.mark.parametrize("data_type", newest_types("NONZERO_COORDINATES", "InputTensor"))
def test_nonzero_elements_of_every_data_type(device: Any, data_type: str) -> None:
    array = sparse(np.random.default_rng(3), (5, 7, 3), data_type)
    if array.dtype.kind == "f":
        array[0, 0, :] = np.nan, np.finfo(data_type).smallest_subnormal, -np.inf
    check_nonzero(device, array, 3)


@pytest.mark.parametrize("rank", range(1, 9))
def test_nonzero_elements_of_every_rank(device: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    array = sparse(rng, tuple([2, 3, 1, 2, 3, 2, 1, 4][-rank:]), "uint8")
    check_nonzero(device, array, rank, max(rank, 2), with_gaps({"InputTensor": array}))
    order = list(reversed(range(rank)))
    check_nonzero(device, array, rank, 8, {"InputTensor": permuted(array.shape, order)})


def test_rows_may_have_fewer_or_more_columns_than_coordinates_count(device: Any) -> None:
    array = sparse(np.random.default_rng(4), (1, 1, 6, 5), "int32")
    for columns in (2, 3, 4):
        layouts = {"OutputCoordinatesTensor": [4000, 3000, 2 * columns + 1, 2]}
        check_nonzero(device, array, columns, 4, layouts)


@pytest.mark.parametrize("length", [1, 255, 256, 1023, 1024, 1025, 300_000])
def test_nonzero_elements_of_any_number(device: Any, length: int) -> None:
    """Several blocks, and more blocks than a group adds up at once."""
    array = sparse(np.random.default_rng(length), (length,), "int16")
    check_nonzero(device, array, 1)


@pytest.mark.parametrize("value", [0, 1])
def test_none_and_all(device: Any, value: int) -> None:
    check_nonzero(device, np.full((40, 50), value, np.float32), 2)
    check_nonzero(device, np.full((1, 3, 20), value, np.uint8), 3, 4, {"InputTensor": [0, 0, 0]})
