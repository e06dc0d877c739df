"""Graphs as the structs of the ABI, and what the C header says of them.

    python tests/c_graphs.py [COUNT]

Compares C with Python on random graphs, and prints those for which the two differ.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from c_declarations import struct_of
from c_library import GUARD, MOST, Buffer, Header, Violations, guarded, is_untouched
from dmlops import Description, FeatureLevel, Graph, GraphEdgeType, GraphNodeType, Violation
from random_graphs import random_graphs

Pointer = ctypes.c_void_p


Typed = struct_of("DML_GRAPH_NODE_DESC")  # or DML_GRAPH_EDGE_DESC


class Whole(struct_of("DML_GRAPH_DESC")):  # type: ignore[misc]
    """A graph, with what its addresses lead to, and beside it the descriptions of its operators."""

    nodes: Any
    edges: dict[str, Any]
    operators: Any
    alive: tuple[Any, ...]


def as_c(graph: Graph) -> Whole:
    """The structs of a graph; ValueError for a description that C structs cannot hold."""
    descs = [None if node.desc is None else node.desc.to_ctypes() for node in graph.nodes]
    nodes = [_node(node) for node in graph.nodes]
    whole = Whole(len(graph.inputs), len(graph.outputs), len(nodes))
    whole.nodes = (Typed * len(nodes))(*nodes)
    whole.Nodes = ctypes.addressof(whole.nodes)
    whole.operators = (Pointer * len(nodes))(
        *(None if one is None else ctypes.addressof(one) for one in descs)
    )
    kept: list[Any] = [descs, nodes]
    whole.edges = {}
    for name, type_, edges in (
        ("InputEdges", GraphEdgeType.INPUT, graph.input_edges),
        ("OutputEdges", GraphEdgeType.OUTPUT, graph.output_edges),
        ("IntermediateEdges", GraphEdgeType.INTERMEDIATE, graph.intermediate_edges),
    ):
        indices = [(ctypes.c_uint32 * 6)(*edge) for edge in edges]  # the indices, and a Name
        typed = [Typed(type_, ctypes.addressof(one)) for one in indices]
        whole.edges[name] = (Typed * len(typed))(*typed)
        setattr(whole, name, ctypes.addressof(whole.edges[name]))
        setattr(whole, f"{name.removesuffix('s')}Count", len(typed))
        kept.append(indices)
    whole.alive = tuple(kept)
    return whole


def _node(node: Any) -> Any:
    name = node.name.encode() or None
    if node.desc is not None:
        type_, desc = GraphNodeType.OPERATOR, struct_of("DML_OPERATOR_GRAPH_NODE_DESC")(1, name)
    else:
        type_ = GraphNodeType.CONSTANT
        desc = struct_of("DML_CONSTANT_DATA_GRAPH_NODE_DESC")(None, node.size, name)
    typed = Typed(type_, ctypes.addressof(desc))
    typed.alive = (desc, name)
    return typed


class Library(Header):
    """What the header says of graphs, in exactly the memory that it asks for."""

    def judge(self, graph: Whole, level: FeatureLevel, advice: bool) -> Violations:
        """The violations, or the advice, at a feature level."""
        function = self.call.dmlops_advise_on_graph if advice else self.call.dmlops_validate_graph
        work = self._work(graph)
        found = self.judged(function, ctypes.addressof(graph), graph.operators, level, work)
        assert is_untouched(work)
        return found

    def lowest(self, graph: Whole) -> int:
        """The lowest feature level that accepts a graph; 0 for none."""
        work = self._work(graph)
        found = self.call.dmlops_min_feature_level_of_graph(ctypes.addressof(graph), graph.operators, work)
        assert is_untouched(work)
        return int(found)

    def _work(self, graph: Whole) -> Any:
        return guarded(self.call.dmlops_graph_work(ctypes.addressof(graph), graph.operators))

    def to_json(self, graph: Whole) -> Any:
        """The graph as C writes it, read."""
        length = self.call.dmlops_graph_to_json(ctypes.addressof(graph), graph.operators, None, 0)
        text = ctypes.create_string_buffer(length + 1)
        arguments = (ctypes.addressof(graph), graph.operators, text, len(text))
        assert self.call.dmlops_graph_to_json(*arguments) == length
        return json.loads(text.value)

    def slots(self, desc: Description, outputs: bool, capacity: int) -> list[str]:
        """The number of slots, and those that fit: member, entry, dimensions, whether it is optional."""
        described, slots = desc.to_ctypes(), (struct_of("dmlops_slot") * capacity)()
        count = self.call.dmlops_slots(ctypes.addressof(described), outputs, slots, capacity)
        lines = [str(count)]
        for one in slots[: min(count, capacity)]:
            rank = Buffer.from_address(one.tensor).DimensionCount if one.tensor else -1
            lines.append(f"{one.member.decode()} {one.entry} {rank} {one.optional}")
        return lines

    def copy(self, desc: ctypes.Structure) -> Any:
        """The memory of a copy, which is not written if there is a byte too little."""
        place = ctypes.addressof(desc)
        memory = guarded(self.call.dmlops_copy(place, None, 0))
        size = len(memory) - len(GUARD)
        assert (
            self.call.dmlops_copy(place, memory, size - 1) == size
            and memory.raw == (GUARD * size)[: len(memory)]
        )
        assert self.call.dmlops_copy(place, memory, size) == size and is_untouched(memory)
        return memory


LEVELS = (FeatureLevel("2.0"), FeatureLevel("5.0"), *[max(FeatureLevel)] * 6)


@dataclass(frozen=True)
class Comparison:
    """Results of Python and C for a graph: violations, then advice, then the lowest level."""

    graph: Graph
    python: tuple[Violations, int]
    c: tuple[Violations, int]

    @property
    def agrees(self) -> bool:
        """Whether both say the same; C cuts what is longer than its buffers."""
        if self.python[1] != self.c[1] or len(self.python[0]) != len(self.c[0]):
            return False
        pairs = zip(self.python[0], self.c[0], strict=True)
        return all(a[:2] == b[:2] and _is_cut(a[2], b[2]) for a, b in pairs)


def _is_cut(whole: str, text: str) -> bool:
    return whole == text or (text.endswith("...") and whole.startswith(text[:-3]))


def compare(count: int, library: Library, seed: int = 1) -> Iterator[Comparison]:
    """Results of both for random graphs that C structs can hold."""
    for number, graph in enumerate(islice(random_graphs(seed), count)):
        level = LEVELS[number % len(LEVELS)]
        try:
            whole = as_c(graph)
        except ValueError:
            continue
        found = (*_tuples(graph.validate(level)), *_tuples(graph.advice(level)))
        lowest = (graph.min_feature_level() or 0) if number % 16 == 0 else 0
        in_c = (*library.judge(whole, level, False), *library.judge(whole, level, True))
        if len(found) <= MOST:
            lowest_in_c = library.lowest(whole) if number % 16 == 0 else 0
            yield Comparison(graph, (list(found), int(lowest)), (list(in_c), lowest_in_c))


def _tuples(found: Sequence[Violation]) -> Violations:
    return [(one.rule, one.member, one.message) for one in found]


def main(count: int) -> int:
    """Compares; 1 when something differs."""
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in compare(count, Library(Path(folder)), seed=2):
            if not one.agrees:
                differing += 1
                print(json.dumps({"graph": one.graph.to_json(), "python": one.python, "c": one.c}))
    print(f"{count} graphs, {differing} differ", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
