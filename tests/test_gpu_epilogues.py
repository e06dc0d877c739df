"""Chains of element-wise operators as the epilogue of another: the same results, in one dispatch fewer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
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
        self.inputs: dict[str, Any] = {}

    def __call__(self, *sizes: int) -> Any:
        name = f"x{len(self.arrays)}"
        self.arrays[name] = RANDOM.standard_normal(sizes).astype(self.dtype)
        self.inputs[name] = self.builder.input(name, TensorDesc.of(self.arrays[name]))
        return self.inputs[name]

    def conv(self, x: Any, filters: Any, bias: Any = None, groups: int = 1, **options: Any) -> Any:
        around = [size // 2 for size in filters.tensor.Sizes[2:]]
        members = {"StartPadding": around, "EndPadding": around, "GroupCount": groups, **options}
        return self.builder.convolution(x, filters, bias, **members)

    def gemm(self, rows: int, depth: int, columns: int, batch: int = 1) -> Any:
        return self.builder.gemm(self(batch, 1, rows, depth), self(batch, 1, depth, columns))

    def normalized(self, *sizes: int, axes: list[int]) -> Any:
        members = {"UseMean": True, "UseVariance": True, "Epsilon": 1e-5}
        return self.builder.mean_variance_normalization2(self(*sizes), Axes=axes, **members)

    def batch_normalized(self, *sizes: int) -> Any:
        """With statistics that are given."""
        x, (mean, variance, *affine) = self(*sizes), (self(1, sizes[1], 1, 1) for _ in range(4))
        self.arrays["x2"] = abs(self.arrays["x2"])
        return self.builder.batch_normalization(x, mean, variance, *affine, Spatial=True, Epsilon=1e-5)

    def like(self, tensor: TensorDesc, places: str = "") -> Any:
        """An operand with a tensor's sizes. A digit for each dimension says which are innermost in memory, 1
        before 2; along those with 0 it has stride 0."""
        order = sorted((d for d, place in enumerate(places) if place != "0"), key=places.__getitem__)
        strides, step = [0] * len(places), 1
        for d in order:
            strides[d], step = step, step * tensor.Sizes[d]
        own = self(*([tensor.Sizes[d] for d in reversed(order)] or tensor.Sizes))
        return seen(own, tensor.Sizes, tuple(strides)) if places else own

    def epilogue(self, x: Any, steps: str) -> Any:
        """Applies operators in sequence: `multiply 0100` to an operand that has only the second dimension,
        `add x0` to an input of the graph, `as 2 8` after looking at other sizes. `gate` multiplies with a
        function of the element. Operands are on either side."""
        for number, (verb, *given) in enumerate(step.split() for step in steps.split(", ")):
            if verb == "as":
                x = seen(x, tuple(map(int, given)))
            elif verb == "gate":
                x = self.builder.element_wise_multiply(FUNCTIONS[given[0]](self.builder)(x), x)
            elif verb in FUNCTIONS:
                x = FUNCTIONS[verb](self.builder)(x)
            else:
                other = self.inputs.get("".join(given)) or self.like(x.tensor, *given)
                pair = (other, x) if number % 2 else (x, other)
                x = getattr(self.builder, f"element_wise_{verb}")(*pair)
        return x


FUNCTIONS = {
    "tanh": lambda b: b.element_wise_tanh, "erf": lambda b: b.element_wise_erf,
    "abs": lambda b: b.element_wise_abs, "sqrt": lambda b: b.element_wise_sqrt,
    "relu": lambda b: b.activation_relu, "sigmoid": lambda b: b.activation_sigmoid,
    "swish": lambda b: partial(b.activation_swish, SigmoidInputScale=1),
}  # fmt: skip
CASES: dict[str, tuple[Callable[[Draw], Any], str]] = {
    "residual": (lambda d: d.gemm(33, 24, 20, batch=2), "add"),
    "perceptron": (lambda d: d.gemm(33, 24, 40), "as 3 11 40, add 001, tanh, multiply 001, add"),
    "factor with columns as rows": (lambda d: d.gemm(16, 24, 40), "multiply 0012"),
    "read twice": (lambda d: d.gemm(16, 16, 16), "gate sigmoid"),
    "one row": (lambda d: d.gemm(1, 512, 64), "subtract"),
    "few and deep": (lambda d: d.gemm(32, 4096, 32), "max"),
    "residual block": (
        lambda d: d.conv(d(2, 8, 9, 10), d(8, 8, 3, 3), d(1, 8, 1, 1)), "multiply 0100, add x0, relu"
    ),
    "channels last": (
        lambda d: seen(d.conv(d(2, 8, 6, 10), d(16, 8, 1, 1)), (2, 6, 10, 16), (960, 10, 1, 60)), "add"
    ),
    "depthwise": (lambda d: d.conv(d(1, 16, 12, 12), d(16, 1, 3, 3), groups=16), "add"),
    "phases": (
        lambda d: d.conv(d(1, 4, 7, 7), d(4, 4, 3, 3), Direction="BACKWARD", Strides=[2, 2]), "multiply"
    ),
    "rows": (lambda d: d.normalized(2, 3, 5, 40, axes=[3]), "multiply 0001, add 2001, erf, add x0"),
    "large sets": (lambda d: d.normalized(2, 4, 3, 1000, axes=[2, 3]), "as 2 12 20 50, swish"),
    "groups of channels": (
        lambda d: d.normalized(2, 2, 1, 1024, axes=[2, 3]),
        "as 2 8 16 16, multiply 0100, add 0100, gate tanh, add",
    ),
    "instances": (lambda d: d.batch_normalized(2, 8, 6, 7), "add, relu"),
    "softmax": (lambda d: d.builder.activation_softmax1(d(3, 7, 33), Axes=[2]), "multiply"),
    "softmax of channels": (
        lambda d: d.builder.activation_softmax1(d(2, 8, 16), Axes=[1]), "multiply 201, erf"
    ),
    "means": (
        lambda d: d.builder.reduce(d(2, 6, 5, 64), Function="AVERAGE", Axes=[3]),
        "multiply 0100, abs, sqrt, erf",
    ),
    "sums in parts": (
        lambda d: d.builder.reduce(d(1, 1, 2, 40000), Function="SUM_SQUARE", Axes=[3]), "subtract"
    ),
}  # fmt: skip
WINDOWED = (lambda d: d.conv(d(1, 64, 24, 24), d(64, 64, 3, 3)), "add")  # with its products in parts


def drawn(case: tuple[Callable[[Draw], Any], str], dtype: str) -> tuple[Any, dict[str, np.ndarray]]:
    """A graph of what comes first and its epilogue, and arrays for its inputs."""
    (make, steps), draw = case, Draw(dtype)
    return draw.builder.build(z=draw.epilogue(make(draw), steps)), draw.arrays


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_an_epilogue_computes_what_its_operators_do(device: Any, name: str, dtype: str) -> None:
    graph, arrays = drawn(CASES[name], dtype)
    with gpu.compile(graph, device) as fused, compile_graph(graph, device, keep=True) as apart:
        assert len(fused.program.nodes) == 1 < len(apart.program.nodes)
        found = fused(arrays)["z"]
        np.testing.assert_array_equal(found, apart(arrays)["z"])
    right = reference.run(graph, arrays)["z"]
    np.testing.assert_allclose(found, right, *((1e-4, 1e-4) if dtype == "float32" else (1e-2, 3e-2)))


def apart_from_matrices(found: Program) -> Program:
    """The program with ordinary arithmetic in place of cooperative matrices."""
    shaders = [
        one._replace(text=taken_apart(one.source)) if ("COOPERATIVE_MATRIX", 1) in one.defines else one
        for one in found.shaders
    ]
    return replace(found, shaders=tuple(shaders))


@pytest.mark.parametrize("case", [CASES["residual"], WINDOWED], ids=["product", "window"])
def test_cooperative_matrices_have_the_same_epilogues(device: Any, case: Any) -> None:
    graph, arrays = drawn(case, "float16")
    fused, apart = (program(graph, device.alignment, FASTER, keep=keep) for keep in (False, True))
    assert len(fused.nodes) == 1 and any(("COOPERATIVE_MATRIX", 1) in one.defines for one in fused.shaders)
    for one in fused.shaders:
        assert compiler.compile(one.source, dict(one.defines))
    with (
        Compiled(apart_from_matrices(fused), device) as first,
        Compiled(apart_from_matrices(apart), device) as second,
    ):
        np.testing.assert_array_equal(first(arrays)["z"], second(arrays)["z"])


@pytest.mark.parametrize("name", CASES)
def test_epilogues_compile_for_direct3d(name: str) -> None:
    for one in program(drawn(CASES[name], "float16")[0], 256).shaders:
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
