"""A mutated spec either is rejected with a finding or is another spec that every output can print.

Names of tensors and of `let` are swapped, numbers change kind, lines and pairs of mappings are deleted or
duplicated, in specs of all families. DMLGEN_MUTATIONS is the number of mutations, DMLGEN_SEED the seed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from dmlgen.diagnostics import SpecError
from dmlgen.lint import lint
from dmlgen.outputs import c, definition, hlsl, python, python_planner
from dmlgen.outputs.render import Templates
from dmlgen.project import TEMPLATES
from dmlgen.resolve import load_registry
from spoiled import SPECS, with_operators

COUNT = int(os.environ.get("DMLGEN_MUTATIONS", "200"))
SEED = int(os.environ.get("DMLGEN_SEED", "1"))
NAME = re.compile(r"(?m)^  (\w+)(?:\([^)]*\))?:")
WORD, WHOLE, PAIR = (
    re.compile(r"[A-Za-z_]\w*"),
    re.compile(r"(?<![\w.])\d+(?![\w.])"),
    re.compile(r"\w+: [^,}]+, "),
)

PROSE = re.compile(r"\s*(?:- )?(?:summary|because|message|says|page|where|text|registry|hint):|\s*#|\s*$")
EXACT = ("identifier-unlisted", "identifier-gone")  # findings of the list of identifiers
_TEMPLATES = Templates(TEMPLATES)  # one, since compiling templates takes longer than rendering an operator


def mutations(text: str, choice: Random) -> Iterator[str]:
    """The text with one thing changed, in every way that is looked for."""
    lines, names = text.split("\n"), sorted(set(NAME.findall(text)))
    for number, line in enumerate(lines[1:], 1):
        if not PROSE.match(line):
            for changed in (line + "\n" + line, None, *_changed(line, names, choice)):
                yield "\n".join(
                    [*lines[:number], *([] if changed is None else [changed]), *lines[number + 1 :]]
                )


def _changed(line: str, names: list[str], choice: Random) -> Iterator[str]:
    for match in WORD.finditer(line):
        if match[0] in names:
            other = choice.choice(names)
            yield line[: match.start()] + other + line[match.end() :]
    for match in WHOLE.finditer(line):
        for other in (f"{match[0]}.5", f'"{match[0]}"', "true", f"-{match[0]}", str(int(match[0]) + 1)):
            yield line[: match.start()] + other + line[match.end() :]
    for match in PAIR.finditer(line):
        yield line[: match.start()] + line[match.end() :]
        yield line[: match.end()] + line[match.start() :]


def test_a_changed_spec_is_a_finding_or_another_spec(tmp_path: Path) -> None:
    choice = Random(SEED)
    paths = sorted((SPECS / "operators").glob("*/*.yaml"))
    specs = with_operators(tmp_path / "specs")
    changed: dict[str, str] = {}
    for number in range(COUNT):
        path = paths[number * len(paths) // COUNT]
        before = path.read_text(encoding="utf-8")
        copy = specs / f"operators/{number}" / path.name
        changed[copy.as_posix()] = choice.choice([one for one in mutations(before, choice) if one != before])
        copy.parent.mkdir(parents=True)
        copy.write_text(changed[copy.as_posix()], encoding="utf-8")
    refused: set[str] = set()
    try:  # all at once, since errors of one file do not hide those of another
        load_registry(specs)
    except SpecError as error:
        refused = {finding.position.file for finding in error.findings}
    assert len(refused) > COUNT / 2
    for file in changed.keys() - refused:
        _accepted(tmp_path / "alone", Path(file))


def _accepted(folder: Path, path: Path) -> None:
    """An operator alone has findings, or every output prints it."""
    shutil.rmtree(folder, ignore_errors=True)
    with_operators(folder)
    (folder / "operators/one").mkdir(parents=True)
    shutil.copy(path, folder / "operators/one")
    try:
        registry = load_registry(folder)
    except SpecError:  # at a shared file
        return
    if not [one for one in lint(registry) if one.code not in EXACT]:
        files = {
            file
            for output in (python, python_planner, definition, hlsl, c)
            for file in output.render(registry, _TEMPLATES)
        }
        expected = {f"hlsl/{path.stem}.hlsl", f"python/dmlops/compute/{path.stem}.py", "include/dmlops.h"}
        assert expected <= files, path
