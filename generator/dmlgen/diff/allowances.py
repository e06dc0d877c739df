"""Intended breaking changes: a YAML file lists them by kind and subject, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dmlgen.decode import decode
from dmlgen.diagnostics import Finding, SpecError, nearest, shown
from dmlgen.diff.change import KINDS, Change
from dmlgen.shape import Record
from dmlgen.source import Scalar, load
from dmlgen.text import Text

_BREAKING = [kind for kind, (impact, _) in KINDS.items() if impact == "breaking"]


@dataclass(frozen=True, kw_only=True)
class _Allowance(Record):
    kind: Scalar[str]
    subject: Text
    reason: Text


@dataclass(frozen=True, kw_only=True)
class _Allowances(Record):
    allowed: tuple[_Allowance, ...]


def read_allowances(path: Path) -> dict[tuple[str, str], str]:
    """The reasons by kind and subject. SpecError with every error of the file."""
    listed = decode(_Allowances, load(path, path.parent)).allowed
    findings = [
        Finding(
            one.kind.position,
            "wrong-value",
            f"{shown(one.kind.value)} is not a kind of breaking change",
            suggestion=nearest(one.kind.value, _BREAKING),
        )
        for one in listed
        if one.kind.value not in _BREAKING
    ]
    if findings:
        raise SpecError(findings)
    return {(one.kind.value, one.subject.plain): one.reason.plain for one in listed}


def allowed(changes: Iterable[Change], allowances: Mapping[tuple[str, str], str]) -> dict[Change, str]:
    """The listed changes, each with its reason."""
    keys = ((change, (change.kind, change.subject)) for change in changes)
    return {change: allowances[key] for change, key in keys if key in allowances}
