"""Descriptions and graphs that C writes as JSON: what the Python package reads, and what it says of them."""

from __future__ import annotations

import base64
import ctypes
import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import dmlops
from c_graphs import Library as Graphs
from c_graphs import as_c
from c_library import Library
from dmlops import Graph, OperatorType, TensorDataType, TensorDesc
from dmlops.enums import feature_level
from graph_cases import graph_cases
from random_descriptions import level_and_form, matrix_cases
from random_graphs import random_graphs

TENSOR = TensorDesc(TensorDataType.FLOAT32, (2, 3))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("json"))


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(tmp_path_factory.mktemp("graphs"))


def test_every_case_comes_back_as_it_was(library: Library) -> None:
    """From C to JSON to Python to C: the same text again, so the same values, and the same verdict."""
    operators = set()
    for case in matrix_cases():
        level, form = level_and_form(case)
        try:
            described = dmlops.from_json(form).to_ctypes()
        except ValueError:  # C structs cannot hold it
            continue
        text = library.to_json(described)
        value = json.loads(text)
        try:
            desc = dmlops.from_json(value)
        except dmlops.JsonError:
            assert case["expect"]["ok"] is False and not representable(value), case
            continue
        at = feature_level(level)
        found = {one.rule for one in desc.validate(at)}
        assert found == {rule for rule, _, _ in library.validate(described, at)}, case
        assert library.to_json(desc.to_ctypes()) == text
        operators.add(desc.OPERATOR)
    assert operators == {one.name for one in OperatorType if one}


def representable(value: object) -> bool:
    """Whether Python can hold what C wrote: tensors may be null, as in a fused activation, but no array."""
    if isinstance(value, dict):
        return all(
            representable(one) and (one is not None or name.endswith("Tensor")) for name, one in value.items()
        )
    return not isinstance(value, list) or all(one is not None and representable(one) for one in value)


def test_numbers_keep_every_bit(library: Library) -> None:
    for value in (0.1, 1e-45, 3.4028235e38, -0.0, 1.0, float("inf"), float("-inf")):
        elu = dmlops.ActivationElu(InputTensor=TENSOR, OutputTensor=TENSOR, Alpha=value)
        written = json.loads(library.to_json(elu.to_ctypes()))["desc"]["Alpha"]
        assert np.float32(written).tobytes() == np.float32(value).tobytes()
    for type_, value in (
        ("INT64", -(1 << 63)),
        ("UINT64", (1 << 64) - 1),
        ("FLOAT16", 0.333251953125),
        ("FLOAT16", 5.960464477539063e-08),
        ("FLOAT64", 0.1),
        ("INT8", -128),
        ("UINT4", 15),
    ):
        fill = dmlops.FillValueConstant(OutputTensor=TENSOR, ValueDataType=type_, Value=value)
        written = json.loads(library.to_json(fill.to_ctypes()))["desc"]["Value"]
        assert written == value or (type_ == "FLOAT16" and np.float16(written) == np.float16(value))


def test_what_no_rule_allows_is_written_all_the_same(library: Library) -> None:
    """Whoever sends garbage needs it most."""
    described = dmlops.Cast(InputTensor=TENSOR, OutputTensor=TENSOR).to_ctypes()
    described.Type = 999
    assert json.loads(library.to_json(described)) == {"type": 999, "desc": None}
    described.Type, described.Desc = OperatorType.CAST, None
    assert json.loads(library.to_json(described)) == {"type": "DML_OPERATOR_CAST", "desc": None}
    described = dmlops.Cast(InputTensor=replace(TENSOR, DataType=77)).to_ctypes()
    assert json.loads(library.to_json(described))["desc"]["InputTensor"]["DataType"] == 77


def test_arrays_that_nothing_reads_are_null(library: Library) -> None:
    axes = dmlops.Reduce(Function="SUM", InputTensor=TENSOR, OutputTensor=TENSOR, Axes=(0,) * 9)
    desc = json.loads(library.to_json(axes.to_ctypes()))["desc"]
    assert (desc["AxisCount"], desc["Axes"]) == (9, None)


def test_it_writes_what_fits(library: Library) -> None:
    described = dmlops.Cast(InputTensor=TENSOR, OutputTensor=TENSOR).to_ctypes()
    whole = library.to_json(described).encode()
    for size in (1, 2, 20, len(whole)):
        memory = ctypes.create_string_buffer(b"\xff" * (size + 1), size + 1)
        assert library.write_json(described, memory, size) == len(whole)
        assert memory.raw == whole[: size - 1] + b"\0\xff"


# Graphs.


def test_graphs_come_back_as_they_were(graphs: Graphs) -> None:
    cases = [Graph.from_json(one["graph"]) for one in graph_cases() if one["form"] != "abi"]
    for graph in (*cases, *islice(random_graphs(3), 300)):
        try:
            whole = as_c(graph)
        except ValueError:  # C structs cannot hold it
            continue
        value = graphs.to_json(whole)
        if not representable(value):
            assert graph.validate()
            continue
        again = Graph.from_json(value)
        assert [one.rule for one in again.validate()] == [one.rule for one in graph.validate()]
        assert [one.name for one in again.nodes] == [one.name for one in graph.nodes]
        assert graphs.to_json(as_c(again)) == value


def test_names_of_any_bytes_and_unknown_nodes(graphs: Graphs) -> None:
    whole = as_c(Graph.from_json(graph_cases()[0]["graph"]))
    names = [
        b'"quoted\\"\n',
        "weiß \u65e5\u672c \U0001f600".encode(),
        b"\xff\xc0\x80\xed\xa0\x80.",
        b"\xf4\x90\x80\x80",
    ]
    for node, name in zip(whole.nodes, names, strict=False):
        ctypes.c_char_p.from_address(node.Desc + (16 if node.Type == 2 else 8)).value = name
    whole.operators[4] = None
    read = graphs.to_json(whole)["Nodes"]
    assert [node["name"] for node in read[:4]] == [names[0].decode(), names[1].decode(), "??????.", "????"]
    assert read[4] == {"name": "parts", "type": None}


def test_constants_have_their_contents(graphs: Graphs) -> None:
    whole = as_c(Graph.from_json(graph_cases()[0]["graph"]))
    for size in range(9):
        data = ctypes.create_string_buffer(bytes(range(250, 250 + size % 6)) * 2, 10)
        ctypes.c_void_p.from_address(whole.nodes[1].Desc).value = ctypes.addressof(data)
        ctypes.c_size_t.from_address(whole.nodes[1].Desc + 8).value = size
        assert base64.b64decode(graphs.to_json(whole)["Nodes"][1]["constant"]) == data.raw[:size]
