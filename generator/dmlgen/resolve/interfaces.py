"""Resolves the interfaces of the header, and the rules on calls of their methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dmlgen import written
from dmlgen.diagnostics import fault, nearest
from dmlgen.registry import CallRule, Interface, Stage
from dmlgen.resolve.checks import CALL_VALUES
from dmlgen.resolve.faults import Faults
from dmlgen.resolve.general import General, message
from dmlgen.resolve.plain_rules import stated


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
                raise fault(one.position, "unknown-name", unknown, nearest(one.base, found))
            found[name] = one
    for call in node.calls:
        with faults:
            rule = stated(general, "CALL", call, Stage.STRUCTURE)
            rule = replace(rule, applies_to="abi", message=message(call.message, CALL_VALUES))
            calls.append(CallRule(rule, call.page))
    faults.stop()
    return found, tuple(calls)
