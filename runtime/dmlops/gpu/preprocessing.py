"""Resolves the macros of a shader for one variant: what `dmlops shader` prints.

The result compiles to the same code without any macro: conditions are decided, macros are replaced, and
declarations that the entry point does not reach are left out; comments stay. Only a condition on the target
(`__spirv__`) stays, with what is between it and its #endif, and macros with parameters stay macros where the
text calls them.

The shaders of this package are within what this handles: no macro is defined twice or undefined, none uses #
or ##, and there is no #include. Anything else raises ValueError.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..hlsl_reachable import reached

_TARGET = "__spirv__"  # the compiler defines it, or does not
_TOKEN = re.compile(
    r'//.*|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\.?\d(?:[eE][+-]|[\w.])*|\s+|.'
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"(\w+)(\([^)]*\))?\s*(.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"\b(\w+)\(")
_RESOURCE = re.compile(r"^\[\[vk::binding.*\n(?:\{\n(?:.*\n)*?\};\n)?", re.MULTILINE)
_BLANK = re.compile(r"\n{3,}")
_COMMENT_ALONE = re.compile(r"^(?://.*\n)+(?=\n)", re.MULTILINE)


class Uses(NamedTuple):
    """Of the macros given for a variant, those that its text uses; and names in its conditions without a
    meaning, which compilers take as 0."""

    used: frozenset[str]
    undefined: frozenset[str]


def resolved(source: str, macros: Mapping[str, int | str]) -> str:
    """The text of a variant, without its head."""
    return tidy(reached(preprocessed(_body(source), macros)))


def function(source: str, macros: Mapping[str, int | str], name: str) -> str:
    """The text of one function of a variant, and of what it calls, without resources and constants."""
    return tidy(reached(_RESOURCE.sub("", preprocessed(_body(source), macros)), name))


def tidy(text: str) -> str:
    """A text without comments on what was left out, and with no more than one empty line between others."""
    return _BLANK.sub("\n\n", _COMMENT_ALONE.sub("", text)).strip() + "\n"


def uses(source: str, macros: Mapping[str, int | str]) -> Uses:
    """The macros that determine a variant."""
    resolver = _Resolver(macros)
    resolver.run(_body(source))
    return Uses(frozenset(resolver.used & macros.keys()), frozenset(resolver.undefined))


def preprocessed(text: str, macros: Mapping[str, int | str]) -> str:
    """A text with conditions decided and macros replaced."""
    return _Resolver(macros).run(text)


def _body(source: str) -> str:
    """A shader without its head."""
    return source.partition("\n\n")[2]


# Conditions and macros.


class _Macro(NamedTuple):
    """`parameters`, with parentheses, is empty for a macro that is replaced."""

    parameters: str
    body: str


@dataclass
class _Condition:
    """An #if. `is_active`: its current branch is taken; `is_decided`: no later one is."""

    is_active: bool
    is_decided: bool


class _Resolver:
    """A variant of a shader, and what it used of its macros."""

    def __init__(self, given: Mapping[str, int | str]) -> None:
        self.macros = {name: _Macro("", str(value)) for name, value in given.items()}
        self.used: set[str] = set()
        self.undefined: set[str] = set()
        self._replacements: dict[str, str] = {}

    def run(self, text: str) -> str:
        lines = list(self._taken(iter(_lines(text))))
        self._replacements.clear()  # bodies may name macros that are defined after them
        return "\n".join(map(self._replaced, lines))

    def _taken(self, lines: Iterator[_Line]) -> Iterator[_Line]:
        """The lines of the branches that are taken, and definitions of macros with parameters."""
        conditions: list[_Condition] = []
        for line in lines:
            is_active = all(one.is_active for one in conditions)
            match line.directive:
                case "":
                    if is_active:
                        yield line
                case "ifdef" | "ifndef" if is_active and line.rest == _TARGET:
                    yield from _through_end(line, lines)
                case "if" | "ifdef" | "ifndef":
                    holds = is_active and self._holds(line)
                    conditions.append(_Condition(holds, holds or not is_active))
                case "elif" | "else":
                    last = conditions[-1]
                    last.is_active = not last.is_decided and (line.directive == "else" or self._holds(line))
                    last.is_decided |= last.is_active
                case "endif":
                    conditions.pop()
                case "define":
                    if is_active and self._define(line.rest):
                        yield line
                case _:
                    raise ValueError(f"#{line.directive} is not handled")
        if conditions:
            raise ValueError("an #if has no #endif")

    def _define(self, definition: str) -> bool:
        """Defines a macro; whether it stays."""
        found = _DEFINE.fullmatch(definition)
        if found is None or "##" in definition:
            raise ValueError(f"#define {definition} is not handled")
        if found[1] in self.macros:
            raise ValueError(f"{found[1]} is defined twice")
        self.macros[found[1]] = _Macro(found[2] or "", found[3])
        self._replacements.clear()
        return bool(found[2])

    def _holds(self, line: _Line) -> bool:
        if line.directive in ("ifdef", "ifndef"):
            self.used.add(line.rest)
            return (line.rest in self.macros) == (line.directive == "ifdef")
        expanded = self._expanded(line.rest)
        self.undefined.update(filter(_WORD.fullmatch, _TOKEN.findall(expanded)))
        return value_of(expanded) != 0

    def _replaced(self, line: _Line) -> str:
        """A line with macros replaced; in the definition of a macro, in its body."""
        found = _DEFINE.fullmatch(line.rest) if line.directive == "define" else None
        if found is not None and found[1] in self.macros:
            hidden = {found[1], *_WORD.findall(found[2])}
            return f"#define {found[1]}{found[2]} {self._expanded(found[3], hidden)}".rstrip()
        return line.text if self.macros.keys().isdisjoint(line.words) else self._expanded(line.text)

    def _expanded(self, text: str, hidden: Collection[str] = ()) -> str:
        """The text with macros replaced, except in comments, in strings, and in their own bodies."""
        parts = []
        for token in _TOKEN.findall(text):
            macro = None if token in hidden else self.macros.get(token)
            if macro is None or macro.parameters:
                parts.append(token)
            else:
                self.used.add(token)
                parts.append(self._replacement(token, hidden))
        return "".join(parts)

    def _replacement(self, name: str, hidden: Collection[str]) -> str:
        """The replacement of a macro. Ends: macros with parameters call no earlier ones."""
        if hidden or name not in self._replacements:
            before, body = "", self.macros[name].body
            while body != before:  # arguments are what the text has before they are expanded
                before = body
                body = self._expanded(self._called(body), {*hidden, name})
            if hidden:
                return body
            self._replacements[name] = body
        return self._replacements[name]

    def _called(self, text: str) -> str:
        """The text with the bodies of macros in place of calls."""
        for call in _CALL.finditer(text):
            macro = self.macros.get(call[1])
            if macro is not None and macro.parameters:
                arguments, rest = _arguments(text[call.end() :])
                given = dict(zip(_WORD.findall(macro.parameters), map(str.strip, arguments), strict=False))
                body = "".join(given.get(token, token) for token in _TOKEN.findall(macro.body))
                return text[: call.start()] + body + self._called(rest)
        return text


def _through_end(line: _Line, lines: Iterator[_Line]) -> Iterator[_Line]:
    """A condition on the target, and the lines through its #endif, which have no other condition."""
    yield line
    for line in lines:
        if line.directive in ("if", "elif", "ifdef", "ifndef"):
            raise ValueError(f"#{line.directive} in a condition on the target is not handled")
        yield line
        if line.directive == "endif":
            return
    raise ValueError("an #ifdef has no #endif")


class _Line(NamedTuple):
    """A line, joined with those after it where it ends in a backslash: the name of its directive, if it is
    one, what follows that, and its words otherwise."""

    text: str
    directive: str
    rest: str
    words: frozenset[str]


@lru_cache(maxsize=32)
def _lines(text: str) -> tuple[_Line, ...]:
    """Cached, since a model has many variants of few shaders."""
    lines = []
    for line in _logical_lines(text):
        found = _DIRECTIVE.fullmatch(line)
        if found is None:
            lines.append(_Line(line, "", "", frozenset(_WORD.findall(line))))
        else:
            lines.append(_Line(line, found[1], _without_comment(found[2]).strip(), frozenset()))
    return tuple(lines)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines, joined where one ends in a backslash."""
    joined = ""
    for line in text.split("\n"):
        joined += line
        if not line.endswith("\\"):
            yield joined
            joined = ""
        else:
            joined += "\n"


def _without_comment(text: str) -> str:
    if "//" not in text:
        return text
    return "".join(token for token in _TOKEN.findall(text) if not token.startswith("//"))


def _arguments(text: str) -> tuple[list[str], str]:
    """The parts of a text between commas, up to a bracket that closes more than were opened, and the rest."""
    parts, depth = [""], 0
    for at, sign in enumerate(text):
        depth += (sign in "{([") - (sign in "})]")
        if depth < 0:
            return parts, text[at + 1 :]
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts, ""


# Expressions of conditions.

_BINARY: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: a != 0 or b != 0},
    {"&&": lambda a, b: a != 0 and b != 0},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": operator.lshift, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
)
"""Operators, those that bind least first."""
_UNARY: Mapping[str, Callable[[int], int]] = {"!": operator.not_, "-": operator.neg, "~": operator.invert}
_OPERATOR = re.compile(r"\|\||&&|==|!=|<=|>=|<<|>>|[-+*&|^<>!~()]|\w+")


def value_of(text: str) -> int:
    """The value of an expression of integers, as in an #if. Names that are no macros are 0, as in C."""
    tokens = _OPERATOR.findall(text)
    waiting = [")", *reversed(tokens)]

    def operand() -> int:
        token = waiting.pop()
        if token in _UNARY:
            return int(_UNARY[token](operand()))
        if token == "(":
            return closed()
        if not token[:1].isdigit() and (token == "defined" or not _WORD.fullmatch(token)):
            raise ValueError(f"#if {text} is not handled")
        return int(token.rstrip("uUlL"), 0) if token[:1].isdigit() else 0

    def combined(level: int) -> int:
        if level == len(_BINARY):
            return operand()
        left = combined(level + 1)
        while waiting and waiting[-1] in _BINARY[level]:
            left = int(_BINARY[level][waiting.pop()](left, combined(level + 1)))
        return left

    def closed() -> int:
        found = combined(0)
        if not waiting or waiting.pop() != ")":
            raise ValueError(f"#if {text} is not handled")
        return found

    found = closed()
    if waiting or "".join(tokens) != "".join(text.split()):
        raise ValueError(f"#if {text} is not handled")
    return found
