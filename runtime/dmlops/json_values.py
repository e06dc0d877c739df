"""Values in parsed JSON, of the kinds that are expected at their paths; JsonError for anything else."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .errors import JsonError
from .registry import INTEGERS
from .safe_text import cut, nearest, shown
from .value import plain

_MOST_UNKNOWN = 10  # unknown members that one message lists


def unexpected(path: str, value: Any, expected: str) -> JsonError:
    """The error for a value that is absent or of another kind."""
    found = "is missing" if value is None else f"found {shown(value)}"
    return JsonError(path, f"{found}; expected {expected}")


def an_object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise unexpected(path, value, "an object")
    if not all(isinstance(key, str) for key in value):
        raise unexpected(path, value, "an object whose names are strings")
    return value


def with_known_keys(given: dict[str, Any], path: str, keys: Collection[str]) -> dict[str, Any]:
    """The object, if it has no keys but these."""
    unknown = [key for key in given if key not in keys]
    if unknown:
        first, *others = unknown[:_MOST_UNKNOWN]
        also = (f"; {cut(key)} is unknown, too{nearest(key, keys)}" for key in others)
        raise JsonError(below(path, cut(first)), f"unknown member{nearest(first, keys)}{''.join(also)}")
    return given


def below(path: str, key: str) -> str:
    """The path of a member of an object."""
    return f"{path}.{key}" if path else key


def a_list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise unexpected(path, value, "a list")
    return value


def a_text(value: Any, path: str) -> str:
    text = plain(value)
    if type(text) is not str:
        raise unexpected(path, value, "a name")
    return text


def an_integer(value: Any, path: str, type_: str) -> int:
    """An integer in the range of a type of the ABI, such as UINT."""
    number = plain(value)
    least, most = INTEGERS[type_]
    if type(number) is not int or not least <= number <= most:
        raise unexpected(path, value, f"an integer from {least} to {most}")
    return number
