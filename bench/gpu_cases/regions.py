"""Regions sampled from images, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Case, size_of, tensor, uniform

HEIGHT, WIDTH = 200, 304


def regions() -> Iterator[Case]:
    """Regions as a detector samples them, in 7 x 7 cells of 2 x 2 samples, and their gradient."""

    def located(count: int, data_type: str) -> dict[str, np.ndarray]:
        """Random regions in the image."""
        rng = np.random.default_rng(3)
        first = rng.random((count, 2)) * 130
        last = first + rng.random((count, 2)) * 60 + 5
        return {
            "ROITensor": np.concatenate([first, last], 1).astype(data_type),
            "BatchIndicesTensor": np.zeros(count, np.uint32),
        }

    def described(count: int, data_type: str) -> dict[str, Any]:
        """The members of regions of both operators."""
        return {
            "ROITensor": tensor((count, 4), data_type), "BatchIndicesTensor": tensor((count,), "uint32"),
            "ReductionFunction": "AVERAGE", "InterpolationMode": "LINEAR",
            "SpatialScaleX": 1.0, "SpatialScaleY": 1.0,
            "InputPixelOffset": 0.5, "OutputPixelOffset": -0.5,
            "MinimumSamplesPerOutput": 2, "MaximumSamplesPerOutput": 2, "AlignRegionsToCorners": False,
        }  # fmt: skip

    def sampled(count: int, channels: int, data_type: str) -> Case:
        image = tensor((1, channels, HEIGHT, WIDTH), data_type)
        results = tensor((count, channels, 7, 7), data_type)

        def by_grid(torch: Any, x: Any, corners: Any, batches: Any) -> Any:
            """In single precision: float16 cannot distinguish all places in the image."""
            sample = (torch.arange(14, device=x.device) + 0.5) / 14
            first, last = corners[:, :2, None].float(), corners[:, 2:, None].float()
            places = first + (last - first) * sample
            across = (places[:, 0] * (2 / WIDTH) - 1)[:, None, :].expand(count, 14, 14)
            down = (places[:, 1] * (2 / HEIGHT) - 1)[:, :, None].expand(count, 14, 14)
            grid = torch.stack([across, down], 3).view(1, count * 14, 14, 2)
            taken = torch.nn.functional.grid_sample(x.float(), grid, "bilinear", "border", False)
            cells = torch.nn.functional.avg_pool2d(taken, 2).view(channels, count, 7, 7)
            return cells.transpose(0, 1).to(x.dtype)

        return Case(
            f"roi align {count}x{channels}x7x7 {data_type}",
            "ROI_ALIGN1",
            {
                "InputTensor": image, **described(count, data_type),
                "OutOfBoundsInputValue": 0.0, "OutputTensor": results,
            },
            lambda: {"InputTensor": uniform(image["Sizes"], data_type), **located(count, data_type)},
            by_grid,
            size_of(image, results),
        )  # fmt: skip

    def gradient(count: int, channels: int, data_type: str) -> Case:
        image = tensor((1, channels, HEIGHT, WIDTH), data_type)
        results = tensor((count, channels, 7, 7), data_type)

        def by_products(torch: Any, g: Any, corners: Any, batches: Any) -> Any:
            """With the weights of columns and rows as matrices."""

            def weights(d: int, size: int) -> Any:
                first, last = corners[:, d, None].float(), corners[:, d + 2, None].float()
                sample = (torch.arange(14, device=g.device) + 0.5) / 14
                place = (first + (last - first) * sample - 0.5).clamp(0, size - 1)
                apart = (place[:, :, None] - torch.arange(size, device=g.device)).abs()
                return (1 - apart).clamp(min=0).view(count, 7, 2, size).mean(2).to(g.dtype)

            within = torch.einsum("rcij,rjx->ricx", g, weights(0, WIDTH))
            return torch.einsum("riy,ricx->cyx", weights(1, HEIGHT), within)[None]

        return Case(
            f"roi align gradient {count}x{channels}x7x7 {data_type}",
            "ROI_ALIGN_GRAD",
            {
                "InputGradientTensor": results, **described(count, data_type), "OutputGradientTensor": image,
            },
            lambda: {
                "InputGradientTensor": uniform(results["Sizes"], data_type), **located(count, data_type),
            },
            by_products,
            size_of(image, results),
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield sampled(1, 16, data_type)
        yield sampled(512, 256, data_type)
        yield gradient(1, 16, data_type)
        yield gradient(128, 256, data_type)
