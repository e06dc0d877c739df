"""`extends`: a file's own values win; lists of statements, `let` and `compute` are merged."""

from __future__ import annotations

from typing import Any

import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.resolve.merge import merged
from dmlgen.source import Mapping, parse


def mapping(text: str, file: str) -> Mapping:
    node = parse(text.encode(), file)
    assert isinstance(node, Mapping)
    return node


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [
        ("{a: 1, b: 2}", "{b: 3, c: 4}", {"a": 1, "b": 3, "c": 4}),
        ("{rules: [{id: a}]}", "{rules: [{id: b}]}", {"rules": [{"id": "a"}, {"id": "b"}]}),
        ("{unconstrained: [A]}", "{unconstrained: [B]}", {"unconstrained": ["B"]}),
        ("{members: {A: 1}}", "{members: {B: 1}}", {"members": {"B": 1}}),
        ("{let: {a: b, c: 1}}", "{let: {b: 2, c: 3}}", {"let": {"b": 2, "c": 3, "a": "b"}}),
        (
            "{compute: {uses: [w], let: {a: 1}, outputs: {Y: a}}}",
            "{compute: {let: {b: 2}, outputs: {Z: b}}}",
            {"compute": {"uses": ["w"], "let": {"b": 2, "a": 1}, "outputs": {"Z": "b"}}},
        ),
        ("{let: {a: 1}}", "{let: none}", {"let": "none"}),
        ("{compute: {algorithm: a}}", "{compute: [1]}", {"compute": [1]}),
    ],
)
def test_what_is_taken_over(shared: str, own: str, expected: dict[str, Any]) -> None:
    both = merged(mapping(shared, "shared.yaml"), mapping(own, "own.yaml"))
    assert both.plain() == expected
    let, wanted = both.get("let"), expected.get("let")
    if isinstance(let, Mapping) and isinstance(wanted, dict):
        assert [name for name, _ in let.items()] == list(wanted)  # each may use those above it


def test_what_is_taken_over_keeps_its_place() -> None:
    both = merged(mapping("{rules: [a]}", "shared.yaml"), mapping("x: 1\nrules: [b]", "own.yaml"))
    rules = both.get("rules")
    assert rules is not None and str(rules.position) == "own.yaml:2:8"
    assert [str(one.position) for one in rules.items] == ["shared.yaml:1:10", "own.yaml:2:9"]  # type: ignore[union-attr]
    assert str(both.position) == "own.yaml:1:1"


@pytest.mark.parametrize(
    ("shared", "own", "place"),
    [
        ("{a: 1, unconstrained: [A]}", "{b: 1, unconstrained: [A]}", "1:8"),
        ("{members: {A: {role: input}}}", "{members: {A: {role: input}}}", "1:2"),
        ("{let: {a: 1, b: 2}}", "{let: {a: 2, b: 2}}", "1:14"),
        ("{compute: {outputs: {Y: a}}}", "{compute: {outputs: {Y: a}}}", "1:12"),
    ],
)
def test_what_is_taken_over_is_not_repeated(shared: str, own: str, place: str) -> None:
    with pytest.raises(SpecError) as raised:
        merged(mapping(shared, "shared.yaml"), mapping(own, "own.yaml"))
    (finding,) = raised.value.findings
    assert str(finding.position) == f"own.yaml:{place}"
    assert finding.code == "repeated" and "shared.yaml:1:" in finding.message
