"""Chains of element-wise operators as the epilogue of another: the same results, in one dispatch fewer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dmlops
from cooperative_matrix_apart import taken_apart
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu import compiler
from dmlops.gpu.direct3d import writable
from dmlops.gpu.graphs.execute import Compiled, compile_graph
from dmlops.gpu.graphs.program import Program, program
from dmlops.gpu.plans.capabilities import FASTER
from gpu_device import device
from test_gpu_chains import seen

__all__ = ["device"]

RANDOM = np.random.default_rng(5)


class Draw:
    """A graph, and arrays for its inputs."""

    def __init__(self, dtype: str) -> None:
        self.builder, self.dtype = dmlops.graph.Builder(), dtype
        self.arrays: dict[str, np.ndarray] = {}

    def __call__(self, *sizes: int) -> Any:
        name = f"x{len(self.arrays)}"
        self.arrays[name] = RANDOM.standard_normal(sizes).astype(self.dtype)
        return self.builder.input(name, TensorDesc.of(self.arrays[name]))

    def conv(self, x: Any, filters: Any, bias: Any = None, groups: int = 1, **options: Any) -> Any:
        around = [size // 2 for size in filters.tensor.Sizes[2:]]
        members = {"StartPadding": around, "EndPadding": around, "GroupCount": groups, **options}
        return self.builder.convolution(x, filters, bias, **members)


def residual(d: Draw) -> Any:
    """A sum with another tensor."""
    return d.builder.element_wise_add(d.builder.gemm(d(2, 1, 33, 24), d(2, 1, 24, 20)), d(2, 1, 33, 20))


def perceptron(d: Draw) -> Any:
    """Biases and scales along a dimension, a function, and a residual after that, with other sizes."""
    b, tokens = d.builder, (3, 11, 40)
    x = seen(b.gemm(d(1, 1, 33, 24), d(1, 1, 24, 40)), tokens)
    x = b.element_wise_tanh(b.element_wise_add(x, seen(d(40), tokens, (0, 0, 1))))
    x = b.element_wise_multiply(x, seen(d(40), tokens, (0, 0, 1)))
    return b.element_wise_add(seen(d(33, 40), tokens), x)


def turned(d: Draw) -> Any:
    """A factor with rows where the product has columns."""
    factor = seen(d(40, 16), (1, 1, 16, 40), (0, 0, 1, 16))
    return d.builder.element_wise_multiply(d.builder.gemm(d(1, 1, 16, 24), d(1, 1, 24, 40)), factor)


def twice(d: Draw) -> Any:
    """A result that several operators read."""
    x = d.builder.gemm(d(1, 1, 16, 16), d(1, 1, 16, 16))
    return d.builder.element_wise_multiply(d.builder.activation_sigmoid(x), x)


def thin(d: Draw) -> Any:
    """A matrix of one row."""
    return d.builder.element_wise_subtract(d.builder.gemm(d(1, 1, 1, 512), d(1, 1, 512, 64)), d(1, 1, 1, 64))


def deep(d: Draw) -> Any:
    """Few sums of many products, which are split."""
    return d.builder.element_wise_max(d.builder.gemm(d(1, 1, 32, 4096), d(1, 1, 4096, 32)), d(1, 1, 32, 32))


def block(d: Draw) -> Any:
    """A residual block: a convolution, a scale for each channel, a shortcut, and an activation."""
    x = d(2, 8, 9, 10)
    y = d.conv(x, d(8, 8, 3, 3), d(1, 8, 1, 1))
    y = d.builder.element_wise_multiply(y, seen(d(8), (2, 8, 9, 10), (0, 1, 0, 0)))
    return d.builder.activation_relu(d.builder.element_wise_add(y, x))


def channels_last(d: Draw) -> Any:
    """The output of a convolution is read with its channels innermost."""
    y = seen(d.conv(d(2, 8, 6, 10), d(16, 8, 1, 1)), (2, 6, 10, 16), (960, 10, 1, 60))
    return d.builder.element_wise_add(y, d(2, 6, 10, 16))


def depthwise(d: Draw) -> Any:
    """Each channel by itself."""
    return d.builder.element_wise_add(d.conv(d(1, 16, 12, 12), d(16, 1, 3, 3), groups=16), d(1, 16, 12, 12))


def transposed(d: Draw) -> Any:
    """A convolution in phases."""
    y = d.conv(d(1, 4, 7, 7), d(4, 4, 3, 3), Direction="BACKWARD", Strides=[2, 2])
    return d.builder.element_wise_multiply(y, d(*y.tensor.Sizes))


def normalized(d: Draw) -> Any:
    """Rows, with another scale and bias for each column, and a residual."""
    x, b = d(2, 3, 5, 40), d.builder
    y = b.mean_variance_normalization2(x, Axes=[3], UseMean=True, UseVariance=True, Epsilon=1e-5)
    y = b.element_wise_multiply(y, seen(d(40), (2, 3, 5, 40), (0, 0, 0, 1)))
    y = b.element_wise_add(y, seen(d(2, 40), (2, 3, 5, 40), (40, 0, 0, 1)))
    return b.element_wise_add(b.element_wise_erf(y), x)


def group_normalized(d: Draw) -> Any:
    """Large sets, and a result with other sizes."""
    x = d(2, 4, 3, 1000)
    y = d.builder.mean_variance_normalization2(x, Axes=[2, 3], UseMean=True, UseVariance=True, Epsilon=1e-5)
    return d.builder.activation_swish(seen(y, (2, 12, 20, 50)), SigmoidInputScale=1)


def groups_of_channels(d: Draw) -> Any:
    """Scales and biases of channels, several of which are normalized together."""
    x, b = d(2, 2, 1, 1024), d.builder
    y = b.mean_variance_normalization2(x, Axes=[2, 3], UseMean=True, UseVariance=True, Epsilon=1e-5)
    y = seen(y, (2, 8, 16, 16))
    y = b.element_wise_multiply(y, seen(d(8), (2, 8, 16, 16), (0, 1, 0, 0)))
    y = b.element_wise_add(y, seen(d(8), (2, 8, 16, 16), (0, 1, 0, 0)))
    return b.element_wise_add(b.element_wise_multiply(b.element_wise_tanh(y), y), d(2, 8, 16, 16))


def instances(d: Draw) -> Any:
    """Statistics that are given, a residual and an activation."""
    x, b = d(2, 8, 6, 7), d.builder
    mean, variance, scale, bias = (d(1, 8, 1, 1) for _ in range(4))
    d.arrays["x2"] = abs(d.arrays["x2"])
    y = b.batch_normalization(x, mean, variance, scale, bias, Spatial=True, Epsilon=1e-5)
    return b.activation_relu(b.element_wise_add(y, d(2, 8, 6, 7)))


def softmax(d: Draw) -> Any:
    """Each row times another tensor."""
    y = d.builder.activation_softmax1(d(3, 7, 33), Axes=[2])
    return d.builder.element_wise_multiply(y, d(3, 7, 33))


def softmax_of_channels(d: Draw) -> Any:
    """Rows side by side, each times its own factor."""
    y = d.builder.activation_softmax1(d(2, 8, 16), Axes=[1])
    y = d.builder.element_wise_multiply(y, seen(d(2, 16), (2, 8, 16), (16, 0, 1)))
    return d.builder.element_wise_erf(y)


def means(d: Draw) -> Any:
    """One element of each row, and factors for some."""
    y = d.builder.reduce(d(2, 6, 5, 64), Function="AVERAGE", Axes=[3])
    y = d.builder.element_wise_multiply(y, seen(d(6), (2, 6, 5, 1), (0, 1, 0, 0)))
    return d.builder.element_wise_erf(d.builder.element_wise_sqrt(d.builder.element_wise_abs(y)))


def deep_sums(d: Draw) -> Any:
    """Rows that are summed in parts."""
    y = d.builder.reduce(d(1, 1, 2, 40000), Function="SUM_SQUARE", Axes=[3])
    return d.builder.element_wise_subtract(y, d(1, 1, 2, 1))


CASES = {
    one.__name__: one
    for one in (
        residual, perceptron, turned, twice, thin, deep, block, channels_last, depthwise, transposed,
        normalized, group_normalized, groups_of_channels, instances, softmax,
        softmax_of_channels, means, deep_sums,
    )
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_an_epilogue_computes_what_its_operators_do(device: Any, name: str, dtype: str) -> None:
    draw = Draw(dtype)
    graph = draw.builder.build(z=CASES[name](draw))
    with gpu.compile(graph, device) as fused, compile_graph(graph, device, keep=True) as apart:
        assert len(fused.program.nodes) == 1 < len(apart.program.nodes)
        found = fused(draw.arrays)["z"]
        np.testing.assert_array_equal(found, apart(draw.arrays)["z"])
    right = reference.run(graph, draw.arrays)["z"]
    np.testing.assert_allclose(found, right, *((1e-4, 1e-4) if dtype == "float32" else (1e-2, 3e-2)))


def apart_from_matrices(found: Program) -> Program:
    """The program with ordinary arithmetic in place of cooperative matrices."""
    shaders = [
        one._replace(text=taken_apart(one.source)) if ("COOPERATIVE_MATRIX", 1) in one.defines else one
        for one in found.shaders
    ]
    return replace(found, shaders=tuple(shaders))


def windowed(d: Draw) -> Any:
    """A convolution by cooperative matrices, with its products in parts."""
    return d.builder.element_wise_add(d.conv(d(1, 64, 24, 24), d(64, 64, 3, 3)), d(1, 64, 24, 24))


@pytest.mark.parametrize("make", [residual, windowed])
def test_cooperative_matrices_have_the_same_epilogues(device: Any, make: Any) -> None:
    draw = Draw("float16")
    graph = draw.builder.build(z=make(draw))
    fused, apart = (program(graph, device.alignment, FASTER, keep=keep) for keep in (False, True))
    assert len(fused.nodes) == 1 and any(("COOPERATIVE_MATRIX", 1) in one.defines for one in fused.shaders)
    for one in fused.shaders:
        assert compiler.compile(one.source, dict(one.defines))
    with (
        Compiled(apart_from_matrices(fused), device) as first,
        Compiled(apart_from_matrices(apart), device) as second,
    ):
        np.testing.assert_array_equal(first(draw.arrays)["z"], second(draw.arrays)["z"])


@pytest.mark.parametrize("name", CASES)
def test_epilogues_compile_for_direct3d(name: str) -> None:
    draw = Draw("float16")
    for one in program(draw.builder.build(z=CASES[name](draw)), 256).shaders:
        assert compiler.compile(writable(one.source), dict(one.defines), "dxil")


def operators(graph: Any) -> list[int]:
    """The number of operators that each dispatch runs."""
    return [len(one.operators) for one in program(graph, 16).nodes]


def test_a_product_is_stored_where_its_epilogue_cannot_find_elements() -> None:
    """Rows of the product are two dimensions of the scales, and these have no stride for both."""
    draw = Draw("float32")
    x = seen(draw.builder.gemm(draw(1, 1, 33, 24), draw(1, 1, 24, 40)), (3, 11, 40))
    scales = seen(draw(3), (3, 11, 40), (1, 0, 0))
    assert operators(draw.builder.build(z=draw.builder.element_wise_multiply(x, scales))) == [1, 1]


def test_a_product_that_others_read_is_stored() -> None:
    draw = Draw("float32")
    x = draw.builder.gemm(draw(1, 1, 16, 16), draw(1, 1, 16, 16))
    y = draw.builder.element_wise_add(x, draw(1, 1, 16, 16))
    assert operators(draw.builder.build(y=y)) == [2]
    assert operators(draw.builder.build(x=x, y=y)) == [1, 1]


def test_an_epilogue_makes_no_product_wait_for_another() -> None:
    draw = Draw("float32")
    x = draw(1, 1, 16, 16)
    y, z = (draw.builder.gemm(x, draw(1, 1, 16, 16)) for _ in range(2))
    assert operators(draw.builder.build(y=draw.builder.element_wise_multiply(y, z))) == [1, 1, 1]
    after = draw.builder.gemm(y, draw(1, 1, 16, 16))
    assert operators(draw.builder.build(y=draw.builder.element_wise_multiply(y, after))) == [1, 2]


def test_a_residual_is_replaced_by_the_sum() -> None:
    """The sum takes over the memory of what is added, if nothing else reads that."""
    draw = Draw("float32")
    x = draw.builder.element_wise_negate(draw(1, 1, 64, 64))
    for _ in range(3):
        inner = draw.builder.gemm(x, draw(1, 1, 64, 4))
        x = draw.builder.element_wise_add(x, draw.builder.gemm(inner, draw(1, 1, 4, 64)))
    found = program(draw.builder.build(y=x), 16)
    sums = {one.tensors["OutputTensor"] for one in found.nodes if len(one.operators) == 2}
    assert len(found.nodes) == 7 and len(sums) == 1
