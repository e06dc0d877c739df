"""The commands of dmlgen: exit codes, output, and what they leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmlgen.cli import main

ELEMENTS = "operators/gather/gather_elements.yaml"


def change(specs: Path, file: str, old: str, new: str) -> None:
    path = specs / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def test_generating_twice_writes_nothing_the_second_time(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    times = {file: file.stat().st_mtime_ns for file in out.rglob("*")}
    capsys.readouterr()
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*")} == times


def test_check_shows_drift_and_writes_nothing(
    specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    before = contents(out)
    change(specs, ELEMENTS, "only the axis may differ", "nothing but the axis may differ")
    capsys.readouterr()
    assert main(["generate", "--specs", str(specs), "--out", str(out), "--check"]) == 1
    diff = capsys.readouterr().out
    assert "+++" in diff and "nothing but the axis may differ" in diff
    assert contents(out) == before


def test_an_edited_output_is_put_right(specs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    before = contents(out)
    (out / "include/dmlops.h").write_text("edited", encoding="utf-8")
    (out / "mine.txt").write_text("not generated", encoding="utf-8")
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    assert contents(out) == {**before, "mine.txt": b"not generated"}


def test_removing_an_operator_removes_its_files_and_no_other(specs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    before = contents(out)
    (specs / "operators/gather/gather_nd.yaml").unlink()
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    after = contents(out)
    gone = before.keys() - after.keys()
    assert gone and all(Path(file).stem == "gather_nd" for file in gone)
    changed = {file for file in after if after[file] != before[file]}
    assert not any(Path(file).stem in ("gather", "gather_elements", "gather_nd1") for file in changed)


def test_the_same_specs_give_the_same_bytes_elsewhere(
    specs: Path, gather_specs: Path, tmp_path: Path
) -> None:
    assert main(["generate", "--specs", str(specs), "--out", str(tmp_path / "one")]) == 0
    assert main(["generate", "--specs", str(gather_specs), "--out", str(tmp_path / "two")]) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_show_takes_any_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("GATHER_ND", "gather_nd", "DML_OPERATOR_GATHER_ND"):
        assert main(["show", name]) == 0
        text = capsys.readouterr().out
        assert "DML-GATHER_ND-index-tuple-size" in text
        assert "2.1" in text


def test_show_of_an_unknown_operator_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "GATHR"]) == 2
    assert "GATHER" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["generat"], ["lint", "--format", "xml"], ["show"]])
def test_misuse_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2


def test_lint_speaks_json(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(specs, ELEMENTS, "require: Axis <", "require: Axes <")
    assert main(["lint", "--specs", str(specs), "--format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)
    assert finding["code"] == "unknown-name"
    assert finding["file"].endswith(ELEMENTS)


def test_fix_lists_new_identifiers_and_retires_old_ones(specs: Path) -> None:
    change(specs, ELEMENTS, "id: axis-range", "id: axis-in-range")
    assert main(["lint", "--specs", str(specs)]) == 1
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
    active, _, retired = (specs / "identifiers.yaml").read_text(encoding="utf-8").partition("retired:")
    assert "DML-GATHER_ELEMENTS-axis-in-range" in active
    assert "DML-GATHER_ELEMENTS-axis-range" in retired


def test_diff_tells_changes_of_meaning_and_no_others(
    specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = str(gather_specs)
    change(specs, ELEMENTS, "summary: Picks", "# a comment\nsummary: Takes")
    assert main(["diff", old, str(specs)]) == 0
    change(specs, ELEMENTS, "Axis < InputTensor", "Axis <= InputTensor")
    change(specs, ELEMENTS, "ranks: 4, types: [UINT32]", "ranks: 4, types: [UINT32, INT32]")
    (specs / "operators/gather/gather_nd1.yaml").unlink()
    capsys.readouterr()
    assert main(["diff", old, str(specs)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "- operator GATHER_ND1",
        "~ GATHER_ELEMENTS rule DML-GATHER_ELEMENTS-axis-range",
        "+ GATHER_ELEMENTS at 2.1: IndicesTensor is INT32",
    ]
