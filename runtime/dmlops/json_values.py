"""Values in parsed JSON, of the kinds that are expected at their paths; JsonError for anything else."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .errors import JsonError
from .registry import INTEGERS
from .safe_text import cut, nearest, shown
from .value import plain


def an_object(value: Any, path: str) -> dict[str, Any]:
    if not (isinstance(value, dict) and all(isinstance(key, str) for key in value)):
        raise JsonError(path, f"found {shown(value)}; expected an object")
    return dict(value)


def with_known_keys(given: dict[str, Any], path: str, keys: Collection[str]) -> dict[str, Any]:
    """The object, if it has no keys but these."""
    for key in given:
        if key not in keys:
            where = f"{path}.{cut(key)}" if path else cut(key)
            raise JsonError(where, f"unknown member{nearest(key, keys)}")
    return given


def a_list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise JsonError(path, f"found {shown(value)}; expected a list")
    return list(value)


def a_text(value: Any, path: str) -> str:
    text = plain(value)
    if type(text) is not str:
        raise JsonError(path, f"found {shown(value)}; expected a name")
    return text


def an_integer(value: Any, path: str, type_: str) -> int:
    """An integer in the range of a type of the ABI, such as UINT."""
    number = plain(value)
    least, most = INTEGERS[type_]
    if type(number) is not int or not least <= number <= most:
        raise JsonError(path, f"found {shown(value)}; expected an integer from {least} to {most}")
    return number
