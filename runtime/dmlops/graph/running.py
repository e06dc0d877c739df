"""Computes a graph, operator by operator.

The two tensors of an edge are the same bytes, which the operators can read differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..description import Description
from ..tensor import TensorDesc
from .model import Graph
from .ordering import order

Run = Callable[[Description, Mapping[str, Any]], dict[str, Any]]


def run(graph: Graph, inputs: Mapping[str, Any], operator: Run) -> dict[str, Any]:
    """The outputs of a graph by name, for arrays by name; "input0" or "output0" if it has no name.

    `operator` computes one. Raises ValueError for a graph that is invalid at the newest level, for a constant
    whose data is unknown, and for arrays that are missing or do not fit.
    """
    violations = graph.validate()
    if violations:
        raise ValueError(f"invalid graph: {'; '.join(map(str, violations))}")
    values: dict[tuple[int, int], tuple[Any, TensorDesc | None]] = {}  # inputs are outputs of node -1
    for at, name in enumerate(graph.inputs):
        name = name or f"input{at}"
        if name not in inputs:
            raise ValueError(f"{name} is missing from the inputs")
        values[-1, at] = (inputs[name], None)
    sources = {(edge.ToNodeIndex, edge.ToNodeInputIndex): edge[:2] for edge in graph.intermediate_edges}
    sources |= {(at, slot): (-1, number) for number, at, slot in graph.input_edges}
    for at in reversed(order(graph)[0]):
        node, of_node = graph.nodes[at], graph.slots[at]
        assert of_node is not None, "the graph is valid"
        if node.desc is None:
            if node.data is None:
                raise ValueError(f"the data of the constant {node.label(at)} is unknown")
            values[at, 0] = (node.data, None)
            continue
        arrays: dict[str, Any] = {}
        for slot in of_node.inputs:
            if slot.tensor is not None:
                array = _read(*values[sources[slot.place]], slot.tensor, slot.label)
                if slot.entry is None:
                    arrays[slot.member] = array
                else:
                    arrays.setdefault(slot.member, []).append(array)
        results = operator(node.desc, arrays)
        for slot in of_node.outputs:
            if slot.tensor is not None:
                result = results[slot.member]
                values[slot.place] = (result if slot.entry is None else result[slot.entry], slot.tensor)
    names = [name or f"output{at}" for at, name in enumerate(graph.outputs)]
    return {names[number]: values[at, slot][0] for at, slot, number in graph.output_edges}


def _read(array: Any, written_as: TensorDesc | None, tensor: TensorDesc, label: str) -> Any:
    """A tensor's array, from what was written: an input or a constant's bytes if `written_as` is None."""
    if written_as is None and isinstance(array, np.ndarray) and array.dtype == tensor.DataType.numpy:
        if array.shape == tensor.Sizes:
            return array
    elif written_as is not None and _is_same(written_as, tensor):
        return array
    from ..gpu.memory import array_of, buffer_size, tensor_bytes  # rarely needed, and slow to load

    if written_as is not None:
        data = bytes(tensor_bytes(label, written_as, array))
    else:
        data = array if isinstance(array, bytes) else np.ascontiguousarray(array).tobytes()
        if len(data) > tensor.size_in_bytes:
            raise ValueError(f"{label} has {tensor.size_in_bytes} bytes; {len(data)} are given")
    size = buffer_size(tensor)
    return array_of(tensor, bytearray(data[:size].ljust(size, b"\0")))


def _is_same(one: TensorDesc, other: TensorDesc) -> bool:
    alike = one.DataType == other.DataType and one.Sizes == other.Sizes
    return alike and one.element_strides == other.element_strides
