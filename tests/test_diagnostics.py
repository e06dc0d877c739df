"""Findings, and the formats in which they are printed."""

import json
import random
from typing import get_args

import pytest

from dmlgen.diagnostics import Finding, Position, SpecError, nearest, shown
from dmlgen.formats import Format, render

UNKNOWN = Finding(Position("specs/a.yaml", 3, 5), "unknown-key", "unknown key 'Imput'", suggestion="Input")
LATER = Finding(Position("specs/a.yaml", 20, 1), "missing-key", "key 'value' is missing")
WARNING = Finding(Position("specs/b.yaml", 1, 1), "unknown-key", "100% odd,\nreally", "warning")


def test_position_is_written_as_compilers_do() -> None:
    assert str(Position("specs/a.yaml", 3, 5)) == "specs/a.yaml:3:5"


def test_positions_are_ordered_by_number_not_by_text() -> None:
    assert Position("a", 9, 1) < Position("a", 10, 1) < Position("b", 1, 1)


def test_text() -> None:
    assert render([LATER, UNKNOWN], "text") == (
        "specs/a.yaml:3:5: error[unknown-key]: unknown key 'Imput' (did you mean 'Input'?)\n"
        "specs/a.yaml:20:1: error[missing-key]: key 'value' is missing\n"
    )


def test_text_lets_no_control_character_of_a_file_name_through() -> None:
    hostile = Finding(Position("a\x1b[2J\n\udcff.yaml"), "no-file", "there is no file")
    assert render([hostile], "text") == "a\\x1b[2J\\n\\udcff.yaml:1:1: error[no-file]: there is no file\n"


def test_json() -> None:
    first, second = json.loads(render([LATER, UNKNOWN], "json"))
    assert first == {
        "file": "specs/a.yaml",
        "line": 3,
        "column": 5,
        "severity": "error",
        "code": "unknown-key",
        "message": "unknown key 'Imput'",
        "suggestion": "Input",
    }
    assert second["suggestion"] is None


def test_github_escapes_what_would_end_the_command() -> None:
    odd = Finding(Position("a,b:c%.yaml", 2, 7), "unknown-key", "100% odd,\r\n::error::really")
    assert render([odd], "github") == (
        "::error file=a%2Cb%3Ac%25.yaml,line=2,col=7,title=unknown-key::100%25 odd,%0D%0A::error::really\n"
    )
    assert render([WARNING], "github").startswith("::warning file=specs/b.yaml,line=1,col=1,")


@pytest.mark.parametrize("format", get_args(Format))
def test_order_of_findings_does_not_matter(format: Format) -> None:
    findings = [UNKNOWN, LATER, WARNING]
    expected = render(findings, format)
    shuffle = random.Random(1)
    for _ in range(6):
        shuffle.shuffle(findings)
        assert render(findings, format) == expected


def test_no_findings() -> None:
    assert render([], "text") == render([], "github") == ""
    assert json.loads(render([], "json")) == []


def test_error_carries_its_findings_and_reads_well_alone() -> None:
    error = SpecError([UNKNOWN])
    assert error.findings == (UNKNOWN,)
    assert str(error) == "specs/a.yaml:3:5: unknown key 'Imput' (did you mean 'Input'?)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("InputTensr", "InputTensor"),
        ("inputtensor", "InputTensor"),
        ("INPUT_TENSOR", "InputTensor"),
        ("Axes", "Axis"),
        ("zzz", None),
        ("", None),
        ("Axis" * 100_000, None),
    ],
)
def test_nearest(name: str, expected: str | None) -> None:
    names = ["OutputTensor", "InputTensor", "Axis"]
    assert nearest(name, names) == nearest(name, reversed(names)) == expected


def test_shown_cuts_long_texts() -> None:
    assert shown("Axis") == "'Axis'"
    assert len(shown("x" * 1000)) == 62
