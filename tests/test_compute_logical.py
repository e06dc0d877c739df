"""Comparisons, logic and bit operations, in the reference and in shaders, against Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from gpu_device import device
from operator_runs import REGISTRY, run, types_of

__all__ = ["device"]

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "EQUALS": operator.eq,
    "GREATER_THAN": operator.gt,
    "GREATER_THAN_OR_EQUAL": operator.ge,
    "LESS_THAN": operator.lt,
    "LESS_THAN_OR_EQUAL": operator.le,
}
LOGIC: Mapping[str, Callable[[bool, bool], bool]] = {
    "AND": lambda a, b: a and b,
    "OR": lambda a, b: a or b,
    "XOR": operator.ne,
}
BITS: Mapping[str, Callable[[int, int], int]] = {
    "AND": operator.and_,
    "OR": operator.or_,
    "XOR": operator.xor,
}
SHIFTS: Mapping[str, Callable[[int, int], int]] = {"LEFT": operator.lshift, "RIGHT": operator.rshift}
INFINITIES = {"EITHER": (-math.inf, math.inf), "POSITIVE": (math.inf,), "NEGATIVE": (-math.inf,)}
FLOATS = ("FLOAT32", "FLOAT16")


def name(operation: str) -> str:
    return f"ELEMENT_WISE_{operation}"


def numbers(type_: str) -> np.ndarray:
    """Values of a data type: extremes, neighbors, zeros of both signs, NaN and infinities."""
    dtype = np.dtype(type_.lower())
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        one = np.array(1, dtype)
        near = [1, np.nextafter(one, one * 2), np.nextafter(one, one * 0), limits.tiny, limits.max]
        whole = [0.0, math.nan, math.inf, *near]
        return np.array([sign * value for value in whole for sign in (1, -1)], dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    chosen = {low, low + 1, high, high - 1, high // 2 + 1, 0, 1, 2, 3, *({-1, -2} if low else ())}
    return np.array(sorted(chosen), dtype)


def patterns(type_: str) -> np.ndarray:
    """Elements of any bits, NaN among the floats."""
    dtype = np.dtype(type_.lower())
    random = np.random.default_rng(7).bytes(61 * dtype.itemsize)
    return np.concatenate([np.frombuffer(random, dtype), numbers(type_)])


def bits(array: np.ndarray) -> list[int]:
    return [int(value) for value in array.view(f"u{array.dtype.itemsize}").ravel()]


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.meshgrid(values, values)
    return first.copy(), second.copy()


def results(device: Any, operation: str, *inputs: np.ndarray, output: str, **members: Any) -> list[list[int]]:
    """Of the reference and the shader, as a flat list of bits or numbers."""
    names = [member.name for member in REGISTRY.operator[name(operation)].inputs]
    arrays = dict(zip(names, inputs, strict=True))
    found = run(device, name(operation), arrays, (output, inputs[0].shape), members)
    assert all(array.dtype == np.dtype(output.lower()) for array in found)
    return [bits(array) for array in found]


@pytest.mark.parametrize("operation", COMPARISONS)
@pytest.mark.parametrize("place", range(10))
def test_comparisons(device: Any, operation: str, place: int) -> None:
    inputs = types_of(name(f"LOGICAL_{operation}"), "ATensor")
    outputs = types_of(name(f"LOGICAL_{operation}"), "OutputTensor")
    assert (len(inputs), len(outputs)) == (10, 2)
    a, b = pairs(numbers(inputs[place]))
    expected = [
        int(COMPARISONS[operation](x, y)) for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    ]
    for found in results(device, f"LOGICAL_{operation}", a, b, output=outputs[place % 2]):
        assert found == expected


@pytest.mark.parametrize("type_", ["UINT32", "UINT8"])
@pytest.mark.parametrize("operation", [*LOGIC, "NOT"])
def test_any_number_but_0_is_true(device: Any, operation: str, type_: str) -> None:
    a, b = pairs(numbers(type_))
    truths = zip(a.ravel() != 0, b.ravel() != 0, strict=True)
    inputs = (a,) if operation == "NOT" else (a, b)
    of = (lambda x, _: not x) if operation == "NOT" else LOGIC[operation]
    expected = [int(of(bool(x), bool(y))) for x, y in truths]
    for found in results(device, f"LOGICAL_{operation}", *inputs, output=type_):
        assert found == expected


@pytest.mark.parametrize("type_", types_of("ELEMENT_WISE_BIT_AND", "ATensor"))
@pytest.mark.parametrize("operation", [*BITS, "NOT"])
def test_bits_of_any_type(device: Any, operation: str, type_: str) -> None:
    a = patterns(type_)
    b = np.roll(a, 5)
    mask = (1 << 8 * a.dtype.itemsize) - 1
    if operation == "NOT":
        expected = [~x & mask for x in bits(a)]
    else:
        expected = [BITS[operation](x, y) for x, y in zip(bits(a), bits(b), strict=True)]
    inputs = (a,) if operation == "NOT" else (a, b)
    for found in results(device, f"BIT_{operation}", *inputs, output=type_):
        assert found == expected


@pytest.mark.parametrize("type_", types_of("ELEMENT_WISE_BIT_SHIFT_LEFT", "ATensor"))
@pytest.mark.parametrize("direction", SHIFTS)
def test_shifts_by_any_number_of_places(device: Any, direction: str, type_: str) -> None:
    dtype = np.dtype(type_.lower())
    size = 8 * dtype.itemsize
    places = np.array([0, 1, 7, size - 1, size, size + 1, 31, 32, 33, 63, 64, 65, np.iinfo(dtype).max], dtype)
    a, b = (array.copy() for array in np.meshgrid(patterns(type_), places))
    expected = [
        SHIFTS[direction](x, y) & (1 << size) - 1 if y < size else 0
        for x, y in zip(bits(a), bits(b), strict=True)
    ]
    for found in results(device, f"BIT_SHIFT_{direction}", a, b, output=type_):
        assert found == expected


@pytest.mark.parametrize("output", ["UINT32", "UINT8"])
@pytest.mark.parametrize("type_", types_of("ELEMENT_WISE_BIT_COUNT", "InputTensor"))
def test_bit_count(device: Any, type_: str, output: str) -> None:
    x = patterns(type_)
    for found in results(device, "BIT_COUNT", x, output=output):
        assert found == [bin(value).count("1") for value in bits(x)]


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("output", types_of("ELEMENT_WISE_IS_NAN", "OutputTensor"))
def test_is_nan(device: Any, type_: str, output: str) -> None:
    x = patterns(type_)
    for found in results(device, "IS_NAN", x, output=output):
        assert found == [int(math.isnan(value)) for value in x.tolist()]


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("mode", INFINITIES)
def test_is_infinity(device: Any, type_: str, mode: str) -> None:
    x = patterns(type_)
    for found in results(device, "IS_INFINITY", x, output="UINT8", InfinityMode=mode):
        assert found == [int(value in INFINITIES[mode]) for value in x.tolist()]
