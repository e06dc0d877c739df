"""Reports as text, JSON or GitHub annotations: of findings, changes and audits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dmlgen.diagnostics import Finding, Position

Format = Literal["text", "json", "github"]
ChangeFormat = Literal["text", "json", "github", "markdown"]  # for changes of revisions; see diff.formats


@dataclass(frozen=True)
class Row:
    """An entry of a report in each format: lines, a JSON value, a GitHub annotation."""

    lines: Sequence[str]
    value: Mapping[str, object]
    annotation: str = ""


def report(rows: Iterable[Row], format: Format, summary: str = "") -> str:
    """The report, with a summary at the end of text. Text and annotations are empty if there are no rows."""
    match format:
        case "text":
            lines = [line for row in rows for line in row.lines]
            return "".join(f"{printable(line)}\n" for line in (*lines, *([summary] if summary else [])))
        case "json":
            return json.dumps([row.value for row in rows], indent=2) + "\n"
        case "github":
            return "".join(row.annotation for row in rows)


def render(findings: Iterable[Finding], format: Format) -> str:
    """A report of findings in order of position."""
    rows = (
        Row(
            (f"{one.position}: {one.severity}[{one.code}]: {one.text}",),
            {
                **place_value(one.position),
                "severity": one.severity,
                "code": one.code,
                "message": one.message,
                "suggestion": one.suggestion,
            },
            annotation(one.severity, one.position, one.code, one.text),
        )
        for one in sorted(findings, key=lambda one: (one.position, one.code, one.message))
    )
    return report(rows, format)


def place_value(place: Position) -> dict[str, object]:
    """A position in JSON."""
    return {"file": place.file, "line": place.line, "column": place.column}


def annotation(level: Literal["error", "warning", "notice"], place: Position, title: str, text: str) -> str:
    """A line that GitHub shows next to the place in a repository file."""
    where = f"file={_property(_in_repository(place.file))},line={place.line},col={place.column}"
    return f"::{level} {where},title={_property(title)}::{_data(text)}\n"


def _in_repository(file: str) -> str:
    """A file's name relative to the root of the repository, as GitHub expects it."""
    path = Path(os.path.abspath(file))
    root = next((folder for folder in path.parents if (folder / ".git").exists()), None)
    return file if root is None else path.relative_to(root).as_posix()


def printable(text: str) -> str:
    """Escapes everything that a terminal would interpret.

    A file name can contain escape sequences, line ends or undecodable bytes.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _data(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
