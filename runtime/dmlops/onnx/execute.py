"""Computes a model in NumPy, through its DirectML operators: slow, meant for comparison with ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..counterparts.tensors import Tensor
from ..enums import FeatureLevel, feature_level
from .graph import Graph
from .model import describe, whole
from .package import onnx


class NotRunnable(ValueError):
    """A node has no descriptions, or none that the level accepts; the message says which and why."""


def run(
    model: Any,
    inputs: Mapping[str, np.ndarray],
    level: FeatureLevel | str | None = None,
    dims: Mapping[str, int] | None = None,
) -> dict[str, np.ndarray]:
    """The outputs of an `onnx.ModelProto`, by name; each node in the form that is chosen for the level.

    Raises NotRunnable, Unreadable if it is not a valid model, and what `dmlops.reference.run` raises.
    """
    at = None if level is None else feature_level(level)
    model = whole(model, dims or {}, at)
    graph = Graph(model, model.graph)
    known = {one.name: plain(onnx.numpy_helper.to_array(one)) for one in model.graph.initializer}
    known |= {name: plain(array) for name, array in inputs.items()}
    for node in model.graph.node:
        graph.enter(node)
        told = describe(graph, node, at)
        if told.status == "host":
            values = {name: graph.values[name].array for name in node.output if name}
            if any(array is None for array in values.values()):
                raise NotRunnable(f"{told.operator} {told.name}: {told.reason}")
            known |= {name: plain(array) for name, array in values.items() if array is not None}
        elif told.status != "mapped" or told.plan is None or (at is not None and (told.level or at) > at):
            reason = told.reason or f"it needs feature level {told.level}"
            raise NotRunnable(f"{told.operator} {told.name}: {reason}")
        else:
            known |= told.plan.run(known)
    missing = [one.name for one in model.graph.output if one.name not in known]
    if missing:
        raise NotRunnable(f"{missing[0]} is written by no operator: its size depends on the data")
    return {one.name: shaped(graph.tensor(one.name), known[one.name]) for one in model.graph.output}


def plain(array: np.ndarray) -> np.ndarray:
    """An array as descriptions have it: booleans and 4-bit integers in 8 bits, at least one dimension."""
    array = np.asarray(array)
    other = {"bool": np.uint8, "uint4": np.uint8, "int4": np.int8}.get(array.dtype.name)
    array = array if other is None else array.astype(other)
    return array.reshape(1) if array.ndim == 0 else array


def shaped(tensor: Tensor, array: np.ndarray) -> np.ndarray:
    """An array as ONNX has it."""
    array = array.astype(bool) if tensor.truth else array
    return array.reshape(()) if tensor.scalar else array
