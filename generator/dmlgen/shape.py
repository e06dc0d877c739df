"""The shape of a file, as annotations of dataclasses state it: `decode` reads by it, `json_schema` prints it.

A dataclass describes a mapping, each of its fields a key, which is required if the field has no default. A
field whose name ends in "_" describes the key without it. Annotations describe the value:

    str, int, float, bool        a value of this type, or with `|` of one of these; a float may be an integer
    Literal["a", "b"]            one of these values
    Text                         free text of 1 to 400 characters
    Scalar[T]                    any of the above, kept with its position
    Node                         anything, kept as it is
    tuple[T, ...]                a list
    Mapping[K, T]                a mapping with any keys
    a dataclass                  a mapping with these keys
    T | U                        either, by the type of the value; of dataclasses, see `Either`
    T | None, default None       a key that may be absent

In `Annotated`, a text tells editors what the value means, `Pattern`, `Size`, `Range` and `Choices` limit it.
OTHERS marks the one field that takes all other keys, NAME one that gets the key of the mapping itself, and
INHERITED one that has the value of the record around it if its key is absent. LEVEL marks names of feature
levels, which become those levels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum, auto
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from dmlgen import source
from dmlgen.diagnostics import Position
from dmlgen.source import Node, Scalar
from dmlgen.text import Text

JsonType: TypeAlias = Literal["string", "boolean", "integer", "number", "null", "array", "object"]


@dataclass(frozen=True)
class Record:
    """A base class that keeps the mapping as it was read, for the positions of its keys."""

    node: source.Mapping = field(repr=False, compare=False)

    @property
    def position(self) -> Position:
        return self.node.position

    def place(self, *keys: str) -> Position:
        """The position of the value below these keys, or of the innermost mapping that lacks its key."""
        node: Node = self.node
        for key in keys:
            node = (node.get(key) if isinstance(node, source.Mapping) else None) or node
        return node.position


@dataclass(frozen=True)
class Pattern:
    """A regular expression that must match the whole text, and a description: "lower case, as in axis"."""

    text: str
    words: str = ""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.text, re.ASCII)

    @property
    def anchored(self) -> str:
        """The expression for tools that search instead of match."""
        return f"^{self.text}$"


@dataclass(frozen=True)
class Size:
    """The number of characters of a text, items of a list, or keys of a mapping.

    Items that are `unique` are single values.
    """

    least: int = 0
    most: int | None = None
    unique: bool = False


@dataclass(frozen=True)
class Range:
    """The least and the greatest number."""

    least: int | None = None
    most: int | None = None


class Choices(tuple[int, ...]):
    """The values that a number can have."""


class Mark(Enum):
    """Marks of fields; see above."""

    OTHERS = auto()
    NAME = auto()
    INHERITED = auto()
    LEVEL = auto()


OTHERS, NAME, INHERITED, LEVEL = Mark


@dataclass(frozen=True)
class Leaf:
    """A single value: one of the `choices`, if there are any, otherwise one of the types."""

    types: tuple[JsonType, ...]
    choices: tuple[str | int, ...] = ()
    pattern: Pattern | None = None
    size: Size = Size()
    range: Range = Range()
    kept: Literal["value", "node", "text", "level"] = "value"


@dataclass(frozen=True)
class Anything:
    """Any node."""

    types: tuple[JsonType, ...] = get_args(JsonType)


@dataclass(frozen=True)
class List:
    """A list of items of one shape."""

    item: Shape
    size: Size = Size()
    types: tuple[JsonType, ...] = ("array",)


@dataclass(frozen=True)
class Table:
    """A mapping with arbitrary names as keys."""

    key: Leaf
    value: Shape
    size: Size = Size()
    types: tuple[JsonType, ...] = ("object",)


@dataclass(frozen=True)
class Key:
    """A key of a `Form`; `attribute` is the field's name, `meaning` the editor's help text.

    If it is `inherited`, the mapping around this one has it, too.
    """

    attribute: str
    shape: Shape
    required: bool
    meaning: str
    inherited: bool = False


@dataclass(frozen=True)
class Form:
    """A mapping with known keys; `others` is the field that takes all other keys, if any.

    `name` is the field for the key of the mapping itself.
    """

    type: Any
    keys: Mapping[str, Key] = field(hash=False)
    others: tuple[str, Table] | None
    name: str | None
    types: tuple[JsonType, ...] = ("object",)

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, key in self.keys.items() if key.required)


@dataclass(frozen=True)
class Either:
    """One of several shapes, distinguished by node type; two forms, by the first one's first required key."""

    shapes: tuple[Shape, ...]

    @property
    def types(self) -> tuple[JsonType, ...]:
        return tuple(dict.fromkeys(type_ for shape in self.shapes for type_ in shape.types))


Shape: TypeAlias = Leaf | Anything | List | Table | Form | Either

_TYPES: Mapping[object, JsonType] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
}
_UNIONS = (Union, UnionType)


@cache
def form_of(type_: type) -> Form:
    """The shape of a dataclass."""
    hints = get_type_hints(type_, include_extras=True)
    keys: dict[str, Key] = {}
    others: tuple[str, Table] | None = None
    name: str | None = None
    for one in fields(type_):
        if issubclass(type_, Record) and one.name == "node":
            continue
        shape, notes = _annotated(_given(hints[one.name]) if one.default is None else hints[one.name])
        inherited = INHERITED in notes
        required = one.default is MISSING and one.default_factory is MISSING and not inherited
        meaning = next((note for note in reversed(notes) if isinstance(note, str)), "")
        if OTHERS in notes:
            assert isinstance(shape, Table)
            others = one.name, shape
        elif NAME in notes:
            name = one.name
        else:
            keys[one.name.removesuffix("_")] = Key(one.name, shape, required, meaning, inherited)
    return Form(type_, keys, others, name)


def _given(hint: Any) -> Any:
    """The meaning of an annotation for a key that is present; None means its absence."""
    return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007


def _annotated(hint: Any) -> tuple[Shape, list[Any]]:
    """The shape that an annotation describes, restricted by its notes, and the notes."""
    if get_origin(hint) is not Annotated:
        return _shape(hint), []
    base, *notes = get_args(hint)
    shape, inner = (Leaf(("string",), kept="level"), []) if LEVEL in notes else _annotated(base)
    return _limited(shape, notes), [*inner, *notes]


def _limited(shape: Shape, notes: list[Any]) -> Shape:
    limits: dict[type, str] = {Pattern: "pattern", Size: "size", Range: "range", Choices: "choices"}
    for note in notes:
        if type(note) in limits:
            shape = replace(shape, **{limits[type(note)]: note})
    return shape


def _shape(hint: Any) -> Shape:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Text:
        return Leaf(("string",), size=Size(1, 400), kept="text")
    if hint == Node:
        return Anything()
    if origin is Scalar:
        return replace(_leaf(arguments[0]), kept="node")
    if origin is tuple:
        return List(_annotated(arguments[0])[0])
    if origin is Mapping:
        key = _annotated(arguments[0])[0]
        assert isinstance(key, Leaf)
        return Table(key, _annotated(arguments[1])[0])
    if isinstance(hint, type) and is_dataclass(hint):
        return form_of(hint)
    parts = [part for part in get_args(hint) if part not in _TYPES] if origin in _UNIONS else []
    if parts:
        single = [part for part in get_args(hint) if part in _TYPES]
        leaves = [_leaf(Union[tuple(single)])] if single else []  # noqa: UP007
        return Either((*leaves, *(_annotated(part)[0] for part in parts)))
    return _leaf(hint)


def _leaf(hint: Any) -> Leaf:
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return Leaf(tuple(dict.fromkeys(_TYPES[type(choice)] for choice in choices)), choices)
    parts = get_args(hint) if get_origin(hint) in _UNIONS else (hint,)
    return Leaf(tuple(_TYPES[part] for part in parts))
