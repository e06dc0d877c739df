"""The drawing of a graph for the reference site: boxes in columns, and an edge for each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 190, 44  # of a box
_ACROSS, _DOWN = 250, 70  # from one box to the next
_MARGIN = 10


@dataclass(frozen=True)
class Box:
    """A node, or an input or output of the graph, with its place."""

    x: int
    y: int
    title: str
    text: str
    kind: str  # node, constant or end


@dataclass(frozen=True)
class Line:
    """An edge, from the right side of one box to the left side of another."""

    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True)
class Drawing:
    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def drawing(graph: Mapping[str, Any]) -> Drawing:
    """A graph by indices, drawn from left to right: each box is one column after all that lead to it."""
    nodes = graph["Nodes"]
    edges = [(("i", one["GraphInputIndex"]), ("n", one["ToNodeIndex"])) for one in graph["InputEdges"]]
    edges += [(("n", one["FromNodeIndex"]), ("n", one["ToNodeIndex"])) for one in graph["IntermediateEdges"]]
    edges += [(("n", one["FromNodeIndex"]), ("o", one["GraphOutputIndex"])) for one in graph["OutputEdges"]]
    titles = {("i", at): (f"Inputs[{at}]", "", "end") for at in range(graph["InputCount"])}
    for at, node in enumerate(nodes):
        kind = "constant" if "constant" in node else "node"
        text = (
            f"{node['constant']} bytes" if kind == "constant" else node["type"].removeprefix("DML_OPERATOR_")
        )
        titles["n", at] = (node.get("name", f"Nodes[{at}]"), text, kind)
    titles |= {("o", at): (f"Outputs[{at}]", "", "end") for at in range(graph["OutputCount"])}
    columns = dict.fromkeys(titles, 0)
    for _ in titles:  # the longest path is no longer than that
        for start, end in edges:
            columns[end] = max(columns[end], columns[start] + 1)
    rows: dict[int, int] = {}
    places: dict[tuple[str, int], tuple[int, int]] = {}
    for key, column in columns.items():
        row = rows.get(column, 0)
        rows[column] = row + 1
        places[key] = (_MARGIN + column * _ACROSS, _MARGIN + row * _DOWN)
    lines = (
        Line(places[a][0] + WIDTH, places[a][1] + HEIGHT // 2, places[b][0], places[b][1] + HEIGHT // 2)
        for a, b in dict.fromkeys(edges)
    )
    return Drawing(
        width=2 * _MARGIN + (max(columns.values()) + 1) * _ACROSS - (_ACROSS - WIDTH),
        height=2 * _MARGIN + max(rows.values()) * _DOWN - (_DOWN - HEIGHT),
        boxes=tuple(Box(*places[key], *titles[key]) for key in titles),
        lines=tuple(lines),
    )
