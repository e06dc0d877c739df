"""The README's examples do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dmlgen.cli import ROOT
from dmlops import registry

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[number]


def test_the_explanation(tmp_path: Path) -> None:
    description = tmp_path / "bad.json"
    description.write_text(block("json"), encoding="utf-8")
    command = [sys.executable, "-m", "dmlops", "explain", str(description)]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    shown = re.search(r"\$ python -m dmlops explain bad.json\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    assert output.strip() == shown[1].strip()


def test_the_python_example() -> None:
    exec("".join(block("python", number) for number in range(4)), {})


def test_the_python_examples_pass_a_strict_type_check(tmp_path: Path) -> None:
    file = tmp_path / "snippets.py"
    file.write_text("".join(block("python", number) for number in range(4)), encoding="utf-8")
    packages = ROOT / "generated" / "python"
    check = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(packages)},
    )
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("name", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_links_lead_somewhere(name: str) -> None:
    assert (ROOT / name).exists()


def test_the_table_of_feature_levels() -> None:
    rows = re.findall(r"^\| (\d\.\d) \| ([\d.]+) \| (.*?) ?\|$", README, re.MULTILINE)
    assert len(rows) == len(registry.LEVELS)
    for (name, directml, release), (level, known) in zip(rows, registry.LEVELS.items(), strict=True):
        assert (name, directml) == (str(level), known.directml)
        box = known.in_box
        mark = " (header)" if box is not None and box.source == "header" else ""
        assert release == (f"{box.name}, build {box.build}{mark}" if box is not None else "")
