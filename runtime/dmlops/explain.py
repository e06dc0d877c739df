"""Explains violations and advice to a person: what is wrong, how to fix it, and what a description needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any

from .annotate import compact, marked
from .data import operator_data
from .description import Description
from .enums import FeatureLevel
from .paths import path_of, value_at
from .registry import LEVELS, operator
from .suggest_fix import Change, Closest, closest
from .tensor import TensorDesc
from .terminal import PLAIN, Style
from .violation import Violation

if TYPE_CHECKING:
    from .data import RuleText

_SOURCES = {
    "docs": "Microsoft's documentation",
    "header": "DirectML.h",
    "observed": "what DirectML was seen to do",
    "ours": "a decision of this registry",
}


def explain(desc: Description, level: FeatureLevel, style: Style = PLAIN) -> tuple[str, bool]:
    """An explanation of a description at a feature level, and whether it is valid there."""
    violations = desc.validate(level)
    verdict = style.good("valid") if not violations else style.bad("invalid")
    lines = [f"{style.strong(desc.OPERATOR)} at feature level {level}: {verdict}"]
    if violations:
        lines += ["", *marked(desc, violations, style)]
    lines += violation_lines(violations, style)
    lines += _of_integers(desc, violations, level)
    found = closest(desc, level) if violations else None
    behind = _behind(found, violations)
    if behind:
        lines += ["", "Found once these are fixed:", *violation_lines(behind, style, len(violations) + 1)]
    advice = desc.advice(level)
    if advice:
        lines += ["", "Advice. None of this makes the description invalid:", *violation_lines(advice, style)]
    needed = desc.min_feature_level()
    lines += ["", "No feature level accepts it as it stands." if needed is None else _availability(needed)]
    if violations:
        lines += ["", *_mended(found, level, style)]
    return "\n".join(lines), not violations


def explain_rule(rule: RuleText, style: Style = PLAIN) -> str:
    """An explanation of a rule."""
    until = f" to below {rule.until}" if rule.until is not None else " on"
    lines = [
        style.strong(rule.id),
        f"    {rule.text}",
        *(f"    {formula}" for formula in rule.formulas),
        *(["    where"] if rule.where else []),
        *(indent(name, " " * 6) for name in rule.where),
        f"{_scope(rule)}, from feature level {rule.since}{until}.",
        f"Source: {_SOURCES[rule.source]}.",
        *([f"Page: {rule.page}"] if rule.page is not None else []),
    ]
    return "\n".join(lines)


def _scope(rule: RuleText) -> str:
    if rule.id.startswith("DML-GRAPH-"):
        return "Graphs"
    if rule.id.startswith("DML-CALL-"):
        return "Calls"
    return f"Operator: {rule.operator or 'all'}"


def _behind(found: Closest | None, violations: Sequence[Violation]) -> list[Violation]:
    """The violations that the closest description answers, and that others hide."""
    listed = {(one.rule, one.member) for one in violations}
    changes = () if found is None else found.changes
    return [
        one for one in (change.because for change in changes) if one and (one.rule, one.member) not in listed
    ]


def _of_integers(desc: Description, violations: Sequence[Violation], level: FeatureLevel) -> Iterator[str]:
    """The operators that compute the same with a data type that this one does not support."""
    names = operator_data()[desc.OPERATOR].get("integer_operators", ())
    for violation in violations:
        path = path_of(violation.member)
        tensor = value_at(desc, path[:1])
        if not isinstance(tensor, TensorDesc) or path[1:] != ("DataType",):
            continue
        rows = [(name, operator(name).SUPPORT.get(level, {}).get(str(path[0]))) for name in names]
        able = [name for name, row in rows if row is not None and tensor.DataType in row.types]
        if able:
            yield from ("", f"Operators with {path[0]} of {tensor.DataType.name}: {', '.join(able)}.")
            return


def violation_lines(violations: Sequence[Violation], style: Style, first: int = 1) -> Iterator[str]:
    """The lines that explain violations, each after an empty one."""
    for number, violation in enumerate(violations, start=first):
        yield ""
        yield f"{number}. {style.strong(violation.member)}"
        yield f"   {violation.message}{'' if violation.message.endswith('?') else '.'}"
        yield f"   {style.faint(f'Rule {violation.rule}.')}"


def _availability(needed: FeatureLevel) -> str:
    return f"It needs feature level {needed}: {availability(needed)}."


def availability(needed: FeatureLevel) -> str:
    """The availability of a level: a DirectML version, and the first Windows release that includes it."""
    text = f"DirectML {LEVELS[needed].directml} or newer"
    for level in FeatureLevel:
        release = LEVELS[level].in_box
        if level >= needed and release is not None:
            return f"{text}, or {release.name} (build {release.build}) or newer, which carries level {level}"
    return f"{text}; no Windows release carries it, so the application ships DirectML itself"


def _mended(found: Closest | None, level: FeatureLevel, style: Style) -> Iterator[str]:
    """The changes that make a description valid."""
    if found is None:
        yield f"No valid description close to it was found at feature level {level}."
        return
    count = "one change" if found.steps == 1 else f"{found.steps} changes"
    yield f"The closest valid description at feature level {level} has {count}:"
    for change in found.changes:
        yield f"   {style.good(_changed(change))}"
    for other in found.others:
        yield "As near:"
        for change in other.changes:
            yield f"   {style.good(_changed(change))}"


def _changed(change: Change) -> str:
    old, new = _short(change.old), _short(change.new)
    if change.new is None:
        text = f"{change.member}: leave it out"
    elif change.old is None:
        text = f"add {change.member}: {new}"
    else:
        text = f"{change.member}: {new} instead of {old}"
    return text if change.because is not None else f"{text}, to match"


def _short(value: Any) -> str:
    text = compact(value)
    return text if len(text) <= 120 else f"{text[:120]}..."
