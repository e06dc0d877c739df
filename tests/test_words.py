"""Prose and names use the field's words and American spelling: no phrase of `tests/data/words.tsv` is left.

Each line of that table is a regular expression and what to write instead. Prose is what people read: specs,
Markdown, templates of texts, and the comments and docstrings of the generator and the package. Code spans are
not prose.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlgen.cli import ROOT

TABLE = (ROOT / "tests/data/words.tsv").read_text(encoding="utf-8").splitlines()[1:]
WORDS = [
    (re.compile(pattern, re.MULTILINE), better)
    for pattern, _, better in (one.partition("\t") for one in TABLE)
]
FOLDERS = {
    "specs": "**/*.yaml",
    ".": "*.md",
    "docs": "*.md",
    "examples": "*.md",
    "templates/docs": "**/*.j2",
    "templates/registry": "*.j2",
    "templates/matrix": "*.j2",
    "templates/dxdispatch": "*.j2",
    "templates/tables": "*.j2",
    "templates/c": "**/*.j2",
    "templates/hlsl": "**/*.*",
    "templates/python": "**/*.j2",
    "scripts": "*.py",
    "bench": "*.py",
    "generator/dmlgen": "**/*.py",
    "generator/dmlaudit": "**/*.py",
    "runtime/dmlops": "**/*.py",
}


def comments(text: str) -> str:
    """The comments and docstrings of Python code, each on the line where it begins."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and token.string.startswith('"""')
        ):
            for number, line in enumerate(token.string.splitlines(), token.start[0] - 1):
                lines[number] += line
    return "\n".join(lines)


def prose(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    text = comments(text) if path.suffix == ".py" else text
    return re.sub(r"`[^`\n]*`|{{.*?}}|{%.*?%}|[\w/]+\.(py|md)\b", " ", text)


def findings(text: str) -> Iterator[str]:
    for pattern, better in WORDS:
        for found in pattern.finditer(text):
            yield f"{text.count(chr(10), 0, found.start()) + 1}: {found[0]!r}; write: {better}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_prose_has_none_of_these_words(folder: str) -> None:
    paths = sorted((ROOT / folder).glob(FOLDERS[folder]))
    assert paths
    assert [f"{path.name}:{one}" for path in paths for one in findings(prose(path))] == []


def names(text: str) -> str:
    """The words of the names in Python code, each name on its line."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = (token.string for token in tokens if token.type == tokenize.NAME)
    return "\n".join(name.replace("_", " ").lower() + " ()" for name in found)


@pytest.mark.parametrize("folder", [folder for folder, files in FOLDERS.items() if files.endswith(".py")])
def test_names_have_none_of_these_words(folder: str) -> None:
    paths = sorted((ROOT / folder).glob(FOLDERS[folder]))
    texts = {path.name: names(path.read_text(encoding="utf-8")) for path in paths}
    assert [f"{name}:{one}" for name, text in texts.items() for one in findings(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "nothing of how ties round",
        "dimensions that do not count",
        "the first NaN counts as the largest",
        "what takes no part",
        "both less their zero points",
        "IndicesTensor must differ from 0",
        "the neighbouring element",
        "as normalised by",
        "what planners are told",
        "attention of halves",
        "the order of judgement",
        '"""What a planner takes."""',
        names("is_told(x)"),
        "summary: Gives x.",
    ],
)
def test_such_words_are_found(text: str) -> None:
    assert list(findings(text))


def test_ordinary_words_are_not() -> None:
    text = "precise promises advise otherwise; count the elements, as many as there are; a rise; two halves"
    assert list(findings(text)) == []
