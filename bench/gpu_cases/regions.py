"""Gradients of regions sampled from images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import Case, size_of, tensor, uniform

HEIGHT, WIDTH = 200, 304


def regions() -> Iterator[Case]:
    """The gradient of regions as a detector samples them, in 7 x 7 cells of 2 x 2 samples."""

    def gradient(count: int, channels: int, data_type: str) -> Case:
        image = tensor((1, channels, HEIGHT, WIDTH), data_type)
        results = tensor((count, channels, 7, 7), data_type)

        def arrays() -> dict[str, np.ndarray]:
            rng = np.random.default_rng(3)
            first = rng.random((count, 2)) * 150
            last = first + rng.random((count, 2)) * 60 + 5
            return {
                "InputGradientTensor": uniform(results["Sizes"], data_type),
                "ROITensor": np.concatenate([first, last], 1).astype(data_type),
                "BatchIndicesTensor": np.zeros(count, np.uint32),
            }

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
                "InputGradientTensor": results, "ROITensor": tensor((count, 4), data_type),
                "BatchIndicesTensor": tensor((count,), "uint32"), "OutputGradientTensor": image,
                "ReductionFunction": "AVERAGE", "InterpolationMode": "LINEAR",
                "SpatialScaleX": 1.0, "SpatialScaleY": 1.0,
                "InputPixelOffset": 0.5, "OutputPixelOffset": -0.5,
                "MinimumSamplesPerOutput": 2, "MaximumSamplesPerOutput": 2, "AlignRegionsToCorners": False,
            },
            arrays,
            by_products,
            size_of(image, results),
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield gradient(1, 16, data_type)
        yield gradient(128, 256, data_type)
