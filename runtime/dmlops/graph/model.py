"""Graphs of operators, which DirectML compiles into one: the contents of a DML_GRAPH_DESC.

Nodes, and the tensors of each, are counted from 0, as in the ABI. A constant is a node that has data instead
of an operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..description import Description
from ..enums import NEWEST, FeatureLevel, LevelLike, feature_level
from ..violation import Violation
from .slots import Slot, Slots, slots


class InputEdge(NamedTuple):
    """An edge from an input of the graph to a tensor that a node reads."""

    GraphInputIndex: int
    ToNodeIndex: int
    ToNodeInputIndex: int


class OutputEdge(NamedTuple):
    """An edge from a tensor that a node writes to an output of the graph."""

    FromNodeIndex: int
    FromNodeOutputIndex: int
    GraphOutputIndex: int


class IntermediateEdge(NamedTuple):
    """An edge from a tensor that a node writes to one that a node reads; both are the same bytes."""

    FromNodeIndex: int
    FromNodeOutputIndex: int
    ToNodeIndex: int
    ToNodeInputIndex: int


Edge = InputEdge | OutputEdge | IntermediateEdge


@dataclass(frozen=True, slots=True)
class Node:
    """An operator, or a constant of `size` bytes if `desc` is None; its `data` can be unknown."""

    desc: Description | None
    name: str = ""
    size: int = 0
    data: bytes | None = None

    def label(self, at: int) -> str:
        """The name, or the position if it has none."""
        return self.name or f"Nodes[{at}]"


@dataclass(frozen=True)
class Graph:
    """A graph; its inputs and outputs have names, which can be empty.

    `values` names tensors that nodes write, by node and output. `unwritten` has the names that nodes read and
    that nothing writes, by node and input: such a tensor has no edge.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_edges: tuple[InputEdge, ...] = ()
    output_edges: tuple[OutputEdge, ...] = ()
    intermediate_edges: tuple[IntermediateEdge, ...] = ()
    values: Mapping[tuple[int, int], str] = field(default_factory=dict)
    unwritten: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @staticmethod
    def from_json(value: Any) -> Graph:
        """The graph in a parsed JSON value, by names or by the indices of the ABI. Raises JsonError."""
        from .json_form import from_json

        return from_json(value)

    @staticmethod
    def from_serialized(data: bytes) -> Graph:
        """The graph that ONNX Runtime or DxDispatch has serialized, as Partition_0.bin. Raises JsonError.

        A constant whose contents are in another file becomes an input that DirectML owns.
        """
        from .serialized import from_serialized

        return from_serialized(data)

    @staticmethod
    def from_onnx(
        source: Any, level: LevelLike | None = None, dims: Mapping[str, int] | None = None
    ) -> Graph:
        """The graph of an ONNX model, a file's path or an `onnx.ModelProto`, as dmlops.onnx maps it.

        Initializers become inputs, like those of ONNX Runtime's provider; `dims` sets symbolic dimensions.
        Raises NotMapped, a ValueError, if a node has no descriptions or an output needs no operator, and what
        `dmlops.onnx.read` raises.
        """
        from .mapped import from_onnx

        return from_onnx(source, level, dims)

    @staticmethod
    def from_webnn(graph: Any, level: LevelLike | None = None) -> Graph:
        """The graph of a WebNN graph in the form of W3C's cases, as dmlops.webnn maps it.

        Raises NotMapped, a ValueError, if an operation has no descriptions, and what `dmlops.webnn.read`
        raises.
        """
        from .mapped import from_webnn

        return from_webnn(graph, level)

    @staticmethod
    def from_model(model: Mapping[str, Any]) -> Graph:
        """The graph of a parsed DxDispatch model: its dispatches, joined by the resources that they share.

        Raises JsonError for a model that dispatches anything but operators.
        """
        from .models import from_model

        return from_model(model)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, by names if every tensor has at most one writer, otherwise by indices."""
        from .json_form import to_json

        return to_json(self)

    @cached_property
    def slots(self) -> tuple[Slots | None, ...]:
        """The tensors of each node; None for a description with members of the wrong type."""
        return tuple(slots(node, at) for at, node in enumerate(self.nodes))

    def slot(self, at: int, number: int, is_input: bool) -> Slot | None:
        """A tensor that a node reads or writes; None if there is none, or if its slots are unknown."""
        of_node = self.slots[at] if 0 <= at < len(self.nodes) else None
        of_role = () if of_node is None else of_node.inputs if is_input else of_node.outputs
        return of_role[number] if 0 <= number < len(of_role) else None

    def reader(self, edge: InputEdge | IntermediateEdge) -> Slot | None:
        """The tensor to which an edge leads."""
        return self.slot(edge.ToNodeIndex, edge.ToNodeInputIndex, is_input=True)

    def writer(self, edge: OutputEdge | IntermediateEdge) -> Slot | None:
        """The tensor from which an edge leads."""
        return self.slot(edge.FromNodeIndex, edge.FromNodeOutputIndex, is_input=False)

    @property
    def edges(self) -> dict[str, Sequence[Edge]]:
        """All edges, by their member in DML_GRAPH_DESC."""
        return {
            "InputEdges": self.input_edges,
            "OutputEdges": self.output_edges,
            "IntermediateEdges": self.intermediate_edges,
        }

    def input_label(self, at: int) -> str:
        """The name of an input, or its position."""
        return self.inputs[at] or f"Inputs[{at}]"

    def output_label(self, at: int) -> str:
        """The name of an output, or its position."""
        return self.outputs[at] or f"Outputs[{at}]"

    def validate(self, level: LevelLike = NEWEST) -> list[Violation]:
        """The rules that the graph and its operators break at a feature level.

        Members start with Nodes, InputEdges, OutputEdges or IntermediateEdges. What follows from an earlier
        violation is not reported: edges are not followed if an index is wrong, and tensors of an invalid
        operator are not compared. Raises ValueError for a level that does not exist.
        """
        from .checks import violations

        return violations(self, feature_level(level))

    def advice(self, level: LevelLike = NEWEST) -> list[Violation]:
        """Advice on a graph that is valid at a feature level, and on its operators.

        Raises ValueError for a level that does not exist.
        """
        from .checks import advice

        return advice(self, feature_level(level))

    def min_feature_level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts the graph; None if none does."""
        return next((level for level in FeatureLevel if not self.validate(level)), None)

    def infer(self) -> Graph:
        """The graph with the tensors that descriptions lack, as far as they follow from others.

        Raises InvalidDescription for an operator whose outputs can be inferred, but break a rule, and
        ValueError for edges with an index that is out of range.
        """
        from .filling import inferred

        return inferred(self)
