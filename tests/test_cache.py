"""The cache saves time, and no damage to it changes an output."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from dmlgen import generate, inputs, project
from dmlgen.cache import Cache
from dmlgen.cases import validators
from dmlgen.cli import ROOT, main
from dmlgen.memory import Memory
from dmlgen.outputs import matrix, python
from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry
from spoiled import edit

GATHER = "operators/gather/gather.yaml"


def test_what_was_put_is_got(tmp_path: Path) -> None:
    folder = tmp_path / "deep/cache"
    Cache(folder).put(b"one", "kind", "a")
    Cache(folder).put(b"two", "kind", "b")
    assert Cache(folder).get("kind", "a") == b"one"
    assert Cache(folder).get("kind", "b") == b"two"
    assert Cache(folder).get("kinda") is None
    Cache(folder).put(b"", "kind", "a")
    assert Cache(folder).get("kind", "a") == b""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def spoil(path: Path, how: str) -> None:
    data = path.read_bytes()
    path.unlink()
    match how:
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(data[:-1])
        case "flipped":
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "grown":
            path.write_bytes(data + b"x")
        case "link":
            target = path.with_suffix(".real")
            target.write_bytes(data)
            path.symlink_to(target)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "sparse":
            path.touch()
            os.truncate(path, 1 << 40)


@pytest.mark.parametrize("how", ["empty", "cut", "flipped", "grown", "link", "pipe", "folder", "sparse"])
def test_what_is_damaged_is_not_there(how: str, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(b"one", "a")
    (path,) = (tmp_path / "cache").iterdir()
    spoil(path, how)
    assert cache.get("a") is None
    cache.put(b"two", "a")
    cache.tidy()
    assert cache.get("a") in (b"two", None)


def test_an_entry_of_another_key_is_not_taken(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(b"one", "a")
    (first,) = (tmp_path / "cache").iterdir()
    cache.put(b"two", "b")
    (second,) = set((tmp_path / "cache").iterdir()) - {first}
    first.replace(second)
    assert cache.get("b") is None


def test_folders_that_others_write_to_or_that_cannot_be_made_are_not_used(tmp_path: Path) -> None:
    shared, file = tmp_path / "shared", tmp_path / "file"
    Cache(shared).put(b"theirs", "a")
    shared.chmod(0o777)
    file.touch()
    for folder in (shared, file, file / "below", None):
        cache = Cache(folder)
        cache.put(b"one", "a")
        assert cache.get("a") is None
        cache.tidy()


def test_what_nobody_uses_goes(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for key in ("used", "unused"):
        cache.put(b"", key)
    for path in (tmp_path / "cache").iterdir():
        os.utime(path, (0, 0))
    assert cache.get("used") == b""
    cache.tidy()
    assert cache.get("used") == b""
    assert cache.get("unused") is None


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators whose cases were searched, with a separate cache."""
    names: list[str] = []
    search = matrix.search

    def noting(registry: Registry, package: Mapping[str, bytes], wanted: list[str]) -> object:
        names.extend(wanted)
        return search(registry, package, wanted)

    monkeypatch.setattr(matrix, "search", noting)
    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path / "cache")
    return names


def run(specs: Path, out: Path) -> dict[str, bytes]:
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_only_operators_whose_meaning_changed_are_searched(
    specs: Path, tmp_path: Path, searched: list[str]
) -> None:
    run(specs, tmp_path / "out")
    assert sorted(searched) == ["GATHER", "GATHER_ELEMENTS", "GATHER_ND", "GATHER_ND1"]
    searched.clear()
    path = specs / GATHER
    path.write_text("# a comment\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    run(specs, tmp_path / "out")
    run(specs, tmp_path / "elsewhere")
    assert searched == []
    edit(path, "id: axis-range", "id: axis-within")
    assert main(["lint", "--specs", str(specs), "--fix", "--retire", "DML-GATHER-axis-range"]) == 0
    run(specs, tmp_path / "out")
    assert searched == ["GATHER"]


def test_a_spoiled_cache_changes_nothing(specs: Path, tmp_path: Path, searched: list[str]) -> None:
    first = run(specs, tmp_path / "out")
    for number, path in enumerate(sorted((tmp_path / "cache").iterdir())):
        spoil(path, ["empty", "cut", "flipped", "link", "pipe", "folder"][number % 6])
    searched.clear()
    assert run(specs, tmp_path / "out") == first
    assert len(searched) == 4


FUSING = ("matrix/gemm.yaml", "activation/activation_elu.yaml", "activation/activation_identity.yaml")
# By turns; those of one turn are of different operators, so that none remakes what another left as it was.
EDITS = {
    "a summary, a definition": (
        ("operators/matrix/gemm.yaml", "Multiplies matrices,", "Matrices multiplied,"),
        ("operators/activation/activation_elu.yaml", "if x >= 0 else", "if x > 0 else"),
    ),
    "a rule's reason, a shared file": (
        ("operators/matrix/gemm.yaml", "each matrix of A has its own", "A has no fewer"),
        ("shared/activation-alpha.yaml", "ranks: 1..8, types: [FLOAT32,", "ranks: 1..7, types: [FLOAT32,"),
    ),
    "a condition, a comment in a shared file": (
        ("operators/matrix/gemm.yaml", "<= 65535", "<= 65534"),
        ("shared/activation-alpha.yaml", "members:", "# Two tensors.\nmembers:"),
    ),
    "when an activation may be fused": (
        (
            "operators/activation/activation_elu.yaml",
            'fusible_into: {any: "1.0"}',
            'fusible_into: {any: "2.0"}',
        ),
    ),
    "a general message": (("rules.yaml", "does not exist", "is not there"),),
}


def test_what_is_remembered_is_what_would_be_made(
    specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each turn, and after it is taken back, outputs are those of a run that remembers nothing."""
    for path in (specs / "operators/gather").iterdir():
        if path.name != "gather_elements.yaml":  # one is enough that nothing is fused with
            path.unlink()
    (specs / "identifiers.yaml").write_text("active: []\nretired: []\n", encoding="utf-8")
    for name in FUSING:
        (specs / "operators" / name).parent.mkdir(exist_ok=True)
        text = (ROOT / "specs/operators" / name).read_text("utf-8")
        text = re.sub(r"^integer_operators: .*\n", "", text, flags=re.MULTILINE)  # none of them is copied
        (specs / "operators" / name).write_text(text, encoding="utf-8")
    assert main(["lint", "--specs", str(specs), "--fix"]) == 0
    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path / "cache")
    before = run(specs, tmp_path / "out")
    for number, (what, edits) in enumerate(EDITS.items()):
        texts = {specs / file: (specs / file).read_text(encoding="utf-8") for file, _, _ in edits}
        for (path, text), (_, old, new) in zip(texts.items(), edits, strict=True):
            assert text.count(old) == 1, what
            path.write_text(text.replace(old, new), encoding="utf-8")
        after = run(specs, tmp_path / "out")
        with monkeypatch.context() as forgetful:
            forgetful.setattr(generate, "cache_folder", lambda: None)
            assert run(specs, tmp_path / f"out{number}") == after, what
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        assert run(specs, tmp_path / "out") == before, what


def test_nothing_is_taken_from_other_code(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    Memory(cache, "one", "specs").keep("parts", {"a": 1})
    assert Memory(cache, "one", "specs").recall("parts") == {"a": 1}
    assert Memory(cache, "two", "specs").recall("parts") == {}
    assert Memory(cache, "one", "others").recall("parts") == {}
    assert Memory().recall("parts") == {}


def test_only_planners_of_the_runtime_are_code_of_the_generator(
    gather_specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = shutil.copytree(project.RUNTIME, tmp_path / "runtime")
    monkeypatch.setattr(project, "RUNTIME", runtime)
    monkeypatch.setattr(project, "PLANNERS", runtime / "dmlops/gpu/plans")
    for name, kinds in (("explain.py", {"runtime"}), ("gpu/plans/scan.py", {"runtime", "generator"})):
        before = inputs.digests(gather_specs)
        with (runtime / "dmlops" / name).open("a") as file:
            file.write("# a comment\n")
        after = inputs.digests(gather_specs)
        assert {kind for kind in before if before[kind] != after[kind]} == kinds


def test_the_code_of_the_search_and_the_validators_are_part_of_the_key(
    gather_specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = load_registry(gather_specs)
    rendered = python.render(registry, Templates(project.TEMPLATES))
    before, all_before = inputs.case_digests(registry, rendered), inputs.digests(gather_specs)
    for name in ("validation", "tensor_rules", "operators/gather"):
        path = f"python/dmlops/{name}.py"
        changed = inputs.case_digests(registry, {**rendered, path: rendered[path] + b"# a comment\n"})
        assert changed["matrix/gather.json"] != before["matrix/gather.json"]
        assert (changed["matrix/gather_nd.json"] != before["matrix/gather_nd.json"]) == ("/" not in name)
    for name in ("make", "webnn/__init__", "graph_rules"):
        path = f"python/dmlops/{name}.py"
        changed = {**rendered, path: rendered[path] + b"# a comment\n"}
        assert inputs.case_digests(registry, changed) == before
    package = tmp_path / "dmlgen"
    for source in project.PACKAGE.rglob("*.py"):
        target = package / source.relative_to(project.PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    templates = tmp_path / "templates"
    templates.mkdir()
    monkeypatch.setattr(project, "PACKAGE", package)
    monkeypatch.setattr(project, "TEMPLATES", templates)
    for name in ("writer.py", "cli.py", "outputs/c.py", "lint.py"):
        with (package / name).open("a") as file:
            file.write("# a comment\n")
    assert inputs.case_digests(registry, rendered) == before
    assert inputs.digests(gather_specs)["generator"] != all_before["generator"]
    for name in ("cases/negatives.py", "cases/validators.py", "expr/evaluate.py", "outputs/matrix.py"):
        with (package / name).open("a") as file:
            file.write("# a comment\n")
        after = inputs.case_digests(registry, rendered)
        assert all(after[path] != before[path] for path in before)
        before = after


def test_every_module_that_judges_cases_is_part_of_their_key(gather_specs: Path) -> None:
    registry = load_registry(gather_specs)
    rendered = dict(python.installed(registry, Templates(project.TEMPLATES)))
    rendered["python/dmlops/make.py"] += b"# a package that nothing has loaded so far\n"
    before = inputs.case_digests(registry, rendered)["matrix/gather.json"]
    assert list(matrix.search(registry, rendered, ["GATHER"]))
    name = validators._imported(rendered)
    loaded = [one.partition(".")[2].replace(".", "/") for one in sys.modules if one.startswith(f"{name}.")]
    paths = [path for one in loaded if (path := f"python/dmlops/{one}.py") in rendered]
    assert {"python/dmlops/validation.py", "python/dmlops/operators/gather.py"} < set(paths)
    for path in paths:
        changed = {**rendered, path: rendered[path] + b"# a comment\n"}
        assert inputs.case_digests(registry, changed)["matrix/gather.json"] != before, path
