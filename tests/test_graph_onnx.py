"""Graphs of ONNX and WebNN: the descriptions to which nodes and operations are mapped, joined by edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import dmlops
from dmlops import FeatureLevel, Graph
from dmlops.__main__ import main

RANDOM = np.random.default_rng(1)
WEIGHTS = {
    name: RANDOM.normal(size=sizes).astype(np.float32)
    for name, sizes in {"w": (4, 3, 3, 3), "matrix": (64, 10), "bias": (10,)}.items()
}


def network(last: str = "Softmax") -> Any:
    """A convolution, pooling and a matrix product, whose tensors have other ranks before and after."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "matrix", "bias"], ["o"]),
        helper.make_node(last, ["o"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])
    weights = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()]
    graph = helper.make_graph(nodes, "network", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def test_a_model_is_a_valid_graph_that_computes_the_same() -> None:
    model = network()
    found = Graph.from_onnx(model)
    assert found.validate() == found.advice() == []
    assert (found.inputs, found.outputs) == (("x", "w", "matrix", "bias"), ("y",))
    assert found.min_feature_level() == FeatureLevel("2.1")
    x = RANDOM.normal(size=(1, 3, 8, 8)).astype(np.float32)
    result = dmlops.reference.run(found, {"x": x, **WEIGHTS})["y"]
    expected = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})[0]
    assert np.allclose(result.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


def test_a_model_with_a_node_that_cannot_be_mapped_is_no_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(network(), tmp_path / "good.onnx")
    onnx.save(network("Det"), tmp_path / "bad.onnx")
    assert main(["graph", "validate", str(tmp_path / "good.onnx")]) == 0
    assert main(["graph", "validate", str(tmp_path / "bad.onnx")]) == 1
    _, answer = map(json.loads, capsys.readouterr().out.splitlines())
    assert answer["violations"][0]["rule"] == "DML-JSON" and "Det" in answer["violations"][0]["message"]


def test_a_webnn_graph_is_a_valid_graph_that_computes_the_same() -> None:
    operations = [
        ["matmul", [{"a": "x"}, {"b": "w"}], "t"],
        ["relu", [{"input": "t"}], "u"],
        ["transpose", [{"input": "u"}], "y"],
    ]
    found = Graph.from_webnn({"in": {"x": ["float32", [2, 3]], "w": ["float32", [3, 4]]}, "ops": operations})
    assert found.validate() == found.advice() == []
    x, w = (RANDOM.normal(size=sizes).astype(np.float32) for sizes in ((2, 3), (3, 4)))
    result = dmlops.reference.run(found, {"x": x, "w": w})["y"]
    assert np.allclose(result.reshape(4, 2), np.maximum(x @ w, 0).T, rtol=1e-5)
