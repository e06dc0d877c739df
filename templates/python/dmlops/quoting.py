"""Wrong values as messages show them: short, on one line, in printable ASCII."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_SHOWN = 60  # characters of a wrong value that a message repeats


def shown(value: Any) -> str:
    """A wrong value: numbers and strings as they are, other things by their kind."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case int() if abs(value) >> 200:
            return "a huge integer"
        case str():
            return f'"{cut(value)}"'
        case int() | float():
            return cut(repr(value))
        case _:
            name = cut(type(value).__name__)
            return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def cut(text: str) -> str:
    """The beginning of a text that may be long or hold control characters."""
    printable = "".join(one if " " <= one <= "~" else _escape(one) for one in text[: _SHOWN + 1])
    return printable if len(text) <= _SHOWN else f"{printable[:_SHOWN]}..."


def nearest(name: str, names: Iterable[str]) -> str:
    """A suggestion to end a message with: the name that looks most like a wrong one; nothing if none does."""
    folded = {known.upper(): known for known in names}
    close = get_close_matches(name[:100].upper(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode()
