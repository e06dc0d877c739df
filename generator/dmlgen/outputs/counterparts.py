"""What other interfaces have for DirectML's operators: as JSON for the Python package, and as a page."""

from __future__ import annotations

import json
from typing import Any

from dmlgen.banner import banner
from dmlgen.expr import ir
from dmlgen.outputs.python import axes_of
from dmlgen.outputs.render import Templates
from dmlgen.registry import Between, Counterpart, CounterpartForm, Operator, Registry, Signature

ROWS_AND_COLUMNS = ("GEMM",)  # operators of the last two dimensions, one batch after the other


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The files, by path below generated/."""
    known = registry.counterparts
    value = {
        "$comment": banner("specs/"),
        "operations": [_plain(one) for one in known.operations],
        "activations": {
            one.name: {"operator": one.operator, "members": one.members, "fixed": one.fixed}
            for one in known.activations
        },
        "data_types": {str(number): name for name, number in known.data_types.items()},
        "domains": {name: reason.plain for name, reason in known.domains.items()},
        "directmlx": known.directmlx,
        "leading_ones": [operator.name for operator in registry.operators if takes_leading_ones(operator)],
    }
    page = templates.render("docs/counterparts.md.j2", known=known, registry=registry, versions=_versions)
    return {
        "python/dmlops/counterparts/counterparts.json": (json.dumps(value, indent=1) + "\n").encode(),
        "counterparts.md": page,
    }


def takes_leading_ones(operator: Operator) -> bool:
    """Whether all tensors may get the same leading sizes of 1 while members that number dimensions go up by
    as many: where each element is computed from those at its own place, or dimensions are told by number."""
    if operator.name in ROWS_AND_COLUMNS:
        return True
    arrays = [member for member in operator.attributes if member.count]
    if any(member.name not in axes_of(operator) for member in arrays):
        return False
    if axes_of(operator):
        return True
    compute = operator.compute
    if compute is None or compute.kernel != "map" or compute.place is not None:
        return False
    nodes = [node for expression in compute.expressions for node in ir.walk(expression)]
    nodes += [node for definition in compute.definitions for node in ir.walk(definition.value)]
    loads = [node for node in nodes if isinstance(node, ir.Load)]
    own_place = all(isinstance(node.coordinate, ir.Local) and node.coordinate.name == "at" for node in loads)
    return own_place and bool(loads) and not any(isinstance(node, ir.Field) for node in nodes)


def _versions(counterpart: Counterpart, number: int) -> str:
    """The versions of a signature, as in "13 on"; "" where there is one for all."""
    one = counterpart.signatures[number]
    if len(counterpart.signatures) == 1:
        return ""
    return f"{one.first} on" if one.last is None else f"{one.first} to {one.last}"


def _plain(counterpart: Counterpart) -> dict[str, Any]:
    """The counterpart as JSON has it."""
    return {
        "interface": counterpart.interface,
        "domain": counterpart.domain,
        "name": counterpart.name,
        "signatures": [_signature(one) for one in counterpart.signatures],
        "note": counterpart.note.plain,
    }


def _signature(one: Signature) -> dict[str, Any]:
    return {
        "first": one.first,
        "last": one.last,
        "inputs": one.inputs,
        "outputs": one.outputs,
        "attributes": one.attributes,
        "ignored": one.ignored,
        "let": one.let,
        "limits": [{"when": limit.when, "says": limit.says.plain} for limit in one.limits],
        "forms": [_form(form) for form in one.forms],
        "infers": _pairs(one.infers),
        "none": one.none.plain,
        "host": one.host.plain,
        "expands": one.expands,
    }


def _form(form: CounterpartForm) -> dict[str, Any]:
    steps = [{"operator": step.operator, "desc": step.desc, "over": step.over} for step in form.steps]
    return {"when": form.when, "let": form.let, "tensors": _pairs(form.tensors), "steps": steps}


def _pairs(tensors: tuple[Between, ...]) -> dict[str, tuple[str, str]]:
    return {one.name: (one.type, one.sizes) for one in tensors}
