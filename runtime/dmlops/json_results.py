"""Answers about descriptions for programs, as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .description import Description
from .enums import FeatureLevel
from .errors import InvalidDescription, JsonError
from .overview import level
from .reading import Entry
from .suggest_fix import Closest, closest
from .violation import Violation

UNREADABLE = "DML-JSON"  # takes the place of a rule if there is no description


def judged(entry: Entry, at: FeatureLevel) -> dict[str, Any]:
    """The violations and the advice for a description at a feature level, and the level that it needs."""
    violations: list[Violation] = []
    advice: list[Violation] = []
    needed: FeatureLevel | None = None
    try:
        desc = entry.description()
        violations = desc.validate(at)
        advice = desc.advice(at)
        needed = desc.min_feature_level()
    except JsonError as error:
        violations = [unreadable(error)]
    return judgment(
        entry.identity, violations, advice, min_feature_level=None if needed is None else str(needed)
    )


def judgment(
    identity: Any, violations: Sequence[Violation], advice: Sequence[Violation], **more: Any
) -> dict[str, Any]:
    """The violations and the advice for a description, a graph or bindings, and more facts about it."""
    return {
        "id": identity,
        "ok": not violations,
        "violations": [one.to_json() for one in violations],
        "advice": [one.to_json() for one in advice],
        **more,
    }


def explained(entry: Entry, at: FeatureLevel) -> dict[str, Any]:
    """A judgment with the DirectML version and Windows release to use, and the closest valid description."""
    answer = judged(entry, at)
    needed = answer["min_feature_level"]
    found = None if entry.error is not None else _closest(entry, at)
    return {
        **answer,
        "needs": None if needed is None else level(FeatureLevel(needed)),
        "closest": None if found is None else _mended(found),
    }


def inferred(entry: Entry) -> dict[str, Any]:
    """A description with its outputs filled in, or the reason why they cannot be inferred."""
    violations: list[Violation] = []
    desc: Description | None = None
    reason: str | None = None
    try:
        desc = entry.description().infer()
    except JsonError as error:
        violations = [unreadable(error)]
    except InvalidDescription as error:
        violations = list(error.violations)
    except ValueError as error:
        reason = str(error)  # a member needed for inference is absent, or an output cannot be inferred
    return {
        "id": entry.identity,
        "ok": desc is not None,
        "violations": [violation.to_json() for violation in violations],
        "reason": reason,
        "description": None if desc is None else desc.to_json(),
    }


def unreadable(error: JsonError) -> Violation:
    """The replacement for a violation if there is no description."""
    return Violation(UNREADABLE, error.path, "{}", (error.reason,))


def _closest(entry: Entry, at: FeatureLevel) -> Closest | None:
    try:
        return closest(entry.description(), at)
    except JsonError:
        return None


def _mended(found: Closest) -> dict[str, Any]:
    return {
        "description": found.desc.to_json(),
        "changes": [
            {
                "member": change.member,
                "old": change.old,
                "new": change.new,
                "rule": None if change.because is None else change.because.rule,
            }
            for change in found.changes
        ],
        "others": [_mended(other) for other in found.others],
    }
