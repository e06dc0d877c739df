"""ONNX models and WebNN graphs on a GPU: what the host computes for them, it computes between programs.

A model is traced: its nodes are visited in order with arrays that are not computed yet. If nothing depends on
their values but other arrays, the whole is one graph for all inputs of these sizes. Otherwise, whenever the
host needs a value (the condition of an If, a size that follows from data), the nodes so far are compiled and
run, and later nodes become another graph. All programs are kept for later calls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import TracebackType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ...counterparts.describe import Plan
from ...counterparts.tensors import View
from ...enums import LevelLike, TensorDataType, feature_level
from ...graph import Builder, Graph, Value
from ...tensor import TensorDesc
from ..memory import tensor_bytes
from ..programs import key_of
from .execute import Compiled, Memory

MOST_KEPT = 32  # programs of a model


class HostNeedsData(Exception):
    """A value that is not known before the model runs decides what it computes."""


class Later:
    """An array that a trace computes, or is given: its shape and data type, and its contents once known.

    It has what the host asks of arrays. Whoever needs the contents makes the trace run.
    """

    def __init__(
        self, trace: Trace, shape: tuple[int, ...], dtype: Any, value: Value | None = None, data: Any = None
    ) -> None:
        self.trace, self.shape, self.dtype = trace, tuple(shape), np.dtype(dtype)
        self.value, self.data = value, data  # of the owner
        self.owner = self

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def reshape(self, *shape: Any) -> Later:
        sizes = shape[0] if isinstance(shape[0] if shape else (), tuple) and shape else shape
        return self._seen(tuple(sizes), self.dtype)

    def astype(self, dtype: Any) -> Later:
        """Booleans as bytes, or bytes as booleans."""
        return self._seen(self.shape, dtype)

    def item(self) -> Any:
        return np.asarray(self).item()

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        self.trace.run(self.owner)
        array = self.formed(self.owner.data)
        return array if dtype is None else array.astype(dtype)

    def formed(self, data: np.ndarray) -> np.ndarray:
        """The owner's array in this shape and data type."""
        return data.reshape(self.shape).astype(self.dtype, copy=False)

    def _seen(self, shape: tuple[int, ...], dtype: Any) -> Later:
        made = Later(self.trace, shape, dtype)
        made.owner = self.owner
        return made


Run = Callable[[Graph, Mapping[str, Any]], Mapping[str, np.ndarray]]
"""Computes a graph."""


class Trace:
    """A graph that is being traced. Without `run`, HostNeedsData is raised in place of running it."""

    def __init__(self, run: Run | None = None) -> None:
        self._run = run
        self._start()

    def _start(self) -> None:
        self.builder = Builder()
        self.inputs: dict[str, Later] = {}
        self._pending: list[Any] = []  # weak: what nobody refers to any more need not be kept
        self._values: dict[int, tuple[Any, Value]] = {}  # of constants and inputs, which have to stay alive

    def given(self, array: Any) -> Later:
        """An array that is an input of the graph, if something reads it."""
        data = array if isinstance(array, np.ndarray | np.generic) else None
        return Later(self, array.shape, array.dtype, data=None if data is None else np.asarray(data))

    def add(self, name: str, plan: Plan, arrays: Mapping[str, Any]) -> dict[str, Later]:
        """Adds the descriptions of a node; its outputs by tensor."""
        made: dict[tuple[str, bool], Later] = {}
        for number, work in enumerate(plan.work):

            def view(member: str, entry: int | None, views: Any = work.views) -> View:
                found: View | list[View] = views[member]
                return found[entry or 0] if isinstance(found, list) else found

            def value(member: str, entry: int | None, view: Callable[..., View] = view) -> Value:
                tensor = view(member, entry).tensor
                known = made.get((tensor.name, tensor.inner))
                if known is None and tensor.array is not None and not tensor.name:
                    return self._constant(tensor.array, tensor.decided_type)
                array = arrays[tensor.name] if known is None else known
                if isinstance(array, Later):
                    return self._value(array.owner)
                return self._constant(array, tensor.decided_type)

            written = iter(self.builder.add(work.desc, value, f"{name}.{number}" if number else name))
            for member in work.desc.MEMBERS:
                views = work.views.get(member.name)
                if member.role != "output" or views is None:
                    continue
                for one in views if isinstance(views, list) else [views]:
                    tensor = one.tensor
                    dtype = TensorDataType[tensor.decided_type].numpy
                    later = Later(self, tensor.decided_sizes, dtype, next(written))
                    made[tensor.name, tensor.inner] = later
                    self._pending.append(ref(later))
        return {name: later for (name, inner), later in made.items() if not inner}

    def run(self, wanted: Later) -> None:
        """Makes the contents of an array known, and of all others that are in use."""
        if wanted.data is not None:
            if self._run is None:
                raise HostNeedsData
            return
        if self._run is None or wanted.value is None:
            raise HostNeedsData
        alive = [later for one in self._pending if (later := one()) is not None]
        found = self._run(self.graph(alive), {name: one.data for name, one in self.inputs.items()})
        for number, later in enumerate(alive):
            later.data, later.value = found[f"y{number}"], None
        self._start()

    def graph(self, outputs: list[Later]) -> Graph:
        """The graph so far; its inputs are named as in `inputs`, its outputs y0, y1 and so on."""
        values = {f"y{at}": later.owner.value for at, later in enumerate(outputs)}
        return self.builder.build(**{name: one for name, one in values.items() if one is not None})

    def _value(self, later: Later) -> Value:
        if later.value is not None:
            return later.value
        if id(later) not in self._values:
            name = f"x{len(self.inputs)}"
            self.inputs[name] = later
            tensor = TensorDesc("UINT8", later.shape or (1,))  # edges look at what reads it
            self._values[id(later)] = later, self.builder.input(name, tensor)
        return self._values[id(later)][1]

    def _constant(self, array: np.ndarray, type_: str) -> Value:
        if id(array) not in self._values:
            data = np.ascontiguousarray(array)
            if TensorDataType[type_].bits < 8:
                data = np.frombuffer(tensor_bytes("", TensorDesc(type_, data.shape or (1,)), data), np.uint8)
            self._values[id(array)] = array, self.builder.constant(data)
        return self._values[id(array)][1]


class Whole(NamedTuple):
    """A model as one graph: the inputs of the graph by name, and how its outputs are formed."""

    graph: Graph
    inputs: Mapping[str, str]
    outputs: Mapping[str, Any]

    def formed(self, arrays: Mapping[str, Any], found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs of the model."""
        results: dict[str, np.ndarray] = {}
        for name, (source, later) in self.outputs.items():
            if isinstance(later, Later):
                results[name] = later.formed(
                    np.asarray(arrays[source] if source in arrays else found[source])
                )
            else:
                results[name] = later
        return results


class OnnxModel:
    """An ONNX model, a file's path or an `onnx.ModelProto`, to be traced."""

    def __init__(self, source: Any, level: LevelLike | None, dims: Mapping[str, int] | None) -> None:
        from ...onnx.graph import load

        self._at = None if level is None else feature_level(level)
        self._dims = dict(dims or {})
        self._loaded = load(source, data=True)
        self._models: dict[Hashable, Any] = {}

    def outputs(self, trace: Trace, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Traces the model for arrays of these shapes."""
        from onnx import TensorProto
        from onnx.helper import tensor_dtype_to_np_dtype

        from ...onnx.execute import Runner
        from ...onnx.model import whole

        model = self._loaded
        shapes = {name: array.shape for name, array in arrays.items()}
        key = tuple(sorted(shapes.items()))
        if key not in self._models:
            self._models = {key: whole(model, self._dims, self._at, shapes)}
        model = self._models[key]
        given = {one.name for one in model.graph.initializer}
        for one in model.graph.input:
            if one.name not in arrays and one.name not in given:
                raise ValueError(f"the input {one.name} has no array")
            wanted = tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type or TensorProto.FLOAT)
            own = wanted if one.name not in arrays else arrays[one.name].dtype
            if (
                own != wanted and wanted.kind in "biuf"
            ):  # others, such as those of 4 bits, come as NumPy has them
                raise ValueError(f"the input {one.name} must be {wanted}; it is {own}")

        class Traced(Runner):
            """Adds nodes to the trace in place of running them."""

            def given(self, array: Any) -> Any:
                return array if isinstance(array, Later) else trace.given(array)

            def compute(self, name: str, plan: Plan, arrays: Mapping[str, Any]) -> Any:
                return trace.add(name, plan, arrays)

        def unused(*_: Any) -> Any:
            raise AssertionError("a trace computes nothing")

        results = Traced(model, self._at, unused).block(model.graph, None, {}, arrays)
        return {one.name: array for one, array in zip(model.graph.output, results, strict=True)}


class WebnnModel:
    """A WebNN graph in the form of W3C's cases, to be traced."""

    def __init__(self, source: Any, level: LevelLike | None) -> None:
        from ... import webnn

        self._model = webnn.read(source, level)

    def outputs(self, trace: Trace, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """Traces the graph; values that it gives itself are constants."""
        from ...webnn.model import check, runnable

        model = self._model
        known: dict[str, Any] = {}
        for name in model.inputs:
            tensor = model.tensors[name]
            if name in arrays:
                check(tensor, arrays[name])
                known[name] = arrays[name].reshape(tensor.decided_sizes)
            elif name in model.values:
                known[name] = model.values[name].reshape(tensor.decided_sizes)
            else:
                raise ValueError(f"the input {name} has no array")
        for node in model.nodes:
            known |= trace.add(node.name, runnable(node, model.asked), known)
        return {name: known[name].reshape(model.tensors[name].shape) for name in model.outputs}


def traceable(
    source: Any, level: LevelLike | None = None, dims: Mapping[str, int] | None = None
) -> OnnxModel | WebnnModel:
    """A WebNN graph if `source` is a mapping, else an ONNX model."""
    return WebnnModel(source, level) if isinstance(source, Mapping) else OnnxModel(source, level, dims)


@dataclass(eq=False)
class CompiledModel:
    """A model on a device; calling it runs the model, with an array for each input.

    It is compiled on the first call with arrays of new shapes, and kept for later ones. `programs` are those
    of the last call; `make` compiles a graph.
    """

    model: OnnxModel | WebnnModel
    make: Callable[[Graph], Compiled]
    programs: list[Compiled] = field(default_factory=list)
    _wholes: dict[Hashable, Whole | None] = field(default_factory=dict)
    _kept: OrderedDict[Hashable, Compiled] = field(default_factory=OrderedDict)

    def __call__(self, arrays: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """The outputs by name, as ONNX or WebNN has them.

        Raises what `dmlops.onnx.run` or `dmlops.webnn.run` raises, Unsupported, OutOfMemory, and
        GpuUnavailable if the device fails.
        """
        given = {name: np.asarray(array) for name, array in (arrays or {}).items()}
        key = tuple((name, array.shape, array.dtype.str) for name, array in sorted(given.items()))
        self.programs = []
        if key not in self._wholes:
            try:
                self._wholes[key] = self.whole(given)
            except HostNeedsData:
                self._wholes[key] = None
        whole = self._wholes[key]
        if whole is None:
            trace = Trace(self._run)
            outputs = self.model.outputs(trace, {name: trace.given(array) for name, array in given.items()})
            return {name: np.asarray(array) for name, array in outputs.items()}
        named = {name: given[source] for name, source in whole.inputs.items()}
        found = self._run(whole.graph, named, key) if whole.graph.outputs else {}
        return whole.formed(given, found)

    def whole(self, shaped: Mapping[str, Any]) -> Whole:
        """The model as one graph for inputs of the shapes and data types of these arrays.

        Raises HostNeedsData if that depends on what is in the arrays.
        """
        return trace_whole(self.model, shaped)

    @property
    def memory(self) -> Memory:
        """The device memory that the programs of the last call take: the largest arena, and all
        constants."""
        memories = [one.memory for one in self.programs] or [Memory(0, 0, 0)]
        peak = max(memories, key=lambda one: one.peak)
        return peak._replace(weights=sum(one.weights for one in memories))

    def __enter__(self) -> CompiledModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees its memory on the device."""
        for one in self._kept.values():
            one.close()
        self._kept.clear()
        self._wholes.clear()
        self.programs = []

    def _run(self, graph: Graph, arrays: Mapping[str, Any], key: Hashable = None) -> Mapping[str, np.ndarray]:
        key = key or _graph_key(graph)
        found = self._kept.get(key)
        if found is None:
            found = self.make(graph)
            self._kept[key] = found
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)[1].close()
        self._kept.move_to_end(key)
        self.programs.append(found)
        return found(arrays)


def trace_whole(model: OnnxModel | WebnnModel, shaped: Mapping[str, Any]) -> Whole:
    """The model as one graph for inputs of the shapes and data types of these arrays."""
    trace = Trace()
    inputs = {name: Later(trace, array.shape, array.dtype) for name, array in shaped.items()}
    outputs = model.outputs(trace, inputs)
    laters = [one for one in outputs.values() if isinstance(one, Later) and one.owner.value is not None]
    owners = list({id(one.owner): one.owner for one in laters}.values())
    graph = trace.graph(owners)
    names = {id(owner): f"y{at}" for at, owner in enumerate(owners)}
    names |= {id(one): name for name, one in inputs.items()}
    formed = {
        name: (names[id(one.owner)] if isinstance(one, Later) else "", one) for name, one in outputs.items()
    }
    sources = {id(one): name for name, one in inputs.items()}
    return Whole(graph, {name: sources[id(one)] for name, one in trace.inputs.items()}, formed)


def _graph_key(graph: Graph) -> Hashable:
    """The key that graphs with the same computation share; constants by their digest."""
    nodes = tuple(
        blake2b(node.data or b"").digest() if node.desc is None else key_of(node.desc) for node in graph.nodes
    )
    return nodes, graph.inputs, graph.outputs, graph.input_edges, graph.output_edges, graph.intermediate_edges
