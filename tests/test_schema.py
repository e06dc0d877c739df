"""Faults against a JSON Schema: each once, at its place, with the name that was probably meant."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.schema import check, compile_schema, load_schemas
from dmlgen.source import MAX_FINDINGS, parse

NAME = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9]*$", "title": "a member name"}


def form(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA = {
    "type": "object",
    "properties": {
        "operator": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
        "value": {"type": "integer", "minimum": 0, "exclusiveMaximum": 1000},
        "since": {"type": "string"},
        "kind": {"enum": ["tensor", "scalar"]},
        "version": {"const": 1},
        "types": {
            "type": "array",
            "items": {"enum": ["FLOAT32", "FLOAT16"]},
            "uniqueItems": True,
            "minItems": 1,
        },
        "members": {"type": "object", "propertyNames": NAME, "additionalProperties": {"type": "object"}},
        "levels": {
            "type": "object",
            "patternProperties": {"^[0-9]\\.[0-9]$": True},
            "additionalProperties": False,
        },
        "rules": {
            "type": "array",
            "items": {
                "oneOf": [
                    form(id={"type": "string"}, same=NAME, of={"type": "array", "items": NAME}),
                    form(id={"type": "string"}, require={"type": "string"}),
                    form(id={"type": "string"}, infer={"type": "string"}),
                ]
            },
        },
        "at": {"oneOf": [NAME, {"type": "array"}]},
        "shape": {
            "anyOf": [
                form(by={"const": "size"}, size={"type": "integer"}, count={"type": "integer"}),
                form(by={"const": "name"}, name={"type": "string"}),
            ]
        },
        "never": {"not": {}},
    },
    "required": ["operator", "value"],
    "dependencies": {"at": ["since"]},
    "additionalProperties": False,
}

VALIDATOR = compile_schema(SCHEMA)


def findings(text: str, head: str = "operator: GATHER\nvalue: 1\n") -> list[Finding]:
    return check(parse((head + text).encode(), "a.yaml"), VALIDATOR)


def test_the_schema_of_these_tests_is_valid() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_a_valid_spec_has_no_findings() -> None:
    text = """\
since: "2.1"
kind: tensor
version: 1
types: [FLOAT32, FLOAT16]
members: {Axis: {}}
levels: {"4.1": 1}
rules: [{id: a, same: Rank, of: [X]}, {id: b, require: x < y}]
at: Axis
shape: {by: name, name: x}
"""
    assert findings(text) == []


# Each line of a case follows `operator` and `value`, so it is line 3 of the file.
@pytest.mark.parametrize(
    ("text", "line", "column", "code", "message", "suggestion"),
    [
        ("sinse: '1'", 3, 1, "unknown-key", "unknown key 'sinse'", "since"),
        ("colour: '1'", 3, 1, "unknown-key", "unknown key 'colour'", None),
        ("kind: tensr", 3, 7, "wrong-value", "expected 'tensor' or 'scalar', found 'tensr'", "tensor"),
        ("version: 2", 3, 10, "wrong-value", "expected '1', found 2", None),
        ("since: 4.10", 3, 8, "wrong-type", "expected a string, found 4.10", '"4.10"'),
        ("since: [a]", 3, 8, "wrong-type", "expected a string, found a list", None),
        ("members: null", 3, 10, "wrong-type", "expected a mapping, found null", None),
        ("types: [FLOAT32, FLOAT8]", 3, 18, "wrong-value", "found 'FLOAT8'", "FLOAT32"),
        ("types: [FLOAT32, FLOAT32]", 3, 18, "repeated-item", "'FLOAT32' is in the list already", None),
        ("types: []", 3, 8, "wrong-size", "number of items is 0; expected at least 1", None),
        ("members: {2d: {}}", 3, 11, "wrong-value", "'2d' is not a member name: it must match", None),
        ("members: {Axis: {}, Size: 1}", 3, 27, "wrong-type", "expected a mapping, found 1", None),
        ("levels: {'4': 1}", 3, 10, "unknown-key", "unknown key '4'", None),
        ("at: {}", 3, 1, "missing-key", "key 'at' needs key 'since' beside it", None),
        ("never: 1", 3, 8, "wrong-value", "1 is not allowed here", None),
        ("rules: [{id: a, requre: x}]", 3, 17, "unknown-key", "unknown key 'requre'", "require"),
        ("rules: [{id: a, require: 1}]", 3, 26, "wrong-type", "expected a string, found 1", '"1"'),
        ("rules: [{id: a, same: X}]", 3, 9, "missing-key", "key 'of' is missing", None),
        ("rules: [{id: a, same: X, of: [Y, 2]}]", 3, 34, "wrong-type", "expected a string, found 2", '"2"'),
        ("rules: [a]", 3, 9, "wrong-type", "expected a mapping, found 'a'", None),
        ("shape: {by: nam, name: x}", 3, 13, "wrong-value", "expected 'size' or 'name', found 'nam'", "name"),
        ("shape: {by: size, name: x}", 3, 8, "missing-key", "key 'size' is missing", None),
    ],
)
def test_faults(text: str, line: int, column: int, code: str, message: str, suggestion: str | None) -> None:
    first = findings(text + "\n")[0]
    assert (first.position.line, first.position.column, first.code) == (line, column, code)
    assert message in first.message
    assert first.suggestion == suggestion


@pytest.mark.parametrize(
    "text",
    [
        "rules: [{id: a, requre: x}]",
        "rules: [{id: a, require: 1}]",
        "rules: [{id: a, same: X}]",
        "rules: [3]",
        "shape: {by: nam, name: x}",
        "at: 3\nsince: ''",
        "members: {2d: {}}",
    ],
)
def test_one_fault_is_one_finding(text: str) -> None:
    assert len(findings(text + "\n")) == 1


def test_a_misspelt_required_key_is_not_missing_too() -> None:
    (finding,) = findings("", head="operater: GATHER\nvalue: 1\n")
    assert (finding.code, finding.suggestion) == ("unknown-key", "operator")


def test_every_missing_key_is_named_once_at_the_mapping() -> None:
    found = findings("", head="kind: tensor\n")
    assert [(str(f.position), f.message) for f in found] == [
        ("a.yaml:1:1", "key 'operator' is missing"),
        ("a.yaml:1:1", "key 'value' is missing"),
    ]


def test_types_of_all_forms_are_offered() -> None:
    (finding,) = findings("at: 3\nsince: ''\n")
    assert finding.message == "expected a string or a list, found 3"


def test_all_faults_are_found_in_one_run_and_in_order() -> None:
    found = findings("kind: none\ntypes: [X]\nsinse: 1\n", head="operator: gather\nvalue: -1\n")
    assert [f.position.line for f in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("-1", "expected at least 0, found -1"),
        ("1000", "expected less than 1000, found 1000"),
        ("1.0", "expected an integer, found 1.0"),
        ("true", "expected an integer, found true"),
    ],
)
def test_numbers(value: str, message: str) -> None:
    (finding,) = findings("", head=f"operator: GATHER\nvalue: {value}\n")
    assert finding.message == message


def test_the_end_of_a_pattern_is_the_end_of_the_text() -> None:
    (finding,) = findings("", head='operator: "GATHER\\n"\nvalue: 1\n')
    assert finding.code == "wrong-value"


def test_form_that_is_no_mapping() -> None:
    (finding,) = check(parse(b"- 1\n", "a.yaml"), VALIDATOR)
    assert finding.message == "expected a mapping, found a list"


def test_number_of_findings_is_bounded() -> None:
    assert len(findings("types: [" + "x, " * 1000 + "]\n")) == MAX_FINDINGS


def test_items_of_several_types_are_told_apart_in_linear_time() -> None:
    """Comparing all pairs of these would take longer than anyone waits."""
    validator = compile_schema({"type": "array", "uniqueItems": True})
    assert (
        check(
            parse(
                ("[" + "a, 1, {b: 2}, " + ", ".join(f"{{c: {i}}}" for i in range(4900)) + "]").encode(),
                "a.yaml",
            ),
            validator,
        )
        == []
    )
    (finding,) = check(parse(b"[1, '1', {a: 1}, [1], {a: 1}]", "a.yaml"), validator)
    assert (finding.code, finding.position.column) == ("repeated-item", 23)


def schema_file(directory: Path, name: str, content: object) -> None:
    (directory / f"{name}.schema.json").write_text(json.dumps(content))


def test_schemas_are_loaded_by_name_and_refer_to_each_other(tmp_path: Path) -> None:
    schema_file(tmp_path, "common", {"definitions": {"name": NAME}})
    schema_file(tmp_path, "operator", {"properties": {"a": {"$ref": "common.schema.json#/definitions/name"}}})
    schemas = load_schemas(tmp_path)
    assert sorted(schemas) == ["common", "operator"]
    (finding,) = check(parse(b"a: 2d", "a.yaml"), schemas["operator"])
    assert str(finding.position) == "a.yaml:1:4"
    assert check(parse(b"a: Axis", "a.yaml"), schemas["operator"]) == []


@pytest.mark.parametrize(
    ("content", "position"),
    [
        ('{"type": \n "objekt"}', "1:1"),
        ('{"type":\n object}', "2:2"),
        ("[1]", "1:1"),
        ("[" * 100_000, "1:1"),
        ("\ud800", "1:1"),
    ],
)
def test_a_bad_schema_is_a_finding(tmp_path: Path, content: str, position: str) -> None:
    path = tmp_path / "operator.schema.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(SpecError) as caught:
        load_schemas(tmp_path)
    (finding,) = caught.value.findings
    assert str(finding.position) == f"{path.as_posix()}:{position}"
    assert finding.code == "bad-schema"
