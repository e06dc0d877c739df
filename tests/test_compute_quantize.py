"""Quantization and back, in the reference and in shaders, against exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import TensorDesc
from gpu_device import device
from operator_runs import run, types_of

__all__ = ["device"]

SCALES = (1.0, 0.5, 0.1, 0.3, 1 / 3, 0.0078125, 1.7e-3, 3.3, 250.0, -0.25)
FOUR_BITS = {"INT4": (-8, 7), "UINT4": (0, 15)}


def limits(type_: str) -> tuple[int, int]:
    if type_ in FOUR_BITS:
        return FOUR_BITS[type_]
    found = np.iinfo(type_.lower())
    return int(found.min), int(found.max)


def numpy_type(type_: str) -> np.dtype[Any]:
    """4-bit types are unpacked to bytes."""
    return np.dtype(type_.lower().replace("t4", "t8"))


def quantized(x: np.ndarray, scale: np.ndarray, zero: Any, type_: str) -> list[int]:
    """Integers nearest to the product with the scale's reciprocal, both in single precision."""
    low, high = limits(type_)
    with np.errstate(all="ignore"):
        quotients = x.astype(np.float32) * (np.float32(1) / scale.astype(np.float32))
    found = []
    for quotient, point in zip(
        quotients.ravel().tolist(), np.broadcast_to(zero, x.shape).ravel().tolist(), strict=True
    ):
        if math.isnan(quotient):
            found.append(min(max(0, low), high))
        elif math.isinf(quotient):
            found.append(high if quotient > 0 else low)
        else:
            found.append(min(max(round(quotient) + point, low), high))
    return found


def restored(x: np.ndarray, scale: np.ndarray, zero: Any) -> np.ndarray:
    """(x - zero) * scale, the difference and the product each rounded to single precision."""
    with np.errstate(over="ignore"):
        difference = (x.astype(np.int64) - np.asarray(zero, np.int64)).astype(np.float32)
        product = np.float32(difference.astype(np.float64) * scale.astype(np.float64))
        return product.astype(scale.dtype)


def values(type_: str, scales: np.ndarray) -> np.ndarray:
    """Around every integer in reach and halfway between, beside the scales; then infinities and the like."""
    random = np.random.default_rng(6)
    steps = random.integers(-300, 300, scales.shape) / 2 + random.choice(
        [0, 0, 1e-7, -1e-7, 0.3], scales.shape
    )
    if type_ == "INT32":
        found = np.round(steps * scales).astype(np.int64)
        found.ravel()[:5] = [2**31 - 1, -(2**31), 0, 2**24 + 1, -129]
    else:
        found = steps * scales
        found.ravel()[:5] = [math.inf, -math.inf, math.nan, 6e4, -0.0]
    return found.astype(type_.lower())


def scales_of(type_: str, shape: Sequence[int]) -> np.ndarray:
    return np.resize(np.array(SCALES, type_.lower()), shape)


def points(type_: str, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    """Any values of an integer type, its limits first."""
    low, high = limits(type_)
    found = np.random.default_rng(seed).integers(low, high, shape, np.int64, endpoint=True)
    found.ravel()[:2] = [low, high]
    return found.astype(numpy_type(type_))


@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize("output", types_of("ELEMENT_WISE_QUANTIZE_LINEAR", "OutputTensor"))
@pytest.mark.parametrize(
    ("type_", "scale_type"), [("FLOAT32", "FLOAT32"), ("FLOAT16", "FLOAT16"), ("INT32", "FLOAT32")]
)
def test_quantize_linear(device: Any, type_: str, scale_type: str, output: str, has_zero: bool) -> None:
    sizes = (40, 100)
    scale = scales_of(scale_type, sizes)
    x = values(type_, scale)
    zero = points(output, sizes)
    inputs = {"InputTensor": x, "ScaleTensor": scale} | ({"ZeroPointTensor": zero} if has_zero else {})
    for found in run(device, "ELEMENT_WISE_QUANTIZE_LINEAR", inputs, (output, sizes)):
        assert found.ravel().tolist() == quantized(x, scale, zero if has_zero else 0, output)


@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize("output", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("type_", types_of("ELEMENT_WISE_DEQUANTIZE_LINEAR", "InputTensor"))
def test_dequantize_linear(device: Any, type_: str, output: str, has_zero: bool) -> None:
    sizes = (60,)
    x, zero, scale = points(type_, sizes, 1), points(type_, sizes, 2)[::-1].copy(), scales_of(output, sizes)
    x[5:10] = zero[5:10] + np.arange(5, dtype=x.dtype)  # differences that are small beside their terms
    inputs = {"InputTensor": x, "ScaleTensor": scale} | ({"ZeroPointTensor": zero} if has_zero else {})
    for found in run(device, "ELEMENT_WISE_DEQUANTIZE_LINEAR", inputs, (output, sizes)):
        assert found.tolist() == restored(x, scale, zero if has_zero else 0).tolist()


def spread(blocks: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """The value of its block for each element."""
    for axis, size in enumerate(sizes):
        blocks = np.repeat(blocks, size // blocks.shape[axis], axis)
    return blocks


def parameters(scale: np.ndarray, zero: np.ndarray | None) -> dict[str, Any]:
    name = "SCALE" if zero is None else "SCALE_ZERO_POINT"
    return {"QuantizationType": name, "QuantizationTensorCount": 1 if zero is None else 2}


def tensors(x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None) -> dict[str, Any]:
    return {"InputTensor": x, "QuantizationTensors": [scale] if zero is None else [scale, zero]}


BLOCKS = [
    ((6,), (2,)),
    ((3, 5), (1, 5)),
    ((6, 64), (3, 2)),
    ((6, 64), (1, 64)),
    ((4, 1, 7), (2, 1, 1)),
    ((2, 2, 3, 4, 1, 2, 1, 3), (1, 2, 3, 2, 1, 1, 1, 1)),
]


@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize(("sizes", "blocks"), BLOCKS)
@pytest.mark.parametrize("output", types_of("QUANTIZE", "OutputTensor"))
def test_quantize(
    device: Any, output: str, sizes: tuple[int, ...], blocks: tuple[int, ...], has_zero: bool
) -> None:
    type_ = "FLOAT16" if has_zero else "FLOAT32"
    scale, zero = scales_of(type_, blocks), points(output, blocks) if has_zero else None
    x = values(type_, spread(scale, sizes))
    types = {"QuantizationTensors[1]": output}
    found = run(
        device, "QUANTIZE", tensors(x, scale, zero), (output, sizes), parameters(scale, zero), types=types
    )
    expected = quantized(x, spread(scale, sizes), 0 if zero is None else spread(zero, sizes), output)
    assert [array.ravel().tolist() for array in found] == [expected, expected]


@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize(("sizes", "blocks"), BLOCKS)
@pytest.mark.parametrize("type_", types_of("DEQUANTIZE", "InputTensor"))
def test_dequantize(
    device: Any, type_: str, sizes: tuple[int, ...], blocks: tuple[int, ...], has_zero: bool
) -> None:
    output = "FLOAT32" if has_zero else "FLOAT16"
    scale, zero = scales_of(output, blocks), points(type_, blocks) if has_zero else None
    x = points(type_, sizes, 3)
    types = {"InputTensor": type_, "QuantizationTensors[1]": type_}
    found = run(
        device, "DEQUANTIZE", tensors(x, scale, zero), (output, sizes), parameters(scale, zero), types=types
    )
    expected = restored(x, spread(scale, sizes), 0 if zero is None else spread(zero, sizes))
    assert [array.tolist() for array in found] == [expected.tolist()] * 2


def test_ties_are_those_of_the_product_with_the_reciprocal(device: Any) -> None:
    """Every multiple of half a scale within reach: a product off by one unit would round the wrong way."""
    scale = np.repeat(np.random.default_rng(9).uniform(1e-3, 10, 64).astype(np.float32), 511)
    x = (np.tile(np.arange(-255, 256), 64) / 2).astype(np.float32) * scale
    inputs = {"InputTensor": x, "ScaleTensor": scale}
    for found in run(device, "ELEMENT_WISE_QUANTIZE_LINEAR", inputs, ("INT8", x.shape)):
        assert found.tolist() == quantized(x, scale, 0, "INT8")


@pytest.mark.parametrize(("type_", "value"), [("INT4", 8), ("INT4", -9), ("UINT4", 16)])
def test_bytes_that_do_not_fit_4_bits_are_refused(device: Any, type_: str, value: int) -> None:
    desc = dmlops.Dequantize(
        InputTensor=TensorDesc(type_, (2,)),
        QuantizationTensors=[TensorDesc("FLOAT32", (2,))],
        QuantizationType="SCALE",
        OutputTensor=TensorDesc("FLOAT32", (2,)),
    )
    of_bytes = np.array([0, value], numpy_type(type_))
    arrays = {"InputTensor": of_bytes, "QuantizationTensors": [np.ones(2, np.float32)]}
    expected = f"has elements of {type_}; {value} does not fit"
    with pytest.raises(ValueError, match=f"InputTensor {expected}"):
        dmlops.reference.run(desc, arrays)
    with pytest.raises(ValueError, match=f"InputTensor {expected}"):
        dmlops.gpu.run(desc, arrays, device)
    with dmlops.gpu.Session(device) as session, pytest.raises(ValueError, match=f"the array {expected}"):
        session.array(of_bytes, desc.InputTensor)
