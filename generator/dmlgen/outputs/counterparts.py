"""The page of counterparts of DirectML's operators in other interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import walk_through
from dmlgen.expr.mapping import FUNCTIONS, VIEWS
from dmlgen.mappings import Operation, Signature
from dmlgen.outputs.render import Templates
from dmlgen.registry import Counterparts, Operator, Registry
from dmlgen.text import NO_TEXT

ROWS_AND_COLUMNS = ("GEMM",)  # operators on the last two dimensions, one batch after the other


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The page, by path below generated/."""
    known = registry.counterparts
    page = templates.render(
        "docs/counterparts.md.j2",
        onnx=rows(known, "onnx"),
        webnn=rows(known, "webnn"),
        operators=[_reverse(known, operator) for operator in registry.operators],
        differences=list(_differences(registry)),
        views=VIEWS,
        functions=FUNCTIONS,
    )
    return {"counterparts.md": page}


def takes_leading_ones(operator: Operator) -> bool:
    """Whether all tensors can get the same leading sizes of 1 if members that index dimensions are adjusted.

    That is so if each element is computed from those at its own position, or if dimensions are given by
    index.
    """
    if operator.name in ROWS_AND_COLUMNS:
        return True
    arrays = [member for member in operator.attributes if member.count]
    if any(member.name not in operator.axes for member in arrays):
        return False
    if operator.axes:
        return True
    if operator.defines is None or operator.defines.tensors:
        return False
    nodes = [node for expression in operator.defines.whole for node in walk_through(expression)]
    loads = [node for node in nodes if isinstance(node, ir.Load)]
    own_place = all(isinstance(node.coordinate, ir.Local) and node.coordinate.name == "at" for node in loads)
    return own_place and bool(loads) and not any(isinstance(node, ir.Field) for node in nodes)


@dataclass(frozen=True)
class Row:
    """An operation in its newest version: the operators of each form, the text for none, and limits."""

    name: str
    forms: tuple[tuple[str, ...], ...]
    instead: str
    limits: str


@dataclass(frozen=True)
class Reverse:
    """An operator with its counterparts in other interfaces, or why they have none."""

    name: str
    onnx: str
    webnn: str
    directmlx: str


@dataclass(frozen=True)
class Difference:
    """A difference between the registry and what ONNX Runtime's provider registers."""

    name: str
    what: str
    reading: str


def named(domain: str, name: str) -> str:
    """An operation as named on a page: with its domain, unless that is ONNX's own."""
    return f"{domain}.{name}" if domain else name


def rows(known: Counterparts, interface: str) -> list[Row]:
    """The operations of an interface."""
    return [_row(one) for one in known.operations if one.interface == interface]


def _row(counterpart: Operation) -> Row:
    newest = counterpart.signatures[0]
    forms = dict.fromkeys(tuple(step.operator for step in form.steps) for form in newest.forms)
    instead = "what its definition by other operations has" if newest.expands else ""
    if newest.host:
        instead = f"none needed: {newest.host}"
    if newest.none:
        instead = f"none: {newest.none}"
    limits = [limit.because for limit in newest.limits]
    limits += [counterpart.note] if counterpart.note else []
    return Row(named(counterpart.domain, counterpart.name), tuple(forms), instead, "; ".join(limits))


def _reverse(known: Counterparts, operator: Operator) -> Reverse:
    def listed(interface: str, names: Iterable[str]) -> str:
        found = ", ".join(names)
        return found or f"none: {known.without.get(interface, {}).get(operator.name, NO_TEXT).plain}"

    users = known.of(operator.name)
    return Reverse(
        operator.name,
        listed("onnx", (named(one.domain, one.name) for one in users if one.interface == "onnx")),
        listed("webnn", (one.name for one in users if one.interface == "webnn")),
        listed("directmlx", known.directmlx.get(operator.name, ())),
    )


def _differences(registry: Registry) -> Iterator[Difference]:
    """Differences by name: operators only registered, only mapped, or for different types."""
    known = registry.counterparts
    mapped = {(one.domain, one.name): one for one in known.operations if one.interface == "onnx"}
    registered = {(one.domain, one.name): one for one in known.registrations}
    for key in sorted(mapped.keys() | registered.keys()):
        one, other = mapped.get(key), registered.get(key)
        signature = one.signatures[0] if one else None
        name, reading = named(*key), other.reading.plain if other else ""
        if other is None:
            if signature and signature.forms:
                yield Difference(name, "mapped here, not registered there", reading)
        elif signature is None or signature.none:
            yield Difference(name, "registered there, not mapped here", reading)
        elif other.types is not None and signature.forms:
            own = _types(registry, signature)
            there = [type_ for type_ in other.types if type_ not in own]
            here = [f"{type_} (from {level})" for type_, level in own.items() if type_ not in other.types]
            parts = [f"only there: {', '.join(there)}"] if there else []
            parts += [f"only here: {', '.join(here)}"] if here else []
            if parts:
                yield Difference(name, "; ".join(parts), reading)


def _types(registry: Registry, signature: Signature) -> dict[str, str]:
    """The data types of the first tensor of each form, with the lowest feature levels that support them."""
    found: dict[str, str] = {}
    for form in signature.forms:
        operator = registry.operator[form.steps[0].operator]
        first = next(tensor for tensor in operator.tensors if tensor.name in form.steps[0].desc)
        for level, rows in operator.support.items():
            for type_ in (type_ for row in rows if row.tensor == first.name for type_ in row.types):
                known = registry.level[found.get(type_, level)]
                found[type_] = min(known, registry.level[level], key=lambda one: one.ordinal).name
    return found
