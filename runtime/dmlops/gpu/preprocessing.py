"""Resolves the macros of a shader for one variant: what `dmlops shader` prints.

The result compiles to the same code without any macro: conditions are decided, macros are replaced, and
declarations that the entry point does not reach are left out; comments stay. Only what depends on the target
(`__spirv__`) stays a condition, and macros with parameters stay macros where the text calls them.

The shaders of this package are within what this handles: no macro is defined twice or undefined, none uses #
or ##, and there is no #include. Anything else raises ValueError.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

_TARGET = "__spirv__"  # the compiler defines it, or does not
_TOKEN = re.compile(
    r'//.*|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\.?\d(?:[eE][+-]|[\w.])*|\s+|.'
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"(\w+)(\([^)]*\))?\s*(.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"\b(\w+)\(")
_ENTRY = "CSMain"


class Uses(NamedTuple):
    """Of the macros given for a variant, those that its text uses; and names in its conditions without a
    meaning, which compilers take as 0."""

    used: frozenset[str]
    undefined: frozenset[str]


def resolved(source: str, macros: Mapping[str, int | str]) -> str:
    """The text of a variant, without its head."""
    _, _, text = source.partition("\n\n")
    return reached(_Resolver(macros).run(text))


def function(source: str, macros: Mapping[str, int | str], name: str) -> str:
    """The text of one function of a variant, and of what it calls, without resources and constants."""
    _, _, text = source.partition("\n\n")
    return reached(_Resolver(macros).run(text), name)


def uses(source: str, macros: Mapping[str, int | str]) -> Uses:
    """The macros that determine a variant."""
    _, _, text = source.partition("\n\n")
    resolver = _Resolver(macros)
    resolver.run(text)
    return Uses(frozenset(resolver.used & macros.keys()), frozenset(resolver.undefined))


def value_of(text: str) -> int:
    """The value of an expression of integers, as in an #if."""
    return _Expression(text).value()


# Conditions and macros.


class _Macro(NamedTuple):
    """`parameters`, with parentheses, is empty for a macro that is replaced. `is_certain`: on every
    target."""

    parameters: str
    body: str
    is_certain: bool


@dataclass
class _Condition:
    """An #if. `is_open`: no branch has been taken so far. `is_kept`: it stays in the text, with both
    branches."""

    is_active: bool
    is_open: bool
    is_kept: bool = False


@dataclass
class _Resolver:
    given: Mapping[str, int | str]
    macros: dict[str, _Macro] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)
    conditions: list[_Condition] = field(default_factory=list)
    replacements: dict[str, str] = field(default_factory=dict)

    def run(self, text: str) -> str:
        self.macros = {name: _Macro("", str(value), True) for name, value in self.given.items()}
        lines = [one for line in _lines(text) for one in self._line(line)]
        if self.conditions:
            raise ValueError("an #if has no #endif")
        # Bodies are expanded where a macro is used, so they may name macros that are defined after it.
        return "\n".join(self._definition(line) for line in lines)

    def _line(self, line: _Line) -> Iterator[str]:
        name, rest = line.directive, line.rest
        if not name:
            if self._is_active():
                yield line.text if self.macros.keys().isdisjoint(line.words) else self._expanded(line.text)
            return
        match name:
            case "if" | "ifdef" | "ifndef":
                yield from self._begin(name, rest)
            case "elif" | "else":
                yield from self._next(name, rest)
            case "endif":
                if self.conditions.pop().is_kept:
                    yield "#endif"
            case "define" if self._is_active():
                yield from self._define(rest)
            case "define":
                pass
            case _:
                raise ValueError(f"#{name} is not handled")

    def _is_active(self) -> bool:
        return all(one.is_active for one in self.conditions)

    def _is_certain(self) -> bool:
        return not any(one.is_kept for one in self.conditions)

    def _begin(self, name: str, rest: str) -> Iterator[str]:
        if not self._is_active():
            self.conditions.append(_Condition(is_active=False, is_open=False))
            return
        self.used.add(rest)
        if name == "if":
            value = self._value(rest)
        elif rest == _TARGET or not self.macros.get(rest, _Macro("", "", True)).is_certain:
            value = None
        else:
            value = (rest in self.macros) == (name == "ifdef")
        if value is None:
            self.conditions.append(_Condition(is_active=True, is_open=False, is_kept=True))
            yield f"#{name} {rest}"
        else:
            self.conditions.append(_Condition(is_active=bool(value), is_open=not value))

    def _next(self, name: str, rest: str) -> Iterator[str]:
        condition = self.conditions[-1]
        if condition.is_kept:
            if name == "elif":
                raise ValueError("#elif after a condition on the target is not handled")
            yield "#else"
            return
        value: int | None = 1
        if condition.is_open and name == "elif":
            value = self._value(rest)
            if value is None:
                raise ValueError(f"#elif {rest} depends on the target")
        condition.is_active = condition.is_open and bool(value)
        condition.is_open = condition.is_open and not value

    def _define(self, rest: str) -> Iterator[str]:
        found = _DEFINE.fullmatch(rest)
        if found is None or "##" in rest:
            raise ValueError(f"#define {rest} is not handled")
        name, parameters, body = found[1], found[2] or "", found[3]
        known = self.macros.get(name)
        if known is not None and (known.is_certain or self._is_certain()):
            raise ValueError(f"{name} is defined twice")
        self.macros[name] = _Macro(parameters, body, self._is_certain())
        self.replacements.clear()
        if parameters or not self._is_certain():
            yield f"#define {name}{parameters} {body}".rstrip()

    def _definition(self, line: str) -> str:
        """A macro that stays, with the others replaced in its body."""
        found = _DIRECTIVE.fullmatch(line)
        if found is None or found[1] != "define":
            return line
        definition = _DEFINE.fullmatch(found[2])
        assert definition is not None, "as in _define"
        hidden = {definition[1], *_WORD.findall(definition[2] or "")}
        head = f"#define {definition[1]}{definition[2] or ''}"
        return f"{head} {self._expanded(definition[3], hidden)}".rstrip()

    def _expanded(self, text: str, hidden: Collection[str] = ()) -> str:
        """The text with macros replaced, except in comments, in strings, and in their own bodies."""
        parts = []
        for token in _TOKEN.findall(text):
            macro = None if token in hidden else self.macros.get(token)
            if macro is None or macro.parameters or not macro.is_certain:
                parts.append(token)
            else:
                self.used.add(token)
                parts.append(self._replacement(token, hidden))
        return "".join(parts)

    def _replacement(self, name: str, hidden: Collection[str]) -> str:
        """The replacement of a macro. Ends: macros with parameters call no earlier ones."""
        if hidden or name not in self.replacements:
            before, body = "", self.macros[name].body
            while body != before:  # arguments are what the text has before they are expanded
                before = body
                body = self._expanded(self._called(body), {*hidden, name})
            if hidden:
                return body
            self.replacements[name] = body
        return self.replacements[name]

    def _called(self, text: str) -> str:
        """The text with the bodies of macros in place of calls."""
        for call in _CALL.finditer(text):
            macro = self.macros.get(call[1])
            if macro is not None and macro.parameters and macro.is_certain:
                arguments, rest = _arguments(text[call.end() :])
                given = dict(zip(_WORD.findall(macro.parameters), map(str.strip, arguments), strict=False))
                body = "".join(given.get(token, token) for token in _TOKEN.findall(macro.body))
                return text[: call.start()] + body + self._called(rest)
        return text

    def _value(self, text: str) -> int | None:
        """The value of a condition; None if it depends on the target."""
        expanded = self._expanded(text)
        names = {token for token in _TOKEN.findall(expanded) if _WORD.fullmatch(token)}
        if _TARGET in names or any(name in self.macros for name in names):
            return None
        self.undefined |= names
        return _Expression(expanded).value()


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


class _Line(NamedTuple):
    """A logical line: the name of its directive, if it is one, what follows that, and its words otherwise."""

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


def _without_comment(text: str) -> str:
    if "//" not in text:
        return text
    return "".join(token for token in _TOKEN.findall(text) if not token.startswith("//"))


_LEVELS: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
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
"""Binary operators, those that bind least first."""
_OPERATOR = re.compile(r"\|\||&&|==|!=|<=|>=|<<|>>|[-+*&|^<>!~()]|\w+")


class _Expression:
    """The expression of an #if. Names that are no macros are 0, as in C."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _OPERATOR.findall(text)
        if "".join(self._tokens) != "".join(text.split()):
            raise ValueError(f"#if {text} is not handled")
        self._at = 0

    def value(self) -> int:
        found = self._binary(0)
        if self._at != len(self._tokens):
            raise ValueError(f"#if {self._text} is not handled")
        return found

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        self._at += 1
        return str(self._tokens[self._at - 1]) if self._at <= len(self._tokens) else ""

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._next() in _LEVELS[level]:
            left = int(_LEVELS[level][self._take()](left, self._binary(level + 1)))
        return left

    def _unary(self) -> int:
        token = self._take()
        match token:
            case "!":
                return int(not self._unary())
            case "-":
                return -self._unary()
            case "~":
                return ~self._unary()
            case "(":
                found = self._binary(0)
                if self._take() != ")":
                    raise ValueError(f"#if {self._text} is not handled")
                return found
        digits = token.rstrip("uUlL")
        if digits[:1].isdigit():
            return int(digits, 0)
        if _WORD.fullmatch(token) and token != "defined":
            return 0
        raise ValueError(f"#if {self._text} is not handled")


# Declarations.

_RESOURCE = re.compile(r"(?:\[\[.*?\]\]\s*)*(?:\w+\s+)?(?:cbuffer|RWStructuredBuffer|StructuredBuffer)\b")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_ATTRIBUTES = re.compile(r"(?:\[[^\]]*\]+\s*)+")
_EMPTY = re.compile(r"^(?://.*\n)*#if.*\n+(?:#else\n+)?#endif\n\n*", re.MULTILINE)
_BLANK = re.compile(r"\n{3,}")


class _Declaration(NamedTuple):
    """A declaration with the comments before it, its code without any, and the names that it declares; None
    for what always stays."""

    text: str
    code: str
    names: frozenset[str] | None


def reached(text: str, name: str = _ENTRY) -> str:
    """The text without what a function does not reach; resources and constants stay with the entry point."""
    declared = _declarations(text)
    waiting = [one for one in declared if name == _ENTRY or not _RESOURCE.match(one.code.strip())]
    kept: set[int] = set()
    used = {name}
    has_grown = True
    while has_grown:  # ends: each turn but the last keeps more
        has_grown = False
        for number, one in enumerate(waiting):
            if number not in kept and (one.names is None or one.names & used):
                kept.add(number)
                used.update(_WORD.findall(one.code))
                has_grown = True
    text = "\n".join(one.text for number, one in enumerate(waiting) if number in kept)
    while _EMPTY.search(text):
        text = _EMPTY.sub("", text)
    return _BLANK.sub("\n\n", text).strip() + "\n"


def _declarations(text: str) -> Iterator[_Declaration]:
    lines: list[str] = []
    code, depth = "", 0
    for line in _logical_lines(text):
        if not line.strip() and not code.strip():
            lines = []  # comments on what is gone
        lines.append(line)
        part = _code(line)
        code += part.text + "\n"
        depth += part.depth
        if depth == 0 and (part.may_end or (part.is_directive and code.strip() == part.text.strip())):
            yield _Declaration("\n".join(lines), code, _names(code.strip()))
            lines, code = [], ""
    if code.strip():
        raise ValueError("the text ends within a declaration")


class _Code(NamedTuple):
    """A line without comments: whether it is a directive, the brackets that it opens less those that it
    closes, and whether a declaration may end with it."""

    text: str
    is_directive: bool
    depth: int
    may_end: bool


@lru_cache(maxsize=16384)
def _code(line: str) -> _Code:
    text = _without_comment(line)
    is_directive = _DIRECTIVE.fullmatch(text) is not None
    depth = 0 if is_directive else sum((one in "{([") - (one in "})]") for one in text)
    return _Code(text, is_directive, depth, text.rstrip().endswith((";", "}")))


def _names(code: str) -> frozenset[str] | None:
    """The names that a declaration declares."""
    if code.startswith("#"):
        found = re.match(r"#\s*define\s+(\w+)", code)
        return frozenset({found[1]}) if found else None
    if _RESOURCE.match(code):
        return None
    plain = _ARGUMENTS.sub("", _ATTRIBUTES.sub("", code, count=1) if code.startswith("[") else code)
    if plain.startswith("struct"):
        return frozenset(_WORD.findall(plain)[1:2])
    head, opened, _ = plain.partition("(")
    if opened and "=" not in head:  # a function
        return frozenset(_WORD.findall(head)[-1:])
    return frozenset(
        _WORD.findall(one.partition("=")[0].partition("[")[0])[-1] for one in _declarators(plain)
    )


def _declarators(code: str) -> list[str]:
    """The parts of a declaration of variables or a type, between commas."""
    return _arguments(code.rstrip("; \n"))[0]


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
