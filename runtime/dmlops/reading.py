"""Reads the JSON values in a file: a single one, or one per line."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, BinaryIO, NoReturn, TypeVar

from .description import Description
from .errors import JsonError
from .json_form import dispatchables, from_json, is_model
from .safe_text import shown

LONGEST_LINE = 1 << 24  # bytes; a description takes a few hundred


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
    with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
        for text in _texts(file):
            value = tried(_parse, text)
            identity = value.pop("id", None) if isinstance(value, dict) else None
            if isinstance(value, dict):
                value.pop("$schema", None)  # used by editors
            yield identity, value


def _texts(file: BinaryIO) -> Iterator[bytes | None]:
    """The JSON texts of a file: its lines, or the whole file if its first line is not a complete text.

    A line that is too long gives None. Of a binary file, the first line represents the whole.
    """
    lines = _lines(file)
    start: list[bytes] = []
    size, begun = 0, False
    for line in lines:
        if line is not None and not begun and _is_binary(line):
            yield line
            return
        if line is None or size > LONGEST_LINE or not (begun or line.isspace() or _begins(line)):
            yield from start
            yield line
            break
        start.append(line)
        size += len(line)
        begun = begun or not line.isspace()
    else:
        whole = b"".join(start)
        of_lines = any(line.startswith(b"{") and line.strip() != b"{" for line in start[1:])
        one_text = begun and (_is_json(whole) or not of_lines)
        yield from [whole] if one_text else start
    yield from lines


def _begins(line: bytes) -> bool:
    """Whether a line starts a JSON text, or a comment before one, without ending it."""
    first = line.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    return first in (b"{", b"[", b"/") and not _is_json(line)


def _is_binary(line: bytes) -> bool:
    return not line.startswith(b"{") and _CONTROL.search(line) is not None


def _is_json(text: bytes) -> bool:
    return not isinstance(tried(_parse, text), JsonError)


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines, None for one that is too long."""
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _parse(text: bytes | None) -> Any:
    """A JSON value, read as DxDispatch reads it; JsonError for anything else, and for a line too long.

    DxDispatch allows comments, commas before a closing bracket, and lines of any text after the value.
    """
    if text is None:
        raise JsonError("", f"the line is longer than {LONGEST_LINE} bytes")
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
