"""Graphs and models on a GPU, against the reference, ONNX Runtime and W3C's cases; memory, views, fusion."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from onnx import numpy_helper, parser

import dmlops
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu.device import Device
from dmlops.gpu.graphs.arena import Lifetime, assign
from dmlops.gpu.graphs.program import program
from dmlops.gpu.graphs.views import recast
from gpu_device import device
from test_onnx_running import BY_DATA, branching
from webnn_gpu import CASES, differing

__all__ = ["device"]

RANDOM = np.random.default_rng(5)
TOLERANCE = {"float32": 1e-5, "float16": 2e-3}


def real(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


def near(found: Any, expected: Any) -> None:
    """Whether arrays by name are nearly the same, relative to the largest element."""
    assert found.keys() == expected.keys()
    for name, right in expected.items():
        assert (found[name].dtype, found[name].shape) == (right.dtype, right.shape)
        tolerance = TOLERANCE.get(right.dtype.name, 0)
        most = float(np.abs(right).max(initial=0))
        np.testing.assert_allclose(found[name], right, tolerance, tolerance * most, err_msg=name)


def convolution(builder: Any, value: Any, filters: np.ndarray, **members: Any) -> Any:
    ones, around = [1, 1], [filters.shape[2] // 2] * 2
    defaults = {"Strides": ones, "Dilations": ones, "StartPadding": around, "EndPadding": around}
    filters_ = builder.constant(filters)
    return builder.convolution(value, filters_, None, OutputPadding=[0, 0], **{**defaults, **members})


def residual(dtype: str) -> Any:
    """A residual block: two convolutions with activations, and a sum with one."""
    builder = dmlops.graph.Builder()
    x = builder.input("x", TensorDesc(dtype.upper(), (2, 8, 6, 6)))
    first = builder.activation_relu(convolution(builder, x, real(8, 8, 3, 3, dtype=dtype) / 8))
    second = convolution(builder, first, real(8, 8, 3, 3, dtype=dtype) / 8)
    return builder.build(y=builder.activation_relu(builder.element_wise_add(second, x)))


def split_heads(dtype: str) -> Any:
    """A slice, a split and a transpose, which readers take by strides, and a chain of activations."""
    builder = dmlops.graph.Builder()
    x = builder.input("x", TensorDesc(dtype.upper(), (1, 8, 6, 6)))
    half = TensorDesc(dtype.upper(), (1, 4, 6, 6))
    left, right = builder.split(builder.activation_tanh(x), OutputTensors=[half, half], Axis=1)
    product = builder.element_wise_multiply(left, right)
    turned = builder.element_wise_identity(
        product.seen_as(TensorDesc(dtype.upper(), (1, 6, 4, 6), Strides=(144, 6, 36, 1)))
    )
    chain = builder.activation_sigmoid(builder.activation_softplus(turned, Steepness=1))
    return builder.build(y=chain, product=product)


GRAPHS = {"residual block": residual, "split heads": split_heads}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_computes_what_the_reference_does(device: Any, name: str, dtype: str) -> None:
    graph = GRAPHS[name](dtype)
    shape = next(iter(graph.nodes[graph.input_edges[0].ToNodeIndex].desc.to_json()["desc"].values()))["Sizes"]
    with gpu.compile(graph, device) as compiled:
        for _ in range(2):  # recorded once, and run again with other contents
            arrays = {"x": real(*shape, dtype=dtype)}
            near(compiled(arrays), reference.run(graph, arrays))
        memory = compiled.memory
        assert memory.lower_bound <= memory.peak <= 1.1 * memory.lower_bound


def test_activations_go_into_the_operator_in_front_as_the_registry_allows() -> None:
    found = program(residual("float32"), 16)
    assert [(one.desc.OPERATOR, one.desc.FusedActivation.OPERATOR) for one in found.nodes[:1]] == [
        ("CONVOLUTION", "ACTIVATION_RELU")
    ]
    assert len(found.nodes) == 3  # of five
    builder = dmlops.graph.Builder()
    x = builder.input("x", TensorDesc("FLOAT32", (1, 2, 4, 4)))
    filtered = convolution(builder, x, real(2, 2, 1, 1))
    read_twice = builder.build(y=builder.activation_relu(filtered), z=filtered)
    assert len(program(read_twice, 16).nodes) == 2


def test_views_take_no_operator() -> None:
    found = program(split_heads("float32"), 16)
    assert [one.desc.OPERATOR for one in found.nodes] == [
        "ACTIVATION_TANH", "ELEMENT_WISE_MULTIPLY", "ACTIVATION_SOFTPLUS", "ACTIVATION_SIGMOID",
    ]  # fmt: skip
    assert found.nodes[1].desc.IN_PLACE
    misaligned = program(split_heads("float32"), 1024)  # the second half starts at byte 576
    assert "SPLIT" in [one.desc.OPERATOR for one in misaligned.nodes]


def test_barriers_stand_only_where_something_depends_on_what_was_written() -> None:
    builder = dmlops.graph.Builder()
    a, b = (builder.input(name, TensorDesc("FLOAT32", (64,))) for name in "ab")
    left, right = builder.element_wise_sqrt(a), builder.element_wise_exp(b)
    found = program(builder.build(y=builder.element_wise_add(left, right)), 16)
    assert [step.waits for step in found.steps] == [False, False, True]


LIFETIMES = st.builds(
    lambda size, first, duration: Lifetime(size, first, first + duration),
    st.integers(1, 5000), st.integers(0, 30), st.integers(0, 10),
)  # fmt: skip


@given(st.lists(LIFETIMES, max_size=40), st.sampled_from([1, 16, 256]))
@settings(max_examples=60, deadline=None)
def test_tensors_that_live_at_the_same_time_do_not_overlap(lifetimes: Any, alignment: int) -> None:
    arena = assign(lifetimes, alignment)
    placed = list(zip(lifetimes, arena.offsets, strict=True))
    for (one, at), (other, there) in combinations(placed, 2):
        if one.first <= other.last and other.first <= one.last:
            assert at + one.size <= there or there + other.size <= at
    assert all(at % alignment == 0 and at + one.size <= arena.size for one, at in placed)
    steps = range(50)
    assert arena.bound == max(sum(one.size for one in lifetimes if one.first <= s <= one.last) for s in steps)
    assert arena.size >= arena.bound


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_other_strides_read_the_same_elements(data: Any) -> None:
    """Whatever strides are found, they read a turned tensor as the reader reads it when packed."""
    sizes = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axes = data.draw(st.permutations(range(len(sizes))))
    source = np.arange(np.prod(sizes), dtype=np.int32).reshape([sizes[axis] for axis in np.argsort(axes)])
    turned = source.transpose(axes)  # has `sizes`
    assert turned.shape == sizes
    flat = data.draw(st.sampled_from([sizes, (source.size,), (1, *sizes), sizes[::-1]]))
    read = TensorDesc("INT32", flat)
    found = recast(TensorDesc("INT32", sizes), [step // 4 for step in turned.strides], read)
    if found is not None:
        seen = as_strided(source, flat, [step * 4 for step in found])
        assert seen.tolist() == np.ascontiguousarray(turned).reshape(flat).tolist()
    assert found is not None or flat not in (sizes, (1, *sizes))


MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[n, 4, 6] x) => (float[n, m] y, bool[n, 24] z)
{
  t = Transpose<perm=[0, 2, 1]>(x)  m0 = MatMul(t, w)  r = Relu(m0)  s = Slice(r, one, three, one)
  shape = Shape(x)  first = Gather(shape, zero)  rest = Unsqueeze(first, none)
  target = Concat<axis=0>(rest, minus)  y = Reshape(s, target)
  flat = Reshape(x, target)  z = Greater(flat, zero_f)
}"""


def model() -> Any:
    made = parser.parse_model(MODEL)
    for name, value in {
        "w": real(4, 5), "one": np.int64([1]), "three": np.int64([3]), "zero": np.int64(0),
        "none": np.int64([0]), "minus": np.int64([-1]), "zero_f": np.float32(0),
    }.items():  # fmt: skip
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return made


def runtime(made: Any, arrays: Any) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, arrays), strict=True))


def test_sizes_are_compiled_once_each(device: Any) -> None:
    made, calls = model(), []
    compiled = gpu.compile(made, device, progress=lambda done, count: calls.append((done, count)))
    for batch, compiles in ((2, True), (3, True), (2, False), (3, False)):
        calls.clear()
        arrays = {"x": real(batch, 4, 6)}
        near(compiled(arrays), runtime(made, arrays))
        assert bool(calls) == compiles
        assert not compiles or calls[-1][0] == calls[-1][1]
        assert len(compiled.programs) == 1
    compiled.close()


def test_the_host_decides_between_submissions(device: Any) -> None:
    made = branching(BY_DATA)
    compiled = gpu.compile(made, device)
    for rows, sign in ((1, 3), (3, -3), (1, 3)):
        arrays = {"x": real(rows, 4) + np.float32(sign)}
        near(compiled(arrays), runtime(made, arrays))
        assert len(compiled.programs) == 2
    compiled.close()


def test_conformance_cases_of_webnn(device: Any) -> None:
    by_file = {case["file"]: case for case in CASES}  # the last of each; make sweep-webnn runs all
    chosen = [case for case in list(by_file.values())[::4] if not case["file"].startswith(("lstm", "gru"))]
    assert len(chosen) > 15
    assert list(differing(chosen, device)) == []


def test_a_device_without_room_names_the_bytes(device: Any, monkeypatch: Any) -> None:
    graph = residual("float32")
    monkeypatch.setattr(Device, "memory_size", 4096)
    with pytest.raises(gpu.OutOfMemory, match=r"the graph takes \d+ bytes: \d+ for tensors, 4608 for its"):
        gpu.compile(graph, device)
    monkeypatch.undo()
    with gpu.compile(graph, device) as compiled:
        assert compiled({"x": real(2, 8, 6, 6)})["y"].shape == (2, 8, 6, 6)


def test_an_interrupted_run_leaves_the_device_usable(device: Any, monkeypatch: Any) -> None:
    graph, arrays = residual("float32"), {"x": real(2, 8, 6, 6)}

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with gpu.compile(graph, device) as compiled:
        with monkeypatch.context() as patch:
            patch.setattr(device, "_is_running", interrupted)
            with pytest.raises(KeyboardInterrupt):
                compiled(arrays)
        near(compiled(arrays), reference.run(graph, arrays))


def test_what_does_not_fit_is_an_error(device: Any) -> None:
    compiled = gpu.compile(residual("float32"), device)
    with pytest.raises(ValueError, match="x is missing from the inputs"):
        compiled({})
    with pytest.raises(ValueError, match="x must be a NumPy array"):
        compiled({"x": [1.0]})
    with pytest.raises(ValueError, match="x has 2304 bytes; 4608 are given"):
        compiled({"x": real(4, 8, 6, 6)})
    compiled.close()
    with pytest.raises(ValueError, match="closed"):
        compiled({"x": real(2, 8, 6, 6)})
