"""A model, node by node: descriptions, the feature level that each needs, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..counterparts import operation, without_domain
from ..counterparts.describe import Plan, best
from ..counterparts.tensors import Impossible, Undecided
from ..enums import NEWEST, FeatureLevel, feature_level
from ..violation import Violation
from .graph import ONNX, Graph, Unreadable, key, load, opset, prepared, symbols, walk

__all__ = ["Model", "Node", "Unreadable", "describe", "read", "whole"]

Status = Literal["mapped", "refused", "host", "undecided", "impossible"]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a model.

    `status` is "mapped" if a feature level accepts its descriptions, "refused" if none does, "host" if it
    needs no operator, "undecided" if something has to be known first, "impossible" if DirectML has no form of
    it; `reason` says why. `level` is the lowest one that accepts some form. `plan` is a form for the
    requested level, or for the lowest one. `violations` are the rules that it breaks at the requested level,
    each with the index of its description. `expands`: ONNX defines its operator in terms of others.
    """

    name: str
    domain: str
    operator: str
    status: Status
    reason: str
    plan: Plan | None
    level: FeatureLevel | None
    violations: tuple[tuple[int, Violation], ...]
    notes: tuple[str, ...]
    expands: bool = False

    @property
    def operators(self) -> tuple[str, ...]:
        """DirectML's operators, in execution order."""
        return tuple(work.desc.OPERATOR for work in self.plan.work) if self.plan else ()


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its nodes in order, the requested level, if any, and the dimensions that are open."""

    opset: int
    nodes: tuple[Node, ...]
    asked: FeatureLevel | None
    open_dims: tuple[str, ...]

    @property
    def level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts every node with descriptions; None if none accepts one of
        them.
        """
        levels = [node.level for node in self.nodes if node.plan is not None]
        known = [level for level in levels if level is not None]
        return max(known, default=min(FeatureLevel)) if len(known) == len(levels) else None

    @property
    def complete(self) -> bool:
        """Whether every node has descriptions that some level accepts, or needs none."""
        return all(node.status in ("mapped", "host") for node in self.nodes)

    @property
    def runs(self) -> bool:
        """Whether it is complete, and accepted by the requested level, if any."""
        return self.complete and (self.asked is None or (self.level or self.asked) <= self.asked)


def read(
    source: Any, level: FeatureLevel | str | None = None, dims: Mapping[str, int] | None = None
) -> Model:
    """Maps a model, given as a file's path or as an `onnx.ModelProto`, to DirectML.

    `dims` sets symbolic dimensions by name. Raises Unreadable if it is not a valid model, OSError if a file
    cannot be read, and ValueError for a level that does not exist.
    """
    at = None if level is None else feature_level(level)
    model = whole(load(source) if isinstance(source, str) else source, dims or {}, at)
    return Model(opset(model) or 0, tuple(_nodes(model, model.graph, None, at)), at, tuple(symbols(model)))


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
    domain = node.domain if node.domain not in ONNX else ""
    name = node.name or next((output for output in node.output if output), "")
    known = operation("onnx", node.op_type, domain)
    signature = known.signature(graph.versions.get(domain, 1)) if known else None

    expands = signature is not None and signature.expands

    def told(status: Status, reason: str) -> Node:
        return Node(name, domain, node.op_type, status, reason, None, None, (), (), expands)

    if signature is None:
        of_domain = without_domain(domain)
        where = f" of the domain {domain}" if domain else ""
        return told("impossible", of_domain or f"the registry knows no operator {node.op_type}{where}")
    if signature.host:
        return told("host", signature.host)
    if signature.none:
        return told("impossible", signature.none)
    if expands and not signature.forms:
        return told("impossible", "its definition by other operators could not be written out")
    if all(
        graph.values.get(output) and graph.values[output].array is not None
        for output in node.output
        if output
    ):
        return told("host", "the values follow from shapes and constants, before the model runs")
    try:
        plan, level = best(signature, graph.named(node, signature), at)
    except Undecided as error:
        return told("undecided", str(error))
    except Impossible as error:
        return told("impossible", str(error))
    violations = tuple(
        (number, violation)
        for number, work in enumerate(plan.work)
        for violation in work.desc.validate(at or level or NEWEST)
    )
    notes = tuple(limit.says for limit in signature.limits if not limit.when)
    status: Status = "mapped" if level is not None else "refused"
    reason = "" if level is not None else "no feature level accepts its descriptions"
    return Node(name, domain, node.op_type, status, reason, plan, level, violations, notes, expands)
