"""Fills in tensors that descriptions in a graph lack, from what the edges join them to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..enums import TensorFlags
from ..errors import InvalidDescription
from ..tensor import TensorDesc
from .model import Graph
from .ordering import order
from .slots import slots


def inferred(graph: Graph) -> Graph:
    """The graph with absent tensors filled in: what a node reads from what writes it, then its outputs.

    Nodes in a cycle stay as they are, and so do those whose outputs cannot be inferred. Raises
    InvalidDescription for an operator whose outputs can be inferred, but break a rule.
    """
    nodes = list(graph.nodes)
    written: dict[tuple[int, int], TensorDesc] = {}
    incoming = {(edge.ToNodeIndex, edge.ToNodeInputIndex): edge[:2] for edge in graph.intermediate_edges}
    for at in reversed(order(graph)[0]):
        desc: Any = nodes[at].desc
        of_node = graph.slots[at]
        if desc is None or of_node is None:
            continue
        read = {
            slot.member: _like(written[writer])
            for slot in of_node.inputs
            if slot.tensor is None and (writer := incoming.get(slot.place)) in written
        }
        desc = replace(desc, **read)
        try:
            desc = desc.infer()
        except InvalidDescription:
            raise
        except ValueError:
            pass
        nodes[at] = replace(nodes[at], desc=desc)
        of_node = slots(nodes[at], at)
        for slot in of_node.outputs if of_node else ():
            if slot.tensor is not None:
                written[slot.place] = slot.tensor
    return replace(graph, nodes=tuple(nodes))


def _like(tensor: TensorDesc) -> TensorDesc:
    """The tensor as the next operator reads it."""
    return replace(tensor, Flags=TensorFlags.NONE, GuaranteedBaseOffsetAlignment=0)
