"""Operators that move, convert or resize, in the reference and in shaders, against NumPy and plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlops
from gpu_device import device, flushed, flushes
from operator_runs import LAYOUTS, check, newest_types, vectors_of_any_tensor
from tensors import random_bits

__all__ = ["device", "vectors_of_any_tensor"]

PADDING_MODES = {
    "CONSTANT": "constant",
    "EDGE": "edge",
    "REFLECTION": "reflect",
    "SYMMETRIC": "symmetric",
    "WRAP": "wrap",
}


# CAST


def interesting(data_type: str, rng: np.random.Generator) -> np.ndarray:
    """Extremes, the surroundings of every integer type's limits, halves, and random bits."""
    kind = np.dtype(data_type)
    numbers: list[float]
    if kind.kind != "f":
        info = np.iinfo(kind)
        numbers = [info.min, info.min + 1, -1, 0, 1, 2, 100, info.max - 1, info.max]
        numbers += [2**power + more for power in (7, 8, 15, 16, 24, 31, 32, 53, 63) for more in (-1, 0, 1)]
        numbers = [number for number in numbers if info.min <= number <= info.max]
    else:
        limits = [sign * 2.0**power for power in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
        numbers = [*limits, 0.0, -0.0, 0.5, -0.5, 0.999, -1.5, 2.5, 1e-7, 1e-40, 65519.9, 65520.0, 3e38]
        numbers += [1e300, np.inf, -np.inf, np.nan, -127.5, 255.9, 256.1, -129.0, 2147483520.0, -2147483904.0]
        # Beside numbers that are half-way between two of FLOAT16, which go to the even one.
        numbers += [1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40]
        # Whole numbers of more bits than a float has, and what is around where they are distinguished from
        # halves.
        numbers += [2.0**24 + 1, -(2.0**25) - 3, 1e9 + 7, 131071 + 1e-9, 131072.3]
        numbers += [65519.999999999, 65520 - 1e-9]
    with np.errstate(over="ignore"):
        values = np.array(numbers, kind)
    # A denormal number is not left alone by every device, so random ones are kept large enough.
    random = rng.normal(0, 300, 64).astype(kind) if kind.kind == "f" else random_bits(rng, [64], data_type)
    return np.concatenate([values, random])


def cast(values: np.ndarray, data_type: str) -> np.ndarray:
    target = np.dtype(data_type)
    with np.errstate(over="ignore", invalid="ignore"):
        if target.kind == "f":
            return values.astype(target)
    wide = np.iinfo(("uint" if target.kind == "u" else "int") + ("64" if target.itemsize == 8 else "32"))

    def one(number: Any) -> int:
        if isinstance(number, float):
            if np.isnan(number):
                return 0
            number = min(max(number, float(wide.min)), float(wide.max))
            number = min(max(int(number), int(wide.min)), int(wide.max))
        bits = int(number) % 2 ** (8 * target.itemsize)
        return bits if bits <= np.iinfo(target).max else bits - 2 ** (8 * target.itemsize)

    return np.array([one(number) for number in values.tolist()], target)


@pytest.mark.parametrize("source", newest_types("CAST"))
def test_cast(device: Any, source: str) -> None:
    values = interesting(source, np.random.default_rng(0))
    for target in newest_types("CAST"):
        inputs = values
        if target in ("float16", "float32"):
            with np.errstate(over="ignore"):
                small = np.abs(values.astype(target)) < np.finfo(target).smallest_normal
            inputs = values[~small | (values == 0)]
        if source == "float32" and flushes(device):
            inputs = inputs[(flushed(inputs) != 0) | (inputs == 0)]
        expected = cast(inputs, target)
        check(device, "CAST", {}, {"InputTensor": inputs}, {"OutputTensor": expected})
        table, result = (array[: array.size // 4 * 4].reshape(2, -1, 2) for array in (inputs, expected))
        check(device, "CAST", {}, {"InputTensor": table}, {"OutputTensor": result}, "gaps")
        check(device, "CAST", {}, {"InputTensor": table}, {"OutputTensor": result}, "backwards")


# PADDING


@pytest.mark.parametrize("mode", PADDING_MODES)
@pytest.mark.parametrize("rank", range(1, 9))
def test_padding(device: Any, mode: str, rank: int) -> None:
    rng = np.random.default_rng(rank)
    sizes = [2, 1, 3, 1, 2, 3, 4, 5][-rank:]
    before = [1, 0, 2, 1, 0, 0, 5, 17][-rank:]
    after = [0, 1, 0, 1, 2, 0, 4, 3][-rank:]
    values = random_bits(rng, sizes, "float32")
    more: dict[str, Any] = {"constant_values": np.float32(-2.5)} if mode == "CONSTANT" else {}
    expected = np.pad(values, list(zip(before, after, strict=True)), PADDING_MODES[mode], **more)
    members = {"PaddingMode": mode, "DimensionCount": rank, "StartPadding": before, "EndPadding": after}
    named = {"InputTensor": values}, {"OutputTensor": expected}
    strides = LAYOUTS[rank % 3]
    check(device, "PADDING", {**members, "PaddingValue": -2.5}, *named, strides)
    typed = {"PaddingValueDataType": "FLOAT32", "PaddingValue": -2.5}
    check(device, "PADDING1", {**members, **typed}, *named, strides)


@pytest.mark.parametrize("data_type", newest_types("PADDING1"))
def test_padding_of_every_type(device: Any, data_type: str) -> None:
    rng = np.random.default_rng(2)
    values = random_bits(rng, (3, 5), data_type)
    kind = np.dtype(data_type)
    value: int | float = -1.625 if kind.kind == "f" else int(np.iinfo(kind).max) - 2
    members = {"PaddingMode": "CONSTANT", "DimensionCount": 2, "StartPadding": [0, 2], "EndPadding": [1, 0]}
    expected = np.pad(values, [(0, 1), (2, 0)], constant_values=kind.type(value))
    named = {"InputTensor": values}, {"OutputTensor": expected}
    typed = {"PaddingValueDataType": data_type.upper(), "PaddingValue": value}
    check(device, "PADDING1", {**members, **typed}, *named)
    cut = np.pad(values, [(0, 1), (2, 0)], constant_values=kind.type(2.75))
    check(device, "PADDING", {**members, "PaddingValue": 2.75}, named[0], {"OutputTensor": cut}, "gaps")


def test_a_negative_padding_value_of_unsigned_types(device: Any) -> None:
    members = {"PaddingMode": "CONSTANT", "DimensionCount": 1, "StartPadding": [1], "EndPadding": [0]}
    values = np.array([7], np.uint8)
    expected = np.array([0, 7], np.uint8)  # as CAST does it
    named = {"InputTensor": values}, {"OutputTensor": expected}
    check(device, "PADDING", {**members, "PaddingValue": -3.0}, *named)


def test_a_reflection_that_32_bits_cannot_count_is_refused() -> None:
    tensors = {"InputTensor": {"DataType": "INT8", "Sizes": [2**30 + 5]}}
    tensors["OutputTensor"] = {"DataType": "INT8", "Sizes": [2**30 + 6]}
    members = {"PaddingMode": "REFLECTION", "PaddingValue": 0, "DimensionCount": 1}
    paddings = {"StartPadding": [1], "EndPadding": [0]}
    desc = dmlops.from_json({"type": "PADDING", "desc": {**tensors, **members, **paddings}})
    assert desc.validate("6.4") == []
    with pytest.raises(dmlops.gpu.Unsupported, match="31 bits"):
        dmlops.gpu.plan(desc)


# Slices


def random_slice(rng: np.random.Generator, size: int) -> tuple[int, int, int, int]:
    """Offset, window, stride (maybe negative) and how many elements to take."""
    window = int(rng.integers(1, size + 1))
    offset = int(rng.integers(0, size - window + 1))
    stride = int(rng.choice([1, 2, 3, -1, -2, -3, 100, -(2**31)]))
    most = 1 + (window - 1) // abs(stride)
    return offset, window, stride, int(rng.integers(1, most + 1))


def places(offset: int, window: int, stride: int, count: int) -> list[int]:
    first = offset if stride > 0 else offset + window - 1
    return [first + number * stride for number in range(count)]


@pytest.mark.parametrize("seed", range(24))
def test_slices(device: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = seed % 8 + 1
    sizes = [int(size) for size in rng.integers(1, 40 if rank == 1 else 6, rank)]
    types = newest_types("SLICE1")
    values = random_bits(rng, sizes, types[seed % len(types)])
    cuts = [random_slice(rng, size) for size in sizes]
    chosen = np.ix_(*(places(*cut) for cut in cuts))
    offsets, windows, strides, _ = (list(column) for column in zip(*cuts, strict=True))
    members = {
        "DimensionCount": rank,
        "InputWindowOffsets": offsets,
        "InputWindowSizes": windows,
        "InputWindowStrides": strides,
    }
    layouts = LAYOUTS[seed % 3]
    sliced = np.ascontiguousarray(values[chosen])
    check(device, "SLICE1", members, {"InputTensor": values}, {"OutputTensor": sliced}, layouts)
    spread = np.zeros_like(values)
    spread[chosen] = sliced
    named = {"InputGradientTensor": sliced}, {"OutputGradientTensor": spread}
    check(device, "SLICE_GRAD", members, *named, layouts)


@pytest.mark.parametrize("data_type", newest_types("SLICE"))
def test_slice(device: Any, data_type: str) -> None:
    values = random_bits(np.random.default_rng(3), (4, 7, 9), data_type)
    members = {"DimensionCount": 3, "Offsets": [1, 6, 2], "Sizes": [3, 1, 3], "Strides": [1, 2**32 - 1, 3]}
    expected = np.ascontiguousarray(values[1:4, 6:7, 2:9:3])
    for strides in LAYOUTS:
        check(device, "SLICE", members, {"InputTensor": values}, {"OutputTensor": expected}, strides)
    repeated = {"DimensionCount": 3, "Offsets": [3, 0, 8], "Sizes": [2, 7, 3], "Strides": [0, 1, 0]}
    expected = np.tile(values[3:, :, 8:], (2, 1, 3))
    check(device, "SLICE", repeated, {"InputTensor": values}, {"OutputTensor": expected})


# JOIN


@pytest.mark.parametrize("rank", range(1, 9))
def test_join_along_every_axis(device: Any, rank: int) -> None:
    """Parts that begin at whole vectors, and between them."""
    rng = np.random.default_rng(rank)
    sizes = [1, 2, 1, 3, 2, 1, 2, 8][-rank:]
    types = newest_types("JOIN")
    for axis in range(rank):
        lengths = (8, 4, 1) if axis == rank - 1 else (2, 1)
        shapes = [[n if d == axis else size for d, size in enumerate(sizes)] for n in lengths]
        for data_type in ("int8", types[(rank + axis) % len(types)]):
            parts = [random_bits(rng, each, data_type) for each in shapes]
            members = {"InputCount": len(parts), "Axis": axis}
            whole = np.concatenate(parts, axis)
            for strides in LAYOUTS:
                check(device, "JOIN", members, {"InputTensors": parts}, {"OutputTensor": whole}, strides)


# REVERSE_SUBSEQUENCES


@pytest.mark.parametrize("lengths_type", newest_types("REVERSE_SUBSEQUENCES", "SequenceLengthsTensor"))
@pytest.mark.parametrize("data_type", newest_types("REVERSE_SUBSEQUENCES"))
def test_reverse_subsequences(device: Any, data_type: str, lengths_type: str) -> None:
    rng = np.random.default_rng(5)
    values = random_bits(rng, (2, 6, 9), data_type)
    for axis in range(3):
        size = values.shape[axis]
        sizes = [1 if d == axis else other for d, other in enumerate(values.shape)]
        lengths = rng.integers(0, size + 1, sizes).astype(lengths_type)
        lengths.flat[:3] = [np.iinfo(lengths_type).max, size + 1, min(2**32 + 1, np.iinfo(lengths_type).max)]
        expected = values.copy()
        for place in np.ndindex(*sizes):
            line = expected[tuple(slice(None) if d == axis else c for d, c in enumerate(place))]
            count = min(int(lengths[place]), size)
            line[:count] = line[:count][::-1].copy()
        inputs = {"InputTensor": values, "SequenceLengthsTensor": lengths}
        named = {"Axis": axis}, inputs, {"OutputTensor": expected}
        check(device, "REVERSE_SUBSEQUENCES", *named, LAYOUTS[axis])


# Images


def interpolated(values: np.ndarray, factor: int, axis: int) -> np.ndarray:
    """Linear between the centers of pixels, in double precision."""
    size = values.shape[axis]
    centers = (np.arange(size * factor) + 0.5) / factor - 0.5
    return np.apply_along_axis(lambda line: np.interp(centers, np.arange(size), line), axis, values)


@pytest.mark.parametrize("data_type", newest_types("UPSAMPLE_2D"))
@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (3, 2), (5, 1), (4, 4)])
def test_upsample(device: Any, height: int, width: int, data_type: str) -> None:
    rng = np.random.default_rng([height, width])
    for number, sizes in enumerate([(1, 2, 3, 4), (2, 1, 2, 1, 3)]):
        values = rng.normal(size=sizes).astype(data_type)
        members = {"ScaleSize": {"Height": height, "Width": width}}
        nearest = np.repeat(np.repeat(values, height, -2), width, -1)
        strides = LAYOUTS[(number + height) % 3]
        inputs = {"InputTensor": values}
        mode = {"InterpolationMode": "NEAREST_NEIGHBOR"}
        check(device, "UPSAMPLE_2D", {**members, **mode}, inputs, {"OutputTensor": nearest}, strides)
        rank = len(sizes)
        wide = interpolated(interpolated(values.astype(np.float64), height, rank - 2), width, rank - 1)
        linear = {"OutputTensor": wide.astype(data_type)}
        tolerance = 1e-3 if data_type == "float16" else 1e-6
        mode = {"InterpolationMode": "LINEAR"}
        check(device, "UPSAMPLE_2D", {**members, **mode}, inputs, linear, strides, tolerance)


@pytest.mark.parametrize("data_type", newest_types("VALUE_SCALE_2D"))
@pytest.mark.parametrize("channels", [1, 3])
def test_value_scale(device: Any, channels: int, data_type: str) -> None:
    values = np.random.default_rng(6).normal(size=(2, channels, 3, 5)).astype(data_type)
    values[0, 0, 0, :3] = [np.inf, -np.inf, np.nan]
    bias = [0.5, -1.25, 7.0][:channels]
    expected = values.astype(np.float64) * 1.5 + np.array(bias).reshape(1, -1, 1, 1)
    members = {"Scale": 1.5, "ChannelCount": channels, "Bias": bias}
    named = {"InputTensor": values}, {"OutputTensor": expected.astype(data_type)}
    for strides in LAYOUTS:
        check(device, "VALUE_SCALE_2D", members, *named, strides, 1e-3 if data_type == "float16" else 1e-6)
