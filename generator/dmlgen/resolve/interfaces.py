"""Resolves the interfaces of the header, and the rules on calls of their methods."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen import written
from dmlgen.diagnostics import nearest
from dmlgen.registry import CallRule, Interface, Rule, Stage
from dmlgen.resolve.faults import Faults, fault
from dmlgen.resolve.general import General, message

_SHOWN = frozenset({"value", "count", "label", "choices"})  # in messages


def resolve_interfaces(
    general: General, node: written.Interfaces
) -> tuple[Mapping[str, Interface], tuple[CallRule, ...]]:
    """The interfaces by name, each after the one that it extends, and the rules."""
    faults = Faults()
    found: dict[str, Interface] = {}
    calls: list[CallRule] = []
    for name, one in node.interfaces.items():
        with faults:
            if one.base is not None and one.base not in found:
                unknown = f"there is no interface {one.base} before this one"
                raise fault(one.node.position, "unknown-name", unknown, nearest(one.base, found))
            level = general.level_at(one.since)
            found[name] = Interface(name, one.base, level or general.levels[0], one.iid, one.methods)
    for call in node.calls:
        with faults:
            calls.append(CallRule(_rule(general, call), call.page))
    faults.stop()
    return found, tuple(calls)


def _rule(general: General, node: written.CallRule) -> Rule:
    return Rule(
        id=f"DML-CALL-{node.id.value}",
        slug=node.id.value,
        stage=Stage.ADVICE if node.advice else Stage.STRUCTURE,
        summary=node.summary,
        checks=(),
        since=general.levels[0],
        until=None,
        applies_to="abi",
        source=node.source,
        position=node.node.position,
        message=message(node.message, _SHOWN),
    )
