"""Scatters, and coordinates of nonzero elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import LARGE, SMALL, Case, size_of, tensor, uniform


def scatters() -> Iterator[Case]:
    """Rows of a matrix that others replace, and coordinates of the half of a matrix that is not zero."""

    def rows(count: int, size: int, data_type: str) -> Case:
        whole, updates = tensor((size, size), data_type), tensor((count, size), data_type)

        def arrays() -> dict[str, np.ndarray]:
            places = np.random.default_rng(1).permutation(size)[:count]
            return {
                "InputTensor": uniform(whole["Sizes"], data_type),
                "IndicesTensor": places.astype(np.int32)[:, None],
                "UpdatesTensor": uniform(updates["Sizes"], data_type, 2),
            }

        return Case(
            f"scatter {count} rows of {size}x{size} {data_type}",
            "SCATTER_ND",
            {
                "InputTensor": whole, "IndicesTensor": tensor((count, 1), "int32"),
                "UpdatesTensor": updates, "OutputTensor": whole,
                "InputDimensionCount": 2, "IndicesDimensionCount": 2,
            },
            arrays,
            lambda torch, x, indices, new: x.index_copy(0, indices[:, 0].long(), new),
            2 * size_of(whole) + size_of(updates),
        )  # fmt: skip

    def coordinates(size: int, data_type: str) -> Case:
        whole, found = tensor((size, size), data_type), tensor((size * size, 2), "uint32")

        def both(torch: Any, x: Any) -> Any:
            torch.nonzero_static(x, size=size * size)
            return torch.count_nonzero(x)

        return Case(
            f"nonzero {size}x{size} {data_type}",
            "NONZERO_COORDINATES",
            {
                "InputTensor": whole, "OutputCountTensor": tensor((1,), "uint32"),
                "OutputCoordinatesTensor": found,
            },
            lambda: {"InputTensor": np.maximum(uniform(whole["Sizes"], data_type), 0)},
            both,
            size_of(whole) + size_of(found) // 2,
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield rows(16, SMALL, data_type)
        yield rows(100, LARGE, data_type)
        yield rows(1024, LARGE, data_type)
        yield coordinates(SMALL, data_type)
        yield coordinates(LARGE, data_type)
