"""The base of tensors, descriptions and the structs in them: immutable values that are quick to make."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from functools import partial
from typing import Any

# Bits of a state: a tensor has been found to keep its rules; a value holds a wrong type, perhaps deep inside.
SOUND_INPUT, SOUND_OUTPUT, WRONG_TYPE = 1, 2, 4

# The types that members have, for tests of whole arrays: `INTEGERS(map(type, array))`.
INTEGERS = frozenset({int}).issuperset
FLOATS = frozenset({float}).issuperset


class Value:
    """A frozen, slotted dataclass with a state that takes no part in comparisons.

    Assigning to a frozen object is slow. So `__new__` makes an instance of an open class of the same layout,
    assigns its members, and then makes it an instance of its own class. Hence the classes are final.
    """

    __slots__ = ("_state",)

    _state: int

    def __reduce__(self) -> tuple[Any, ...]:
        members = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return partial(type(self), **members), ()

    def __repr__(self) -> str:
        members = [(one.name, getattr(self, one.name), one.default) for one in fields(self)]  # type: ignore[arg-type]
        told = ", ".join(
            f"{name}={repr_of(value)}"
            for name, value, default in members
            if value is not None and not (type(value) is type(default) and value == default)
        )
        return f"{type(self).__name__}({told})"


_state: Any = Value.__dict__["_state"]
set_state = _state.__set__  # of a frozen value, which this alone can change


def opened(frozen: type[Value]) -> type[Any]:
    """A class with the layout of a frozen one, whose members can be assigned."""
    slots: Any = frozen.__dict__["__slots__"]
    return type(frozen.__name__, frozen.__bases__, {"__slots__": slots})


def settle(value: Value, kind: type[Value]) -> None:
    """Brings the members of an open value into the forms that their types have; notes if one has none."""
    from .forms import settle

    settle(value, kind)


def repr_of(value: Any) -> str:
    """A member as one would write it."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)
