"""The nodes of another interface's graph: the descriptions of each, the level that it needs, or why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..enums import NEWEST, FeatureLevel
from ..violation import Violation
from . import Signature
from .describe import Plan, best
from .tensors import Impossible, Undecided


class NotRunnable(ValueError):
    """A node has no descriptions, or none that the level accepts; the message says which and why."""


Status = Literal["mapped", "refused", "host", "undecided", "impossible"]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph; `inputs` and `outputs` are the names of its tensors, "" for those left out.

    `status` is "mapped" if a feature level accepts its descriptions, "refused" if none does, "host" if it
    needs no operator, "undecided" if something has to be known first, "impossible" if DirectML has no form of
    it; `reason` says why. `level` is the lowest one that accepts some form. `plan` is a form for the
    requested level, or for the lowest one. `violations` are the rules that it breaks at the requested level,
    each with the index of its description. `expands`: ONNX defines its operator in terms of others.
    """

    name: str
    domain: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    status: Status
    reason: str = ""
    plan: Plan | None = None
    level: FeatureLevel | None = None
    violations: tuple[tuple[int, Violation], ...] = ()
    notes: tuple[str, ...] = ()
    expands: bool = False

    @property
    def operators(self) -> tuple[str, ...]:
        """DirectML's operators, in execution order."""
        return tuple(work.desc.OPERATOR for work in self.plan.work) if self.plan else ()

    def fits(self, at: FeatureLevel | None) -> bool:
        """Whether it has descriptions that the level `at` accepts; any level if that is None."""
        return self.status == "mapped" and (at is None or (self.level is not None and self.level <= at))


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a graph in order, and the requested level, if any."""

    nodes: tuple[Node, ...]
    asked: FeatureLevel | None

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


def planned(
    node: Node, signature: Signature, values: Callable[[], Mapping[str, Any]], at: FeatureLevel | None
) -> Node:
    """The node with its best plan, or the reason why it has none; `values` are those of its signature."""
    try:
        plan, level = best(signature, values(), at)
    except Undecided as error:
        return replace(node, status="undecided", reason=str(error))
    except Impossible as error:
        return replace(node, status="impossible", reason=str(error))
    return replace(
        node,
        status="refused" if level is None else "mapped",
        reason="no feature level accepts its descriptions" if level is None else "",
        plan=plan,
        level=level,
        violations=tuple(
            (number, violation)
            for number, work in enumerate(plan.work)
            for violation in work.desc.validate(at or level or NEWEST)
        ),
        notes=tuple(limit.because for limit in signature.limits if not limit.when),
    )
