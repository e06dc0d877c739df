"""Specs with a single mistake, and the finding expected for each."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.resolve import load_registry

SPECS = Path(__file__).parent.parent / "specs"


def with_operators(specs: Path, *operators: str) -> Path:
    """A copy of the specs with only these operators, by the paths of their files, and what all share."""
    shutil.copytree(SPECS, specs, ignore=shutil.ignore_patterns("operators", "counterparts"))
    for name in operators:
        (specs / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SPECS / name, specs / name)
    return specs


def with_changed(specs: Path, operator: str, old: str, new: str) -> Path:
    """A copy of the specs with only this operator, in whose file one text replaces another once."""
    edit(with_operators(specs, operator) / operator, old, new)
    return specs


def edit(path: Path, *texts: str, times: int = 1) -> None:
    """Replaces texts of a file (everywhere if `times` is -1): an old one, a new one, and so on."""
    text = path.read_text(encoding="utf-8")
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        assert old in text, f"{old!r} is no longer in {path.name}"
        text = text.replace(old, new, times)
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Spoil:
    """Replace `old` by `new` in `file`; a finding `code` stands at the text `at` of the spoiled file.

    The operator that is loaded is that of `file`, or `of` where that is a shared one; `says` is part of what
    the finding says or suggests.
    """

    name: str
    file: str
    old: str
    new: str
    code: str
    at: str
    says: str = ""
    of: str = ""

    def check(self, folder: Path) -> None:
        """Loads the spoiled specs, in a folder, and looks for the finding."""
        specs = with_operators(folder / "specs", self.of or self.file)
        path = specs / self.file
        before = path.read_text(encoding="utf-8")
        start = before.index("compute:") if "compute:" in before else 0
        assert self.old in before[start:], "the text to spoil is no longer in the spec"
        text = before[:start] + before[start:].replace(self.old, self.new, 1)
        path.write_text(text, encoding="utf-8")

        with pytest.raises(SpecError) as error:
            load_registry(specs)

        found = [finding for finding in error.value.findings if finding.code == self.code]
        assert found, [str(finding) for finding in error.value.findings]
        offset = text.index(self.at, start)
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        assert str(found[0].position) == f"{path.as_posix()}:{line}:{column}"
        assert self.says in f"{found[0].message} {found[0].suggestion}"
