"""A model, node by node: descriptions, the feature level that each needs, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..counterparts import operation, without_domain
from ..counterparts.node import Node, Nodes, planned
from ..enums import FeatureLevel, feature_level
from .graph import Graph, Unreadable, key, load, opset, prepared, symbols, walk

__all__ = ["Model", "Node", "Unreadable", "describe", "read", "whole"]


@dataclass(frozen=True, slots=True)
class Model(Nodes):
    """A model: its nodes in order, and the dimensions that are open."""

    opset: int
    open_dims: tuple[str, ...]


def read(
    source: Any, level: FeatureLevel | str | None = None, dims: Mapping[str, int] | None = None
) -> Model:
    """Maps a model, given as a file's path or as an `onnx.ModelProto`, to DirectML.

    `dims` sets symbolic dimensions by name. Raises Unreadable if it is not a valid model, OSError if a file
    cannot be read, and ValueError for a level that does not exist.
    """
    at = None if level is None else feature_level(level)
    model = whole(load(source) if isinstance(source, str) else source, dims or {}, at)
    return Model(tuple(_nodes(model, model.graph, None, at)), at, opset(model) or 0, tuple(symbols(model)))


def whole(model: Any, dims: Mapping[str, int], at: FeatureLevel | None = None) -> Any:
    """The model with functions inlined and some operators expanded. Raises Unreadable.

    An operator is expanded if it has no form of its own for the way it is used, but a definition by others.
    """
    first = prepared(model, dims)
    if not any(_is_expandable(*key(node), opset(first) or 1) for node in walk(first.graph)):
        return first
    others = {
        (node.domain, node.operator)
        for node in _nodes(first, first.graph, None, at)
        if node.expands and node.status in ("impossible", "refused")
    }
    return prepared(model, dims, others) if others else first


def _is_expandable(domain: str, name: str, version: int) -> bool:
    known = operation("onnx", name, domain)
    signature = known.signature(version) if known else None
    return signature is not None and signature.expands


def _nodes(model: Any, graph: Any, outer: Graph | None, at: FeatureLevel | None) -> Iterator[Node]:
    known = Graph(model, graph, outer)
    for node in graph.node:
        known.enter(node)
        yield describe(known, node, at)
        for one in node.attribute:
            if one.HasField("g"):
                yield from _nodes(model, one.g, known, at)


def describe(graph: Graph, node: Any, at: FeatureLevel | None = None) -> Node:
    """Maps one node to DirectML; the graph must have entered it."""
    domain, operator = key(node)
    name = node.name or next((output for output in node.output if output), "")
    known = operation("onnx", operator, domain)
    signature = known.signature(graph.versions.get(domain, 1)) if known else None
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
