"""Places inside descriptions, as paths of member names and indices, and other values put there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .description import Description
from .forms import ACTIVATION, members_of
from .member import Member
from .tensor import TensorDesc
from .value import Value

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A value in a description: its path and the member that it is, or of whose array it is an entry."""

    path: Path
    member: Member
    value: Any


def text_of(path: Path) -> str:
    """A path as violations write it: InputTensors[1].Sizes."""
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path).removeprefix(".")


def path_of(text: str) -> Path:
    """The path that a violation names."""
    return tuple(int(one) if one.isdigit() else one for one in re.findall(r"\w+", text))


def member_of(name: str) -> tuple[str, int | None]:
    """The member with a tensor, and its index if that is an array, by the name of its buffer."""
    member, _, index = name.partition("[")
    return member, int(index[:-1]) if index else None


def value_at(holder: Any, path: Path) -> Any:
    """The value at a path, None if there is none."""
    for one in path:
        if isinstance(one, int):
            holder = holder[one] if type(holder) is tuple and one < len(holder) else None
        else:
            holder = getattr(holder, one, None)
    return holder


def put(holder: Any, path: Path, value: Any) -> Any:
    """A copy of a description, tensor, struct or array with another value at a path."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return (*holder[:first], put(holder[first], rest, value), *holder[first + 1 :])
    return replace(holder, **{first: put(getattr(holder, first), rest, value)})


def put_all(desc: Description, values: Mapping[Path, Any]) -> Description:
    """A description with other values at several paths."""
    for path, value in values.items():
        desc = put(desc, path, value)
    return desc


def tensors_of(desc: Description) -> Iterator[tuple[Path, TensorDesc, Member]]:
    """The tensors that are given, inputs and outputs in the order of the struct."""
    for member in desc.MEMBERS:
        if member.type == "tensor":
            value = getattr(desc, member.name)
            entries = enumerate(value) if type(value) is tuple else ()
            yield from (((member.name, at), one, member) for at, one in entries if type(one) is TensorDesc)
            if type(value) is TensorDesc:
                yield (member.name,), value, member


def places_of(desc: Description, most_entries: int) -> Iterator[Place]:
    """All members, those of structs, tensors and activations after the member that has them."""
    waiting = [Place((member.name,), member, getattr(desc, member.name)) for member in desc.MEMBERS]
    while waiting:
        place = waiting.pop(0)
        yield place
        inner: list[Place] = []
        if isinstance(place.value, Value):
            inner = [
                Place((*place.path, one.name), one, getattr(place.value, one.name))
                for one in members_of(type(place.value))
                if not (isinstance(place.value, Description) and one.type == "tensor")
            ]
        elif type(place.value) is tuple and place.member.type in ("tensor", ACTIVATION):
            entries = enumerate(place.value[:most_entries])
            inner = [Place((*place.path, at), place.member, one) for at, one in entries]
        waiting = inner + waiting
