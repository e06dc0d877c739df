"""The base class of tensors, descriptions and their structs: immutable values."""

from __future__ import annotations

import sys
from dataclasses import fields
from enum import Enum
from functools import partial
from typing import Any

# State bits: a tensor is known to be valid, or a description to have members that can be read; a value
# contains a value of the wrong type, perhaps nested.
SOUND_INPUT, SOUND_OUTPUT, WRONG_TYPE, READABLE = 1, 2, 4, 8


class Value:
    """A frozen, slotted dataclass with a state that is ignored in comparisons."""

    __slots__ = ("_state",)

    _state: int

    def __reduce__(self) -> tuple[Any, ...]:
        members = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return partial(type(self), **members), ()

    def __repr__(self) -> str:
        members = [(one.name, getattr(self, one.name), one.default) for one in fields(self)]  # type: ignore[arg-type]
        arguments = ", ".join(
            f"{name}={repr_of(value)}"
            for name, value, default in members
            if value is not None and not (type(value) is type(default) and value == default)
        )
        return f"{type(self).__name__}({arguments})"


_state: Any = Value.__dict__["_state"]
set_state = _state.__set__  # sets the state of a frozen value


def repr_of(value: Any) -> str:
    """A member as source code."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def plain(value: Any) -> Any:
    """A number or string as Python's own type, also if it is NumPy's or an enumerator; others unchanged."""
    kind = type(value)
    if kind is int or kind is bool or kind is str or kind is float:
        return value
    numpy = sys.modules.get("numpy")  # if NumPy was never loaded, the value is not one of its scalars
    if numpy is not None and isinstance(value, numpy.generic):
        item = value.item()
        return item if isinstance(item, (bool, int, float, str)) else value
    return next((base(value) for base in (int, float, str) if isinstance(value, base)), value)
