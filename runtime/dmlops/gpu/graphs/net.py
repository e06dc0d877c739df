"""A graph as it is compiled: its operators in order, and where each tensor that they read comes from.

Passes replace operators and redirect reads; indices of nodes stay those of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from math import prod
from typing import NamedTuple

from ...description import Description
from ...graph import Graph, Node
from ...graph.ordering import writers_of
from ...graph.slots import Slot, Slots, slots
from ...paths import path_of, put_all
from ...tensor import TensorDesc
from ..memory import buffer_size
from ..planner_inputs import planner_of
from ..plans.operands import NONE
from ..work import Work
from .arena import Lifetime, least
from .shaders import Shader, shader_of

FARTHEST = 12  # operators that one may be moved before, to overlap with others
INPUTS = -1  # the node to which the inputs of the graph belong


class Port(NamedTuple):
    """An input of the graph in the layout in which some of its readers see it; its bytes as they are if
    `tensor` is None."""

    name: str
    tensor: TensorDesc | None
    size: int


class Source(NamedTuple):
    """The output of a node, or a port if the node is INPUTS, from `offset` bytes on."""

    node: int
    slot: int
    offset: int = 0


class Chain(NamedTuple):
    """Element-wise operators, perhaps behind another one, in place of the last of them: what they read, by
    name, and the shader of each dispatch. The output may take over the memory of inputs in `in_place`."""

    operators: tuple[str, ...]
    inputs: tuple[tuple[str, TensorDesc, Source], ...]
    in_place: tuple[str, ...]
    work: Work
    shaders: tuple[Shader, ...]


@dataclass
class Net:
    """`order` are the operators that lead to an output, each after those that it reads from.

    `reads` has the source of each input slot of a node, and `ends` the source of each output of the graph,
    with its layout. `labels` name the nodes. `chains` are those that stand in place of a node. `places` has
    tensors that lie within others, and `placed` the inputs that a node need not copy, since they lie within
    its output.
    """

    graph: Graph
    ports: list[Port]
    order: list[int]
    descs: dict[int, Description]
    labels: list[str]
    reads: dict[tuple[int, int], Source]
    ends: list[tuple[Source, TensorDesc]]
    chains: dict[int, Chain] = field(default_factory=dict)
    places: dict[tuple[int, int], Source] = field(default_factory=dict)
    placed: dict[int, frozenset[str]] = field(default_factory=dict)
    _slots: dict[int, tuple[Description, Slots]] = field(default_factory=dict)  # as last asked for

    @classmethod
    def of(cls, graph: Graph, packed: bool = False) -> Net:
        """The operators of a graph. Raises ValueError if it is invalid at the newest level.

        An input is an array in the layout of the tensor that reads it, and an output in that of the tensor
        that was written, as for `dmlops.reference.run`; `packed`: both are elements as they are stored in
        memory, regardless of strides.
        """
        violations = graph.validate()
        if violations:
            raise ValueError(f"invalid graph: {'; '.join(map(str, violations))}")
        reads = {
            (edge.ToNodeIndex, edge.ToNodeInputIndex): Source(*edge[:2]) for edge in graph.intermediate_edges
        }
        ports: dict[tuple[int, TensorDesc | None], Port] = {}
        for number, at, slot in graph.input_edges:
            of_node = graph.slots[at]
            assert of_node is not None, "the graph is valid"
            tensor = of_node.inputs[slot].given
            is_plain = tensor.DataType.bits >= 8 and (
                packed or tensor.element_strides == replace(tensor, Strides=None).element_strides
            )
            key = number, None if is_plain else tensor
            name = graph.inputs[number] or f"input{number}"
            size = max(buffer_size(tensor), ports[key].size if key in ports else 0)
            ports[key] = Port(name, key[1], size)
            reads[at, slot] = Source(INPUTS, list(ports).index(key))
        ends: dict[int, tuple[Source, TensorDesc]] = {}
        for at, slot, number in graph.output_edges:
            of_node = graph.slots[at]
            assert of_node is not None, "the graph is valid"
            ends[number] = Source(at, slot), _end(of_node.outputs[slot], packed)
        descs = {at: node.desc for at, node in enumerate(graph.nodes) if node.desc is not None}
        labels = [
            node.name or (node.desc.OPERATOR if node.desc else "") + f" {at}"
            for at, node in enumerate(graph.nodes)
        ]
        order = [at for at in _alive(graph) if at in descs]
        return cls(
            graph,
            list(ports.values()),
            order,
            descs,
            labels,
            reads,
            [ends[number] for number in sorted(ends)],
        )

    def slots(self, at: int) -> Slots:
        """The tensors of a node, which passes may have replaced."""
        desc = self.descs[at]
        if at not in self._slots or self._slots[at][0] is not desc:
            found = slots(Node(desc, self.labels[at]), at)
            assert found is not None, "descriptions are valid"
            self._slots[at] = desc, found
        return self._slots[at][1]

    def inputs(self, at: int) -> Iterator[tuple[int, str, TensorDesc, Source]]:
        """The tensors that a node reads: slot, name, layout and source."""
        if at in self.chains:
            yield from ((number, *one) for number, one in enumerate(self.chains[at].inputs))
            return
        for number, slot in enumerate(self.slots(at).inputs):
            if slot.tensor is not None:
                yield number, slot.name, slot.tensor, self.reads[at, number]

    def outputs(self, at: int) -> Iterator[tuple[int, str, TensorDesc]]:
        """The tensors that a node writes: slot, name and layout."""
        for number, slot in enumerate(self.slots(at).outputs):
            if slot.tensor is not None:
                yield number, slot.name, slot.tensor

    def located(self, source: Source) -> Source:
        """The source in the outermost tensor that it is part of; none is part of itself, so this ends."""
        while source[:2] in self.places:
            whole = self.places[source[:2]]
            source = whole._replace(offset=whole.offset + source.offset)
        return source

    def in_place(self, at: int, work: Work) -> tuple[str, ...]:
        """The inputs whose memory the output of a node may take over."""
        if at in self.chains:
            return self.chains[at].in_place
        return () if work.scratch else self.descs[at].IN_PLACE

    def shaders(self, at: int, work: Work) -> Sequence[Shader]:
        """The shaders of a node's dispatches."""
        if at in self.chains:
            return self.chains[at].shaders
        return [shader_of(self.descs[at].OPERATOR, one) for one in work.dispatches]

    def least_bytes(self) -> int:
        """The least memory that tensors take if each is there from its first use to its last; those between
        two element-wise operators take none."""
        readers = self.readers()
        uses: dict[tuple[int, int], list[int]] = {}
        sizes: dict[tuple[int, int], int] = {}
        for step, at in enumerate(self.order):
            used = [(tensor, source) for *_, tensor, source in self.inputs(at)]
            used += [(tensor, Source(at, number)) for number, _, tensor in self.outputs(at)]
            for tensor, source in used:
                whole = self.located(source)
                uses.setdefault(whole[:2], []).append(step)
                sizes[whole[:2]] = max(sizes.get(whole[:2], 0), whole.offset + buffer_size(tensor))
        kept = {source[:2] for source, _ in self.ends}

        def takes_memory(key: tuple[int, int]) -> bool:
            if key[0] not in self.descs:
                return key[0] == INPUTS  # or else a constant
            around = [key[0], *(reader for reader, _ in readers.get(key, []))]
            return len(around) != 2 or not all(self.is_element_wise(at) for at in around)

        return least(
            Lifetime(sizes[key], steps[0], len(self.order) if key in kept else steps[-1])
            for key, steps in uses.items()
            if takes_memory(key)
        )

    def is_element_wise(self, at: int) -> bool:
        """Whether each element that a node writes is computed from those at the same coordinate."""
        desc = self.descs[at]
        planner = planner_of(desc.OPERATOR)
        if planner.shader is None or planner.shader.map.over == NONE or planner.shader.map.is_gathered:
            return False
        return not any(member.count for member in desc.MEMBERS if member.type == "tensor")

    def readers(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """For each tensor that nodes write, the nodes and slots that read it."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for at in self.order:
            for number, _, _, source in self.inputs(at):
                found.setdefault(source[:2], []).append((at, number))
        return found


def phases(net: Net) -> dict[int, int]:
    """The phase of each operator, such that those of one phase can overlap: the first after all that it reads
    from. None comes before many that precede it, since what is computed early takes memory for longer."""
    found: dict[int, int] = {}
    passed = [0]  # the last phase of the operators so far
    for place, at in enumerate(net.order):
        after = [found[source.node] + 1 for *_, source in net.inputs(at) if source.node in found]
        found[at] = max([passed[max(place - FARTHEST, 0)], *after])
        passed.append(max(passed[-1], found[at]))
    return found


def _end(slot: Slot, packed: bool) -> TensorDesc:
    """The tensor as which an output of the graph is read."""
    tensor = slot.given
    if slot.is_constant:
        return TensorDesc("UINT8", (slot.node.size,))
    return TensorDesc(tensor.DataType, (prod(tensor.Sizes),)) if packed and tensor.Strides else tensor


def with_tensors(desc: Description, tensors: Mapping[str, TensorDesc]) -> Description:
    """The description with other tensors, by their names, such as "InputTensors[1]"."""
    return put_all(desc, {path_of(name): tensor for name, tensor in tensors.items()})


def _alive(graph: Graph) -> list[int]:
    """The nodes that lead to an output, in the graph's own order as far as edges allow, since that is how a
    model's author keeps few tensors alive. (Kahn's algorithm with a heap of the nodes that are ready: each
    edge is removed once, and the graph has no cycle.)
    """
    writers = writers_of(graph)
    alive: set[int] = set()
    waiting = [edge.FromNodeIndex for edge in graph.output_edges]
    while waiting:
        at = waiting.pop()
        if at not in alive:
            alive.add(at)
            waiting += writers[at]
    left = {at: len(writers[at]) for at in alive}
    followers: dict[int, list[int]] = {at: [] for at in alive}
    for at in alive:
        for writer in writers[at]:
            followers[writer].append(at)
    ready = [at for at in alive if not left[at]]
    heapify(ready)
    found: list[int] = []
    while ready:
        at = heappop(ready)
        found.append(at)
        for follower in followers[at]:
            left[follower] -= 1
            if not left[follower]:
                heappush(ready, follower)
    return found
