"""Names in specs as shader variables: every word that the compiler rejects is spelled differently."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from dmlgen.names import shader_variable
from dmlops.gpu import compiler

KEYWORDS = {
    "bool",
    "for",
    "technique",
    "typeid",
    "while",
    "row_major",
    "true",
}  # some that it must find by itself


@pytest.fixture(scope="module")
def words() -> list[str]:
    """Everything that looks like a name in the compiler's library, which has its keywords somewhere.

    A word may stand alone there, or at the end of another, where the linker has put the two together.
    """
    package = find_spec("compushady")
    assert package is not None and package.submodule_search_locations, "the extra gpu has the compiler"
    (library,) = Path(package.submodule_search_locations[0], "backends").glob("*dxcompiler*")
    found: set[str] = set()
    for match in re.finditer(rb"[A-Za-z_][A-Za-z0-9_]{1,40}", library.read_bytes()):
        text = match[0].decode()
        found |= {text, *(text[start:] for start in range(len(text)) if text[start:].islower())}
    return sorted(word for word in found if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{1,30}", word))


def refused(words: list[str]) -> Iterator[str]:
    """Those that are no variables, by halves."""
    functions = "".join(f"int f{i}(int x) {{ int {w} = x; return {w} + 1; }}\n" for i, w in enumerate(words))
    try:
        compiler.find().compile(f"{functions}[numthreads(1, 1, 1)] void CSMain() {{}}", compiler.ARGUMENTS)
    except compiler.CompileError:
        if len(words) == 1:
            yield words[0]
        else:
            half = len(words) // 2
            yield from refused(words[:half])
            yield from refused(words[half:])


def test_every_word_that_the_compiler_refuses_is_avoided(words: list[str]) -> None:
    assert len(words) > 10_000
    found = {word for start in range(0, len(words), 512) for word in refused(words[start : start + 512])}
    assert found >= KEYWORDS
    assert {word for word in found if shader_variable(word) == word} == set()
