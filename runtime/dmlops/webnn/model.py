"""A WebNN graph, operation by operation: its operands, and the descriptions of each operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import reference
from ..counterparts import Signature, operation
from ..counterparts.describe import Execute, Plan, inferred
from ..counterparts.node import Node, Nodes, NotRunnable, planned
from ..counterparts.tensors import Impossible, Tensor, Undecided, View
from ..enums import FeatureLevel, LevelLike, TensorDataType, feature_level
from ..safe_text import shown
from .operands import Unreadable, arguments, operand


@dataclass(frozen=True, slots=True)
class Model(Nodes):
    """A graph: its operations in order, and its tensors by name.

    `inputs` are the names of the tensors that no operation writes, constants among them, `values` the arrays
    that the graph itself gives for them, `outputs` the names of the results.
    """

    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    values: Mapping[str, np.ndarray]
    outputs: tuple[str, ...]


def read(graph: Any, level: LevelLike | None = None) -> Model:
    """Maps a graph, given in the JSON form of W3C's cases, to DirectML.

    Raises Unreadable if it has another form, and ValueError for a level that does not exist.
    """
    at = None if level is None else feature_level(level)
    if not isinstance(graph, Mapping) or not isinstance(graph.get("in"), Mapping):
        raise Unreadable("a graph has a mapping of its inputs, `in`")
    if not isinstance(graph.get("ops"), list | tuple):
        raise Unreadable("a graph has a list of its operations, `ops`")
    tensors: dict[str, Tensor] = {}
    values: dict[str, np.ndarray] = {}
    for name, given in graph["in"].items():
        tensors[name], array = operand(name, given)
        if array is not None:
            values[name] = array
    inputs = tuple(tensors)
    nodes = tuple(_node(given, tensors, at) for given in graph["ops"])
    read_by = {name for node in nodes for name in node.inputs}
    last = [name for node in nodes for name in node.outputs if name not in read_by]
    outputs = tuple(graph["out"]) if isinstance(graph.get("out"), Mapping | list | tuple) else tuple(last)
    for name in outputs:
        if name not in tensors:
            raise Unreadable(f"no operation writes the output {shown(name)}")
    return Model(nodes, at, tensors, inputs, values, outputs)


def run(
    graph: Any,
    arrays: Mapping[str, Any] | None = None,
    level: LevelLike | None = None,
    execute: Execute = reference.run,
) -> dict[str, np.ndarray]:
    """The outputs of a graph by name, each operation in the form that is chosen for the level.

    `arrays` are inputs, beside or instead of the values that the graph gives; 4-bit integers have 8 bits.
    `execute` computes a description, as `dmlops.reference.run` and `dmlops.gpu.run` do. Raises Unreadable,
    NotRunnable, ValueError for arrays that do not fit, and what `execute` raises.
    """
    model = read(graph, level)
    known = {**model.values, **{name: np.asarray(array) for name, array in (arrays or {}).items()}}
    for name in model.inputs:
        if name not in known:
            raise ValueError(f"the input {name} has no array")
        check(model.tensors[name], known[name])
        known[name] = known[name].reshape(model.tensors[name].decided_sizes)
    for node in model.nodes:
        known |= runnable(node, model.asked).run(known, execute)
    return {name: known[name].reshape(model.tensors[name].shape) for name in model.outputs}


def runnable(node: Node, at: FeatureLevel | None) -> Plan:
    """The descriptions of an operation. Raises NotRunnable if there are none that the level accepts."""
    if node.plan is None or not node.fits(at):
        raise NotRunnable(f"{node.operator}: {node.reason or f'it needs feature level {node.level}'}")
    return node.plan


def check(tensor: Tensor, array: Any) -> None:
    """Raises ValueError if an array is not one of the tensor."""
    wanted = TensorDataType[tensor.decided_type].numpy
    if array.dtype != wanted or array.shape != tensor.shape:
        found, shape = f"{array.dtype} of shape {list(array.shape)}", list(tensor.shape)
        raise ValueError(f"{tensor.name} is {found}; the graph has {wanted} of shape {shape}")


def _node(given: Any, tensors: dict[str, Tensor], at: FeatureLevel | None) -> Node:
    """One operation; its outputs are added to the tensors, with what is known of them."""
    if not isinstance(given, list | tuple) or len(given) != 3 or not isinstance(given[0], str):
        raise Unreadable(f"{shown(given)} is not [operation, arguments, names of outputs]")
    outputs = tuple(given[2]) if isinstance(given[2], list | tuple) else (given[2],)
    for name in outputs:
        if not isinstance(name, str) or name in tensors:
            raise Unreadable(f"{shown(name)} is not a new name, for an output of {given[0]}")
    node = Node(next(iter(outputs), ""), "", given[0], (), outputs, "impossible")
    made = {name: Tensor(name, None, None) for name in outputs}
    try:
        known = operation("webnn", given[0])
        if known is None or not known.operators:
            raise Impossible(f"WebNN has no operation {shown(given[0])}")
        (signature,) = known.signatures
        values = arguments(signature, given[1], tensors)
        node = replace(node, inputs=_operands(signature, values))
        made |= _infer(signature, values, outputs)
    except Undecided as error:
        node = replace(node, status="undecided", reason=str(error))
    except Impossible as error:
        node = replace(node, reason=str(error))
    else:
        node = planned(node, signature, lambda: values, at)
        node = replace(node, notes=(*node.notes, known.note) if known.note else node.notes)
    tensors |= made
    return node


def _operands(signature: Signature, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a node's operands, "" for those left out."""
    given = [values[name.rstrip("?*")] for name in signature.inputs]
    flat = [view for one in given for view in (one if isinstance(one, list) else [one])]
    return tuple("" if view is None else view.tensor.name for view in flat)


def _infer(signature: Signature, values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Tensor]:
    """The outputs with data type and shape, by name; adds views of them to the values.

    Raises Undecided, and Impossible if the arguments do not fit each other.
    """
    found: dict[str, Tensor] = {}
    left = list(names)
    for formal in signature.outputs:
        output = formal.rstrip("?*")
        if not left and formal.endswith("?"):
            values[output] = None
            continue
        type_, sizes = inferred(signature, output, values)
        shapes = sizes if formal.endswith("*") else [sizes]
        if len(left) < len(shapes):
            raise Impossible(f"it has {len(shapes)} outputs, not {len(names)}")
        made = [Tensor.of(left.pop(0), type_, shape) for shape in shapes]
        found |= {tensor.name: tensor for tensor in made}
        values[output] = [View(one) for one in made] if formal.endswith("*") else View(made[0])
    if left:
        raise Impossible(f"it has {len(found)} outputs, not {len(names)}")
    return found
