"""Lines of shaders: those that are too long are broken where a person would break them.

Code is broken at the lowest depth of parentheses, and there at the operator that binds least; a comment after
it is moved above it first. The excess of a comment's line flows into the next one, if that continues it. A
function of a single statement is on one line, if it fits.
"""

from __future__ import annotations

import re

from dmlgen.outputs.hlsl_reachable import reached

WIDTH = 120
"""Columns of a line. Longer ones remain where nothing can be broken, as in macros."""

_FEW = 50
"""Columns that a line of code has at least before it is broken, if there is such a place."""

_PLACES = (  # what binds least first
    re.compile(r"(?<=;) "),
    re.compile(r"(?<=,) "),
    re.compile(r" (?=[?:] )"),
    re.compile(r" (?=\|\| )"),
    re.compile(r" (?=&& )"),
    re.compile(r" (?=(?:\||<<|>>) )"),
    re.compile(r" (?=[+-] )"),
    re.compile(r" (?=[*/%] )"),
    re.compile(r"(?<= =) "),
)
_FUNCTION = re.compile(r"(\w.*\)) { (.*;) }")
_SINGLE = re.compile(r"^(\w.*\))\n{\n    ([^#/\n].*;)\n}$", re.MULTILINE)
"""A function of a single statement, and one that is written so."""
_DEPTHS = {"(": 1, ")": -1, "{": 1, "}": -1, "[": 3, "]": -3}
_COMMENT = re.compile(r" *// *")


def finished(text: bytes) -> bytes:
    """The text of a shader without what it does not use, and without lines that are too long."""
    return broken(reached(text.decode()))


def broken(text: str) -> bytes:
    """The text of a shader without lines that are too long."""
    rest = _SINGLE.sub(_joined, text).split("\n")[::-1]
    lines: list[str] = []
    while rest:  # ends: what is put back is shorter than what was taken
        line = rest.pop()
        code = line.lstrip(" ")
        if len(line) <= WIDTH or code.startswith("#") or code.endswith("\\"):
            lines.append(line)
        elif code.startswith("//"):
            lines.append(_comment(line, rest))
        else:
            lines += _code(line)
    return "\n".join(lines).encode()


def _comment(line: str, rest: list[str]) -> str:
    """The beginning of a line; what follows is put before the next line."""
    found = _COMMENT.match(line)
    assert found is not None
    at = line.rfind(" ", len(found[0]), WIDTH + 1)
    if at < 0:
        return line
    below = _COMMENT.match(rest[-1]) if rest else None
    start, more = found[0], found[0] + line[at + 1 :]
    if below is not None and below[0] == start and len(rest[-1]) > len(start):
        more += " " + rest.pop()[len(start) :]
    rest.append(more)
    return line[:at]


def _joined(function: re.Match[str]) -> str:
    line = f"{function[1]} {{ {function[2]} }}"
    return line if len(line) <= WIDTH else function[0]


def _code(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip(" "))]
    code, mark, comment = line.partition("  // ")
    lines = [f"{indent}// {comment}"] if mark else []
    function = _FUNCTION.fullmatch(code)
    if function is not None:
        return [*lines, function[1], "{", *_code(f"    {function[2]}"), "}"]
    while len(code) > WIDTH:  # ends: more is cut off than is put before the rest
        at = _place(code, len(indent) + 8)
        if at is None:
            break
        lines.append(code[:at])
        code = f"{indent}    {code[at + 1 :]}"
    return [*lines, code]


def _place(code: str, first: int) -> int | None:
    """The space of a line at which it is broken, not before column `first`."""
    depth, depths = 0, []
    for character in code:
        depth += _DEPTHS.get(character, 0)
        depths.append(depth)
    found = [
        (at < _FEW, depths[at], rank, -at)
        for rank, pattern in enumerate(_PLACES)
        for at in (one.start() for one in pattern.finditer(code))
        if first < at <= WIDTH
    ]
    return -min(found)[-1] if found else None
