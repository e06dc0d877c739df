"""The base class of tensors, descriptions and their structs: immutable values that are fast to create."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from functools import partial
from typing import Any

# State bits: a tensor is known to be valid; a value contains a value of the wrong type, perhaps nested.
SOUND_INPUT, SOUND_OUTPUT, WRONG_TYPE = 1, 2, 4

# Sets of member types, to test whole arrays: `INTEGERS(map(type, array))`.
INTEGERS = frozenset({int}).issuperset
FLOATS = frozenset({float}).issuperset


class Value:
    """A frozen, slotted dataclass with a state that is ignored in comparisons.

    Assigning to a frozen object is slow, so `__new__` creates an instance of an open class with the same
    layout, assigns its members, and then changes its class. This is why the classes are final.
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
set_state = _state.__set__  # sets the state of a frozen value


def opened(frozen: type[Value]) -> type[Any]:
    """A class with the layout of a frozen one, but with assignable members."""
    slots: Any = frozen.__dict__["__slots__"]
    return type(frozen.__name__, frozen.__bases__, {"__slots__": slots})


def settle(value: Value, kind: type[Value]) -> None:
    """Converts the members of an open value to their normal forms; records if one has the wrong type."""
    from .forms import settle

    settle(value, kind)


def repr_of(value: Any) -> str:
    """A member as source code."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)
