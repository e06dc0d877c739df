"""Converts nodes to dataclasses, and reports every error at its position, in the spec author's words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dmlgen import source
from dmlgen.diagnostics import Finding, Position, SpecError, nearest, shown
from dmlgen.shape import (
    Anything,
    Either,
    Form,
    JsonType,
    Leaf,
    List,
    Range,
    Record,
    Shape,
    Size,
    Table,
    form_of,
)
from dmlgen.source import MAX_FINDINGS, Node, Scalar
from dmlgen.text import Text, folded

T = TypeVar("T")

_LONGEST_CHOICE = 12  # most names that a message lists; with more, the nearest one is more useful

_WORDS: dict[JsonType, str] = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}

_TYPES: dict[type, JsonType] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    source.Sequence: "array",
    source.Mapping: "object",
}


def decode(type_: type[T], node: Node, levels: Mapping[str, Any] | None = None) -> T:
    """The node as a dataclass; SpecError with all its errors up to MAX_FINDINGS, in file order.

    `levels` are the feature levels by name; if it is None, any name is taken for one, which becomes None.
    """
    reader = _Reader(levels)
    try:
        value: T = reader.form(form_of(type_), node)  # type: ignore[arg-type]
    except _EnoughError:
        pass
    else:
        if not reader.findings:
            return value
    raise SpecError(sorted(dict.fromkeys(reader.findings), key=lambda finding: finding.position))


class _EnoughError(Exception):
    """There are as many findings as anyone will read."""


class _Reader:
    """Reads nodes by their shapes. Its results are only meaningful if it has found no error."""

    def __init__(self, levels: Mapping[str, Any] | None) -> None:
        self.findings: list[Finding] = []
        self._levels = levels
        self._outer: Mapping[str, Any] = {}  # the fields of the mapping around the one that is read

    def report(self, position: Position, code: str, message: str, suggestion: str | None = None) -> None:
        self.findings.append(Finding(position, code, message, suggestion=suggestion))
        if len(self.findings) == MAX_FINDINGS:
            raise _EnoughError

    def read(self, shape: Shape, node: Node) -> Any:
        match shape:
            case Leaf():
                return self.leaf(shape, node)
            case Form():
                return self.form(shape, node)
            case Table():
                return self.table(shape, node)
            case List():
                return self.list(shape, node)
            case Either():
                return self.either(shape, node)
            case Anything():
                return node

    def leaf(self, shape: Leaf, node: Node) -> Any:
        if shape.choices:
            if not _is_of(node, shape.types) or node.plain() not in shape.choices:
                return self.wrong_choice(shape.choices, node)
        elif not _is_of(node, shape.types):
            return self.wrong_type(shape.types, node)
        value = node.plain()
        if isinstance(value, str):
            self.text(shape, node, value)
        elif isinstance(value, int | float):
            self.number(shape.range, node, value)
        match shape.kept:
            case "node":
                return node
            case "text":
                return Text(folded(str(value)).strip())
            case "level":
                return self.level(node, str(value))
        return value

    def level(self, node: Node, name: str) -> Any:
        if self._levels is not None and name not in self._levels:
            message = f"there is no feature level {name}"
            self.report(node.position, "unknown-level", message, nearest(name, self._levels))
        return (self._levels or {}).get(name)

    def text(self, shape: Leaf, node: Node, value: str) -> None:
        pattern = shape.pattern
        is_sized = self.size(shape.size, node, len(value), "characters")
        if is_sized and pattern is not None and not pattern.compiled.fullmatch(value):
            what = f"is not {pattern.words}: it must match" if pattern.words else "does not match"
            spellings = (
                value.lower().replace("_", "-"),
                value.upper().replace("-", "_"),
                value[:1].upper() + value[1:],
            )
            meant = next(filter(pattern.compiled.fullmatch, spellings), None)
            message = f"{shown(value)} {what} {pattern.anchored}"
            self.report(node.position, "wrong-value", message, meant)

    def number(self, limits: Range, node: Node, value: float) -> None:
        if limits.least is not None and value < limits.least:
            message = f"expected at least {limits.least}, found {_described(node)}"
            self.report(node.position, "wrong-value", message)
        elif limits.most is not None and value > limits.most:
            message = f"expected at most {limits.most}, found {_described(node)}"
            self.report(node.position, "wrong-value", message)

    def list(self, shape: List, node: Node) -> Any:
        if not isinstance(node, source.Sequence):
            return self.wrong_type(shape.types, node)
        self.size(shape.size, node, len(node.items), "items")
        if shape.size.unique:
            self.repeated(node)
        return tuple(self.read(shape.item, item) for item in node.items)

    def repeated(self, node: source.Sequence) -> None:
        seen: set[tuple[type, object]] = set()
        for item in node.items:
            if isinstance(item, Scalar):
                value = (type(item.value), item.value)
                if value in seen:
                    message = f"{_described(item)} is already in the list"
                    self.report(item.position, "repeated-item", message)
                seen.add(value)

    def table(self, shape: Table, node: Node, entries: Iterable[source.Entry] | None = None) -> Any:
        if not isinstance(node, source.Mapping):
            return self.wrong_type(shape.types, node)
        found = tuple(node.entries if entries is None else entries)
        self.size(shape.size, node, len(found), "keys")
        name = shape.value.name if isinstance(shape.value, Form) else None
        table = {}
        for entry in found:
            key, value = self.leaf(shape.key, entry.key), self.read(shape.value, entry.value)
            table[key] = value if name is None or value is None else replace(value, **{name: entry.name})
        return table

    def form(self, shape: Form, node: Node, others: Sequence[str] = ()) -> Any:
        """`others` are the keys of another form that this mapping may have been meant to be."""
        if not isinstance(node, source.Mapping):
            return self.wrong_type(shape.types, node)
        outer, values = self._outer, dict[str, Any]()
        values |= {name: outer.get(name) for name, key in shape.keys.items() if key.inherited}
        self._outer = values
        for name, key in shape.keys.items():
            if (given := node.get(name)) is not None:
                values[key.attribute] = self.read(key.shape, given)
        self._outer = outer
        unknown = [entry for entry in node.entries if entry.name not in shape.keys]
        known = sorted({*shape.keys, *others})
        absent = [name for name in known if node.entry(name) is None]
        misspelt: set[str | None] = set()
        if shape.others is not None:
            attribute, table = shape.others
            values[attribute] = self.table(table, node, unknown)
        else:
            for entry in unknown:
                meant = nearest(entry.name, absent)
                misspelt.add(meant)
                message = f"unknown key {shown(entry.name)}; expected {_one_of(known)}"
                self.report(entry.key.position, "unknown-key", message, meant)
        missing = [name for name in shape.required if node.entry(name) is None]
        for name in missing:
            if name not in misspelt:
                self.report(node.position, "missing-key", f"key '{name}' is missing")
        if missing:
            return None
        values |= {} if shape.name is None else {shape.name: ""}  # `table` knows it
        return shape.type(node, **values) if issubclass(shape.type, Record) else shape.type(**values)

    def either(self, shape: Either, node: Node) -> Any:
        fitting = [one for one in shape.shapes if _is_of(node, one.types)]
        if not fitting:
            return self.wrong_type(shape.types, node)
        if len(fitting) == 1:
            return self.read(fitting[0], node)
        first, second = fitting
        assert isinstance(first, Form) and isinstance(second, Form) and isinstance(node, source.Mapping)
        mark = first.required[0]
        if node.entry(mark) is not None:
            return self.form(first, node)
        return self.form(second, node, others=[mark])

    def size(self, size: Size, node: Node, number: int, unit: str) -> bool:
        """Whether there are as many items as required; otherwise reports an error."""
        if number < size.least:
            bound = f"at least {size.least}"
        elif size.most is not None and number > size.most:
            bound = f"at most {size.most}"
        else:
            return True
        self.report(node.position, "wrong-size", f"number of {unit} is {number}; expected {bound}")
        return False

    def wrong_type(self, types: Sequence[JsonType], node: Node) -> None:
        message = f"expected {_either([_WORDS[one] for one in types])}, found {_described(node)}"
        unquoted = isinstance(node, Scalar) and isinstance(node.value, int | float)
        suggestion = f'"{node.raw}"' if "string" in types and unquoted and isinstance(node, Scalar) else None
        self.report(node.position, "wrong-type", message, suggestion)

    def wrong_choice(self, choices: Sequence[str | int], node: Node) -> None:
        names = [choice if isinstance(choice, str) else json.dumps(choice) for choice in choices]
        value = node.plain()
        suggestion = nearest(value, names) if isinstance(value, str) else None
        message = f"expected {_one_of(names)}, found {_described(node)}"
        self.report(node.position, "wrong-value", message, suggestion)


def _is_of(node: Node, types: Sequence[JsonType]) -> bool:
    """Whether a node is of one of these types; an integer is also a number."""
    type_ = _TYPES[type(node.value) if isinstance(node, Scalar) else type(node)]
    return type_ in types or (type_ == "integer" and "number" in types)


def _described(node: Node) -> str:
    if isinstance(node, source.Mapping):
        return "a mapping"
    if isinstance(node, source.Sequence):
        return "a list"
    return shown(node.value) if isinstance(node.value, str) else node.raw


def _one_of(names: Sequence[str]) -> str:
    if len(names) > _LONGEST_CHOICE:
        return f"one of {len(names)} names"
    return _either([shown(name) for name in names])


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
