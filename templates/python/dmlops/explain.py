"""Violations and advice for a person: what is wrong, how to fix it, and what a description needs to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .description import Description
from .enums import FeatureLevel
from .registry import LEVELS
from .violation import Violation

if TYPE_CHECKING:
    from .rule_texts import RuleText

_SOURCES = {
    "docs": "Microsoft's public pages",
    "header": "DirectML.h",
    "observed": "what DirectML was seen to do",
    "ours": "a decision of this registry",
}


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


def explain_rule(rule: RuleText) -> str:
    """What there is to say of a rule."""
    until = f" to below {rule.until}" if rule.until is not None else " on"
    lines = [
        rule.id,
        f"    {rule.text}",
        *(f"    {formula}" for formula in rule.formulas),
        f"Operator: {rule.operator or 'all'}, from feature level {rule.since}{until}.",
        f"Source: {_SOURCES[rule.source]}.",
        *([f"Page: {rule.page}"] if rule.page is not None else []),
    ]
    return "\n".join(lines)


def _listed(violations: list[Violation]) -> Iterator[str]:
    for number, violation in enumerate(violations, start=1):
        yield ""
        yield f"{number}. {violation.member}"
        yield f"   {violation.message}."
        yield f"   Rule {violation.rule}."


def _availability(needed: FeatureLevel) -> str:
    return f"It needs feature level {needed}: {availability(needed)}."


def availability(needed: FeatureLevel) -> str:
    """Where a level is to be had: a DirectML version, and the first Windows release that carries it."""
    text = f"DirectML {LEVELS[needed].directml} or newer"
    for level in FeatureLevel:
        release = LEVELS[level].in_box
        if level >= needed and release is not None:
            return f"{text}, or {release.name} (build {release.build}) or newer, which carries level {level}"
    return f"{text}; no Windows release carries it, so the application ships DirectML itself"
