"""The forms in which members can be given, and the normal form in which descriptions store them.

An enumerator can be given by name or number, an array as any iterable, a number as a NumPy scalar. Anything
else is kept as it is: the value that contains it is marked WRONG_TYPE, and `faults` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import fields
from enum import Enum, IntFlag
from functools import cache, partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from .description import Description, count_of
from .enums import ENUMS, PREFIXES, entry_of
from .member import Member
from .registry import INTEGERS, NUMBERS, STRUCTS
from .safe_text import nearest, shown
from .value import WRONG_TYPE, Value, plain, set_state

ACTIVATION = "OPERATOR_DESC"
DEEPEST = 8  # levels of nested activations searched for errors
MOST_NAMES = 16  # enumerators that are listed if none is near
MOST_ENTRIES = 1 << 16  # most entries taken from an iterable, which may be endless


class WrongType(Exception):
    """A member has a value of the wrong type: where, what was found and expected, and a suggestion."""

    def __init__(self, path: str, value: Any, expected: str, hint: str = "") -> None:
        self.path, self.value, self.expected, self.hint = path, shown(value), expected, hint
        super().__init__(path)


Made = TypeVar("Made", bound=Value)


def created(kind: type[Made], *given: Any) -> Made:
    """A value with members in their normal form; those of the wrong type are kept, and the state says so."""
    form = _FORMS.get(kind) or _FORMS.setdefault(kind, _Form(kind))
    value = object.__new__(kind)
    state = 0
    for (assign, read, may_be_none, is_array), member in zip(form.members, given, strict=True):
        if member is not None or not may_be_none:
            try:
                if is_array:
                    member = _entries(member, "")  # kept like this if one of them has the wrong type
                    member = tuple([read(entry, "") for entry in member])
                else:
                    member = read(member, "")
            except WrongType:
                state = WRONG_TYPE
        assign(value, member)
    set_state(value, state)
    for count, arrays in form.counts.items():
        if getattr(value, count) is None:
            form.assign[count](value, count_of(*(getattr(value, array) for array in arrays)))
        number = getattr(value, count)
        if type(number) is int and number == 0:
            for array in arrays:
                if getattr(value, array) is None:
                    form.assign[array](value, ())
    return value


Assign: TypeAlias = Callable[[Any, Any], None]
Read: TypeAlias = Callable[[Any, str], Any]


class _Form:
    """The creation of a kind of value: functions that assign and read each member, or entry of an array.

    None is a normal form of what may be None. `counts` are the members that count entries of arrays.
    """

    def __init__(self, kind: type[Value]) -> None:
        members = members_of(kind)
        self.assign: dict[str, Assign] = {one.name: kind.__dict__[one.name].__set__ for one in members}
        self.counts: dict[str, list[str]] = {}
        for member in members if issubclass(kind, Description) else ():
            if member.count:
                self.counts.setdefault(member.count, []).append(member.name)
        self.members: list[tuple[Assign, Read, bool, bool]] = [
            (
                self.assign[one.name],
                _reader(one),
                may_be_none(kind, one) or one.name in self.counts,
                one.count is not None,
            )
            for one in members
        ]


_FORMS: dict[type[Any], _Form] = {}


def faults(value: Any, path: str = "") -> Iterator[WrongType]:
    """The values of the wrong type in a value: at most one per member, and at least one in all."""
    found = False
    for member in members_of(type(value)):
        where = f"{path}.{member.name}" if path else member.name
        try:
            given = getattr(value, member.name)
            read = _reader(member)
            if given is None and may_be_none(type(value), member):
                continue
            if member.count:
                for position, entry in enumerate(_entries(given, where)):
                    read(entry, f"{where}[{position}]")
            else:
                read(given, where)
        except WrongType as fault:
            found = True
            yield fault
    if not found:  # an iterator is exhausted, or a list was changed meanwhile
        yield WrongType(path or "Type", value, "made of values that stay as they are")


def members_of(kind: type[Any]) -> tuple[Member, ...]:
    """The members of descriptions, tensors or structs that Python stores, in its order."""
    if issubclass(kind, Description):
        return kind.MEMBERS
    names = {made: name for name, made in _struct_classes().items()}
    members = {one.name: one for one in STRUCTS[f"DML_{names.get(kind, 'BUFFER_TENSOR_DESC')}"]}
    return tuple(members[one.name] for one in fields(kind))


def _struct_classes() -> dict[str, type]:
    from .structs import STRUCT_CLASSES  # which creates its values with this module

    return STRUCT_CLASSES


def enumerator(name: str, value: Any, path: str) -> Any:
    """The enumerator for a name, with or without prefix, or a number.

    Flags can also be given as "A|B" or as a list. A number that is no enumerator stays a number.
    """
    enum = ENUMS[name]
    if type(value) is enum:
        return value
    text = plain(value)
    if not issubclass(enum, IntFlag) or not (type(text) is str or isinstance(value, (list, tuple))):
        return _entry(name, value, path)
    flags = 0
    for part in text.split("|") if type(text) is str else _entries(value, path):
        flags |= int(_entry(name, part.strip() if type(part) is str else part, path))
    return entry_of(enum, flags)


def integer(value: Any, path: str) -> int:
    if type(value) is int:
        return value
    found = plain(value)
    if type(found) is not int:
        raise WrongType(path, value, "an integer")
    return found


def boolean(value: Any, path: str) -> int:
    found = plain(value)
    if type(found) not in (bool, int) or isinstance(value, Enum):
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


def _reader(member: Member) -> Read:
    """A function that returns a value of a member or an entry of an array in normal form, or raises
    WrongType."""
    return number if member.typed_by else _readers()[member.type]


@cache
def _readers() -> dict[str, Read]:
    """The readers of values, by the type of a member."""
    from .tensor import TensorDesc  # which creates its values with this module

    return {
        "tensor": _value(TensorDesc, "a TensorDesc"),
        ACTIVATION: _value(Description, "the description of an operator"),
        **dict.fromkeys(NUMBERS, floating),
        **dict.fromkeys(INTEGERS, integer),
        "BOOL": boolean,
        **{name: _value(made, f"a {made.__name__}") for name, made in _struct_classes().items()},
        **{name: partial(enumerator, name) for name in ENUMS},
    }


def may_be_none(owner: type[Any], member: Member) -> bool:
    """Whether a member can be None: a pointer can, and in a tensor anything that defaults to None."""
    if issubclass(owner, Description):
        return member.pointer
    return any(one.name == member.name and one.default is None for one in fields(owner))


def _entries(value: Any, path: str) -> tuple[Any, ...]:
    if type(value) in (tuple, list):
        return tuple(value)
    if not isinstance(value, (str, bytes, Mapping, Set)):
        with suppress(TypeError):  # it is not iterable
            entries = tuple(islice(value, MOST_ENTRIES + 1))
            if len(entries) <= MOST_ENTRIES:
                return entries
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
        listed = f": {', '.join(names)}" if len(names) <= MOST_NAMES else ""
        raise WrongType(path, value, f"a value of DML_{name}", nearest(found, names) or listed)
    if type(found) is not int or isinstance(value, Enum):
        raise WrongType(path, value, f"a value of DML_{name}")
    return entry_of(enum, found)


def _value(kind: type[Value], expected: str) -> Callable[[Any, str], Any]:
    """A reader of values that are constructed elsewhere."""

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, kind):
            raise WrongType(path, value, expected)
        if value._state & WRONG_TYPE:
            raise next(faults(value, path)) if path.count(".") < DEEPEST else WrongType(path, value, expected)
        return value

    return read
