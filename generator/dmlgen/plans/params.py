"""The constant buffer of a shader, derived from the record that a planner fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dmlgen.plans.model import Field, ListOf, Plans, Record

VECTOR = 4  # words; structs and arrays in constant buffers are aligned to that
WORDS = {"uint": 1, "int": 1, "float": 1, "uint2": 2, "int4": 4, "float4": 4}


@dataclass(frozen=True)
class Declaration:
    """A constant: if it has a length, an array of whole vectors."""

    type: str
    name: str
    length: str = ""
    comment: str = ""

    @property
    def declarator(self) -> str:
        return f"{self.name}[{self.length}]" if self.length else self.name


@dataclass(frozen=True)
class Params:
    """A constant buffer as text, its structs, and the names of strides."""

    structs: tuple[str, ...]
    constants: str
    strides: tuple[str, ...]


def params_of(plans: Plans, record: str, own: Mapping[str, Sequence[Declaration]] | None = None) -> Params:
    """The constants of a shader; `own` are those of the operator, by the list in which a planner provides
    them.

    "strides" are those of a loop, if the planner does not name them. A list of records for which there are
    none is left out.
    """
    names = own or {}
    structs: dict[str, str] = {}
    strides: tuple[str, ...] = ()
    declared: list[Declaration] = []
    for one in _whole(plans.record(record)):
        match one.type:
            case ListOf(element=Record() as element, words=(macro, *given)) if names.get(one.name) != ():
                declared += _padding(declared)
                inner = dict(names)
                if given:
                    inner["strides"] = [Declaration("uint", f"{name}Stride") for name in given]
                    strides = tuple(given)
                body = [found for part in element.fields for found in _field(part, inner)]
                body += _padding(body)
                structs[element.name] = f"struct {element.name}\n{{\n{_lines(body)}\n}};"
                declared.append(Declaration(element.name, one.name, macro, one.comment))
            case _:
                declared += _field(one, names)
    return Params(tuple(structs.values()), _lines(declared), strides)


def _whole(record: Record) -> Iterator[Field]:
    """The fields of a record, and of those in it."""
    for one in record.fields:
        yield from one.type.fields if isinstance(one.type, Record) else (one,)


def _lines(declared: Iterable[Declaration]) -> str:
    """Declarations; those of one type that need no comment are on one line."""
    lines = []
    for (type_, comment), some in groupby(declared, lambda one: (one.type, one.comment)):
        names = [one.declarator for one in some]
        if comment:
            lines += [f"    {type_} {name};  // {comment}" for name in names]
        else:
            lines.append(f"    {type_} {', '.join(names)};")
    return "\n".join(lines)


def _field(one: Field, own: Mapping[str, Sequence[Declaration]]) -> Sequence[Declaration]:
    if isinstance(one.type, ListOf):
        return own[one.name]
    assert not isinstance(one.type, Record)
    return [Declaration(one.type.hlsl, one.name, comment=one.comment)]


def _padding(declared: Iterable[Declaration]) -> list[Declaration]:
    """The words that fill the last vector."""
    words = sum(WORDS[one.type] for one in declared if not one.length)
    return [Declaration("uint", f"reserved{number}") for number in range(-words % VECTOR)]
