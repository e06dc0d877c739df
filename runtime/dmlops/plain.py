"""Values from anywhere, looked at without running code of theirs: a class may lie about itself, or fail."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard, TypeVar

Kind = TypeVar("Kind")

_EXACT = ((int, int.__int__), (float, float.__float__), (str, str.__str__))
_name_of = type.__dict__["__name__"].__get__


def is_a(value: Any, *kinds: type[Kind]) -> TypeGuard[Kind]:
    """Whether a value's class is one of these or a subclass, whatever it says of itself."""
    return issubclass(type(value), kinds)


def plain(value: Any) -> Any:
    """A number or text as Python's own types have it, also one of NumPy; anything else as it is."""
    kind = type(value)
    if kind is int or kind is bool or kind is str or kind is float:
        return value
    numpy = sys.modules.get("numpy")  # who never loaded it has no scalar of it
    if numpy is not None and issubclass(kind, numpy.generic):
        item = numpy.generic.item(value)
        return item if type(item) in (bool, int, float, str) else value
    return next((exactly(value) for base, exactly in _EXACT if issubclass(kind, base)), value)


def class_name(value: Any) -> str:
    """The name of a value's class."""
    name: str = _name_of(type(value))
    return name
