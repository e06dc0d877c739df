"""The counterparts of DirectML's operators in ONNX, WebNN and DirectMLX, and descriptions for their nodes."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..data import registry_data
from ..mappings import Form as Form
from ..mappings import Limit as Limit
from ..mappings import Operation as Operation
from ..mappings import Signature as Signature
from ..mappings import Step as Step
from ..registry import operator_name


def operation(interface: str, name: str, domain: str = "") -> Operation | None:
    """An operation by name; None if it is unknown."""
    return _operations().get((interface, domain, name))


def operations(interface: str) -> tuple[Operation, ...]:
    """All operations of an interface, in the order of the registry."""
    return tuple(one for one in _operations().values() if one.interface == interface)


def named(name: str) -> tuple[Operation, ...]:
    """The operations of any interface with that name, in any spelling; if there are none, those whose names
    contain it, shortest first.
    """
    plain = "".join(char for char in name if char.isalnum()).lower()
    found = tuple(one for one in _operations().values() if one.name.lower() == plain)
    if found or len(plain) < 3:
        return found
    longer = (one for one in _operations().values() if plain in one.name.lower())
    return tuple(sorted(longer, key=lambda one: len(one.name)))


def of(operator: str) -> tuple[Operation, ...]:
    """The operations whose mapping uses a DirectML operator; KeyError for an unknown operator."""
    name = operator_name(operator)
    return tuple(one for one in _operations().values() if name in one.operators)


def directmlx(operator: str) -> tuple[str, ...]:
    """The functions of DirectMLX.h that make a DirectML operator; KeyError for an unknown operator."""
    return tuple(data()["directmlx"].get(operator_name(operator), ()))


def without_domain(domain: str) -> str:
    """Why nothing in one of ONNX's domains has a counterpart; "" if something does."""
    return str(data()["domains"].get(domain, ""))


def data() -> dict[str, Any]:
    """The registry's counterparts as JSON values."""
    value: dict[str, Any] = registry_data()["counterparts"]
    return value


@cache
def _operations() -> dict[tuple[str, str, str], Operation]:
    found = (_operation(one) for one in data()["operations"])
    return {(one.interface, one.domain, one.name): one for one in found}


def _operation(value: dict[str, Any]) -> Operation:
    return Operation(**{**value, "signatures": tuple(_signature(one) for one in value["signatures"])})


def _signature(value: dict[str, Any]) -> Signature:
    read: dict[str, Any] = {
        **value,
        **{name: tuple(value[name]) for name in ("inputs", "outputs", "ignored")},
        "limits": tuple(Limit(**one) for one in value["limits"]),
        "forms": tuple(_form(one) for one in value["forms"]),
        "infers": {name: tuple(pair) for name, pair in value["infers"].items()},
    }
    return Signature(**read)


def _form(value: dict[str, Any]) -> Form:
    return Form(
        when=value["when"],
        let=value["let"],
        tensors={name: tuple(pair) for name, pair in value["tensors"].items()},
        steps=tuple(Step(**one) for one in value["steps"]),
    )
