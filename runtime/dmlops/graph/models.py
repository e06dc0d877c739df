"""The graph of a DxDispatch model: its dispatches in their order.

A resource that one dispatch writes and a later one reads is a value. One that is read before it is written is
an input. Outputs are the resources that the model prints or writes to files; without such commands, those
that nothing reads. Their sizes are those of bindings, which may be larger than the tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import JsonError
from ..json_form import dispatchables
from ..json_form import from_json as description
from ..safe_text import shown
from .json_form import from_json
from .model import Graph

_TELLS = ("print", "writefile")  # commands after which the contents of a resource are known


def from_model(model: Mapping[str, Any]) -> Graph:
    """The graph of a parsed model. Raises JsonError for one that dispatches something else than operators."""
    operators = dict(dispatchables(model))
    commands = model.get("commands")
    if not isinstance(commands, list) or not all(isinstance(one, dict) for one in commands):
        raise JsonError("commands", "missing; a graph follows from the dispatches of a model")
    nodes: list[dict[str, Any]] = []
    inputs: dict[str, None] = {}
    newest: dict[str, str] = {}  # the value that a resource holds
    unread: dict[str, None] = {}
    outputs: dict[str, None] = {}
    for at, command in enumerate(commands):
        kind = str(command.get("type")).lower()
        value = newest.get(str(command.get("resource")))
        if kind in _TELLS and value is not None and value not in inputs:
            outputs[value] = None
        if kind != "dispatch":
            continue
        path = f"commands[{at}]"
        name = command.get("dispatchable")
        if not isinstance(name, str) or name not in operators:
            raise JsonError(f"{path}.dispatchable", f"{shown(name)} is no operator of the model")
        given = dict(operators[name])
        always = given.pop("bindings", None) or {}
        bound = {**always, **(command.get("bindings") or {})}
        desc = description(given)
        bindings: dict[str, Any] = {}
        for member in sorted(desc.MEMBERS, key=lambda one: one.role != "input"):
            resource = _resources(bound.get(member.name))
            if resource is None or member.role == "attribute":
                continue
            listed = resource if isinstance(resource, list) else [resource]
            values = []
            for one in listed:
                if one is not None and member.role == "input":
                    if one not in newest:
                        newest[one] = one
                        inputs[one] = None
                    unread.pop(newest[one], None)
                elif one is not None:
                    newest[one] = one if one not in newest else f"{one} after {path}"
                    unread[newest[one]] = None
                values.append(None if one is None else newest[one])
            bindings[member.name] = values if member.count else values[0]
        nodes.append({"name": name, **given, "bindings": bindings})
    return from_json({"inputs": list(inputs), "outputs": list(outputs or unread), "nodes": nodes})


def _resources(value: Any) -> Any:
    """The names of the resources in a binding: a name, an object with one, or a list of them."""
    if isinstance(value, list):
        return [_resources(one) for one in value]
    if isinstance(value, dict):
        return value.get("name")
    return value if isinstance(value, str) else None
