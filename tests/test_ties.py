"""A worked case for every tie and rounding, by hand: numbers halfway between two, and equal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dmlops


def vector(type_: str) -> Callable[..., np.ndarray]:
    return lambda *values: np.array(values, type_)


f16, f32, u8, u32, i32 = map(vector, ("float16", "float32", "uint8", "uint32", "int32"))


def row(type_: str, *values: float) -> np.ndarray:
    """One row of one channel of one image."""
    return np.array([[[values]]], type_)


def window(*values: float) -> np.ndarray:
    return row("float32", *values)


ROW = {"Strides": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0]}
POOLED = {**ROW, "WindowSize": [1, 4], "Dilations": [1, 1]}
ONE, TWO = window(1), window(2)
HALVES = {
    "Scales": [1, 1, 1, 0.5],
    "InputPixelOffsets": [0] * 4,
    "OutputPixelOffsets": [0, 0, 0, -0.25],
}  # 0.5, 2.5
SAMPLED = {"InputPixelOffsets": [0.5] * 4, "OutputPixelOffsets": [-0.5] * 4}
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # Numbers halfway between two integers, by operator.
    ("ELEMENT_WISE_ROUND", {"InputTensor": f32(0.5, 1.5, 2.5, -0.5, -1.5), "RoundingMode": "HALVES_TO_NEAREST_EVEN"}, {"OutputTensor": f32(0, 2, 2, 0, -2)}),
    ("ELEMENT_WISE_ROUND", {"InputTensor": f32(0.5, 1.5, 2.7, -0.5, -1.7), "RoundingMode": "TOWARD_ZERO"}, {"OutputTensor": f32(0, 1, 2, 0, -1)}),
    ("ELEMENT_WISE_ROUND", {"InputTensor": f32(0.5, 1.5, 2.4, -0.5, -1.5), "RoundingMode": "TOWARD_INFINITY"}, {"OutputTensor": f32(1, 2, 2, -1, -2)}),
    ("CAST", {"InputTensor": f32(0.5, 1.9, -0.9, -1.5)}, {"OutputTensor": i32(0, 1, 0, -1)}),
    ("CAST", {"InputTensor": f32(2049, 2051, 2053)}, {"OutputTensor": f16(2048, 2052, 2052)}),
    ("ELEMENT_WISE_DIVIDE", {"ATensor": i32(7, -7, 7, -7), "BTensor": i32(2, 2, -2, -2)}, {"OutputTensor": i32(3, -3, -3, 3)}),
    ("ELEMENT_WISE_MODULUS_TRUNCATE", {"ATensor": i32(7, -7, 7), "BTensor": i32(3, 3, -3)}, {"OutputTensor": i32(1, -1, 1)}),
    ("ELEMENT_WISE_MODULUS_FLOOR", {"ATensor": i32(7, -7, 7), "BTensor": i32(3, 3, -3)}, {"OutputTensor": i32(1, 2, -2)}),
    ("ELEMENT_WISE_MEAN", {"ATensor": i32(1, -1, 4), "BTensor": i32(2, -2, 1)}, {"OutputTensor": i32(1, -1, 2)}),
    ("ELEMENT_WISE_CLIP", {"InputTensor": i32(0, 5, -5), "Min": -1.9, "Max": 1.9}, {"OutputTensor": i32(0, 1, -1)}),
    ("ELEMENT_WISE_QUANTIZE_LINEAR", {"InputTensor": f32(1, 3, 5, -1), "ScaleTensor": f32(2, 2, 2, 2), "ZeroPointTensor": u8(3, 3, 3, 3)}, {"OutputTensor": u8(3, 5, 5, 3)}),
    ("QUANTIZE", {"InputTensor": f32(1, 3, 5, -1), "QuantizationType": "SCALE_ZERO_POINT", "QuantizationTensors": [f32(2), u8(3)]}, {"OutputTensor": u8(3, 5, 5, 3)}),
    # A scale of 1; the zero point, 0.5, becomes 0.
    ("DYNAMIC_QUANTIZE_LINEAR", {"InputTensor": f32(-0.5, 0.5, 1.5, 2.5, 254.5)}, {"OutputTensor": u8(0, 0, 2, 2, 254), "OutputScaleTensor": f32(1), "OutputZeroPointTensor": u8(0)}),
    ("DYNAMIC_QUANTIZE_LINEAR", {"InputTensor": f32(-1.5, 0.5, 253.5)}, {"OutputTensor": u8(0, 2, 255), "OutputScaleTensor": f32(1), "OutputZeroPointTensor": u8(2)}),
    ("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", {"ATensor": u8(1, 3, 5), "AScaleTensor": f32(1), "BTensor": u8(0, 0, 0), "BScaleTensor": f32(1), "OutputScaleTensor": f32(2)}, {"OutputTensor": u8(0, 2, 2)}),
    ("QUANTIZED_LINEAR_MATRIX_MULTIPLY", {"ATensor": row("uint8", 1), "AScaleTensor": ONE, "BTensor": row("uint8", 1, 3, 5), "BScaleTensor": ONE, "OutputScaleTensor": TWO}, {"OutputTensor": row("uint8", 0, 2, 2)}),
    ("QUANTIZED_LINEAR_CONVOLUTION", {"InputTensor": row("uint8", 1, 3, 5), "InputScaleTensor": ONE, "FilterTensor": row("uint8", 1), "FilterScaleTensor": ONE, "OutputScaleTensor": TWO, **ROW, "Dilations": [1, 1], "GroupCount": 1}, {"OutputTensor": row("uint8", 0, 2, 2)}),
    ("QUANTIZED_LINEAR_AVERAGE_POOLING", {"InputTensor": row("uint8", 0, 1, 2, 3), "InputScaleTensor": ONE, "OutputScaleTensor": ONE, **ROW, "WindowSize": [1, 2], "Dilations": [1, 1], "IncludePadding": False}, {"OutputTensor": row("uint8", 0, 2, 2)}),
    # A region from 0.5 to 1.5: its corners are 1 and 2.
    ("ROI_POOLING", {"InputTensor": window(1, 2, 4, 8), "ROITensor": np.float32([[[[0, 0.5, 0, 1.5, 0]]]]), "SpatialScale": 1.0, "PooledSize": {"Width": 1, "Height": 1}}, {"OutputTensor": row("float32", 4)}),
    # Samples halfway between two elements.
    ("RESAMPLE", {"InputTensor": window(1, 2, 4, 8), "InterpolationMode": "NEAREST_NEIGHBOR", "Scales": [1, 1, 1, 0.5]}, {"OutputTensor": row("float32", 2, 8)}),
    ("RESAMPLE1", {"InputTensor": window(1, 2, 4, 8), "InterpolationMode": "NEAREST_NEIGHBOR", "Scales": [1, 1, 1, 0.5], **SAMPLED}, {"OutputTensor": row("float32", 2, 8)}),
    ("RESAMPLE2", {"InputTensor": window(1, 2, 4, 8), "InterpolationMode": "NEAREST_NEIGHBOR", "RoundingDirection": "DECREASING", **HALVES}, {"OutputTensor": row("float32", 1, 4)}),
    ("RESAMPLE2", {"InputTensor": window(1, 2, 4, 8), "InterpolationMode": "NEAREST_NEIGHBOR", "RoundingDirection": "INCREASING", **HALVES}, {"OutputTensor": row("float32", 2, 8)}),
    # Equal elements: which of them is chosen.
    ("ARGMAX", {"InputTensor": f32(3, 7, 7, 1), "Axes": [0], "AxisDirection": "INCREASING"}, {"OutputTensor": u32(1)}),
    ("ARGMAX", {"InputTensor": f32(3, 7, 7, 1), "Axes": [0], "AxisDirection": "DECREASING"}, {"OutputTensor": u32(2)}),
    ("ARGMIN", {"InputTensor": f32(3, 1, 1, 7), "Axes": [0], "AxisDirection": "INCREASING"}, {"OutputTensor": u32(1)}),
    ("ARGMIN", {"InputTensor": f32(3, 1, 1, 7), "Axes": [0], "AxisDirection": "DECREASING"}, {"OutputTensor": u32(2)}),
    ("REDUCE", {"Function": "ARGMAX", "InputTensor": f32(3, 7, 7, 1), "Axes": [0]}, {"OutputTensor": u32(1)}),
    ("REDUCE", {"Function": "ARGMIN", "InputTensor": f32(3, 1, 1, 7), "Axes": [0]}, {"OutputTensor": u32(1)}),
    ("TOP_K1", {"InputTensor": f32(3, 7, 7, 3), "Axis": 0, "K": 3, "AxisDirection": "DECREASING"}, {"OutputValueTensor": f32(7, 7, 3), "OutputIndexTensor": u32(1, 2, 0)}),
    ("TOP_K1", {"InputTensor": f32(3, 7, 7, 3), "Axis": 0, "K": 3, "AxisDirection": "INCREASING"}, {"OutputValueTensor": f32(3, 3, 7), "OutputIndexTensor": u32(0, 3, 1)}),
    ("MAX_POOLING2", {"InputTensor": window(3, 7, 7, 1), **POOLED}, {"OutputTensor": row("float32", 7), "OutputIndicesTensor": row("uint32", 1)}),
    ("MAX_POOLING_GRAD", {"InputTensor": window(3, 7, 7, 1), "InputGradientTensor": window(5), **POOLED}, {"OutputGradientTensor": row("float32", 0, 5, 0, 0)}),
    ("ACTIVATION_HARDMAX1", {"InputTensor": f32(3, 7, 7, 1), "Axes": [0]}, {"OutputTensor": f32(0, 1, 0, 0)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "members", "expected"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)]
)
def test_worked(operator: str, members: dict[str, Any], expected: dict[str, Any]) -> None:
    inputs = {name: value for name, value in members.items() if name.endswith(("Tensor", "Tensors"))}
    tensors = {name: described(value) for name, value in {**inputs, **expected}.items()}
    desc = dmlops.from_json({"type": f"DML_OPERATOR_{operator}", "desc": {**members, **tensors}})
    assert desc.validate() == []
    found = dmlops.reference.run(desc, inputs)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].tolist() == array.tolist()


def described(value: Any) -> Any:
    """A tensor, or a list of them, packed."""
    if isinstance(value, list):
        return [described(one) for one in value]
    return {"DataType": value.dtype.name.upper(), "Sizes": list(value.shape)}
