"""Reads the descriptions in a file: a single one, one per line, or those in a DxDispatch model."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

from .description import Description
from .errors import JsonError
from .json_form import dispatchables, from_json, is_model
from .quoting import shown

LONGEST_LINE = 1 << 24  # bytes; a description takes a few hundred


@dataclass(frozen=True)
class Entry:
    """A JSON value in a file: its id, and the value or the reason why there is none."""

    identity: Any
    value: Any
    error: JsonError | None = None

    def description(self) -> Description:
        """The description that it is; raises JsonError if it is none."""
        if self.error is not None:
            raise self.error
        return from_json(self.value)


def entries(file: BinaryIO) -> Iterator[Entry]:
    """The descriptions of a file, in order; those of a model have their names as ids."""
    for entry in values(file):
        if is_model(entry.value):
            yield from (Entry(name, one) for name, one in dispatchables(entry.value))
        else:
            yield entry


def values(file: BinaryIO) -> Iterator[Entry]:
    """The JSON values of a file, in order."""
    for text in _texts(file):
        try:
            if text is None:
                raise JsonError("", f"the line is longer than {LONGEST_LINE} bytes")
            value = _parse(text)
        except JsonError as error:
            yield Entry(None, None, error)
            continue
        identity = value.pop("id", None) if isinstance(value, dict) else None
        if isinstance(value, dict):
            value.pop("$schema", None)  # used by editors
        yield Entry(identity, value)


def _texts(file: BinaryIO) -> Iterator[bytes | None]:
    """The JSON texts of a file: its lines, or the whole file if the first line is only the start of a text.

    A line that is too long gives None.
    """
    lines = _lines(file)
    start: list[bytes] = []
    size, begun = 0, False
    for line in lines:
        if line is None or size > LONGEST_LINE or not (begun or line.isspace() or _begins(line)):
            yield from start
            yield line
            break
        start.append(line)
        size += len(line)
        begun = begun or not line.isspace()
    else:
        whole = b"".join(start)
        one_text = begun and (_is_json(whole) or not any(line.startswith(b"{") for line in start[1:]))
        yield from [whole] if one_text else start
    yield from lines


def _begins(line: bytes) -> bool:
    """Whether a line starts a JSON text without ending it."""
    return line.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[") and not _is_json(line)


def _is_json(text: bytes) -> bool:
    try:
        _parse(text)
    except JsonError:
        return False
    return True


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines, None for one that is too long."""
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _parse(text: bytes) -> Any:
    """A JSON value; JsonError for anything that is not strict JSON."""
    try:
        return json.loads(
            text.decode("utf-8-sig"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except JsonError:
        raise
    except RecursionError:
        raise JsonError("", "nested too deep") from None
    except UnicodeDecodeError as error:
        raise JsonError("", f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise JsonError(
            "", f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError:  # Python rejects integers of thousands of digits
        raise JsonError("", "an integer has too many digits") from None


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
