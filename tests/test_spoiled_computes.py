"""One wrong letter in a key or a name of any `compute` section is a finding at that place.

Every word of every family is changed once, at its first occurrence in the family. One registry holds all the
changed files, because errors in one file do not hide those in another.
"""

from __future__ import annotations

import keyword
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.resolve import load_registry
from dmlgen.schedules.cases import written
from spoiled import SPECS, with_operators

SECTION = re.compile(r"(?m)^compute:\n(?:  .*\n)+")
WORD = re.compile(r"#.*|[A-Za-z_]\w*(?:-[a-z]+)*")
FAMILIES = sorted(path.name for path in (SPECS / "operators").iterdir())


@dataclass(frozen=True)
class Spoil:
    """A word of a spec, where it stands, and the text with one letter of it changed.

    `is_bound`: it is where a parameter or a loop variable gets its name, so that what misses it is an error.
    """

    file: Path
    word: str
    line: int
    column: int
    text: str
    is_bound: bool


def spoils(families: list[str]) -> Iterator[Spoil]:
    """Every word of each family, spoiled once."""
    for family in families:
        seen: set[str] = set()
        for path in sorted((SPECS / "operators" / family).glob("*.yaml")):
            found = [one for one in _spoils(path.relative_to(SPECS)) if one.word not in seen]
            seen |= {one.word for one in found}
            yield from found


def _spoils(file: Path) -> Iterator[Spoil]:
    text = (SPECS / file).read_text(encoding="utf-8")
    section = SECTION.search(text)
    if section is None:  # all of it is shared
        return
    seen: set[str] = set()
    for match in WORD.finditer(text, section.start() + len("compute:"), section.end()):
        word, start = match[0], match.start()
        if word in seen or word.startswith("#"):
            continue
        seen.add(word)
        place = start + len(word) // 2
        letter = next(c for c in "qzQZ" if c.isupper() == text[place].isupper() and c != text[place])
        spoiled = text[:place] + letter + text[place + 1 :]
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        before, after = text[max(start - 4, 0) : start], text[match.end() :]
        is_bound = before == "for " or bool(re.match(r"[\w, ]*\):", after))
        yield Spoil(file, word, line, column, spoiled, is_bound)


@pytest.mark.parametrize("half", [FAMILIES[::2], FAMILIES[1::2]], ids=["half", "other half"])
def test_one_letter_is_found(half: list[str], tmp_path: Path) -> None:
    specs = with_operators(tmp_path / "specs")
    copies = {specs / "operators" / str(n) / spoil.file.name: spoil for n, spoil in enumerate(spoils(half))}
    for path, spoil in copies.items():
        path.parent.mkdir(parents=True)
        path.write_text(spoil.text, encoding="utf-8")
    with pytest.raises(SpecError) as error:
        load_registry(specs)
    by_path: dict[str, list[Finding]] = {}
    for finding in error.value.findings:
        by_path.setdefault(finding.position.file, []).append(finding)
    for path, spoil in copies.items():
        found = by_path.get(path.as_posix(), [])
        if not found:
            assert _meaning(SPECS / spoil.file, tmp_path) == _meaning(path, tmp_path), spoil
        elif spoil.is_bound or keyword.iskeyword(spoil.word):
            nearby = range(spoil.line - 3, spoil.line + 4)
            assert any(one.position.line in nearby for one in found), (spoil.file, spoil.word, found)
        else:
            places = [(one.position.line, one.position.column) for one in found]
            assert (spoil.line, spoil.column) in places, (spoil.file, spoil.word, found)


def _meaning(path: Path, folder: Path) -> list[ir.Expr]:
    """What an operator computes, with names and loop variables written out."""
    specs = folder / "alone"
    shutil.rmtree(specs, ignore_errors=True)
    with_operators(specs)
    (specs / "operators/one").mkdir(parents=True)
    shutil.copy(path, specs / "operators/one")
    (operator,) = load_registry(specs).operators
    defines = operator.defines
    assert defines is not None
    values = [part for one in defines.tensors for part in (one.sizes, one.value)]
    return [written(value, {}) for value in (*values, *defines.outputs.values())]
