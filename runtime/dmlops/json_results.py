"""Answers about descriptions for programs, as JSON values."""

from __future__ import annotations

from typing import Any

from .description import Description
from .enums import FeatureLevel
from .errors import InvalidDescription, JsonError
from .overview import level
from .suggest_fix import Closest, closest
from .violation import Violation

UNREADABLE = "DML-JSON"  # takes the place of a rule if there is no description


def judged(identity: Any, one: Any, at: FeatureLevel | None) -> dict[str, Any]:
    """The violations and the advice for a description or a graph at a feature level, and the level that it
    needs; for bindings, which have none, without levels. A JsonError takes the place of what is none of them.
    """
    levels = [] if at is None else [at]
    violations = [_unreadable(one)] if isinstance(one, JsonError) else one.validate(*levels)
    advice = [] if isinstance(one, JsonError) else one.advice(*levels)
    answer = {
        "id": identity,
        "ok": not violations,
        "violations": [violation.to_json() for violation in violations],
        "advice": [violation.to_json() for violation in advice],
    }
    if at is not None:
        needed = None if isinstance(one, JsonError) else one.min_feature_level()
        answer["min_feature_level"] = None if needed is None else str(needed)
    return answer


def explained(identity: Any, desc: Description | JsonError, at: FeatureLevel) -> dict[str, Any]:
    """A judgment with the DirectML version and Windows release to use, and the closest valid description."""
    answer = judged(identity, desc, at)
    needed = answer["min_feature_level"]
    found = None if isinstance(desc, JsonError) else closest(desc, at)
    return {
        **answer,
        "needs": None if needed is None else level(FeatureLevel(needed)),
        "closest": None if found is None else _mended(found),
    }


def inferred(identity: Any, given: Description | JsonError) -> dict[str, Any]:
    """A description with its outputs filled in, or the reason why they cannot be inferred."""
    violations: list[Violation] = []
    desc: Description | None = None
    reason: str | None = None
    try:
        if isinstance(given, JsonError):
            violations = [_unreadable(given)]
        else:
            desc = given.infer()
    except InvalidDescription as error:
        violations = list(error.violations)
    except ValueError as error:
        reason = str(error)  # a member needed for inference is absent, or an output cannot be inferred
    return {
        "id": identity,
        "ok": desc is not None,
        "violations": [violation.to_json() for violation in violations],
        "reason": reason,
        "description": None if desc is None else desc.to_json(),
    }


def _unreadable(error: JsonError) -> Violation:
    """The replacement for a violation if there is no description."""
    return Violation(UNREADABLE, error.path, "{}", (error.reason,))


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
