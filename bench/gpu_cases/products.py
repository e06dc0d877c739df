"""Matrix products, convolutions and poolings, of floats and of bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, Torch, channels_last, drawn, size_of, tensor, uniform


@dataclass(frozen=True)
class Layer:
    """A convolution of square images, or a transposed one: windows, strides and dilations are the same in all
    dimensions, and padding preserves the size, apart from the stride. With 3 `dimensions` it is of volumes,
    with 1 of signals, which are images of one row."""

    channels: int
    size: int
    filters: int
    window: int
    stride: int = 1
    groups: int = 1
    images: int = 32
    dilation: int = 1
    dimensions: int = 2
    is_last: bool = False  # whether images are channels last

    @property
    def name(self) -> str:
        window = self._shown(self.window) + (f"/{self.stride}" if self.stride > 1 else "")
        window += f" dilated {self.dilation}" if self.dilation > 1 else ""
        is_depthwise = self.groups == self.channels
        kind = f"{window} {self.channels}-{self.filters}"
        if is_depthwise:
            kind = f"depthwise {window} {self.channels}"
        elif self.groups > 1:
            kind += f" in {self.groups} groups"
        size = self._shown(self.size) + (" channels last" if self.is_last else "")
        return f"{kind} {size}" + ("" if self.images == 32 else f" {self.images}")

    def _shown(self, size: int) -> str:
        return "x".join([str(size)] * self.dimensions)

    def along(self, value: int, height: int) -> list[int]:
        """The value for each dimension, with that of a signal's height first."""
        return [height, value] if self.dimensions == 1 else [value] * self.dimensions

    def tensors(self, filters: Sequence[int], result: int, data_type: str) -> dict[str, dict[str, Any]]:
        """Input, filters of these sizes, and a result with that many elements along each dimension."""
        of = channels_last if self.is_last else tensor
        return {
            "InputTensor": of((self.images, self.channels, *self.along(self.size, 1)), data_type),
            "FilterTensor": tensor((*filters, *self.along(self.window, 1)), data_type),
            "OutputTensor": of((self.images, self.filters, *self.along(result, 1)), data_type),
        }

    def members(self, direction: str, before: int, after: int) -> dict[str, Any]:
        """The members that are not tensors, with this much padding on either side."""
        return {
            "Mode": "CROSS_CORRELATION", "Direction": direction, "Strides": self.along(self.stride, 1),
            "Dilations": self.along(self.dilation, 1), "StartPadding": self.along(before, 0),
            "EndPadding": self.along(after, 0), "OutputPadding": self.along(0, 0), "GroupCount": self.groups,
        }  # fmt: skip


CONVOLUTIONS = (
    *(Layer(64, 56, 256, 1), Layer(256, 56, 64, 1), Layer(256, 56, 512, 1, 2)),
    *(Layer(1024, 14, 256, 1), Layer(512, 7, 2048, 1)),
    *(Layer(64, 56, 64, 3), Layer(128, 28, 128, 3), Layer(256, 14, 256, 3), Layer(512, 7, 512, 3)),
    *(Layer(64, 56, 256, 1, images=8), Layer(256, 14, 1024, 1, images=8)),
    *(Layer(256, 14, 256, 3, images=8), Layer(512, 7, 512, 3, images=8)),
    *(Layer(64, 56, 64, 3, images=1), Layer(256, 14, 256, 3, images=1)),
    *(Layer(1024, 14, 256, 1, images=1), Layer(512, 7, 2048, 1, images=1)),
    *(Layer(128, 56, 128, 3, 2), Layer(3, 224, 64, 7, 2)),
    *(Layer(128, 56, 128, 3, 1, 128), Layer(512, 28, 512, 3, 2, 512), Layer(960, 7, 960, 3, 1, 960)),
    *(Layer(240, 28, 240, 5, 1, 240), Layer(96, 56, 96, 5, 2, 96), Layer(96, 112, 96, 3, 1, 96, 1)),
    *(Layer(128, 56, 128, 3, 1, 128, is_last=True), Layer(512, 28, 512, 3, 2, 512, is_last=True)),
    *(Layer(64, 56, 256, 1, is_last=True), Layer(128, 28, 128, 3, is_last=True)),
)
"""From ResNet, MobileNet and similar networks."""


UNUSUAL = (
    *(Layer(128, 56, 128, 3, 1, 32), Layer(256, 28, 256, 3, 1, 32), Layer(512, 14, 512, 3, 1, 32)),
    Layer(240, 28, 240, 1, 1, 3),
    *(Layer(256, 28, 256, 3, images=8, dilation=2), Layer(2048, 33, 256, 3, images=2, dilation=12)),
    *(Layer(320, 64, 320, 3, images=2), Layer(640, 32, 640, 3, images=2), Layer(1280, 8, 1280, 3, images=2)),
    *(Layer(4, 64, 320, 3, images=2), Layer(320, 64, 4, 3, images=2), Layer(128, 512, 3, 3, images=1)),
    *(Layer(64, 28, 64, 3, images=4, dimensions=3), Layer(32, 64, 32, 3, images=1, dimensions=3)),
    *(Layer(80, 3000, 512, 3, images=1, dimensions=1), Layer(512, 3000, 512, 3, 2, images=1, dimensions=1)),
    Layer(512, 500, 512, 31, 1, 512, 8, dimensions=1),
)
"""With groups, dilations, volumes or signals: from ResNeXt, ShuffleNet, DeepLab, Stable Diffusion, 3-D U-Net,
Whisper and Conformer."""


SPREAD = (
    *(Layer(64, 56, 64, 3), Layer(256, 14, 256, 3)),
    *(Layer(128, 64, 64, 2, 2, images=8), Layer(512, 16, 256, 2, 2, images=8), Layer(128, 56, 64, 3, 2)),
    *(Layer(512, 8, 256, 4, 2, images=64), Layer(128, 32, 64, 4, 2, images=64)),
    *(Layer(64, 32, 3, 4, 2, images=64), Layer(256, 32, 256, 4, 2, images=1)),
    Layer(21, 64, 21, 16, 8, images=1),
    *(Layer(128, 28, 128, 4, 2, 128), Layer(128, 56, 128, 3, 1, 128)),
)
"""Transposed: from U-Net, DCGAN, FCN and similar networks."""


def products() -> Iterator[Case]:
    """Matrix products, some as in language models; convolutions and poolings as in well-known networks."""

    def product(
        rows: int, depth: int, columns: int, data_type: str, turned: bool = False, count: int = 1
    ) -> Case:
        """`count` products; the right factors are transposed if `turned`."""
        right = (1, count, columns, depth) if turned else (1, count, depth, columns)
        name = str(rows) if rows == depth == columns else f"{rows}x{depth}x{columns}"
        shown = f"{count} of {name}" if count > 1 else name
        return drawn(
            f"gemm {shown}{' turned' if turned else ''} {data_type}", "GEMM",
            {
                "ATensor": tensor((1, count, rows, depth), data_type),
                "BTensor": tensor(right, data_type),
                "OutputTensor": tensor((1, count, rows, columns), data_type),
            },
            lambda torch, a, b: torch.matmul(a, b.transpose(2, 3) if turned else b),
            2 * count * rows * depth * columns,
            TransA="NONE", TransB="TRANSPOSE" if turned else "NONE", Alpha=1.0, Beta=0.0,
        )  # fmt: skip

    def convolution(layer: Layer, data_type: str) -> Case:
        window, result = layer.window, -(-layer.size // layer.stride)
        padding = layer.dilation * (window // 2)
        own = layer.channels // layer.groups  # channels per group
        members = layer.members("FORWARD", padding, padding)
        given = members["Strides"], members["StartPadding"], members["Dilations"], layer.groups
        products = own * (result * window) ** layer.dimensions
        return drawn(
            f"convolution {layer.name} {data_type}", "CONVOLUTION",
            layer.tensors((layer.filters, own), result, data_type),
            lambda torch, x, w: getattr(torch.nn.functional, f"conv{x.dim() - 2}d")(x, w, None, *given),
            2 * layer.images * layer.filters * products,
            **members,
        )  # fmt: skip

    def spread(layer: Layer, data_type: str) -> Case:
        """A transposed convolution, whose result is larger by a factor of the stride."""
        window, stride = layer.window, layer.stride
        padding, rest = (window - stride + 1) // 2, (window - stride) % 2
        return drawn(
            f"spread {layer.name} {data_type}", "CONVOLUTION",
            layer.tensors((layer.channels, layer.filters // layer.groups), layer.size * stride, data_type),
            lambda torch, x, w: torch.nn.functional.conv_transpose2d(
                x, w, None, stride, padding, rest, layer.groups
            ),
            **layer.members("BACKWARD", padding, padding - rest),
        )  # fmt: skip

    def pooling(
        kind: str, channels: int, size: int, window: int, stride: int, data_type: str, images: int = 32,
        is_last: bool = False,
    ) -> Case:  # fmt: skip
        padding = 0 if stride == window else window // 2
        result = (size + 2 * padding - window) // stride + 1
        pool = f"{kind.lower()}_pool2d".replace("average", "avg")
        shown = (" channels last" if is_last else "") + ("" if images == 32 else f" {images}")
        of = channels_last if is_last else tensor
        return drawn(
            f"{kind.lower()} {window}x{window}/{stride} {channels} {size}x{size}{shown} {data_type}",
            f"{kind}_POOLING",
            {
                "InputTensor": of((images, channels, size, size), data_type),
                "OutputTensor": of((images, channels, result, result), data_type),
            },
            lambda torch, x: getattr(torch.nn.functional, pool)(x, window, stride, padding),
            Strides=[stride] * 2, WindowSize=[window] * 2, StartPadding=[padding] * 2,
            EndPadding=[padding] * 2, **({"IncludePadding": True} if kind == "AVERAGE" else {}),
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield product(64, 64, 64, data_type)
        yield convolution(Layer(16, 14, 16, 3, images=1), data_type)
        yield spread(Layer(16, 7, 16, 4, 2, images=1), data_type)
        yield pooling("MAX", 16, 14, 3, 2, data_type, images=1)
        for size in (256, 512, 1024, 2048, 4096):
            yield product(size, size, size, data_type)
        yield product(4096, 4096, 4096, data_type, turned=True)
        yield product(1001, 999, 1003, data_type)
        for rows in (1, 4, 32, 128):
            yield product(rows, 4096, 4096, data_type)
            yield product(rows, 4096, 11008, data_type, turned=True)
        for depth, columns in ((768, 768), (768, 3072), (3072, 768)):
            yield product(512, depth, columns, data_type)
        yield product(512, 64, 512, data_type, turned=True, count=96)
        yield product(512, 512, 64, data_type, count=96)
        for size, count in ((8, 65536), (16, 8192), (24, 4096), (32, 1024)):
            yield product(size, size, size, data_type, count=count)
        yield product(4, 32, 32, data_type, count=8192)
        yield product(4096, 4096, 16, data_type)
        for columns in (256, 1024):
            yield product(1, 4096, columns, data_type)
        yield product(64, 65536, 64, data_type)
        for depth, columns in ((320, 320), (320, 2560), (1280, 320)):
            yield product(8192, depth, columns, data_type, turned=True)
        for layer in (*CONVOLUTIONS, *UNUSUAL):
            yield convolution(layer, data_type)
        for layer in SPREAD:
            yield spread(layer, data_type)
        yield pooling("MAX", 64, 112, 3, 2, data_type)
        yield pooling("MAX", 64, 112, 3, 2, data_type, images=1)
        yield pooling("MAX", 64, 112, 3, 2, data_type, is_last=True)
        yield pooling("MAX", 64, 112, 2, 2, data_type)
        yield pooling("AVERAGE", 256, 28, 2, 2, data_type)
        yield pooling("AVERAGE", 480, 28, 28, 28, data_type)
        for images in (32, 1):
            yield pooling("AVERAGE", 2048, 7, 7, 7, data_type, images=images)


def of_bytes() -> Iterator[Case]:
    """Products of 8-bit integers; torch has no such convolutions, only those of floats."""

    def product(rows: int, depth: int, columns: int, turned: bool = False) -> Case:
        name = str(rows) if rows == depth == columns else f"{rows}x{depth}x{columns}"
        return drawn(
            f"product {name}{' turned' if turned else ''} int8", "MATRIX_MULTIPLY_INTEGER",
            {
                "ATensor": tensor((rows, depth), "int8"),
                "BTensor": tensor((depth, columns), "int8", (1, depth) if turned else None),
                "OutputTensor": tensor((rows, columns), "int32"),
            },
            lambda torch, a, b: torch._int_mm(a, b),
        )  # fmt: skip

    def convolution(channels: int, size: int, filters: int, window: int, images: int = 32) -> Case:
        shown = "" if images == 32 else f" {images}"
        return drawn(
            f"convolution {window}x{window} {channels}-{filters} {size}x{size}{shown} int8",
            "CONVOLUTION_INTEGER",
            {
                "InputTensor": tensor((images, channels, size, size), "int8"),
                "FilterTensor": tensor((filters, channels, window, window), "int8"),
                "OutputTensor": tensor((images, filters, size, size), "int32"),
            },
            lambda torch, x, w: torch.nn.functional.conv2d(
                x.float(), w.float(), None, 1, window // 2
            ).int(),
            Strides=[1, 1], Dilations=[1, 1], StartPadding=[window // 2] * 2, EndPadding=[window // 2] * 2,
            GroupCount=1,
        )  # fmt: skip

    yield product(64, 64, 64)
    yield convolution(16, 14, 32, 3, images=1)
    for size in (1024, 4096):
        yield product(size, size, size)
        yield product(size, size, size, turned=True)
    for rows, depth, columns in ((32, 4096, 1024), (32, 4096, 4096), (128, 4096, 11008), (512, 768, 3072)):
        yield product(rows, depth, columns, turned=True)
    yield convolution(64, 56, 256, 1)
    yield convolution(64, 56, 64, 3)
    yield convolution(256, 14, 256, 3)
    yield convolution(24, 56, 96, 3)
    yield convolution(40, 28, 160, 3)
    yield convolution(512, 7, 128, 3, images=1)
    yield quantized_product(512, 4096, 4096)
    for layer in (Layer(64, 56, 256, 1), Layer(128, 56, 128, 3, 1, 128), Layer(960, 7, 960, 3, 1, 960)):
        yield quantized_convolution(layer)


POINT = 3


def quantized_product(rows: int, depth: int, columns: int) -> Case:
    def run(torch: Any, a: Any, b: Any, *_: Any) -> Any:
        return rounded(torch, torch._int_mm(a, b) - POINT * b.sum(0, dtype=torch.int32), depth)

    tensors = {
        "ATensor": tensor((rows, depth), "int8"),
        "BTensor": tensor((depth, columns), "int8"),
        "OutputTensor": tensor((rows, columns), "int8"),
    }
    return quantized(
        f"quantized product {rows}x{depth}x{columns}", "QUANTIZED_LINEAR_MATRIX_MULTIPLY", tensors, depth, run
    )


def quantized_convolution(layer: Layer) -> Case:
    """One that preserves the size."""
    padding, own = layer.window // 2, layer.channels // layer.groups

    def run(torch: Any, x: Any, w: Any, *_: Any) -> Any:
        total = torch.nn.functional.conv2d(
            x.float() - POINT, w.float(), None, 1, padding, 1, layer.groups
        )  # whose sums floats hold
        return rounded(torch, total, own * layer.window**2)

    members = layer.members("FORWARD", padding, padding)
    for one in ("Mode", "Direction", "OutputPadding"):
        del members[one]
    return quantized(
        f"quantized convolution {layer.name}",
        "QUANTIZED_LINEAR_CONVOLUTION",
        layer.tensors((layer.filters, own), layer.size, "int8"),
        own * layer.window**2,
        run,
        **members,
    )


def scale_for(depth: int) -> float:
    """A power of 2, so that quotients are exact, by which sums of that many products come near 127."""
    return 2.0 ** (7 + math.ceil(math.log2(depth) / 2))


def rounded(torch: Any, total: Any, depth: int) -> Any:
    return (total.float() / scale_for(depth)).round().clamp(-128, 127).to(torch.int8)


def quantized(
    name: str, operator: str, tensors: dict[str, dict[str, Any]], depth: int, torch: Torch, **members: Any
) -> Case:
    """Of bytes with scales and with a zero point of the first factor, POINT."""
    left, right, output = (one.removesuffix("Tensor") for one in tensors)
    one = [1] * len(tensors[f"{left}Tensor"]["Sizes"])
    values = {
        f"{left}ScaleTensor": np.ones(one, np.float32),
        f"{left}ZeroPointTensor": np.full(one, POINT, np.int8),
        f"{right}ScaleTensor": np.ones(one, np.float32),
        f"{output}ScaleTensor": np.full(one, scale_for(depth), np.float32),
    }
    quantization = {key: tensor(one, value.dtype.name) for key, value in values.items()}
    factors = {f"{key}Tensor": tensors[f"{key}Tensor"]["Sizes"] for key in (left, right)}

    def arrays() -> dict[str, np.ndarray]:
        return {
            key: uniform(sizes, "int8", seed) for seed, (key, sizes) in enumerate(factors.items())
        } | values

    return Case(name, operator, tensors | quantization | members, arrays, torch, size_of(*tensors.values()))
