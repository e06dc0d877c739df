"""The constant buffer of a shader, derived from the record that a planner fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from dmlgen.plans.model import Field, ListOf, Plans, Record

VECTOR = 4  # words; structs and arrays in constant buffers are aligned to that
WORDS = {"uint": 1, "int": 1, "float": 1, "uint2": 2, "int4": 4, "float4": 4}


@dataclass(frozen=True)
class Constant:
    """A constant of one operator: if it has a length, an array of `words` words."""

    type: str
    name: str
    length: str = ""
    words: int = 0

    @property
    def size(self) -> int:
        return self.words if self.length else WORDS[self.type]


@dataclass(frozen=True)
class Params:
    """A constant buffer as text, its structs, the names of strides, and its maximum size in words."""

    structs: str
    constants: str
    strides: tuple[str, ...]
    words: int


def params_of(plans: Plans, record: str, own: Mapping[str, Sequence[Constant]] | None = None) -> Params:
    """The constants of a shader; `own` are those of the operator, by the list in which a planner provides
    them.

    "strides" are those of a loop, if the planner does not name them.
    """
    names = own or {}
    structs: dict[str, str] = {}
    strides: tuple[str, ...] = ()
    declared: list[_Declared] = []
    words = 0
    for one in plans.record(record).fields:
        match one.type:
            case ListOf(element=Record() as element, capacity=capacity, words=(macro, *given)):
                assert capacity is not None
                declared += _padding(words)
                words += -words % VECTOR
                inner = dict(names)
                if given:
                    inner["strides"] = [Constant("uint", f"{name}Stride") for name in given]
                    strides = tuple(given)
                body = [found for part in element.fields for found in _field(part, inner)]
                size = sum(_size(part, inner) for part in element.fields)
                body += _padding(size)
                structs[element.name] = f"struct {element.name}\n{{\n{_lines(body)}\n}};"
                declared.append(_Declared(element.name, f"{one.name}[{macro}]", one.comment))
                words += capacity * (size + -size % VECTOR)
            case _:
                declared += _field(one, names)
                words += _size(one, names)
    return Params("\n\n".join(structs.values()), _lines(declared), strides, words + -words % VECTOR)


class _Declared(NamedTuple):
    type: str
    declarator: str
    comment: str = ""


def _lines(declared: Iterable[_Declared]) -> str:
    """Declarations; those of one type that need no comment are on one line."""
    lines = []
    for (type_, comment), some in groupby(declared, lambda one: (one.type, one.comment)):
        names = [one.declarator for one in some]
        if comment:
            lines += [f"    {type_} {name};  // {comment}" for name in names]
        else:
            lines.append(f"    {type_} {', '.join(names)};")
    return "\n".join(lines)


def _field(one: Field, own: Mapping[str, Sequence[Constant]]) -> Iterator[_Declared]:
    if isinstance(one.type, ListOf):
        for constant in own[one.name]:
            length = f"[{constant.length}]" if constant.length else ""
            yield _Declared(constant.type, constant.name + length)
    else:
        assert not isinstance(one.type, Record)
        yield _Declared(one.type.hlsl, one.name, one.comment)


def _size(one: Field, own: Mapping[str, Sequence[Constant]]) -> int:
    return sum(constant.size for constant in own[one.name]) if isinstance(one.type, ListOf) else 1


def _padding(words: int) -> list[_Declared]:
    return [_Declared("uint", f"reserved{number}") for number in range(-words % VECTOR)]
