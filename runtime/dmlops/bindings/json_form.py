"""The JSON form of bindings.

`{"Execute": ..., "Inputs": [...], "Outputs": [...], "Persistent": ..., "Temporary": ..., "Buffers": {...}}`:
what is executed is a description or a graph in JSON, which can have its PersistentResourceSize beside it;
instead, `"Initialize"` has a list of those that are initialized. A binding is null for the type NONE,
`{"Buffer": "a", "Offset": 0, "SizeInBytes": 64}` for a BUFFER, and a list of those for a BUFFER_ARRAY.
"Buffers" can say more of all of them: `{"a": {"Width": 4096, "Heap": "DEFAULT", "Dimension": "BUFFER"}}`.
"TemporaryResourceSize" is that of what is executed, or of the initializer; "Initialized" is the range of the
persistent resource that was initialized.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..data import registry_data
from ..errors import JsonError
from ..graph import Graph
from ..graph.json_form import with_outputs
from ..json_form import from_json as read_description
from ..json_values import a_list, a_text, an_integer, an_object, with_known_keys
from ..safe_text import nearest, shown
from .model import Binding, Bindings, Range, Target

# D3D12_HEAP_TYPE and D3D12_RESOURCE_DIMENSION.
HEAPS: dict[str, int] = registry_data()["bindings"]["heaps"]
DIMENSIONS: dict[str, int] = registry_data()["bindings"]["dimensions"]

_PHASES = {"Execute": "execute", "Initialize": "initialize"}
_KEYS = (
    *_PHASES,
    *("TemporaryResourceSize", "Buffers", "Inputs", "Outputs", "Persistent", "Temporary", "Initialized"),
    *("id", "$schema"),
)
_PERSISTENT = "PersistentResourceSize"


def from_json(value: Any) -> Bindings:
    """The bindings in a parsed JSON value. Raises JsonError for anything else."""
    given = with_known_keys(an_object(value, ""), "", _KEYS)
    if ("Execute" in given) == ("Initialize" in given):
        raise JsonError("", "expected either Execute or Initialize: what it is bound to")
    if "Execute" in given:
        targets = [_target(given["Execute"], "Execute")]
    else:
        listed = a_list(given["Initialize"], "Initialize")
        targets = [_target(one, f"Initialize[{at}]") for at, one in enumerate(listed)]
    buffers = _Buffers(given.get("Buffers", {}))
    initialized = buffers.binding(given.get("Initialized"), "Initialized")
    if not isinstance(initialized, Range | None):
        raise JsonError("Initialized", "expected a range of a buffer")
    return Bindings(
        "execute" if "Execute" in given else "initialize",
        targets,
        inputs=buffers.bindings(given.get("Inputs", []), "Inputs"),
        outputs=buffers.bindings(given.get("Outputs", []), "Outputs"),
        persistent=buffers.binding(given.get("Persistent"), "Persistent"),
        temporary=buffers.binding(given.get("Temporary"), "Temporary"),
        initialized=initialized,
        temporary_size=_size(given.get("TemporaryResourceSize", 0), "TemporaryResourceSize"),
    )


def _target(value: Any, path: str) -> Target:
    """A description or a graph, with the size of its persistent resource beside it."""
    given = an_object(value, path)
    size = _size(given.get(_PERSISTENT, 0), f"{path}.{_PERSISTENT}")
    rest = {key: one for key, one in given.items() if key != _PERSISTENT}
    try:
        if "nodes" in rest or "Nodes" in rest:
            target = Target(Graph.from_json(rest), size)
        else:
            target = Target(with_outputs(read_description(rest), rest), size)
        _ = target.requirements
    except JsonError as error:
        raise JsonError(f"{path}.{error.path}" if error.path else path, error.reason) from None
    except ValueError as error:
        raise JsonError(path, str(error)) from None
    return target


class _Buffers:
    """The known facts about buffers, by name."""

    def __init__(self, value: Any) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        for name, one in an_object(value, "Buffers").items():
            path = f"Buffers.{name}"
            given = with_known_keys(an_object(one, path), path, ("Width", "Heap", "Dimension"))
            self._known[name] = {
                "width": _size(given.get("Width", 0), f"{path}.Width"),
                "heap": _name(given.get("Heap"), f"{path}.Heap", HEAPS),
                "dimension": _name(given.get("Dimension"), f"{path}.Dimension", DIMENSIONS),
            }

    def bindings(self, value: Any, path: str) -> list[Binding]:
        return [self.binding(one, f"{path}[{at}]") for at, one in enumerate(a_list(value, path))]

    def binding(self, value: Any, path: str) -> Binding:
        if isinstance(value, (list, tuple)):
            return tuple(self._range(one, f"{path}[{at}]") for at, one in enumerate(value))
        return self._range(value, path)

    def _range(self, value: Any, path: str) -> Range | None:
        """A range; None if it has no buffer."""
        if value is None:
            return None
        given = with_known_keys(an_object(value, path), path, ("Buffer", "Offset", "SizeInBytes"))
        if given.get("Buffer") is None:
            return None
        name = a_text(given["Buffer"], f"{path}.Buffer")
        if self._known and name not in self._known:
            missing = f"Buffers has no {shown(name)}{nearest(name, self._known)}"
            raise JsonError(f"{path}.Buffer", missing)
        offset = _size(given.get("Offset", 0), f"{path}.Offset")
        size = _size(given.get("SizeInBytes"), f"{path}.SizeInBytes")
        return Range(name, offset, size, **self._known.get(name, {}))


def _size(value: Any, path: str) -> int:
    return an_integer(value, path, "UINT64")


def _name(value: Any, path: str, known: Collection[str]) -> str | None:
    if value is None:
        return None
    name = a_text(value, path)
    if name not in known:
        raise JsonError(path, f"there is no {shown(name)}{nearest(name, known)}")
    return name
