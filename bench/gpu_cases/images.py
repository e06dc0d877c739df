"""Resampled images, and gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Case, channels_last, drawn, size_of, tensor, uniform

MODES = {"bilinear": "LINEAR", "nearest": "NEAREST_NEIGHBOR"}  # torch's names of the modes


def images() -> Iterator[Case]:
    """Resampled images, their gradients, those of poolings, and maxima that are put back."""

    def resampling(
        mode: str, sizes: tuple[int, int, int, int], data_type: str, by: float = 2, is_last: bool = False
    ) -> Case:
        result = (*sizes[:2], int(sizes[2] * by), int(sizes[3] * by))
        shown = ("" if by == 2 else f"by {by} ") + ("channels last " if is_last else "")
        of = channels_last if is_last else tensor
        at_ties = "nearest-exact" if mode == "nearest" else mode  # the greater element, as in DirectML
        return drawn(
            f"{mode} {shown}{'x'.join(map(str, sizes))} {data_type}", "RESAMPLE",
            {"InputTensor": of(sizes, data_type), "OutputTensor": of(result, data_type)},
            lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=by, mode=at_ties),
            InterpolationMode=MODES[mode],
            Scales=[1.0, 1.0, by, by],
        )  # fmt: skip

    def antialiased(sizes: tuple[int, int, int, int], side: int, data_type: str) -> Case:
        to = (side, side)
        return drawn(
            f"antialiased to {side} {'x'.join(map(str, sizes))} {data_type}", "RESAMPLE3",
            {"InputTensor": tensor(sizes, data_type), "OutputTensor": tensor((*sizes[:2], *to), data_type)},
            lambda torch, x: torch.nn.functional.interpolate(x, to, mode="bilinear", antialias=True),
            InterpolationMode="LINEAR", RoundingDirection="DECREASING", DimensionCount=4,
            Scales=[1.0, 1.0, side / sizes[2], side / sizes[3]], InputPixelOffsets=[0.5] * 4,
            OutputPixelOffsets=[-0.5] * 4, Antialiased=True,
        )  # fmt: skip

    def resampling_gradient(mode: str, sizes: tuple[int, int, int, int], data_type: str) -> Case:
        larger = (*sizes[:2], 2 * sizes[2], 2 * sizes[3])

        def torch_gradient(torch: Any, g: Any) -> Any:
            given = (False,) if mode == "bilinear" else ()
            of_mode = getattr(torch.ops.aten, f"upsample_{mode}2d_backward")
            return of_mode(g, larger[2:], sizes, *given, 2.0, 2.0)

        return drawn(
            f"{mode} gradient {'x'.join(map(str, sizes))} {data_type}", "RESAMPLE_GRAD",
            {
                "InputGradientTensor": tensor(larger, data_type),
                "OutputGradientTensor": tensor(sizes, data_type),
            },
            torch_gradient,
            InterpolationMode=MODES[mode], DimensionCount=4, Scales=[1.0, 1.0, 2.0, 2.0],
            InputPixelOffsets=[0.5] * 4, OutputPixelOffsets=[-0.5] * 4,
        )  # fmt: skip

    def gradient(
        kind: str, count: int, channels: int, size: int, window: int, stride: int, data_type: str
    ) -> Case:
        padding = 0 if stride == window else window // 2
        result = (size + 2 * padding - window) // stride + 1
        whole = tensor((count, channels, size, size), data_type)
        gradients = {"InputGradientTensor": tensor((count, channels, result, result), data_type)}
        places = (window, window), (stride, stride), (padding, padding)

        def of_average(torch: Any, g: Any) -> Any:
            x = torch.empty(whole["Sizes"], dtype=g.dtype, device=g.device)
            return torch.ops.aten.avg_pool2d_backward(g, x, *places, False, True, None)

        def of_greatest(torch: Any, x: Any, g: Any) -> Any:
            given = *places, (1, 1), False
            chosen = torch.ops.aten.max_pool2d_with_indices(x, *given)[1]
            return torch.ops.aten.max_pool2d_with_indices_backward(g, x, *given, chosen)

        is_average, shown = kind == "AVERAGE", f"{window}x{window}/{stride} {count}x{channels} {size}x{size}"
        return drawn(
            f"{kind.lower()} gradient {shown} {data_type}",
            f"{kind}_POOLING_GRAD",
            ({} if is_average else {"InputTensor": whole}) | gradients | {"OutputGradientTensor": whole},
            of_average if is_average else of_greatest,
            Strides=[stride] * 2, WindowSize=[window] * 2, StartPadding=[padding] * 2,
            EndPadding=[padding] * 2, **({"IncludePadding": True} if is_average else {"Dilations": [1, 1]}),
        )  # fmt: skip

    def unpooling(count: int, channels: int, size: int, data_type: str) -> Case:
        """The maxima of 2x2 windows, put back where they were found."""
        sizes, larger = (count, channels, size, size), (count, channels, 2 * size, 2 * size)

        def arrays() -> dict[str, np.ndarray]:
            n, c, y, x = np.indices(sizes)
            down, right = np.random.default_rng(1).integers(0, 2, (2, *sizes))
            places = np.ravel_multi_index((n, c, 2 * y + down, 2 * x + right), larger)
            return {"InputTensor": uniform(sizes, data_type), "IndicesTensor": places.astype(np.uint64)}

        def on_torch(torch: Any, x: Any, places: Any) -> Any:
            empty = torch.zeros(larger, dtype=x.dtype, device=x.device)
            return empty.view(-1).scatter_(0, places.view(torch.int64).view(-1), x.view(-1)).view(larger)

        tensors = {
            "InputTensor": tensor(sizes, data_type), "IndicesTensor": tensor(sizes, "uint64"),
            "OutputTensor": tensor(larger, data_type),
        }  # fmt: skip
        return Case(
            f"unpooling 2x2 {'x'.join(map(str, sizes))} {data_type}",
            "MAX_UNPOOLING", tensors, arrays, on_torch, size_of(*tensors.values()),
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        for mode in ("bilinear", "nearest"):
            yield resampling(mode, (1, 16, 14, 14), data_type)
            yield resampling(mode, (1, 3, 1080, 1920), data_type)
            yield resampling(mode, (32, 64, 56, 56), data_type)
            yield resampling(mode, (32, 64, 56, 56), data_type, is_last=True)
            yield resampling(mode, (32, 64, 112, 112), data_type, 0.5)
            yield resampling_gradient(mode, (1, 16, 14, 14), data_type)
            yield resampling_gradient(mode, (32, 64, 56, 56), data_type)
        yield antialiased((4, 3, 1080, 1920), 224, data_type)
        for kind in ("AVERAGE", "MAX"):
            yield gradient(kind, 1, 16, 14, 3, 2, data_type)
            yield gradient(kind, 32, 64, 112, 3, 2, data_type)
            yield gradient(kind, 32, 256, 28, 2, 2, data_type)
        yield unpooling(32, 64, 56, data_type)
