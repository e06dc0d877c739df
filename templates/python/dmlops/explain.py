"""Violations and advice for a person: what is wrong, how to mend it, and what a description needs to run."""

from __future__ import annotations

from collections.abc import Iterator

from .description import Description
from .enums import FeatureLevel
from .registry import LEVELS
from .violation import Violation


def explain(desc: Description, level: FeatureLevel) -> tuple[str, bool]:
    """What there is to say of a description at a feature level, and whether it is valid there."""
    violations = desc.validate(level)
    lines = [f"{desc.OPERATOR} at feature level {level}: " + ("valid" if not violations else "invalid")]
    lines += _listed(violations)
    advice = desc.advice(level)
    if advice:
        lines += ["", "Advice. None of this makes the description invalid:", *_listed(advice)]
    needed = desc.min_feature_level()
    lines += ["", "No feature level accepts it as it stands." if needed is None else _availability(needed)]
    return "\n".join(lines), not violations


def _listed(violations: list[Violation]) -> Iterator[str]:
    for number, violation in enumerate(violations, start=1):
        yield ""
        yield f"{number}. {violation.member}"
        yield f"   {violation.message}."
        yield f"   Rule {violation.rule}."


def _availability(needed: FeatureLevel) -> str:
    """Where a feature level is to be had."""
    text = f"It needs feature level {needed}: DirectML {LEVELS[needed].directml} or newer"
    for level in FeatureLevel:
        release = LEVELS[level].in_box
        if level >= needed and release is not None:
            return f"{text}, or {release.name} (build {release.build}) or newer, which carries level {level}."
    return f"{text}; no Windows release carries it, so the application ships DirectML itself."
