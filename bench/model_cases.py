"""Models as code, each written once over a handful of layers: for dmlops as a graph, and for torch.

Weights are random, and scaled so that sums stay near 1. Sizes come in two kinds: those of the models after
which these are named, and tiny ones for a software driver.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from math import prod
from typing import Any

import numpy as np

import dmlops
from dmlops import TensorDesc

EPSILON = 1e-5
MASKED = -1e4  # in place of minus infinity, which float16 attention adds to scores


class Draw:
    """Random weights and inputs of one data type, the same for each backend."""

    def __init__(self, dtype: str) -> None:
        self._random = np.random.default_rng(0)
        self.dtype = dtype

    def __call__(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (self._random.standard_normal(shape, np.float32) * np.float32(scale)).astype(self.dtype)

    def matrix(self, rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return self(rows, columns, scale=scale * rows**-0.5)

    def filters(self, outputs: int, inputs: int, *window: int, scale: float = 1.0) -> np.ndarray:
        return self(outputs, inputs, *window, scale=scale * (inputs * prod(window)) ** -0.5)


class Graphs:
    """Layers as operators of a graph. Tensors have the sizes that torch has; descriptions see them in four
    dimensions."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype.upper()
        self.builder = dmlops.graph.Builder()
        self._weights: dict[int, Any] = {}

    def input(self, name: str, array: np.ndarray) -> Any:
        return self.builder.input(name, TensorDesc.of(array))

    def linear(self, x: Any, matrix: np.ndarray, bias: np.ndarray | None = None) -> Any:
        rows, (inner, columns) = prod(x.tensor.Sizes[:-1]), matrix.shape
        c = None if bias is None else self._weight(bias, (1, 1, rows, columns), (0, 0, 0, 1))
        left, right = self.seen(x, 1, 1, rows, inner), self._weight(matrix, (1, 1, inner, columns))
        return self.seen(self.builder.gemm(left, right, c), *x.tensor.Sizes[:-1], columns)

    def conv(self, x: Any, filters: np.ndarray, bias: np.ndarray, stride: int = 1, groups: int = 1) -> Any:
        around = [size // 2 for size in filters.shape[2:]]
        strides = [stride if size > 1 else 1 for size in x.tensor.Sizes[2:]]
        return self.builder.convolution(
            x,
            self._weight(filters, filters.shape),
            self._weight(bias, (1, bias.size, 1, 1)),
            Strides=strides,
            Dilations=[1, 1],
            StartPadding=around,
            EndPadding=around,
            OutputPadding=[0, 0],
            GroupCount=groups,
        )

    def norm(self, x: Any, scale: np.ndarray, bias: np.ndarray | None = None) -> Any:
        """Over the last dimension; without a bias by the mean square only."""
        sizes = (1, 1, prod(x.tensor.Sizes[:-1]), scale.size)
        weights = [self._weight(one, sizes, (0, 0, 0, 1)) for one in (scale, bias) if one is not None]
        return self._normalized(x, sizes, weights, [3], bias is not None)

    def group_norm(self, x: Any, groups: int, scale: np.ndarray, bias: np.ndarray) -> Any:
        batch, channels, height, width = x.tensor.Sizes
        each = channels // groups
        sizes, strides = (batch, groups, each, height * width), (0, each, 1, 0)
        weights = [self._weight(one, sizes, strides) for one in (scale, bias)]
        return self._normalized(x, sizes, weights, [2, 3], True)

    def _normalized(self, x: Any, sizes: Sequence[int], weights: Any, axes: Any, mean: bool) -> Any:
        found = self.builder.mean_variance_normalization2(
            self.seen(x, *sizes), *weights, Axes=axes, UseMean=mean, UseVariance=True, Epsilon=EPSILON
        )
        return self.seen(found, *x.tensor.Sizes)

    def attention(self, q: Any, k: Any, v: Any, heads: int, causal: bool = False) -> Any:
        batch, length, width = q.tensor.Sizes
        mask = None
        if causal:
            shape = (batch, heads, length, k.tensor.Sizes[1])
            seen = np.tri(length, shape[3], shape[3] - length, dtype=np.int32)
            mask = self._weight(seen, shape, (0, 0, shape[3], 1))
        return self.builder.multihead_attention(
            q,
            k,
            v,
            MaskTensor=mask,
            Scale=(width // heads) ** -0.5,
            MaskFilterValue=MASKED,
            HeadCount=heads,
            MaskType="BOOLEAN" if causal else "NONE",
            OutputTensor=q.tensor,
        )

    def add(self, x: Any, y: Any) -> Any:
        return self.builder.element_wise_add(x, y)

    def multiply(self, x: Any, y: Any) -> Any:
        """`y` can have sizes of 1 where `x` has others."""
        steps = zip(y.tensor.Sizes, y.tensor.element_strides, x.tensor.Sizes, strict=True)
        strides = [step if size == wide else 0 for size, step, wide in steps]
        seen = y.seen_as(TensorDesc(self.dtype, x.tensor.Sizes, Strides=strides))
        return self.builder.element_wise_multiply(x, seen)

    def relu(self, x: Any) -> Any:
        return self.builder.activation_relu(x)

    def gelu(self, x: Any) -> Any:
        return self.builder.activation_gelu(x)

    def silu(self, x: Any) -> Any:
        return self.builder.activation_swish(x, SigmoidInputScale=1)

    def hard_swish(self, x: Any) -> Any:
        return self.builder.activation_hard_swish(x, Alpha=1 / 6, Beta=0.5)

    def hard_sigmoid(self, x: Any) -> Any:
        return self.builder.activation_hard_sigmoid(x, Alpha=1 / 6, Beta=0.5)

    def max_pool(self, x: Any, window: int = 3, stride: int = 2) -> Any:
        around, sizes, steps = [window // 2] * 2, [window] * 2, [stride] * 2
        return self.builder.max_pooling(
            x, Strides=steps, WindowSize=sizes, StartPadding=around, EndPadding=around
        )

    def concat(self, parts: Sequence[Any], axis: int = 1) -> Any:
        return self.builder.join(list(parts), Axis=axis)

    def halves(self, x: Any) -> Any:
        """Of the channels."""
        batch, channels, *size = x.tensor.Sizes
        part = TensorDesc(self.dtype, (batch, channels // 2, *size))
        return self.builder.split(x, OutputTensors=[part, part], Axis=1)

    def double(self, x: Any) -> Any:
        """An image in twice the size, by the nearest pixel."""
        return self.builder.upsample_2d(
            x, ScaleSize=dmlops.Size2d(Width=2, Height=2), InterpolationMode="NEAREST_NEIGHBOR"
        )

    def mean(self, x: Any) -> Any:
        """Over the pixels of an image, which stay as sizes of 1."""
        return self.builder.reduce(x, Function="AVERAGE", Axes=[2, 3])

    def rotate(self, x: Any, heads: int, cosines: np.ndarray, sines: np.ndarray) -> Any:
        """Rotary embedding: pairs of elements half a head apart are turned by an angle of their position."""
        batch, length, width = x.tensor.Sizes
        half = width // heads // 2
        sizes = (batch, length, heads, half)
        four = self.seen(x, batch, length, heads, 2 * half)
        part = TensorDesc(self.dtype, sizes)
        low, high = self.builder.split(four, OutputTensors=[part, part], Axis=3)
        cos, sin = (self._weight(one, sizes, (0, half, 0, 1)) for one in (cosines, sines))
        times, builder = self.builder.element_wise_multiply, self.builder
        turned = (
            builder.element_wise_subtract(times(low, cos), times(high, sin)),
            builder.element_wise_add(times(high, cos), times(low, sin)),
        )
        return self.seen(builder.join(list(turned), Axis=3), batch, length, width)

    def embed(self, indices: Any, table: np.ndarray) -> Any:
        batch, length = indices.tensor.Sizes
        seen = indices.seen_as(TensorDesc(indices.tensor.DataType, (1, 1, batch, length)))
        rows = self._weight(table, (1, 1, *table.shape))
        found = self.builder.gather(rows, seen, Axis=2, IndexDimensions=2)
        return self.seen(found, batch, length, table.shape[1])

    def lstm(self, x: Any, weights: Sequence[np.ndarray]) -> Any:
        """Both directions; steps come first. Weights are torch's, with gates in the order i, f, g, o."""
        length, batch, width = x.tensor.Sizes
        hidden = weights[1].shape[1]

        def gates(place: int) -> np.ndarray:
            """Both directions, with gates in the order i, o, f, g."""
            found = [np.stack(np.split(one, 4))[[0, 3, 1, 2]] for one in weights[place::4]]
            return np.stack([one.reshape(-1, *one.shape[2:]) for one in found])

        w, r, wb, rb = map(gates, range(4))
        bias = np.concatenate([wb, rb], axis=1)
        tanh = dmlops.ActivationTanh()
        activations = [dmlops.ActivationSigmoid(), tanh, tanh]
        sequence = self.builder.lstm(
            self.seen(x, 1, length, batch, width),
            self._weight(w, (1, *w.shape)),
            self._weight(r, (1, *r.shape)),
            self._weight(bias, (1, 1, *bias.shape)),
            ActivationDescs=activations * 2,
            Direction="BIDIRECTIONAL",
            ClipThreshold=0,
            UseClipThreshold=False,
            CoupleInputForget=False,
            OutputSequenceTensor=TensorDesc(self.dtype, (length, 2, batch, hidden)),
        )
        turned = TensorDesc(
            self.dtype,
            (length, batch, 2, hidden),
            Strides=(2 * batch * hidden, hidden, batch * hidden, 1),
        )
        return self.seen(
            self.builder.element_wise_identity(sequence.seen_as(turned)), length, batch, 2 * hidden
        )

    def tokens(self, x: Any) -> Any:
        """The pixels of an image as tokens of its channels."""
        batch, channels, height, width = x.tensor.Sizes
        return self._turned(x, (batch, channels, height * width))

    def image(self, x: Any, height: int, width: int) -> Any:
        batch, _, channels = x.tensor.Sizes
        return self.seen(self._turned(x, x.tensor.Sizes), batch, channels, height, width)

    def _turned(self, x: Any, sizes: Sequence[int]) -> Any:
        """The last two of three dimensions exchanged."""
        batch, rows, columns = sizes
        strides = (rows * columns, 1, columns)
        seen = x.seen_as(TensorDesc(self.dtype, (batch, columns, rows), Strides=strides))
        return self.builder.element_wise_identity(seen)

    def seen(self, x: Any, *sizes: int) -> Any:
        return x.seen_as(TensorDesc(x.tensor.DataType, sizes))

    def _weight(self, array: np.ndarray, sizes: Sequence[int], strides: Any = None) -> Any:
        if id(array) not in self._weights:
            self._weights[id(array)] = array, self.builder.constant(array)
        tensor = TensorDesc(TensorDesc.of(array).DataType, sizes, Strides=strides)
        return self._weights[id(array)][1].seen_as(tensor)


class Torch:
    """The layers in torch."""

    def __init__(self, torch: Any, device: str, dtype: Any) -> None:
        self.torch, self.device, self.dtype = torch, device, dtype
        self.f = torch.nn.functional
        self._weights: dict[int, Any] = {}

    def input(self, name: str, array: np.ndarray) -> Any:
        return self._weight(array)

    def linear(self, x: Any, matrix: np.ndarray, bias: np.ndarray | None = None) -> Any:
        # as torch keeps the weights of a linear layer
        weight = self._weight(matrix, lambda one: one.t().contiguous())
        return self.f.linear(x, weight, None if bias is None else self._weight(bias))

    def conv(self, x: Any, filters: np.ndarray, bias: np.ndarray, stride: int = 1, groups: int = 1) -> Any:
        around = [size // 2 for size in filters.shape[2:]]
        strides = [stride if size > 1 else 1 for size in x.shape[2:]]
        weights = self._weight(filters), self._weight(bias)
        return self.f.conv2d(x, *weights, stride=strides, padding=around, groups=groups)

    def norm(self, x: Any, scale: np.ndarray, bias: np.ndarray | None = None) -> Any:
        if bias is None:
            return self.f.rms_norm(x, scale.shape, self._weight(scale), EPSILON)
        return self.f.layer_norm(x, scale.shape, self._weight(scale), self._weight(bias), EPSILON)

    def group_norm(self, x: Any, groups: int, scale: np.ndarray, bias: np.ndarray) -> Any:
        return self.f.group_norm(x, groups, self._weight(scale), self._weight(bias), EPSILON)

    def attention(self, q: Any, k: Any, v: Any, heads: int, causal: bool = False) -> Any:
        apart = [one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (q, k, v)]
        found = self.f.scaled_dot_product_attention(*apart, is_causal=causal)
        return found.transpose(1, 2).flatten(2)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        return x * y

    def relu(self, x: Any) -> Any:
        return self.f.relu(x)

    def gelu(self, x: Any) -> Any:
        return self.f.gelu(x)

    def silu(self, x: Any) -> Any:
        return self.f.silu(x)

    def hard_swish(self, x: Any) -> Any:
        return self.f.hardswish(x)

    def hard_sigmoid(self, x: Any) -> Any:
        return self.f.hardsigmoid(x)

    def max_pool(self, x: Any, window: int = 3, stride: int = 2) -> Any:
        return self.f.max_pool2d(x, window, stride, window // 2)

    def concat(self, parts: Sequence[Any], axis: int = 1) -> Any:
        return self.torch.cat(list(parts), axis)

    def halves(self, x: Any) -> Any:
        return x.chunk(2, 1)

    def double(self, x: Any) -> Any:
        return self.f.interpolate(x, scale_factor=2, mode="nearest")

    def mean(self, x: Any) -> Any:
        return x.mean((2, 3), keepdim=True)

    def rotate(self, x: Any, heads: int, cosines: np.ndarray, sines: np.ndarray) -> Any:
        low, high = x.unflatten(-1, (heads, -1)).chunk(2, -1)
        cos, sin = (self._weight(one)[:, None] for one in (cosines, sines))
        return self.torch.cat([low * cos - high * sin, high * cos + low * sin], -1).flatten(2)

    def embed(self, indices: Any, table: np.ndarray) -> Any:
        return self.f.embedding(indices, self._weight(table))

    def lstm(self, x: Any, weights: Sequence[np.ndarray]) -> Any:
        flat = [self._weight(one) for one in weights]
        start = x.new_zeros(2, x.shape[1], weights[1].shape[1])
        found = self.torch._VF.lstm(x, (start, start), flat, True, 1, 0.0, False, True, False)
        return found[0]

    def tokens(self, x: Any) -> Any:
        return x.flatten(2).transpose(1, 2)

    def image(self, x: Any, height: int, width: int) -> Any:
        return x.transpose(1, 2).unflatten(2, (height, width))

    def seen(self, x: Any, *sizes: int) -> Any:
        return x.reshape(sizes)

    def _weight(self, array: np.ndarray, made: Callable[[Any], Any] = lambda one: one) -> Any:
        if id(array) not in self._weights:
            moved = self.torch.from_numpy(array).to(self.device)
            moved = moved.to(self.dtype) if array.dtype.kind == "f" else moved
            self._weights[id(array)] = array, made(moved)
        return self._weights[id(array)][1]


class Exported(Torch):
    """Layers that torch exports to ONNX."""

    def norm(self, x: Any, scale: np.ndarray, bias: np.ndarray | None = None) -> Any:
        if bias is not None:
            return super().norm(x, scale, bias)
        square = x.float().square().mean(-1, keepdim=True)
        return (x * (square + EPSILON).rsqrt()).to(x.dtype) * self._weight(scale)


Layers = Graphs | Torch
Forward = Callable[[Any, Mapping[str, Any]], Any]
"""The output of a model, given a backend and its inputs."""


@dataclass
class Model:
    """Inputs, and what computes the output of them with a backend."""

    inputs: Mapping[str, np.ndarray]
    forward: Forward
    dtype: str = field(default="float32")

    def graph(self) -> dmlops.Graph:
        layers = Graphs(self.dtype)
        values = {name: layers.input(name, array) for name, array in self.inputs.items()}
        return layers.builder.build(y=self.forward(layers, values))

    def torch(self, torch: Any, device: str) -> tuple[Callable[[], Any], Mapping[str, Any]]:
        """The function that runs the model on a device, in single precision on the CPU, and its inputs
        there."""
        dtype = getattr(torch, self.dtype if device == "cuda" else "float32")
        layers = Torch(torch, device, dtype)
        values = {name: layers.input(name, array) for name, array in self.inputs.items()}
        return lambda: self.forward(layers, values), values

    def onnx(self, torch: Any, device: str) -> bytes:
        """The model as ONNX."""
        layers, names = Exported(torch, device, getattr(torch, self.dtype)), list(self.inputs)

        class Module(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(_, *arrays: Any) -> Any:
                return self.forward(layers, dict(zip(names, arrays, strict=True)))

        arrays = tuple(layers.input(name, array) for name, array in self.inputs.items())
        file = BytesIO()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about constants of the trace
            torch.onnx.export(Module(), arrays, file, dynamo=False, opset_version=18)
        return file.getvalue()


def resnet(draw: Draw, tiny: bool) -> Model:
    """ResNet-50: bottlenecks with batch normalization folded into convolutions."""
    batch, size, depths, base = (1, 32, (1, 1), 8) if tiny else (16, 224, (3, 4, 6, 3), 64)
    stem = draw.filters(base, 3, 7, 7), draw(base, scale=0.1)
    blocks = []
    channels = base
    for stage, depth in enumerate(depths):
        inner = base << stage
        for number in range(depth):
            shapes = ((inner, channels, 1, 1), (inner, inner, 3, 3), (4 * inner, inner, 1, 1))
            convolutions = [(draw.filters(*one), draw(one[0], scale=0.1)) for one in shapes]
            convolutions[2] = (convolutions[2][0] * np.float16(0.25)).astype(draw.dtype), convolutions[2][1]
            shortcut = (draw.filters(4 * inner, channels, 1, 1), draw(4 * inner)) if number == 0 else None
            blocks.append((convolutions, shortcut, 2 if number == 0 and stage else 1))
            channels = 4 * inner
    head = draw.matrix(channels, 16 if tiny else 1000)

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        x = layers.max_pool(layers.relu(layers.conv(inputs["x"], *stem, 2)))
        for (first, second, third), shortcut, stride in blocks:
            y = layers.relu(layers.conv(x, *first))
            y = layers.conv(layers.relu(layers.conv(y, *second, stride)), *third)
            x = layers.relu(layers.add(y, layers.conv(x, *shortcut, stride) if shortcut else x))
        return layers.linear(layers.seen(layers.mean(x), batch, channels), head)

    return Model({"x": draw(batch, 3, size, size)}, forward)


def mobilenet(draw: Draw, tiny: bool) -> Model:
    """MobileNetV3-Large: inverted residuals, most with squeeze and excitation."""
    large = (
        (3, 16, 16, 0, 1), (3, 64, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 1, 2), (5, 120, 40, 1, 1),
        (5, 120, 40, 1, 1), (3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 1, 1),
        (3, 672, 112, 1, 1), (5, 672, 160, 1, 2), (5, 960, 160, 1, 1), (5, 960, 160, 1, 1),
    )  # fmt: skip
    rows, batch, size = (((3, 16, 8, 0, 1), (5, 16, 8, 1, 1)), 1, 16) if tiny else (large, 16, 224)
    channels = 8 if tiny else 16
    stem = draw.filters(channels, 3, 3, 3), draw(channels, scale=0.1)
    blocks = []
    for window, inner, outputs, squeezed, stride in rows:
        excitation = None
        if squeezed:
            few = max(inner // 4, 4)
            shapes = ((few, inner, 1, 1), (inner, few, 1, 1))
            excitation = [(draw.filters(*one), draw(one[0], scale=0.1)) for one in shapes]
        shapes = ((inner, channels, 1, 1), (inner, 1, window, window), (outputs, inner, 1, 1))
        convolutions = [(draw.filters(*one), draw(one[0], scale=0.1)) for one in shapes]
        blocks.append((convolutions, excitation, stride, inner, stride == 1 and channels == outputs))
        channels = outputs
    head = draw.matrix(channels, 16 if tiny else 1000)

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        x = layers.hard_swish(layers.conv(inputs["x"], *stem, 2))
        for (up, deep, down), excitation, stride, inner, residual in blocks:
            y = layers.hard_swish(layers.conv(x, *up))
            y = layers.hard_swish(layers.conv(y, *deep, stride, inner))
            if excitation:
                gate = layers.relu(layers.conv(layers.mean(y), *excitation[0]))
                y = layers.multiply(y, layers.hard_sigmoid(layers.conv(gate, *excitation[1])))
            y = layers.conv(y, *down)
            x = layers.add(y, x) if residual else y
        return layers.linear(layers.seen(layers.mean(x), batch, channels), head)

    return Model({"x": draw(batch, 3, size, size)}, forward)


def yolo(draw: Draw, tiny: bool) -> Model:
    """YOLOv8n: the backbone, the pyramid of features, and the predictions as they leave the head."""
    batch, size, base, outputs = (1, 64, 8, 20) if tiny else (8, 640, 16, 144)

    def convolution(inputs: int, outputs: int, window: int = 1) -> Any:
        return draw.filters(outputs, inputs, window, window), draw(outputs, scale=0.1)

    def stage(inputs: int, outputs: int, count: int) -> Any:
        """Bottlenecks whose results are all joined (C2f)."""
        half = outputs // 2
        inner = [(convolution(half, half, 3), convolution(half, half, 3)) for _ in range(count)]
        return convolution(inputs, outputs), inner, convolution((2 + count) * half, outputs)

    widths = [base << level for level in range(5)]  # at strides of 2, 4, 8, 16 and 32
    downs = [convolution(inputs, outputs, 3) for inputs, outputs in zip([3, *widths], widths, strict=False)]
    stages = [stage(width, width, count) for width, count in zip(widths[1:], (1, 2, 2, 1), strict=True)]
    pooled = convolution(widths[4], widths[3]), convolution(4 * widths[3], widths[4])
    w8, w16, w32 = widths[2:]
    up16, up8 = stage(w32 + w16, w16, 1), stage(w16 + w8, w8, 1)
    down16, down32 = convolution(w8, w8, 3), convolution(w16, w16, 3)
    join16, join32 = stage(w8 + w16, w16, 1), stage(w16 + w32, w32, 1)
    heads = [(convolution(width, w8, 3), convolution(w8, outputs)) for width in (w8, w16, w32)]

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        def conv(x: Any, weights: Any, stride: int = 1) -> Any:
            return layers.silu(layers.conv(x, *weights, stride))

        def joined(x: Any, weights: Any, shortcut: bool = False) -> Any:
            first, inner, last = weights
            parts = list(layers.halves(conv(x, first)))
            for one, two in inner:
                y = conv(conv(parts[-1], one), two)
                parts.append(layers.add(parts[-1], y) if shortcut else y)
            return conv(layers.concat(parts), last)

        x, levels = conv(inputs["x"], downs[0], 2), []
        for down, weights in zip(downs[1:], stages, strict=True):
            x = joined(conv(x, down, 2), weights, shortcut=True)
            levels.append(x)
        parts = [conv(levels[3], pooled[0])]
        for _ in range(3):
            parts.append(layers.max_pool(parts[-1], 5, 1))
        x32 = conv(layers.concat(parts), pooled[1])
        x16 = joined(layers.concat([layers.double(x32), levels[2]]), up16)
        x8 = joined(layers.concat([layers.double(x16), levels[1]]), up8)
        x16 = joined(layers.concat([conv(x8, down16, 2), x16]), join16)
        x32 = joined(layers.concat([conv(x16, down32, 2), x32]), join32)
        found = []
        for one, (first, last), stride in zip((x8, x16, x32), heads, (8, 16, 32), strict=True):
            cells = (size // stride) ** 2
            found.append(layers.seen(layers.conv(conv(one, first), *last), batch, outputs, cells))
        return layers.concat(found, 2)

    return Model({"x": draw(batch, 3, size, size)}, forward)


def unet(draw: Draw, tiny: bool) -> Model:
    """A block of a diffusion model's U-Net: two residual blocks and attention over pixels between them."""
    batch, channels, size, groups, heads = (1, 16, 8, 4, 2) if tiny else (2, 320, 64, 32, 8)
    convolutions = [
        (draw.filters(channels, channels, 3, 3, scale=0.5), draw(channels, scale=0.1)) for _ in range(4)
    ]
    norms = [(1 + draw(channels, scale=0.1), draw(channels, scale=0.1)) for _ in range(5)]
    matrices = [draw.matrix(channels, channels) for _ in range(4)]

    def residual(layers: Any, x: Any, place: int) -> Any:
        y = x
        for number in (place, place + 1):
            y = layers.silu(layers.group_norm(y, groups, *norms[number]))
            y = layers.conv(y, *convolutions[number])
        return layers.add(y, x)

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        x = residual(layers, inputs["x"], 0)
        tokens = layers.tokens(layers.group_norm(x, groups, *norms[4]))
        parts = [layers.linear(tokens, one) for one in matrices[:3]]
        attended = layers.linear(layers.attention(*parts, heads), matrices[3])
        return residual(layers, layers.add(layers.image(attended, size, size), x), 2)

    return Model({"x": draw(batch, channels, size, size)}, forward)


def encoder(draw: Draw, width: int, wide: int, heads: int, count: int, first: bool) -> Any:
    """Transformer layers; `first`: normalization comes before what it is for, as in Whisper, not after."""
    weights = [
        (
            [(draw.matrix(width, width), draw(width, scale=0.1)) for _ in range(4)],
            (draw.matrix(width, wide), draw(wide, scale=0.1)),
            (draw.matrix(wide, width), draw(width, scale=0.1)),
            [(1 + draw(width, scale=0.1), draw(width, scale=0.1)) for _ in range(2)],
        )
        for _ in range(count)
    ]

    def forward(layers: Any, x: Any) -> Any:
        for (query, key, value, out), up, down, norms in weights:

            def attended(y: Any, parts: Any = (query, key, value), out: Any = out) -> Any:
                found = layers.attention(*(layers.linear(y, *one) for one in parts), heads)
                return layers.linear(found, *out)

            def perceived(y: Any, up: Any = up, down: Any = down) -> Any:
                return layers.linear(layers.gelu(layers.linear(y, *up)), *down)

            for part, norm in zip((attended, perceived), norms, strict=True):
                if first:
                    x = layers.add(x, part(layers.norm(x, *norm)))
                else:
                    x = layers.norm(layers.add(x, part(x)), *norm)
        return x

    return forward


def bert(draw: Draw, tiny: bool) -> Model:
    """BERT-base: four of its twelve layers."""
    batch, length, width, heads, count = (1, 8, 16, 2, 1) if tiny else (8, 128, 768, 12, 4)
    body = encoder(draw, width, 4 * width, heads, count, False)
    return Model({"x": draw(batch, length, width)}, lambda layers, inputs: body(layers, inputs["x"]))


def whisper(draw: Draw, tiny: bool) -> Model:
    """Whisper base's encoder: two convolutions over time, and six layers."""
    bands, steps, width, heads, count = (8, 16, 16, 2, 1) if tiny else (80, 3000, 512, 8, 6)
    convolutions = [(draw.filters(width, inputs, 1, 3), draw(width, scale=0.1)) for inputs in (bands, width)]
    body = encoder(draw, width, 4 * width, heads, count, True)
    last = 1 + draw(width, scale=0.1), draw(width, scale=0.1)

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        x = layers.gelu(layers.conv(inputs["x"], *convolutions[0]))
        x = layers.gelu(layers.conv(x, *convolutions[1], 2))
        return layers.norm(body(layers, layers.tokens(x)), *last)

    return Model({"x": draw(1, bands, 1, steps)}, forward)


def llama(draw: Draw, tiny: bool, decode: bool) -> Model:
    """A layer of Llama 2 7B: over a prompt, or for one more token, with keys and values of earlier ones."""
    length, width, wide, heads = (8, 32, 48, 2) if tiny else (512, 4096, 11008, 32)
    query, key, value, out = (draw.matrix(width, width) for _ in range(4))
    gate, up, down = draw.matrix(width, wide), draw.matrix(width, wide), draw.matrix(wide, width)
    norms = [1 + draw(width, scale=0.1) for _ in range(2)]
    half = width // heads // 2
    places = np.arange(length)[-1:] if decode else np.arange(length)
    angles = places[:, None] * 10000.0 ** (-np.arange(half) / half)
    turns = np.cos(angles).astype(draw.dtype), np.sin(angles).astype(draw.dtype)
    inputs = {"x": draw(1, places.size, width)}
    if decode:
        inputs |= {"keys": draw(1, length, width), "values": draw(1, length, width)}

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        x = inputs["x"]
        y = layers.norm(x, norms[0])
        q = layers.rotate(layers.linear(y, query), heads, *turns)
        if decode:  # those of this token are in the caches, too, where the products would be written
            k, v = inputs["keys"], inputs["values"]
        else:
            k, v = layers.rotate(layers.linear(y, key), heads, *turns), layers.linear(y, value)
        attended = layers.attention(q, k, v, heads, causal=not decode)
        x = layers.add(x, layers.linear(attended, out))
        y = layers.norm(x, norms[1])
        gated = layers.multiply(layers.silu(layers.linear(y, gate)), layers.linear(y, up))
        return layers.add(x, layers.linear(gated, down))

    return Model(inputs, forward)


def tagger(draw: Draw, tiny: bool) -> Model:
    """A tagger: an embedding, an LSTM in both directions, and a linear layer."""
    words, width, hidden, tags, length, batch = (20, 8, 8, 4, 5, 2) if tiny else (20000, 256, 256, 32, 64, 32)
    table, scale = draw(words, width), hidden**-0.5
    shapes = ((4 * hidden, width), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)) * 2
    weights = [draw(*shape, scale=scale) for shape in shapes]
    head = draw.matrix(2 * hidden, tags), draw(tags)
    indices = np.random.default_rng(1).integers(0, words, (length, batch), np.int32)

    def forward(layers: Any, inputs: Mapping[str, Any]) -> Any:
        return layers.linear(layers.lstm(layers.embed(inputs["x"], table), weights), *head)

    return Model({"x": indices}, forward)


MODELS: Mapping[str, Callable[[Draw, bool], Model]] = {
    "ResNet-50": resnet,
    "MobileNetV3": mobilenet,
    "YOLOv8n": yolo,
    "U-Net block": unet,
    "BERT layers": bert,
    "Llama layer, prefill": lambda draw, tiny: llama(draw, tiny, False),
    "Llama layer, decode": lambda draw, tiny: llama(draw, tiny, True),
    "Whisper encoder": whisper,
    "LSTM tagger": tagger,
}


def model(name: str, dtype: str, tiny: bool) -> Model:
    made = MODELS[name](Draw(dtype), tiny)
    made.dtype = dtype
    made.inputs = {key: np.ascontiguousarray(one) for key, one in made.inputs.items()}
    return made
