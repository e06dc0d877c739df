"""The data of the test matrices: all of it run by the reference and the shaders, in the layouts described.

The generator computes the data, and shares neither arithmetic nor schedules with the two. It is itself
checked against the pages' worked examples, here and in test_cases.py; the reference, which gives the same, is
checked against NumPy in test_compute_*.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dmlops
from gpu_device import device, run_in_guard_zones
from matrix_cases import MATRICES, arrays, cases, check, described, entries, supported
from whole_registry import whole_registry

__all__ = ["device"]

REGISTRY = whole_registry()
OPERATORS = REGISTRY.operators
SLUGS = [operator.slug for operator in OPERATORS]
UNSHARED = {"slice_grad"}  # none of its small cases has a stride of 0 along a dimension of several elements
MOST_CASES = 16  # with data of an operator, beside the examples of its page


@pytest.mark.parametrize("slug", SLUGS)
def test_reference_gives_the_expected_data(slug: str) -> None:
    for case in cases(slug):
        found = dmlops.reference.run(described(case), arrays(case, "inputs"))
        for name, elements in case["outputs"].items():
            if isinstance(found[name], list):
                for part, one in zip(found[name], elements, strict=True):
                    check(case, name, one, part, "reference")
            else:
                check(case, name, elements, found[name], "reference")


@pytest.mark.parametrize("slug", SLUGS)
def test_shaders_give_the_expected_data(slug: str, device: Any) -> None:
    for case in cases(slug):
        found = run_in_guard_zones(device, described(case), arrays(case, "inputs"))
        for name, elements in case["outputs"].items():
            if name in found:
                check(case, name, elements, found[name], "shader")
            else:
                for number, one in enumerate(elements):
                    check(case, name, one, found[f"{name}[{number}]"], "shader")


def shares(tensor: Any) -> bool:
    return any(
        size > 1 and not stride for size, stride in zip(tensor.Sizes, tensor.element_strides, strict=True)
    )


@pytest.mark.parametrize("slug", SLUGS)
def test_elements_that_share_a_place_are_equal(slug: str) -> None:
    for case in cases(slug):
        for _, tensor, elements in entries(case, "inputs"):
            places: dict[int, Any] = {}
            for at, element in zip(np.ndindex(*tensor.Sizes), elements, strict=True):
                place = sum(c * stride for c, stride in zip(at, tensor.element_strides, strict=True))
                assert places.setdefault(place, element) == element, case["id"]


@pytest.mark.parametrize("slug", SLUGS)
def test_every_computed_operator_has_data_of_many_kinds(slug: str) -> None:
    operator = REGISTRY.operator[slug.upper()]
    content = json.loads((MATRICES / f"{slug}.json").read_bytes())
    found = [case for case in cases(slug) if case["kind"] == "positive"]
    assert 4 <= len(found) <= MOST_CASES
    assert sum("choices" not in case for case in found) >= 4 or slug == "random_generator"
    for row in supported(content)["6.4"]:
        shown = [
            tensor
            for case in found
            for role in ("inputs", "outputs")
            for name, tensor, _ in entries(case, role)
            if name == row["tensor"]
        ]
        assert len({tensor.DataType for tensor in shown}) >= min(len(row["types"]), 4), row["tensor"]
        assert {1, 8} & {*row["ranks"]} <= {len(tensor.Sizes) for tensor in shown}, row["tensor"]
    inputs = [tensor for case in found for _, tensor, _ in entries(case, "inputs")]
    if inputs and slug != "random_generator":
        assert any(tensor.Strides is None for tensor in inputs)
        assert any(tensor.Strides is not None and not shares(tensor) for tensor in inputs)
        assert any(map(shares, inputs)) or slug in UNSHARED, "none has a stride of 0"
    for member in operator.attributes:
        if member.type in REGISTRY.enums and member.type not in ("TENSOR_DATA_TYPE",):
            values = {case["desc"][member.name] for case in content["cases"] if case["kind"] == "positive"}
            assert {case["desc"][member.name] for case in found} == values, member.name


def test_choices_rest_on_errata_or_on_requirements_of_data() -> None:
    silent = {
        (operator.name, choice)
        for operator in OPERATORS
        if not operator.data_constraints and not any(erratum.source == "ours" for erratum in operator.errata)
        for case in cases(operator.slug)
        for choice in set(case.get("choices", ())) - {"NaN", "infinities"}
    }
    assert silent == set()


def test_indices_out_of_range_are_marked() -> None:
    """Of the operators whose index tensor names places along one axis."""
    marked = 0
    for slug in ("gather", "gather_elements", "scatter_elements"):
        for case in cases(slug):
            size = described(case).InputTensor.Sizes[case["desc"]["Axis"]]
            indices = [int(index) for index in case["inputs"]["IndicesTensor"]]
            outside = any(not -size <= index < size for index in indices)
            assert outside == ("indices out of range" in case.get("choices", ())), case["id"]
            marked += outside
            if min(indices) < 0 and not outside:
                assert case["feature_level"] >= "3.0"
    assert marked


def numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif not isinstance(value, str | bool | None):
        yield value


def strict(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


def test_every_number_is_one_that_javascript_has() -> None:
    for path in sorted(MATRICES.glob("*.json")):
        if path.name != "matrix.schema.json":
            content = json.loads(path.read_bytes(), parse_constant=strict)
            for number in numbers(content):
                assert not isinstance(number, int) or abs(number) < 1 << 53, path.name


def test_node_reads_the_same_numbers() -> None:
    """Every number in every file is printed by JavaScript as Python reads it."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; that numbers are below 2**53 is tested without it")
    script = """
    const fs = require("fs");
    const all = (value) => typeof value === "number" ? [value]
        : value && typeof value === "object" ? Object.values(value).flatMap(all) : [];
    for (const path of fs.readFileSync(0, "utf8").trim().split("\\n"))
        console.log(JSON.stringify(all(JSON.parse(fs.readFileSync(path, "utf8")))));
    """
    paths = [path for path in sorted(MATRICES.glob("*.json")) if path.name != "matrix.schema.json"]
    given = "\n".join(map(str, paths))
    result = subprocess.run([node, "-e", script], input=given, capture_output=True, text=True, check=True)
    for path, line in zip(paths, result.stdout.splitlines(), strict=True):
        assert json.loads(line) == list(numbers(json.loads(path.read_bytes()))), path.name
