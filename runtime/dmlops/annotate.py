"""Prints descriptions as JSON, with marks below the values that violations refer to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .description import Description
from .safe_text import is_huge, printable, shown
from .terminal import PLAIN, Style
from .violation import Violation

WIDEST = 400  # longest line that is shown, in characters

Span = tuple[int, int]


def printed(desc: Description) -> str:
    """A description as JSON, with one line per member."""
    return "\n".join(line for line, _ in _lines(desc))


def marked(desc: Description, violations: Sequence[Violation], style: Style = PLAIN) -> Iterator[str]:
    """A description as JSON, with carets below what is wrong and the numbers of violations, from 1.

    Of a list, the entries that differ from those expected are marked. A violation about something that is
    absent has no mark.
    """
    paths = [
        (number, _paths(member))
        for number, violation in enumerate(violations, start=1)
        for member in _wrong(violation)
    ]
    for line, spans in _lines(desc):
        yield line if len(line) <= WIDEST else f"{line[:WIDEST]}..."
        marks: dict[Span, list[int]] = {}
        for number, candidates in paths:
            span = next((spans[path] for path in candidates if path in spans), None)
            if span is not None and span[1] <= WIDEST:
                marks.setdefault(span, []).append(number)
        for (start, end), numbers in sorted(marks.items()):
            text = ", ".join(map(str, numbers))
            yield f"{' ' * start}{style.bad('^' * (end - start))} {style.bad(text)}"


def compact(value: Any) -> str:
    """A JSON value on one line, with huge integers described in words."""
    return _written(value, "", 0, {})


def _wrong(violation: Violation) -> list[str]:
    """The paths of what a violation finds wrong: those entries of a list that differ, or the member."""
    found, expected = violation.found, violation.expected
    if not (type(found) is type(expected) is tuple and len(found) == len(expected)):
        return [violation.member]
    differing = [at for at, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    return [f"{violation.member}[{at}]" for at in differing]


def _paths(member: str) -> Iterable[str]:
    """The paths at which something wrong at a member can be marked, most specific first."""
    if member.rpartition(".")[2] == "Type":
        return [f"{member.removesuffix('Type')}type"]
    member = re.sub(r"\.DimensionCount$", ".Sizes", member)
    around = [member[: match.start()] for match in re.finditer(r"[.\[]", member)]
    return [member, *reversed(around)]


def _lines(desc: Description) -> Iterator[tuple[str, dict[str, Span]]]:
    """The lines of a description's JSON, each with the positions of the values in it, by path."""
    value = desc.to_json()
    first = '{"type": '
    name = json.dumps(value["type"])
    yield f'{first}{name}, "desc": {{', {"type": (len(first), len(first) + len(name))}
    members = list(value["desc"].items())
    for position, (name, member) in enumerate(members):
        spans: dict[str, Span] = {}
        label = f"  {json.dumps(name)}: "
        text = label + _written(member, name, len(label), spans)
        yield text + ("," if position + 1 < len(members) else ""), spans
    yield "}}", {}


def _written(value: Any, path: str, start: int, spans: dict[str, Span]) -> str:
    """A JSON value on one line, where it starts at a column; adds the position of each part to the spans."""
    parts: list[tuple[str, str, Any]]
    if isinstance(value, dict):
        text, end = "{", "}"
        parts = [(f"{json.dumps(name)}: ", _below(path, name), one) for name, one in value.items()]
    elif isinstance(value, list):
        text, end = "[", "]"
        parts = [("", f"{path}[{index}]", one) for index, one in enumerate(value)]
    else:
        text, end, parts = shown(value) if is_huge(value) else printable(json.dumps(value)), "", []
    for position, (label, where, one) in enumerate(parts):
        text += f", {label}" if position else label
        text += _written(one, where, start + len(text), spans)
    text += end
    spans[path] = (start, start + len(text))
    return text


def _below(path: str, name: str) -> str:
    """The path of a member; an activation's members are inside its "desc", which paths leave out."""
    return path if name == "desc" else f"{path}.{name}"
