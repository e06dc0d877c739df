"""Quantizing and dequantizing large tensors, and arithmetic on quantized ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import LARGE, Case, drawn, size_of, tensor, uniform

BLOCK = 32  # weights with one scale, as in language models


def quantizing() -> Iterator[Case]:
    whole, scales = (LARGE, LARGE), (LARGE, LARGE // BLOCK)
    of_bytes, one_byte, one_float = tensor(whole, "int8"), tensor((1, 1), "int8"), tensor((1, 1), "float32")
    for data_type in ("float32", "float16"):
        given, target = tensor(scales, data_type), tensor(whole, data_type)
        yield Case(
            f"dequantize {data_type}", "DEQUANTIZE",
            {
                "InputTensor": of_bytes, "QuantizationType": "SCALE", "QuantizationTensorCount": 1,
                "QuantizationTensors": [given], "OutputTensor": target,
            },
            lambda data_type=data_type: {
                "InputTensor": uniform(whole, "int8"),
                "QuantizationTensors": abs(uniform((1, *scales), data_type)),
            },
            lambda torch, x, s: (x.view(*scales, BLOCK) * s[0].unsqueeze(2)).view(whole),
            size_of(of_bytes, given, target),
        )  # fmt: skip
    names = ("AScaleTensor", "BScaleTensor", "OutputScaleTensor")
    points = ("AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor")
    yield Case(
        "quantized add", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
        {
            "ATensor": of_bytes, "BTensor": of_bytes, "OutputTensor": of_bytes,
            **dict.fromkeys(names, one_float), **dict.fromkeys(points, one_byte),
        },
        lambda: {
            "ATensor": uniform(whole, "int8"), "BTensor": uniform(whole, "int8", 1),
            **{name: np.full((1, 1), 0.5, np.float32) for name in names},
            **{name: np.full((1, 1), 3, np.int8) for name in points},
        },
        lambda torch, a, b, *known: torch.clamp(a.int() + b.int() - 3, -128, 127).to(torch.int8),
        size_of(of_bytes, of_bytes, of_bytes),
    )  # fmt: skip
    yield drawn(
        "dynamic quantize float32", "DYNAMIC_QUANTIZE_LINEAR",
        {
            "InputTensor": tensor(whole, "float32"), "OutputTensor": tensor(whole, "uint8"),
            "OutputScaleTensor": one_float, "OutputZeroPointTensor": tensor((1, 1), "uint8"),
        },
        dynamically,
    )  # fmt: skip


def dynamically(torch: Any, x: Any) -> Any:
    low, high = torch.aminmax(x)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = (high - low) / 255
    return (torch.round(x / scale) + torch.round(-low / scale)).clamp(0, 255).to(torch.uint8)
