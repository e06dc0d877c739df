"""Data movement between layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .case import LARGE, SMALL, Case, channels_last, drawn, size_of, tensor, uniform


def moves() -> Iterator[Case]:
    """Permuted dimensions, blocks of pixels as channels, and tensors that are repeated, joined, unfolded,
    mirrored beyond their edges, padded and cut where channels are last, and accumulated along columns."""

    def moved(name: str, sizes: Sequence[int], order: Sequence[int], data_type: str) -> Case:
        """A copy with permuted dimensions."""
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
        """Pixels of blocks to channels, and back."""
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

    def of_windows(count: int, channels: int, size: int, stride: int, data_type: str) -> Iterator[Case]:
        """Windows of 3 x 3 as columns (im2col), and the sums of such columns (col2im)."""
        whole = tensor((count, channels, size, size), data_type)
        columns = tensor((count, channels * 9, ((size - 3) // stride + 1) ** 2), data_type)
        shown = f"3x3{'' if stride == 1 else f'/{stride}'} {count}x{channels} {size}x{size} {data_type}"
        zeros = [0, 0]
        members = {
            "DimensionCount": 2, "WindowSizes": [3, 3], "Strides": [stride] * 2, "Dilations": [1, 1],
            "StartPadding": zeros, "EndPadding": zeros,
        }  # fmt: skip
        yield drawn(
            f"unfold {shown}", "UNFOLD", {"InputTensor": whole, "OutputTensor": columns},
            lambda torch, x: torch.nn.functional.unfold(x, 3, stride=stride), **members,
        )  # fmt: skip
        yield drawn(
            f"fold {shown}", "FOLD", {"InputTensor": columns, "OutputTensor": whole},
            lambda torch, x: torch.nn.functional.fold(x, (size, size), 3, stride=stride), **members,
        )  # fmt: skip

    def joined(count: int, channels: int, size: int, data_type: str) -> Case:
        sizes = (count, channels, size, size)
        desc = {
            "InputTensors": [tensor(sizes, data_type)] * 2,
            "OutputTensor": tensor((count, 2 * channels, size, size), data_type),
        }
        return Case(
            f"join {'x'.join(map(str, sizes))} {data_type}", "JOIN", desc | {"Axis": 1},
            lambda: {"InputTensors": uniform((2, *sizes), data_type)},
            lambda torch, both: torch.cat(tuple(both), 1), 2 * size_of(desc["OutputTensor"]),
        )  # fmt: skip

    def mirrored(count: int, channels: int, size: int, data_type: str) -> Case:
        return drawn(
            f"mirrored {count}x{channels} {size}x{size} {data_type}", "PADDING1",
            {
                "InputTensor": tensor((count, channels, size, size), data_type),
                "OutputTensor": tensor((count, channels, size + 6, size + 6), data_type),
            },
            lambda torch, x: torch.nn.functional.pad(x, (3,) * 4, "reflect"), PaddingMode="REFLECTION",
            PaddingValueDataType=data_type.upper(), PaddingValue=0.0, DimensionCount=4,
            StartPadding=[0, 0, 3, 3], EndPadding=[0, 0, 3, 3],
        )  # fmt: skip

    def framed(count: int, channels: int, size: int, data_type: str) -> Iterator[Case]:
        """A frame of zeros around channels-last images, and images without their outermost pixels."""
        bare = channels_last((count, channels, size, size), data_type)
        whole = channels_last((count, channels, size + 2, size + 2), data_type)
        shown = f"channels last {count}x{channels} {size}x{size} {data_type}"
        frame = [0, 0, 1, 1]
        yield drawn(
            f"padding {shown}", "PADDING1", {"InputTensor": bare, "OutputTensor": whole},
            lambda torch, x: torch.nn.functional.pad(x, (1,) * 4), PaddingMode="CONSTANT",
            PaddingValueDataType=data_type.upper(), PaddingValue=0.0, StartPadding=frame, EndPadding=frame,
        )  # fmt: skip
        cut = drawn(
            f"slice {shown}", "SLICE1", {"InputTensor": whole, "OutputTensor": bare},
            lambda torch, x: x[:, :, 1:-1, 1:-1].clone(memory_format=torch.channels_last),
            InputWindowOffsets=frame, InputWindowSizes=bare["Sizes"], InputWindowStrides=[1] * 4,
        )  # fmt: skip
        yield replace(cut, bytes_moved=2 * size_of(bare))

    def downwards(side: int, data_type: str) -> Case:
        whole = tensor((side, side), data_type)
        return drawn(
            f"cumsum down {data_type}", "CUMULATIVE_SUMMATION", {"InputTensor": whole, "OutputTensor": whole},
            lambda torch, x: torch.cumsum(x, 0), Axis=0, AxisDirection="INCREASING", HasExclusiveSum=False,
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield from of_blocks(1, 16, 14, data_type)
        yield from of_blocks(32, 64, 56, data_type)
        yield tiled(SMALL, data_type)
        yield tiled(LARGE, data_type)
        yield moved("heads", (8, 512, 12, 64), (0, 2, 1, 3), data_type)
        yield moved("channels last", (32, 64, 56, 56), (0, 2, 3, 1), data_type)
        yield moved("channels first", (32, 56, 56, 64), (0, 3, 1, 2), data_type)
        yield from of_windows(32, 64, 56, 1, data_type)
        yield from of_windows(32, 64, 56, 2, data_type)
        yield joined(32, 64, 56, data_type)
        yield mirrored(32, 64, 56, data_type)
        yield from framed(32, 64, 56, data_type)
    yield downwards(LARGE, "float32")  # torch computes float16 in float16, and is too far off to compare
