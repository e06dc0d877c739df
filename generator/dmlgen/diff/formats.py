"""Prints changes as text, JSON, GitHub annotations or Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, get_args

from dmlgen.diagnostics import Position
from dmlgen.diff.change import Change, Impact
from dmlgen.formats import ChangeFormat, Row, annotation, place_value, printable, report

Allowed: TypeAlias = Mapping[Change, str]  # intended breaking changes, each with the reason

_IMPACTS: tuple[Impact, ...] = get_args(Impact)
_MARKUP = frozenset("&<>|`*_[]~@#:\\")  # a colon makes addresses links
_LONGEST = 300  # longest old or new text, in characters; JSON has all of it


def render(changes: Sequence[Change], allowed: Allowed, format: ChangeFormat) -> str:
    """The changes, breaking ones first; text and annotations are empty if there are none."""
    in_order = sorted(changes, key=lambda change: (change in allowed, _IMPACTS.index(change.impact)))
    if format == "markdown":
        return _markdown(in_order, allowed)
    rows = [Row([*_lines(one, allowed)], _value(one, allowed), _github(one, allowed)) for one in in_order]
    return report(rows, format, _summary(changes, allowed))


def _lines(change: Change, allowed: Allowed) -> Iterator[str]:
    yield f"{change.new or change.old}: {change.impact}[{change.kind}]: {change.message}"
    yield f"    allowed: {allowed[change]}" if change in allowed else f"    {change.reason}"
    if change.new is not None and change.old is not None:
        yield f"    it was at {change.old}"
    for sign, text, other in zip("-+", change.texts, reversed(change.texts), strict=True):
        if text != other:
            yield from (f"    {sign} {_short(line)}" for line in text.splitlines())


def _summary(changes: Sequence[Change], allowed: Allowed) -> str:
    counts = Counter("allowed" if change in allowed else change.impact for change in changes)
    return ", ".join(f"{counts[what]} {what}" for what in (*_IMPACTS, "allowed") if counts[what])


def _value(change: Change, allowed: Allowed) -> dict[str, object]:
    return {
        "impact": change.impact,
        "kind": change.kind,
        "subject": change.subject,
        "message": change.message,
        "reason": change.reason,
        "old": None if change.old is None else place_value(change.old),
        "new": None if change.new is None else place_value(change.new),
        "before": change.texts[0],
        "after": change.texts[1],
        "allowed": allowed.get(change),
    }


def _github(change: Change, allowed: Allowed) -> str:
    return annotation(
        "error" if change.impact == "breaking" and change not in allowed else "notice",
        change.new or change.old or Position(""),
        change.kind,
        f"{change.message}: {allowed.get(change, change.reason)}",
    )


def _markdown(changes: Sequence[Change], allowed: Allowed) -> str:
    if not changes:
        return "The registry means what it meant.\n"
    lines = [f"**{_summary(changes, allowed)}**", "", "| | what | where |", "|-|-|-|"]
    for change in changes:
        impact = "allowed" if change in allowed else change.impact
        was_and_is = ""
        if change.texts[0] != change.texts[1]:
            was_and_is = f"<br>{' → '.join(map(_code, change.texts))}"
        reason = _cell(allowed.get(change, change.reason))
        what = f"{_cell(change.message)}: {reason}{was_and_is}"
        places = [place for place in (change.old, change.new) if place is not None]
        lines.append(f"| {impact} | {what} | {' → '.join(_code(f'{p.file}:{p.line}') for p in places)} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"<code>{_cell(_short(text))}</code>" if text else "nothing"


def _cell(text: str) -> str:
    """Text from a spec for a table cell: without markup, and without mentioning anybody."""
    line = printable(" ".join(text.splitlines()))
    return "".join(f"&#{ord(char)};" if char in _MARKUP else char for char in line)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
