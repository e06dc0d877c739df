"""Writing generated files: only what changed, all or nothing, and never outside the output directory."""

import json
import os
from pathlib import Path

import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.writer import MANIFEST, Result, check, recall, write

OUTPUTS = {"python/dmlops/a.py": b"a = 1\n", "hlsl/gather.hlsl": b"// gather\n", "matrix/empty.json": b""}
INPUTS = {"specs/a.yaml": "1" * 64}


def snapshot(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(directory).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in directory.rglob("*")
        if path.is_file()
    }


def contents(directory: Path) -> dict[str, bytes]:
    return {path: data for path, (data, _) in snapshot(directory).items() if path != MANIFEST}


def codes(error: pytest.ExceptionInfo[SpecError]) -> list[str]:
    return [finding.code for finding in error.value.findings]


def test_writes_into_a_new_directory(tmp_path: Path) -> None:
    out = tmp_path / "deep/out"
    assert write(OUTPUTS, out, INPUTS) == Result(tuple(sorted(OUTPUTS)), (), ())
    assert contents(out) == OUTPUTS
    assert (out / "hlsl/gather.hlsl").stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_second_run_touches_nothing(tmp_path: Path) -> None:
    write(OUTPUTS, tmp_path, INPUTS)
    before = snapshot(tmp_path)
    assert write(OUTPUTS, tmp_path, INPUTS) == Result((), tuple(sorted(OUTPUTS)), ())
    assert snapshot(tmp_path) == before


def test_only_changed_files_are_written_and_stale_ones_removed(tmp_path: Path) -> None:
    write(OUTPUTS, tmp_path, INPUTS)
    before = snapshot(tmp_path)
    now = {"python/dmlops/a.py": b"a = 2\n", "hlsl/gather.hlsl": OUTPUTS["hlsl/gather.hlsl"], "new.h": b"x"}
    result = write(now, tmp_path, INPUTS)
    assert result == Result(("new.h", "python/dmlops/a.py"), ("hlsl/gather.hlsl",), ("matrix/empty.json",))
    assert contents(tmp_path) == now
    assert not (tmp_path / "matrix").exists()
    assert snapshot(tmp_path)["hlsl/gather.hlsl"] == before["hlsl/gather.hlsl"]


def test_files_of_others_stay_and_edited_ones_do_not(tmp_path: Path) -> None:
    write(OUTPUTS, tmp_path, INPUTS)
    (tmp_path / "matrix/notes.txt").write_text("mine")
    (tmp_path / "matrix/empty.json").write_text("edited")
    (tmp_path / "hlsl/gather.hlsl").write_text("edited")
    write({"hlsl/gather.hlsl": b"// gather\n"}, tmp_path, INPUTS)
    assert contents(tmp_path) == {"hlsl/gather.hlsl": b"// gather\n", "matrix/notes.txt": b"mine"}


def test_manifest_is_the_same_for_any_order_and_gains_one_line_per_file(tmp_path: Path) -> None:
    write(OUTPUTS, tmp_path / "a", {"x": "1", "y": "2"})
    write(dict(reversed(OUTPUTS.items())), tmp_path / "b", {"y": "2", "x": "1"})
    write({**OUTPUTS, "hlsl/add.hlsl": b"x"}, tmp_path / "c", {"x": "1", "y": "2"})
    first, second, third = ((tmp_path / name / MANIFEST).read_text() for name in "abc")
    assert first == second
    assert len(set(third.splitlines()) - set(first.splitlines())) == 1
    assert json.loads(first)["files"]["hlsl/gather.hlsl"]["size"] == 10
    assert json.loads(first)["inputs"] == {"x": "1", "y": "2"}


def test_no_outputs_at_all(tmp_path: Path) -> None:
    write(OUTPUTS, tmp_path, INPUTS)
    assert write({}, tmp_path, {}).removed == tuple(sorted(OUTPUTS))
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


@pytest.mark.parametrize("call", range(4))
def test_a_failed_run_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    write(OUTPUTS, tmp_path, INPUTS)
    before = snapshot(tmp_path)
    replace, calls = os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == call + 1:
            raise OSError("disk full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    now = {"python/dmlops/a.py": b"a = 2\n", "new/b.py": b"b = 1\n", "hlsl/gather.hlsl": b"// other\n"}
    with pytest.raises(OSError, match="disk full"):
        write(now, tmp_path, {})
    assert snapshot(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hlsl", MANIFEST, "matrix", "python"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/x",
        "../x",
        "a/../../x",
        "a/./b",
        "a//b",
        "a/",
        "",
        ".",
        "..",
        "a\\b",
        "C:x",
        "a\nb",
        "a\0b",
        "é",
        MANIFEST,
        "Manifest.JSON",
        "manifest.json/x",
    ],
)
def test_unsafe_paths_are_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    out = tmp_path / "out"
    for action in (write, check):
        with pytest.raises(SpecError) as caught:
            action({"good.txt": b"1", path: b"2"}, out, {})
        assert codes(caught) == ["unsafe-path"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a.txt", "A.txt"), ("x/a", "X/A/b")])
def test_outputs_that_would_overwrite_each_other_are_refused(tmp_path: Path, paths: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        write(dict.fromkeys(paths, b""), tmp_path, {})
    assert codes(caught) == ["unsafe-path"]


def test_no_symbolic_link_is_passed_or_replaced(tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("theirs")
    (out / "sub").symlink_to(outside)
    (out / "a.txt").symlink_to(outside / "a.txt")
    for path in ("sub/a.txt", "sub/new.txt", "a.txt"):
        with pytest.raises(SpecError) as caught:
            write({path: b"ours"}, out, {})
        assert codes(caught) == ["unsafe-path"]
    assert contents(outside) == {"a.txt": b"theirs"}
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "sub"]


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(SpecError) as caught:
        write({"a.txt": b""}, tmp_path, {})
    assert codes(caught) == ["unsafe-path"]


def entries(*paths: str) -> str:
    files = {path: {"size": 6, "sha256": "0" * 64} for path in paths}
    return json.dumps({"files": files, "inputs": {}}, indent=1)


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        ("", 1),
        ('{"files": {},\n<<<<<<< ours\n', 2),
        ("[]", 1),
        ('{"files": []}', 1),
        ('{"files": {"a": 1}, "inputs": {}}', 1),
        ("[" * 100_000, 1),
        (entries("good", "../outside/a.txt"), 7),
        (entries("/etc/passwd"), 3),
        (entries(MANIFEST), 3),
    ],
)
def test_a_damaged_manifest_removes_nothing(tmp_path: Path, manifest: str, line: int) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    for directory in (out, outside):
        directory.mkdir()
        (directory / "a.txt").write_text("theirs")
    (out / MANIFEST).write_text(manifest)
    before = snapshot(tmp_path)
    for action in (write, check):
        with pytest.raises(SpecError) as caught:
            action({"b.txt": b""}, out, {})
        (finding,) = caught.value.findings
        assert (finding.code, finding.position.line) == ("bad-manifest", line)
        assert finding.position.file == (out / MANIFEST).as_posix()
    assert not recall(out).holds({})
    assert snapshot(tmp_path) == before


def test_a_manifest_cannot_remove_through_links(tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("theirs")
    (out / "sub").symlink_to(outside)
    (out / MANIFEST).write_text(entries("sub/a.txt"))
    with pytest.raises(SpecError) as caught:
        write({}, out, {})
    assert codes(caught) == ["unsafe-path"]
    assert contents(outside) == {"a.txt": b"theirs"}


def test_a_manifest_that_is_a_link_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "theirs.json").write_text(entries())
    (out / MANIFEST).symlink_to(tmp_path / "theirs.json")
    with pytest.raises(SpecError) as caught:
        write({}, out, {})
    assert codes(caught) == ["unsafe-path"]


def test_check_shows_what_write_would_do_and_writes_nothing(tmp_path: Path) -> None:
    write({**OUTPUTS, "logo.png": b"\xff\x00"}, tmp_path, INPUTS)
    assert check({**OUTPUTS, "logo.png": b"\xff\x00"}, tmp_path, INPUTS) == ""
    before = snapshot(tmp_path)
    now = {
        "python/dmlops/a.py": b"a = 2",
        "hlsl/gather.hlsl": b"// gather\n",
        "new.h": b"x\n",
        "logo.png": b"\xfe",
    }
    diff = check(now, tmp_path, INPUTS)
    assert snapshot(tmp_path) == before
    assert "--- a/python/dmlops/a.py\n+++ b/python/dmlops/a.py\n" in diff
    assert "-a = 1\n+a = 2\n\\ No newline at end of file\n" in diff
    assert "--- /dev/null\n+++ b/new.h\n@@ -0,0 +1 @@\n+x\n" in diff
    assert "--- a/matrix/empty.json\n+++ /dev/null\n" in diff
    assert "Binary files a/logo.png and b/logo.png differ: 2 and 1 bytes\n" in diff
    assert "b/hlsl/gather.hlsl" not in diff
    write(now, tmp_path, INPUTS)
    assert check(now, tmp_path, INPUTS) == ""


def test_check_of_a_missing_directory_does_not_create_it(tmp_path: Path) -> None:
    assert "+++ b/hlsl/gather.hlsl" in check(OUTPUTS, tmp_path / "out", INPUTS)
    assert not (tmp_path / "out").exists()


def test_check_sees_a_change_of_inputs_alone(tmp_path: Path) -> None:
    write(OUTPUTS, tmp_path, INPUTS)
    diff = check(OUTPUTS, tmp_path, {"specs/a.yaml": "2" * 64})
    assert diff.startswith(f"--- a/{MANIFEST}\n")


def test_recall_tells_whether_all_is_as_it_was(tmp_path: Path) -> None:
    assert not recall(tmp_path).holds({})
    assert not recall(tmp_path / "absent").holds(INPUTS)
    write(OUTPUTS, tmp_path, INPUTS)
    assert recall(tmp_path).holds(INPUTS)
    assert not recall(tmp_path).holds({**INPUTS, "specs/b.yaml": "0" * 64})
    (tmp_path / "hlsl/gather.hlsl").write_text("// gathex\n")
    assert not recall(tmp_path).holds(INPUTS)
    write(OUTPUTS, tmp_path, INPUTS)
    assert recall(tmp_path).holds(INPUTS)
    (tmp_path / "hlsl/gather.hlsl").unlink()
    assert not recall(tmp_path).holds(INPUTS)
