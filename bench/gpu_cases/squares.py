"""Cases on square tensors."""

from __future__ import annotations

from collections.abc import Iterator

from .case import LARGE, Case, drawn, tensor


def squares(side: int = LARGE) -> Iterator[Case]:
    """Element-wise operators, moves, sums, softmax, scans, top-k; a copy comes first."""
    square = (side, side)
    margin = max(1, side // 85)  # width of slices' margins
    inner = side - 2 * margin
    around = max(1, side // 128)
    sized = "" if side == LARGE else f"{side} "

    for data_type in ("float32", "float16"):
        whole = tensor(square, data_type)
        given, target = {"InputTensor": whole}, {"OutputTensor": whole}
        one = given | target
        pair = {"ATensor": whole, "BTensor": whole} | target
        row = {"ATensor": whole, "BTensor": tensor(square, data_type, (0, 1))} | target
        yield drawn(f"copy {sized}{data_type}", "ELEMENT_WISE_IDENTITY", one, lambda torch, x: x.clone())
        yield drawn(f"add {sized}{data_type}", "ELEMENT_WISE_ADD", pair, lambda torch, a, b: a + b)
        yield drawn(f"add row {sized}{data_type}", "ELEMENT_WISE_ADD", row, lambda torch, a, b: a + b[:1])
        yield drawn(f"exp {sized}{data_type}", "ELEMENT_WISE_EXP", one, lambda torch, x: torch.exp(x))
        yield drawn(f"tanh {sized}{data_type}", "ELEMENT_WISE_TANH", one, lambda torch, x: torch.tanh(x))
        yield drawn(f"relu {sized}{data_type}", "ACTIVATION_RELU", one, lambda torch, x: torch.relu(x))
        yield drawn(
            f"gelu {sized}{data_type}", "ACTIVATION_GELU", one, lambda torch, x: torch.nn.functional.gelu(x)
        )
        other = "float16" if data_type == "float32" else "float32"
        yield drawn(
            f"cast {sized}{data_type}", "CAST", given | {"OutputTensor": tensor(square, other)},
            lambda torch, x, other=other: x.to(getattr(torch, other)),
        )  # fmt: skip
        yield drawn(
            f"transposed {sized}{data_type}", "ELEMENT_WISE_IDENTITY",
            {"InputTensor": tensor(square, data_type, (1, side))} | target, lambda torch, x: x.contiguous(),
        )  # fmt: skip
        for axes in ((1,), (0,), (0, 1)):
            kept = [1 if d in axes else size for d, size in enumerate(square)]
            yield drawn(
                f"sum {axes} {sized}{data_type}", "REDUCE", given | {"OutputTensor": tensor(kept, data_type)},
                lambda torch, x, axes=axes: torch.sum(x, axes, keepdim=True), Function="SUM", Axes=list(axes),
            )  # fmt: skip
        yield drawn(
            f"argmax {sized}{data_type}", "ARGMAX", given | {"OutputTensor": tensor((side, 1), "int64")},
            lambda torch, x: torch.argmax(x, 1, keepdim=True), Axes=[1], AxisDirection="INCREASING",
        )  # fmt: skip
        for sizes in (square, (16 * side, 256)):
            rows = dict.fromkeys(("InputTensor", "OutputTensor"), tensor(sizes, data_type))
            yield drawn(
                f"softmax {sizes[1]} {sized}{data_type}", "ACTIVATION_SOFTMAX1", rows,
                lambda torch, x: torch.softmax(x, 1), Axes=[1],
            )  # fmt: skip
        yield drawn(
            f"cumsum {sized}{data_type}", "CUMULATIVE_SUMMATION", one, lambda torch, x: torch.cumsum(x, 1),
            Axis=1, AxisDirection="INCREASING", HasExclusiveSum=False,
        )  # fmt: skip
        sliced = tensor((inner, inner // 2), data_type)
        yield drawn(
            f"slice {sized}{data_type}", "SLICE1", given | {"OutputTensor": sliced},
            lambda torch, x: x[margin : margin + inner, margin : margin + inner : 2].contiguous(),
            InputWindowOffsets=[margin] * 2, InputWindowSizes=[inner] * 2, InputWindowStrides=[1, 2],
        )  # fmt: skip
        padded = tensor((side + 2 * around,) * 2, data_type)
        yield drawn(
            f"padding {sized}{data_type}", "PADDING1", given | {"OutputTensor": padded},
            lambda torch, x: torch.nn.functional.pad(x, (around,) * 4), PaddingMode="CONSTANT",
            PaddingValueDataType=data_type.upper(), PaddingValue=0.0,
            StartPadding=[around] * 2, EndPadding=[around] * 2,
        )  # fmt: skip
        for axis, shown, top in ((1, "", (side, 16)), (0, "downwards ", (16, side))):
            yield drawn(
                f"top 16 of {side} {shown}{data_type}", "TOP_K1",
                {
                    "InputTensor": whole, "OutputValueTensor": tensor(top, data_type),
                    "OutputIndexTensor": tensor(top, "uint32"),
                },
                lambda torch, x, axis=axis: torch.topk(x, 16, axis)[0],
                Axis=axis, K=16, AxisDirection="DECREASING",
            )  # fmt: skip
