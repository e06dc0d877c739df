"""The order of a graph's nodes."""

from __future__ import annotations

from .model import Graph


def order(graph: Graph) -> tuple[list[int], list[int]]:
    """The nodes, each after all that read what it writes, without those from which a cycle is reached.

    Also, for each node, the number of its edges to nodes that are not in this order. All indices must be in
    range. (Kahn's algorithm, from the last nodes: an edge is followed once, when the node that it leads to is
    taken.)
    """
    waiting = [0] * len(graph.nodes)
    writers = writers_of(graph)
    for edge in graph.intermediate_edges:
        waiting[edge.FromNodeIndex] += 1
    taken = [at for at, count in enumerate(waiting) if count == 0]
    for at in taken:  # grows
        for writer in writers[at]:
            waiting[writer] -= 1
            if waiting[writer] == 0:
                taken.append(writer)
    return taken, waiting


def writers_of(graph: Graph) -> list[list[int]]:
    """For each node, those whose outputs it reads, once for each edge."""
    writers: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.intermediate_edges:
        writers[edge.ToNodeIndex].append(edge.FromNodeIndex)
    return writers
