"""README, CONTRIBUTING and docs/: links lead somewhere, snippets run, names exist, numbers are true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import dmlops
from dmlgen import revisions, source
from dmlgen.cli import ROOT
from dmlgen.outputs.spec_page import sections
from dmlops import forms, registry
from dmlops.counterparts import tensors
from dmlops.gpu.graphs import exporting

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in (ROOT, ROOT / "docs", ROOT / "examples", ROOT / "generated")
    for path in sorted(folder.glob("*.md"))
}
WRITTEN = {name: text for name, text in PAGES.items() if not name.startswith(("generated", "CHANGELOG"))}
README = PAGES["README.md"]
LINKS = {
    (name, link) for name, text in PAGES.items() for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)
}
WITH_PYTHON = [name for name, text in WRITTEN.items() if "```python\n" in text]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(("page", "link"), sorted(LINKS))
def test_links_lead_somewhere(page: str, link: str) -> None:
    path, _, anchor = link.partition("#")
    target = (ROOT / page).parent / path if path else ROOT / page
    assert target.exists()
    if anchor:
        assert anchor in anchors(target.read_text(encoding="utf-8"))


def test_the_explanation(tmp_path: Path) -> None:
    """What README shows of it is printed, in that order."""
    (tmp_path / "bad.json").write_text(blocks("README.md", "json")[0], encoding="utf-8")
    command = [sys.executable, "-m", "dmlops", "explain", "bad.json"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    shown = re.search(r"\$ python -m dmlops explain bad.json\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    at = 0
    for part in (part.strip("\n") for part in shown[1].split("...\n")):
        at = output.index(part, at) + len(part)


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_blocks_of_a_page_run(page: str) -> None:
    exec("".join(blocks(page, "python")), {})


def test_the_python_blocks_pass_a_strict_type_check(tmp_path: Path) -> None:
    for number, page in enumerate(WITH_PYTHON):
        (tmp_path / f"page_{number}.py").write_text("".join(blocks(page, "python")), encoding="utf-8")
    check = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "."],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": f"{ROOT}/generated/python{os.pathsep}{ROOT}/runtime"},
    )
    assert check.returncode == 0, check.stdout + check.stderr


def test_the_graph_breaks_the_rule_that_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(blocks("docs/PYTHON.md", "json")[0], encoding="utf-8")
    command = [sys.executable, "-m", "dmlops", "graph", "validate", "graph.json"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    (violation,) = json.loads(output)["violations"]
    assert "40" in violation["message"] and "32" in violation["message"]


def _bare(value: Any) -> Any:
    """A part of a spec without what excerpts leave out."""
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if key not in ("summary", "because")}
    return [_bare(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("page", ["README.md", "docs/SPEC.md"])
def test_the_spec_is_an_excerpt_of_the_real_one(page: str) -> None:
    excerpt = yaml.safe_load(next(one for one in blocks(page, "yaml") if "operator:" in one))
    path = ROOT / "specs/operators/gather/gather_elements.yaml"
    spec = _bare(yaml.safe_load(path.read_text(encoding="utf-8")))
    for key in ("operator", "value", "since", "page", "members", "compute"):
        assert _bare(excerpt.get(key, spec[key])) == spec[key]
    assert [one for one in _bare(excerpt["rules"]) if one not in spec["rules"]] == []


def test_the_table_of_feature_levels() -> None:
    text = PAGES["docs/FEATURE_LEVELS.md"]
    rows = re.findall(r"^\| (\d\.\d) \| ([\d.]+) \| (.*?) ?\|$", text, re.MULTILINE)
    assert len(rows) == len(registry.LEVELS)
    for (name, directml, release), (level, known) in zip(rows, registry.LEVELS.items(), strict=True):
        assert (name, directml) == (str(level), known.directml)
        box = known.in_box
        mark = " (header)" if box is not None and box.source == "header" else ""
        assert release == (f"{box.name}, build {box.build}{mark}" if box is not None else "")


def _entries(name: str) -> list[Any]:
    return [
        json.loads(line) for line in (ROOT / "tests/data" / name).read_text(encoding="utf-8").splitlines()
    ]


def test_numbers_are_those_of_their_files() -> None:
    refused = _entries("refusals.jsonl")
    invalid = [one for one in refused if dmlops.from_json(one).validate(one["level"])]
    header = (ROOT / "generated/include/dmlops.h").read_text(encoding="utf-8")
    (constant,) = re.findall(r"#define DMLOPS_CONSTANT_SIZE (\d+)", header)
    numbers = {
        ("README.md", r"# operators and \d+ feature levels"): len(registry.OPERATORS),
        ("README.md", r"\d+ operators and # feature levels"): len(registry.LEVELS),
        ("README.md", "# descriptions that"): len(_entries("callers.jsonl")),
        ("README.md", "of # that DirectML is known to reject"): len(refused),
        ("README.md", "# are invalid and one draws advice"): len(invalid),
        ("SECURITY.md", r"A file has at most # MiB"): source.MAX_BYTES >> 20,
        ("SECURITY.md", r"MiB, # levels and [\d,]+ nodes"): source.MAX_DEPTH,
        ("SECURITY.md", r"levels and # nodes"): source.MAX_NODES,
        ("SECURITY.md", r"at most # files and"): revisions.MAX_FILES,
        ("SECURITY.md", r"files and # MiB"): revisions.MAX_TOTAL >> 20,
        ("SECURITY.md", "At most # entries are taken"): forms.MOST_ENTRIES,
        ("SECURITY.md", "no data of more than # numbers"): tensors.LARGEST,
        ("docs/CHECKING.md", "Constants of more than # KiB"): int(constant) >> 10,
        ("docs/PLANS.md", "Offsets are multiples of #: a part"): exporting.ALIGNMENT,
        ("docs/PLANS.md", r"`format` \| #; another number"): exporting.FORMAT,
    }
    for (page, pattern), number in numbers.items():
        (stated,) = re.findall(pattern.replace("#", r"([\d,]+)", 1), " ".join(PAGES[page].split()))
        assert int(stated.replace(",", "")) == number, pattern


def _subcommands(module: str) -> set[str]:
    command = [sys.executable, "-m", module, "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^    ([a-z][a-z-]*)", shown, re.MULTILINE))


def test_commands_exist() -> None:
    """Those of make, dmlgen and dmlops that pages name."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    known = {"make": targets, "dmlgen": _subcommands("dmlgen"), "dmlops": _subcommands("dmlops")}
    for page, text in WRITTEN.items():
        for code in re.findall(r"`([^`\n]+)`", text):
            program, name = [*code.removeprefix(".venv/bin/").removeprefix("python -m ").split(), "", ""][:2]
            if program in known and re.fullmatch(r"[a-z][a-z-]*", name):
                assert name in known[program], f"{page}: {code}"


def test_files_exist() -> None:
    """Those that pages for contributors name, below one of these folders."""
    folders = ("", "generator/dmlgen/", "runtime/dmlops/", "runtime/dmlops/gpu/")
    for page in (
        "CONTRIBUTING.md",
        *(f"docs/{name}.md" for name in ("ARCHITECTURE", "SHADERS", "DMLGEN", "SPEC")),
    ):
        for name in re.findall(r"`((?:[\w*.-]+/)+[\w*.-]*)`", PAGES[page]):
            if not name.startswith("build/") and "/x." not in name:
                assert any(any(ROOT.glob(folder + name.strip("/"))) for folder in folders), f"{page}: {name}"


def test_every_key_of_specs_has_a_meaning() -> None:
    unexplained = [
        f"{section.name}.{row.key}" for section in sections() for row in section.rows if not row.meaning
    ]
    assert unexplained == []


def test_the_readme_has_both_commands() -> None:
    assert {"make generate", "make test"} <= {line.split("#")[0].strip() for line in README.splitlines()}
