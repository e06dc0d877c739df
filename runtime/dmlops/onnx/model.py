"""A model, node by node: descriptions, the feature level that each needs, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..counterparts import without_domain
from ..counterparts.node import Node, Nodes, planned
from ..counterparts.tensors import Impossible, Undecided
from ..enums import FeatureLevel, LevelLike, feature_level
from ..tensor import TensorDesc
from .graph import (
    Graph,
    Unreadable,
    Value,
    branches,
    is_op,
    key,
    load,
    opset,
    prepared,
    signature_of,
    symbols,
    walk,
)

__all__ = ["Model", "Node", "Unreadable", "describe", "read", "whole"]


@dataclass(frozen=True, slots=True)
class Model(Nodes):
    """A model: its nodes in order, and the dimensions that are open."""

    opset: int
    open_dims: tuple[str, ...]


def read(
    source: Any,
    level: LevelLike | None = None,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Model:
    """Maps a model, given as a file's path or as an `onnx.ModelProto`, to DirectML.

    `dims` sets symbolic dimensions by name, `shapes` the shapes of inputs. Raises Unreadable if it is not a
    valid model, OSError if a file cannot be read, and ValueError for a level that does not exist.
    """
    at = None if level is None else feature_level(level)
    model = whole(load(source), dims or {}, at, shapes)
    return Model(tuple(_nodes(model, model.graph, None, at)), at, opset(model) or 0, tuple(symbols(model)))


def inputs(
    source: Any, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, TensorDesc]:
    """The inputs of a model without an initializer, with data types and sizes. A scalar has one dimension.

    Raises ValueError for one whose data type or sizes are not known, and what `read` raises.
    """
    model = prepared(load(source), dims, shapes=shapes)
    graph = Graph(model, model.graph)
    given = {one.name for one in model.graph.initializer}
    found: dict[str, TensorDesc] = {}
    for one in model.graph.input:
        if one.name not in given:
            tensor = graph.tensor(one.name)
            try:
                found[one.name] = TensorDesc(tensor.decided_type, tensor.decided_sizes)
            except (Undecided, Impossible) as error:
                raise ValueError(f"{error}; --dim NAME=SIZE or --shape INPUT=SIZES sets sizes") from None
    return found


def whole(
    model: Any,
    dims: Mapping[str, int],
    at: FeatureLevel | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Any:
    """The model with functions inlined and some operators expanded. Raises Unreadable.

    An operator is expanded if it has no form for the way it is used, but a definition by others.
    """
    first = prepared(model, dims, shapes=shapes)
    signatures = (signature_of(*key(node), opset(first) or 1) for node in walk(first.graph))
    if not any(one is not None and one.expands for one in signatures):
        return first
    others = {
        (node.domain, node.operator)
        for node in _nodes(first, first.graph, None, at)
        if node.expands and node.status in ("impossible", "refused")
    }
    return prepared(model, dims, others, shapes) if others else first


def _nodes(
    model: Any, graph: Any, outer: Graph | None, at: FeatureLevel | None, known: Graph | None = None
) -> Iterator[Node]:
    """The nodes of a graph and of its subgraphs; of an If whose condition is known, only those that run."""
    known = known or Graph(model, graph, outer)
    for node in graph.node:
        known.enter(node)
        made = describe(known, node, at)
        condition = known.values.get(node.input[0]) if is_op(node, "If") else None
        if condition is not None and condition.array is not None:
            taken = branches(node)[0 if condition.array.item() else 1]
            inner = Graph(model, taken, known)
            yield replace(
                made, reason="its condition follows from shapes and constants, before the model runs"
            )
            yield from _nodes(model, taken, known, at, inner)
            for name, one in zip(node.output, taken.output, strict=False):
                known.values[name] = inner.values[one.name]
            continue
        graphs = {one.name: one.g for one in node.attribute if one.HasField("g")}
        inner_of = {name: Graph(model, graph, known) for name, graph in graphs.items()}
        parts = {name: tuple(_nodes(model, graphs[name], known, at, inner_of[name])) for name in graphs}
        if is_op(node, "If"):
            for place, name in enumerate(node.output):
                ends = [inner_of[part].values[graphs[part].output[place].name].type for part in graphs]
                if all(end is not None and end == ends[0] for end in ends):  # whichever branch is taken
                    known.values[name] = Value(ends[0])
        yield replace(made, notes=tuple(_needs(name, Nodes(nodes, at)) for name, nodes in parts.items()))
        yield from (one for nodes in parts.values() for one in nodes)


def _needs(name: str, part: Nodes) -> str:
    """The requirements of a subgraph."""
    lacking = sorted({node.operator for node in part.nodes if node.status not in ("mapped", "host")})
    if lacking:
        return f"{name} has nodes that do not run: {', '.join(lacking)}"
    return f"{name} needs feature level {part.level}"


def describe(graph: Graph, node: Any, at: FeatureLevel | None = None) -> Node:
    """Maps one node to DirectML; the graph must have entered it."""
    domain, operator = key(node)
    name = node.name or next((output for output in node.output if output), "")
    signature = signature_of(domain, operator, graph.versions.get(domain, 1))
    expands = signature is not None and signature.expands
    made = Node(name, domain, operator, tuple(node.input), tuple(node.output), "impossible", expands=expands)
    if signature is None:
        of_domain = without_domain(domain)
        where = f" of the domain {domain}" if domain else ""
        return replace(made, reason=of_domain or f"the registry knows no operator {operator}{where}")
    if signature.host:
        return replace(made, status="host", reason=signature.host)
    if signature.none:
        return replace(made, reason=signature.none)
    if expands and not signature.forms:
        return replace(made, reason="its definition by other operators could not be written out")
    if all(
        graph.values.get(output) and graph.values[output].array is not None
        for output in node.output
        if output
    ):
        reason = "the values follow from shapes and constants, before the model runs"
        return replace(made, status="host", reason=reason)
    return planned(made, signature, lambda: graph.named(node, signature), at)
