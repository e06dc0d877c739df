"""Moves of data between layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .case import LARGE, SMALL, Case, drawn, tensor


def moves() -> Iterator[Case]:
    """Dimensions in another order, blocks of pixels as channels, and tensors that are repeated."""

    def moved(name: str, sizes: Sequence[int], order: Sequence[int], data_type: str) -> Case:
        """A copy whose dimensions come in another order."""
        strides = [int(np.prod(sizes[d + 1 :])) for d in range(len(sizes))]
        shape = [sizes[d] for d in order]
        return drawn(
            f"{name} {'x'.join(map(str, sizes))} {data_type}",
            "ELEMENT_WISE_IDENTITY",
            {
                "InputTensor": tensor(shape, data_type, [strides[d] for d in order]),
                "OutputTensor": tensor(shape, data_type),
            },
            lambda torch, x: x.contiguous(),
        )

    def of_blocks(count: int, channels: int, size: int, data_type: str) -> Iterator[Case]:
        """Pixels of blocks as channels, and back."""
        whole = tensor((count, channels, size, size), data_type)
        shown = f"{count}x{channels}x{size}x{size} {data_type}"
        halved = tensor((count, channels * 4, size // 2, size // 2), data_type)
        yield drawn(
            f"space to depth {shown}", "SPACE_TO_DEPTH1", {"InputTensor": whole, "OutputTensor": halved},
            lambda torch, x: torch.nn.functional.pixel_unshuffle(x, 2), BlockSize=2,
            Order="COLUMN_ROW_DEPTH",
        )  # fmt: skip
        yield drawn(
            f"depth to space {shown}", "DEPTH_TO_SPACE1", {"InputTensor": halved, "OutputTensor": whole},
            lambda torch, x: torch.nn.functional.pixel_shuffle(x, 2), BlockSize=2, Order="COLUMN_ROW_DEPTH",
        )  # fmt: skip

    def tiled(side: int, data_type: str) -> Case:
        return drawn(
            f"tile {'' if side == LARGE else f'{side} '}{data_type}", "TILE",
            {
                "InputTensor": tensor((side, side // 2), data_type),
                "OutputTensor": tensor((side, side), data_type),
            },
            lambda torch, x: x.repeat(1, 2), RepeatsCount=2, Repeats=[1, 2],
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield from of_blocks(1, 16, 14, data_type)
        yield from of_blocks(32, 64, 56, data_type)
        yield tiled(SMALL, data_type)
        yield tiled(LARGE, data_type)
        yield moved("heads", (8, 512, 12, 64), (0, 2, 1, 3), data_type)
        yield moved("channels last", (32, 64, 56, 56), (0, 2, 3, 1), data_type)
        yield moved("channels first", (32, 56, 56, 64), (0, 3, 1, 2), data_type)
