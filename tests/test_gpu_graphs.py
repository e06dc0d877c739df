"""Graphs and models on a GPU, against the reference, ONNX Runtime and W3C's cases; memory, views, fusion."""

from __future__ import annotations

import io
import json
import re
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from onnx import numpy_helper, parser

import dmlops
from c_runner import WARNINGS, compiler
from dmlops import TensorDesc, gpu, reference
from dmlops.__main__ import main
from dmlops.gpu import compiler as hlsl
from dmlops.gpu.device import Device
from dmlops.gpu.graphs import exporting, shaders
from dmlops.gpu.graphs.arena import Lifetime, assign
from dmlops.gpu.graphs.once import of_operator
from dmlops.gpu.graphs.program import program
from dmlops.gpu.graphs.usage import usage
from dmlops.gpu.graphs.views import recast, relocated
from dmlops.gpu.vulkan_api import check, vk
from dmlops.gpu.work import Work
from dmlops.terminal import progress_for
from dxil.execute import Buffer, Shaders
from gpu_device import device
from test_onnx_running import BY_DATA, branching
from webnn_gpu import CASES, differing

__all__ = ["device"]

ROOT = Path(__file__).parents[1]
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
    around = {name: [filters.shape[2] // 2] * 2 for name in ("StartPadding", "EndPadding")}
    return builder.convolution(value, builder.constant(filters), **around, **members)


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
    assert len(found.nodes) == 2  # of five: the sum is the second one's epilogue
    builder = dmlops.graph.Builder()
    x = builder.input("x", TensorDesc("FLOAT32", (1, 2, 4, 4)))
    filtered = convolution(builder, x, real(2, 2, 1, 1))
    read_twice = builder.build(y=builder.activation_relu(filtered), z=filtered)
    assert len(program(read_twice, 16).nodes) == 2


def test_an_activation_sees_the_same_elements_with_other_sizes(device: Any) -> None:
    builder = dmlops.graph.Builder()
    x, w = builder.input("x", TensorDesc("FLOAT32", (1, 1, 6, 8))), builder.constant(real(8, 10))
    product = builder.gemm(x, w.seen_as(TensorDesc("FLOAT32", (1, 1, 8, 10))), None)
    seen = product.seen_as(TensorDesc("FLOAT32", (2, 3, 10)))
    graph = builder.build(y=builder.activation_gelu(seen))
    assert len(program(graph, 16).nodes) == 1
    arrays = {"x": real(1, 1, 6, 8)}
    with gpu.compile(graph, device) as compiled:
        near({"y": compiled(arrays)["y"].reshape(2, 3, 10)}, reference.run(graph, arrays))


def test_views_take_no_operator() -> None:
    found = program(split_heads("float32"), 16)
    assert [one.desc.OPERATOR for one in found.nodes] == [
        "ACTIVATION_TANH", "ELEMENT_WISE_MULTIPLY", "ACTIVATION_SIGMOID",
    ]  # fmt: skip
    assert found.nodes[1].desc.IN_PLACE
    misaligned = program(split_heads("float32"), 1024)  # the second half starts at byte 576
    assert "SPLIT" in [one.desc.OPERATOR for one in misaligned.nodes]


def test_barriers_stand_only_where_something_depends_on_what_was_written() -> None:
    builder = dmlops.graph.Builder()
    a, b = (builder.input(name, TensorDesc("FLOAT32", (64,))) for name in "ab")
    left, right = builder.element_wise_sqrt(a), builder.element_wise_exp(b)
    total = builder.element_wise_add(left, right)
    found = program(builder.build(left=left, right=right, total=total), 16)
    assert [step.waits for step in found.steps] == [False, False, True]


def test_operators_that_can_overlap_are_not_held_apart() -> None:
    """For any order in which the graph's author wrote them."""
    builder = dmlops.graph.Builder()
    outputs = {}
    for name in "abc":
        total = builder.input(name, TensorDesc("FLOAT32", (64, 64)))
        for axis in (1, 0):
            total = builder.reduce(total, Function="SUM", Axes=[axis])
        outputs[f"sum of {name}"] = total
    found = program(builder.build(**outputs), 16)
    assert [step.waits for step in found.steps] == [False] * 3 + [True] + [False] * 2


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
    """All strides that are found read a turned tensor as the reader reads it when packed."""
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
    start = data.draw(st.integers(0, source.size - 1))
    part = TensorDesc("INT32", (data.draw(st.integers(1, source.size - start)),))
    some = relocated(TensorDesc("INT32", sizes), [step // 4 for step in turned.strides], part, start)
    if some is not None:
        seen = as_strided(source.reshape(-1)[some[1] :], part.Sizes, [step * 4 for step in some[0]])
        assert seen.tolist() == turned.reshape(-1)[start : start + part.Sizes[0]].tolist()
    assert some is not None or part.Sizes[0] > 1


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


def test_the_host_counts_between_submissions(device: Any) -> None:
    """How many elements are not zero differs from call to call, with inputs of one shape."""
    made = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g
    (float[2, 100] x) => (int64[2, n] places, float[n] y)
    { r = Relu(x)  places = NonZero(r)  rows = Transpose(places)
      found = GatherND(r, rows)  y = Neg(found) }""")
    compiled = gpu.compile(made, device)
    for shift in (0, 1, 0):
        arrays = {"x": real(2, 100) + np.float32(shift)}
        near(compiled(arrays), runtime(made, arrays))
    compiled.close()


def test_conformance_cases_of_webnn(device: Any) -> None:
    by_file = {case["file"]: case for case in CASES}  # the last of each; make test-webnn runs all
    chosen = [case for case in list(by_file.values())[::4] if not case["file"].startswith(("lstm", "gru"))]
    assert len(chosen) > 15
    assert list(differing(chosen, device)) == []


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a model and an array for its input."""
    onnx.save(model(), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", real(2, 4, 6))
    return tmp_path


def on_gpu(files: Path, *options: str) -> int:
    command = ["onnx", "run", str(files / "model.onnx"), "--gpu", "--input", str(files / "x.npy")]
    return main([*command, "--output", str(files / "out.npz"), *options])


def test_the_command_runs_checks_and_profiles(files: Path, device: Any, capsys: Any) -> None:
    assert on_gpu(files, "--check", "--profile", "--html", str(files / "times.html")) == 0
    out = capsys.readouterr().out
    assert "check: no difference" in out and re.search(r"memory: \d+ bytes for tensors", out)
    assert re.search(r"^m0 +GEMM +[\d.]+ +[\d.]+% ", out, re.MULTILINE)
    page = (files / "times.html").read_text(encoding="utf-8")
    assert page.count("<rect") == page.count("<tr><td>") > 2
    expected = runtime(onnx.load(files / "model.onnx"), {"x": np.load(files / "x.npy")})
    near(dict(np.load(files / "out.npz")), expected)


@pytest.mark.parametrize("check", ["nodes", "outputs"])
def test_a_wrong_shader_is_found_and_named(
    files: Path, device: Any, monkeypatch: Any, capsys: Any, check: str
) -> None:
    own = shaders.shader

    def spoiled(operator: str) -> str:
        greater = operator == "ELEMENT_WISE_LOGICAL_GREATER_THAN"
        return own("ELEMENT_WISE_LOGICAL_LESS_THAN" if greater else operator)

    monkeypatch.setattr(shaders, "shader", spoiled)
    assert on_gpu(files, "--check", check) == 1
    name = "z, OutputTensor" if check == "nodes" else "z"
    assert f"check: {name} differs in 48 elements: [0, 0" in capsys.readouterr().out


def test_which_input_an_array_is_for(files: Path, capsys: Any) -> None:
    head = '<ir_version: 8, opset_import: ["" : 17]>'
    made = parser.parse_model(f"{head} g (float[2] a, float[2] b) => (float[2] y) {{ y = Add(a, b) }}")
    onnx.save(made, files / "model.onnx")
    assert on_gpu(files) == 2
    assert "INPUT=FILE; there are a, b" in capsys.readouterr().err


def test_a_bar_shows_progress_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert progress_for(io.StringIO(), "shaders") is None
    terminal = Terminal()
    draw = progress_for(terminal, "shaders")
    assert draw is not None
    draw(1, 3)
    assert terminal.getvalue() == "\rshaders [##########....................] 1/3"
    draw(3, 3)
    assert terminal.getvalue().rpartition("\r")[0].endswith(" ")


def player(folder: Path, name: str) -> Path:
    """The player, compiled into a folder."""
    program = folder / "player"
    command = [compiler(name), "-std=c11", *WARNINGS, str(ROOT / "examples/player.c"), "-lvulkan"]
    built = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return program


def test_filters_are_reordered_once(tmp_path: Path, device: Any) -> None:
    """By `compile`, and by the player of a plan; what they compute is torch's."""
    filters, builder = real(128, 64, 3, 3) / 24, dmlops.graph.Builder()
    x = builder.input("x", TensorDesc("FLOAT32", (1, 64, 64, 64)))
    graph = builder.build(y=convolution(builder, x, filters))
    arrays = [{"x": real(1, 64, 64, 64)} for _ in range(2)]
    expected = [
        {"y": torch.nn.functional.conv2d(*map(torch.from_numpy, (one["x"], filters)), padding=1).numpy()}
        for one in arrays
    ]
    with gpu.compile(graph, device) as compiled:
        assert (len(compiled.program.once), len(compiled.program.steps)) == (1, 1)
        for given_, right in zip(arrays, expected, strict=True):
            near(compiled(given_), right)
    plan = tmp_path / "plan"
    exporting.write(exporting.program_of_graph(graph), plan)
    assert len(json.loads((plan / "plan.json").read_text(encoding="utf-8"))["once"]) == 1
    arrays[0]["x"].tofile(tmp_path / "x")
    subprocess.run([player(tmp_path, "gcc"), plan, tmp_path / "x", tmp_path / "y"], check=True)
    found = np.fromfile(tmp_path / "y", np.float32).reshape(1, 128, 64, 64)
    near({"y": found}, expected[0])


@pytest.mark.parametrize(
    ("named", "once"),
    [
        ([("w", "s"), ("x s", "y")], {0}),  # weights are reordered, then used
        ([("w x", "s"), ("s", "y")], set()),  # partial sums
        ([("w", "s"), ("x s", "s"), ("s", "y")], set()),  # both, in the same scratch
        ([("w", "s"), ("s", "t"), ("x t", "y")], {0, 1}),
        ([("w", "c"), ("x c", "y")], set()),  # into what is cleared in each run
        ([("w", "y")], set()),
    ],
)
def test_what_runs_once(named: Any, once: set[int]) -> None:
    work = Work((), {"s": 8, "t": 8, "c": 8}, ("c",))
    uses = [(frozenset(read.split()), frozenset(made.split())) for read, made in named]
    assert of_operator(work, uses, frozenset("w")).dispatches == once


def test_what_a_shader_uses() -> None:
    source = """
    [[vk::binding(0, 0)]] StructuredBuffer<float> a : register(t0);
    [[vk::binding(1, 0)]] StructuredBuffer<float> b : register(t1);
    [[vk::binding(2, 0)]] RWStructuredBuffer<float> c : register(u0);
    [[vk::binding(3, 0)]] RWStructuredBuffer<uint> d : register(u1);
    [[vk::binding(4, 0)]] RWStructuredBuffer<float> e : register(u2);
    [numthreads(1, 1, 1)] void CSMain(uint i : SV_DispatchThreadID) {
        c[i] = a[i];
        e[i] = e[i + 1];
        InterlockedAdd(d[0], i);
    }"""
    found = usage(hlsl.compile(source, {}))
    assert (found.read, found.written) == ({0, 3, 4}, {2, 3, 4})


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_the_player_runs_a_plan(files: Path, device: Any, name: str, capsys: Any) -> None:
    plan = files / "plan"
    assert main(["plan", str(files / "model.onnx"), "--out", str(plan), "--dim", "n=2"]) == 0
    told = json.loads((plan / "plan.json").read_text(encoding="utf-8"))
    assert all(region["offset"] % 256 == 0 for region in told["regions"])
    arrays = {"x": np.load(files / "x.npy")}
    arrays["x"].tofile(files / "x.bin")
    outputs = [files / "y.bin", files / "z.bin"]
    subprocess.run([player(files, name), plan, files / "x.bin", *outputs], check=True)
    found = {
        one["name"]: np.fromfile(file, one["type"].lower()).reshape(one["sizes"])
        for one, file in zip(told["outputs"], outputs, strict=True)
    }
    expected = runtime(onnx.load(files / "model.onnx"), arrays)
    near(found, {"y": expected["y"], "z": expected["z"].astype(np.uint8)})


def played(folder: Path, inputs: list[np.ndarray]) -> list[bytes]:
    """The outputs of a plan for Direct3D 12, as examples/player.cpp runs it, with its DXIL on the CPU."""
    told = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    codes = [(folder / one["file"]).read_bytes() for one in told["shaders"]]
    assert all(map(gpu.is_signed, codes))
    shaders = Shaders(codes)
    memories = {name: np.fromfile(folder / f"{name}.bin", np.uint8) for name in ("weights", "constants")}
    memories["arena"] = np.full(told["arena"], 0xCA, np.uint8)
    written = {name: np.full(len(one), name != "arena", np.uint8) for name, one in memories.items()}
    regions = [
        Buffer(*(of[one["memory"]][one["offset"] :][: one["size"]] for of in (memories, written)))
        for one in told["regions"]
    ]
    for one, array in zip(told["inputs"], inputs, strict=True):
        region = regions[one["region"]]
        region.content[: array.nbytes], region.written[:] = array.reshape(-1).view(np.uint8), 1  # type: ignore[index]
    for step in (*told["once"], *told["steps"]):
        if "clear" in step:
            region = regions[step["clear"]]
            region.content[:], region.written[:] = 0, 1  # type: ignore[index]
            continue
        bound = [regions[number] for number in (*step["reads"], *step["writes"])]
        constants = regions[step["constants"]].content.tobytes()
        shaders.run(step["shader"], constants, [], bound, step["groups"])
    return [regions[one["region"]].content[: one["bytes"]].tobytes() for one in told["outputs"]]


@pytest.mark.parametrize("name", GRAPHS)
def test_plans_of_graphs_and_for_direct3d(files: Path, name: str) -> None:
    """All buffers are unordered access views, in the order of the plan: the arena has but one state."""
    graph = GRAPHS[name]("float32")
    (files / "graph.json").write_text(json.dumps(graph.to_json()))
    plan = files / "plan"
    assert main(["plan", str(files / "graph.json"), "--out", str(plan), "--target", "dxil"]) == 0
    shape = (2, 8, 6, 6) if name == "residual block" else (1, 8, 6, 6)
    arrays = {"x": real(*shape)}
    found = [np.frombuffer(one, np.float32) for one in played(plan, [arrays["x"]])]
    expected = {key: one.reshape(-1) for key, one in reference.run(graph, arrays).items()}
    near(dict(zip(graph.outputs, found, strict=True)), expected)


def test_a_chain_for_direct3d_keeps_what_cancels(files: Path) -> None:
    """Compilers know that x - x is 0, unless x is NaN."""
    builder = dmlops.graph.Builder()
    root = builder.element_wise_sqrt(builder.input("x", TensorDesc("FLOAT32", (8,))))
    graph = builder.build(y=builder.element_wise_subtract(root, root))
    (files / "graph.json").write_text(json.dumps(graph.to_json()))
    plan = files / "plan"
    assert main(["plan", str(files / "graph.json"), "--out", str(plan), "--target", "dxil"]) == 0
    (found,) = played(plan, [np.array([-4, -1, 0, 1, 4, 9, -9, np.nan], np.float32)])
    nan = np.float32("nan")
    np.testing.assert_array_equal(np.frombuffer(found, np.float32), [nan, nan, 0, 0, 0, 0, nan, nan])


def test_what_has_no_plan_says_why(files: Path, capsys: Any) -> None:
    path = str(files / "model.onnx")
    assert main(["plan", path, "--out", str(files / "plan")]) == 1
    assert "the dimension n of x is not known; --dim NAME=SIZE" in capsys.readouterr().err
    onnx.save(branching(BY_DATA), path)
    assert main(["plan", path, "--out", str(files / "plan"), "--shape", "x=1,4"]) == 1
    assert "depends on what is in its inputs" in capsys.readouterr().err


def test_a_plan_of_files_that_cannot_be_read_or_written(files: Path, capsys: Any) -> None:
    path, plan = str(files / "model.onnx"), ["--dim", "n=2", "--out", str(files / "x.npy" / "plan")]
    assert main(["plan", path, *plan]) == 2
    assert "x.npy" in capsys.readouterr().err
    (files / "broken.onnx").write_bytes(b"?")
    (files / "broken.json").write_text("{")
    for name in ("broken.onnx", "broken.json", "absent.onnx", "absent.json"):
        assert main(["plan", str(files / name), "--out", str(files / "plan")]) == 2
        assert name in capsys.readouterr().err


@pytest.mark.parametrize("call", ["vkAllocateMemory", "record", "memory_size"])
def test_a_device_without_room_names_the_bytes_and_the_node(device: Any, monkeypatch: Any, call: str) -> None:
    """Whichever call has no memory left; the device stays usable."""
    graph, arrays = residual("float32"), {"x": real(2, 8, 6, 6)}

    def refused(*_: Any) -> None:
        raise vk.VkErrorOutOfDeviceMemory

    target: Any = vk if call == "vkAllocateMemory" else Device
    monkeypatch.setattr(target, call, 4096 if call == "memory_size" else refused)
    needs = r"the graph takes \d+ bytes: \d+ for tensors, 4608 for its constants"
    with pytest.raises(gpu.OutOfMemory, match=rf"{needs}; most are in use at CONVOLUTION \d;"):
        gpu.compile(graph, device)
    monkeypatch.undo()
    with gpu.compile(graph, device) as compiled:
        near(compiled(arrays), reference.run(graph, arrays))


def test_a_run_without_room_is_an_error_that_passes(device: Any, monkeypatch: Any) -> None:
    graph, arrays = residual("float32"), {"x": real(2, 8, 6, 6)}
    with gpu.compile(graph, device) as compiled:
        with monkeypatch.context() as patch:
            patch.setattr(device, "start", lambda _: check(-2))  # VK_ERROR_OUT_OF_DEVICE_MEMORY
            with pytest.raises(gpu.OutOfMemory, match="most are in use at"):
                compiled(arrays)
        near(compiled(arrays), reference.run(graph, arrays))


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
