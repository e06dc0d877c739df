"""Breaking changes that are meant: a YAML file lists them by kind and subject, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dmlgen import schema
from dmlgen.diagnostics import SpecError
from dmlgen.diff.change import KINDS, Change
from dmlgen.source import load

_TEXT = {"type": "string", "minLength": 1, "maxLength": 400}
_BREAKING = [kind for kind, (impact, _) in KINDS.items() if impact == "breaking"]
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "allowed": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"kind": {"enum": _BREAKING}, "subject": _TEXT, "reason": _TEXT},
                "additionalProperties": False,
                "required": ["kind", "subject", "reason"],
            },
        }
    },
    "additionalProperties": False,
    "required": ["allowed"],
}


def read_allowances(path: Path) -> dict[tuple[str, str], str]:
    """Reasons by kind and subject. SpecError with every fault of the file."""
    node = load(path, path.parent)
    if findings := schema.check(node, schema.compile_schema(_SCHEMA)):
        raise SpecError(findings)
    listed: Any = node.plain()
    return {(item["kind"], item["subject"]): item["reason"] for item in listed["allowed"]}


def allowed(changes: Iterable[Change], allowances: Mapping[tuple[str, str], str]) -> dict[Change, str]:
    """The changes that are listed, each with its reason."""
    keys = ((change, (change.kind, change.subject)) for change in changes)
    return {change: allowances[key] for change, key in keys if key in allowances}
