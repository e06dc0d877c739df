"""The requirements on bindings: the tensors of an operator, or those that a graph's inputs and outputs
join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..description import Description
from ..enums import TensorFlags
from ..graph import Graph, Node
from ..graph.slots import Slot, slots
from ..tensor import TensorDesc


@dataclass(frozen=True, slots=True)
class Requirement:
    """The requirements on the binding of a tensor; for an input of a graph, of all tensors that read it.

    `name` can be empty for a graph. `size` is the TotalTensorSizeInBytes, `alignment` the
    GuaranteedBaseOffsetAlignment. `in_place` says whether the operator can write an output to its range, and
    `alike` has the outputs whose elements have the same offsets.
    """

    name: str
    size: int = 0
    alignment: int = 0
    is_present: bool = False
    is_owned: bool = False
    in_place: bool = False
    alike: frozenset[int] = frozenset()


class Requirements(NamedTuple):
    inputs: tuple[Requirement, ...]
    outputs: tuple[Requirement, ...]


def of_operator(desc: Description) -> Requirements:
    """Those of the tensors of an operator. Raises ValueError if it has members of the wrong type."""
    found = slots(Node(desc), 0)
    if found is None:
        raise ValueError(f"{desc.OPERATOR} has members of the wrong type")
    outputs = [slot.tensor for slot in found.outputs]

    def requirement(slot: Slot) -> Requirement:
        in_place = slot.member in desc.IN_PLACE
        alike = [at for at, one in enumerate(outputs) if in_place and _is_alike(slot.tensor, one)]
        tensors = [] if slot.tensor is None else [slot.tensor]
        return _requirement(slot.name, tensors, in_place, frozenset(alike))

    return Requirements(
        tuple(map(requirement, found.inputs)),
        tuple(_requirement(slot.name, [slot.tensor] if slot.tensor else []) for slot in found.outputs),
    )


def of_graph(graph: Graph) -> Requirements:
    """Those of the inputs and outputs of a graph; edges that join nothing are ignored."""
    read: list[list[TensorDesc]] = [[] for _ in graph.inputs]
    written: list[list[TensorDesc]] = [[] for _ in graph.outputs]
    for edge in graph.input_edges:
        slot = graph.reader(edge)
        if slot and slot.tensor and 0 <= edge.GraphInputIndex < len(read):
            read[edge.GraphInputIndex].append(slot.tensor)
    for end in graph.output_edges:
        slot = graph.writer(end)
        if slot and slot.tensor and 0 <= end.GraphOutputIndex < len(written):
            written[end.GraphOutputIndex].append(slot.tensor)
    return Requirements(
        tuple(_requirement(name, read[at]) for at, name in enumerate(graph.inputs)),
        tuple(_requirement(name, written[at]) for at, name in enumerate(graph.outputs)),
    )


def _requirement(
    name: str, tensors: list[TensorDesc], in_place: bool = False, alike: frozenset[int] = frozenset()
) -> Requirement:
    return Requirement(
        name,
        max((one.size_in_bytes for one in tensors), default=0),
        max((one.GuaranteedBaseOffsetAlignment for one in tensors), default=0),
        bool(tensors),
        any(one.Flags & TensorFlags.OWNED_BY_DML for one in tensors),
        in_place,
        alike,
    )


def _is_alike(one: TensorDesc | None, other: TensorDesc | None) -> bool:
    """Whether the elements of two tensors have the same offsets."""
    if one is None or other is None or one.size_in_bytes != other.size_in_bytes:
        return False
    if one.Sizes != other.Sizes or one.DataType.bits != other.DataType.bits:
        return False
    steps = zip(one.Sizes, one.element_strides, other.element_strides, strict=True)
    return all(size == 1 or first == second for size, first, second in steps)
