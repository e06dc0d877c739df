"""Graphs made of the valid descriptions in the matrices, most of them with a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import dmlops
from dmlops import Description, Graph, TensorFlags
from dmlops.graph import InputEdge, IntermediateEdge, Node, OutputEdge
from dmlops.graph.slots import slots
from random_descriptions import level_and_form, matrix_cases

_MOST_NODES = 8


@cache
def _descriptions() -> tuple[Description, ...]:
    """Descriptions that C structs can hold, most of them valid at the newest level."""
    cases = [case for case in matrix_cases() if case.get("form") != "json"]
    sample = (dmlops.from_json(level_and_form(case)[1]) for case in Random(5).sample(cases, 3000))
    return tuple(desc for desc in sample if not _is_miscounted(desc))


def _is_miscounted(desc: Description) -> bool:
    """Whether C would read past the end of an array."""
    arrays = [(getattr(desc, one.name), getattr(desc, one.count)) for one in desc.MEMBERS if one.count]
    return any(array is not None and len(array) != count for array, count in arrays)


def random_graphs(seed: int) -> Iterator[Graph]:
    """An endless sequence: edges join tensors of the same size where they can; then something changes."""
    choice = Random(seed)
    while True:
        graph = _graph(choice)
        for _ in range(choice.choice((0, 0, 1, 1, 2))):
            graph = _changed(choice, graph)
        yield graph


def _graph(choice: Random) -> Graph:
    nodes = [
        Node(choice.choice(_descriptions()), choice.choice(("", f"node {at}")))
        for at in range(choice.randrange(1, _MOST_NODES))
    ]
    if choice.random() < 0.5:
        nodes.insert(choice.randrange(len(nodes) + 1), Node(None, "", choice.choice((4, 4, 8, 24))))
    names = choice.randrange(1, 4)
    outer: list[InputEdge] = []
    inner: list[IntermediateEdge] = []
    ends: list[OutputEdge] = []
    written: dict[int, list[tuple[int, int]]] = {}
    for at, node in enumerate(nodes):
        of_node = slots(node, at)
        assert of_node is not None
        for number, slot in enumerate(of_node.inputs):
            if slot.tensor is not None:
                alike = choice.random() < 0.95
                every = [place for some in written.values() for place in some]
                writers = written.get(slot.tensor.size_in_bytes, []) if alike else every
                if writers and choice.random() < 0.7:
                    inner.append(IntermediateEdge(*choice.choice(writers), at, number))
                else:
                    outer.append(InputEdge(choice.randrange(names), at, number))
        for number, slot in enumerate(of_node.outputs):
            if slot.tensor is not None:
                written.setdefault(slot.tensor.size_in_bytes, []).append((at, number))
    read = {edge[:2] for edge in inner}
    for place in (one for some in written.values() for one in some):
        if place not in read and choice.random() < 0.9:
            ends.append(OutputEdge(*place, len(ends)))
    return Graph(tuple(nodes), ("",) * names, ("",) * len(ends), tuple(outer), tuple(ends), tuple(inner))


def _changed(choice: Random, graph: Graph) -> Graph:
    """The graph with an edge less, one more, one elsewhere, or another tensor."""
    kinds = ("input_edges", "output_edges", "intermediate_edges")
    kind = choice.choice(kinds)
    edges = list(getattr(graph, kind))
    what = choice.random()
    if what < 0.2:
        count = choice.choice((0, 1, 5))
        return replace(graph, **{choice.choice(("inputs", "outputs")): ("",) * count})
    if what < 0.4:
        return _with_tensor(choice, graph)
    if not edges:
        return graph
    at = choice.randrange(len(edges))
    if what < 0.55:
        del edges[at]
    elif what < 0.7:
        edges.append(edges[at])
    else:
        indices = list(edges[at])
        place = choice.randrange(len(indices))
        indices[place] = choice.choice((*range(6), (1 << 32) - 1))
        edges[at] = type(edges[at])(*indices)
    return replace(graph, **{kind: tuple(edges)})


def _with_tensor(choice: Random, graph: Graph) -> Graph:
    """Another flag or size of one tensor, or a tensor that is absent."""
    at = choice.randrange(len(graph.nodes))
    desc: Any = graph.nodes[at].desc
    of_node = graph.slots[at]
    assert of_node is not None
    if desc is None:
        other = replace(graph.nodes[at], size=graph.nodes[at].size + 4)
        return replace(graph, nodes=(*graph.nodes[:at], other, *graph.nodes[at + 1 :]))
    slot = choice.choice((*of_node.inputs, *of_node.outputs))
    if slot.entry is not None or slot.tensor is None:
        return graph
    tensor = choice.choice(
        (
            None,
            replace(slot.tensor, Flags=TensorFlags.OWNED_BY_DML),
            replace(slot.tensor, TotalTensorSizeInBytes=slot.tensor.size_in_bytes + 4),
        )
    )
    nodes = (
        *graph.nodes[:at],
        replace(graph.nodes[at], desc=replace(desc, **{slot.member: tensor})),
        *graph.nodes[at + 1 :],
    )
    return replace(graph, nodes=nodes)
