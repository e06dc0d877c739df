"""Formats wrong values for messages: short, on one line, in printable ASCII."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from .arithmetic import LIMIT
from .value import plain

_SHOWN = 60  # longest part of a wrong value that a message repeats, in characters


def shown(value: Any) -> str:
    """A wrong value: numbers and strings literally, other things by their kind."""
    value = plain(value)
    kind = type(value)
    if value is None:
        return "nothing"
    if kind is bool:
        return str(value).lower()
    if is_huge(value):
        return "a huge integer"
    if kind is str:
        return f'"{cut(value)}"'
    if kind is int or kind is float:
        return cut(repr(value))
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    name = cut(type(value).__name__)
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def decimal(value: int) -> str:
    """An integer as messages show it; beyond the range of all C types it is abbreviated."""
    return str(int(value)) if -LIMIT <= value >> 1 <= LIMIT else shown(int(value))


def is_huge(value: Any) -> bool:
    """Whether an integer exceeds every member type, so that Python may refuse to print it."""
    return type(value) is int and abs(value) >> 200 != 0


def cut(text: str) -> str:
    """The beginning of a text that may be long or contain control characters."""
    start = printable(text[: _SHOWN + 1])
    return start if len(text) <= _SHOWN else f"{start[:_SHOWN]}..."


def printable(text: str) -> str:
    """A text with everything but printable ASCII escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if " " <= one <= "~" else _escape(one) for one in text)


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message that suggests the name most similar to a wrong one; empty if none is."""
    folded = {known.upper(): known for known in names}
    close = get_close_matches(name[:100].upper(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode()
