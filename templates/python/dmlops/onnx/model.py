"""A model, node by node: descriptions, the feature level that each needs, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..counterparts import operation, without_domain
from ..counterparts.describe import Plan, best
from ..counterparts.tensors import Impossible, Undecided
from ..enums import NEWEST, FeatureLevel, feature_level
from ..violation import Violation
from .graph import ONNX, Graph, Unreadable, load, opset, prepared, symbols

__all__ = ["Model", "Node", "Unreadable", "describe", "read"]

Status = Literal["mapped", "refused", "host", "undecided", "impossible"]

_KINDS = {"mapped": "has descriptions", "refused": "no level takes them"}


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a model.

    `status` is "mapped" where a feature level accepts its descriptions, "refused" where none does, "host" where
    no operator is needed, "undecided" where something has to be known first, "impossible" where DirectML has no
    form of it; `reason` says why. `level` is the lowest one that accepts it. `violations` are the rules that it
    breaks at the level that was asked for, each with the number of its description. `expands`: ONNX defines its
    operator by others.
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
        """DirectML's operators, in the order in which they run."""
        return tuple(work.desc.OPERATOR for work in self.plan.work) if self.plan else ()


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its nodes in order, the level that was asked for, and dimensions that are not known."""

    opset: int
    nodes: tuple[Node, ...]
    asked: FeatureLevel
    open_dims: tuple[str, ...]

    @property
    def level(self) -> FeatureLevel | None:
        """The lowest feature level that accepts every node that has descriptions; None if one is refused."""
        levels = [node.level for node in self.nodes if node.plan is not None]
        known = [level for level in levels if level is not None]
        return max(known, default=min(FeatureLevel)) if len(known) == len(levels) else None

    @property
    def complete(self) -> bool:
        """Whether every node has descriptions that a level accepts, or needs none."""
        return all(node.status in ("mapped", "host") for node in self.nodes)


def read(
    source: Any, level: FeatureLevel | str = NEWEST, dims: Mapping[str, int] | None = None
) -> Model:
    """What DirectML makes of a model, which is the path of a file or an `onnx.ModelProto`.

    `dims` sets dimensions that the model has by name. Raises Unreadable for what is no model, OSError for a file
    that cannot be read, and ValueError for a level that does not exist.
    """
    at = feature_level(level)
    sizes = dict(dims or {})
    whole = load(source) if isinstance(source, str) else source
    model = prepared(whole, sizes)
    nodes = tuple(_nodes(model, model.graph, None, at))
    others = {
        (node.domain, node.operator) for node in nodes if node.status in ("impossible", "refused") and node.expands
    }
    if others:  # written out, such a node may be possible
        model = prepared(whole, sizes, others)
        nodes = tuple(_nodes(model, model.graph, None, at))
    return Model(opset(model) or 0, nodes, at, tuple(symbols(model)))


def _nodes(model: Any, graph: Any, outer: Graph | None, at: FeatureLevel) -> Iterator[Node]:
    known = Graph(model, graph, outer)
    for node in graph.node:
        known.enter(node)
        yield describe(known, node, at)
        for one in node.attribute:
            if one.HasField("g"):
                yield from _nodes(model, one.g, known, at)


def describe(graph: Graph, node: Any, at: FeatureLevel = NEWEST) -> Node:
    """What DirectML makes of one node of a graph that has entered it."""
    domain = node.domain if node.domain not in ONNX else ""
    name = node.name or next((output for output in node.output if output), "")
    known = operation("onnx", node.op_type, domain)
    signature = known.signature(graph.versions.get(domain, 1)) if known else None

    expands = signature is not None and signature.expands

    def told(status: Status, reason: str, plan: Plan | None = None) -> Node:
        level = plan.level if plan else None
        violations = [] if plan is None else [
            (number, violation)
            for number, work in enumerate(plan.work)
            for violation in work.desc.validate(at if level is None or level > at else level)
        ]
        notes = tuple(limit.says for limit in signature.limits if not limit.when) if signature and plan else ()
        return Node(name, domain, node.op_type, status, reason, plan, level, tuple(violations), notes, expands)

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
    if all(graph.values.get(output) and graph.values[output].array is not None for output in node.output if output):
        return told("host", "the values follow from shapes and constants, before the model runs")
    try:
        plan = best(signature, graph.named(node, signature), at)
    except Undecided as reason:
        return told("undecided", str(reason))
    except Impossible as reason:
        return told("impossible", str(reason))
    if plan.level is None:
        return told("refused", "no feature level accepts its descriptions", plan)
    return told("mapped", "", plan)
