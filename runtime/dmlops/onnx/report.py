"""Reports on a model as JSON, text and HTML. Names in models are not trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from .. import __version__
from ..explain import availability
from ..registry import LEVELS
from ..safe_text import cut
from ..terminal import table
from .model import Model, Node

MARKS = {
    "mapped": ("ok", "32"),
    "host": ("host", "2"),
    "refused": ("refused", "31"),
    "impossible": ("none", "31"),
    "undecided": ("open", "33"),
    "level": ("level", "31"),
}
"""Word and color for each status; "level": the requested level is too low."""


def status(model: Model, node: Node) -> str:
    """The status of a node, or "level" if the requested level does not accept it."""
    too_high = model.asked is not None and node.level is not None and node.level > model.asked
    return "level" if too_high else node.status


def as_json(model: Model) -> dict[str, Any]:
    """The whole report as a JSON value."""
    level = model.level
    return {
        "dmlops": __version__,
        "opset": model.opset,
        "runs": model.runs,
        "complete": model.complete,
        "asked": model.asked and str(model.asked),
        "level": level and str(level),
        "directml": level and LEVELS[level].directml,
        "available": level and availability(level),
        "open_dimensions": list(model.open_dims),
        "nodes": [_node(model, node) for node in model.nodes],
    }


def _node(model: Model, node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "domain": node.domain,
        "operator": node.operator,
        "status": status(model, node),
        "reason": node.reason,
        "level": node.level and str(node.level),
        "descriptions": [work.desc.to_json() for work in node.plan.work] if node.plan else [],
        "violations": [{"description": number, **one.to_json()} for number, one in node.violations],
        "notes": list(node.notes),
    }


def as_text(model: Model, color: bool) -> str:
    """A summary for people: what the model needs, its operators, and what keeps it from running."""
    lines = [headline(model), ""]
    rows = [("ONNX", "DirectML", "nodes", "level", "")]
    styles = [""]
    for (kind, operator, operators, level), count in _groups(model):
        rows.append((operator, operators, str(count), level, MARKS[kind][0]))
        styles.append(MARKS[kind][1])
    for line, style in zip(table(rows), styles, strict=True):
        lines.append(f"\x1b[{style}m{line}\x1b[0m" if color and style else line)
    settled = ("mapped", "host", "undecided") if model.open_dims else ("mapped", "host")
    troubles = [node for node in model.nodes if status(model, node) not in settled]
    for node in troubles[:SHOWN]:
        lines += [
            "",
            f"{cut(node.name) or '(no name)'}, {_operator(node)}",
            *(f"  {line}" for line in explained(model, node)),
        ]
    if len(troubles) > SHOWN:
        lines += ["", f"and {len(troubles) - SHOWN} more; --json and --html have all of them"]
    return "\n".join(lines)


SHOWN = 20  # most nodes that a text explains


def headline(model: Model) -> str:
    """The model's requirements, in a sentence or two."""
    counts = Counter[str](node.status for node in model.nodes)
    summary = (
        f"{len(model.nodes)} nodes: {counts['mapped']} run on DirectML, {counts['host']} need no operator"
    )
    others = {
        "impossible": "have no counterpart",
        "refused": "are refused by every level",
        "undecided": "are undecided",
    }
    summary += "".join(f", {counts[kind]} {text}" for kind, text in others.items() if counts[kind])
    level = model.level
    if counts["mapped"] and level is not None:
        whole = "It needs" if model.complete else "What has a counterpart needs"
        summary += f".\n{whole} feature level {level}: {availability(level)}"
        if model.asked is not None:
            verdict = "accepts" if level <= model.asked else "does not accept"
            summary += f".\nFeature level {model.asked} {verdict} it"
    if model.open_dims:
        names = ", ".join(cut(name) for name in model.open_dims)
        summary += (
            f".\nDimensions that are not set: {names}; --dim NAME=SIZE or --shape INPUT=SIZES sets them"
        )
        if counts["undecided"]:
            summary += f", and so decides {counts['undecided']} nodes"
    return summary + "."


def explained(model: Model, node: Node) -> Iterator[str]:
    """Why a node does not run, and what would help."""
    if node.reason:
        yield _sentence(node.reason)
    for number, violation in node.violations:
        operator = node.operators[number]
        yield f"{operator}, {violation.member}: {_sentence(violation.message)} Rule {violation.rule}."
    if status(model, node) == "level" and node.level is not None:
        yield f"Feature level {node.level} accepts it: {availability(node.level)}."


def _sentence(text: str) -> str:
    text = "".join(one if one.isprintable() else " " for one in text)
    return f"{text[:1].upper()}{text[1:]}."


def _operator(node: Node) -> str:
    return cut(f"{node.domain}.{node.operator}" if node.domain else node.operator)


def _groups(model: Model) -> list[tuple[tuple[str, str, str, str], int]]:
    """Nodes grouped by status, operator, DirectML operators and level, in order of first appearance."""
    keys = [
        (status(model, node), _operator(node), " ".join(node.operators) or "-", str(node.level or "-"))
        for node in model.nodes
    ]
    return list(Counter(keys).items())


def as_html(model: Model, title: str) -> str:
    """A self-contained page with every node."""
    template = Template(files(__package__).joinpath("report.html").read_text("utf-8"))
    return template.substitute(
        title=_text(title),
        headline="".join(f"<p>{_text(line)}</p>" for line in headline(model).split("\n")),
        groups="\n".join(
            _row(kind, [operator, operators, str(count), level, MARKS[kind][0]])
            for (kind, operator, operators, level), count in _groups(model)
        ),
        nodes="\n".join(_node_row(model, node) for node in model.nodes),
        version=_text(__version__),
    )


def _text(text: str) -> str:
    """Text for a page; invisible characters that could affect the text around them are escaped."""
    shown = (char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return escape("".join(shown))


def _row(kind: str, cells: Sequence[str]) -> str:
    inner = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
    return f'<tr class="{kind}">{inner}</tr>'


def _node_row(model: Model, node: Node) -> str:
    kind = status(model, node)
    cell = "".join(f"<p>{_text(line)}</p>" for line in explained(model, node))
    cell += "".join(f'<p class="note">{_text(_sentence(note))}</p>' for note in node.notes)
    cells = [_text(node.name[:LONGEST]), _text(_operator(node)), _text(" ".join(node.operators) or "-")]
    cells += [_text(str(node.level or "-")), _text(MARKS[kind][0]), cell]
    return f'<tr class="{kind}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


LONGEST = 200  # longest name that a page shows, in characters
