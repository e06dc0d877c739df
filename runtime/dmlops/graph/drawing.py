"""Graphs as Mermaid and DOT, with a box for each node and the sizes of tensors along the edges."""

from __future__ import annotations

from collections.abc import Iterator

from ..safe_text import cut
from ..tensor import TensorDesc
from .model import Graph
from .slots import Slot


def mermaid(graph: Graph) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for name, label, is_end in _boxes(graph):
        left, right = ("([", "])") if is_end else ("[", "]")
        lines.append(f"    {name}{left}{_mermaid_text(label)}{right}")
    for start, end, label in _arrows(graph):
        lines.append(f"    {start} -->{f'|{_mermaid_text(label)}|' if label else ''} {end}")
    return "\n".join(lines)


def dot(graph: Graph) -> str:
    """The graph in the language of Graphviz."""
    lines = ["digraph {"]
    for name, label, is_end in _boxes(graph):
        lines.append(f"    {name} [label={_dot_text(label)}, shape={'oval' if is_end else 'box'}];")
    for start, end, label in _arrows(graph):
        lines.append(f"    {start} -> {end}{f' [label={_dot_text(label)}]' if label else ''};")
    return "\n".join([*lines, "}"])


def _boxes(graph: Graph) -> Iterator[tuple[str, str, bool]]:
    """For each node, input and output: a name, the text, and whether it is one of the last two."""
    for at in range(len(graph.inputs)):
        yield f"i{at}", graph.input_label(at), True
    for at, node in enumerate(graph.nodes):
        what = f"constant, {node.size} bytes" if node.desc is None else node.desc.OPERATOR
        yield f"n{at}", f"{node.name}: {what}" if node.name else what, False
    for at in range(len(graph.outputs)):
        yield f"o{at}", graph.output_label(at), True


def _arrows(graph: Graph) -> Iterator[tuple[str, str, str]]:
    """For each edge: the names of its ends, and the sizes of its tensor."""
    for start in graph.input_edges:
        yield f"i{start.GraphInputIndex}", f"n{start.ToNodeIndex}", _text(graph.reader(start))
    for edge in graph.intermediate_edges:
        text = _text(graph.writer(edge)) or _text(graph.reader(edge))
        yield f"n{edge.FromNodeIndex}", f"n{edge.ToNodeIndex}", text
    for end in graph.output_edges:
        yield f"n{end.FromNodeIndex}", f"o{end.GraphOutputIndex}", _text(graph.writer(end))


def _text(slot: Slot | None) -> str:
    return "" if slot is None else tensor_text(slot.tensor)


def tensor_text(tensor: TensorDesc | None) -> str:
    """The data type and the sizes of a tensor, such as "FLOAT32 1x1x2x3"; empty for an absent one."""
    if tensor is None or not tensor.Sizes:
        return ""
    return f"{getattr(tensor.DataType, 'name', tensor.DataType)} {'x'.join(map(str, tensor.Sizes))}"


def _dot_text(text: str) -> str:
    return '"' + cut(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _mermaid_text(text: str) -> str:
    escaped = "".join(one if one.isalnum() or one in " _.,:-" else f"#{ord(one)};" for one in cut(text))
    return f'"{escaped}"'
