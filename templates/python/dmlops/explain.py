"""Violations for a person: what is wrong, how to mend it, and what a description needs to run."""

from __future__ import annotations

from .description import Description
from .enums import FeatureLevel
from .registry import LEVELS


def explain(desc: Description, level: FeatureLevel) -> tuple[str, bool]:
    """What there is to say of a description at a feature level, and whether it is valid there."""
    violations = desc.validate(level)
    lines = [f"{desc.OPERATOR} at feature level {level}: " + ("valid" if not violations else "invalid")]
    for number, violation in enumerate(violations, start=1):
        lines += [
            "",
            f"{number}. {violation.member}",
            f"   {violation.message}.",
            f"   Rule {violation.rule}.",
        ]
    needed = desc.min_feature_level()
    lines += ["", "No feature level accepts it as it stands." if needed is None else _availability(needed)]
    return "\n".join(lines), not violations


def _availability(needed: FeatureLevel) -> str:
    """Where a feature level is to be had."""
    text = f"It needs feature level {needed}: DirectML {LEVELS[needed].directml} or newer"
    for level in FeatureLevel:
        release = LEVELS[level].in_box
        if level >= needed and release is not None:
            return f"{text}, or {release.name} (build {release.build}) or newer, which carries level {level}."
    return f"{text}; no Windows release carries it, so the application ships DirectML itself."
