"""Declarations of a shader: those that nothing reaches are left out.

Templates have whole libraries, of which a shader needs a few functions; with macros resolved, `dmlops shader`
needs even fewer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

_DECLARATION = re.compile(
    r"""^ (?: \[\[vk::ext_.*?\]\]\s+ | \[\w+(?:\(.*\))?\]\n )*
        (?: struct\ (?P<struct>\w+) \n\{\n (?:.*\n)*? \};
          | \#define\ (?P<macro>\w+) (?: (?: (?<!\d)\ \w+ (?:\([\w,\ ]+\))?)? | \([\w,\ ]*\) (?:.*\\\n)*.* )
          | typedef\ [^;]+ \ (?P<type>\w+); .*
          | (?:groupshared|static)\ (?P<variables> [^;]+ ); .*
          | (?:precise\ )? [\w<>]+ \ (?P<function>\w+) \( (?P<parameters> [^;{]*? ) \)
            (?: ; | \ \{.*\} (?:\ *//.*)? | \n\{\n (?:.*\n)*? \} )
        ) $""",
    re.MULTILINE | re.VERBOSE,
)
"""Macros that end in a digit are data types, which plans name."""
_VARIABLE = re.compile(r"([A-Za-z]\w*)(?:\[[^\]]*\])*(?: = |,|$)")
"""A name in a declaration of variables; or one that a comma follows in a value, which does no harm."""
_COMMENT = re.compile(r"//.*")
_WORD = re.compile(r"\w+")
_EMPTY = re.compile(r"^(?://.*\n)*#if.*\n+(?:#else\n+)?#endif\n\n*", re.MULTILINE)
_EMPTY_ELSE = re.compile(r"^#else\n+(?=#endif$)", re.MULTILINE)
ENTRY = "CSMain"


class _Declaration(NamedTuple):
    """A function, a struct, a type, variables or a macro for a call or a word: its names and its lines, and
    the words of its parameters and of all its code."""

    names: frozenset[str]
    first: int
    end: int
    parameters: frozenset[str]
    words: frozenset[str]


def reached(text: str, entry: str = ENTRY) -> str:
    """The text without functions that are not called from an entry point, and without structs, types,
    variables and macros for calls or words that are not named.

    Of overloads, those are left out that take a struct of which there is none.
    """
    lines = text.split("\n")
    waiting = list(_declarations(text))
    structs = {found["struct"] for found in _DECLARATION.finditer(text)}
    inside = set(chain.from_iterable(range(one.first, one.end) for one in waiting))
    words = {entry, *words_of(line for number, line in enumerate(lines) if number not in inside)}
    while True:  # ends: each turn but the last reaches some of those that wait
        found = [one for one in waiting if one.names & words and one.parameters & structs <= words]
        if not found:
            break
        waiting = [one for one in waiting if one not in found]
        words.update(*(one.words for one in found))
    for one in reversed(waiting):
        _remove(lines, one.first, one.end)
    left = _EMPTY_ELSE.sub("", _EMPTY.sub("", text := "\n".join(lines)))
    return text if left == text else reached(left, entry)  # ends: it is shorter


def words_of(lines: Iterable[str]) -> frozenset[str]:
    """The words of code, without comments."""
    return frozenset(chain.from_iterable(_WORD.findall(_COMMENT.sub("", line)) for line in lines))


def _declarations(text: str) -> Iterator[_Declaration]:
    for match in _DECLARATION.finditer(text):
        first = text.count("\n", 0, match.start())
        name = match["struct"] or match["macro"] or match["type"] or match["function"]
        yield _Declaration(
            names=frozenset({name} if name else _VARIABLE.findall(match["variables"])),
            first=first,
            end=first + match[0].count("\n") + 1,
            parameters=words_of([match["parameters"] or ""]),
            words=words_of(match[0].split("\n")),
        )


def _remove(lines: list[str], first: int, end: int) -> None:
    """Removes a declaration, with the comment above it unless that goes on with what follows, and an empty
    line."""
    del lines[first:end]
    if not lines[first] or (lines[first].startswith("#") and not lines[first].startswith("#define")):
        while lines[first - 1].startswith("//"):
            first -= 1
            del lines[first]
    if not lines[first] and not lines[first - 1]:
        del lines[first]
