"""One wrong letter in a spec: lint reports it, with its position, or the registry stays the same.

One letter is changed in a key, a name or a value, except in free text and `compute` sections. The exception
is a DirectML.h name that the specs contain only once, which no spec can show to be wrong: those are compared
with the header.

DMLGEN_LETTERS=all tries every key, name and value of all specs, for about an hour; the default is a sample.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from dmlgen.cli import ROOT
from dmlgen.diagnostics import SpecError
from dmlgen.lint import lint
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry
from dmlgen.source import Mapping, Node, Scalar, Sequence, load

SPECS = ROOT / "specs"
FILES = sorted(
    path
    for path in SPECS.rglob("*.yaml")
    if path.name != "identifiers.yaml" and path.parent.name != "counterparts"  # see test_counterparts.py
)
ALL = os.environ.get("DMLGEN_LETTERS") == "all"
COMPANY = ("operators/gather/gather_elements.yaml", "operators/activation/activation_relu.yaml")

# Texts for people, addresses, and what others test.
FREE = {
    "summary",
    "seen",
    "because",
    "says",
    "unspecified",
    "where",
    "registry",
    "text",
    "message",
    "hint",
    "broken_by",
    "name",
    "page",
    "overrules",
}
FREE |= {"broadcast", "rank", "axis", "negative", "compute", "pages"}


def names_of_header(registry: Registry) -> set[str]:
    """Names that need not stand in a second place."""
    found = {one.name for one in (*registry.constants, *registry.enums.values(), *registry.structs.values())}
    found |= {entry.name for enum in registry.enums.values() for entry in enum.entries}
    found |= {n for one in registry.structs.values() for m in one.members for n in (m.name, m.type)}
    found |= {member.name for operator in registry.operators for member in operator.members}
    found |= {enum.prefix for enum in registry.enums.values()} | {
        level.ntddi or "" for level in registry.levels
    }
    found |= {*registry.foreign, *(part for pair in registry.foreign.values() for part in pair)}
    return found | {operator.alias for operator in registry.operators} | set(registry.types)


def scalars(node: Node) -> Iterator[Scalar]:
    """Keys and values that mean something; examples and rules on data have numbers and names for people."""
    match node:
        case Mapping(entries=entries):
            is_for_people = node.get("tensors") is not None or node.get("text") is not None
            for entry in entries:
                if entry.name not in FREE:
                    yield entry.key
                    if not (is_for_people and entry.name == "id"):
                        yield from scalars(entry.value)
        case Sequence(items=items):
            for item in items:
                yield from scalars(item)
        case Scalar(value=str()):
            yield node


def changed(path: Path, random: Random) -> Iterator[tuple[str, str]]:
    """The file with one other letter in each of its scalars, and the scalar then."""
    text = path.read_text(encoding="utf-8")
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for scalar in scalars(load(path, SPECS)):
        start = starts[scalar.position.line - 1] + scalar.position.column - 1
        letters = [start + n for n, char in enumerate(scalar.raw) if char.isascii() and char.isalpha()]
        if letters:
            at = random.choice(letters)
            alphabet = "abcdefghijklmnopqrstuvwxyz" if text[at].islower() else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
            other = random.choice(alphabet.replace(text[at], ""))
            whole = text[:at] + other + text[at + 1 :]
            yield whole, whole[start : start + len(scalar.raw)].strip("'\"")


def findings(folder: Path) -> tuple[list[tuple[str, str]], Registry | None]:
    """Findings of lint and their positions, apart from identifiers of the operators that are left out."""
    try:
        registry = load_registry(folder)
    except SpecError as error:
        return [(str(one.position), one.message) for one in error.findings], None
    found = [one for one in lint(registry) if one.code != "identifier-gone"]
    return [(str(one.position), one.message) for one in found], registry


@pytest.mark.parametrize("path", FILES if ALL else Random(11).sample(FILES, 12), ids=lambda path: path.stem)
def test_one_letter(path: Path, tmp_path: Path) -> None:
    file = path.relative_to(SPECS).as_posix()
    specs = shutil.copytree(SPECS, tmp_path / "specs", ignore=shutil.ignore_patterns("counterparts"))
    for operator in (specs / "operators").rglob("*.yaml"):
        if operator.relative_to(specs).as_posix() not in (file, *COMPANY):
            operator.unlink()
    company, right = findings(specs)
    assert right is not None
    wrong = list(changed(path, Random(path.name)))
    for text, scalar in wrong if ALL else Random(5).sample(wrong, min(8, len(wrong))):
        (specs / file).write_text(text, encoding="utf-8")
        found, registry = findings(specs)
        assert all(re.fullmatch(r".+\.yaml:\d+:\d+", position) for position, _ in found)
        if found == company and repr(registry) != repr(right):
            assert registry is not None
            assert scalar in names_of_header(registry) - names_of_header(right), (scalar, text)
