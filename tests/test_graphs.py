"""Graphs: rules, levels, JSON forms, inference, and the reference."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dmlops
from dmlgen.registry import Registry
from dmlops import JsonError
from dmlops.__main__ import main
from graph_cases import Json, graph, graph_cases, node, relu, tensor


def rules(found: Sequence[dmlops.Violation]) -> list[str]:
    return [one.rule.removeprefix("DML-GRAPH-") for one in found]


CHAIN = [relu("first", "x", "t"), relu("second", "t", "y")]


# Rules.


def test_every_rule_has_a_case(registry: Registry) -> None:
    broken = {rule for case in graph_cases() for rule in (*case["violations"], *case["advice"])}
    assert broken == {rule.id for rule in registry.graphs.rules}
    assert [case["id"] for case in graph_cases() if not (case["violations"] or case["advice"])] == ["valid"]


@pytest.mark.parametrize(
    "case", [one for one in graph_cases() if one["form"] == "any"], ids=lambda case: case["id"]
)
def test_a_case_breaks_its_rule_alone(case: Json) -> None:
    found = dmlops.Graph.from_json(case["graph"])
    level = case["feature_level"]
    assert [one.rule for one in found.validate(level)] == case["violations"]
    assert [one.rule for one in found.advice(level)] == case["advice"]
    lowest = found.min_feature_level()
    assert (lowest is not None and lowest <= dmlops.FeatureLevel(level)) == (not case["violations"])


def test_the_tensors_of_an_edge_can_differ_in_all_but_their_size() -> None:
    """The page says so, and yolov4's graph reads the UINT32 indices of an ARGMAX as FLOAT32."""
    largest = node(
        "largest",
        "ARGMAX",
        {"InputTensor": "x", "OutputTensor": "t"},
        InputTensor=tensor(1, 4),
        OutputTensor={"DataType": "UINT32", "Sizes": [1, 1]},
        AxisCount=1,
        Axes=[1],
        AxisDirection=0,
    )
    assert graph([largest, relu("act", "t", "y", 1, 1, 1, 1)]).validate() == []


def test_clip_grad_of_directmlx_lacks_an_edge() -> None:
    """DirectMLX.h connects one of the two inputs of ELEMENT_WISE_CLIP_GRAD."""
    tensors = {name: tensor(1, 1, 2, 3) for name in ("InputTensor", "InputGradientTensor")}
    bindings = {"InputTensor": "x", "OutputGradientTensor": "y"}
    clip = node("clip", "ELEMENT_WISE_CLIP_GRAD", bindings, **tensors, Min=0.0, Max=1.0)
    (found,) = graph([clip]).validate()
    assert (found.rule, found.member) == ("DML-GRAPH-input-connected", "Nodes[0].InputGradientTensor")


def test_what_is_wrong_with_an_operator_is_told_with_its_node() -> None:
    bad = relu("act", "x", "y", 1, 1, 2, 3, Flags=4)
    (found,) = graph([bad]).validate()
    assert (found.rule, found.member) == ("DML-TENSOR-flags", "Nodes[0].InputTensor.Flags")
    assert found.message.startswith("act: InputTensor.Flags ")


def test_tensors_of_an_invalid_operator_are_not_compared() -> None:
    wrong = relu("second", "t", "y", 1, 1, 2, 4, TotalTensorSizeInBytes=4)
    assert rules(graph([relu("first", "x", "t"), wrong]).validate()) == ["DML-TENSOR-total-size"]


def test_a_level_below_that_of_graphs() -> None:
    assert rules(graph(CHAIN).validate("2.0")) == ["since"]
    assert graph(CHAIN).min_feature_level() == dmlops.FeatureLevel("2.1")


def test_a_node_can_be_newer_than_the_graph() -> None:
    """ACTIVATION_GELU came with 5.1."""
    gelu = node(
        "gelu", "ACTIVATION_GELU", {"InputTensor": "t", "OutputTensor": "y"}, InputTensor=tensor(1, 1, 2, 3)
    )
    found = graph([CHAIN[0], gelu])
    assert found.min_feature_level() == dmlops.FeatureLevel("5.1")
    assert rules(found.validate("5.0")) == ["DML-OPERATOR-since"]


def test_a_long_cycle_is_told_in_part() -> None:
    count = 12
    nodes = [relu(f"n{at}", f"v{at}", f"v{(at + 1) % count}") for at in range(count)]
    (found,) = graph(nodes, (), ("v0",)).validate()
    assert rules([found]) == ["acyclic"] and found.member == "Nodes[0]"
    assert "n0 -> n1 ->" in found.message and found.message.endswith("-> ...")


def test_a_node_reads_what_it_writes() -> None:
    (found,) = graph([relu("self", "y", "y")], ()).validate()
    assert found.message == "self is in a cycle: self -> self"


def test_a_graph_of_many_nodes_takes_linear_time() -> None:
    """Each node of a chain is seen once; 20 000 nodes would take minutes if edges were searched for each."""
    nodes = [relu("", f"v{at}", f"v{at + 1}") for at in range(20_000)]
    assert graph(nodes, ("v0",), ("v20000",)).validate() == []


# JSON by names.


def test_a_name_that_nothing_writes_draws_the_nearest_one() -> None:
    (found,) = graph([relu("first", "X1", "t"), CHAIN[1]], ("x1",)).validate()
    assert found.message.endswith('nothing writes "X1"; did you mean x1?')


def test_outputs_that_are_left_out_are_inferred() -> None:
    nodes = graph(CHAIN).to_json()["nodes"]
    assert nodes[0]["desc"]["OutputTensor"] == tensor(1, 1, 2, 3)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"nodes": 1}, "nodes"),
        ({"node": []}, "node"),
        ({"inputs": ["x", "x"]}, "inputs"),
        ({"inputs": ["x", ""]}, "inputs[1]"),
        ({"inputs": ["x", "t"]}, "nodes[0].bindings.OutputTensor"),
        ({"nodes": [CHAIN[0], relu("second", "x", "t")]}, "nodes[1].bindings.OutputTensor"),
        ({"nodes": [{**CHAIN[0], "bindings": {"Input": "x"}}]}, "nodes[0].bindings.Input"),
        ({"nodes": [{**CHAIN[0], "bindings": {"InputTensor": ["x"]}}]}, "nodes[0].bindings.InputTensor"),
        ({"nodes": [{**CHAIN[0], "type": "DML_OPERATOR_RELU"}]}, "nodes[0].type"),
        ({"nodes": [{"constant": -1}]}, "nodes[0].constant"),
        ({"nodes": [{"constant": "?"}]}, "nodes[0].constant"),
        ({"nodes": [{"constant": [1.0], "bindings": {"Data": "k"}}]}, "nodes[0].constant"),
        ({"nodes": [{"constant": 4, "bindings": {"OutputTensor": "k"}}]}, "nodes[0].bindings.OutputTensor"),
    ],
)
def test_a_value_that_is_no_graph_is_told_with_its_place(change: Json, path: str) -> None:
    with pytest.raises(JsonError) as told:
        dmlops.Graph.from_json({"inputs": ["x"], "outputs": ["y"], "nodes": CHAIN} | change)
    assert told.value.path == path


@pytest.mark.parametrize(
    "value", [None, 1, [], "graph", {}, {"Nodes": []}, {"Nodes": [], "InputCount": 1 << 30, "OutputCount": 0}]
)
def test_other_values_are_no_graphs(value: Any) -> None:
    with pytest.raises(JsonError):
        dmlops.Graph.from_json(value)


def test_more_names_than_an_array_has_entries_are_slots_that_do_not_exist() -> None:
    parts = [tensor(1, 1, 1, 4), tensor(1, 1, 1, 4)]
    join = node(
        "join", "JOIN", {"InputTensors": ["x", "x", "x"], "OutputTensor": "y"}, InputTensors=parts, Axis=2
    )
    assert rules(graph([join]).validate()) == ["slot-range"]
    join["bindings"]["InputTensors"] = ["x", None]
    (found,) = graph([join]).validate()
    assert (rules([found]), found.member) == (["input-connected"], "Nodes[0].InputTensors[1]")


@pytest.mark.parametrize(
    "case", [one for one in graph_cases() if one["form"] == "any"], ids=lambda case: case["id"]
)
def test_a_graph_written_and_read_again_is_the_same(case: Json) -> None:
    level = case["feature_level"]
    first = dmlops.Graph.from_json(case["graph"])
    second = dmlops.Graph.from_json(json.loads(json.dumps(first.to_json())))
    assert rules(second.validate(level)) == rules(first.validate(level))
    assert sorted(rules(second.advice(level))) == sorted(rules(first.advice(level)))


# Inference and the reference.


def test_tensors_follow_through_the_graph() -> None:
    second = node("second", "ACTIVATION_RELU", {"InputTensor": "t", "OutputTensor": "y"})
    whole = graph([second, CHAIN[0]])
    assert rules(whole.validate()) == ["DML-OPERATOR-required"] * 2
    filled = whole.infer()
    assert filled.validate() == []
    assert filled.to_json()["nodes"][0]["desc"]["OutputTensor"] == tensor(1, 1, 2, 3)


def test_the_reference_runs_a_graph() -> None:
    """A row is scaled by a constant, and its four bytes are then read as another type."""
    scale = node(
        "scale",
        "ELEMENT_WISE_MULTIPLY",
        {"ATensor": "x", "BTensor": "k", "OutputTensor": "t"},
        ATensor=tensor(1, 1, 1, 3),
        BTensor=tensor(1, 1, 1, 3, Strides=[0, 0, 0, 0]),
    )
    half = {"name": "half", "constant": [0.5], "bindings": {"Data": "k"}}
    bits = node(
        "bits",
        "ELEMENT_WISE_IDENTITY",
        {"InputTensor": "t", "OutputTensor": "y"},
        InputTensor={"DataType": "UINT32", "Sizes": [1, 1, 1, 3]},
    )
    whole = graph([bits, half, scale])
    x = np.array([1, -2, 3], np.float32).reshape(1, 1, 1, 3)
    y = dmlops.reference.run(whole, {"x": x})["y"]
    assert y.dtype == np.uint32 and y.view(np.float32).tolist() == [[[[0.5, -1.0, 1.5]]]]


def test_strides_say_where_the_next_operator_finds_an_element() -> None:
    """A column of a row-major matrix is written; the reader has the same bytes, consecutively."""
    gaps = {"OutputTensor": tensor(1, 1, 2, 2, Strides=[8, 8, 4, 1], TotalTensorSizeInBytes=32)}
    first = node(
        "first",
        "ACTIVATION_RELU",
        {"InputTensor": "x", "OutputTensor": "t"},
        InputTensor=tensor(1, 1, 2, 2),
        **gaps,
    )
    second = relu("second", "t", "y", 1, 1, 2, 2, Strides=[8, 8, 4, 1], TotalTensorSizeInBytes=32)
    third = node(
        "third",
        "ACTIVATION_RELU",
        {"InputTensor": "t", "OutputTensor": "z"},
        InputTensor=tensor(1, 1, 1, 6, TotalTensorSizeInBytes=32),
    )
    whole = graph([first, second, third], ("x",), ("y", "z"))
    assert whole.validate() == []
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    found = dmlops.reference.run(whole, {"x": x})
    assert found["y"].tolist() == x.tolist()
    assert found["z"].reshape(-1)[[0, 1, 4, 5]].tolist() == [1, 2, 3, 4]


def test_an_array_that_is_missing() -> None:
    with pytest.raises(ValueError, match="x is missing"):
        dmlops.reference.run(graph(CHAIN), {})


def test_a_constant_has_two_elements_of_4_bits_in_a_byte() -> None:
    float4, uint4 = ({"DataType": name, "Sizes": [4]} for name in ("FLOAT32", "UINT4"))
    desc = {"InputTensor": uint4, "QuantizationTensors": [float4], "OutputTensor": float4}
    dequantize = {"type": "DML_OPERATOR_DEQUANTIZE", "desc": {**desc, "QuantizationType": "SCALE"}}
    bound = {"InputTensor": "k", "QuantizationTensors": ["s"], "OutputTensor": "y"}
    data = base64.b64encode(bytes([0x21, 0x43, 0, 0])).decode()
    constants = [
        {"constant": data, "bindings": {"Data": "k"}},
        {"constant": [1, 1, 10, 10], "bindings": {"Data": "s"}},
    ]
    whole = dmlops.Graph.from_json(
        {"outputs": ["y"], "nodes": [*constants, {**dequantize, "bindings": bound}]}
    )
    np.testing.assert_array_equal(dmlops.reference.run(whole, {})["y"], [1, 2, 30, 40])


# The command line.


def ran(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, *words: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status = main(["graph", *words])
    return status, capsys.readouterr().out


def test_validate_answers_each_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{"id": case["id"], **case["graph"]} for case in graph_cases() if case["form"] == "any"]
    text = "".join(f"{json.dumps(line)}\n" for line in lines) + "{\n"
    status, out = ran(capsys, monkeypatch, text, "validate", "-", "--json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert status == 1 and len(answers) == len(lines) + 1
    for answer, case in zip(answers, (one for one in graph_cases() if one["form"] == "any"), strict=False):
        wanted = case["violations"] if case["feature_level"] == "6.4" else []
        assert (answer["id"], answer["ok"]) == (case["id"], not wanted)
        assert [one["rule"] for one in answer["violations"]] == wanted
    assert answers[-1]["violations"][0]["rule"] == "DML-JSON"


def test_explain_marks_the_edge_and_proposes_a_fix(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [CHAIN[0], relu("second", "t", "y", 1, 1, 2, 4)]
    text = json.dumps({"inputs": ["x"], "outputs": ["y"], "nodes": nodes})
    status, out = ran(capsys, monkeypatch, text, "explain", "-")
    lines = out.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("second")]
    marked = lines[at][lines[at + 1].index("^") : lines[at + 1].rindex("^") + 1]
    assert status == 1 and marked == "InputTensor t FLOAT32 1x1x2x4"
    assert "   Fix: second.InputTensor: FLOAT32 1x1x2x3, as it is written; outputs follow" in lines


@pytest.mark.parametrize(
    "case", [one for one in graph_cases() if one["form"] == "any"], ids=lambda case: case["id"]
)
@pytest.mark.parametrize(
    "words", [("explain",), ("show",), ("level",), ("convert", "--to", "dot")], ids=" ".join
)
def test_every_graph_has_a_text(
    words: tuple[str, ...], case: Json, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out = ran(capsys, monkeypatch, json.dumps(case["graph"]), words[0], "-", *words[1:])
    assert out.strip()


def test_level_names_the_node_that_needs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(graph_cases()[0]["graph"])
    _, out = ran(capsys, monkeypatch, text, "level", "-")
    assert "6.2 is for a constant, first in half. Without, it would need 2.1." in out


def test_run_reads_and_writes_arrays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    x = np.array([1, -2, 3, 4, -5, 6], np.float32).reshape(1, 1, 2, 3)
    np.savez(tmp_path / "in.npz", x=x)
    text = json.dumps(graph(CHAIN).to_json())
    words = ("run", "-", "--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz"))
    status, _ = ran(capsys, monkeypatch, text, *words)
    with np.load(tmp_path / "out.npz") as found:
        assert status == 0 and np.array_equal(found["y"], np.maximum(x, 0))
