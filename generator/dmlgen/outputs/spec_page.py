"""The page of all keys of spec files, made from the records that describe these files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from dmlgen.outputs.render import Templates
from dmlgen.registry import Registry
from dmlgen.shape import Either, Form, Leaf, List, Shape, Table, form_of
from dmlgen.written import FILES

PLACES = {
    "operator": "specs/operators/<family>/<operator>.yaml, specs/shared/<name>.yaml",
    "definitions": "specs/shared/definitions/<name>.yaml",
    "counterparts": "specs/counterparts/<interface>.yaml",
}
"""Locations of the files of a kind, if not in specs/<kind>.yaml."""


@dataclass(frozen=True)
class Row:
    """A key of a mapping, as a page shows it."""

    key: str
    required: bool
    type: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """A mapping with fixed keys; `file` says which files have it as their whole, if any."""

    name: str
    meaning: str
    file: str
    rows: list[Row]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The page, by path below generated/."""
    return {"spec.md": templates.render("docs/spec.md.j2", sections=list(sections()))}


def sections() -> Iterator[Section]:
    """Every mapping that spec files contain, each after the file in which it first appears."""
    seen: set[str] = set()
    for kind, type_ in FILES.items():
        waiting = [form_of(type_)]
        file = PLACES.get(kind, f"specs/{kind}.yaml")
        while waiting:
            form = waiting.pop(0)
            name = form.type.__name__
            if name not in seen:
                seen.add(name)
                waiting += (one for key in form.keys.values() for one in _forms(key.shape))
                rows = [Row(k, key.required, _type(key.shape), key.meaning) for k, key in form.keys.items()]
                if form.others is not None:
                    table = form.others[1]
                    rows.append(Row("any other", False, _type(table.value), _words(table.key)))
                yield Section(name, " ".join((inspect.getdoc(form.type) or "").split()), file, rows)
                file = ""


def _forms(shape: Shape) -> Iterator[Form]:
    """The mappings directly within a value."""
    match shape:
        case Form():
            yield shape
        case List(item=inner) | Table(value=inner):
            yield from _forms(inner)
        case Either(shapes=shapes):
            for one in shapes:
                yield from _forms(one)


def _type(shape: Shape) -> str:
    match shape:
        case Form(type=type_):
            return f"[{type_.__name__}](#{type_.__name__.lower()})"
        case List(item=item, size=size):
            most = f" of at most {size.most}" if size.most is not None else ""
            return f"list{most}: {_type(item)}"
        case Table(key=key, value=value):
            return f"mapping from {_words(key)} to {_type(value)}"
        case Either(shapes=shapes):
            return " or ".join(map(_type, shapes))
        case Leaf(choices=choices) if choices:
            return ", ".join(f"`{one}`" for one in choices)
        case Leaf():
            return _words(shape)
    return "anything"


def _words(leaf: Leaf) -> str:
    """The form of a single value, in words."""
    if leaf.pattern is not None and leaf.pattern.words:
        return leaf.pattern.words
    limits = (leaf.range.least, leaf.range.most)
    if None not in limits:
        return f"integer from {limits[0]} to {limits[1]}"
    return " or ".join(leaf.types)
