# ruff: noqa: E501   (a table)
"""The catalog of algorithms: every wrong use of one is a finding at its position."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dmlops
from dmlgen.catalog import ALGORITHMS, KINDS
from schedule_cases import Variant
from spoiled import SPECS, Spoil
from whole_registry import whole_registry

TOP = "operators/selection/top_k1.yaml"
NONZERO = "operators/selection/nonzero_coordinates.yaml"
RANDOM = "operators/generator/random_generator.yaml"


SPOILS = [
    Spoil("algorithm", TOP, "algorithm: top_k", "algorithm: topk", "unknown-name", "topk", "top_k"),
    Spoil("role", TOP, "largest:", "larges:", "unknown-key", "larges:", "largest"),
    Spoil("role of another algorithm", TOP, "  count: K\n", "  count: K\n  place: K\n", "unknown-key", "place: K", "output, input, indices, axis, count, largest"),
    Spoil("missing role", TOP, "  count: K\n", "", "missing-key", "top_k\n", "the number of elements from each line"),
    Spoil("role twice", TOP, "  count: K\n", "  count: K\n  count: K\n", "duplicate-key", "count: K\n  largest"),
    Spoil("tensor", TOP, "input: InputTensor", "input: InputTenser", "unknown-name", "InputTenser", "InputTensor"),
    Spoil("tensor of the other role", TOP, "input: InputTensor", "input: OutputValueTensor", "unknown-name", "OutputValueTensor\n  indices", "an input tensor"),
    Spoil("no tensor", TOP, "output: OutputValueTensor", "output: K", "unknown-name", "K\n", "an output tensor"),
    Spoil("optional tensor", RANDOM, "  output: OutputTensor\n", "  output: OutputStateTensor\n", "wrong-value", "OutputStateTensor\n  state", "may be absent"),
    Spoil("int for a bool", TOP, "largest: AxisDirection == DECREASING", "largest: K", "expression-type", "K\n\nexamples", "bool is expected"),
    Spoil("bool for an int", TOP, "axis: Axis", "axis: AxisDirection == DECREASING", "expression-type", "AxisDirection == DECREASING\n  count", "int is expected"),
    Spoil("number for a tensor", TOP, "input: InputTensor", "input: 3", "unknown-name", "3\n", "an input tensor"),
    Spoil("list for a number", TOP, "count: K", "count: [K]", "wrong-type", "[K]", "an int"),
    Spoil("mapping for a tensor", TOP, "input: InputTensor", "input: {tensor: InputTensor}", "wrong-type", "{tensor", "an input tensor"),
    Spoil("member", TOP, "axis: Axis", "axis: Axes", "unknown-name", "Axes", "Axis"),
    Spoil("what an element decides", TOP, "count: K", "count: int(InputTensor[[0 for d in axes(InputTensor)]])", "unknown-name", "int(", "no function"),
    Spoil("at", TOP, "count: K", "count: at[0]", "unknown-name", "at[0]", "no member"),
    Spoil("outputs beside", NONZERO, "  algorithm: nonzero\n", "  algorithm: nonzero\n  outputs: {OutputCountTensor: 1}\n", "unknown-key", "outputs:", "nonzero has no role"),
    Spoil("algorithm of a definition", NONZERO, "  algorithm: nonzero\n", "  algorithmus: nonzero\n", "unknown-key", "algorithmus", "algorithm"),
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.name)
def test_a_wrong_use_of_an_algorithm_is_a_positioned_finding(spoil: Spoil, tmp_path: Path) -> None:
    spoil.check(tmp_path)


def test_every_algorithm_is_listed_on_the_page_and_used() -> None:
    page = (SPECS.parent / "generated/definitions.md").read_text(encoding="utf-8")
    used = {one.algorithm.name for one in whole_registry().operators if one.algorithm is not None}
    assert used == set(ALGORITHMS)
    for name, algorithm in ALGORITHMS.items():
        assert f"**`{name}`**" in page
        for role, wanted in algorithm.roles.items():
            assert f"| `{role}` | {KINDS[wanted.kind]}" in page


def test_a_role_may_use_names(tmp_path: Path) -> None:
    """Of the rules' `let`."""
    section = """compute:
  algorithm: top_k
  output: OutputValueTensor
  input: InputTensor
  indices: OutputIndexTensor
  axis: Axis
  count: (Length + 1) // 2
  largest: true
"""
    variant = Variant(
        tmp_path, "TOP_K", section, {"\nrules:\n": "\nlet: {Length: 'InputTensor.Sizes[Axis]'}\n\nrules:\n"}
    )
    values = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]], np.float32)
    input_, output = ({"DataType": "FLOAT32", "Sizes": sizes} for sizes in ([2, 5], [2, 3]))
    members = {
        "InputTensor": input_,
        "OutputValueTensor": output,
        "OutputIndexTensor": {**output, "DataType": "UINT32"},
    }
    desc = dmlops.from_json({"type": "TOP_K", "desc": {**members, "Axis": 1, "K": 5}})
    found = variant.by_definition(desc, {"InputTensor": values})
    assert found["OutputValueTensor"].tolist() == [[5, 4, 3], [9, 6, 5]]
    assert found["OutputIndexTensor"].tolist() == [[4, 2, 0], [0, 2, 3]]
