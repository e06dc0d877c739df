"""Graphs in C: the rules that only structs can break, and agreement with Python on random graphs."""

from __future__ import annotations

import ctypes
import subprocess
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import dmlops
from c_fuzz import HEADER, fuzz
from c_graphs import Library, Typed, Whole, as_c, compare
from c_library import Library as Descriptions
from c_runner import SANITIZERS, build, compiler
from dmlops import FeatureLevel, Graph
from dmlops.enums import feature_level
from graph_cases import Json, graph, graph_cases, node, relu, tensor
from random_descriptions import level_and_form, matrix_cases
from test_c_fuzz import FUZZER

COUNT = 4000
Bytes = ctypes.c_uint8 * 16  # a DML_OPERATOR_DESC
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
    """Draws go on until every rule has been broken, however rarely it is."""
    cases = [case for case in graph_cases() if case["form"] == "any"]
    missing = {rule for case in cases for rule in (*case["violations"], *case["advice"])}
    valid = 0
    for number, one in enumerate(compare(4 * COUNT, library)):
        assert one.agrees, one
        missing -= {rule for rule, _, _ in one.python[0]}
        valid += not one.python[0]
        if number >= COUNT and not missing:
            break
    assert not missing and valid > COUNT // 80


def test_slots_count_absent_tensors_and_entries(library: Library) -> None:
    parts = [tensor(1, 1, 1, 4), tensor(1, 1, 1, 4)]
    join: Any = graph([node("", "JOIN", {}, InputTensors=parts, Axis=2)]).nodes[0].desc
    assert library.slots(join, False, 8) == ["2", "InputTensors 0 4 0", "InputTensors 1 4 0"]
    assert library.slots(join, False, 1) == ["2", "InputTensors 0 4 0"]
    assert library.slots(join, True, 8) == ["1", "OutputTensor -1 4 0"]
    gemm = Graph.from_json(graph_cases()[0]["graph"]).nodes[0].desc
    assert gemm is not None
    assert library.slots(gemm, False, 8) == ["3", "ATensor -1 4 0", "BTensor -1 4 0", "CTensor -1 -1 1"]


def test_a_copy_stands_alone(library: Library, tmp_path: Path) -> None:
    """A copy says the same when what it was made from is gone."""
    judge = Descriptions(tmp_path)
    for case in islice((one for one in matrix_cases() if one.get("form") is None), 0, None, 7):
        level, form = level_and_form(case)
        try:
            described = dmlops.from_json(form).to_ctypes()
        except ValueError:
            continue
        before = judge.validate(described, feature_level(level))
        memory = library.copy(described)
        again = Bytes.from_buffer(memory)
        image = bytes(again)
        del described
        assert bytes(again) == image
        assert judge.validate(again, feature_level(level)) == before


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


def test_no_bytes_cause_an_undefined_act(tmp_path: Path) -> None:
    program = build(HEADER, "fuzz_graph.c", tmp_path / "fuzz", "clang", *SANITIZERS, *FUZZER)
    (tmp_path / "corpus").mkdir()
    result = fuzz(program, tmp_path / "corpus", "-seed=1", "-runs=20000")
    assert result.returncode == 0, result.stderr[-4000:]


def test_structs_of_interfaces_are_laid_out_without_d3d12_h(tmp_path: Path) -> None:
    """As the official header lays them out: see test_c_beside."""
    source = tmp_path / "table.c"
    source.write_text(TABLE)
    for name in ("gcc", "x86_64-w64-mingw32-gcc"):
        command = [
            compiler(name),
            f"-I{HEADER.parent}",
            "-fsyntax-only",
            "-std=c11",
            "-Wall",
            "-Werror",
            str(source),
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


TABLE = """
#define DMLOPS_STANDALONE
#include "dmlops.h"
static const DML_BINDING_TABLE_DESC table = {NULL, {1}, {2}, 3};
_Static_assert(sizeof table == 32 && offsetof(DML_BINDING_TABLE_DESC, SizeInDescriptors) == 24, "");
_Static_assert(offsetof(DML_BINDING_TABLE_DESC, GPUDescriptorHandle.ptr) == 16, "");
int main(void) { return (int)(table.CPUDescriptorHandle.ptr + table.GPUDescriptorHandle.ptr) - 3; }
"""
