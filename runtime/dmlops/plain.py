"""Inspects untrusted values without running their code: a class may lie about itself, or fail."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard, TypeVar

Kind = TypeVar("Kind")

_EXACT = ((int, int.__int__), (float, float.__float__), (str, str.__str__))
_name_of = type.__dict__["__name__"].__get__


def is_a(value: Any, *kinds: type[Kind]) -> TypeGuard[Kind]:
    """Whether a value's actual class is one of these or a subclass, whatever it claims to be."""
    return issubclass(type(value), kinds)


def plain(value: Any) -> Any:
    """A number or string as Python's own type, also if it is NumPy's; anything else unchanged."""
    kind = type(value)
    if kind is int or kind is bool or kind is str or kind is float:
        return value
    numpy = sys.modules.get("numpy")  # if NumPy was never loaded, the value is not one of its scalars
    if numpy is not None and issubclass(kind, numpy.generic):
        item = numpy.generic.item(value)
        return item if type(item) in (bool, int, float, str) else value
    return next((exactly(value) for base, exactly in _EXACT if issubclass(kind, base)), value)


def class_name(value: Any) -> str:
    """The name of a value's class."""
    name: str = _name_of(type(value))
    return name
