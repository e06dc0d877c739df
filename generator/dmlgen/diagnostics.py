"""Findings: what is wrong with a spec, where, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]

_LONGEST_NAME = 100  # difflib needs quadratic time, and no valid name is longer


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file: path with forward slashes; line and column from 1, columns in code points."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Finding:
    """One error or warning.

    `code` is a stable slug, `message` says what was found and what was expected, `suggestion` is the text to
    write instead.
    """

    position: Position
    code: str
    message: str
    severity: Severity = "error"
    suggestion: str | None = None

    @property
    def text(self) -> str:
        """The message, with the suggestion if there is one."""
        return f"{self.message} (did you mean '{self.suggestion}'?)" if self.suggestion else self.message


class SpecError(Exception):
    """The input cannot be used; `findings`, at least one, say why."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(f"{finding.position}: {finding.text}" for finding in self.findings))


def fault(position: Position, code: str, message: str, suggestion: str | None = None) -> SpecError:
    """A single error, to be raised."""
    return SpecError([Finding(position, code, message, suggestion=suggestion)])


class UsageError(Exception):
    """A command was given arguments that it cannot use."""


def shown(text: str) -> str:
    """Text from the input as quoted in a message, shortened if it is too long to read."""
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"


def error_text(error: Exception) -> str:
    """A line for an unexpected error, with the operator being processed, if any."""
    names, trace = list(getattr(error, "__notes__", ())), error.__traceback__
    while trace is not None:
        operator = trace.tb_frame.f_locals.get("operator")
        names += [name] if isinstance(name := getattr(operator, "name", None), str) else []
        trace = trace.tb_next
    where = f", in {names[-1]}" if names else ""
    return f"{type(error).__name__}: {error}{where}"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most similar to `name`, ignoring case; None if none is close."""
    if len(name) > _LONGEST_NAME:
        return None
    folded = {candidate.casefold(): candidate for candidate in sorted(candidates)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def operator_name(given: str) -> str:
    """The name of an operator as the registry has it, given in any case, with or without its prefix."""
    return given.upper().removeprefix("DML_OPERATOR_")


def unknown_operator(name: str, operators: Iterable[str]) -> str:
    """The message for a name that is not an operator."""
    close = nearest(name, operators)
    return f"there is no operator {shown(name)}" + (f"; did you mean {close}?" if close else "")
