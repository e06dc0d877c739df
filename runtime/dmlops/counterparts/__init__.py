"""The counterparts of DirectML's operators in ONNX, WebNN and DirectMLX, and descriptions for their nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..data import registry_data
from ..registry import operator_name


@dataclass(frozen=True, slots=True)
class Limit:
    """A feature that cannot be mapped if `when` holds; "" if a node alone cannot tell."""

    when: str
    because: str


@dataclass(frozen=True, slots=True)
class Step:
    """One operator, with an expression for each member. `over`: repeated for each further tensor of that
    input. `when`: left out if that does not hold.
    """

    operator: str
    desc: Mapping[str, str]
    over: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A sequence of operators, used if `when` holds; `tensors` are the intermediate ones: data type and
    sizes.
    """

    when: str
    let: Mapping[str, str]
    tensors: Mapping[str, tuple[str, str]]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """An operation in versions `first` to `last` (None: up to the newest) of its operator set.

    Names of inputs and outputs end in "?" if they are optional, in "*" if there can be several. `infers` has
    the data type and sizes of outputs that nothing else infers. `none` says why no operator computes it,
    `host` why none is needed; `expands`: the standard defines it in terms of other operations.
    """

    first: int
    last: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    ignored: tuple[str, ...]
    let: Mapping[str, str]
    limits: tuple[Limit, ...]
    forms: tuple[Form, ...]
    infers: Mapping[str, tuple[str, str]]
    none: str
    host: str
    expands: bool

    @property
    def operators(self) -> tuple[str, ...]:
        """The DirectML operators of all forms, without duplicates."""
        return tuple(dict.fromkeys(step.operator for form in self.forms for step in form.steps))


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of "onnx" or "webnn", newest signature first; `domain` is "" for ONNX's own operators."""

    interface: str
    domain: str
    name: str
    signatures: tuple[Signature, ...]
    note: str

    @property
    def operators(self) -> tuple[str, ...]:
        """The DirectML operators that compute it, without duplicates."""
        return tuple(dict.fromkeys(name for one in self.signatures for name in one.operators))

    def signature(self, version: int) -> Signature | None:
        """Its signature in a version of its operator set; None before the first known version."""
        return next((one for one in self.signatures if one.first <= version <= (one.last or version)), None)


def operation(interface: str, name: str, domain: str = "") -> Operation | None:
    """An operation by name; None if it is unknown."""
    return _operations().get((interface, domain, name))


def operations(interface: str) -> tuple[Operation, ...]:
    """All operations of an interface, in the order of the registry."""
    return tuple(one for one in _operations().values() if one.interface == interface)


def named(name: str) -> tuple[Operation, ...]:
    """The operations of any interface with that name, in any spelling."""
    plain = "".join(char for char in name if char.isalnum()).lower()
    return tuple(one for one in _operations().values() if one.name.lower() == plain)


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
