"""Changes between two sets of specs: editing one fact gives one change, classified correctly."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import fields
from itertools import chain
from pathlib import Path

import pytest

from dmlgen.cli import ROOT, main
from dmlgen.diff.change import KINDS
from dmlgen.diff.walk import FIELDS
from git_repository import git
from spoiled import edit

ELEMENTS = "operators/gather/gather_elements.yaml"
GATHER = "operators/gather/gather.yaml"
ND1 = "operators/gather/gather_nd1.yaml"


def line_of(specs: Path, file: str, text: str) -> int:
    lines = (specs / file).read_text(encoding="utf-8").splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def changes(old: Path, new: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    code = main(["diff", str(old), str(new), "--format", "json"])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    assert code == (1 if found else 0)
    return found


# file, edits of its text, and the changes that there are then: kind, impact, subject
EDITS: dict[str, tuple[str, list[tuple[str, str]], list[tuple[str, str, str]]]] = {
    "a type gained at some levels": (
        ELEMENTS,
        [("ranks: 4, types: [UINT32]", "ranks: 4, types: [UINT32, INT32]")],
        [("support-gained", "compatible", "GATHER_ELEMENTS.IndicesTensor")],
    ),
    "a type lost of two tensors at many levels": (
        ELEMENTS,
        [("[FLOAT64, FLOAT32, FLOAT16, INT64", "[FLOAT64, FLOAT32, FLOAT16")],
        [("support-lost", "breaking", "GATHER_ELEMENTS.InputTensor")],
    ),
    "a dimension count lost": (
        ELEMENTS,
        [("[IndicesTensor], ranks: 1..8, types: [INT64, INT32", "[IndicesTensor], ranks: 1..7, types: [INT64, INT32")],
        [("support-lost", "breaking", "GATHER_ELEMENTS.IndicesTensor")],
    ),
    "a condition that refuses less": (
        ELEMENTS,
        [("require: Axis < InputTensor.DimensionCount", "require: Axis <= InputTensor.DimensionCount")],
        [("rule-changed", "breaking", "DML-GATHER_ELEMENTS-axis-range")],
    ),
    "a condition that refuses more": (
        ELEMENTS,
        [("for d in axes(InputTensor) if d != Axis)", "for d in axes(InputTensor))")],
        [("rule-changed", "breaking", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "a rule whose change nobody can tell": (
        ELEMENTS,
        [("IndicesTensor.Sizes[d] == InputTensor", "IndicesTensor.Sizes[d] * 2 == InputTensor")],
        [("rule-changed", "breaking", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "what an output has to be": (
        ELEMENTS,
        [("OutputTensor.Sizes = IndicesTensor.Sizes", "OutputTensor.Sizes = InputTensor.Sizes")],
        [("rule-changed", "breaking", "DML-GATHER_ELEMENTS-output-sizes")],
    ),
    "a reason": (
        ELEMENTS,
        [("only the axis may differ", "nothing but the axis may differ")],
        [("rule-message", "documentation", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "a violation that becomes advice": (
        ELEMENTS,
        [("Axis < InputTensor.DimensionCount", "Axis < InputTensor.DimensionCount\n    advice: true\n    source: docs")],
        [("rule-advice", "compatible", "DML-GATHER_ELEMENTS-axis-range")],
    ),
    "a level from which on a rule holds": (
        ELEMENTS,
        [("    because: only the axis", '    since: "3.0"\n    because: only the axis')],
        [("rule-looser", "compatible", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "a source": (
        ELEMENTS,
        [("may differ", "may differ\n    source: header")],
        [("rule-source", "documentation", "DML-GATHER_ELEMENTS-indices-sizes")],
    ),
    "rules in another order": (
        ELEMENTS,
        [("  - id: axis-range\n    require: Axis < InputTensor.DimensionCount\n  - {same: DataType, of: [InputTensor, OutputTensor]}\n",
          "  - {same: DataType, of: [InputTensor, OutputTensor]}\n  - id: axis-range\n    require: Axis < InputTensor.DimensionCount\n")],
        [("rule-order", "compatible", "DML-GATHER_ELEMENTS-axis-range")],
    ),
    "a member with another name": (
        ELEMENTS,
        [("IndicesTensor", "IndexTensor")],
        [("member-renamed", "breaking", "GATHER_ELEMENTS.IndexTensor")],
    ),
    "members in another order": (
        ELEMENTS,
        [("  InputTensor: {role: input, summary: The elements to pick from.}\n", ""),
         ("  OutputTensor: {role: output", "  InputTensor: {role: input, summary: The elements to pick from.}\n  OutputTensor: {role: output")],
        [("member-order", "breaking", "GATHER_ELEMENTS")],
    ),
    "a member that may be left out": (
        ELEMENTS,
        [("IndicesTensor: {role: input,", "IndicesTensor: {role: input, optional: true,")],
        [("member-optional", "compatible", "GATHER_ELEMENTS.IndicesTensor")],
    ),
    "a member of another type": (
        ELEMENTS,
        [("Axis: {type: UINT,", "Axis: {type: INT,")],
        [("member-type", "breaking", "GATHER_ELEMENTS.Axis")],
    ),
    "a level that comes later": (
        ELEMENTS,
        [('since: "2.1"', 'since: "3.0"'),
         ('  "2.1":\n    - {tensors: [InputTensor, OutputTensor], ranks: 4, types: [FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8]}\n    - {tensors: [IndicesTensor], ranks: 4, types: [UINT32]}\n', "")],
        [("operator-later", "breaking", "GATHER_ELEMENTS")],
    ),
    "another number": (
        ELEMENTS,
        [("value: 107", "value: 907")],
        [("operator-value", "breaking", "GATHER_ELEMENTS")],
    ),
    "what it computes": (
        ELEMENTS,
        [("index: normalize_index(IndicesTensor[at], ", "index: normalize_index(IndicesTensor[at] + 1, ")],
        [("definition-changed", "breaking", "GATHER_ELEMENTS")],
    ),
    "an erratum": (
        ELEMENTS,
        [("feature level 4.1 adds 64-bit element types", "feature level 4.1 adds four types")],
        [("erratum-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "what data has to be": (
        ELEMENTS,
        [("Other values are harmless", "Others are harmless")],
        [("data-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "a summary": (
        ELEMENTS,
        [("summary: Picks one", "summary: Takes one")],
        [("summary-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "a worked example": (
        ELEMENTS,
        [("data: [1, 2, 0, 2, 0, 0]", "data: [1, 2, 0, 2, 0, 1]")],
        [("example-changed", "documentation", "GATHER_ELEMENTS")],
    ),
    "the value of an enumerator": (
        "enums.yaml",
        [("ARGMIN: {value: 1}", "ARGMIN: {value: 21}")],
        [("enum-value-number", "breaking", "REDUCE_FUNCTION.ARGMIN")],
    ),
    "an enumerator with another name": (
        "enums.yaml",
        [("ARGMIN: {value: 1}", "ARG_MIN: {value: 1}")],
        [("enum-value-renamed", "breaking", "REDUCE_FUNCTION.ARG_MIN")],
    ),
    "a new enumerator": (
        "enums.yaml",
        [("ARGMIN: {value: 1}", "ARGMIN: {value: 1}\n      MEDIAN: {value: 12}")],
        [("enum-value-added", "compatible", "REDUCE_FUNCTION.MEDIAN")],
    ),
    "a release": (
        "feature_levels.yaml",
        [("directml: 1.12.0", "directml: 1.12.1")],
        [("level-release", "documentation", "6.1")],
    ),
    "a new level": (
        "feature_levels.yaml",
        [('"6.4": {value: "0x6400", directml: 1.15.0}', '"6.4": {value: "0x6400", directml: 1.15.0}\n  "6.5": {value: "0x6500", directml: 1.16.0}')],
        [("level-added", "compatible", "6.5")],
    ),
    "the layout of a struct": (
        "structs.yaml",
        [("Width: {type: UINT}\n      Height: {type: UINT}", "Height: {type: UINT}\n      Width: {type: UINT}")],
        [("member-order", "breaking", "SIZE_2D")],
    ),
    "the message of a general rule": (
        "rules.yaml",
        [('"{member} is missing; {operator} requires it"', '"{member} is missing; {operator} needs it"')],
        [("rule-message", "documentation", "DML-OPERATOR-required")],
    ),
    "the methods of an interface": (
        "interfaces.yaml",
        [("Evict, MakeResident", "MakeResident, Evict")],
        [("interface-changed", "breaking", "IDMLDevice")],
    ),
    "an alias": (
        "operators/gather/gather_nd.yaml",
        [("\nsummary: Picks blocks", "\nalias: GATHER_MANY\nsummary: Picks blocks")],
        [("alias-added", "compatible", "GATHER_ND")],
    ),
    "a hint of many messages": (
        "rules.yaml",
        [("DirectML broadcasts by strides", "DirectML repeats by strides")],
        [("hint-changed", "documentation", "broadcast")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_one_fact_changed_is_one_change(
    name: str, specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, edits, expected = EDITS[name]
    edit(specs / file, *chain(*edits), times=-1)
    found = changes(gather_specs, specs, capsys)
    assert [(one["kind"], one["impact"], one["subject"]) for one in found] == expected
    for one in found:
        assert one["reason"]
        for side, folder in (("old", gather_specs), ("new", specs)):
            place = one[side]
            if place is not None:
                assert isinstance(place, dict)
                assert place["file"] == str(folder / file)
                lines = Path(place["file"]).read_text(encoding="utf-8").splitlines()
                assert 1 <= place["column"] <= len(lines[place["line"] - 1])


def test_every_field_of_a_record_is_compared_or_left_out_for_a_reason() -> None:
    """Left out: names, positions, what follows from other fields, and what has its own walk."""
    left_out = {
        "Registry": "tensor graphs bindings calls operator_rules counterparts identifiers retired "
        "identifiers_position declared by_definition",
        "FeatureLevel": "ordinal",
        "TensorRules": "definitions rules",
        "Operator": "definitions rules support places",
    }
    for record, listed in FIELDS.items():
        names = {field.name for field in fields(record)} - {"name", "position", "node"}
        assert names - listed.keys() == {*left_out.get(record.__name__, "").split()}, record
        kinds = [how for how in listed.values() if isinstance(how, str)]
        assert {*kinds} <= KINDS.keys()


@pytest.fixture
def repository(gather_specs: Path, tmp_path: Path) -> Path:
    """A repository whose specs are not at its root, with two commits: the second takes a type away."""
    root = tmp_path / "repository"
    specs = root / "data/specs"
    shutil.copytree(gather_specs, specs)
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "tag", "v1")
    edit(specs / ELEMENTS, "[FLOAT64, FLOAT32, FLOAT16, INT64", "[FLOAT64, FLOAT32, FLOAT16", times=-1)
    git(root, "commit", "-qam", "second")
    return root


UNCHANGED = {
    "a comment, and an empty line": (ELEMENTS, [("\nrules:\n", "\n\n# in order\nrules:\n")]),
    "keys in another order": (ELEMENTS, [("value: 107\nsince: \"2.1\"", "since: \"2.1\"\nvalue: 107")]),
    "another name in a `let`": (ND1, [("  IndexTupleSize: ", "  TupleLength: "), ("require: IndexTupleSize", "require: TupleLength"), ("+ IndexTupleSize:]", "+ TupleLength:]"), ("- IndexTupleSize, 0)", "- TupleLength, 0)"), ("range(IndexTupleSize)", "range(TupleLength)")]),
    "another name in a definition": (ELEMENTS, [("index: normalize_index", "found: normalize_index"), ("Axis, index)]", "Axis, found)]")]),
    "another name of a loop": (ELEMENTS, [("[d] == InputTensor.Sizes[d] for d in axes(InputTensor) if d !=", "[i] == InputTensor.Sizes[i] for i in axes(InputTensor) if i !=")]),
    "a table written otherwise": (ELEMENTS, [("[IndicesTensor], ranks: 1..8, types: [INT64, INT32, UINT64, UINT32]", "[IndicesTensor], ranks: [1, 2, 3, 4, 5, 6, 7, 8], types: [UINT32, UINT64, INT32, INT64]")]),
    "a table for another level that follows anyway": (ELEMENTS, [('  "4.1":', '  "5.0":\n    - {tensors: [InputTensor, OutputTensor], ranks: 1..8, types: [FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8]}\n    - {tensors: [IndicesTensor], ranks: 1..8, types: [INT64, INT32, UINT64, UINT32]}\n  "4.1":')]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_means_the_same_is_no_change(
    name: str, specs: Path, gather_specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, edits = UNCHANGED[name]
    edit(specs / file, *chain(*edits), times=-1)
    assert changes(gather_specs, specs, capsys) == []


def dmlgen(repository: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*arguments, "--specs", str(repository / "data/specs")])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_revisions_are_compared_with_each_other_and_with_the_working_tree(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = repository / "data/specs"
    assert dmlgen(repository, capsys, "diff") == (0, "", "")
    code, out, _ = dmlgen(repository, capsys, "diff", "v1", "HEAD", "--format", "json")
    (lost,) = json.loads(out)
    assert code == 1 and lost["kind"] == "support-lost"
    row = line_of(specs, ELEMENTS, "[FLOAT64, FLOAT32, FLOAT16")
    assert lost["old"] == lost["new"] == {"file": str(specs / ELEMENTS), "line": row, "column": 7}
    edit(specs / GATHER, "\nsummary: ", "\nsummary: Now ")
    code, out, _ = dmlgen(repository, capsys, "diff", "--format", "json")
    assert [one["kind"] for one in json.loads(out)] == ["summary-changed"]
    code, out, _ = dmlgen(repository, capsys, "diff", "v1", "--format", "json")
    assert [one["kind"] for one in json.loads(out)] == ["support-lost", "summary-changed"]


@pytest.mark.parametrize(
    "name", ["v2", "", "--output=stolen", "-h", "HEAD:data", "v1 v2", "\n", "HEAD^{tree}", "../elsewhere"]
)
def test_what_is_no_revision_is_misuse(
    name: str, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(tmp_path.rglob("*"))
    code, out, err = dmlgen(repository, capsys, "breaking", f"--against={name}")
    assert (code, out) == (2, "") and err.count("\n") == 1, err
    assert set(tmp_path.rglob("*")) == before


def test_a_shallow_clone_says_so(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = git(repository, "rev-parse", "v1")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    code, _, err = dmlgen(tmp_path / "shallow", capsys, "breaking", "--against", first)
    assert code == 2 and "the clone is shallow" in err
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    assert dmlgen(tmp_path / "shallow", capsys, "breaking", "--against", first)[0] == 1


def test_specs_outside_of_a_repository_have_no_revisions(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", "HEAD", "--specs", str(specs)]) == 2
    assert "lies in no git repository" in capsys.readouterr().err


def test_a_hook_of_another_repository_does_not_mislead(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    assert dmlgen(repository, capsys, "breaking", "--against", "v1")[0] == 1


def hostile_tree(repository: Path, name: bytes, mode: bytes = b"100644", content: bytes = b"x: 1\n") -> str:
    """A commit with a tree that git itself would not write: the specs have an entry of this name."""

    def stored(kind: str, data: bytes) -> str:
        command = ["git", "-C", str(repository), "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()

    blob = stored("blob", content)
    specs = stored("tree", mode + b" " + name + b"\0" + bytes.fromhex(blob))
    data = stored("tree", b"40000 specs\0" + bytes.fromhex(specs))
    root = stored("tree", b"40000 data\0" + bytes.fromhex(data))
    return git(repository, "commit-tree", root, "-m", "hostile")


@pytest.mark.parametrize(
    ("name", "mode", "said"),
    [
        (b"../../../../stolen.yaml", b"100644", "leads elsewhere"),
        (b"..", b"100644", "leads elsewhere"),
        (b"a\\b.yaml", b"100644", "leads elsewhere"),
        (b"enums.yaml", b"120000", "symbolic links and submodules are not followed"),
        (b"operators", b"120000", "symbolic links and submodules are not followed"),
    ],
)
def test_hostile_trees_are_refused(
    name: bytes, mode: bytes, said: str, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = hostile_tree(repository, name, mode)
    code, out, err = dmlgen(repository, capsys, "diff", commit)
    assert (code, out) == (1, "") and said in err and "Traceback" not in err
    assert not list(tmp_path.rglob("stolen*"))


def test_a_huge_file_of_a_revision_is_not_read(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit = hostile_tree(repository, b"enums.yaml", content=b"#" * (1 << 20) + b"\n")
    code, _, err = dmlgen(repository, capsys, "diff", commit)
    assert code == 1 and f"{commit}:" in err and "enums.yaml:1:1: error[too-large]" in err


def test_a_revision_that_is_not_valid_is_told_by_its_name(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = repository / "data/specs"
    edit(specs / ELEMENTS, "value: 107", "value: none")
    git(repository, "commit", "-qam", "broken")
    git(repository, "tag", "broken")
    git(repository, "checkout", "-q", "v1", "--", ".")
    code, _, err = dmlgen(repository, capsys, "diff", "broken")
    place = f"{specs / ELEMENTS}:{line_of(specs, ELEMENTS, 'value: 107')}:8"
    assert (
        code == 2
        and f"the specs of broken are not valid for this dmlgen, in 1 places; the first is {place}: " in err
    )


def test_breaking_fails_unless_it_is_meant(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = repository / "data/specs"
    against = ("breaking", "--against", "v1")
    code, out, _ = dmlgen(repository, capsys, *against)
    assert code == 1 and "breaking[support-lost]" in out and out.endswith("1 breaking\n")
    meant = tmp_path / "meant.yaml"
    entry = "{kind: support-lost, subject: GATHER_ELEMENTS.InputTensor, reason: never was there}"
    meant.write_text(f"allowed:\n  - {entry}\n", encoding="utf-8")
    code, out, _ = dmlgen(repository, capsys, *against, "--allow", str(meant))
    assert code == 0 and "allowed: never was there" in out and out.endswith("1 allowed\n")
    edit(specs / ELEMENTS, "value: 107", "value: 907")
    code, out, _ = dmlgen(repository, capsys, *against, "--allow", str(meant))
    assert code == 1 and out.endswith("1 breaking, 1 allowed\n")
    edit(specs / ELEMENTS, "value: 907", "value: 107")
    edit(specs / GATHER, "\nsummary: ", "\nsummary: Now ")
    assert dmlgen(repository, capsys, "breaking", "--against", "HEAD") == (0, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "allowed: [{kind: support-lots, subject: GEMM, reason: oops}]",
        "allowed: [{kind: support-lost, subject: GEMM}]",
        "alowed: []",
        "allowed: [{kind: summary-changed, subject: GEMM, reason: breaks nobody}]",
    ],
)
def test_what_is_allowed_is_checked(
    text: str, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meant = tmp_path / "meant.yaml"
    meant.write_text(f"{text}\n", encoding="utf-8")
    code, out, err = dmlgen(repository, capsys, "breaking", "--against", "v1", "--allow", str(meant))
    assert (code, out) == (1, "") and f"{meant}:1:" in err


def test_annotations_name_files_from_the_root_of_the_repository(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = repository / "data/specs"
    row = line_of(specs, ELEMENTS, "[FLOAT64, FLOAT32, FLOAT16")
    place = f"::error file=data/specs/{ELEMENTS},line={row},col=7,title=support-lost::"
    monkeypatch.chdir(repository / "data")
    for folder in ("specs", str(specs)):
        assert main(["breaking", "--against", "v1", "--format", "github", "--specs", folder]) == 1
        assert capsys.readouterr().out.startswith(place)
    edit(specs / ELEMENTS, "require: Axis <", "require: Axes <")
    line = line_of(specs, ELEMENTS, "Axes <")
    for folder in ("specs", str(specs)):
        assert main(["lint", "--format", "github", "--specs", folder]) == 1
        start = f"::error file=data/specs/{ELEMENTS},line={line},col=14,"
        assert capsys.readouterr().out.startswith(start)


def test_markdown_shows_texts_of_specs_as_texts(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "summary: '<img src=x> | @everyone `](https://example.com) ![x](y) **z**'"
    text = (repository / "data/specs" / ELEMENTS).read_text(encoding="utf-8")
    summary = next(line for line in text.splitlines() if line.startswith("summary: "))
    edit(repository / "data/specs" / ELEMENTS, summary, hostile)
    code, out, _ = dmlgen(repository, capsys, "diff", "--format", "markdown")
    (row,) = [line for line in out.splitlines() if "summary of" in line]
    assert code == 1 and row.count("|") == 4
    shown = html.unescape(row)
    assert "<img src=x>" not in row and "<img src=x>" in shown and "@everyone" in shown
    assert not set("@`*[]!") & set(row.replace("&#", "")) - {"!"}
    assert "://" not in row


def test_this_repository_can_be_compared_with_its_past(capsys: pytest.CaptureFixture[str]) -> None:
    past = "HEAD~2"
    found = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", past], capture_output=True, check=False
    )
    code = main(["diff", past, "HEAD"])
    captured = capsys.readouterr()
    if found.returncode != 0:  # a shallow clone, or no repository
        assert code == 2 and captured.err.startswith("dmlgen: ")
    else:
        assert code in (0, 1) or "not valid for this dmlgen" in captured.err
        assert code != 1 or re.search(r"\d (breaking|compatible|documentation)", captured.out)
