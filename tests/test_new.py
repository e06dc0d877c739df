"""`dmlgen new`: what it writes, and what it rejects."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dmlgen.cli import main
from dmlgen.resolve import load_registry


def left(specs: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """Findings of lint: code, and the line that it is about."""
    capsys.readouterr()
    main(["lint", "--specs", str(specs), "--format", "json"])
    found = []
    for finding in json.loads(capsys.readouterr().out):
        line = Path(finding["file"]).read_text(encoding="utf-8").splitlines()[finding["line"] - 1]
        found.append((finding["code"], line.strip()))
    return found


def test_what_is_left_of_a_new_operator_is_what_lint_finds(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "gather_blocks", "--specs", str(specs)]) == 0
    path = specs / "operators/gather/gather_blocks.yaml"
    assert capsys.readouterr().out.startswith(f"{path} (beside GATHER; ")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=../../schema/operator.schema.json\n")
    assert max(map(len, text.splitlines())) <= 120
    values = [one.value for one in load_registry(specs).operators]
    assert len(values) == len(set(values)) and f"value: {max(values)}\n" in text
    summary = next(line for line in text.splitlines() if line.startswith("summary"))
    assert sorted(left(specs, capsys)) == sorted(
        [
            ("unwritten", "operator: GATHER_BLOCKS"),  # its summary
            ("unwritten", "operator: GATHER_BLOCKS"),  # what it computes
            ("unwritten", 'InputTensor: {role: input, summary: "TODO"}'),
            ("unwritten", 'OutputTensor: {role: output, summary: "TODO"}'),
            ("output-not-inferred", "operator: GATHER_BLOCKS"),
        ]
    )
    filled = text.replace(summary, "summary: Takes blocks.").replace('"TODO"', "A tensor.")
    filled = filled.replace(
        "# rules:\n", "rules:\n  - {id: sizes, infer: OutputTensor.Sizes = InputTensor.Sizes}\n"
    )
    filled = filled.replace("# compute:\n", 'compute: {outputs: {OutputTensor: "InputTensor[at] * 2"}}\n')
    path.write_text(filled, encoding="utf-8")
    assert [code for code, _ in left(specs, capsys)] == ["identifier-unlisted"]
    assert main(["lint", "--fix", "--specs", str(specs)]) == 0


def test_an_operator_like_another_begins_with_what_that_has(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "GATHER_ND7", "--like", "GATHER_ND1", "--specs", str(specs)]) == 0
    registry = load_registry(specs)
    found, model = registry.operator["GATHER_ND7"], registry.operator["GATHER_ND1"]
    assert found.members == model.members and found.support == model.support
    assert [rule.slug for rule in found.rules] == [rule.slug for rule in model.rules]
    assert found.defines == model.defines and not (found.examples or found.errata or found.data_constraints)
    codes = [code for code, _ in left(specs, capsys)]
    assert codes.count("unwritten") == 1 and set(codes) == {"unwritten", "identifier-unlisted"}


REFUSED = {
    "GATHER": "there is an operator GATHER: ",
    "gather_nd": "there is an operator GATHER_ND: ",
    "../GATHER_X": "cannot name an operator",
    "GATHER-X": "cannot name an operator",
    "_GATHER": "cannot name an operator",
    "GATHER\n": "cannot name an operator",
    "GÄTHER": "cannot name an operator",
    "": "cannot name an operator",
    "G" * 81: "cannot name an operator",
    "CON --family=gather": "a device of Windows",
    "CLASS --family=gather": "a keyword of Python",
    "TENSOR_DESC --family=gather": "so is the struct TENSOR_DESC",
    "SIZE_2D --family=gather": "the struct SIZE_2D",
    "GATHER_X --family=gathers": "did you mean gather?",
    "GATHER_X --family=../gather": "there is no family '../gather'",
    "GATHER_X --like=GATHR": "did you mean GATHER?",
    "QUUX": "no name resembles QUUX; say its --family: gather",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_cannot_be_a_new_operator_is_refused(
    arguments: str, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in specs.parent.rglob("*")}
    name, *options = re.split(" ", arguments)
    assert main(["new", "--specs", str(specs), *options, "--", name]) == 2
    assert REFUSED[arguments] in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in specs.parent.rglob("*")} == before
