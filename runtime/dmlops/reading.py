"""Reads the JSON values in a file: a single one, or one per line."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .description import Description
from .errors import JsonError
from .json_form import dispatchables, from_json, is_model
from .safe_text import shown

Made = TypeVar("Made")


def descriptions(path: str) -> Iterator[tuple[Any, Description | JsonError]]:
    """The descriptions of a file, like `values`; those of a DxDispatch model have their names as ids."""
    for identity, value in values(path):
        named = dispatchables(value) if is_model(value) else [(identity, value)]
        yield from ((name, tried(from_json, one)) for name, one in named)


def tried(read: Callable[[Any], Made], value: Any) -> Made | JsonError:
    """The result of reading a JSON value, or the reason why there is none."""
    try:
        return value if isinstance(value, JsonError) else read(value)
    except JsonError as error:
        return error


def values(path: str) -> Iterator[tuple[Any, Any]]:
    """The JSON values of a file, in order, each with its id; "-" is standard input.

    A JsonError stands for what is no JSON value. Raises OSError if the file cannot be read.
    """
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    for text in _texts(content):
        value = tried(_parse, text)
        identity = value.pop("id", None) if isinstance(value, dict) else None
        if isinstance(value, dict):
            value.pop("$schema", None)  # used by editors
        yield identity, value


def _texts(content: bytes) -> list[bytes]:
    """The JSON texts of a file: its lines, or the whole file if its first line is not a complete text.

    Of a binary file, the first line represents the whole.
    """
    lines = BytesIO(content).readlines()
    first = next((line for line in lines if not line.isspace()), b"")
    if _is_binary(first):
        return [first]
    if first.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[", b"/") and not _is_json(first):
        of_lines = any(line.startswith(b"{") and line.strip() != b"{" for line in lines[1:])
        return [content] if _is_json(content) or not of_lines else lines
    return lines


def _is_binary(line: bytes) -> bool:
    return not line.startswith(b"{") and _CONTROL.search(line) is not None


def _is_json(text: bytes) -> bool:
    return not isinstance(tried(_parse, text), JsonError)


def _parse(text: bytes) -> Any:
    """A JSON value, read as DxDispatch reads it; JsonError for anything else.

    DxDispatch allows comments, commas before a closing bracket, and lines of any text after the value.
    """
    if _is_binary(text):
        raise JsonError("", "not JSON but a binary file")
    try:
        return _value(text.decode("utf-8-sig"))
    except JsonError:
        raise
    except RecursionError:
        raise JsonError("", "nested too deep") from None
    except UnicodeDecodeError as error:
        raise JsonError("", f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        what, at = error.msg.removesuffix(" at"), f"line {error.lineno}, column {error.colno}"
        raise JsonError("", f"not valid JSON: {what} at {at}") from None
    except ValueError:  # Python rejects integers of thousands of digits
        raise JsonError("", "an integer has too many digits") from None


def _value(text: str) -> Any:
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    try:
        return decoder.decode(text)
    except json.JSONDecodeError:
        bare = _NO_JSON.sub(_blank, text)
        value, end = decoder.raw_decode(bare, len(bare) - len(bare.lstrip()))
        same_line, *others = bare[end:].splitlines() or [""]
        if same_line.strip() or any(line.startswith("{") for line in others):
            raise json.JSONDecodeError("Extra data", text, end) from None
        return value


_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # no JSON text has these bytes
_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_NO_JSON = re.compile(
    rf"""(?P<string>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|{_COMMENT}|,(?=(?:\s|{_COMMENT})*+[\]}}])""", re.DOTALL
)
"""Strings, which stay, comments, and commas before a bracket. What is not closed reaches to the end."""


def _blank(found: re.Match[str]) -> str:
    """Spaces in place of a comment or a comma, so that all else keeps its line and column."""
    return found[0] if found["string"] else re.sub(r"[^\n]", " ", found[0])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, one in pairs:
        if name in value:
            raise JsonError("", f"duplicate key {shown(name)}")
        value[name] = one
    return value


def _no_constant(name: str) -> NoReturn:
    raise JsonError("", f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonError("", f"{text:.60} is too large for a number")
    return value
