"""Explains a graph to a person: what is wrong, how to fix it, and what it needs."""

from __future__ import annotations

from collections import Counter

from ..enums import FeatureLevel
from ..explain import availability, violation_lines
from ..terminal import PLAIN, Style
from .checks import CONSTANTS_SINCE, SINCE
from .listing import listed
from .model import Graph
from .suggest_fix import mended


def explain(graph: Graph, level: FeatureLevel, style: Style = PLAIN) -> tuple[str, bool]:
    """An explanation of a graph at a feature level, and whether it is valid there."""
    violations = graph.validate(level)
    verdict = style.good("valid") if not violations else style.bad("invalid")
    count = len(graph.nodes)
    title = f"Graph of {count} node{'s' * (count != 1)}"
    lines = [f"{style.strong(title)} at feature level {level}: {verdict}", ""]
    lines += listed(graph, violations, style)
    for number, violation in enumerate(violations, start=1):
        lines += violation_lines([violation], style, number)
        found = mended(graph, violation, level)
        if found is not None:
            lines.append(f"   Fix: {style.good(found.change)}")
    advice = graph.advice(level)
    if advice:
        lines += ["", "Advice. None of this makes the graph invalid:", *violation_lines(advice, style)]
    return "\n".join([*lines, "", level_text(graph)]), not violations


def level_text(graph: Graph) -> str:
    """The lowest feature level that accepts a graph, and which of its nodes need it."""
    needed = graph.min_feature_level()
    if needed is None:
        return "No feature level accepts it as it stands."
    levels = [node_level(graph, at) for at in range(len(graph.nodes))]
    text = f"It needs feature level {needed}: {availability(needed)}."
    at = [number for number, one in enumerate(levels) if one == needed]
    if not at:
        return text
    names = Counter(_operator(graph, number) for number in at)
    causes = ", ".join(f"{name} ({count} nodes)" if count > 1 else name for name, count in names.items())
    rest = max((one for one in levels if one is not None and one < needed), default=None)
    without = max(rest or SINCE, SINCE)
    more = f" Without, it would need {without}." if without < needed else ""
    first = graph.nodes[at[0]].label(at[0])
    return f"{text}\n{needed} is for {causes}, first in {first}.{more}"


def node_level(graph: Graph, at: int) -> FeatureLevel | None:
    """The lowest feature level that accepts a node; None if none does."""
    desc = graph.nodes[at].desc
    return CONSTANTS_SINCE if desc is None else desc.min_feature_level()


def _operator(graph: Graph, at: int) -> str:
    desc = graph.nodes[at].desc
    return "a constant" if desc is None else desc.OPERATOR
