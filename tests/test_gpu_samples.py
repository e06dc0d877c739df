"""Graphs as the samples of DirectML build them, with DirectMLX or PyDML, in small: on a GPU and by the
reference.

Weights are inputs of the graph there, owned by DirectML. Tensors are in either layout.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlops import ActivationLeakyRelu, ActivationRelu, TensorDesc, gpu, reference
from dmlops.gpu.graphs.checking import difference
from gpu_device import device

__all__ = ["device"]

RELU = ActivationRelu()
LEAKY = ActivationLeakyRelu(Alpha=0.1)


class Sample:
    """A graph, and arrays for its inputs. `last`: channels come last in memory."""

    def __init__(self, last: bool) -> None:
        self.b: Any = dmlops.graph.Builder()
        self.last, self.random = last, np.random.default_rng(3)
        self.arrays: dict[str, np.ndarray] = {}

    def tensor(self, *sizes: int) -> TensorDesc:
        _, c, h, w = sizes
        return TensorDesc("FLOAT32", sizes, Strides=(c * h * w, 1, w * c, c) if self.last else None)

    def input(self, *sizes: int, scale: float = 1, owned: bool = False, positive: bool = False) -> Any:
        name = f"x{len(self.arrays)}"
        array = self.random.standard_normal(sizes).astype(np.float32) * np.float32(scale)
        self.arrays[name] = abs(array) + np.float32(0.5) if positive else array
        tensor = self.tensor(*sizes)
        return self.b.input(name, replace(tensor, Flags="OWNED_BY_DML") if owned else tensor)

    def conv(
        self, x: Any, filters: int, window: int = 1, stride: int = 1, groups: int = 1, **members: Any
    ) -> Any:
        channels, around = x.tensor.Sizes[1], [window // 2] * 2
        sizes = (filters, channels // groups, window, window)
        height, width = ((size + 2 * (window // 2) - window) // stride + 1 for size in x.tensor.Sizes[2:])
        usual = {"Strides": [stride] * 2, "StartPadding": around, "EndPadding": around, "GroupCount": groups}
        usual["OutputTensor"] = self.tensor(x.tensor.Sizes[0], filters, height, width)
        weights = self.input(*sizes, scale=prod(sizes[1:]) ** -0.5, owned=True)
        return self.b.convolution(
            x, weights, self.input(1, filters, 1, 1, owned=True), **{**usual, **members}
        )

    def normalized(self, x: Any, activation: Any = None) -> Any:
        """Over an image."""
        scale, bias = (self.input(1, x.tensor.Sizes[1], 1, 1) for _ in range(2))
        return self.b.mean_variance_normalization1(
            x, scale, bias, Axes=[2, 3], NormalizeVariance=True, Epsilon=1e-5, FusedActivation=activation
        )

    def batch_normalized(self, x: Any, activation: Any = None) -> Any:
        """By means and variances that are given."""
        sizes = (1, x.tensor.Sizes[1], 1, 1)
        mean, variance, scale, bias = (self.input(*sizes, positive=at == 1) for at in range(4))
        return self.b.batch_normalization(
            x, mean, variance, scale, bias, Spatial=True, Epsilon=1e-5, FusedActivation=activation
        )

    def pooled(self, x: Any, window: int, stride: int, around: int = 0) -> Any:
        sizes = [[size] * 2 for size in (stride, window, around)]
        return self.b.max_pooling(
            x, Strides=sizes[0], WindowSize=sizes[1], StartPadding=sizes[2], EndPadding=sizes[2]
        )

    def mish(self, x: Any) -> Any:
        return self.b.element_wise_multiply(
            x, self.b.activation_tanh(self.b.activation_softplus(x, Steepness=1))
        )

    def seen(self, x: Any, *sizes: int, strides: tuple[int, ...] | None = None) -> Any:
        return x.seen_as(TensorDesc("FLOAT32", sizes, Strides=strides))


def style_transfer(s: Sample) -> Any:
    """Margins by reflection, normalizations with activations, cropped shortcuts, transposed convolutions."""
    x = s.b.value_scale_2d(s.input(1, 3, 12, 12), Scale=1, Bias=[-1, 0.5, 2])
    around = [0, 0, 4, 4]
    x = s.b.padding(x, PaddingMode="REFLECTION", PaddingValue=0, StartPadding=around, EndPadding=around)
    x = s.normalized(s.conv(x, 8, 3), RELU)
    inner = s.conv(x, 8, 3, StartPadding=[0, 0], EndPadding=[0, 0], OutputTensor=s.tensor(1, 8, 18, 18))
    cropped = s.b.slice(x, Offsets=[0, 0, 1, 1], Sizes=[1, 8, 18, 18], Strides=[1, 1, 1, 1])
    x = s.b.element_wise_add1(s.normalized(inner), cropped)
    filters = s.input(8, 4, 3, 3, scale=0.1, owned=True)
    border = {"StartPadding": [1, 1], "EndPadding": [1, 1]}
    x = s.b.convolution(x, filters, Direction="BACKWARD", Strides=[2, 2], **border)
    return s.b.activation_linear(s.normalized(x, RELU), Alpha=150, Beta=0.5)


def squeezed(s: Sample) -> Any:
    """Two convolutions of one tensor, joined; a softmax of the means."""
    x = s.pooled(s.conv(s.input(1, 3, 17, 17), 16, 3, 2, FusedActivation=RELU), 3, 2)
    for channels in (8, 16):
        y = s.conv(x, channels, FusedActivation=RELU)
        parts = [s.conv(y, 2 * channels, window, FusedActivation=RELU) for window in (1, 3)]
        x = s.b.join(parts, Axis=1)
    x = s.conv(x, 10, FusedActivation=RELU)
    size = x.tensor.Sizes[2]
    x = s.b.average_pooling(x, Strides=[size] * 2, WindowSize=[size] * 2)
    return s.b.activation_softmax(s.seen(s.b.activation_identity(x), 1, 1, 1, 10))


def inverted(s: Sample) -> Any:
    """Wide layers of one filter per channel between narrow ones, each normalized."""
    x = s.batch_normalized(s.conv(s.input(1, 3, 16, 16), 8, 3, 2), RELU)
    for stride in (1, 2, 1):
        wide = s.batch_normalized(s.conv(x, 24), RELU)
        wide = s.batch_normalized(s.conv(wide, 24, 3, stride, groups=24), RELU)
        y = s.batch_normalized(s.conv(wide, 8))
        x = s.b.element_wise_add1(x, y) if stride == 1 else y
    return x


def digits(s: Sample) -> Any:
    """Biases that are repeated by strides of 0, and a matrix product of what is reshaped."""
    x = s.conv(s.input(1, 1, 14, 14), 8, 5)
    bias = s.seen(s.input(1, 8, 1, 1), *x.tensor.Sizes, strides=(0, 1, 0, 0))
    x = s.pooled(s.b.activation_relu(s.b.element_wise_add(x, bias)), 2, 2)
    x = s.seen(s.b.activation_identity(x, OutputTensor=TensorDesc("FLOAT32", x.tensor.Sizes)), 1, 1, 1, 392)
    matrix = s.seen(s.input(1, 1, 392, 10, scale=0.05), 1, 1, 392, 10)
    return s.b.element_wise_add(s.b.gemm(x, matrix), s.seen(s.input(1, 1, 1, 10), 1, 1, 1, 10))


def enlarged(s: Sample) -> Any:
    """Super resolution: an enlarged image, to which convolutions add details."""
    x = s.input(1, 3, 10, 16)
    scale = dmlops.Size2d(Width=2, Height=2)
    y = s.conv(x, 8, 5, FusedActivation=RELU)
    y = s.conv(s.conv(y, 8, 3, FusedActivation=RELU), 8, 3, FusedActivation=RELU)
    large = s.tensor(1, 8, 20, 32)
    y = s.b.upsample_2d(y, ScaleSize=scale, InterpolationMode="NEAREST_NEIGHBOR", OutputTensor=large)
    image = s.tensor(1, 3, 20, 32)
    x = s.b.upsample_2d(x, ScaleSize=scale, InterpolationMode="NEAREST_NEIGHBOR", OutputTensor=image)
    return s.b.element_wise_add(x, s.conv(y, 3, 3))


def detection(s: Sample) -> Any:
    """Parts of a stage that are joined, pools of three sizes, an enlarged level, and boxes with scores."""
    x = s.mish(s.conv(s.input(1, 3, 16, 16), 16, 3, 2))
    left = s.mish(s.conv(x, 8))
    right = s.mish(s.conv(x, 8))
    right = s.b.element_wise_add(right, s.mish(s.conv(s.mish(s.conv(right, 8)), 8, 3)))
    level = s.mish(s.conv(s.b.join([right, left], Axis=1), 16))
    low = s.conv(level, 16, 3, 2, FusedActivation=LEAKY)
    low = s.b.join([*(s.pooled(low, window, 1, window // 2) for window in (5, 3)), low], Axis=1)
    low = s.conv(low, 8, FusedActivation=LEAKY)
    double = s.b.upsample_2d(
        low, ScaleSize=dmlops.Size2d(Width=2, Height=2), InterpolationMode="NEAREST_NEIGHBOR"
    )
    found = s.conv(s.b.join([s.conv(level, 8, FusedActivation=LEAKY), double], Axis=1), 27)
    return decoded(s, found)


def decoded(s: Sample, found: Any) -> Any:
    """Boxes of three anchors, each with its best score and the bits of the index of its class."""
    _, _, height, width = found.tensor.Sizes
    found = s.b.element_wise_identity(found, OutputTensor=TensorDesc("FLOAT32", found.tensor.Sizes))
    found = s.seen(found, 3, 9, height, width)
    parts = [TensorDesc("FLOAT32", (3, count, height, width)) for count in (2, 2, 1, 4)]
    centers, sizes, confidence, scores = s.b.split(found, OutputTensors=parts, Axis=1)
    scores = s.b.activation_sigmoid(scores)
    one = TensorDesc("UINT32", (3, 1, height, width))
    parts = [
        s.b.activation_sigmoid(centers),
        s.b.element_wise_exp(sizes),
        s.b.activation_sigmoid(confidence),
        s.b.reduce(scores, Function="MAX", Axes=[1]),
        s.seen(s.b.reduce(scores, Function="ARGMAX", Axes=[1], OutputTensor=one), 3, 1, height, width),
    ]
    joined, (n, c, h, w) = s.b.join(parts, Axis=1), (3, 7, height, width)
    turned = s.seen(joined, n, w, h, c, strides=(c * h * w, 1, w, h * w))
    return s.b.element_wise_identity(turned)


SAMPLES: list[Callable[[Sample], Any]] = [style_transfer, squeezed, inverted, digits, enlarged, detection]


@pytest.mark.parametrize("last", [False, True], ids=["planes", "channels last"])
@pytest.mark.parametrize("make", SAMPLES, ids=lambda make: make.__name__)
def test_a_sample_computes_what_the_reference_does(device: Any, make: Any, last: bool) -> None:
    sample = Sample(last)
    built = sample.b.build(y=make(sample))
    graph = dmlops.Graph.from_json(json.loads(json.dumps(built.to_json())))
    right = reference.run(graph, sample.arrays)["y"]
    with gpu.compile(graph, device) as compiled:
        found = compiled(sample.arrays)["y"]
        assert compiled.memory.peak <= 1.1 * compiled.memory.lower_bound
    assert np.ptp(right) > 0
    assert difference("y", found, right) is None
