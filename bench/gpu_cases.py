"""The cases of `bench/gpu.py`: operators at sizes that users have, each with the same computed by torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dmlops

LARGE, SMALL = 4096, 64  # sides of square tensors
MODES = {"bilinear": "LINEAR", "nearest": "NEAREST_NEIGHBOR"}  # torch's names of resampling

Torch = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Case:
    """An operator with its data; `torch` computes the same, `bytes_moved` is what must move, and `operations`
    are the multiplications and additions of products, 0 where memory alone is the limit."""

    name: str
    operator: str
    desc: dict[str, Any]
    arrays: Callable[[], dict[str, np.ndarray]]
    torch: Torch
    bytes_moved: int
    operations: int = 0

    def describe(self) -> Any:
        return dmlops.from_json({"type": f"DML_OPERATOR_{self.operator}", "desc": self.desc})


def tensor(sizes: Sequence[int], data_type: str, strides: Sequence[int] | None = None) -> dict[str, Any]:
    return {"DataType": data_type.upper(), "Sizes": list(sizes)} | (
        {"Strides": list(strides)} if strides else {}
    )


def size_of(*tensors: dict[str, Any]) -> int:
    """The bytes of tensors, each of those along dimensions of stride 0 once."""
    return sum(
        int(np.dtype(one["DataType"].lower()).itemsize)
        * int(
            np.prod(
                [size for d, size in enumerate(one["Sizes"]) if one.get("Strides", [1] * 8)[d] != 0],
                dtype=object,
            )
        )
        for one in tensors
    )


def uniform(sizes: Sequence[int], data_type: str, seed: int = 0) -> np.ndarray:
    """Floats between -4 and 4, signed bytes of any value."""
    rng = np.random.default_rng(seed)
    if data_type == "int8":
        return rng.integers(-128, 128, sizes, np.int8)
    return (rng.random(sizes, np.float32) * 8 - 4).astype(data_type)


def drawn(
    name: str,
    operator: str,
    tensors: dict[str, dict[str, Any]],
    torch: Torch,
    operations: int = 0,
    **members: Any,
) -> Case:
    """A case with inputs drawn at random; variances are at least 1."""
    inputs = {key: one for key, one in tensors.items() if not key.startswith("Output")}

    def arrays() -> dict[str, np.ndarray]:
        found = {
            key: uniform(one["Sizes"], one["DataType"].lower(), seed)
            for seed, (key, one) in enumerate(inputs.items())
        }
        return {key: abs(one) + 1 if key == "VarianceTensor" else one for key, one in found.items()}

    return Case(name, operator, tensors | members, arrays, torch, size_of(*tensors.values()), operations)


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
            values = rng.integers(0, 120, int(np.prod(sizes)) * element_size, np.uint8)  # always a number
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


def others(side: int = LARGE) -> Iterator[Case]:
    square = (side, side)
    margin = max(1, side // 85)  # of slices
    inner = side - 2 * margin
    around = max(1, side // 128)
    sized = "" if side == LARGE else f"{side} "

    def case(
        name: str,
        operator: str,
        inputs: dict[str, dict[str, Any]],
        outputs: dict[str, dict[str, Any]],
        torch: Torch,
        arrays: Callable[[], dict[str, np.ndarray]] | None = None,
        **members: Any,
    ) -> Case:
        def made() -> dict[str, np.ndarray]:
            found = {}
            for seed, (key, one) in enumerate(inputs.items()):
                strides = one.get("Strides", [1] * len(one["Sizes"]))
                sizes = [
                    1 if stride == 0 else size for size, stride in zip(one["Sizes"], strides, strict=True)
                ]
                data = uniform(sizes, one["DataType"].lower(), seed)
                found[key] = np.ascontiguousarray(np.broadcast_to(data, one["Sizes"]))
            return found

        moved = size_of(*inputs.values(), *outputs.values())
        return Case(name, operator, inputs | outputs | members, arrays or made, torch, moved)

    for data_type in ("float32", "float16"):
        whole = tensor(square, data_type)
        one = {"InputTensor": whole}, {"OutputTensor": whole}
        pair = {"ATensor": whole, "BTensor": whole}, {"OutputTensor": whole}
        row = {"ATensor": whole, "BTensor": tensor(square, data_type, (0, 1))}, {"OutputTensor": whole}
        yield case(f"copy {sized}{data_type}", "ELEMENT_WISE_IDENTITY", *one, lambda torch, x: x.clone())
        yield case(f"add {sized}{data_type}", "ELEMENT_WISE_ADD", *pair, lambda torch, a, b: a + b)
        yield case(f"add row {sized}{data_type}", "ELEMENT_WISE_ADD", *row, lambda torch, a, b: a + b[:1])
        yield case(f"exp {sized}{data_type}", "ELEMENT_WISE_EXP", *one, lambda torch, x: torch.exp(x))
        yield case(f"tanh {sized}{data_type}", "ELEMENT_WISE_TANH", *one, lambda torch, x: torch.tanh(x))
        yield case(f"relu {sized}{data_type}", "ACTIVATION_RELU", *one, lambda torch, x: torch.relu(x))
        yield case(
            f"gelu {sized}{data_type}", "ACTIVATION_GELU", *one, lambda torch, x: torch.nn.functional.gelu(x)
        )
        other = "float16" if data_type == "float32" else "float32"
        yield case(
            f"cast {sized}{data_type}", "CAST", one[0], {"OutputTensor": tensor(square, other)},
            lambda torch, x, other=other: x.to(getattr(torch, other)),
        )  # fmt: skip
        yield case(
            f"transposed {sized}{data_type}", "ELEMENT_WISE_IDENTITY",
            {"InputTensor": tensor(square, data_type, (1, side))}, one[1], lambda torch, x: x.contiguous(),
        )  # fmt: skip
        for axes in ((1,), (0,), (0, 1)):
            kept = [1 if d in axes else size for d, size in enumerate(square)]
            yield case(
                f"sum {axes} {sized}{data_type}", "REDUCE", one[0], {"OutputTensor": tensor(kept, data_type)},
                lambda torch, x, axes=axes: torch.sum(x, axes, keepdim=True), Function="SUM", Axes=list(axes),
            )  # fmt: skip
        yield case(
            f"argmax {sized}{data_type}", "ARGMAX", one[0], {"OutputTensor": tensor((side, 1), "int64")},
            lambda torch, x: torch.argmax(x, 1, keepdim=True), Axes=[1], AxisDirection="INCREASING",
        )  # fmt: skip
        for sizes in (square, (16 * side, 256)):
            rows = {"InputTensor": tensor(sizes, data_type)}, {"OutputTensor": tensor(sizes, data_type)}
            yield case(
                f"softmax {sizes[1]} {sized}{data_type}", "ACTIVATION_SOFTMAX1", *rows,
                lambda torch, x: torch.softmax(x, 1), Axes=[1],
            )  # fmt: skip
        yield case(
            f"cumsum {sized}{data_type}", "CUMULATIVE_SUMMATION", *one, lambda torch, x: torch.cumsum(x, 1),
            Axis=1, AxisDirection="INCREASING", HasExclusiveSum=False,
        )  # fmt: skip
        sliced = tensor((inner, inner // 2), data_type)
        yield case(
            f"slice {sized}{data_type}", "SLICE1", one[0], {"OutputTensor": sliced},
            lambda torch, x: x[margin : margin + inner, margin : margin + inner : 2].contiguous(),
            InputWindowOffsets=[margin] * 2, InputWindowSizes=[inner] * 2, InputWindowStrides=[1, 2],
        )  # fmt: skip
        padded = tensor((side + 2 * around,) * 2, data_type)
        yield case(
            f"padding {sized}{data_type}", "PADDING1", one[0], {"OutputTensor": padded},
            lambda torch, x: torch.nn.functional.pad(x, (around,) * 4), PaddingMode="CONSTANT",
            PaddingValueDataType=data_type.upper(), PaddingValue=0.0,
            StartPadding=[around] * 2, EndPadding=[around] * 2,
        )  # fmt: skip
        yield case(
            f"top 16 of {side} {data_type}", "TOP_K1", one[0],
            {
                "OutputValueTensor": tensor((side, 16), data_type),
                "OutputIndexTensor": tensor((side, 16), "uint32"),
            },
            lambda torch, x: torch.topk(x, 16, 1)[0], Axis=1, K=16, AxisDirection="DECREASING",
        )  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """A convolution of square images, or one backward: windows and strides are alike in both dimensions, and
    padding keeps the size but for the stride."""

    channels: int
    size: int
    filters: int
    window: int
    stride: int = 1
    groups: int = 1
    images: int = 32

    @property
    def name(self) -> str:
        window = f"{self.window}x{self.window}" + (f"/{self.stride}" if self.stride > 1 else "")
        is_depthwise = self.groups == self.channels
        kind = (
            f"depthwise {window} {self.channels}"
            if is_depthwise
            else f"{window} {self.channels}-{self.filters}"
        )
        return f"{kind} {self.size}x{self.size}" + ("" if self.images == 32 else f" {self.images}")

    def tensors(self, filters: Sequence[int], result: int, data_type: str) -> dict[str, dict[str, Any]]:
        """Input, filters of these sizes, and a result of so many rows and columns."""
        return {
            "InputTensor": tensor((self.images, self.channels, self.size, self.size), data_type),
            "FilterTensor": tensor((*filters, self.window, self.window), data_type),
            "OutputTensor": tensor((self.images, self.filters, result, result), data_type),
        }

    def members(self, direction: str, before: int, after: int) -> dict[str, Any]:
        """What is no tensor, with so much padding on either side."""
        return {
            "Mode": "CROSS_CORRELATION", "Direction": direction, "Strides": [self.stride] * 2,
            "Dilations": [1, 1], "StartPadding": [before] * 2, "EndPadding": [after] * 2,
            "OutputPadding": [0, 0], "GroupCount": self.groups,
        }  # fmt: skip


CONVOLUTIONS = (
    *(Layer(64, 56, 256, 1), Layer(256, 56, 64, 1), Layer(256, 56, 512, 1, 2)),
    *(Layer(1024, 14, 256, 1), Layer(512, 7, 2048, 1)),
    *(Layer(64, 56, 64, 3), Layer(128, 28, 128, 3), Layer(256, 14, 256, 3), Layer(512, 7, 512, 3)),
    *(Layer(64, 56, 64, 3, images=1), Layer(256, 14, 256, 3, images=1)),
    *(Layer(128, 56, 128, 3, 2), Layer(3, 224, 64, 7, 2)),
    *(Layer(128, 56, 128, 3, 1, 128), Layer(512, 28, 512, 3, 2, 512), Layer(960, 7, 960, 3, 1, 960)),
    *(Layer(240, 28, 240, 5, 1, 240), Layer(96, 56, 96, 5, 2, 96), Layer(96, 112, 96, 3, 1, 96, 1)),
)
"""Of ResNet, MobileNet and their like."""

SPREAD = (
    *(Layer(64, 56, 64, 3), Layer(256, 14, 256, 3)),
    *(Layer(128, 64, 64, 2, 2, images=8), Layer(512, 16, 256, 2, 2, images=8), Layer(128, 56, 64, 3, 2)),
    *(Layer(512, 8, 256, 4, 2, images=64), Layer(128, 32, 64, 4, 2, images=64)),
    *(Layer(64, 32, 3, 4, 2, images=64), Layer(256, 32, 256, 4, 2, images=1)),
    Layer(21, 64, 21, 16, 8, images=1),
    *(Layer(128, 28, 128, 4, 2, 128), Layer(128, 56, 128, 3, 1, 128)),
)
"""Backward: of U-Net, DCGAN, FCN and their like."""


def products() -> Iterator[Case]:
    """Matrix products, some as in language models; convolutions and poolings as in well-known networks."""

    def product(rows: int, depth: int, columns: int, data_type: str, turned: bool = False) -> Case:
        right = (1, 1, columns, depth) if turned else (1, 1, depth, columns)
        name = str(rows) if rows == depth == columns else f"{rows}x{depth}x{columns}"
        return drawn(
            f"gemm {name}{' turned' if turned else ''} {data_type}", "GEMM",
            {
                "ATensor": tensor((1, 1, rows, depth), data_type),
                "BTensor": tensor(right, data_type),
                "OutputTensor": tensor((1, 1, rows, columns), data_type),
            },
            lambda torch, a, b: torch.matmul(a, b.transpose(2, 3) if turned else b),
            2 * rows * depth * columns,
            TransA="NONE", TransB="TRANSPOSE" if turned else "NONE", Alpha=1.0, Beta=0.0,
        )  # fmt: skip

    def convolution(layer: Layer, data_type: str) -> Case:
        window, stride, padding, result = (
            layer.window,
            layer.stride,
            layer.window // 2,
            -(-layer.size // layer.stride),
        )
        own = layer.channels // layer.groups  # channels of a group
        return drawn(
            f"convolution {layer.name} {data_type}", "CONVOLUTION",
            layer.tensors((layer.filters, own), result, data_type),
            lambda torch, x, w: torch.nn.functional.conv2d(x, w, None, stride, padding, 1, layer.groups),
            2 * layer.images * layer.filters * result**2 * own * window**2,
            **layer.members("FORWARD", padding, padding),
        )  # fmt: skip

    def spread(layer: Layer, data_type: str) -> Case:
        """A backward convolution, whose result is as many times larger as the stride."""
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
        kind: str, channels: int, size: int, window: int, stride: int, data_type: str, images: int = 32
    ) -> Case:
        padding = 0 if stride == window else window // 2
        result = (size + 2 * padding - window) // stride + 1
        pool = f"{kind.lower()}_pool2d".replace("average", "avg")
        shown = "" if images == 32 else f" {images}"
        return drawn(
            f"{kind.lower()} {window}x{window}/{stride} {channels} {size}x{size}{shown} {data_type}",
            f"{kind}_POOLING",
            {
                "InputTensor": tensor((images, channels, size, size), data_type),
                "OutputTensor": tensor((images, channels, result, result), data_type),
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
        for size in (1024, 2048, 4096):
            yield product(size, size, size, data_type)
        yield product(4096, 4096, 4096, data_type, turned=True)
        yield product(1001, 999, 1003, data_type)
        for rows in (1, 4, 32):
            yield product(rows, 4096, 4096, data_type)
            yield product(rows, 4096, 11008, data_type, turned=True)
        for layer in CONVOLUTIONS:
            yield convolution(layer, data_type)
        for layer in SPREAD:
            yield spread(layer, data_type)
        yield pooling("MAX", 64, 112, 3, 2, data_type)
        yield pooling("MAX", 64, 112, 3, 2, data_type, images=1)
        yield pooling("MAX", 64, 112, 2, 2, data_type)
        yield pooling("AVERAGE", 256, 28, 2, 2, data_type)
        yield pooling("AVERAGE", 480, 28, 28, 28, data_type)
        for images in (32, 1):
            yield pooling("AVERAGE", 2048, 7, 7, 7, data_type, images=images)


def normalizations() -> Iterator[Case]:
    """Of rows as in language models, and of images; attention of as many tokens in heads of 64."""

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

    def attention(batches: int, tokens: int, heads: int, data_type: str, queries: int | None = None) -> Case:
        """As many queries as keys, or fewer."""
        keys = tensor((batches, tokens, heads * 64), data_type)
        asking = keys if queries is None else tensor((batches, queries, heads * 64), data_type)
        shown = f"{batches}x{tokens}" if queries is None else f"{batches}x{queries} of {tokens}"

        def on_torch(torch: Any, *parts: Any) -> Any:
            split = (part.reshape(batches, -1, heads, 64).transpose(1, 2) for part in parts)
            found = torch.nn.functional.scaled_dot_product_attention(*split)
            return found.transpose(1, 2).reshape(batches, -1, heads * 64)

        tensors = {"QueryTensor": asking, "KeyTensor": keys, "ValueTensor": keys, "OutputTensor": asking}
        return drawn(
            f"attention {shown} {heads} heads {data_type}", "MULTIHEAD_ATTENTION", tensors, on_torch,
            4 * batches * heads * (queries or tokens) * tokens * 64,
            Scale=0.125, MaskFilterValue=-1e4, HeadCount=heads, MaskType="NONE",
        )  # fmt: skip

    def decoding(batches: int, past: int, depth: int, data_type: str, presents: bool) -> Case:
        """One token more: its query, key and value, after keys and values of earlier calls. torch has all of
        them in one; with `presents` it has to put them there, as outputs are here."""
        heads = 32
        new = tensor((batches, 1, heads * depth), data_type)
        old = tensor((batches, heads, past, depth), data_type)
        whole = tensor((batches, heads, past + 1, depth), data_type)
        names = ("QueryTensor", "KeyTensor", "ValueTensor")
        tensors = {**dict.fromkeys(names, new), "PastKeyTensor": old, "PastValueTensor": old}
        kept: dict[int, tuple[Any, Any]] = {}  # by where the old ones are

        def joined(torch: Any, key: Any, value: Any, old_key: Any, old_value: Any) -> tuple[Any, Any]:
            split = (part.reshape(batches, 1, heads, depth).transpose(1, 2) for part in (key, value))
            first, second = (torch.cat(pair, 2) for pair in zip((old_key, old_value), split, strict=True))
            return first, second

        def on_torch(torch: Any, query: Any, *rest: Any) -> Any:
            split = query.reshape(batches, 1, heads, depth).transpose(1, 2)
            place = rest[2].data_ptr()
            if not presents and place not in kept:
                kept[place] = joined(torch, *rest)
            found = torch.nn.functional.scaled_dot_product_attention(
                split, *(joined(torch, *rest) if presents else kept[place])
            )
            return found.transpose(1, 2).reshape(batches, 1, heads * depth)

        outputs = {"OutputTensor": new}
        if presents:
            outputs |= {"OutputPresentKeyTensor": whole, "OutputPresentValueTensor": whole}
        found = (
            f"{'decoding with presents' if presents else 'decoding'} {batches}x1 after {past}, {depth} wide"
        )
        return Case(
            f"{found} {data_type}", "MULTIHEAD_ATTENTION",
            tensors | outputs
            | {"Scale": depth**-0.5, "MaskFilterValue": -1e4, "HeadCount": heads, "MaskType": "NONE"},
            lambda: {
                key: uniform(one["Sizes"], data_type, seed) for seed, (key, one) in enumerate(tensors.items())
            },
            on_torch, size_of(*tensors.values(), *outputs.values()), 4 * batches * heads * (past + 1) * depth,
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield layer(SMALL, 64, data_type)
        yield batch(1, 16, 14, data_type)
        yield attention(1, 65, 2, data_type)
        for rows, width in ((65536, 256), (16384, 1024), (4096, 4096)):
            yield layer(rows, width, data_type)
        yield batch(32, 64, 112, data_type)
        yield batch(32, 512, 14, data_type)
        for batches, tokens in ((1, 128), (1, 512), (1, 2048), (8, 128), (8, 512), (8, 2048)):
            yield attention(batches, tokens, 12, data_type)
        for batches in (1, 32):
            yield attention(batches, 4096, 32, data_type, queries=1)
            for depth in (64, 128):
                yield decoding(batches, 4096, depth, data_type, False)
                yield decoding(batches, 4096, depth, data_type, True)


def of_bytes() -> Iterator[Case]:
    """Products of integers of 8 bits; torch convolves no such, but floats."""

    def product(size: int, turned: bool = False) -> Case:
        return drawn(
            f"product {size}{' turned' if turned else ''} int8", "MATRIX_MULTIPLY_INTEGER",
            {
                "ATensor": tensor((size, size), "int8"),
                "BTensor": tensor((size, size), "int8", (1, size) if turned else None),
                "OutputTensor": tensor((size, size), "int32"),
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

    yield product(64)
    yield convolution(16, 14, 32, 3, images=1)
    for size in (1024, 4096):
        yield product(size)
        yield product(size, turned=True)
    yield convolution(64, 56, 256, 1)
    yield convolution(64, 56, 64, 3)
    yield convolution(256, 14, 256, 3)


def images() -> Iterator[Case]:
    """Pictures of other sizes, gradients of these, and those of poolings."""

    def resampling(mode: str, sizes: tuple[int, int, int, int], data_type: str, by: float = 2) -> Case:
        result = (*sizes[:2], int(sizes[2] * by), int(sizes[3] * by))
        shown = "" if by == 2 else f"by {by} "
        return drawn(
            f"{mode} {shown}{'x'.join(map(str, sizes))} {data_type}", "RESAMPLE",
            {"InputTensor": tensor(sizes, data_type), "OutputTensor": tensor(result, data_type)},
            lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=by, mode=mode),
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

    for data_type in ("float32", "float16"):
        for mode in ("bilinear", "nearest"):
            yield resampling(mode, (1, 16, 14, 14), data_type)
            yield resampling(mode, (1, 3, 1080, 1920), data_type)
            yield resampling(mode, (32, 64, 56, 56), data_type)
            yield resampling(mode, (32, 64, 112, 112), data_type, 0.5)
            yield resampling_gradient(mode, (1, 16, 14, 14), data_type)
            yield resampling_gradient(mode, (32, 64, 56, 56), data_type)
        yield antialiased((4, 3, 1080, 1920), 224, data_type)
        for kind in ("AVERAGE", "MAX"):
            yield gradient(kind, 1, 16, 14, 3, 2, data_type)
            yield gradient(kind, 32, 64, 112, 3, 2, data_type)
            yield gradient(kind, 32, 256, 28, 2, 2, data_type)


def recurrents() -> Iterator[Case]:
    """Recurrent networks of one layer, with as many inputs as units."""

    def network(operator: str, units: int, batch: int, steps: int, data_type: str) -> Case:
        order = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[operator]  # torch's, by our gates
        rows = len(order) * units
        tensors = {
            "InputTensor": tensor((1, steps, batch, units), data_type),
            "WeightTensor": tensor((1, 1, rows, units), data_type),
            "RecurrenceTensor": tensor((1, 1, rows, units), data_type),
            "BiasTensor": tensor((1, 1, 1, 2 * rows), data_type),
            "OutputSequenceTensor": tensor((steps, 1, batch, units), data_type),
        }
        functions = {"RNN": ["TANH"], "GRU": ["SIGMOID", "TANH"], "LSTM": ["SIGMOID", "TANH", "TANH"]}[
            operator
        ]
        members = {
            "LSTM": {"ClipThreshold": 0.0, "UseClipThreshold": False, "CoupleInputForget": False},
            "GRU": {"LinearBeforeReset": True},
        }.get(operator, {})
        networks: dict[int, Any] = {}  # by where their weights are

        def arrays() -> dict[str, np.ndarray]:
            names = [name for name in tensors if name != "OutputSequenceTensor"]
            found = {
                name: uniform(tensors[name]["Sizes"], data_type, seed) for seed, name in enumerate(names)
            }
            small = np.asarray(units**-0.5 / 4, data_type)
            return {name: one if name == "InputTensor" else one * small for name, one in found.items()}

        def on_torch(torch: Any, x: Any, w: Any, r: Any, b: Any) -> Any:
            if w.data_ptr() not in networks:
                made = getattr(torch.nn, operator)(units, units, device=x.device, dtype=x.dtype).eval()
                parts = {"weight_ih": w[0, 0], "weight_hh": r[0, 0]}
                parts |= {"bias_ih": b[0, 0, 0, :rows], "bias_hh": b[0, 0, 0, rows:]}
                for name, part in parts.items():
                    gates = part.chunk(len(order))
                    getattr(made, f"{name}_l0").data.copy_(torch.cat([gates[place] for place in order]))
                networks[w.data_ptr()] = made
            with torch.no_grad():
                return networks[w.data_ptr()](x[0])[0].unsqueeze(1)

        return Case(
            f"{operator.lower()} {units} {batch}x{steps} {data_type}",
            operator,
            tensors
            | {
                "ActivationDescCount": len(functions),
                "ActivationDescs": [{"type": f"ACTIVATION_{one}"} for one in functions],
                "Direction": "FORWARD",
            }
            | members,
            arrays,
            on_torch,
            size_of(*tensors.values()),
            4 * steps * batch * rows * units,
        )

    for data_type in ("float32", "float16"):
        yield network("LSTM", SMALL, 1, 4, data_type)
        for operator in ("LSTM", "GRU"):
            for units, batch in itertools.product((256, 512, 1024), (1, 32)):
                yield network(operator, units, batch, 64, data_type)
        yield network("RNN", 512, 32, 64, data_type)
        yield network("LSTM", 512, 32, 128, data_type)


def further() -> Iterator[Case]:
    """Normalizations of images, in training too, and moves of data between layers."""

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

    def of_images(count: int, channels: int, size: int, data_type: str) -> Iterator[Case]:
        whole = tensor((count, channels, size, size), data_type)
        one = tensor((1, channels, 1, 1), data_type)
        shown = f"{count}x{channels}x{size}x{size} {data_type}"
        across = {"InputTensor": whole, "OutputTensor": whole}
        yield drawn(
            f"local response norm {shown}", "LOCAL_RESPONSE_NORMALIZATION", across,
            lambda torch, x: torch.nn.functional.local_response_norm(x, 5, 1e-2, 0.75, 1.0),
            CrossChannel=True, LocalSize=5, Alpha=1e-2, Beta=0.75, Bias=1.0,
        )  # fmt: skip
        yield drawn(
            f"instance norm {shown}", "MEAN_VARIANCE_NORMALIZATION1", across,
            lambda torch, x: torch.nn.functional.instance_norm(x, eps=1e-5),
            Axes=[2, 3], NormalizeVariance=True, Epsilon=1e-5,
        )  # fmt: skip
        yield drawn(
            f"softmax of channels {shown}", "ACTIVATION_SOFTMAX1", across,
            lambda torch, x: torch.softmax(x, 1), Axes=[1],
        )  # fmt: skip
        yield drawn(
            f"lp norm {shown}", "LP_NORMALIZATION", across,
            lambda torch, x: torch.nn.functional.normalize(x, 2.0, 1), Axis=1, Epsilon=1e-12, P=2,
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
        yield from of_images(1, 16, 14, data_type)
        yield from of_images(32, 64, 56, data_type)
        yield tiled(SMALL, data_type)
        yield tiled(LARGE, data_type)
        yield moved("heads", (8, 512, 12, 64), (0, 2, 1, 3), data_type)
        yield moved("channels last", (32, 64, 56, 56), (0, 2, 3, 1), data_type)
        yield moved("channels first", (32, 56, 56, 64), (0, 3, 1, 2), data_type)


def cases() -> Iterator[Case]:
    yield from gathers()
    yield from others()
    yield from others(SMALL)
    yield from products()
    yield from normalizations()
    yield from of_bytes()
    yield from images()
    yield from recurrents()
    yield from further()
