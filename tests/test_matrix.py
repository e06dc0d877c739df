"""The test matrices as files, and judged again by the generated package, which shares no code with them."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import dmlops
from dmlgen.outputs import matrix
from dmlgen.outputs.render import Templates
from dmlgen.resolve import load_registry

ROOT = Path(__file__).parents[1]
OPERATORS = ("gather", "gather_elements", "gather_nd", "gather_nd1")

# Rules that no description in JSON breaks alone, and why.
ONLY_C = {"DML-OPERATOR-type", "DML-OPERATOR-feature-level", "DML-TENSOR-type"}
NO_ENUMERATION = {"DML-OPERATOR-enum-value"}
AT_EVERY_LEVEL = {"DML-OPERATOR-since"}  # the operator is there
ANY_RANK = {"DML-OPERATOR-dimension-count"}  # the table takes all that DML-TENSOR-rank lets pass
UNBROKEN = {
    "gather": ONLY_C | NO_ENUMERATION | AT_EVERY_LEVEL,
    "gather_elements": ONLY_C | NO_ENUMERATION,
    "gather_nd": ONLY_C | NO_ENUMERATION,
    "gather_nd1": ONLY_C | NO_ENUMERATION | ANY_RANK,
}

Matrix = dict[str, Any]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return matrix.render(load_registry(ROOT / "specs"), Templates(ROOT / "templates"))


@pytest.fixture(params=OPERATORS)
def one(request: pytest.FixtureRequest, files: dict[str, bytes]) -> tuple[str, Matrix]:
    return request.param, json.loads(files[f"matrix/{request.param}.json"])


def violated(case: Matrix, level: str) -> list[str]:
    description = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
    return sorted({violation.rule for violation in description.validate(level)})


def shown(case: Matrix) -> Iterator[tuple[str, str, int]]:
    for name, value in case["desc"].items():
        if isinstance(value, dict):
            yield name, value["DataType"], len(value["Sizes"])


def distance(one: Matrix, other: Matrix) -> int:
    """How many members, fields of tensors and levels differ."""
    count = int(one["feature_level"] != other["feature_level"])
    for name in one["desc"].keys() | other["desc"].keys():
        left, right = one["desc"].get(name), other["desc"].get(name)
        if isinstance(left, dict) and isinstance(right, dict):
            count += sum(left.get(field) != right.get(field) for field in left.keys() | right.keys())
        else:
            count += left != right
    return count


def test_every_file_fits_the_schema(files: dict[str, bytes]) -> None:
    schema = json.loads(files["matrix/matrix.schema.json"])
    jsonschema.Draft7Validator.check_schema(schema)
    for operator in OPERATORS:
        data = files[f"matrix/{operator}.json"]
        jsonschema.Draft7Validator(schema).validate(json.loads(data))
        assert data.isascii()
        assert len(data) < 120_000
        lines = [line.rstrip(b",") for line in data.splitlines() if line.startswith(b'{"id":')]
        assert [json.loads(line) for line in lines] == json.loads(data)["cases"], "one case a line"


def test_the_package_agrees_with_every_expectation(one: tuple[str, Matrix]) -> None:
    for case in one[1]["cases"]:
        expect = case["expect"]
        assert violated(case, case["feature_level"]) == expect["rules"], case["id"]
        assert expect["ok"] == (not expect["rules"]), case["id"]
        description = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
        lowest = description.min_feature_level()
        assert (lowest and str(lowest)) == expect["min_feature_level"], case["id"]


def test_kinds_are_what_they_say(one: tuple[str, Matrix]) -> None:
    _, content = one
    cases = {case["id"]: case for case in content["cases"]}
    assert len(cases) == len(content["cases"])
    for case in cases.values():
        if case["kind"] == "negative":
            assert case["expect"]["rules"] == [case["breaks"]], case["id"]
            assert cases[case["twin"]]["expect"]["ok"], case["id"]
        else:
            assert case["expect"]["ok"], case["id"]


def test_most_negatives_differ_from_their_twin_in_one_place(one: tuple[str, Matrix]) -> None:
    cases = {case["id"]: case for case in one[1]["cases"]}
    negatives = [case for case in cases.values() if case["kind"] == "negative"]
    distances = [distance(case, cases[case["twin"]]) for case in negatives]
    assert distances.count(1) >= 0.85 * len(distances)
    assert max(distances) <= 6, "element-count needs large sizes and strides of 0 in several tensors"


def test_every_rule_is_broken_alone_or_says_why_not(one: tuple[str, Matrix]) -> None:
    name, content = one
    broken = [case["breaks"] for case in content["cases"] if "breaks" in case]
    for rule in content["coverage"]:
        assert broken.count(rule["rule"]) == rule["broken"]
        assert ("unbroken" in rule) == (rule["broken"] == 0)
        assert rule["held"] > 0 or rule["rule"] in ONLY_C | NO_ENUMERATION
    assert {rule["rule"] for rule in content["coverage"] if not rule["broken"]} == UNBROKEN[name]


def test_rules_of_tensors_are_broken_for_every_tensor(one: tuple[str, Matrix]) -> None:
    _, content = one
    tensors = {name for name, _, _ in shown(content["cases"][0])}
    for rule in content["coverage"]:
        if rule["rule"].startswith("DML-TENSOR-") and rule["rule"] not in ONLY_C | {"DML-TENSOR-flags-owned"}:
            members: set[str] = set()
            for case in content["cases"]:
                if case.get("breaks") == rule["rule"]:
                    found = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
                    violations = found.validate(case["feature_level"])
                    members |= {violation.member.partition(".")[0] for violation in violations}
            assert members == tensors, rule["rule"]


def test_cases_of_form_json_are_those_that_c_cannot_express(one: tuple[str, Matrix]) -> None:
    for case in one[1]["cases"]:
        tensors = [value for value in case["desc"].values() if isinstance(value, dict)]
        numbers = [value for value in case["desc"].values() if isinstance(value, int)]
        numbers += [
            n
            for t in tensors
            for n in (*t["Sizes"], *t.get("Strides", ()), t.get("GuaranteedBaseOffsetAlignment", 0))
        ]
        inexpressible = (
            any(not 0 <= number < 2**32 for number in numbers)
            or any(not 0 <= t.get("TotalTensorSizeInBytes", 0) < 2**64 for t in tensors)
            or any("Strides" in t and len(t["Strides"]) != len(t["Sizes"]) for t in tensors)
        )
        assert (case.get("form") == "json") == inexpressible, case["id"]


def test_positives_show_every_entry_of_every_table(one: tuple[str, Matrix]) -> None:
    _, content = one
    positives = [case for case in content["cases"] if case["kind"] == "positive"]
    assert content["missed"] == []
    for level, rows in content["support"].items():
        valid = {entry for case in positives if not violated(case, level) for entry in shown(case)}
        table = {
            (row["tensor"], type_, rank)
            for row in rows or ()
            for type_ in row["types"]
            for rank in row["ranks"]
        }
        assert valid == table, level


def test_positives_pair_types_and_layouts(one: tuple[str, Matrix]) -> None:
    _, content = one
    positives = [case["desc"] for case in content["cases"] if case["kind"] == "positive"]
    pairs = {(desc["InputTensor"]["DataType"], desc["IndicesTensor"]["DataType"]) for desc in positives}
    types = {row["tensor"]: row["types"] for row in content["support"]["6.4"]}
    assert pairs == set(itertools.product(types["InputTensor"], types["IndicesTensor"]))
    for tensor in types:
        strides = {(desc[tensor]["DataType"], "Strides" in desc[tensor]) for desc in positives}
        assert strides == set(itertools.product(types[tensor], (False, True))), tensor
    assert any(0 in desc["InputTensor"].get("Strides", ()) for desc in positives)
    assert all(0 not in desc["OutputTensor"].get("Strides", ()) for desc in positives)
    assert any(np.prod(desc["InputTensor"]["Sizes"]) == 1 for desc in positives)


def test_outputs_are_what_numpy_computes(one: tuple[str, Matrix]) -> None:
    computed = 0
    for case in one[1]["cases"]:
        if "outputs" in case:
            description = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
            arrays = {}
            for name, elements in {**case["inputs"], **case["outputs"]}.items():
                tensor = getattr(description, name)
                arrays[name] = np.array(elements, tensor.DataType.numpy).reshape(tensor.Sizes)
            inputs = {name: arrays[name] for name in case["inputs"]}
            for name, result in dmlops.reference.run(description, inputs).items():
                np.testing.assert_array_equal(result, arrays[name], case["id"])
            computed += 1
    assert computed >= 80


def test_data_has_indices_of_all_kinds(one: tuple[str, Matrix]) -> None:
    indices = [
        (case["desc"]["IndicesTensor"]["DataType"], index)
        for case in one[1]["cases"]
        if case["kind"] == "positive"
        for index in case["inputs"]["IndicesTensor"]
    ]
    assert any(index < 0 for _, index in indices)
    assert all(index >= 0 for type_, index in indices if type_.startswith("U"))
    assert {index for _, index in indices} >= {-2, -1, 0, 1, 2}


def test_same_bytes_whatever_the_hash_seed(files: dict[str, bytes]) -> None:
    script = (
        "import hashlib, pathlib\n"
        "from dmlgen.outputs import matrix\n"
        "from dmlgen.outputs.render import Templates\n"
        "from dmlgen.resolve import load_registry\n"
        "files = matrix.render(load_registry(pathlib.Path('specs')), Templates(pathlib.Path('templates')))\n"
        "print(hashlib.sha256(b''.join(files[name] for name in sorted(files))).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    digest = hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()
    assert result.stdout.strip() == digest


def test_the_plugin_gives_a_test_every_case(files: dict[str, bytes], tmp_path: Path) -> None:
    for name, data in files.items():
        (tmp_path / Path(name).name).write_bytes(data)
    (tmp_path / "test_it.py").write_text(
        "import dmlops\n"
        "def test_case(matrix_case):\n"
        "    description = dmlops.from_json({key: matrix_case[key] for key in ('type', 'desc')})\n"
        "    violations = description.validate(matrix_case['feature_level'])\n"
        "    assert (not violations) == matrix_case['expect']['ok']\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_plugin", "-p", "no:cacheprovider", "."]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    count = sum(len(json.loads(files[f"matrix/{operator}.json"])["cases"]) for operator in OPERATORS)
    assert f"{count} passed" in result.stdout, result.stdout[-2000:]
