"""Cases on square tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .case import LARGE, Case, Torch, size_of, tensor, uniform


def squares(side: int = LARGE) -> Iterator[Case]:
    """Element-wise operators, moves, sums, softmax, scans, top-k; a copy comes first."""
    square = (side, side)
    margin = max(1, side // 85)  # width of slices' margins
    inner = side - 2 * margin
    around = max(1, side // 128)
    sized = "" if side == LARGE else f"{side} "

    def case(
        name: str,
        operator: str,
        inputs: dict[str, dict[str, Any]],
        outputs: dict[str, dict[str, Any]],
        torch: Torch,
        arrays: Callable[[], dict[str, np.ndarray]] | None = None,
        **members: Any,
    ) -> Case:
        def made() -> dict[str, np.ndarray]:
            found = {}
            for seed, (key, one) in enumerate(inputs.items()):
                strides = one.get("Strides", [1] * len(one["Sizes"]))
                sizes = [
                    1 if stride == 0 else size for size, stride in zip(one["Sizes"], strides, strict=True)
                ]
                data = uniform(sizes, one["DataType"].lower(), seed)
                found[key] = np.ascontiguousarray(np.broadcast_to(data, one["Sizes"]))
            return found

        moved = size_of(*inputs.values(), *outputs.values())
        return Case(name, operator, inputs | outputs | members, arrays or made, torch, moved)

    for data_type in ("float32", "float16"):
        whole = tensor(square, data_type)
        one = {"InputTensor": whole}, {"OutputTensor": whole}
        pair = {"ATensor": whole, "BTensor": whole}, {"OutputTensor": whole}
        row = {"ATensor": whole, "BTensor": tensor(square, data_type, (0, 1))}, {"OutputTensor": whole}
        yield case(f"copy {sized}{data_type}", "ELEMENT_WISE_IDENTITY", *one, lambda torch, x: x.clone())
        yield case(f"add {sized}{data_type}", "ELEMENT_WISE_ADD", *pair, lambda torch, a, b: a + b)
        yield case(f"add row {sized}{data_type}", "ELEMENT_WISE_ADD", *row, lambda torch, a, b: a + b[:1])
        yield case(f"exp {sized}{data_type}", "ELEMENT_WISE_EXP", *one, lambda torch, x: torch.exp(x))
        yield case(f"tanh {sized}{data_type}", "ELEMENT_WISE_TANH", *one, lambda torch, x: torch.tanh(x))
        yield case(f"relu {sized}{data_type}", "ACTIVATION_RELU", *one, lambda torch, x: torch.relu(x))
        yield case(
            f"gelu {sized}{data_type}", "ACTIVATION_GELU", *one, lambda torch, x: torch.nn.functional.gelu(x)
        )
        other = "float16" if data_type == "float32" else "float32"
        yield case(
            f"cast {sized}{data_type}", "CAST", one[0], {"OutputTensor": tensor(square, other)},
            lambda torch, x, other=other: x.to(getattr(torch, other)),
        )  # fmt: skip
        yield case(
            f"transposed {sized}{data_type}", "ELEMENT_WISE_IDENTITY",
            {"InputTensor": tensor(square, data_type, (1, side))}, one[1], lambda torch, x: x.contiguous(),
        )  # fmt: skip
        for axes in ((1,), (0,), (0, 1)):
            kept = [1 if d in axes else size for d, size in enumerate(square)]
            yield case(
                f"sum {axes} {sized}{data_type}", "REDUCE", one[0], {"OutputTensor": tensor(kept, data_type)},
                lambda torch, x, axes=axes: torch.sum(x, axes, keepdim=True), Function="SUM", Axes=list(axes),
            )  # fmt: skip
        yield case(
            f"argmax {sized}{data_type}", "ARGMAX", one[0], {"OutputTensor": tensor((side, 1), "int64")},
            lambda torch, x: torch.argmax(x, 1, keepdim=True), Axes=[1], AxisDirection="INCREASING",
        )  # fmt: skip
        for sizes in (square, (16 * side, 256)):
            rows = {"InputTensor": tensor(sizes, data_type)}, {"OutputTensor": tensor(sizes, data_type)}
            yield case(
                f"softmax {sizes[1]} {sized}{data_type}", "ACTIVATION_SOFTMAX1", *rows,
                lambda torch, x: torch.softmax(x, 1), Axes=[1],
            )  # fmt: skip
        yield case(
            f"cumsum {sized}{data_type}", "CUMULATIVE_SUMMATION", *one, lambda torch, x: torch.cumsum(x, 1),
            Axis=1, AxisDirection="INCREASING", HasExclusiveSum=False,
        )  # fmt: skip
        sliced = tensor((inner, inner // 2), data_type)
        yield case(
            f"slice {sized}{data_type}", "SLICE1", one[0], {"OutputTensor": sliced},
            lambda torch, x: x[margin : margin + inner, margin : margin + inner : 2].contiguous(),
            InputWindowOffsets=[margin] * 2, InputWindowSizes=[inner] * 2, InputWindowStrides=[1, 2],
        )  # fmt: skip
        padded = tensor((side + 2 * around,) * 2, data_type)
        yield case(
            f"padding {sized}{data_type}", "PADDING1", one[0], {"OutputTensor": padded},
            lambda torch, x: torch.nn.functional.pad(x, (around,) * 4), PaddingMode="CONSTANT",
            PaddingValueDataType=data_type.upper(), PaddingValue=0.0,
            StartPadding=[around] * 2, EndPadding=[around] * 2,
        )  # fmt: skip
        for axis, shown, top in ((1, "", (side, 16)), (0, "downwards ", (16, side))):
            yield case(
                f"top 16 of {side} {shown}{data_type}", "TOP_K1", one[0],
                {"OutputValueTensor": tensor(top, data_type), "OutputIndexTensor": tensor(top, "uint32")},
                lambda torch, x, axis=axis: torch.topk(x, 16, axis)[0],
                Axis=axis, K=16, AxisDirection="DECREASING",
            )  # fmt: skip
