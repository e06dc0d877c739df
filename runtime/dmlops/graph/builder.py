"""Builds graphs operator by operator, with the functions of `dmlops.make`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from ..description import Description
from ..enums import TensorFlags
from ..tensor import TensorDesc
from .model import Graph, InputEdge, IntermediateEdge, Node, OutputEdge
from .slots import slots

if TYPE_CHECKING:
    import numpy as np

_GRAPH = -1  # the node to which the inputs of the graph belong


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor in a graph that is being built: its form, and the node and the output that write it."""

    builder: Builder
    tensor: TensorDesc
    source: tuple[int, int]

    @property
    def is_input(self) -> bool:
        """Whether it is an input of the graph."""
        return self.source[0] == _GRAPH

    def seen_as(self, tensor: TensorDesc) -> Value:
        """Its bytes, read as another tensor."""
        return replace(self, tensor=tensor)


class Builder:
    """A graph that is being built.

        builder = dmlops.graph.Builder()
        x = builder.input("x", TensorDesc("FLOAT32", (1, 1, 2, 3)))
        w = builder.input("w", TensorDesc("FLOAT32", (1, 1, 3, 4)))
        graph = builder.build(y=builder.activation_relu(builder.gemm(x, w), name="act"))

    Every function of `dmlops.make` is a method that takes values instead of tensors, and a name for the node.
    It returns the values of the outputs that are present: one, or a tuple of several.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._inputs: list[str] = []
        self._input_edges: list[InputEdge] = []
        self._edges: list[IntermediateEdge] = []

    def input(self, name: str, tensor: TensorDesc) -> Value:
        """An input of the graph."""
        self._inputs.append(name)
        return Value(self, tensor, (_GRAPH, len(self._inputs) - 1))

    def constant(self, array: np.ndarray, name: str = "") -> Value:
        """A constant, which has its data in the graph."""
        data = array.tobytes()
        data += bytes(-len(data) % 4)
        self._nodes.append(Node(None, name, len(data), data))
        return Value(self, TensorDesc.of(array), (len(self._nodes) - 1, 0))

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        from .. import make

        if operator.startswith("_") or not hasattr(make, operator):
            raise AttributeError(f"dmlops.make has no function {operator}")
        return lambda *inputs, name="", **members: self._add(getattr(make, operator), name, inputs, members)

    def _add(
        self, function: Callable[..., Any], name: str, inputs: tuple[Any, ...], members: dict[str, Any]
    ) -> Any:
        given = signature(function).bind(*inputs, **members).arguments
        desc = function(**{member: _tensors(value) for member, value in given.items()})

        def value(member: str, entry: int | None) -> Any:
            return given[member] if entry is None else given[member][entry]

        outputs = self.add(desc, value, name)
        return outputs[0] if len(outputs) == 1 else outputs

    def add(
        self, desc: Description, value: Callable[[str, int | None], Any], name: str = ""
    ) -> tuple[Value, ...]:
        """Adds a node for a valid description, and returns the values of the outputs that are present.

        `value` gives that of each input that is present: of a member, and of an entry if it is an array.
        """
        at = len(self._nodes)
        node = Node(desc, name)
        of_node = slots(node, at)
        assert of_node is not None, "the description is valid"
        self._nodes.append(node)
        for number, slot in enumerate(of_node.inputs):
            if slot.tensor is None:
                continue
            read = value(slot.member, slot.entry)
            if not isinstance(read, Value) or read.builder is not self:
                raise TypeError(f"{slot.name} is not a value of this graph")
            if read.is_input:
                self._input_edges.append(InputEdge(read.source[1], at, number))
            else:
                self._edges.append(IntermediateEdge(*read.source, at, number))
        return tuple(
            Value(self, replace(slot.tensor, Flags=TensorFlags.NONE), (at, number))
            for number, slot in enumerate(of_node.outputs)
            if slot.tensor is not None
        )

    def build(self, /, **outputs: Value) -> Graph:
        """The graph with these outputs, by name. Raises ValueError for an input of the graph among them."""
        for name, value in outputs.items():
            if value.is_input:
                raise ValueError(f"{name} is an input of the graph; no edge joins an input to an output")
        return Graph(
            tuple(self._nodes),
            tuple(self._inputs),
            tuple(outputs),
            tuple(self._input_edges),
            tuple(OutputEdge(*value.source, at) for at, value in enumerate(outputs.values())),
            tuple(self._edges),
        )


def _tensors(value: Any) -> Any:
    """The tensors of values; anything else as it is."""
    if isinstance(value, list | tuple):
        return [_tensors(one) for one in value]
    return value.tensor if isinstance(value, Value) else value
