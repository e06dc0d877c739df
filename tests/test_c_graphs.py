"""Graphs in C: the rules that only structs can break, and agreement with Python on random graphs."""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any

import pytest

from c_graphs import Library, Typed, Whole, as_c, compare
from dmlops import FeatureLevel, Graph
from dmlops.enums import feature_level
from graph_cases import Json, graph, graph_cases, node, relu, tensor

COUNT = 4000
NEWEST = max(FeatureLevel)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("graphs"))


def of_structs(case: Json) -> Whole:
    """The graph of a case that only structs can express, from its paths of members of the ABI."""
    whole = as_c(Graph.from_json(graph_cases()[0]["graph"]))
    for at, one in enumerate(case["graph"]["Nodes"]):
        if "Operator" in one:
            whole.operators[at] = None
        if one.get("Type") is not None and not isinstance(one["Type"], str):
            whole.nodes[at].Type = one["Type"]
    for at, one in enumerate(case["graph"]["InputEdges"]):
        if "Desc" in one:
            whole.edges["InputEdges"][at].Desc = None
        if "Type" in one:
            whole.edges["InputEdges"][at].Type = one["Type"]
    return whole


@pytest.mark.parametrize("case", graph_cases(), ids=lambda case: case["id"])
def test_a_case_breaks_its_rule_alone(case: Json, library: Library) -> None:
    whole = of_structs(case) if case["form"] == "abi" else as_c(Graph.from_json(case["graph"]))
    level = feature_level(case["feature_level"])
    assert [rule for rule, _, _ in library.judge(whole, level, False)] == case["violations"]
    assert [rule for rule, _, _ in library.judge(whole, level, True)] == case["advice"]


def test_c_and_python_agree_on_random_graphs(library: Library) -> None:
    seen: Counter[str] = Counter()
    for one in compare(COUNT, library):
        assert one.agrees, one
        seen.update(rule for rule, _, _ in one.python[0])
        seen["none"] += not one.python[0]
    cases = [case for case in graph_cases() if case["form"] == "any"]
    rules = {rule for case in cases for rule in (*case["violations"], *case["advice"])}
    assert rules - seen.keys() == set() and seen["none"] > COUNT // 80


def test_slots_count_absent_tensors_and_entries(library: Library) -> None:
    parts = [tensor(1, 1, 1, 4), tensor(1, 1, 1, 4)]
    join: Any = graph([node("", "JOIN", {}, InputTensors=parts, Axis=2)]).nodes[0].desc
    assert library.slots(join, False, 8) == ["2", "InputTensors 0 4 0", "InputTensors 1 4 0"]
    assert library.slots(join, False, 1) == ["2", "InputTensors 0 4 0"]
    assert library.slots(join, True, 8) == ["1", "OutputTensor -1 4 0"]
    gemm = Graph.from_json(graph_cases()[0]["graph"]).nodes[0].desc
    assert gemm is not None
    assert library.slots(gemm, False, 8) == ["3", "ATensor -1 4 0", "BTensor -1 4 0", "CTensor -1 -1 1"]


CHAIN = [relu("first", "x", "t"), relu("second", "t", "y")]


@pytest.mark.parametrize("field", ["Nodes", "InputEdges", "OutputEdges", "IntermediateEdges"])
def test_an_array_that_is_absent(field: str, library: Library) -> None:
    whole = as_c(graph(CHAIN))
    setattr(whole, field, None)
    assert [(rule, member) for rule, member, _ in library.judge(whole, NEWEST, False)] == [
        ("DML-GRAPH-required", field)
    ]


def test_nodes_without_descriptions(library: Library) -> None:
    whole = as_c(graph(CHAIN))
    whole.nodes[0].Desc = None
    whole.operators[1] = None
    found = [(rule, member) for rule, member, _ in library.judge(whole, NEWEST, False)]
    assert found == [
        ("DML-GRAPH-required", "Nodes[0].Desc"),
        ("DML-GRAPH-node-operator", "Nodes[1].Operator"),
    ]


def test_an_operator_of_an_unknown_type_has_no_slots(library: Library) -> None:
    whole = as_c(graph(CHAIN))
    unknown = (ctypes.c_uint32 * 4)(9999, 0, 0, 0)
    whole.operators[1] = ctypes.addressof(unknown)
    found = [(rule, member) for rule, member, _ in library.judge(whole, NEWEST, False)]
    assert found == [("DML-OPERATOR-type", "Nodes[1].Type")]


def test_an_edge_of_another_type_is_not_read(library: Library) -> None:
    """The struct of an input edge is shorter than that of an intermediate one."""
    whole = as_c(graph(CHAIN))
    edges: Any = (Typed * 1)(Typed(1, None))
    whole.IntermediateEdges = ctypes.addressof(edges)
    assert [rule for rule, _, _ in library.judge(whole, NEWEST, False)] == ["DML-GRAPH-edge-type"]


def test_a_level_that_does_not_exist(library: Library) -> None:
    found = library.judge(as_c(graph(CHAIN)), 0x1234, False)  # type: ignore[arg-type]
    assert [rule for rule, _, _ in found] == ["DML-OPERATOR-feature-level"]
