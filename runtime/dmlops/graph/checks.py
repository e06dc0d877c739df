"""Checks graphs: first nodes, then the indices of edges, then what the edges join. Takes linear time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from ..enums import FeatureLevel
from ..graph_rules import CONSTANTS_SINCE, SINCE, advise_on_edge, check_edge, check_input, violation
from ..safe_text import nearest, shown
from ..violation import Violation
from .model import Graph, InputEdge, IntermediateEdge, OutputEdge
from .ordering import order, writers_of
from .slots import Slot

_SHOWN_OF_CYCLE = 8  # most nodes of a cycle that a message lists


def violations(graph: Graph, level: FeatureLevel) -> list[Violation]:
    """The rules that a graph and its operators break."""
    if level < SINCE:
        return [violation("since", "Nodes", operator="a graph", since=SINCE, level=level)]
    found: list[Violation] = []
    valid = [_node(graph, at, level, found) for at in range(len(graph.nodes))]
    before = len(found)
    _indices(graph, found)
    if len(found) == before:
        _slots(graph, valid, found)
        _pairs(graph, valid, found)
        _cycle(graph, found)
    return found


def advice(graph: Graph, level: FeatureLevel) -> list[Violation]:
    """The advice that a valid graph draws."""
    if violations(graph, level):
        return []
    found: list[Violation] = []
    for at, node in enumerate(graph.nodes):
        if node.desc is not None:
            found += _within(graph, at, node.desc.advice(level))
    _liveness(graph, found)
    _ends(graph, found)
    for edge in graph.intermediate_edges:
        advise_on_edge(*_joined(graph, edge), found)
    return found


def _node(graph: Graph, at: int, level: FeatureLevel, found: list[Violation]) -> bool:
    """Checks a node by itself; whether its tensors can be relied on."""
    node = graph.nodes[at]
    if node.desc is not None:
        own = node.desc.validate(level)
        found += _within(graph, at, own)
        return not own
    if level < CONSTANTS_SINCE:
        path = f"Nodes[{at}].Type"
        found.append(violation("since", path, operator="a constant", since=CONSTANTS_SINCE, level=level))
    return True


def _within(graph: Graph, at: int, own: Iterable[Violation]) -> Iterator[Violation]:
    """The violations of an operator as those of the graph that contains it."""
    label = graph.nodes[at].label(at)
    return (replace(one, member=f"Nodes[{at}].{one.member}").between(f"{label}: ", "") for one in own)


# Indices.


def _indices(graph: Graph, found: list[Violation]) -> None:
    """Checks whether every edge joins things that exist."""
    for number, edge in enumerate(graph.input_edges):
        path = f"InputEdges[{number}]"
        _range("input-range", f"{path}.GraphInputIndex", edge.GraphInputIndex, len(graph.inputs), found)
        _reader(graph, path, edge, found)
    for number, ending in enumerate(graph.output_edges):
        path = f"OutputEdges[{number}]"
        _writer(graph, path, ending, found)
        _range("output-range", f"{path}.GraphOutputIndex", ending.GraphOutputIndex, len(graph.outputs), found)
    for number, joint in enumerate(graph.intermediate_edges):
        path = f"IntermediateEdges[{number}]"
        _writer(graph, path, joint, found)
        _reader(graph, path, joint, found)


def _range(rule: str, path: str, index: int, count: int, found: list[Violation]) -> bool:
    if 0 <= index < count:
        return True
    found.append(violation(rule, path, value=index, count=count))
    return False


def _reader(graph: Graph, path: str, edge: InputEdge | IntermediateEdge, found: list[Violation]) -> None:
    at, slot = edge.ToNodeIndex, edge.ToNodeInputIndex
    if _range("node-range", f"{path}.ToNodeIndex", at, len(graph.nodes), found):
        of_node = graph.slots[at]
        if of_node is not None:
            _slot_range(graph, at, f"{path}.ToNodeInputIndex", slot, len(of_node.inputs), "inputs", found)


def _writer(graph: Graph, path: str, edge: OutputEdge | IntermediateEdge, found: list[Violation]) -> None:
    at, slot = edge.FromNodeIndex, edge.FromNodeOutputIndex
    if _range("node-range", f"{path}.FromNodeIndex", at, len(graph.nodes), found):
        of_node = graph.slots[at]
        if of_node is not None:
            _slot_range(
                graph, at, f"{path}.FromNodeOutputIndex", slot, len(of_node.outputs), "outputs", found
            )


def _slot_range(
    graph: Graph, at: int, path: str, slot: int, count: int, which: str, found: list[Violation]
) -> None:
    if not 0 <= slot < count:
        label = graph.nodes[at].label(at)
        found.append(violation("slot-range", path, value=slot, label=label, count=count, choices=which))


# Slots. All indices are in range, except those of nodes whose slots are unknown.


def _input(graph: Graph, edge: InputEdge | IntermediateEdge) -> Slot | None:
    of_node = graph.slots[edge.ToNodeIndex]
    return None if of_node is None else of_node.inputs[edge.ToNodeInputIndex]


def _output(graph: Graph, edge: OutputEdge | IntermediateEdge) -> Slot | None:
    of_node = graph.slots[edge.FromNodeIndex]
    return None if of_node is None else of_node.outputs[edge.FromNodeOutputIndex]


def _joined(graph: Graph, edge: IntermediateEdge) -> tuple[Slot, Slot]:
    """The two slots of an edge between valid nodes."""
    writer, reader = _output(graph, edge), _input(graph, edge)
    assert writer is not None and reader is not None
    return writer, reader


def _slots(graph: Graph, valid: list[bool], found: list[Violation]) -> None:
    """Checks that edges join tensors that are there, and that one leads to each tensor that is read."""
    for ends in chain(
        ([_input(graph, edge)] for edge in graph.input_edges),
        ([_output(graph, edge)] for edge in graph.output_edges),
        ([_output(graph, edge), _input(graph, edge)] for edge in graph.intermediate_edges),
    ):
        for slot in ends:
            if slot is not None and slot.tensor is None and valid[slot.at]:
                found.append(violation("slot-present", slot.path, label=slot.label))
    fed = [[0] * (0 if one is None else len(one.inputs)) for one in graph.slots]
    edges: tuple[InputEdge | IntermediateEdge, ...] = (*graph.input_edges, *graph.intermediate_edges)
    for edge in edges:
        if fed[edge.ToNodeIndex]:
            fed[edge.ToNodeIndex][edge.ToNodeInputIndex] += 1
    for at, counts in enumerate(fed):
        for number, count in enumerate(counts):
            if count != 1:
                of_node = graph.slots[at]
                assert of_node is not None
                _connected(graph, of_node.inputs[number], number, count, found)


def _connected(graph: Graph, slot: Slot, number: int, count: int, found: list[Violation]) -> None:
    """Reports a tensor to which not exactly one edge leads, unless it is absent."""
    desc = slot.node.desc
    if slot.tensor is None or desc is None:
        return
    if count:
        found.append(violation("input-once", slot.path, label=slot.label, count=count))
        return
    one = violation("input-connected", slot.path, label=slot.label, operator=desc.OPERATOR)
    name = graph.unwritten.get((slot.at, number))
    if name is not None:
        known = nearest(name, [*graph.inputs, *graph.values.values()])
        one = one.between("", f"; nothing writes {shown(name)}{known}")
    found.append(one)


# Pairs of tensors.


def _pairs(graph: Graph, valid: list[bool], found: list[Violation]) -> None:
    """Checks tensors that an edge joins, and tensors that read the same input of the graph."""
    for edge in graph.intermediate_edges:
        if valid[edge.FromNodeIndex] and valid[edge.ToNodeIndex]:
            writer, reader = _joined(graph, edge)
            if writer.tensor is not None and reader.tensor is not None:
                check_edge(writer, reader, found)
    first: dict[int, Slot] = {}
    for start in graph.input_edges:
        slot = _input(graph, start) if valid[start.ToNodeIndex] else None
        if slot is not None and slot.tensor is not None:
            other = first.setdefault(start.GraphInputIndex, slot)
            if other is not slot:
                check_input(other, slot, found)


# The whole graph.


def _cycle(graph: Graph, found: list[Violation]) -> None:
    """Reports one cycle, if there is any."""
    taken, waiting = order(graph)
    if len(taken) == len(graph.nodes):
        return
    following: dict[int, int] = {}  # each remaining node has such an edge
    for edge in graph.intermediate_edges:
        if waiting[edge.ToNodeIndex]:
            following.setdefault(edge.FromNodeIndex, edge.ToNodeIndex)
    at = next(at for at, count in enumerate(waiting) if count)
    for _ in graph.nodes:  # after so many steps, it is in a cycle
        at = following[at]
    cycle = [at]
    while following[cycle[-1]] != at:
        cycle.append(following[cycle[-1]])
    start = cycle.index(min(cycle))
    cycle = [*cycle[start:], *cycle[:start]]
    labels = [graph.nodes[one].label(one) for one in [*cycle, cycle[0]][:_SHOWN_OF_CYCLE]]
    rest = " -> ..." if len(cycle) >= _SHOWN_OF_CYCLE else ""
    path, choices = f"Nodes[{cycle[0]}]", " -> ".join(labels) + rest
    found.append(violation("acyclic", path, label=labels[0], choices=choices))


def _liveness(graph: Graph, found: list[Violation]) -> None:
    """Advice on nodes on which no output depends, and on outputs of other nodes that nothing reads."""
    read = {(edge.FromNodeIndex, edge.FromNodeOutputIndex) for edge in graph.output_edges}
    live = [False] * len(graph.nodes)
    for at, _ in read:
        live[at] = True
    read |= {(edge.FromNodeIndex, edge.FromNodeOutputIndex) for edge in graph.intermediate_edges}
    writers = writers_of(graph)
    for at in order(graph)[0]:
        for writer in writers[at] if live[at] else ():
            live[writer] = True
    for at, node in enumerate(graph.nodes):
        of_node = graph.slots[at]
        if not live[at]:
            found.append(violation("dead-node", f"Nodes[{at}]", label=node.label(at)))
        elif of_node is not None and node.desc is not None:
            for number, slot in enumerate(of_node.outputs):
                if slot.tensor is not None and not slot.is_optional and (at, number) not in read:
                    shown_ = {"label": slot.label, "operator": node.desc.OPERATOR}
                    found.append(violation("output-connected", slot.path, **shown_))


def _ends(graph: Graph, found: list[Violation]) -> None:
    """Advice on the outputs and inputs of the graph."""
    fed = [0] * len(graph.outputs)
    for edge in graph.output_edges:
        fed[edge.GraphOutputIndex] += 1
    for at, count in enumerate(fed):
        if count == 0:
            found.append(violation("output-fed", f"Outputs[{at}]", label=graph.output_label(at)))
        elif count > 1:
            label = graph.output_label(at)
            found.append(violation("output-fed-once", f"Outputs[{at}]", label=label, count=count))
    read = {edge.GraphInputIndex for edge in graph.input_edges}
    for at in range(len(graph.inputs)):
        if at not in read:
            found.append(violation("input-unread", f"Inputs[{at}]", label=graph.input_label(at)))
