"""Models as several makers export them, run with nothing but arrays, beside ONNX Runtime on the CPU."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper, parser

import dmlops.onnx
from dmlops.__main__ import main

RANDOM = np.random.default_rng(3)


def real(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model(text: str, opset: int = 17, **constants: Any) -> Any:
    """A model from ONNX's text form; the constants become Constant nodes, which is how Paddle's exporter has weights."""
    made = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')
    for name, value in constants.items():
        tensor = numpy_helper.from_array(np.asarray(value))
        made.graph.node.insert(0, helper.make_node("Constant", [], [name], value=tensor))
    return made


def agrees(made: Any, tolerance: float = 1e-5, **arrays: np.ndarray) -> None:
    """Whether a model, or a file's, computes what ONNX Runtime does, with the same shapes and types."""
    source = str(made) if isinstance(made, Path) else made.SerializeToString()
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    found = dmlops.onnx.run(made, arrays)
    for name, expected in zip(names, session.run(None, arrays), strict=True):
        assert (found[name].dtype, found[name].shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found[name], expected, rtol=tolerance, atol=tolerance)


# Constants and shapes.


PADDLE = """(float[N, 3, H, W] x) => (float[N, M, 4] y)
{
  w0 = Identity(w)  c = Conv<pads=[1, 1, 1, 1], strides=[2, 2]>(x, w0)
  r = Clip(c, low, high)
  p = GlobalAveragePool(r)
  scaled = Mul(r, p)
  shape = Shape(scaled)  n0 = Slice(shape, zero, one)  n = Cast<to=7>(n0)
  target = Concat<axis=0>(n, rest)
  flat = Reshape(scaled, target)
  turned = Transpose<perm=[0, 2, 1]>(flat)
  m = MatMul(turned, v)
  y = Softmax<axis=2>(m)
}"""


def paddle() -> Any:
    made = model(
        PADDLE,
        w=real(8, 3, 3, 3),
        v=real(8, 4),
        low=np.float32(0),
        high=np.float32(6),
        zero=np.int64([0]),
        one=np.int64([1]),
        rest=np.int64([8, -1]),
    )
    dims = made.graph.input[0].type.tensor_type.shape.dim
    dims[0].dim_value = -1  # as Paddle's exporter writes a batch
    dims[2].Clear()
    return made


def test_constants_are_nodes_and_dimensions_have_no_names() -> None:
    agrees(paddle(), x=real(2, 3, 10, 12))
    agrees(paddle(), x=real(1, 3, 7, 5))


def test_an_output_without_a_shape() -> None:
    """The checker requires one; ONNX Runtime infers it, and so can others."""
    made = model("(float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    agrees(made, x=real(2, 3))


def test_shapes_that_older_models_compute_are_known(tmp_path: Path, capsys: Any) -> None:
    """Unsqueeze with axes as an attribute, as up to version 12, which ONNX's own evaluator cannot compute."""
    text = """(float[2, 3] x) => (float[3, 2] y) {
      shape = Shape(x)  n = Gather(shape, zero)  one = Unsqueeze<axes=[0]>(n)
      m = Gather(shape, last)  other = Unsqueeze<axes=[0]>(m)
      target = Concat<axis=0>(other, one)  y = Reshape(x, target)
    }"""
    made = model(text, opset=11, zero=np.int64(0), last=np.int64(1))
    agrees(made, x=real(2, 3))
    path = tmp_path / "older.onnx"
    onnx.save(made, path)
    assert main(["onnx", str(path)]) == 0
    assert "undecided" not in capsys.readouterr().out


def test_tensorflow_transposes_around_everything() -> None:
    made = model(
        """(float[unk__1, 6, 7, 3] x) => (float[unk__1, 5] y)
        {
          n = Transpose<perm=[0, 3, 1, 2]>(x)
          c = Conv<auto_pad="SAME_UPPER", strides=[2, 2]>(n, w, b)
          q = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(c)
          back = Transpose<perm=[0, 2, 3, 1]>(q)
          shape = Shape(back)  first = Slice(shape, zero, one, zero)
          target = Concat<axis=0>(first, minus)
          flat = Reshape(back, target)
          d = MatMul(flat, k)
          y = Tanh(d)
        }""",
        w=real(4, 3, 3, 3), b=real(4), k=real(8, 5), zero=np.int64([0]), one=np.int64([1]), minus=np.int64([-1]),
    )  # fmt: skip
    agrees(made, x=real(3, 6, 7, 3))


class Exported(torch.nn.Module):
    """What exporters write shapes, masks and squeezes for."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(11, 8)
        self.conv = torch.nn.Conv1d(8, 8, 3, padding=1)
        self.norm = torch.nn.LayerNorm(8)
        self.head = torch.nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.table(ids)
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        scores = x @ x.transpose(1, 2) / 8**0.5
        scores = scores.masked_fill(mask[:, None, :] == 0, -1e4)
        x = self.norm(torch.softmax(scores, -1) @ x)
        places = torch.arange(x.shape[1])[None, :, None].to(x.dtype)
        return self.head((x + places / x.shape[1]).mean(1, keepdim=True).squeeze(1))


def test_torch_with_open_dimensions() -> None:
    torch.manual_seed(0)
    ids, mask = torch.tensor([[3, 1, 4, 1]]), torch.tensor([[1, 1, 1, 0]])
    target = io.BytesIO()
    axes = {"ids": {0: "batch", 1: "steps"}, "mask": {0: "batch", 1: "steps"}, "y": {0: "batch"}}
    torch.onnx.export(
        Exported().eval(), (ids, mask), target, dynamo=False,
        input_names=["ids", "mask"], output_names=["y"], dynamic_axes=axes,
    )  # fmt: skip
    made = onnx.load_from_string(target.getvalue())
    agrees(
        made,
        ids=np.array([[5, 9, 2, 6, 5], [3, 5, 8, 9, 7]]),
        mask=np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]),
    )


def test_data_beside_the_model(tmp_path: Path) -> None:
    made = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[n, 16] x) => (float[n, 8] y) { y = MatMul(x, w) }'
    )
    made.graph.initializer.append(numpy_helper.from_array(real(16, 8), "w"))
    path = tmp_path / "model.onnx"
    onnx.save_model(made, path, save_as_external_data=True, location="weights", size_threshold=0)
    agrees(path, x=real(3, 16))
    (tmp_path / "weights").unlink()
    with pytest.raises(dmlops.onnx.Unreadable, match="other files"):
        dmlops.onnx.run(path, {"x": real(3, 16)})


# Control flow.


def graph_of(text: str) -> Any:
    return parser.parse_graph(text)


def branching(condition: str) -> Any:
    """An If with branches that read what is outside of them; its condition is computed from x and its shape."""
    made = model(
        f"(float[n, 4] x) => (float[a, b] y) {{ {condition} }}", limit=np.int64(2), none=np.float32(0)
    )
    made.graph.node.append(
        helper.make_node(
            "If", ["c"], ["y"], name="choice",
            then_branch=graph_of("then () => (float[p, q] t) { t = Relu(x) }"),
            else_branch=graph_of("otherwise () => (float[r, s] e) { s = Exp(x) e = Concat<axis=1>(s, x) }"),
        )
    )  # fmt: skip
    return made


BY_SHAPE = "rows = Shape<end=1>(x) few = ReduceSum<keepdims=0>(rows) c = Less(few, limit)"
BY_DATA = "total = ReduceSum<keepdims=0>(x) c = Less(none, total)"


@pytest.mark.parametrize("condition", [BY_SHAPE, BY_DATA])
@pytest.mark.parametrize("x", [real(1, 4) + 3, real(3, 4) - 3], ids=["one", "three"])
def test_if(condition: str, x: np.ndarray) -> None:
    agrees(branching(condition), x=x)


def test_a_condition_that_follows_from_shapes_is_decided() -> None:
    few = dmlops.onnx.read(branching(BY_SHAPE), dims={"n": 1})
    many = dmlops.onnx.read(branching(BY_SHAPE), dims={"n": 3})
    assert few.complete and [node.operator for node in few.nodes][-2:] == ["If", "Relu"]
    assert many.complete and [node.operator for node in many.nodes][-3:] == ["If", "Exp", "Concat"]


def test_a_condition_that_depends_on_data_is_the_hosts() -> None:
    found = dmlops.onnx.read(branching(BY_DATA), dims={"n": 1})
    choice = next(node for node in found.nodes if node.operator == "If")
    assert found.complete and choice.status == "host"
    assert choice.notes == ("else_branch needs feature level 1.0", "then_branch needs feature level 1.0")


def test_what_both_branches_agree_on_is_known_after_them() -> None:
    made = model(f"(float[2, 4] x) => (float[a, b] z) {{ {BY_DATA} }}", none=np.float32(0))
    branch = "() => (float[p, q] t) { t = Relu(x) }"
    made.graph.node.append(
        helper.make_node(
            "If", ["c"], ["y"], then_branch=graph_of(f"a {branch}"), else_branch=graph_of(f"b {branch}")
        )
    )
    made.graph.node.append(helper.make_node("Exp", ["y"], ["z"]))
    assert dmlops.onnx.read(made).complete
    agrees(made, x=real(2, 4))


def test_loop() -> None:
    made = model("(float[3] x, int64 turns) => (float[3] last, float[k, 3] all) { }", truth=np.array(True))
    body = graph_of(
        "body (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] u) { d = Identity(c) t = Add(s, x) u = Mul(t, s) }"
    )
    made.graph.node.append(helper.make_node("Loop", ["turns", "truth", "x"], ["last", "all"], body=body))
    agrees(made, x=real(3), turns=np.array(4))


def test_scan_backwards() -> None:
    made = model("(float[2] start, float[5, 2] rows) => (float[2] last, float[5, 2] sums) { }")
    body = graph_of(
        "body (float[2] s, float[2] row) => (float[2] t, float[2] u) { t = Add(s, row) u = Identity(t) }"
    )
    made.graph.node.append(
        helper.make_node(
            "Scan",
            ["start", "rows"],
            ["last", "sums"],
            body=body,
            num_scan_inputs=1,
            scan_input_directions=[1],
        )
    )
    agrees(made, start=real(2), rows=real(5, 2))


def test_what_the_data_decides_is_read_by_the_host() -> None:
    made = model(
        "(float[2, 6] x, int64[2] shape, int64 k) => (float[a, b] y, float[c, d] z) { y = Reshape(x, shape) n = Unsqueeze(k, zero) z = Slice(x, zero, n, one) }",
        zero=np.int64([0]),
        one=np.int64([1]),
    )
    agrees(made, x=real(2, 6), shape=np.array([4, -1]), k=np.array(3))


# What does not fit.


@pytest.mark.parametrize("kind", ["float", "bool", "int32"])
def test_the_host_reads_how_many_elements_are_not_zero(kind: str) -> None:
    made = model(
        f"({kind}[N, 100] x) => (int64[2, M] places, {kind}[M] found)"
        " { places = NonZero(x)  rows = Transpose(places)  found = GatherND(x, rows) }"
    )
    x = RANDOM.integers(-1, 2, (3, 100))
    agrees(made, x=x.astype({"float": np.float32, "bool": np.bool_, "int32": np.int32}[kind]))


def test_no_element_that_is_not_zero() -> None:
    made = model("(float[2, 3, 40] x) => (int64[3, M] places) { places = NonZero(x) }")
    agrees(made, x=np.zeros((2, 3, 40), np.float32))


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="the input x has no array"):
        dmlops.onnx.run(paddle(), {})
    with pytest.raises(
        dmlops.onnx.Unreadable, match=r"x has the shape \['\?', 3, '\?', 'W'\], not \[1, 4, 8, 8\]"
    ):
        dmlops.onnx.run(paddle(), {"x": real(1, 4, 8, 8)})
    with pytest.raises(dmlops.onnx.NotRunnable, match="Det"):
        dmlops.onnx.run(model("(float[3, 3] x) => (float y) { y = Det(x) }"), {"x": real(3, 3)})


# The command.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "paddle.onnx"
    onnx.save(paddle(), file)
    return file


def test_open_dimensions_are_one_line(path: Path, capsys: Any) -> None:
    assert main(["onnx", str(path)]) == 1
    text = capsys.readouterr().out
    assert re.search(r"not set: W, x\[0\], x\[2\]; --dim NAME=SIZE or --shape INPUT=SIZES sets them", text)
    assert "is not known" not in text


def test_a_shape_sets_them(path: Path, capsys: Any) -> None:
    assert main(["onnx", str(path), "--shape", "x=1,3,48,160"]) == 0
    assert "not set" not in capsys.readouterr().out
    assert main(["onnx", str(path), "--shape", "x=1,4,48,160"]) == 2
    assert "x has the shape" in capsys.readouterr().err


def test_run_command(path: Path, tmp_path: Path, capsys: Any) -> None:
    x = real(1, 3, 8, 8)
    np.save(tmp_path / "x.npy", x)
    target = tmp_path / "y.npz"
    assert (
        main(["onnx", "run", str(path), "--input", f"x={tmp_path / 'x.npy'}", "--output", str(target)]) == 0
    )
    assert re.match(r"y: float32 \[1, 16, 4\]: \S+ to \S+, mean 0.25$", capsys.readouterr().out.strip())
    assert np.array_equal(np.load(target)["y"], dmlops.onnx.run(path, {"x": x})["y"])
    assert main(["onnx", "run", str(path)]) == 1
    assert "the input x has no array" in capsys.readouterr().err
