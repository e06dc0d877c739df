"""The forms in which members can be given, and the normal form in which descriptions hold them.

An enumerator can be given by name or number, an array as any iterable, a number as a NumPy scalar. Anything
else is kept as it is: the value that contains it is marked WRONG_TYPE, and `faults` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import fields
from enum import Enum, IntFlag
from functools import partial
from itertools import islice
from typing import Any

from .description import Description, count_of
from .enums import ENUMS, PREFIXES, entry_of
from .member import Member
from .plain import is_a, plain
from .quoting import nearest, shown
from .registry import INTEGERS, NUMBERS, STRUCTS
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc
from .value import WRONG_TYPE, Value

ACTIVATION = "OPERATOR_DESC"
DEEPEST = 8  # levels of nested activations searched for faults
MOST_ENTRIES = 1 << 16  # most entries taken from an iterable, which may be endless


class WrongType(Exception):
    """A member has a value of the wrong type: where, what was found and expected, and a suggestion."""

    def __init__(self, path: str, value: Any, expected: str, hint: str = "") -> None:
        self.path, self.value, self.expected, self.hint = path, shown(value), expected, hint
        super().__init__(path)


def settle(value: Any, kind: type[Value]) -> None:
    """Converts the members of an open value, which will become of that kind, to their normal forms."""
    members = members_of(kind)
    counts = {member.count for member in members}
    wrong = False
    for member in members:
        given = getattr(value, member.name)
        if given is None and member.name in counts:
            continue
        try:
            if member.count and given is not None:
                setattr(value, member.name, given := _entries(given, ""))
            setattr(value, member.name, _normal(kind, member, given, ""))
        except WrongType:
            wrong = True
    for member in members:
        if member.count and issubclass(kind, Description):
            if getattr(value, member.count) is None:
                arrays = [getattr(value, one.name) for one in members if one.count == member.count]
                setattr(value, member.count, count_of(*arrays))
            count = getattr(value, member.count)
            if getattr(value, member.name) is None and type(count) is int and count == 0:
                setattr(value, member.name, ())
    value._state = WRONG_TYPE if wrong else 0


def faults(value: Any, path: str = "") -> Iterator[WrongType]:
    """The values of the wrong type in a value: at most one per member, and at least one in all."""
    found = False
    for member in members_of(type(value)):
        where = f"{path}.{member.name}" if path else member.name
        try:
            _normal(type(value), member, getattr(value, member.name), where)
        except WrongType as fault:
            found = True
            yield fault
    if not found:  # a list was changed meanwhile, or an iterator is exhausted
        yield WrongType(path or "Type", value, "made of values that stay as they are")


def members_of(kind: type[Any]) -> tuple[Member, ...]:
    """The members of descriptions, tensors or structs that Python stores."""
    members: tuple[Member, ...] = kind.MEMBERS if issubclass(kind, Description) else _MEMBERS[kind]
    return members


def enumerator(name: str, value: Any, path: str) -> Any:
    """The enumerator for a name, with or without prefix, or a number.

    Flags can also be given as "A|B" or as a list. A number that is no enumerator stays a number.
    """
    enum = ENUMS[name]
    text = plain(value)
    if not issubclass(enum, IntFlag) or not (type(text) is str or is_a(value, list, tuple)):
        return _entry(name, value, path)
    flags = 0
    for part in text.split("|") if type(text) is str else _entries(value, path):
        flags |= int(_entry(name, part.strip() if type(part) is str else part, path))
    return entry_of(enum, flags)


def integer(value: Any, path: str) -> int:
    found = plain(value)
    if type(found) is not int:
        raise WrongType(path, value, "an integer")
    return found


def boolean(value: Any, path: str) -> int:
    found = plain(value)
    if type(found) not in (bool, int) or is_a(value, Enum):
        raise WrongType(path, value, "true, false or an integer")
    truth: int = found
    return truth


def number(value: Any, path: str) -> float:
    found = plain(value)
    if type(found) not in (int, float):
        raise WrongType(path, value, "a number")
    exact: float = found
    return exact


def floating(value: Any, path: str) -> float:
    try:
        return float(number(value, path))
    except OverflowError:
        raise WrongType(path, value, "a number that a float can hold") from None


def _normal(owner: type[Value], member: Member, value: Any, path: str) -> Any:
    """A member's value in its normal form; WrongType if it has none."""
    if value is None and may_be_none(owner, member):
        return None
    read = number if member.typed_by else _READERS[member.type]
    if member.count:
        return tuple(read(one, f"{path}[{position}]") for position, one in enumerate(_entries(value, path)))
    return read(value, path)


def may_be_none(owner: type[Any], member: Member) -> bool:
    """Whether a member can be None: a pointer can, and in a tensor whatever defaults to None."""
    if issubclass(owner, Description):
        return member.pointer
    return any(one.name == member.name and one.default is None for one in fields(owner))


def _entries(value: Any, path: str) -> tuple[Any, ...]:
    if type(value) in (tuple, list):
        return tuple(value)
    try:
        if not issubclass(type(value), (str, bytes, Mapping, Set)):
            entries = tuple(islice(value, MOST_ENTRIES + 1))
            if len(entries) <= MOST_ENTRIES:
                return entries
    except Exception:  # it is not iterable, or its class fails
        pass
    raise WrongType(path, value, "a list")


def _entry(name: str, value: Any, path: str) -> Any:
    enum, prefix = ENUMS[name], PREFIXES[name]
    if type(value) is enum:
        return value
    found = plain(value)
    if type(found) is str:
        if found.removeprefix(prefix) in enum.__members__:
            return enum[found.removeprefix(prefix)]
        names = [prefix + known if found.startswith(prefix) else known for known in enum.__members__]
        raise WrongType(path, value, f"a value of DML_{name}", nearest(found, names))
    if type(found) is not int or is_a(value, Enum):
        raise WrongType(path, value, f"a value of DML_{name}")
    return entry_of(enum, found)


def _value(kind: type[Value], expected: str) -> Callable[[Any, str], Any]:
    """A reader of values that are constructed elsewhere."""

    def read(value: Any, path: str) -> Any:
        if not is_a(value, kind):
            raise WrongType(path, value, expected)
        if value._state & WRONG_TYPE:
            raise next(faults(value, path)) if path.count(".") < DEEPEST else WrongType(path, value, expected)
        return value

    return read


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "tensor": _value(TensorDesc, "a TensorDesc"),
    ACTIVATION: _value(Description, "the description of an operator"),
    **dict.fromkeys(NUMBERS, floating),
    **dict.fromkeys(INTEGERS, integer),
    "BOOL": boolean,
    **{name: _value(made, f"a {made.__name__}") for name, made in STRUCT_CLASSES.items()},
    **{name: partial(enumerator, name) for name in ENUMS},
}

_MEMBERS: dict[type[Any], tuple[Member, ...]] = {
    TensorDesc: tuple(
        member
        for member in STRUCTS["DML_BUFFER_TENSOR_DESC"]
        if member.name in {one.name for one in fields(TensorDesc)}
    ),
    **{made: STRUCTS[f"DML_{name}"] for name, made in STRUCT_CLASSES.items()},
}
