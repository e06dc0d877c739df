"""Prints findings as text, JSON or GitHub annotations."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from dmlgen.diagnostics import Finding, Position

Format = Literal["text", "json", "github"]
ChangeFormat = Literal["text", "json", "github", "markdown"]  # for changes of revisions; see diff.formats


def render(findings: Iterable[Finding], format: Format) -> str:
    """The findings in order of position; text and GitHub annotations are empty if there are none."""
    return _RENDERERS[format](sorted(findings, key=lambda f: (f.position, f.code, f.message)))


def _text(findings: Sequence[Finding]) -> str:
    return "".join(printable(f"{f.position}: {f.severity}[{f.code}]: {f.text}") + "\n" for f in findings)


def _json(findings: Sequence[Finding]) -> str:
    return _dump(
        [
            {
                "file": finding.position.file,
                "line": finding.position.line,
                "column": finding.position.column,
                "severity": finding.severity,
                "code": finding.code,
                "message": finding.message,
                "suggestion": finding.suggestion,
            }
            for finding in findings
        ]
    )


def _github(findings: Sequence[Finding]) -> str:
    return "".join(annotation(f.severity, f.position, f.code, f.text) for f in findings)


def annotation(level: Literal["error", "warning", "notice"], place: Position, title: str, text: str) -> str:
    """A line that GitHub shows next to the place in a repository file."""
    where = f"file={_property(_in_repository(place.file))},line={place.line},col={place.column}"
    return f"::{level} {where},title={_property(title)}::{_data(text)}\n"


def _in_repository(file: str) -> str:
    """A file's name relative to the root of the repository, as GitHub expects it."""
    path = Path(os.path.abspath(file))
    root = next((folder for folder in path.parents if (folder / ".git").exists()), None)
    return file if root is None else path.relative_to(root).as_posix()


def _dump(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


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


_RENDERERS: dict[Format, Callable[[Sequence[Finding]], str]] = {
    "text": _text,
    "json": _json,
    "github": _github,
}
