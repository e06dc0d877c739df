"""Checks graphs: first nodes, then the indices of edges, then what the edges join. Takes linear time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from ..data import registry_data
from ..enums import FeatureLevel, feature_level
from ..graph_rules import advise_on_edge, check_edge, check_input
from ..safe_text import nearest, shown
from ..violation import Violation, filled
from .model import Graph
from .ordering import order, writers_of
from .slots import Slot

SINCE = feature_level(registry_data()["graphs"]["since"])
CONSTANTS_SINCE = feature_level(registry_data()["graphs"]["constants_since"])
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
        writer, reader = graph.writer(edge), graph.reader(edge)
        assert writer and reader, "the graph is valid"
        advise_on_edge(writer, reader, found)
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
    nodes = ("node-range", len(graph.nodes))
    ranges = {
        "GraphInputIndex": ("input-range", len(graph.inputs)),
        "GraphOutputIndex": ("output-range", len(graph.outputs)),
        "FromNodeIndex": nodes,
        "ToNodeIndex": nodes,
    }
    for kind, edges in graph.edges.items():
        for number, edge in enumerate(edges):
            at = 0  # the node that comes before the index of its slot
            for field, index in edge._asdict().items():
                path = f"{kind}[{number}].{field}"
                if field in ranges:
                    at = index
                    rule, count = ranges[field]
                    if not 0 <= index < count:
                        found.append(violation(rule, path, value=index, count=count))
                    continue
                role = "inputs" if field == "ToNodeInputIndex" else "outputs"
                of_node = graph.slots[at] if 0 <= at < len(graph.nodes) else None
                count = 0 if of_node is None else len(getattr(of_node, role))
                if of_node is not None and not 0 <= index < count:
                    label = graph.nodes[at].label(at)
                    shown_ = {"value": index, "label": label, "count": count, "choices": role}
                    found.append(violation("slot-range", path, **shown_))


# Slots. All indices are in range, except those of nodes whose slots are unknown.


def _slots(graph: Graph, valid: list[bool], found: list[Violation]) -> None:
    """Checks that edges join tensors that are there, and that one leads to each tensor that is read."""
    for ends in chain(
        ([graph.reader(edge)] for edge in graph.input_edges),
        ([graph.writer(edge)] for edge in graph.output_edges),
        ([graph.writer(edge), graph.reader(edge)] for edge in graph.intermediate_edges),
    ):
        for slot in ends:
            if slot is not None and slot.tensor is None and valid[slot.at]:
                found.append(violation("slot-present", slot.path, label=slot.label))
    fed = Counter(edge[-2:] for edge in (*graph.input_edges, *graph.intermediate_edges))
    for of_node in graph.slots:
        for slot in of_node.inputs if of_node else ():
            if slot.tensor is not None and fed[slot.place] != 1:
                _connected(graph, slot, fed[slot.place], found)


def _connected(graph: Graph, slot: Slot, count: int, found: list[Violation]) -> None:
    """Reports a tensor to which not exactly one edge leads."""
    if count:
        found.append(violation("input-once", slot.path, label=slot.label, count=count))
        return
    assert slot.node.desc is not None, "constants have no inputs"
    one = violation("input-connected", slot.path, label=slot.label, operator=slot.node.desc.OPERATOR)
    name = graph.unwritten.get(slot.place)
    if name is not None:
        known = nearest(name, [*graph.inputs, *graph.values.values()])
        one = one.between("", f"; nothing writes {shown(name)}{known}")
    found.append(one)


# Pairs of tensors.


def _pairs(graph: Graph, valid: list[bool], found: list[Violation]) -> None:
    """Checks tensors that an edge joins, and tensors that read the same input of the graph."""
    for edge in graph.intermediate_edges:
        writer, reader = graph.writer(edge), graph.reader(edge)
        if writer and reader and writer.tensor and reader.tensor and valid[writer.at] and valid[reader.at]:
            check_edge(writer, reader, found)
    first: dict[int, Slot] = {}
    for start in graph.input_edges:
        slot = graph.reader(start)
        if slot and slot.tensor and valid[slot.at]:
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
            for slot in of_node.outputs:
                if slot.tensor is not None and not slot.is_optional and slot.place not in read:
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


def violation(rule: str, member: str, **shown: Any) -> Violation:
    """The violation of a rule without a condition, with the values that its message shows."""
    return filled(f"DML-GRAPH-{rule}", {**shown, "member": member})
