"""The test matrices as files: judged by the generated package; in test_c_answers.py, C judges them too."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import dmlops
from dmlgen.outputs import matrix, python
from dmlgen.outputs.render import Templates
from dmlgen.registry import EnumEntry, NumberType, Operator, Registry, integer_range
from matrix_cases import supported
from whole_registry import whole_registry

ROOT = Path(__file__).parents[1]
REGISTRY = whole_registry()
OPERATORS = tuple(operator.slug for operator in REGISTRY.operators)
GATHERS = ("gather", "gather_elements", "gather_nd", "gather_nd1")

# Rules that no description in JSON breaks alone, and why.
ONLY_C = {"DML-OPERATOR-type", "DML-OPERATOR-feature-level", "DML-TENSOR-type"}
ONLY_PYTHON = {"DML-OPERATOR-type-of-member"}

Matrix = dict[str, Any]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The committed files; `make check` shows that they are what the generator makes."""
    return {f"matrix/{path.name}": path.read_bytes() for path in (ROOT / "generated/matrix").iterdir()}


@pytest.fixture(params=OPERATORS)
def one(request: pytest.FixtureRequest, files: dict[str, bytes]) -> tuple[str, Matrix]:
    return request.param, json.loads(files[f"matrix/{request.param}.json"])


@pytest.fixture(params=GATHERS)
def gather(request: pytest.FixtureRequest, files: dict[str, bytes]) -> tuple[str, Matrix]:
    return request.param, json.loads(files[f"matrix/{request.param}.json"])


def rendered(registry: Registry, known: Mapping[str, bytes] = {}) -> dict[str, bytes]:
    """The matrices of a registry, some of which may be known."""
    templates = Templates(ROOT / "templates")
    return matrix.render(registry, templates, {**python.installed(registry, templates), **known})


def violated(case: Matrix, level: str) -> list[str]:
    description = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
    return sorted({violation.rule for violation in description.validate(level)})


def tensors(value: Any) -> Iterator[dict[str, Any]]:
    """The tensors of a member: one, those of an array, or none."""
    if isinstance(value, list):
        for entry in value:
            yield from tensors(entry)
    elif isinstance(value, dict) and "Sizes" in value:
        yield value


def shown(case: Matrix) -> Iterator[tuple[str, str, int]]:
    for name, value in case["desc"].items():
        for tensor in tensors(value):
            yield name, tensor["DataType"], len(tensor["Sizes"])


def untestable(name: str) -> set[str]:
    """The general rules that no description of the operator can break alone, by what the registry says."""
    operator = REGISTRY.operator[name.upper()]
    types = {member.type for member in operator.attributes}
    ranks = {tuple(row.ranks) for rows in operator.support.values() for row in rows}
    found = ONLY_C | ONLY_PYTHON
    if operator.since == REGISTRY.levels[0] and "OPERATOR_DESC" not in types:
        found.add("DML-OPERATOR-since")
    if not types & set(REGISTRY.enums):
        found.add("DML-OPERATOR-enum-value")
    fused = [REGISTRY.operator[one] for one in REGISTRY.fusable(operator) if "OPERATOR_DESC" in types]
    if not any(member.count for one in (operator, *fused) for member in one.members):
        found.add("DML-OPERATOR-array-length")
    if "SCALAR_UNION" not in types:
        found.add("DML-OPERATOR-scalar-range")
    if "OPERATOR_DESC" not in types:
        found |= {"DML-OPERATOR-fused-activation", "DML-OPERATOR-fused-activation-tensors"}
    if ranks == {tuple(range(1, 9))}:  # all that DML-TENSOR-rank lets pass
        found.add("DML-OPERATOR-dimension-count")
    if operator.name == "ELEMENT_WISE_QUANTIZED_LINEAR_ADD":  # only its scales, of one element, exceed a byte
        found.add("DML-TENSOR-strides-in-elements")
    return found


def distance(one: Matrix, other: Matrix) -> int:
    """The number of members, fields of tensors and levels that differ."""
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
        assert len(data) < 250_000
        lines = [line.rstrip(b",") for line in data.splitlines() if line.startswith(b'{"id":')]
        assert [json.loads(line) for line in lines] == json.loads(data)["cases"], "one case a line"


def test_the_package_agrees_with_every_expectation(one: tuple[str, Matrix]) -> None:
    for case in one[1]["cases"]:
        expect = case["expect"]
        assert violated(case, case["feature_level"]) == expect["rules"], case["id"]
        assert expect["ok"] == (not expect["rules"]), case["id"]
        description = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
        advice = {one.rule for one in description.advice(case["feature_level"])}
        assert sorted(advice) == expect["advice"], case["id"]
        lowest = description.min_feature_level()
        assert (lowest and str(lowest)) == expect["min_feature_level"], case["id"]


def test_kinds_are_what_they_say(one: tuple[str, Matrix]) -> None:
    _, content = one
    cases = {case["id"]: case for case in content["cases"]}
    assert len(cases) == len(content["cases"])
    for case in cases.values():
        if case["kind"] == "negative":
            assert case["expect"]["rules"] == [case["breaks"]], case["id"]
            assert cases[case["valid_variant"]]["expect"]["ok"], case["id"]
        else:
            assert case["expect"]["ok"], case["id"]
        if case["kind"] == "advice":
            assert case["expect"]["advice"] == [case["draws"]], case["id"]
            twin = cases[case["valid_variant"]]["expect"]
            assert twin["ok"] and case["draws"] not in twin["advice"], case["id"]


def test_most_negatives_differ_from_their_twin_in_one_place(one: tuple[str, Matrix]) -> None:
    name, content = one
    cases = {case["id"]: case for case in content["cases"]}
    negatives = [case for case in cases.values() if case["kind"] == "negative"]
    distances = [distance(case, cases[case["valid_variant"]]) for case in negatives]
    assert distances.count(1) >= 0.7 * len(distances)
    if name in GATHERS:
        assert max(distances) <= 6, "element-count needs large sizes and strides of 0 in several tensors"


def test_every_rule_is_broken_alone_or_says_why_not(one: tuple[str, Matrix]) -> None:
    name, content = one
    broken = [case["breaks"] for case in content["cases"] if "breaks" in case]
    broken += [case["draws"] for case in content["cases"] if "draws" in case]
    for rule in content["coverage"]:
        assert broken.count(rule["rule"]) == rule["broken"]
        assert ("untestable" in rule) == (rule["broken"] == 0)
        assert rule["satisfied"] > 0 or rule["rule"] in untestable(name)
    general = {rule["rule"] for rule in content["coverage"] if not rule["broken"]}
    assert general == untestable(name)


def test_coverage_says_what_is_advice_and_where_rules_are_from(one: tuple[str, Matrix]) -> None:
    name, content = one
    rules = {rule.id: (rule.source, rule.advice) for rule in dmlops.registry.operator(name.upper()).RULES}
    coverage = {rule["rule"]: (rule["source"], rule["advice"]) for rule in content["coverage"]}
    assert rules.items() <= coverage.items()
    of_tensors = {rule for rule, (_, advice) in coverage.items() if advice and rule not in rules}
    assert of_tensors == {rule.id for rule in REGISTRY.tensor.rules if rule.advice}
    drawn = {advice for case in content["cases"] for advice in case["expect"]["advice"]}
    drawn -= {
        rule.id
        for one in REGISTRY.fusable(REGISTRY.operator[name.upper()])
        for rule in REGISTRY.operator[one].rules
    }
    assert drawn == {rule for rule, (_, advice) in coverage.items() if advice} - untestable(name)


def test_rules_of_tensors_are_broken_for_every_tensor(gather: tuple[str, Matrix]) -> None:
    _, content = gather
    names = {name for name, _, _ in shown(content["cases"][0])}
    of_outputs = {"DML-TENSOR-flags-owned", "DML-TENSOR-strides-overlap"}
    for rule in content["coverage"]:
        if rule["rule"].startswith("DML-TENSOR-") and rule["rule"] not in ONLY_C | of_outputs:
            members: set[str] = set()
            for case in content["cases"]:
                if rule["rule"] in (case.get("breaks"), case.get("draws")):
                    found = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
                    violations = found.validate(case["feature_level"]) or found.advice(case["feature_level"])
                    members |= {violation.member.partition(".")[0] for violation in violations}
            follow = rule["rule"] == "DML-TENSOR-element-count"  # an output is as large as inputs make it
            assert members == names or (follow and members), rule["rule"]


def out_of_range(value: Any, type_: NumberType | EnumEntry) -> bool:
    least, most = integer_range(type_.bits, type_.kind)
    return type_.kind != "float" and not least <= value <= most


def whole(value: Any) -> Any:
    """The value with the integers that JSON has as strings."""
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() else value


def inexpressible(operator: Operator, desc: dict[str, Any]) -> bool:
    """Whether no C struct can hold the members: a number that does not fit, an array of another length."""
    buffer = {member.name: member for member in REGISTRY.structs["BUFFER_TENSOR_DESC"].members}
    for member in operator.members:
        value = desc.get(member.name)
        if value is None:
            continue
        for tensor in tensors(value):
            if len(tensor.get("Strides", tensor["Sizes"])) != len(tensor["Sizes"]):
                return True
            for field, number in tensor.items():
                entries = number if isinstance(number, list) else [number]
                type_ = REGISTRY.types.get(buffer[field].type)
                if type_ is not None and any(out_of_range(entry, type_) for entry in entries):
                    return True
        if member.count is not None and isinstance(value, list) and len(value) != desc[member.count]:
            return True
        if member.type == "OPERATOR_DESC":
            for fused in value if isinstance(value, list) else [value]:
                if inexpressible(
                    REGISTRY.operator[fused["type"].removeprefix("DML_OPERATOR_")], fused["desc"]
                ):
                    return True
        if member.typed_by is not None:
            typing = desc[member.typed_by]
            name = typing["DataType"] if isinstance(typing, dict) else typing
            entry = REGISTRY.data_type.get(name)
            if entry and out_of_range(value, entry):
                return True
        elif member.type in REGISTRY.types:
            entries = value if isinstance(value, list) else [value]
            if any(out_of_range(entry, REGISTRY.types[member.type]) for entry in entries):
                return True
        elif member.type in REGISTRY.structs and isinstance(value, dict):
            for part in REGISTRY.structs[member.type].members:
                type_ = REGISTRY.types.get(part.type)
                if type_ is not None and part.name in value and out_of_range(value[part.name], type_):
                    return True
    return False


def test_cases_of_form_json_are_those_that_c_cannot_express(one: tuple[str, Matrix]) -> None:
    name, content = one
    operator = REGISTRY.operator[name.upper()]
    for case in content["cases"]:
        assert (case.get("form") == "json") == inexpressible(operator, whole(case["desc"])), case["id"]


def test_support_tables_are_those_of_every_level(one: tuple[str, Matrix]) -> None:
    name, content = one
    assert all(before != after for before, after in pairwise(content["support"].values()))
    assert {
        level: [(row["tensor"], tuple(row["ranks"]), tuple(row["types"])) for row in rows]
        for level, rows in supported(content).items()
    } == {
        level: [(row.tensor, row.ranks, row.types) for row in rows]
        for level, rows in REGISTRY.operator[name.upper()].support.items()
    }


def test_positives_show_every_type_and_dimension_count_of_every_table(one: tuple[str, Matrix]) -> None:
    _, content = one
    positives = [case for case in content["cases"] if case["kind"] == "positive"]
    assert content["uncovered"] == []
    for level, rows in supported(content).items():
        valid = [entry for case in positives if not violated(case, level) for entry in shown(case)]
        types = {(row["tensor"], type_) for row in rows for type_ in row["types"]}
        ranks = {(row["tensor"], rank) for row in rows for rank in row["ranks"]}
        assert {(tensor, type_) for tensor, type_, _ in valid} == types, level
        assert {(tensor, rank) for tensor, _, rank in valid} == ranks, level


def test_positives_show_optional_members_given_and_absent(one: tuple[str, Matrix]) -> None:
    name, content = one
    positives = [case["desc"] for case in content["cases"] if case["kind"] == "positive"]
    for member in REGISTRY.operator[name.upper()].members:
        if member.optional:
            assert {member.name in desc for desc in positives} == {False, True}, member.name


def test_positives_show_values_of_enumerations(one: tuple[str, Matrix]) -> None:
    name, content = one
    positives = [case["desc"] for case in content["cases"] if case["kind"] == "positive"]
    for member in REGISTRY.operator[name.upper()].members:
        if member.type in REGISTRY.enums or member.type == "BOOL":
            values = {desc[member.name] for desc in positives}
            known = REGISTRY.enums[member.type].entries if member.type in REGISTRY.enums else ()
            assert len(values) > 1 or len(known) == 1, member.name
            if member.type == "BOOL":
                assert values == {False, True}


def test_fused_activations_are_some_that_the_operator_takes(one: tuple[str, Matrix]) -> None:
    name, content = one
    operator = REGISTRY.operator[name.upper()]
    fusable = {REGISTRY.operator[other].c_constant for other in REGISTRY.fusable(operator)}
    for member in operator.members:
        if member.type == "OPERATOR_DESC":
            for case in content["cases"]:
                value = case["desc"].get(member.name)
                nested = value if isinstance(value, list) else [] if value is None else [value]
                taken = all(entry["type"] in fusable for entry in nested)
                assert taken == (case.get("breaks") != "DML-OPERATOR-fused-activation"), case["id"]


def test_positives_show_layouts(gather: tuple[str, Matrix]) -> None:
    _, content = gather
    positives = [case["desc"] for case in content["cases"] if case["kind"] == "positive"]
    types = {row["tensor"]: row["types"] for row in supported(content)["6.4"]}
    for tensor in types:
        strided = {desc[tensor]["DataType"] for desc in positives if "Strides" in desc[tensor]}
        assert len(strided) >= 0.6 * len(types[tensor]), tensor
        assert any("Strides" not in desc[tensor] for desc in positives)
        assert any("GuaranteedBaseOffsetAlignment" in desc[tensor] for desc in positives)
    assert any(0 in desc["InputTensor"].get("Strides", ()) for desc in positives)
    assert all(0 not in desc["OutputTensor"].get("Strides", ()) for desc in positives)


def test_some_positives_have_one_element(files: dict[str, bytes]) -> None:
    for role in ("InputTensor", "IndicesTensor", "OutputTensor"):
        assert any(
            case["kind"] == "positive" and set(case["desc"][role]["Sizes"]) == {1}
            for name in GATHERS
            for case in json.loads(files[f"matrix/{name}.json"])["cases"]
        )


def test_an_operator_without_any_valid_description_is_reported() -> None:
    """Its tables have no dimension count that all tensors can have, which a rule requires."""
    operator = REGISTRY.operator["GATHER"]
    support = {
        level: tuple(replace(row, ranks=(2 if row.tensor == "InputTensor" else 3,)) for row in rows)
        for level, rows in operator.support.items()
    }
    without = replace(REGISTRY, operators=(replace(operator, support=support, examples=()),))
    content = json.loads(rendered(without)["matrix/gather.json"])
    assert "no valid description was found at all" in content["uncovered"]
    assert all(rule["untestable"] for rule in content["coverage"])


def test_known_files_are_taken_as_they_are(files: dict[str, bytes]) -> None:
    some = replace(REGISTRY, operators=REGISTRY.operators[:2])
    paths = [f"matrix/{operator.slug}.json" for operator in some.operators]
    found = rendered(some, {paths[0]: b"known"})
    assert found[paths[0]] == b"known"
    assert found[paths[1]] == files[paths[1]]


def test_same_bytes_whatever_the_hash_seed() -> None:
    some = replace(REGISTRY, operators=REGISTRY.operators[::16])
    files = rendered(some)
    script = (
        "import dataclasses, hashlib, pathlib\n"
        "from dmlgen.outputs import matrix, python\n"
        "from dmlgen.outputs.render import Templates\n"
        "from dmlgen.resolve import load_registry\n"
        "registry = load_registry(pathlib.Path('specs'))\n"
        "some = dataclasses.replace(registry, operators=registry.operators[::16])\n"
        "templates = Templates(pathlib.Path('templates'))\n"
        "files = matrix.render(some, templates, python.installed(some, templates))\n"
        "print(hashlib.sha256(b''.join(files[name] for name in sorted(files))).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    digest = hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()
    assert result.stdout.strip() == digest


def test_the_plugin_gives_a_test_every_case(files: dict[str, bytes], tmp_path: Path) -> None:
    for name in ("pytest_plugin.py", *(f"{operator}.json" for operator in GATHERS)):
        (tmp_path / name).write_bytes(files[f"matrix/{name}"])
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
    count = sum(len(json.loads(files[f"matrix/{operator}.json"])["cases"]) for operator in GATHERS)
    assert f"{count} passed" in result.stdout, result.stdout[-2000:]
