"""Functions, structs and macros of a shader: those that nothing reaches are left out.

Templates have whole libraries, of which a shader needs a few functions. Macros that a plan sets are described
in its head.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

from dmlgen.outputs.hlsl_lines import MEANINGS

_DEFINITION = re.compile(
    r"""^ (?: struct\ (?P<struct>\w+) \n\{\n (?:.*\n)*? \};
            | \#define\ (?P<macro>\w+) (?: \ \w+\(\w+\) | \([\w,\ ]+\)\ .*[^\\\n] )
            | (?:precise\ )? [\w<>]+ \ (?P<function>\w+) \( (?P<parameters>[^)]*) \)
              (?: \ \{.*\} | \n\{\n (?:.*\n)*? \} )
        ) $""",
    re.MULTILINE | re.VERBOSE,
)
_COMMENT = re.compile(r"//.*")
_WORD = re.compile(r"\w+")
_EMPTY = re.compile(r"^#if.*\n+(?:#else\n+)?#endif\n\n*", re.MULTILINE)
_EMPTY_ELSE = re.compile(r"^#else\n+(?=#endif$)", re.MULTILINE)
_ENTRY = "CSMain"
_MACRO = re.compile(r"//   (?:  )?(X(?=_))?([A-Z_][A-Z0-9_]*) ")


@dataclass(frozen=True, eq=False)
class _Definition:
    """A function, a struct or a macro for a call: its lines, the words of its parameters and of all its
    code."""

    name: str
    first: int
    end: int
    parameters: frozenset[str]
    words: frozenset[str]


def reached(data: bytes) -> bytes:
    """The text without functions that are not called from the entry point, structs and macros for calls that
    are not named, and what its head says about macros that are not named.

    Of overloads, those are left out that take a struct of which there is none. A macro X_NAME is one of
    several that end in _NAME.
    """
    text = data.decode()
    lines = text.split("\n")
    waiting = _definitions(text)
    structs = {found["struct"] for found in _DEFINITION.finditer(text)}
    inside = set(chain.from_iterable(range(one.first, one.end) for one in waiting))
    words = {_ENTRY, *_words(line for number, line in enumerate(lines) if number not in inside)}
    while True:  # ends: each turn but the last reaches some of those that wait
        found = [one for one in waiting if one.name in words and one.parameters & structs <= words]
        if not found:
            break
        waiting = [one for one in waiting if one not in found]
        words.update(*(one.words for one in found))
    for one in reversed(waiting):
        _remove(lines, one.first, one.end)
    _forget(lines, words)
    return _EMPTY_ELSE.sub("", _EMPTY.sub("", "\n".join(lines))).encode()


def _definitions(text: str) -> list[_Definition]:
    found: list[_Definition] = []
    for match in _DEFINITION.finditer(text):
        first = text.count("\n", 0, match.start())
        found.append(
            _Definition(
                name=match["struct"] or match["macro"] or match["function"],
                first=first,
                end=first + match[0].count("\n") + 1,
                parameters=_words([match["parameters"] or ""]),
                words=_words(match[0].split("\n")),
            )
        )
    return found


def _words(lines: Iterable[str]) -> frozenset[str]:
    """The words of code, without comments."""
    return frozenset(chain.from_iterable(_WORD.findall(_COMMENT.sub("", line)) for line in lines))


def _remove(lines: list[str], first: int, end: int) -> None:
    """Removes a definition, with the comment above it unless that goes on with what follows, and an empty
    line."""
    del lines[first:end]
    if not lines[first] or (lines[first].startswith("#") and not lines[first].startswith("#define")):
        while lines[first - 1].startswith("//"):
            first -= 1
            del lines[first]
    if not lines[first] and not lines[first - 1]:
        del lines[first]


def _forget(lines: list[str], words: Collection[str]) -> None:
    """Removes what the head says about macros that are not among the words."""
    number = 0
    while lines[number]:  # ends: there is an empty line after the head
        found = _MACRO.match(lines[number])
        named = found is None or any(
            word.endswith(found[2]) if found[1] else word == found[2] for word in words
        )
        if named:
            number += 1
            continue
        del lines[number]
        while lines[number].startswith(MEANINGS):
            del lines[number]
