"""Elements, rows and points selected by indices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from .case import SMALL, Case, Torch, size_of, tensor


def gathers() -> Iterator[Case]:
    def case(
        name: str,
        operator: str,
        sizes: tuple[int, ...],
        picked: tuple[int, ...],
        result: tuple[int, ...],
        element_size: int,
        index_size: int,
        limit: int,
        torch: Torch,
        sort_axis: int | None = None,
        **members: int,
    ) -> Case:
        element = {1: "uint8", 2: "float16", 4: "float32", 8: "float64"}[element_size]
        index = {4: "int32", 8: "int64"}[index_size]

        def arrays() -> dict[str, np.ndarray]:
            rng = np.random.default_rng(0)
            values = rng.integers(0, 120, int(np.prod(sizes)) * element_size, np.uint8)  # no NaN
            indices = rng.integers(0, limit, picked, index)
            if sort_axis is not None:
                indices.sort(axis=sort_axis)
            return {"InputTensor": values.view(element).reshape(sizes), "IndicesTensor": indices}

        desc = {
            "InputTensor": tensor(sizes, element),
            "IndicesTensor": tensor(picked, index),
            "OutputTensor": tensor(result, element),
        }
        moved = 2 * size_of(desc["OutputTensor"]) + size_of(desc["IndicesTensor"])
        return Case(name, operator, desc | members, arrays, torch, moved)

    def elements(
        name: str, sizes: tuple[int, ...], axis: int, element_size: int, index_size: int, pattern: str
    ) -> Case:
        return case(
            f"{name} e{element_size} i{index_size} {pattern}",
            "GATHER_ELEMENTS",
            sizes,
            sizes,
            sizes,
            element_size,
            index_size,
            sizes[axis],
            lambda torch, x, indices: torch.gather(x, axis, indices),
            axis if pattern == "sorted" else None,
            Axis=axis,
        )

    for name, sizes, axis in (
        ("4k2_ax1", (4096, 4096), 1),
        ("4k2_ax0", (4096, 4096), 0),
        ("4d_ax2", (64, 128, 64, 64), 2),
        ("1d_64M", (1 << 26,), 0),
    ):
        for element_size, index_size, pattern in itertools.product((2, 4), (4, 8), ("random", "sorted")):
            yield elements(name, sizes, axis, element_size, index_size, pattern)
    yield elements("64_ax1", (SMALL, SMALL), 1, 4, 4, "random")
    for name, axis in (("4k2_ax1", 1), ("4k2_ax0", 0)):
        yield elements(name, (4096, 4096), axis, 1, 4, "random")
        yield elements(name, (4096, 4096), axis, 8, 8, "random")
    yield elements("rows_ax1", (262144, 256), 1, 4, 8, "random")
    yield elements("8k2_ax0", (8192, 8192), 0, 4, 4, "random")
    for size in (2, 4):
        yield case(
            f"embedding e{size} i8 random", "GATHER", (50257, 768), (1, 65536), (65536, 768), size, 8, 50257,
            lambda torch, x, indices: torch.index_select(x, 0, indices[0]), Axis=0, IndexDimensions=1,
        )  # fmt: skip
        yield case(
            f"points e{size} i8 random", "GATHER_ND", (4096, 4096), (1 << 24, 2), (1, 1 << 24), size, 8, 4096,
            lambda torch, x, indices: x[indices[..., 0], indices[..., 1]],
            InputDimensionCount=2, IndicesDimensionCount=2,
        )  # fmt: skip
