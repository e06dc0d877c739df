"""Tensors that are written as parts of what an operator would copy them into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu.graphs.execute import compile_graph
from dmlops.gpu.graphs.program import program
from gpu_device import device
from test_gpu_chains import RANDOM, seen
from test_gpu_epilogues import Draw

__all__ = ["device"]


def unary(d: Draw, x: Any) -> Any:
    return d.builder.element_wise_tanh(x)


def branches(d: Draw) -> Any:
    """Results of two operators."""
    x = d(2, 8, 4, 8)
    return d.builder.join([unary(d, x), d.builder.element_wise_exp(x)], Axis=1)


def stage(d: Draw) -> Any:
    """Parts of a tensor, and what follows from one of them: the whole tensor is part of the result."""
    x = d.conv(d(2, 8, 8, 8), d(16, 8, 1, 1))
    half = TensorDesc(x.tensor.DataType, (2, 8, 8, 8))
    left, right = d.builder.split(x, OutputTensors=[half, half], Axis=1)
    y = d.conv(right, d(8, 8, 3, 3), d(1, 8, 1, 1))
    return d.builder.join([left, right, y, d.builder.element_wise_add(y, right)], Axis=1)


def nested(d: Draw) -> Any:
    """Along two dimensions."""
    x = d(2, 4, 4, 32)
    inner = d.builder.join([unary(d, x), d.builder.element_wise_exp(x)], Axis=1)
    return d.builder.join([inner, d.builder.element_wise_abs(d(2, 8, 4, 32))], Axis=2)


def rotated(d: Draw) -> Any:
    """Innermost, as chains of operators write it."""
    x, y = d(2, 3, 5, 32), d(2, 3, 5, 32)
    b = d.builder
    low = b.element_wise_subtract(b.element_wise_multiply(x, x), y)
    return b.join([low, b.element_wise_add(b.element_wise_multiply(x, y), y)], Axis=3)


def flattened(d: Draw) -> Any:
    """With other sizes than those in which it is written."""
    parts = [d.conv(d(2, 4, 4, 8), d(6, 4, 1, 1)), d.conv(d(2, 4, 8, 8), d(6, 4, 1, 1))]
    return d.builder.join([seen(one, (2, 6, 32 * place)) for place, one in enumerate(parts, 1)], Axis=2)


CASES = {one.__name__: one for one in (branches, stage, nested, rotated, flattened)}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_joined_is_written_in_place(device: Any, name: str, dtype: str) -> None:
    draw = Draw(dtype)
    joined = CASES[name](draw)
    graph = draw.builder.build(y=joined, z=draw.builder.element_wise_negate(joined))
    with gpu.compile(graph, device) as placed, compile_graph(graph, device, keep=True) as apart:
        steps = {placed.program.nodes[step.node].desc.OPERATOR for step in placed.program.steps}
        assert not {"JOIN", "SPLIT"} & steps
        found, right = placed(draw.arrays), apart(draw.arrays)
        assert placed.memory.peak <= 1.1 * placed.memory.lower_bound
    for key in right:
        np.testing.assert_array_equal(found[key], right[key])
    expected = reference.run(graph, draw.arrays)
    np.testing.assert_allclose(
        found["y"], expected["y"], *((1e-4, 1e-4) if dtype == "float32" else (1e-2, 3e-2))
    )


def joins(graph: Any, alignment: int = 16) -> int:
    """The number of tensors that are copied."""
    found = program(graph, alignment)
    return sum(found.nodes[step.node].desc.OPERATOR == "JOIN" for step in found.steps)


def test_what_others_see_is_copied() -> None:
    """Inputs and outputs of the graph, what a tensor holds besides, bytes, and parts that are not aligned."""
    d = Draw("float32")
    x = d(1, 4, 4, 8)
    y = unary(d, x)
    assert joins(d.builder.build(z=d.builder.join([x, y], Axis=1))) == 1
    assert joins(d.builder.build(y=y, z=d.builder.join([y, d.builder.element_wise_exp(x)], Axis=1))) == 1
    twice = d.builder.build(z=d.builder.join([y, y], Axis=1))
    assert joins(twice) == 1
    part, _ = d.builder.split(y, OutputTensors=[TensorDesc("FLOAT32", (1, 2, 4, 8))] * 2, Axis=1)
    assert joins(d.builder.build(z=d.builder.join([part, d.builder.element_wise_exp(x)], Axis=1))) == 1
    parts = [d.builder.element_wise_exp(x), y]
    both = d.builder.build(z=d.builder.join(parts, Axis=1))
    assert (joins(both), joins(both, 1024)) == (0, 1)  # the second begins at byte 512
    narrow = [d.builder.cast(one, OutputTensor=TensorDesc("UINT8", (1, 4, 4, 8))) for one in parts]
    assert joins(d.builder.build(z=d.builder.join(narrow, Axis=1))) == 2


def test_no_place_is_taken_early_if_that_takes_memory() -> None:
    """Between the parts comes what takes the most memory."""
    d = Draw("float32")
    small = unary(d, d(1, 1, 1, 64))
    wide = d.builder.element_wise_exp(seen(small, (1, 1, 64, 4096), (0, 0, 1, 0)))
    total = d.builder.reduce(wide, Function="SUM", Axes=[2, 3])
    large = d.builder.element_wise_exp(seen(total, (1, 1, 1, 4096), (0, 0, 0, 0)))
    graph = d.builder.build(z=d.builder.join([small, large], Axis=3))
    assert joins(graph) == 1 and program(graph, 16).arena.size < 4 * (64 * 4096 + 4096)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_parts_are_joined_without_a_difference(device: Any, data: Any) -> None:
    """Whichever of them are inputs, parts of others, or joined twice, and whoever else reads them."""
    builder = dmlops.graph.Builder()
    values = [builder.input(name, TensorDesc("FLOAT32", (2, 4, 4, 8))) for name in "xy"]
    for _ in range(data.draw(st.integers(2, 8))):
        one, other = (data.draw(st.sampled_from(values)) for _ in range(2))
        axis = data.draw(st.sampled_from([1, 2, 3]))
        match data.draw(st.integers(0, 4)):
            case 0:
                values.append(builder.element_wise_tanh(one))
            case 1 if one.tensor.Sizes == other.tensor.Sizes:
                values.append(builder.element_wise_multiply(one, other))
            case 2 if one.tensor.Sizes[axis] > 1:
                half = list(one.tensor.Sizes)
                half[axis] //= 2
                parts = [TensorDesc("FLOAT32", half)] * (one.tensor.Sizes[axis] // half[axis])
                values += builder.split(one, OutputTensors=parts, Axis=axis)
            case _:
                others = [
                    value
                    for value in values
                    if all(
                        a == b or d == axis
                        for d, (a, b) in enumerate(zip(value.tensor.Sizes, one.tensor.Sizes, strict=True))
                    )
                ]
                chosen = data.draw(st.lists(st.sampled_from(others), min_size=1, max_size=3))
                values.append(builder.join([one, *chosen], Axis=axis))
    values.append(builder.element_wise_negate(values[-1]))
    outputs = data.draw(st.sets(st.integers(2, len(values) - 1), min_size=1, max_size=3))
    graph = builder.build(**{f"o{at}": values[at] for at in sorted(outputs)})
    arrays = {
        name: RANDOM.standard_normal((2, 4, 4, 8)).astype("float32") for name in "xy" if name in graph.inputs
    }
    with gpu.compile(graph, device) as placed, compile_graph(graph, device, keep=True) as apart:
        found, right = placed(arrays), apart(arrays)
    for name in right:
        np.testing.assert_array_equal(found[name], right[name])
