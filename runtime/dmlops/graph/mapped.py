"""Graphs of what the nodes of an ONNX model, or of another interface's graph, are mapped to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..counterparts.describe import Plan
from ..counterparts.tensors import View
from ..enums import LevelLike, feature_level
from .model import Graph, InputEdge, IntermediateEdge, Node, OutputEdge
from .slots import slots

Source = tuple[int, int]  # a node and its output, or -1 and an input of the graph


class NotMapped(ValueError):
    """A node has no descriptions; the message says which and why."""


def from_onnx(source: Any, level: LevelLike | None = None, dims: Mapping[str, int] | None = None) -> Graph:
    """The graph of a model, given as a file's path or as an `onnx.ModelProto`: see Graph.from_onnx."""
    from ..onnx.graph import Graph as Known
    from ..onnx.graph import load
    from ..onnx.model import describe, whole

    at = None if level is None else feature_level(level)
    model = whole(load(source) if isinstance(source, str) else source, dims or {}, at)
    known = Known(model, model.graph)
    plans: list[Plan] = []
    arrays: dict[str, np.ndarray] = {}
    for node in model.graph.node:
        known.enter(node)
        described = describe(known, node, at)
        if described.status == "host":
            values = {name: known.values[name].array for name in node.output if name}
            arrays |= {name: array for name, array in values.items() if array is not None}
        elif described.status == "mapped" and described.plan is not None:
            plans.append(described.plan)
        else:
            raise NotMapped(f"{described.operator} {described.name}: {described.reason}")
    inputs = [*(one.name for one in model.graph.input), *(one.name for one in model.graph.initializer)]
    return from_plans(plans, list(dict.fromkeys(inputs)), [one.name for one in model.graph.output], arrays)


def from_webnn(graph: Any, level: LevelLike | None = None) -> Graph:
    """The graph of a WebNN graph in the form of W3C's cases: see Graph.from_webnn."""
    from .. import webnn

    model = webnn.read(graph, level)
    plans: list[Plan] = []
    for node in model.nodes:
        if node.plan is None:
            raise NotMapped(f"{node.operator}: {node.reason}")
        plans.append(node.plan)
    return from_plans(plans, model.inputs, model.outputs, {})


def from_plans(
    plans: Iterable[Plan], inputs: Sequence[str], outputs: Sequence[str], arrays: Mapping[str, np.ndarray]
) -> Graph:
    """The graph of descriptions, in their order.

    `inputs` are the names of tensors that nothing writes, and `arrays` the contents of others that become
    constants. Inputs that nothing reads are left out. Raises NotMapped for a tensor that is none of these.
    """
    made = _Made(inputs, arrays)
    for number, plan in enumerate(plans):
        for work in plan.work:
            made.add(number, work.desc, work.views)
    return made.graph(outputs)


class _Made:
    """The graph as far as it is made."""

    def __init__(self, inputs: Sequence[str], arrays: Mapping[str, np.ndarray]) -> None:
        self._names, self._arrays = inputs, arrays
        self._inputs: list[str] = []
        self._nodes: list[Node] = []
        self._input_edges: list[InputEdge] = []
        self._edges: list[IntermediateEdge] = []
        self._sources: dict[tuple[str, int | None], Source] = {}  # by name; inner ones by their plan, too

    def add(self, number: int, desc: Any, views: Mapping[str, View | list[View]]) -> None:
        """Adds a node for a description whose members are these tensors."""
        of_node = slots(Node(desc), 0)
        assert of_node is not None, "a description of a plan is valid"
        sources = [
            None if slot.tensor is None else self._source(number, _view(views, slot.member, slot.entry))
            for slot in of_node.inputs
        ]
        at = len(self._nodes)
        self._nodes.append(Node(desc))
        for slot_number, source in enumerate(sources):
            if source is not None and source[0] < 0:
                self._input_edges.append(InputEdge(source[1], at, slot_number))
            elif source is not None:
                self._edges.append(IntermediateEdge(*source, at, slot_number))
        for slot_number, slot in enumerate(of_node.outputs):
            if slot.tensor is not None:
                tensor = _view(views, slot.member, slot.entry).tensor
                self._sources[tensor.name, number if tensor.inner else None] = (at, slot_number)

    def _source(self, number: int, view: View) -> Source:
        """The writer of a tensor; an input or a constant is added when it is first read."""
        tensor = view.tensor
        key = (tensor.name, number if tensor.inner else None)
        if key in self._sources:
            return self._sources[key]
        array = self._arrays.get(tensor.name) if tensor.name else tensor.array
        if tensor.name in self._names:
            self._inputs.append(tensor.name)
            source = (-1, len(self._inputs) - 1)
        elif array is not None:
            data = np.ascontiguousarray(array).tobytes()
            data += bytes(-len(data) % 4)
            self._nodes.append(Node(None, tensor.name, len(data), data))
            source = (len(self._nodes) - 1, 0)
        else:
            raise NotMapped(f"nothing writes {tensor.name}")
        if tensor.name:
            self._sources[key] = source
        return source

    def graph(self, outputs: Sequence[str]) -> Graph:
        """The graph with these outputs."""
        ends: list[OutputEdge] = []
        for at, name in enumerate(outputs):
            source = self._sources.get((name, None), (-1, 0))
            if source[0] < 0:
                raise NotMapped(f"no operator writes the output {name}")
            ends.append(OutputEdge(*source, at))
        edges = (tuple(self._input_edges), tuple(ends), tuple(self._edges))
        return Graph(tuple(self._nodes), tuple(self._inputs), tuple(outputs), *edges)


def _view(views: Mapping[str, View | list[View]], member: str, entry: int | None) -> View:
    found = views[member]
    if isinstance(found, list):
        return found[entry or 0]
    return found
