"""Products of one tensor with several constants become one product, and their readers see its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlops import gpu, reference
from dmlops.gpu.graphs.program import program
from gpu_device import device
from test_gpu_chains import RANDOM, seen
from test_gpu_epilogues import Draw

__all__ = ["device"]


def constant(d: Draw, *sizes: int) -> Any:
    return d.builder.constant(RANDOM.standard_normal(sizes).astype(d.dtype))


def product(d: Draw, x: Any, width: int, bias: bool = False, turned: bool = False, **members: Any) -> Any:
    rows, depth = x.tensor.Sizes[2:]
    weights = constant(d, 1, 1, *((width, depth) if turned else (depth, width)))
    c = seen(constant(d, width), (1, 1, rows, width), (0, 0, 0, 1)) if bias else None
    return d.builder.gemm(x, weights, c, TransB="TRANSPOSE" if turned else "NONE", **members)


def attention(d: Draw) -> Any:
    """Queries, keys and values with biases."""
    x, shape = d(1, 1, 40, 24), (1, 40, 40)
    q, k, v = (seen(product(d, x, 40, bias=True), shape) for _ in range(3))
    return d.builder.multihead_attention(
        q, k, v, Scale=0.25, MaskFilterValue=-1e4, HeadCount=2, MaskType="NONE", OutputTensor=q.tensor
    )


def widths(d: Draw) -> Any:
    """Of several widths, with weights that are transposed, one of which several operators read."""
    x = d(1, 1, 40, 24)
    parts = [product(d, x, width, turned=True, Alpha=0.5) for width in (24, 16, 8)]
    sums = [d.builder.reduce(one, Function="SUM", Axes=[3]) for one in (*parts, parts[0])]
    return d.builder.join([*sums, d.builder.reduce(parts[0], Function="MAX", Axes=[3])], Axis=3)


def views(d: Draw) -> Any:
    """Parts of results, one of them with other sizes."""
    x = d(1, 1, 40, 24)
    first, second = (product(d, x, 16) for _ in range(2))
    half = d.builder.slice(first, Offsets=[0, 0, 0, 8], Sizes=[1, 1, 40, 8], Strides=[1, 1, 1, 1])
    rows = seen(second, (1, 40, 1, 16))
    sums = [
        d.builder.reduce(half, Function="SUM", Axes=[3]),
        d.builder.reduce(rows, Function="MAX", Axes=[3]),
    ]
    return d.builder.join([sums[0], seen(sums[1], (1, 1, 40, 1))], Axis=3)


CASES = {one.__name__: one for one in (attention, widths, views)}


def products(graph: Any) -> int:
    return sum("GEMM" in one.operators for one in program(graph, 16).nodes)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_one_product_computes_what_several_do(device: Any, name: str, dtype: str) -> None:
    draw = Draw(dtype)
    graph = draw.builder.build(z=CASES[name](draw))
    assert products(graph) == 1
    with gpu.compile(graph, device) as merged:
        found = merged(draw.arrays)["z"]
    right = reference.run(graph, draw.arrays)["z"]
    tolerance = 1e-4 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(found, right, tolerance, tolerance * np.abs(right).max())


def summed(d: Draw, *parts: Any) -> Any:
    sums = [d.builder.reduce(one, Function="SUM", Axes=[3]) for one in parts]
    return d.builder.build(z=d.builder.join(sums, Axis=3))


def test_products_that_differ_stay() -> None:
    """In their factors, in what repeats in a constant, in who reads them, and in where their parts begin."""
    d = Draw("float32")
    x = d(1, 1, 40, 24)
    assert products(summed(d, product(d, x, 16), product(d, x, 16))) == 1
    assert products(summed(d, product(d, x, 16), product(d, d(1, 1, 40, 24), 16))) == 2
    assert products(summed(d, product(d, x, 16), product(d, x, 16, Alpha=2))) == 2
    assert products(summed(d, product(d, x, 16), product(d, x, 16, turned=True))) == 2
    assert products(summed(d, product(d, x, 16), d.builder.gemm(x, d(1, 1, 24, 16)))) == 2
    whole = d.builder.gemm(x, constant(d, 1, 1, 24, 16), constant(d, 1, 1, 40, 16))
    assert products(summed(d, product(d, x, 16, bias=True), whole)) == 2
    assert products(summed(d, product(d, x, 15), product(d, x, 17))) == 2
    y = product(d, x, 16)
    total = d.builder.reduce(product(d, x, 16), Function="SUM", Axes=[3])
    assert products(d.builder.build(y=y, z=total)) == 2
    assert products(d.builder.build(y=d.builder.element_wise_exp(product(d, x, 16)), z=total)) == 2
