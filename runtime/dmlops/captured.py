"""Explains what a checking device captured: a folder of descriptions and graphs in JSON, one a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .enums import FeatureLevel
from .errors import JsonError
from .explain import explain
from .graph.explaining import explain as explain_graph
from .graph.json_form import from_json as read_graph
from .graph.model import Graph
from .json_form import from_json
from .reading import tried, values
from .terminal import PLAIN, Style


def explain_captured(folder: Path, level: FeatureLevel, style: Style = PLAIN) -> tuple[str, bool]:
    """A summary, then an explanation of each problem, and whether there is none.

    Raises OSError for a file that cannot be read.
    """
    problems: list[str] = []
    seen: Counter[str] = Counter()
    for path in sorted(folder.glob("*.json")):
        for _, value in values(str(path)):
            is_graph = isinstance(value, dict) and not {"Nodes", "nodes"}.isdisjoint(value)
            one = tried(read_graph, value) if is_graph else tried(from_json, value)
            if isinstance(one, JsonError):
                seen["unreadable"] += 1
                text = f"Not a valid description: {one}"
            elif isinstance(one, Graph):
                seen["graph"] += 1
                text = explain_graph(one, level, style)[0] if one.validate(level) else ""
            else:
                seen[one.OPERATOR] += 1
                text = explain(one, level, style)[0] if one.validate(level) else ""
            if text:
                problems.append(f"\n[{path.name}]\n{text}")
    if not seen:
        return f"There is no .json file in {folder}.", False
    return "\n".join([_summary(seen, len(problems), level), *problems]), not problems


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
