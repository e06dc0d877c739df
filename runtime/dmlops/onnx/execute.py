"""Computes a model through its DirectML operators; shapes and values are those of the arrays at hand.

What the host does for a real model, it does here: constants, shapes and arithmetic on them, and control flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import reference
from ..counterparts.describe import Execute, Plan, Work
from ..counterparts.node import NotRunnable
from ..counterparts.tensors import LARGEST, Tensor, View
from ..enums import FeatureLevel, LevelLike, feature_level
from .graph import Graph, attribute, branches, constant, is_op, load, read_names, subgraph
from .model import describe, whole
from .package import onnx

FEW = 64  # most floating-point numbers that the host reads to decide something


def run(
    source: Any,
    inputs: Mapping[str, Any],
    level: LevelLike | None = None,
    dims: Mapping[str, int] | None = None,
    execute: Execute = reference.run,
) -> dict[str, np.ndarray]:
    """The outputs of a model, a file's path or an `onnx.ModelProto`, by name, given an array for each input.

    Dimensions are those of the arrays. Each node runs in the form that is chosen for the level; `execute`
    computes a description, as `dmlops.reference.run` and `dmlops.gpu.run` do. Raises NotRunnable, Unreadable
    if it is not a valid model, ValueError for an input without an array, OSError if a file cannot be read,
    and what `execute` raises.
    """
    at = None if level is None else feature_level(level)
    arrays = {name: np.asarray(array) for name, array in inputs.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    model = whole(load(source, data=True), dims or {}, at, shapes)
    given = {one.name for one in model.graph.initializer}
    for one in model.graph.input:
        if one.name not in arrays and one.name not in given:
            raise ValueError(f"the input {one.name} has no array")
    results = Runner(model, at, execute).block(model.graph, None, {}, arrays)
    return {one.name: array for one, array in zip(model.graph.output, results, strict=True)}


class Runner:
    """Runs the nodes of a model's graphs; arrays are kept as descriptions have them."""

    def __init__(self, model: Any, at: FeatureLevel | None, execute: Execute) -> None:
        self.model = model
        self.at = at
        self.execute = execute

    def block(
        self,
        block: Any,
        outer: Graph | None,
        around: Mapping[str, np.ndarray],
        inputs: Mapping[str, np.ndarray],
    ) -> list[np.ndarray]:
        """The outputs of a graph or subgraph, as ONNX has them; `around` are the arrays outside of it."""
        graph = Graph(self.model, block, outer)
        arrays = dict(around)
        arrays |= {one.name: plain(onnx.numpy_helper.to_array(one)) for one in block.initializer}
        for name, array in inputs.items():
            graph.put(name, array)
            arrays[name] = plain(self.given(array))
        kept = {*around, *(one.name for one in block.output)}
        left = Counter(name for node in block.node for name in read_names(node))
        for node in block.node:
            self.node(graph, node, arrays)
            for name in read_names(node):
                left[name] -= 1
                if left[name] == 0 and name not in kept:
                    arrays.pop(name, None)  # nothing reads it any more
        for one in block.output:
            if one.name not in arrays:
                raise NotRunnable(f"{one.name} is written by no operator: its size depends on the data")
        return [shaped(graph.tensor(one.name), arrays[one.name]) for one in block.output]

    def given(self, array: Any) -> Any:
        """An input of a graph or subgraph."""
        return array

    def compute(self, name: str, plan: Plan, arrays: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs of a node, by tensor."""
        return plan.run(arrays, self.execute)

    def node(self, graph: Graph, node: Any, arrays: dict[str, np.ndarray]) -> None:
        """Computes one node; its outputs are added to the arrays and to what the graph knows."""
        results: Sequence[np.ndarray | None]
        if is_op(node, "If"):
            taken = branches(node)[0 if arrays[node.input[0]].item() else 1]
            results = self.block(taken, graph, arrays, {})
        elif is_op(node, "Loop"):
            results = self.loop(graph, node, arrays)
        elif is_op(node, "Scan"):
            results = self.scan(graph, node, arrays)
        elif is_op(node, "NonZero"):
            results = self.nonzero(graph, node, arrays)
        elif is_op(node, "Constant"):
            graph.enter(node)
            results = [constant(node)]
        else:
            results = self.computed(graph, node, arrays)
        for name, array in zip(node.output, results, strict=False):
            if name and array is not None:
                graph.put(name, array)
                arrays[name] = plain(array)

    def computed(self, graph: Graph, node: Any, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray | None]:
        """The outputs of a node with an operator, or of one that the host computes from a few numbers.

        None for those that are left out.
        """
        graph.enter(node)
        made = describe(graph, node, self.at)
        if made.status != "host" and not made.fits(self.at) and self.reveal(graph, node, arrays):
            graph.enter(node)
            made = describe(graph, node, self.at)
        found: Mapping[str, np.ndarray] = {}
        if made.plan is not None and made.fits(self.at):
            found = self.compute(made.name, made.plan, arrays)
        elif any(name and graph.value(name) is None for name in node.output):
            reason = made.reason or f"it needs feature level {made.level}"
            raise NotRunnable(f"{made.operator} {made.name}: {reason}")
        return [
            shaped(graph.tensor(name), found[name]) if name in found else graph.value(name)
            for name in node.output
        ]

    def reveal(self, graph: Graph, node: Any, arrays: Mapping[str, np.ndarray]) -> bool:
        """Lets the host read inputs that decide what a node does: integers and a few other numbers."""
        found = False
        for name in node.input:
            array = arrays.get(name)
            if array is None or graph.values[name].array is not None:
                continue
            if array.size <= (LARGEST if array.dtype.kind in "iu" else FEW):
                graph.values[name].array = shaped(graph.tensor(name), np.asarray(array))
                found = True
        return found

    def nonzero(
        self, graph: Graph, node: Any, arrays: Mapping[str, np.ndarray]
    ) -> Sequence[np.ndarray | None]:
        """ONNX's NonZero: coordinates in columns, of which the host reads how many there are."""
        graph.enter(node)
        made = describe(graph, node, self.at)
        if made.plan is None or not made.fits(self.at):
            return self.computed(graph, node, arrays)
        (work,) = made.plan.work
        views = dict(work.views)
        members = ("OutputCountTensor", "OutputCoordinatesTensor")
        names = [f"{made.name}, {member}" for member in members]
        for member, name in zip(members, names, strict=True):
            view = views[member]
            assert isinstance(view, View)
            views[member] = View(replace(view.tensor, name=name, inner=False))
        found = self.compute(made.name, Plan((Work(work.desc, views),)), arrays)
        count, coordinates = (np.asarray(found[name]) for name in names)
        return [coordinates[: count.item()].T.astype(np.int64)]

    def loop(self, graph: Graph, node: Any, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """ONNX's Loop: its states at the end, then what each turn appends, stacked."""
        body = subgraph(node, "body")
        most, condition, *names = [*node.input, "", ""][: max(2, len(node.input))]
        turns = arrays[most].item() if most else None
        going = bool(arrays[condition].item()) if condition else True
        states = [shaped(graph.tensor(name), arrays[name]) for name in names]
        rows: list[list[np.ndarray]] = []
        while going and (turns is None or len(rows) < turns):
            given = (np.array(len(rows), np.int64), np.array(going), *states)
            inputs = {one.name: array for one, array in zip(body.input, given, strict=True)}
            condition_, *results = self.block(body, graph, arrays, inputs)
            going, states = bool(condition_), results[: len(states)]
            rows.append(results[len(states) :])
        count = len(body.output) - 1 - len(states)
        return [*states, *(_stacked([row[column] for row in rows]) for column in range(count))]

    def scan(self, graph: Graph, node: Any, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """ONNX's Scan, since version 9 of the operator set: its states at the end, then stacked results."""
        body = subgraph(node, "body")
        options = {one.name: attribute(one) for one in node.attribute}
        count = options["num_scan_inputs"]
        given = [shaped(graph.tensor(name), arrays[name]) for name in node.input]
        states, scanned = given[:-count], given[-count:]
        outputs = len(body.output) - len(states)

        def each(name: str, many: int) -> Sequence[int]:
            return options.get(name) or [0] * many

        axes, backward = each("scan_input_axes", count), each("scan_input_directions", count)
        moved = [np.moveaxis(array, axis, 0) for array, axis in zip(scanned, axes, strict=True)]
        moved = [array[::-1] if back else array for array, back in zip(moved, backward, strict=True)]
        rows: list[list[np.ndarray]] = []
        for slices in zip(*moved, strict=True):
            inputs = {one.name: array for one, array in zip(body.input, (*states, *slices), strict=True)}
            results = self.block(body, graph, arrays, inputs)
            states = results[: len(states)]
            rows.append(results[len(states) :])
        axes, backward = each("scan_output_axes", outputs), each("scan_output_directions", outputs)
        columns = [[row[column] for row in rows] for column in range(outputs)]
        columns = [column[::-1] if back else column for column, back in zip(columns, backward, strict=True)]
        return [*states, *(_stacked(column, axis) for column, axis in zip(columns, axes, strict=True))]


def _stacked(rows: Sequence[np.ndarray], axis: int = 0) -> np.ndarray:
    if not rows:
        raise NotRunnable("a loop without turns gives tensors without elements")
    return np.stack(rows, axis)


def plain(array: np.ndarray) -> np.ndarray:
    """An array as descriptions have it: booleans and 4-bit integers in 8 bits, at least one dimension."""
    array = array if hasattr(array, "dtype") else np.asarray(array)
    other = {"bool": np.uint8, "uint4": np.uint8, "int4": np.int8}.get(array.dtype.name)
    array = array if other is None else array.astype(other)
    return array.reshape(1) if array.ndim == 0 else array


def shaped(tensor: Tensor, array: np.ndarray) -> np.ndarray:
    """An array as ONNX has it."""
    array = array.astype(bool) if tensor.truth else array
    return array.reshape(()) if tensor.scalar else array
