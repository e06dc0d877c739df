"""Explains what a checking device captured: a folder of descriptions and graphs in JSON, one a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .description import Description
from .enums import FeatureLevel
from .errors import JsonError
from .explain import explain
from .graph.explaining import explain as explain_graph
from .graph.json_form import from_json as read_graph
from .graph.model import Graph
from .reading import Entry, values
from .terminal import PLAIN, Style

Captured = Description | Graph | JsonError


def captured(folder: Path) -> Iterator[tuple[str, Captured]]:
    """The content of each file, by name. Raises OSError for one that cannot be read."""
    for path in sorted(folder.glob("*.json")):
        with path.open("rb") as file:
            for entry in values(file):
                yield path.name, _read(entry)


def explain_captured(folder: Path, level: FeatureLevel, style: Style = PLAIN) -> tuple[str, bool]:
    """A summary, then an explanation of each problem, and whether there is none."""
    problems: list[str] = []
    seen: Counter[str] = Counter()
    for name, one in captured(folder):
        if isinstance(one, Description):
            seen[one.OPERATOR] += 1
            text, good = ("", True) if not one.validate(level) else explain(one, level, style)
        elif isinstance(one, Graph):
            seen["graph"] += 1
            text, good = ("", True) if not one.validate(level) else explain_graph(one, level, style)
        else:
            seen["unreadable"] += 1
            text, good = f"Not a valid description: {one}", False
        if not good:
            problems.append(f"\n[{name}]\n{text}")
    if not seen:
        return f"There is no .json file in {folder}.", False
    return "\n".join([_summary(seen, len(problems), level), *problems]), not problems


def _read(entry: Entry) -> Captured:
    if entry.error is not None:
        return entry.error
    try:
        is_graph = isinstance(entry.value, dict) and not {"Nodes", "nodes"}.isdisjoint(entry.value)
        return read_graph(entry.value) if is_graph else entry.description()
    except JsonError as error:
        return error


def _summary(seen: Counter[str], problems: int, level: FeatureLevel) -> str:
    graphs, unreadable = seen.pop("graph", 0), seen.pop("unreadable", 0)
    parts = [
        f"{_counted(seen.total(), 'description')} of {_counted(len(seen), 'operator')}" if seen else "",
        _counted(graphs, "graph") if graphs else "",
        f"{unreadable} that cannot be read" if unreadable else "",
    ]
    found = f"{problems} {'is' if problems == 1 else 'are'} invalid" if problems else "all are valid"
    return f"{', '.join(filter(None, parts))}: {found} at feature level {level}."


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"
