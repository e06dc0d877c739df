"""Normalizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .case import SMALL, Case, channels_last, drawn, tensor


def normalizations() -> Iterator[Case]:
    """Normalizations of rows as in language models, and of images, also for training."""

    def layer(rows: int, width: int, data_type: str) -> Case:
        whole, row = tensor((1, 1, rows, width), data_type), tensor((1, 1, 1, width), data_type)
        return drawn(
            f"layer norm {width} {data_type}" if rows > SMALL else f"layer norm {rows}x{width} {data_type}",
            "MEAN_VARIANCE_NORMALIZATION1",
            {"InputTensor": whole, "ScaleTensor": row, "BiasTensor": row, "OutputTensor": whole},
            lambda torch, x, a, b: torch.nn.functional.layer_norm(
                x, (width,), a.flatten(), b.flatten(), 1e-5
            ),
            Axes=[3], NormalizeVariance=True, Epsilon=1e-5,
        )  # fmt: skip

    def group(groups: int, channels: int, size: int, data_type: str) -> Case:
        whole = tensor((groups, channels, size, size), data_type)
        return drawn(
            f"group norm {groups}x{channels}x{size}x{size} {data_type}", "MEAN_VARIANCE_NORMALIZATION1",
            {"InputTensor": whole, "OutputTensor": whole},
            lambda torch, x: torch.nn.functional.layer_norm(x, (channels, size, size), eps=1e-5),
            Axes=[1, 2, 3], NormalizeVariance=True, Epsilon=1e-5,
        )  # fmt: skip

    def batch(images: int, channels: int, size: int, data_type: str) -> Case:
        whole = tensor((images, channels, size, size), data_type)
        one = tensor((1, channels, 1, 1), data_type)
        names = ("MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor")
        return drawn(
            f"batch norm {images}x{channels}x{size}x{size} {data_type}", "BATCH_NORMALIZATION",
            {"InputTensor": whole, **dict.fromkeys(names, one), "OutputTensor": whole},
            lambda torch, x, *rest: torch.nn.functional.batch_norm(x, *map(torch.flatten, rest), eps=1e-5),
            Spatial=True, Epsilon=1e-5,
        )  # fmt: skip

    def across_channels(count: int, channels: int, size: int, data_type: str) -> Iterator[Case]:
        whole = tensor((count, channels, size, size), data_type)
        shown = f"{count}x{channels}x{size}x{size} {data_type}"
        across = {"InputTensor": whole, "OutputTensor": whole}
        yield drawn(
            f"local response norm {shown}", "LOCAL_RESPONSE_NORMALIZATION", across,
            lambda torch, x: torch.nn.functional.local_response_norm(x, 5, 1e-2, 0.75, 1.0),
            CrossChannel=True, LocalSize=5, Alpha=1e-2, Beta=0.75, Bias=1.0,
        )  # fmt: skip

        def local_gradient(torch: Any, x: Any, g: Any) -> Any:
            def around(values: Any) -> Any:
                window = (5, 1, 1), 1, (2, 0, 0)
                return torch.nn.functional.avg_pool3d(values[:, None], *window)[:, 0]

            base = 1 + 1e-2 * around(x * x)
            return g * base**-0.75 - 2 * 1e-2 * 0.75 * x * around(g * x * base**-1.75)

        yield drawn(
            f"local response gradient {shown}", "LOCAL_RESPONSE_NORMALIZATION_GRAD",
            {"InputTensor": whole, "InputGradientTensor": whole, "OutputGradientTensor": whole},
            local_gradient, CrossChannel=True, LocalSize=5, Alpha=1e-2, Beta=0.75, Bias=1.0,
        )  # fmt: skip
        yield drawn(
            f"softmax of channels {shown}", "ACTIVATION_SOFTMAX1", across,
            lambda torch, x: torch.softmax(x, 1), Axes=[1],
        )  # fmt: skip
        yield drawn(
            f"lp norm {shown}", "LP_NORMALIZATION", across,
            lambda torch, x: torch.nn.functional.normalize(x, 2.0, 1), Axis=1, Epsilon=1e-12, P=2,
        )  # fmt: skip

    def of_pixels(
        count: int, channels: int, size: int, data_type: str, is_last: bool = False
    ) -> Iterator[Case]:
        of = channels_last if is_last else tensor
        whole = of((count, channels, size, size), data_type)
        one = tensor((1, channels, 1, 1), data_type)
        shown = f"{'channels last ' if is_last else ''}{count}x{channels}x{size}x{size} {data_type}"
        yield drawn(
            f"instance norm {shown}", "MEAN_VARIANCE_NORMALIZATION1",
            {"InputTensor": whole, "OutputTensor": whole},
            lambda torch, x: torch.nn.functional.instance_norm(x, eps=1e-5),
            Axes=[2, 3], NormalizeVariance=True, Epsilon=1e-5,
        )  # fmt: skip
        yield drawn(
            f"batch norm training {shown}", "BATCH_NORMALIZATION_TRAINING",
            {
                "InputTensor": whole, "ScaleTensor": one, "BiasTensor": one,
                "OutputTensor": whole, "OutputMeanTensor": one, "OutputVarianceTensor": one,
            },
            lambda torch, x, a, b: torch.nn.functional.batch_norm(
                x, None, None, a.flatten(), b.flatten(), True, eps=1e-5
            ),
            Epsilon=1e-5,
        )  # fmt: skip

        def learned(torch: Any, x: Any, g: Any, mean: Any, variance: Any, scale: Any) -> Any:
            around = torch.rsqrt(variance.float().flatten() + 1e-5)
            given = g, x, scale.flatten(), None, None, mean.float().flatten(), around
            return torch.ops.aten.native_batch_norm_backward(*given, True, 1e-5, [True] * 3)[0]

        yield drawn(
            f"batch norm gradient {shown}", "BATCH_NORMALIZATION_TRAINING_GRAD",
            {
                "InputTensor": whole, "InputGradientTensor": whole,
                **dict.fromkeys(("MeanTensor", "VarianceTensor", "ScaleTensor"), one),
                "OutputGradientTensor": whole, "OutputScaleGradientTensor": one,
                "OutputBiasGradientTensor": one,
            },
            learned, Epsilon=1e-5,
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield layer(SMALL, 64, data_type)
        yield batch(1, 16, 14, data_type)
        for rows, width in ((65536, 256), (16384, 1024), (4096, 4096)):
            yield layer(rows, width, data_type)
        yield group(64, 10, 64, data_type)
        yield group(32, 4, 512, data_type)
        yield batch(32, 64, 112, data_type)
        yield batch(32, 512, 14, data_type)
        for count, channels, size in ((1, 16, 14), (32, 64, 56)):
            yield from across_channels(count, channels, size, data_type)
            yield from of_pixels(count, channels, size, data_type)
        yield from of_pixels(32, 64, 56, data_type, is_last=True)
