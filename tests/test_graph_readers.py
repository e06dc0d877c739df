"""Graphs from other forms: serialized ones, DxDispatch models, the builder, and their JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest

import dmlops
from dmlops import Graph, JsonError, TensorDesc
from dmlops.__main__ import main
from dmlops.graph import Builder
from graph_cases import Json, graph, graph_cases, node, relu, tensor
from random_descriptions import level_and_form, matrix_cases
from serialized_graphs import constant_node, graph_table, operator_node, serialized


def _gemm() -> dmlops.Gemm:
    row, square = TensorDesc("FLOAT32", (1, 1, 1, 5)), TensorDesc("FLOAT32", (1, 1, 5, 5))
    return dmlops.make.gemm(row, square, row)


def matmul_add() -> bytes:
    """The output of ONNX Runtime for a MatMul and an Add: DxDispatch's models/matmul_add/Partition_0.bin."""
    return serialized(
        graph_table(
            ["x"],
            ["y"],
            constant_node("b", "b-0"),
            constant_node("c", "c-0"),
            operator_node("gemm", _gemm(), ["x", "b-0", "c-0"], ["y"]),
        )
    )


def test_constants_in_other_files_are_owned_inputs() -> None:
    found = Graph.from_serialized(matmul_add())
    (gemm,) = found.nodes
    assert isinstance(gemm.desc, dmlops.Gemm) and found.validate() == found.advice() == []
    assert (found.inputs, found.outputs) == (("x", "b-0", "c-0"), ("y",))
    tensors = (gemm.desc.ATensor, gemm.desc.BTensor, gemm.desc.CTensor)
    assert [None if one is None else one.Flags.name for one in tensors] == [
        "NONE",
        "OWNED_BY_DML",
        "OWNED_BY_DML",
    ]


def test_a_constant_in_the_graph_has_its_data() -> None:
    half = constant_node("half", "k", np.float32(0.5).tobytes())
    desc = (
        graph(
            [
                node(
                    "",
                    "ELEMENT_WISE_MULTIPLY",
                    {},
                    ATensor=tensor(1, 3),
                    BTensor=tensor(1, 3, Strides=[0, 0]),
                )
            ]
        )
        .nodes[0]
        .desc
    )
    assert desc is not None
    found = Graph.from_serialized(
        serialized(graph_table(["x"], ["y"], half, operator_node("", desc, ["x", "k"], ["y"])))
    )
    result = dmlops.reference.run(found, {"x": np.array([[1, 2, 3]], np.float32)})
    assert result["y"].tolist() == [[0.5, 1.0, 1.5]]


def test_descriptions_of_all_operators_are_read_as_they_were_written() -> None:
    """Flags and alignments are not written, and packed tensors have no strides."""
    seen: set[str] = set()
    for case in matrix_cases():
        _, form = level_and_form(case)
        if case.get("breaks") or form["type"] in seen:
            continue
        desc = dmlops.from_json(form)
        slots_ = Graph((dmlops.graph.Node(desc),), (), ()).slots[0]
        assert slots_ is not None
        tensors = [one.tensor for one in (*slots_.inputs, *slots_.outputs) if one.tensor is not None]
        if any(one.Flags or one.GuaranteedBaseOffsetAlignment for one in tensors):
            continue
        seen.add(form["type"])
        names = [[f"{role}{at}" if one.tensor else "" for at, one in enumerate(some)]
                 for role, some in (("i", slots_.inputs), ("o", slots_.outputs))]  # fmt: skip
        inputs, outputs = ([name for name in some if name] for some in names)
        (read,) = Graph.from_serialized(
            serialized(graph_table(inputs, outputs, operator_node("", desc, *names)))
        ).nodes
        assert read.desc is not None and _whole(read.desc.to_json()) == _whole(desc.to_json())
    assert len(seen) > 170


def _whole(value: Any) -> Any:
    """A JSON form with the sizes of tensors, and numbers as float32 has them."""
    if isinstance(value, dict) and "DataType" in value and "Sizes" in value:
        size = TensorDesc(value["DataType"], value["Sizes"], Strides=value.get("Strides")).size_in_bytes
        return {"TotalTensorSizeInBytes": size} | value
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return float(np.float32(value)) if isinstance(value, float) else value


def test_a_serialized_graph_that_was_damaged_is_none_or_another() -> None:
    data, random = matmul_add(), Random(1)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(random.choice((1, 2, 5))):
            damaged[random.randrange(len(data))] = random.randrange(256)
        try:
            Graph.from_serialized(bytes(damaged)).validate()
        except JsonError:
            refused += 1
    assert 100 < refused < 2000
    for size in range(0, len(data) - 8, 7):
        with pytest.raises(JsonError):
            Graph.from_serialized(data[:size])


def test_the_command_reads_serialized_graphs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "graph.bin").write_bytes(matmul_add())
    assert main(["graph", "validate", str(tmp_path / "graph.bin")]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def model(*commands: Json, **dispatchables: Json) -> Json:
    return {"resources": {}, "dispatchables": dispatchables, "commands": list(commands)}


def dispatch(name: str, **bindings: Any) -> Json:
    return {"type": "dispatch", "dispatchable": name, "bindings": bindings}


SQUARE = {
    "type": "DML_OPERATOR_ACTIVATION_RELU",
    "desc": {"InputTensor": tensor(1, 1, 2, 2), "OutputTensor": tensor(1, 1, 2, 2)},
}


def test_resources_that_dispatches_share_are_edges() -> None:
    commands = [
        dispatch("relu", InputTensor="a", OutputTensor={"name": "b", "elementCount": 4}),
        dispatch("relu", InputTensor="b", OutputTensor="a"),
        {"type": "print", "resource": "a"},
    ]
    found = Graph.from_model(model(*commands, relu=SQUARE))
    assert (found.inputs, len(found.nodes), len(found.intermediate_edges)) == (("a",), 2, 1)
    assert found.validate() == found.advice() == []
    assert found.outputs == ("a after commands[1]",)


def test_a_model_that_dispatches_a_shader_is_no_graph() -> None:
    with pytest.raises(JsonError):
        Graph.from_model(model(dispatch("shader"), shader={"type": "hlsl", "sourcePath": "x.hlsl"}))


def test_a_graph_is_built_with_the_functions_of_make() -> None:
    builder = Builder()
    x = builder.input("x", TensorDesc("FLOAT32", (1, 1, 2, 3)))
    w = builder.constant(np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4), "w")
    product = builder.gemm(x, w, name="product")
    first, rest = builder.split(product, OutputTensors=[(1, 1, 2, 1), (1, 1, 2, 3)], Axis=3)
    built = builder.build(y=builder.join([rest, first], Axis=3), first=first)
    assert built.validate() == built.advice() == []
    a = np.array([1, 2, 3, 4, 5, 6], np.float32).reshape(1, 1, 2, 3)
    found = dmlops.reference.run(built, {"x": a})
    expected = a[0, 0] @ np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(found["y"][0, 0], np.roll(expected, -1, axis=1))
    assert np.array_equal(found["first"][0, 0], expected[:, :1])
    assert Graph.from_json(built.to_json()).validate() == []


def test_a_builder_takes_its_own_values_alone() -> None:
    builder, other = Builder(), Builder()
    x = other.input("x", TensorDesc("FLOAT32", (1, 1, 2, 3)))
    with pytest.raises(TypeError, match="InputTensor is not a value of this graph"):
        builder.activation_relu(x)
    with pytest.raises(ValueError, match="no edge joins an input to an output"):
        other.build(y=x)


@pytest.fixture(scope="module")
def schema() -> Any:
    text = (Path(dmlops.__file__).parent / "graph_schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def test_the_schema_accepts_what_is_read(schema: Any) -> None:
    for case in graph_cases():
        value = Graph.from_json(case["graph"]).to_json() if case["form"] == "any" else {}
        if "nodes" in value:
            schema.validate({"id": case["id"], **value})
    schema.validate({"inputs": ["x"], "outputs": ["y"], "nodes": [relu("act", "x", "y")]})
    schema.validate(graph([relu("act", "x", "y")]).to_json())


NOT_READ: list[Json] = [
    {"nodes": 1},
    {"node": []},
    {"inputs": [1]},
    {"nodes": [{"constant": -1}]},
    {"nodes": [{"constant": 4, "desc": {}}]},
    {"nodes": [node("", "RELU", {})]},
    {"nodes": [node("", "ACTIVATION_RELU", {"InputTensor": 1}, InputTensor=tensor(1))]},
]


@pytest.mark.parametrize("change", NOT_READ)
def test_the_schema_refuses_what_is_not_read(change: Json, schema: Any) -> None:
    value = {"inputs": ["x"], "outputs": ["y"], "nodes": []} | change
    assert not schema.is_valid(value)
    with pytest.raises(JsonError):
        Graph.from_json(value)
