"""Restricted YAML, with the position of every key and value.

Only what means the same in YAML 1.1 and 1.2, and to a person, is accepted: mappings with string keys,
sequences, strings, `true`, `false`, `null`, decimal integers and fractions. Since specs are untrusted,
everything that shares, tags, merges or hides data is rejected, and size, depth and number of nodes are
bounded.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, cast

import yaml

from dmlgen.diagnostics import Finding, Position, SpecError, fault, shown

MAX_BYTES = 1 << 20  # one file
MAX_DEPTH = 32  # nested mappings and sequences
MAX_NODES = 50_000  # keys and values of one file
MAX_ITEMS = 5_000  # of one sequence
MAX_FINDINGS = 100  # in one file; a hostile one must not fill the terminal

Value: TypeAlias = str | int | float | bool | None
V = TypeVar("V", bound=Value, covariant=True)


@dataclass(frozen=True)
class Scalar(Generic[V]):
    """One value. `raw` is its text in the file, including quotes and block indicators."""

    position: Position
    value: V
    raw: str

    @property
    def quoted(self) -> bool:
        return self.raw[:1] in ("'", '"')

    def at(self, offset: int) -> Position:
        """The position in the file of character `offset` of a string value.

        Folding and indentation only change white space, so the n-th visible character of the value is the
        n-th one in the file. If escapes break that rule, the result is the start of the scalar.
        """
        raw, visible = self.raw, self._visible
        if not visible:
            return self.position
        nth = sum(not char.isspace() for char in str(self.value)[:offset])
        index = visible[nth] if nth < len(visible) else visible[-1] + 1
        line_start = raw.rfind("\n", 0, index) + 1
        if line_start == 0:
            return Position(self.position.file, self.position.line, self.position.column + index)
        line = self.position.line + raw.count("\n", 0, index)
        return Position(self.position.file, line, index - line_start + 1)

    @cached_property
    def _visible(self) -> list[int]:
        """The positions in `raw` of the visible characters of a string value; none if escapes hide them."""
        raw = self.raw
        body = raw.index("\n") if raw[:1] in ("|", ">") else int(self.quoted)
        visible = [n for n in range(body, len(raw) - int(self.quoted)) if not raw[n].isspace()]
        is_plain = [raw[n] for n in visible] == [char for char in str(self.value) if not char.isspace()]
        return visible if is_plain else []

    def plain(self) -> V:
        return self.value


@dataclass(frozen=True)
class Sequence:
    position: Position
    items: tuple[Node, ...]

    def plain(self) -> list[Any]:
        """The content as lists, dicts and scalars, without positions."""
        return [item.plain() for item in self.items]


@dataclass(frozen=True)
class Entry:
    """One key of a mapping and its value; the key is a string."""

    key: Scalar[str]
    value: Node

    @property
    def name(self) -> str:
        return self.key.value


@dataclass(frozen=True)
class Mapping:
    """Entries in the order of the file; no name twice."""

    position: Position
    entries: tuple[Entry, ...]

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self.entries}

    def entry(self, name: str) -> Entry | None:
        return self._by_name.get(name)

    def get(self, name: str) -> Node | None:
        entry = self._by_name.get(name)
        return entry.value if entry else None

    def items(self) -> Iterator[tuple[str, Node]]:
        return ((entry.name, entry.value) for entry in self.entries)

    def plain(self) -> dict[str, Any]:
        """The content as lists, dicts and scalars, without positions."""
        return {entry.name: entry.value.plain() for entry in self.entries}


Node: TypeAlias = Scalar[Value] | Sequence | Mapping


def load(path: Path, root: Path) -> Node:
    """The one document in the file `path`, which is below `root`, without symbolic links on the way.

    Raises SpecError with every error that can be determined without guessing.
    """
    return parse(read(path, root), path.as_posix())


def parse(data: bytes, file: str) -> Node:
    """The one document in `data`; `file` is the name used in positions. Raises SpecError like `load`."""
    if len(data) > MAX_BYTES:
        raise fault(Position(file), "too-large", f"file is larger than {MAX_BYTES} bytes")
    return _parse(_decode(data, file), file, _LOADER)


def _parse(text: str, file: str, loader: Any) -> Node:
    """The document in a text, by one of PyYAML's loaders. Raises SpecError like `load`."""
    builder = _Builder(file, text, loader)
    try:
        root = builder.document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = _position(file, mark) if mark else Position(file)
        what = ", ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
        if "nesting depth" in what and loader is not yaml.SafeLoader:
            # libyaml 0.2.6 reads ahead and gives up; PyYAML's own parser gets to the level that is too deep.
            return _parse(text, file, yaml.SafeLoader)
        if "flow mapping" in what:
            what += _IN_BRACES
        builder.findings.append(Finding(place, "yaml-syntax", f"not valid YAML: {what or error}"))
    except (ValueError, OverflowError) as error:
        # PyYAML without libyaml lets them through for escapes and directives with absurd numbers.
        builder.findings.append(Finding(Position(file), "yaml-syntax", f"not valid YAML: {error}"))
    if builder.findings:
        raise SpecError(builder.findings)
    return root


def read(path: Path, root: Path) -> bytes:
    """The bytes of the file, or enough to see that it is too large. Raises SpecError like `load`."""

    def refuse(code: str, message: str) -> SpecError:
        return fault(Position(path.as_posix()), code, message)

    if not path.is_relative_to(root) or ".." in path.relative_to(root).parts:
        raise refuse("outside-root", f"file is not below {root.as_posix()}")
    below = [path, *path.parents][: len(path.relative_to(root).parts)]
    if any(part.is_symlink() for part in below):
        raise refuse("symlink", "symbolic links are not followed; put the file itself here")
    if not path.is_file():
        raise refuse("no-file", "there is no regular file with this name")
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise refuse("unreadable", f"cannot be read: {error.strerror}") from None


def _decode(data: bytes, file: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _place(file, data[: error.start].decode("utf-8"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise fault(place, "not-utf8", message) from None
    if text.startswith("\ufeff"):
        raise fault(Position(file), "byte-order-mark", "file starts with a byte order mark")
    hidden = _hidden(text.replace("\r\n", "\n"))
    if hidden:
        pattern = re.compile("|".join("\r(?!\n)" if char == "\r" else re.escape(char) for char in hidden))
        faults = []
        for match in pattern.finditer(text):
            faults.append(_hidden_fault(_place(file, text[: match.start()]), match[0]))
            if len(faults) == MAX_FINDINGS:
                break
        raise SpecError(faults)
    return text


def _place(file: str, before: str) -> Position:
    """The position right after the text `before`."""
    return Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _position(file: str, mark: Any) -> Position:
    return Position(file, mark.line + 1, mark.column + 1)


def _hidden(text: str) -> list[str]:
    """Characters of a text that a reader cannot see.

    These are control, format (so every bidirectional one), surrogate and private characters, separators other
    than space and line feed, and what fonts leave out.
    """
    categories = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    return sorted(
        char
        for char in set(text) - {" ", "\n"}
        if unicodedata.category(char) in categories or _IGNORED.match(char)
    )


# What Unicode calls Default_Ignorable_Code_Point and puts into none of those categories: joiners,
# fillers and selectors of variants.
_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def _hidden_fault(position: Position, char: str) -> Finding:
    if char == "\t":
        return Finding(position, "tab", "tab found; indent and separate with spaces")
    name = unicodedata.name(char, "control character")
    return Finding(position, "hidden-character", f"U+{ord(char):04X} ({name.lower()}) is not allowed here")


_IN_BRACES = "; in {...} a text with commas, brackets or braces stands in quotes, or on lines of its own"

_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+([eE][+-][0-9]+)?")  # without a sign, 1.1 reads a string

# What some YAML version reads as something other than the string it looks like. A single capital stays a
# string, because dimensions are called N.
_SURPRISE = re.compile(
    r"""
      (?i: yes | no | on | off | true | false | null ) | y | n | ~ | =
    | [-+]? [0-9] [0-9_]*                           # 010, +1, 1_000, beyond 64 bits
    | [-+]? 0 [xXoObB] [0-9A-Fa-f_]+                # 0x1F, 0o17, 0b11
    | [-+]? [0-9] [0-9_]* (: [0-9]{1,2})+ (\.[0-9_]*)?                  # 1:30, base 60
    | [-+]? (\.[0-9] | [0-9] [0-9_]* \.) [0-9_]* ([eE] [-+]? [0-9]+)?   # .5, 5., 1_0.5
    | [-+]? [0-9] [0-9_]* [eE] [-+]? [0-9]+         # 1e5
    | [-+]? \. (?i: inf | nan )
    | [0-9]{4} - [0-9]{1,2} - [0-9]{1,2} ([Tt\ ] .*)?                   # dates
    """,
    re.VERBOSE | re.DOTALL,
)

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builder:
    """Builds nodes from the parser's events, and collects what the restricted YAML forbids."""

    def __init__(self, file: str, text: str, loader: Any) -> None:
        self.file = file
        self.text = text
        self.findings: list[Finding] = []
        self.nodes = 0
        self.events: Iterator[Any] = yaml.parse(text, Loader=loader)

    def document(self) -> Node:
        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    self.stop(
                        event, "several-documents", "a second document starts here; expected one per file"
                    )
                if event.version or event.tags:
                    self.report(event, "directive", "YAML directives are not allowed")
                root = self.root(next(self.events))
        if root is None:
            raise fault(Position(self.file), "empty-document", "the file holds no data")
        return root

    def root(self, event: Any) -> Node:
        if isinstance(event, yaml.ScalarEvent) and not event.value and event.implicit[0]:
            self.stop(event, "empty-document", "the file holds no data")
        return self.node(event, 0)

    def node(self, event: Any, depth: int) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.stop(event, "too-many-nodes", f"more than {MAX_NODES} keys and values in one file")
        if depth > MAX_DEPTH:
            self.stop(event, "too-deep", f"nested deeper than {MAX_DEPTH} levels")
        place = self.place(event)
        if isinstance(event, yaml.AliasEvent):
            self.report(event, "alias", "aliases are not allowed; repeat the value")
            return Scalar(place, "", "")
        if event.anchor is not None:
            self.report(event, "anchor", "anchors are not allowed")
        if event.tag is not None:
            self.report(event, "tag", f"tag {shown(event.tag)} is not allowed")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, place)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                if len(items) == MAX_ITEMS:
                    self.stop(event, "too-many-items", f"more than {MAX_ITEMS} items in one list")
                items.append(self.node(event, depth + 1))
            return Sequence(place, tuple(items))
        return Mapping(place, self.entries(depth))

    def scalar(self, event: Any, place: Position) -> Scalar[Value]:
        text: str = event.value
        raw = self.text[event.start_mark.index : event.end_mark.index]
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            self.report(event, "not-normal", "text is not in Unicode normal form C")
        if not event.style:
            return Scalar(place, self.typed(event, text), raw)
        if event.style == '"' and "\\" in raw:
            self.findings += [_hidden_fault(place, char) for char in _hidden(text)]
        return Scalar(place, text, raw)

    def typed(self, event: Any, text: str) -> Value:
        """The value of a plain scalar."""
        if not text:
            in_braces = self.text[event.start_mark.index :].lstrip()[:1] in (",", "}")
            message = "the value is missing; expected a value, or null"
            self.report(event, "empty-value", message + (_IN_BRACES if in_braces else ""))
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            number = int(text)
            if -(1 << 63) <= number < 1 << 64:
                return number
        elif _FLOAT.fullmatch(text):
            fraction = float(text)
            if math.isfinite(fraction):
                return fraction
        if _SURPRISE.fullmatch(text):
            message = f"{shown(text)} without quotes means different things to different YAML readers"
            self.report(
                event, "ambiguous-scalar", message, f'"{text}"' if shown(text) == f"'{text}'" else None
            )
        return text

    def entries(self, depth: int) -> tuple[Entry, ...]:
        seen: dict[str, Entry] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event, depth + 1)
            value = self.node(next(self.events), depth + 1)
            if not isinstance(key, Scalar) or not isinstance(key.value, str):
                fix = f'"{key.raw}"' if isinstance(key, Scalar) else None
                self.report(event, "key-not-string", "a key must be a string", fix)
            elif isinstance(event, yaml.AliasEvent):
                continue
            elif key.raw == "<<":
                self.report(event, "merge-key", "merge keys are not allowed; write the entries out")
            elif key.value in seen:
                line = seen[key.value].key.position.line
                self.report(event, "duplicate-key", f"key {shown(key.value)} is already on line {line}")
            else:
                seen[key.value] = Entry(cast(Scalar[str], key), value)
        return tuple(seen.values())

    def place(self, event: Any) -> Position:
        return _position(self.file, event.start_mark)

    def report(self, event: Any, code: str, message: str, suggestion: str | None = None) -> None:
        self.findings.append(Finding(self.place(event), code, message, suggestion=suggestion))
        if len(self.findings) >= MAX_FINDINGS:
            raise SpecError(self.findings)

    def stop(self, event: Any, code: str, message: str) -> NoReturn:
        self.report(event, code, message)
        raise SpecError(self.findings)
