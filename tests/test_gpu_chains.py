"""Chains of element-wise operators: one dispatch computes what the operators do one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.data import operator_data
from dmlops.gpu import compiler
from dmlops.gpu.graphs.execute import compile_graph
from dmlops.gpu.graphs.program import program
from dmlops.gpu.plans import map as map_planner
from gpu_device import device

__all__ = ["device"]

RANDOM = np.random.default_rng(11)
SIZES = (2, 3, 4, 8)


def seen(value: Any, sizes: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Any:
    return value.seen_as(TensorDesc(value.tensor.DataType, sizes, Strides=strides))


def gate(b: Any, x: Any, y: Any) -> Any:
    return b.element_wise_multiply(b.activation_swish(x, SigmoidInputScale=1), y)


def rotation(b: Any, x: Any, y: Any) -> Any:
    """Angles that repeat along two dimensions."""
    angles = b.constant(RANDOM.standard_normal((3, 8)).astype(x.tensor.DataType.numpy))
    angle = angles.seen_as(TensorDesc(x.tensor.DataType, SIZES, Strides=(0, 8, 0, 1)))
    turned = b.element_wise_multiply(x, b.element_wise_cos(angle))
    return b.element_wise_subtract(turned, b.element_wise_multiply(y, b.element_wise_sin(angle)))


def selection(b: Any, x: Any, y: Any) -> Any:
    """A condition of one byte, and elements that are chosen as bits."""
    greater = b.element_wise_logical_greater_than(x, y, OutputTensor=TensorDesc("UINT8", SIZES))
    return b.activation_relu(b.element_wise_if(greater, b.element_wise_negate(x), y))


def conversion(b: Any, x: Any, y: Any) -> Any:
    """Through integers of 8 bits, which wrap around, and back."""
    scale = {"ScaleBias": dmlops.ScaleBias(Scale=300, Bias=-7)}
    wide = b.cast(b.element_wise_floor(x, **scale), OutputTensor=TensorDesc("INT32", SIZES))
    bytes_ = b.cast(wide, OutputTensor=TensorDesc("INT8", SIZES))
    return b.element_wise_add(b.cast(bytes_, OutputTensor=y.tensor), y)


def reshape(b: Any, x: Any, y: Any) -> Any:
    """The result is read with other sizes, as the same elements."""
    flat = seen(b.element_wise_exp(x), (6, 32))
    clipped = b.element_wise_clip(flat, Min=0.5, Max=2, ScaleBias=dmlops.ScaleBias(Scale=0.5, Bias=0.25))
    return seen(b.element_wise_add(clipped, seen(y, (6, 32), (32, 1))), SIZES)


def diamond(b: Any, x: Any, y: Any) -> Any:
    """Results that several operators read."""
    t = b.element_wise_tanh(x)
    u = b.element_wise_divide(t, b.element_wise_add(b.element_wise_multiply(t, t), b.element_wise_exp(y)))
    return b.element_wise_multiply(u, u)


def powers(b: Any, x: Any, y: Any) -> Any:
    """Functions of several constants, and of many lines."""
    found = b.activation_scaled_tanh(b.activation_linear(x, Alpha=0.5, Beta=-0.25), Alpha=1.5, Beta=0.75)
    return b.element_wise_add(
        b.element_wise_constant_pow(b.element_wise_abs(found), Exponent=1.5), b.element_wise_erf(y)
    )


def channels(b: Any, x: Any, y: Any) -> Any:
    """Factors of channels, which are repeated within an image."""
    factors = b.constant(RANDOM.standard_normal(SIZES[1]).astype(x.tensor.DataType.numpy))
    return b.element_wise_max(b.element_wise_multiply(x, seen(factors, SIZES, (0, 1, 0, 0))), y)


CHAINS = {
    one.__name__: one for one in (channels, gate, rotation, selection, conversion, reshape, diamond, powers)
}


def graph_of(make: Any, dtype: str) -> Any:
    builder = dmlops.graph.Builder()
    x, y = (builder.input(name, TensorDesc(dtype.upper(), SIZES)) for name in "xy")
    return builder.build(z=make(builder, x, y))


def same(found: np.ndarray, right: np.ndarray) -> None:
    """Equal but for what a driver gains by joining a product of one operator to a sum of the next."""
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    np.testing.assert_array_max_ulp(
        found, right, 1
    ) if found.dtype.kind == "f" else np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_computes_what_its_operators_do(device: Any, name: str, dtype: str) -> None:
    graph = graph_of(CHAINS[name], dtype)
    arrays = {one: RANDOM.standard_normal(SIZES).astype(dtype) for one in "xy"}
    with gpu.compile(graph, device) as fused, compile_graph(graph, device, keep=True) as apart:
        assert len(fused.program.steps) == 1 < len(apart.program.steps)
        found = fused(arrays)["z"]
        same(found, apart(arrays)["z"])
    right = reference.run(graph, arrays)["z"]
    np.testing.assert_allclose(found, right, *((1e-5, 1e-6) if dtype == "float32" else (4e-3, 1e-3)))


def test_threads_of_a_chain_write_two_vectors(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_planner, "ELEMENTWISE_BUSY", 1)
    builder, shape = dmlops.graph.Builder(), TensorDesc("FLOAT16", (3, 2, 2048))
    x, y = builder.input("x", TensorDesc("UINT8", shape.Sizes)), builder.input("y", shape)
    graph = builder.build(z=builder.element_wise_max(builder.cast(x, OutputTensor=shape), y))
    arrays = {
        "x": RANDOM.integers(0, 256, shape.Sizes).astype("uint8"),
        "y": (99 * RANDOM.random(shape.Sizes)).astype("float16"),
    }
    with gpu.compile(graph, device) as fused:
        # 3072 vectors, two for each of 256 threads
        assert [step.groups for step in fused.program.steps] == [(6, 1)]
        np.testing.assert_array_equal(fused(arrays)["z"], np.maximum(arrays["x"], arrays["y"]))


ATTRIBUTES = {
    "Alpha": 0.5, "Beta": 0.25, "Gamma": 1.5, "Min": -0.5, "Max": 0.75, "Exponent": 1.7, "Steepness": 1.2,
    "SigmoidInputScale": 1.3, "Bias": 0.3, "Threshold": 0.4, "InfinityMode": "EITHER",
    "RoundingMode": "HALVES_TO_NEAREST_EVEN", "ScaleBias": dmlops.ScaleBias(Scale=1.5, Bias=0.25),
}  # fmt: skip
ALONE = [
    name
    for name, one in operator_data().items()
    if name.startswith(("ELEMENT_WISE", "ACTIVATION"))
    and not name.endswith(("SOFTMAX", "HARDMAX", "E_LINEAR", "LINEAR_ADD"))  # rows, and scales
    and all(
        m["role"] != "attribute" or m["name"] in ATTRIBUTES or m["name"] == "FusedActivation"
        for m in one["members"]
    )
]


def surrounded(name: str, dtype: str) -> Any:
    """An operator between two others, or None if it has no tensors of that type."""
    builder, shape = dmlops.graph.Builder(), TensorDesc(dtype, SIZES)
    members = operator_data()[name]["members"]
    values = [builder.input(m["name"], shape) for m in members if m["role"] == "input"]
    if name == "ELEMENT_WISE_IF":
        values[0] = builder.element_wise_logical_greater_than(
            *values[1:], OutputTensor=TensorDesc("UINT8", SIZES)
        )
    others = {m["name"]: ATTRIBUTES[m["name"]] for m in members if m["name"] in ATTRIBUTES}
    try:
        found = getattr(builder, name.lower())(*map(builder.element_wise_identity, values), **others)
        if found.tensor.DataType.name != "FLOAT32":
            found = builder.cast(found, OutputTensor=TensorDesc("FLOAT32", SIZES))
        return builder.build(y=builder.element_wise_negate(found))
    except (ValueError, TypeError):
        return None


@pytest.mark.parametrize("name", ALONE)
def test_every_operator_computes_in_a_chain_what_it_does_alone(device: Any, name: str) -> None:
    dtype, graph = next(
        (dtype, one) for dtype in ("FLOAT16", "INT32", "UINT8") if (one := surrounded(name, dtype))
    )
    arrays = {one: (40 * RANDOM.random(SIZES) - 20).astype(dtype.lower()) for one in graph.inputs}
    with gpu.compile(graph, device) as fused, compile_graph(graph, device, keep=True) as apart:
        assert len(fused.program.steps) == 1
        same(fused(arrays)["y"], apart(arrays)["y"])


def difference(b: Any, root: Any) -> Any:
    return b.element_wise_subtract(root, root)


def sum_less_one(b: Any, root: Any) -> Any:
    return b.element_wise_subtract(b.element_wise_add(root, b.activation_tanh(root)), root)


def inverse(b: Any, root: Any) -> Any:
    return b.element_wise_exp(b.element_wise_log(b.element_wise_negate(root)))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("make", [difference, sum_less_one, inverse])
def test_results_that_cancel_stay_nan(device: Any, make: Any, dtype: str) -> None:
    """Compilers know that x - x is 0 and exp(log(x)) is x, unless x is NaN or infinite, or negative."""
    builder = dmlops.graph.Builder()
    root = builder.element_wise_sqrt(builder.input("x", TensorDesc(dtype, SIZES)))
    graph = builder.build(y=make(builder, root))
    x = RANDOM.standard_normal(SIZES).astype(dtype.lower())
    x[0, 0, 0, :2] = np.inf, 0
    with gpu.compile(graph, device) as fused, compile_graph(graph, device, keep=True) as apart:
        assert len(fused.program.steps) == 1
        found, right = fused({"x": x})["y"], apart({"x": x})["y"]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    assert np.isnan(right).sum() > 50
    np.testing.assert_allclose(found, right, 1e-3, 1e-3)


UNARY = ("activation_tanh", "activation_relu", "element_wise_sin", "element_wise_sqrt")
BINARY = ("element_wise_add", "element_wise_subtract", "element_wise_max", "element_wise_multiply")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_operators_are_joined_without_a_difference(device: Any, data: Any) -> None:
    """For any readers, and any results that are outputs too."""
    builder = dmlops.graph.Builder()
    flat, turned = (192,), ((8, 24), (1, 8))
    values = [builder.input(name, TensorDesc("FLOAT32", SIZES)) for name in "xyz"]
    for _ in range(data.draw(st.integers(2, 9))):
        first, second = (seen(data.draw(st.sampled_from(values)), SIZES) for _ in range(2))
        match data.draw(st.integers(0, 5)):
            case 0 | 1:
                made = getattr(builder, data.draw(st.sampled_from(UNARY)))(first)
            case 2 | 3 | 4:
                made = getattr(builder, data.draw(st.sampled_from(BINARY)))(first, second)
            case _:
                sizes, strides = data.draw(st.sampled_from([(flat, None), turned]))
                made = builder.element_wise_negate(seen(first, sizes, strides))
        values.append(made)
    outputs = data.draw(st.sets(st.integers(3, len(values) - 1), min_size=1, max_size=3))
    graph = builder.build(**{f"o{at}": values[at] for at in sorted(outputs)})
    arrays = {name: RANDOM.standard_normal(SIZES).astype("float32") for name in "xyz" if name in graph.inputs}
    with gpu.compile(graph, device) as fused, compile_graph(graph, device, keep=True) as apart:
        found, right = fused(arrays), apart(arrays)
    for name in right:
        np.testing.assert_allclose(found[name], right[name], 1e-4, 1e-5)


def operators(graph: Any) -> list[int]:
    """The number of operators that each dispatch runs."""
    return [len(one.operators) for one in program(graph, 16).nodes]


def test_what_others_read_is_written() -> None:
    builder = dmlops.graph.Builder()
    x = builder.input("x", TensorDesc("FLOAT32", SIZES))
    root = builder.element_wise_sqrt(builder.element_wise_abs(x))
    total = builder.reduce(root, Function="SUM", Axes=[3])
    scaled = builder.element_wise_divide(root, seen(total, SIZES, (12, 4, 1, 0)))
    assert operators(builder.build(y=scaled)) == [2, 1, 1]
    assert operators(builder.build(y=builder.element_wise_exp(root), z=root)) == [2, 1]


def test_what_is_read_at_other_coordinates_is_written() -> None:
    builder = dmlops.graph.Builder()
    x = builder.input("x", TensorDesc("FLOAT32", (64, 64)))
    root = builder.element_wise_sqrt(x)
    turned = builder.element_wise_add(root, seen(root, (64, 64), (1, 64)))
    assert operators(builder.build(y=turned)) == [1, 1]
    repeated = builder.element_wise_sqrt(builder.input("r", TensorDesc("FLOAT32", (64,))))
    assert operators(builder.build(y=builder.element_wise_add(x, seen(repeated, (64, 64), (0, 1))))) == [1, 1]


def test_a_chain_binds_no_more_buffers_than_devices_have() -> None:
    builder = dmlops.graph.Builder()
    inputs = [builder.input(f"x{at}", TensorDesc("FLOAT32", SIZES)) for at in range(20)]
    total = inputs[0]
    for one in inputs[1:]:
        total = builder.element_wise_add(total, one)
    found = program(builder.build(y=total), 16)
    assert max(shader.buffers for shader in found.shaders) <= 9 and len(found.nodes) == 3
    assert sum(len(one.operators) for one in found.nodes) == 19


def test_chains_compile_for_direct3d() -> None:
    for make in (gate, rotation, selection, conversion):
        (shader,) = program(graph_of(make, "float16"), 256).shaders
        assert compiler.compile(shader.source, dict(shader.defines), "dxil")


def test_an_activation_that_goes_into_no_operator_joins_a_chain() -> None:
    builder = dmlops.graph.Builder()
    x, y = (builder.input(name, TensorDesc("FLOAT32", SIZES)) for name in "xy")
    assert operators(builder.build(y=builder.activation_tanh(builder.element_wise_max(x, y)))) == [2]


def test_blocks_in_which_an_operator_transposes_stay() -> None:
    """Only large tensors are transposed in blocks."""
    builder, sizes = dmlops.graph.Builder(), (2, 3, 128, 64)
    x, y = (builder.input(name, TensorDesc("FLOAT32", sizes)) for name in "xy")
    turned = builder.element_wise_max(x, seen(y, sizes, (24576, 8192, 1, 128)))
    assert operators(builder.build(y=builder.activation_tanh(turned))) == [1, 1]
