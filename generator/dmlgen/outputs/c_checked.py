"""The C++ header that wraps a device: what its template needs."""

from __future__ import annotations

from typing import Any

from dmlgen.registry import Registry

_UNKNOWN = 3  # methods of IUnknown


def context(registry: Registry) -> dict[str, Any]:
    """Identifiers of interfaces, the place of a method in the table of functions, and rules of calls."""
    return {
        "interfaces": {one.name: guid(one.iid) for one in registry.interfaces.values()},
        "properties_slot": slot(registry, "IDMLDispatchable", "GetBindingProperties"),
        "calls": {rule.slug: rule for rule in registry.calls},
        "dml_levels": [level.constant for level in registry.levels],
        "execution_flags": sum(entry.value for entry in registry.enums["EXECUTION_FLAGS"].entries),
        "features": [entry.name for entry in registry.enums["FEATURE"].entries],
        "least": registry.interfaces["IDMLDevice1"].since,
    }


def slot(registry: Registry, interface: str, method: str) -> int:
    """The place of a method in the table of functions, after those of all bases."""
    one = registry.interfaces[interface]
    place, base = one.methods.index(method) + _UNKNOWN, one.base
    while base is not None:
        place += len(registry.interfaces[base].methods)
        base = registry.interfaces[base].base
    return place


def guid(text: str) -> str:
    """A GUID as an initializer in C."""
    first, second, third, *rest = text.split("-")
    tail = "".join(rest)
    bytes_ = ", ".join(f"0x{tail[at : at + 2]}" for at in range(0, len(tail), 2))
    return f"{{0x{first}, 0x{second}, 0x{third}, {{{bytes_}}}}}"
