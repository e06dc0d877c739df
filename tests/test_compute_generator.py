"""Operators that generate data, in the reference and in shaders, against NumPy and published vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dmlops
from gpu_device import device
from operator_runs import LAYOUTS, check, newest_types
from tensors import random_bits

__all__ = ["device"]

NAMES = ("DIAGONAL_MATRIX", "DIAGONAL_MATRIX1", "FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE", "ONE_HOT")
LEAST, GREATEST = -(2**31), 2**31 - 1


# Diagonals

SIZES = [(3, 4), (2, 5, 2), (2, 1, 4, 4)]


@pytest.mark.parametrize("data_type", newest_types("DIAGONAL_MATRIX"))
def test_diagonal_matrix(device: Any, data_type: str) -> None:
    for sizes, strides in zip(SIZES, LAYOUTS, strict=True):
        for offset in (0, 1, -2, 100, LEAST, GREATEST):
            rows, columns = sizes[-2:]
            matrix = np.eye(rows, columns, offset if abs(offset) < 100 else columns) * 2.75
            expected = np.broadcast_to(matrix.astype(data_type), sizes)
            members = {"Offset": offset, "Value": 2.75}
            check(device, "DIAGONAL_MATRIX", members, {}, {"OutputTensor": expected}, strides)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e30, -1e30, 65504.0])
def test_values_beyond_halves_are_infinite_without_a_warning(device: Any, value: float) -> None:
    with np.errstate(over="ignore"):
        half = np.float16(value)
    diagonal = np.where(np.eye(2, dtype=bool), half, np.float16(0))
    check(device, "DIAGONAL_MATRIX", {"Offset": 0, "Value": value}, {}, {"OutputTensor": diagonal})
    members = {"PaddingMode": "CONSTANT", "PaddingValue": value, "StartPadding": [1], "EndPadding": [0]}
    padded = np.array([half, 1], np.float16)
    check(device, "PADDING", members, {"InputTensor": padded[1:]}, {"OutputTensor": padded})


@pytest.mark.parametrize("data_type", newest_types("DIAGONAL_MATRIX1"))
def test_diagonal_matrix1(device: Any, data_type: str) -> None:
    rng = np.random.default_rng(0)
    value = 99 if np.dtype(data_type).kind != "f" else -0.75
    bands = [(0, 1), (-1, 2), (LEAST, 0), (1, GREATEST), (1, 1), (2, -1), (GREATEST, LEAST), (1, 0)]
    for number, (begin, end) in enumerate(bands):
        sizes, strides = SIZES[number % 3], LAYOUTS[number % 3]
        given = random_bits(rng, sizes, data_type)
        diagonals = np.arange(sizes[-1]) - np.arange(sizes[-2])[:, None]
        inside = (diagonals >= begin) & (diagonals < end)
        if end < begin:
            inside = ~((diagonals >= end) & (diagonals < begin))
        members = {
            "ValueDataType": data_type.upper(),
            "Value": value,
            "DiagonalFillBegin": begin,
            "DiagonalFillEnd": end,
        }
        filled = np.where(inside, np.array(value, data_type), given)
        check(device, "DIAGONAL_MATRIX1", members, {"InputTensor": given}, {"OutputTensor": filled}, strides)
        alone = np.where(inside, np.array(value, data_type), np.zeros_like(given))
        check(device, "DIAGONAL_MATRIX1", members, {}, {"OutputTensor": alone}, strides)


# Fills


def values_of(data_type: str) -> list[Any]:
    if np.dtype(data_type).kind == "f":
        return [0.1, -0.0, math.inf, math.nan, float(np.finfo(data_type).max)]
    info = np.iinfo(data_type)
    return [0, 3, int(info.min), int(info.max)]


@pytest.mark.parametrize("data_type", newest_types("FILL_VALUE_CONSTANT"))
def test_fill_value_constant(device: Any, data_type: str) -> None:
    for number, value in enumerate(values_of(data_type)):
        sizes = [(1,), (5, 4), (3, 1, 7), (2, 1, 2, 1, 2, 1, 2, 3), (8, 4)][number]
        expected = {"OutputTensor": np.full(sizes, value, data_type)}
        members = {"ValueDataType": data_type.upper(), "Value": value}
        for strides in LAYOUTS:
            check(device, "FILL_VALUE_CONSTANT", members, {}, expected, strides)


@pytest.mark.parametrize("data_type", newest_types("FILL_VALUE_SEQUENCE"))
def test_fill_value_sequence(device: Any, data_type: str) -> None:
    kind = np.dtype(data_type)
    for number, sizes in enumerate([(300,), (3, 5), (2, 1, 3, 1, 2, 1, 2, 2)]):
        count, strides = math.prod(sizes), LAYOUTS[number]
        members: dict[str, Any]
        if kind.kind == "f":
            start, delta = (kind.type(given) for given in (-0.3, 0.7))
            exact = float(start) + np.arange(count) * float(delta)
            members = {"ValueStart": -0.3, "ValueDelta": 0.7}
            tolerance = 1e-3 if data_type == "float16" else 1e-6
        else:
            info = np.iinfo(kind)
            low, high = int(info.min) + 5, int(info.max) // 3
            wrapped = [(low + place * high) % 2 ** (8 * kind.itemsize) for place in range(count)]
            exact, tolerance = np.array(wrapped, f"uint{8 * kind.itemsize}").view(kind), 0
            members = {"ValueStart": low, "ValueDelta": high}
        expected = {"OutputTensor": exact.astype(kind).reshape(sizes)}
        members["ValueDataType"] = data_type.upper()
        check(device, "FILL_VALUE_SEQUENCE", members, {}, expected, strides, tolerance)


def test_a_long_sequence_of_halves_does_not_drift(device: Any) -> None:
    step = float(np.float16(0.1))
    expected = (np.arange(5000) * step).astype(np.float16)
    members = {"ValueDataType": "FLOAT16", "ValueStart": 0, "ValueDelta": 0.1}
    check(device, "FILL_VALUE_SEQUENCE", members, {}, {"OutputTensor": expected}, tolerance=1e-3)


# ONE_HOT


@pytest.mark.parametrize("index_type", newest_types("ONE_HOT", "IndicesTensor"))
@pytest.mark.parametrize("data_type", newest_types("ONE_HOT"))
def test_one_hot(device: Any, data_type: str, index_type: str) -> None:
    rng = np.random.default_rng(1)
    info = np.iinfo(index_type)
    for axis, value_sizes in enumerate([(1, 1, 2), (1, 3, 1), (2, 2, 2)]):
        sizes = [4, 5, 3]
        extent, sizes[axis] = sizes[axis], 1
        indices = rng.integers(max(-extent - 1, info.min), extent + 2, sizes).astype(index_type)
        extremes = [info.min, info.max, -1, -extent, -extent - 1, extent, 2**32, 2**32 - 1, -(2**32) + 1]
        indices.flat[: len(extremes)] = [min(max(value, info.min), info.max) for value in extremes]
        values = random_bits(rng, value_sizes, data_type)
        off, on = values.reshape(-1)[:2]
        sizes[axis] = extent
        expected = np.full(sizes, off)
        for place in np.ndindex(*indices.shape):
            index = int(indices[place])
            if -extent <= index < extent:
                expected[(*place[:axis], index % extent, *place[axis + 1 :])] = on
        named = {"Axis": axis}, {"IndicesTensor": indices, "ValuesTensor": values}, {"OutputTensor": expected}
        check(device, "ONE_HOT", *named, LAYOUTS[axis])


# RANDOM_GENERATOR

# The known answers that Random123 publishes for philox4x32 with 10 rounds: counter and key, then the words.
KNOWN = [
    ([0] * 6, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 6, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def philox(counter: int, key: list[int]) -> list[int]:
    """One block by Python's integers, checked against the known answers below."""
    words = [counter >> 32 * place & 0xFFFFFFFF for place in range(4)]
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        a, c = second >> 32 ^ words[1] ^ key[0], first >> 32 ^ words[3] ^ key[1]
        words = [a, second % 2**32, c, first % 2**32]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return words


def as_words(counter: int, key: list[int]) -> np.ndarray:
    words = [counter % 2**128 >> 32 * place & 0xFFFFFFFF for place in range(4)]
    return np.array([*words, *key], np.uint32)


def check_random(
    device: Any, counter: int, key: list[int], sizes: tuple[int, ...], strides: str, rank: int = 1
) -> None:
    blocks = -(-math.prod(sizes) // 4)
    words = [word for block in range(blocks) for word in philox((counter + block) % 2**128, key)]
    random = np.array(words[: math.prod(sizes)], np.uint32).reshape(sizes)
    shape = (*[1] * (rank - 1), 6)
    inputs = {"InputStateTensor": as_words(counter, key).reshape(shape)}
    following = as_words(counter + blocks, key).reshape(shape)
    members = {"Type": "PHILOX_4X32_10"}
    expected = {"OutputTensor": random, "OutputStateTensor": following}
    check(device, "RANDOM_GENERATOR", members, inputs, expected, strides)
    check(device, "RANDOM_GENERATOR", members, inputs, {"OutputTensor": random}, strides)


@pytest.mark.parametrize(("state", "words"), KNOWN)
def test_known_answers(device: Any, state: list[int], words: list[int]) -> None:
    counter = sum(word << 32 * place for place, word in enumerate(state[:4]))
    assert philox(counter, state[4:]) == words
    inputs = {"InputStateTensor": np.array(state, np.uint32)}
    expected = {"OutputTensor": np.array(words, np.uint32)}
    check(device, "RANDOM_GENERATOR", {"Type": "PHILOX_4X32_10"}, inputs, expected)


@pytest.mark.parametrize(
    "counter", [0, 2**32 - 2, 2**64 - 3, 2**96 - 1, 2**128 - 2, 0x48656C6C6F46726F << 64]
)
def test_counters_carry(device: Any, counter: int) -> None:
    check_random(device, counter, [0xDEADBEEF, 7], (5, 7), LAYOUTS[counter % 3])


@pytest.mark.parametrize("rank", range(1, 9))
def test_random_sizes(device: Any, rank: int) -> None:
    sizes = (3, 1, 2, 1, 2, 1, 3, 5)[-rank:]
    for strides in LAYOUTS:
        check_random(device, 12345678901234567890, [1, 2], sizes, strides, rank)
    check_random(device, 5, [1, 2], (*sizes[:-1], 2048), "packed", rank)


def test_executions_one_after_the_other_go_on(device: Any) -> None:
    def run(module: Any, state: np.ndarray, count: int, *more: Any) -> dict[str, np.ndarray]:
        sizes = {"InputStateTensor": 6, "OutputTensor": count, "OutputStateTensor": 6}
        tensors = {name: {"DataType": "UINT32", "Sizes": [size]} for name, size in sizes.items()}
        desc = dmlops.from_json({"type": "RANDOM_GENERATOR", "desc": {**tensors, "Type": "PHILOX_4X32_10"}})
        results: dict[str, np.ndarray] = module.run(desc, {"InputStateTensor": state}, *more)
        return results

    state = as_words(2**64 - 10, [3, 4])
    for module, more in ((dmlops.reference, ()), (dmlops.gpu, (device,))):
        whole = run(module, state, 100, *more)
        first = run(module, state, 40, *more)
        second = run(module, first["OutputStateTensor"], 60, *more)
        joined = np.concatenate([first["OutputTensor"], second["OutputTensor"]])
        np.testing.assert_array_equal(joined, whole["OutputTensor"])
        np.testing.assert_array_equal(second["OutputStateTensor"], whole["OutputStateTensor"])
