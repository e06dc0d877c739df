"""Graphs of what the nodes of an ONNX model, or of another interface's graph, are mapped to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..counterparts.describe import Plan
from ..counterparts.tensors import View
from ..enums import LevelLike, feature_level
from .builder import Builder, Value
from .model import Graph


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
    builder = Builder()
    values: dict[tuple[str, int | None], Value] = {}  # by name; of inner tensors by their plan, too

    def read(view: View, number: int) -> Value:
        """The value of a tensor; an input or a constant is added when it is first read."""
        name = view.tensor.name
        key = _key(view, number)
        if name and key in values:
            return values[key]
        array = arrays.get(name) if name else view.tensor.array
        if name in inputs:
            values[key] = builder.input(name, view.desc())
        elif array is not None:
            values[key] = builder.constant(array.view(np.uint8) if array.dtype == np.bool_ else array, name)
        else:
            raise NotMapped(f"nothing writes {name}")
        return values[key]

    for number, plan in enumerate(plans):
        for work in plan.work:
            given = {name: [read(one, number) for one in views] for name, views in work.tensors("input")}

            def value(member: str, entry: int | None, given: dict[str, list[Value]] = given) -> Value:
                return given[member][entry or 0]

            written = builder.add(work.desc, value)
            made = [_key(one, number) for _, views in work.tensors("output") for one in views]
            values |= zip(made, written, strict=True)
    for name in outputs:
        ending = values.get((name, None))
        if ending is None or ending.is_input:
            raise NotMapped(f"no operator writes the output {name}")
    return builder.build(**{name: values[name, None] for name in outputs})


def _key(view: View, plan: int) -> tuple[str, int | None]:
    return view.tensor.name, plan if view.tensor.inner else None
