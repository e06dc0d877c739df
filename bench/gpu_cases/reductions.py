"""Reductions of images and of few wide rows, and running sums."""

from __future__ import annotations

from collections.abc import Iterator

from .case import LARGE, Case, Torch, drawn, tensor


def reductions() -> Iterator[Case]:
    """Sums and extremes of channels, of planes and of columns, the softmax of a language model's vocabulary,
    and running sums of many short lines and of few long ones."""
    sizes = (32, 64, 112, 112)

    def reduced(name: str, function: str, axes: tuple[int, ...], data_type: str, torch: Torch) -> Case:
        kept = [1 if axis in axes else size for axis, size in enumerate(sizes)]
        return drawn(
            f"{name} {'x'.join(map(str, sizes))} {data_type}", "REDUCE",
            {"InputTensor": tensor(sizes, data_type), "OutputTensor": tensor(kept, data_type)},
            torch, Function=function, Axes=list(axes),
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield reduced("sum of channels", "SUM", (1,), data_type, lambda torch, x: torch.sum(x, 1, True))
        yield reduced("max of planes", "MAX", (2, 3), data_type, lambda torch, x: torch.amax(x, (2, 3), True))
        scores = tensor((8, 21, 512, 512), data_type)
        yield drawn(
            f"argmax of channels 8x21x512x512 {data_type}", "ARGMAX",
            {"InputTensor": scores, "OutputTensor": tensor((8, 1, 512, 512), "int64")},
            lambda torch, x: torch.argmax(x, 1, True), Axes=[1], AxisDirection="INCREASING",
        )  # fmt: skip
        square = tensor((LARGE, LARGE), data_type)
        yield drawn(
            f"argmax down {data_type}", "ARGMAX",
            {"InputTensor": square, "OutputTensor": tensor((1, LARGE), "int64")},
            lambda torch, x: torch.argmax(x, 0, True), Axes=[0], AxisDirection="INCREASING",
        )  # fmt: skip
        words = tensor((1, 128256), data_type)
        yield drawn(
            f"softmax 1x128256 {data_type}", "ACTIVATION_SOFTMAX1",
            {"InputTensor": words, "OutputTensor": words}, lambda torch, x: torch.softmax(x, 1), Axes=[1],
        )  # fmt: skip
        for count, length in ((262144, 64), (131072, 128), (16, 1 << 20)):
            lines = tensor((count, length), data_type)
            yield drawn(
                f"cumsum of {count}x{length} {data_type}", "CUMULATIVE_SUMMATION",
                {"InputTensor": lines, "OutputTensor": lines}, lambda torch, x: torch.cumsum(x, 1),
                Axis=1, AxisDirection="INCREASING", HasExclusiveSum=False,
            )  # fmt: skip
