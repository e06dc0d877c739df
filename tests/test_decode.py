"""Decoding specs: each error is reported once, at its position. JSON Schemas accept and reject the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft7Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from dmlgen import source
from dmlgen.cli import ROOT, main
from dmlgen.decode import decode
from dmlgen.diagnostics import Finding, Position, SpecError
from dmlgen.json_schema import json_schema
from dmlgen.shape import OTHERS, Pattern, Range, Record, Size
from dmlgen.source import MAX_FINDINGS, MAX_ITEMS, Entry, Node, Scalar, load, parse
from dmlgen.text import NO_TEXT, Text
from dmlgen.written import FILES

SPECS = ROOT / "specs"

Name = Annotated[str, Pattern(r"[A-Za-z][A-Za-z0-9]*", "a member name")]


@dataclass(frozen=True, kw_only=True)
class Rule:
    id: str
    same: Name
    of: tuple[Name, ...]


@dataclass(frozen=True, kw_only=True)
class BySize:
    size: int
    count: int


@dataclass(frozen=True, kw_only=True)
class ByName(Record):
    name: str
    sizes: int = 0


@dataclass(frozen=True, kw_only=True)
class Weights:
    source: Literal["page"]
    others: Annotated[Mapping[Name, float], Size(1), OTHERS]


@dataclass(frozen=True, kw_only=True)
class Spec(Record):
    """A file of these tests."""

    operator: Annotated[str, Pattern(r"[A-Z][A-Z0-9_]*")]
    value: Annotated[int, Range(0, 999)]
    since: Annotated[Scalar[str], Size(1), "A feature level."] | None = None
    kind: Literal["tensor", "scalar"] = "tensor"
    bits: Literal[8, 16] | None = None
    types: Annotated[tuple[Literal["FLOAT32", "FLOAT16"], ...], Size(1, unique=True)] = ()
    members: Mapping[Name, Mapping[str, Node]] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    at: Name | Annotated[tuple[int, ...], Size(1, 3)] = ""
    shape: BySize | ByName | None = None
    weights: Weights | None = None
    defaults: Mapping[str, str | int | None] = field(default_factory=dict)
    is_: bool = False
    says: Text = NO_TEXT


def read(text: str, head: str = "operator: GATHER\nvalue: 1\n") -> Spec:
    return decode(Spec, parse((head + text).encode(), "a.yaml"))


def findings(text: str, head: str = "operator: GATHER\nvalue: 1\n") -> list[Finding]:
    with pytest.raises(SpecError) as caught:
        read(text, head)
    return list(caught.value.findings)


def test_a_valid_spec_is_read() -> None:
    spec = read(
        """\
since: "2.1"
bits: 16
types: [FLOAT32, FLOAT16]
members: {Axis: {any: [1, {b: 2}]}}
rules: [{id: a, same: Rank, of: [X]}]
at: Axis
shape: {name: x}
weights: {source: page, a: 1, b: 0.5}
defaults: {a: x, b: null, c: 1}
is: true
says: "  two\\n  words "
"""
    )
    assert (spec.operator, spec.value, spec.kind, spec.bits) == ("GATHER", 1, "tensor", 16)
    assert spec.since is not None and str(spec.since.position) == "a.yaml:3:8"
    assert spec.types == ("FLOAT32", "FLOAT16")
    assert spec.members["Axis"]["any"].plain() == [1, {"b": 2}]
    assert spec.rules == (Rule(id="a", same="Rank", of=("X",)),)
    assert isinstance(spec.shape, ByName) and spec.shape.name == "x"
    assert spec.weights == Weights(source="page", others={"a": 1, "b": 0.5})
    assert spec.defaults == {"a": "x", "b": None, "c": 1}
    assert (spec.is_, spec.says) == (True, Text("two words"))
    assert str(spec.place("weights", "b")) == "a.yaml:10:34"
    assert spec.place("weights", "c") == spec.place("weights")
    assert str(spec.place("nothing")) == "a.yaml:1:1"


def test_what_is_absent_has_its_default() -> None:
    spec = read("")
    assert (spec.since, spec.bits, spec.types, spec.members, spec.at) == (None, None, (), {}, "")


# Each line of a case follows `operator` and `value`, so it is line 3 of the file.
@pytest.mark.parametrize(
    ("text", "line", "column", "code", "message", "suggestion"),
    [
        ("sinse: '1'", 3, 1, "unknown-key", "unknown key 'sinse'", "since"),
        ("color: '1'", 3, 1, "unknown-key", "unknown key 'color'", None),
        ("is_: true", 3, 1, "unknown-key", "unknown key 'is_'", "is"),
        ("kind: tensr", 3, 7, "wrong-value", "expected 'tensor' or 'scalar', found 'tensr'", "tensor"),
        ("bits: 12", 3, 7, "wrong-value", "expected '8' or '16', found 12", None),
        ("bits: 8.0", 3, 7, "wrong-value", "expected '8' or '16', found 8.0", None),
        ("since: 4.10", 3, 8, "wrong-type", "expected a string, found 4.10", '"4.10"'),
        ("since: [a]", 3, 8, "wrong-type", "expected a string, found a list", None),
        ("since: null", 3, 8, "wrong-type", "expected a string, found null", None),
        ("since: ''", 3, 8, "wrong-size", "number of characters is 0; expected at least 1", None),
        ("members: null", 3, 10, "wrong-type", "expected a mapping, found null", None),
        ("types: [FLOAT32, FLOAT8]", 3, 18, "wrong-value", "found 'FLOAT8'", "FLOAT32"),
        ("types: [FLOAT32, FLOAT32]", 3, 18, "repeated-item", "'FLOAT32' is already in the list", None),
        ("types: []", 3, 8, "wrong-size", "number of items is 0; expected at least 1", None),
        ("members: {2d: {}}", 3, 11, "wrong-value", "'2d' is not a member name: it must match", None),
        ("members: {Axis: {}, Size: 1}", 3, 27, "wrong-type", "expected a mapping, found 1", None),
        ("is: 1", 3, 5, "wrong-type", "expected true or false, found 1", None),
        ("at: {}", 3, 5, "wrong-type", "expected a string or a list, found a mapping", None),
        ("at: 2d", 3, 5, "wrong-value", "'2d' is not a member name", None),
        ("at: [1, 2, 3, 4]", 3, 5, "wrong-size", "number of items is 4; expected at most 3", None),
        ("defaults: {a: 1.5}", 3, 15, "wrong-type", "expected a string, an integer or null", '"1.5"'),
        ("rules: [{id: a, sme: X, of: [Y]}]", 3, 17, "unknown-key", "unknown key 'sme'", "same"),
        ("rules: [{id: a, same: X}]", 3, 9, "missing-key", "key 'of' is missing", None),
        ("rules: [{id: a, same: X, of: [Y, 2]}]", 3, 34, "wrong-type", "expected a string, found 2", '"2"'),
        ("rules: [a]", 3, 9, "wrong-type", "expected a mapping, found 'a'", None),
        ("shape: {name: x, size: 1}", 3, 8, "missing-key", "key 'count' is missing", None),
        ("shape: {name: x, sise: 1}", 3, 18, "unknown-key", "expected 'name', 'size' or 'sizes'", "size"),
        ("shape: 3", 3, 8, "wrong-type", "expected a mapping, found 3", None),
        ("weights: {source: pag, a: 1}", 3, 19, "wrong-value", "expected 'page', found 'pag'", "page"),
        ("weights: {source: page, 2a: 1}", 3, 25, "wrong-value", "'2a' is not a member name", None),
        ("weights: {source: page, a: b}", 3, 28, "wrong-type", "expected a number, found 'b'", None),
        ("weights: {source: page}", 3, 10, "wrong-size", "number of keys is 0; expected at least 1", None),
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
        "rules: [{id: a, sme: X, of: [Y]}]",
        "rules: [{id: a, same: 1, of: []}]",
        "rules: [3]",
        "members: {2d: {}}",
        "at: 3",
        f"operator2: {'x' * 100}",
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


def test_all_faults_are_found_in_one_run_and_in_order() -> None:
    found = findings("sinse: 1\nkind: none\ntypes: [X]\n", head="value: -1\noperator: gather\n")
    assert [f.position.line for f in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("-1", "expected at least 0, found -1"),
        ("1000", "expected at most 999, found 1000"),
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


def test_a_file_that_is_no_mapping() -> None:
    with pytest.raises(SpecError) as caught:
        decode(Spec, parse(b"- 1\n", "a.yaml"))
    assert [f.message for f in caught.value.findings] == ["expected a mapping, found a list"]


def test_number_of_findings_is_bounded() -> None:
    assert len(findings("types: [" + "x, " * (MAX_ITEMS - 1) + "]\n")) == MAX_FINDINGS


# The JSON Schemas.


# Where the stock validator differs from editors, or from what a person would say.


def _is_integer(_: Any, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # it takes 1.0 for one


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    # In JSON Schema `$` is the end of the text; Python's lets a line feed pass.
    if isinstance(value, str) and not re.search(pattern.removesuffix("$") + r"\Z", value, re.ASCII):
        yield ValidationError("pattern")


@cache
def schema_of(type_: type) -> Validator:
    schema = json.loads(json_schema(type_, "a.schema.json"))
    Draft7Validator.check_schema(schema)
    checker = Draft7Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    extended: Any = extend(Draft7Validator, {"pattern": _pattern}, type_checker=checker)  # type: ignore[no-untyped-call]
    validator: Validator = extended(schema)
    return validator


def test_a_schema_says_what_values_mean() -> None:
    schema = schema_of(Spec).schema
    assert schema["description"] == "A file of these tests."
    assert schema["properties"]["since"] == {
        "type": "string",
        "minLength": 1,
        "description": "A feature level.",
    }
    assert schema["required"] == ["operator", "value"]


def test_the_committed_schemas_are_those_of_the_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", "--check"]) == 0
    assert main(["schema", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in (SPECS / "schema").iterdir()}
    (tmp_path / "enums.schema.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert main(["schema", "--check", "--out", str(tmp_path)]) == 1
    assert "+++ b/enums.schema.json" in capsys.readouterr().out


def spec_files() -> Iterator[tuple[type, Path]]:
    """The files that are whole as they are written, and some operators."""
    general = "feature_levels constants enums structs rules graphs bindings identifiers"
    for name in general.split():
        yield FILES[name], SPECS / f"{name}.yaml"
    for path in sorted((SPECS / "counterparts").glob("*.yaml")):
        yield FILES["counterparts"], path
    for path in sorted((SPECS / "shared/definitions").glob("*.yaml")):
        yield FILES["definitions"], path
    whole = [
        p for p in sorted((SPECS / "operators").rglob("*.yaml")) if "\nextends:" not in p.read_text("utf-8")
    ]
    yield from ((FILES["operator"], path) for path in Random(3).sample(whole, 12))


def shortened(node: Any, random: Random) -> Any:
    """A document with at most ten entries of mappings and lists that have more than thirty."""
    if isinstance(node, dict):
        keys = random.sample(list(node), 10) if len(node) > 30 else node
        return {key: shortened(node[key], random) for key in keys}
    if isinstance(node, list):
        return [shortened(one, random) for one in (node[:10] if len(node) > 30 else node)]
    return node


def spoilt(node: Any, random: Random) -> Any:
    """A document with one change at a random place: of a key, a type, a text, a number, a length."""
    if isinstance(node, dict) and node:
        key = random.choice(list(node))
        what = random.choice(["go in"] * 6 + ["rename", "drop", "add", "other"])
        if what == "go in":
            return node | {key: spoilt(node[key], random)}
        if what == "rename":
            return {key + "x" if name == key else name: value for name, value in node.items()}
        if what == "drop":
            return {name: value for name, value in node.items() if name != key}
        if what == "add":
            return node | {random.choice(["summary", "extends", "algorithm"]): random.choice(["x", 1, {}])}
    if isinstance(node, list) and node:
        at = random.randrange(len(node))
        what = random.choice(["go in"] * 4 + ["twice", "drop", "other"])
        if what == "go in":
            return [*node[:at], spoilt(node[at], random), *node[at + 1 :]]
        if what == "twice":
            return [*node, node[at]]
        if what == "drop":
            return [*node[:at], *node[at + 1 :]]
    if isinstance(node, str) and random.random() < 0.7:
        at = random.randint(0, len(node))
        return node[:at] + random.choice(["\n", "é", "_", "A", "a", " ", "%", "9" * 500]) + node[at:]
    if isinstance(node, int) and random.random() < 0.5:
        return node + random.choice([-(10**10), -1, 1, 10**10, 0.5])
    return random.choice([None, True, 0, -1, 1.5, "", "x", [], [1], {}, {"x": 1}])


def node_of(value: Any) -> Node:
    """What a file with this value would be read as, all of it at one place."""
    place = Position("a.yaml")
    match value:
        case dict():
            entries = (Entry(Scalar(place, key, key), node_of(one)) for key, one in value.items())
            return source.Mapping(place, tuple(entries))
        case list():
            return source.Sequence(place, tuple(map(node_of, value)))
    return Scalar(place, value, json.dumps(value))


@pytest.mark.parametrize(("type_", "path"), list(spec_files()), ids=lambda one: getattr(one, "stem", ""))
def test_a_schema_takes_what_the_decoder_takes(type_: type, path: Path) -> None:
    """The file, without most of long lists, and a hundred that differ from it in one place."""
    schema, random = schema_of(type_), Random(path.name)
    document = shortened(load(path, SPECS).plain(), random)
    assert schema.is_valid(document)
    refused = 0
    for number in range(101):
        other = spoilt(document, random) if number else document
        try:
            decode(type_, node_of(other))
            is_read = True
        except SpecError:
            is_read = False
        assert is_read == schema.is_valid(other), json.dumps(other)
        refused += not is_read
    assert refused > 10
