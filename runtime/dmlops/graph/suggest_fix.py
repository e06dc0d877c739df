"""Proposes a change to a graph for a violation, and makes sure that it helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from ..enums import FeatureLevel, TensorFlags
from ..suggest_fix import closest
from ..violation import Violation
from .drawing import tensor_text
from .model import Graph, InputEdge, IntermediateEdge
from .slots import Slot


@dataclass(frozen=True)
class Mended:
    """A graph without the violation, and what was changed."""

    change: str
    graph: Graph


def mended(graph: Graph, violation: Violation, level: FeatureLevel) -> Mended | None:
    """The first proposal after which the graph breaks fewer rules, and no longer this one there."""
    before = graph.validate(level)
    for one in _proposals(graph, violation, level):
        after = one.graph.validate(level)
        gone = all((other.rule, other.member) != (violation.rule, violation.member) for other in after)
        if gone and len(after) < len(before):
            return one
    return None


def _proposals(graph: Graph, violation: Violation, level: FeatureLevel) -> Iterator[Mended]:
    slot = _slot(graph, violation.member)
    match violation.rule.removeprefix("DML-GRAPH-"), slot:
        case "edge-size", Slot(is_input=True) as reader:
            yield from _same_size(graph, reader)
        case "owned-from-input", Slot(is_input=True) as reader:
            yield _with_flags(graph, reader, TensorFlags.NONE)
        case "owned-alike", Slot(is_input=True) as reader if reader.tensor is not None:
            other = TensorFlags.NONE if reader.tensor.Flags else TensorFlags.OWNED_BY_DML
            yield _with_flags(graph, reader, other)
        case "input-connected", Slot(is_input=True) as reader:
            yield from _connected(graph, reader)
        case "input-once", Slot(is_input=True) as reader:
            yield from _without_edges(graph, reader, 1)
        case "slot-present", Slot(is_input=True) as reader:
            yield from _without_edges(graph, reader, 0)
        case (rule, _) if rule.startswith("DML-") and violation.member.startswith("Nodes["):
            at = _number(violation.member)
            desc = graph.nodes[at].desc
            found = None if desc is None else closest(desc, level)
            if found is not None:
                label = graph.nodes[at].label(at)
                changes = ", ".join(f"{one.member} {_text(one.new)}" for one in found.changes)
                yield Mended(f"in {label}: {changes}", _with_desc(graph, at, found.desc))


def _number(path: str) -> int:
    return int(path.partition("[")[2].partition("]")[0])


def _text(value: Any) -> str:
    return "left out" if value is None else str(value)


def _slot(graph: Graph, member: str) -> Slot | None:
    """The slot that a path of a violation is about."""
    of_node = graph.slots[_number(member)] if member.startswith("Nodes[") else None
    every = (*of_node.inputs, *of_node.outputs) if of_node else ()
    return next((one for one in every if f"{member}.".startswith(f"{one.path}.")), None)


def _with_desc(graph: Graph, at: int, desc: Any) -> Graph:
    nodes = (*graph.nodes[:at], replace(graph.nodes[at], desc=desc), *graph.nodes[at + 1 :])
    return replace(graph, nodes=nodes)


def _with_tensor(graph: Graph, slot: Slot, **fields: Any) -> Graph:
    """The graph with other fields of one tensor."""
    desc: Any = slot.node.desc
    assert slot.tensor is not None
    tensor: Any = replace(slot.tensor, **fields)
    if slot.entry is not None:
        array = getattr(desc, slot.member)
        tensor = (*array[: slot.entry], tensor, *array[slot.entry + 1 :])
    return _with_desc(graph, slot.at, replace(desc, **{slot.member: tensor}))


def _with_flags(graph: Graph, slot: Slot, flags: TensorFlags) -> Mended:
    return Mended(f"{slot.label}.Flags: {flags.name}", _with_tensor(graph, slot, Flags=flags))


def _same_size(graph: Graph, reader: Slot) -> Iterator[Mended]:
    """Changes the tensor that is read to the form of the one written; if it has that form, the larger size of
    both."""
    for edge in graph.intermediate_edges:
        writer = graph.writer(edge)
        if edge[2:] != reader.place or not writer or not writer.tensor or not reader.tensor:
            continue
        form = {"DataType": writer.tensor.DataType, "Sizes": writer.tensor.Sizes}
        if any(getattr(reader.tensor, name) != value for name, value in form.items()):
            total = writer.tensor.TotalTensorSizeInBytes
            new = _with_tensor(
                graph, reader, **form, Strides=writer.tensor.Strides, TotalTensorSizeInBytes=total
            )
            change = f"{reader.label}: {tensor_text(writer.tensor)}, as it is written; outputs follow"
            yield Mended(change, _with_new_outputs(new, reader.at))
            continue
        for slot, other in ((reader, writer), (writer, reader)):
            assert other.tensor is not None
            size = other.tensor.size_in_bytes
            new = _with_tensor(graph, slot, TotalTensorSizeInBytes=size)
            yield Mended(f"{slot.label}.TotalTensorSizeInBytes: {size}", new)


def _with_new_outputs(graph: Graph, at: int) -> Graph:
    """The graph with the outputs of a node inferred again, where that is possible."""
    desc: Any = graph.nodes[at].desc
    outputs = {one.name: None for one in desc.MEMBERS if one.role == "output" and not one.optional}
    try:
        return _with_desc(graph, at, replace(desc, **outputs).infer())
    except ValueError:
        return graph


def _connected(graph: Graph, reader: Slot) -> Iterator[Mended]:
    """An edge from the value with the most similar name, from an input that nothing reads, or from an output
    that nothing reads and that has the same size."""
    to = reader.place
    name = graph.unwritten.get(to)
    names = {graph.input_label(at): InputEdge(at, *to) for at in range(len(graph.inputs))}
    inner = {value: IntermediateEdge(*at, *to) for at, value in graph.values.items()}
    for close in get_close_matches(name or "", [*names, *inner]):
        yield _joined(graph, close, reader, names.get(close) or inner[close])
    read = {edge.GraphInputIndex for edge in graph.input_edges}
    for at in range(len(graph.inputs)):
        if at not in read:
            yield _joined(graph, graph.input_label(at), reader, InputEdge(at, *to))
    joined = {edge[:2] for edge in (*graph.intermediate_edges, *graph.output_edges)}
    for of_node in graph.slots:
        for slot in of_node.outputs if of_node else ():
            if slot.place not in joined and slot.tensor is not None:
                yield _joined(graph, slot.label, reader, IntermediateEdge(*slot.place, *to))


def _joined(graph: Graph, label: str, reader: Slot, edge: InputEdge | IntermediateEdge) -> Mended:
    change = f"an edge from {label} to {reader.label}"
    if isinstance(edge, InputEdge):
        return Mended(change, replace(graph, input_edges=(*graph.input_edges, edge)))
    return Mended(change, replace(graph, intermediate_edges=(*graph.intermediate_edges, edge)))


def _without_edges(graph: Graph, reader: Slot, kept: int) -> Iterator[Mended]:
    """The graph with only the first edges to a tensor, so many of them."""
    left = kept
    edges: list[list[Any]] = []
    for all_edges in (graph.input_edges, graph.intermediate_edges):
        edges.append([])
        for edge in all_edges:
            if edge[-2:] != reader.place:
                edges[-1].append(edge)
            elif left:
                left -= 1
                edges[-1].append(edge)
    new = replace(graph, input_edges=tuple(edges[0]), intermediate_edges=tuple(edges[1]))
    yield Mended(f"only one edge to {reader.label}" if kept else f"no edge to {reader.label}", new)
