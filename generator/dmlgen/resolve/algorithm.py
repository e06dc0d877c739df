"""The `compute` section of a spec that names an algorithm of the catalog and gives each role a value."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen import written
from dmlgen.catalog import ALGORITHMS, KINDS, Algorithm, Role
from dmlgen.diagnostics import fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.parse import Scope, parse
from dmlgen.registry import AlgorithmUse, Member
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.source import Scalar

_TYPES = {"int": ir.INT, "bool": ir.BOOL}


def resolve_algorithm(node: written.Algorithm, members: Mapping[str, Member], scope: Scope) -> AlgorithmUse:
    """The computation that a spec requests by name."""
    name = node.algorithm
    check_known(name, ALGORITHMS, f"there is no algorithm {name.value!r}")
    algorithm = ALGORITHMS[name.value]
    given = _given(node, algorithm)
    faults = Faults()
    roles: dict[str, ir.Expr] = {}
    for role, wanted in algorithm.roles.items():
        with faults:
            one = given[role]
            if wanted.kind in _TYPES:
                roles[role] = parse(str(one.value), scope, one.at, _TYPES[wanted.kind])
            else:
                roles[role] = _tensor(one, wanted, members)
    faults.stop()
    output = roles.pop("output")
    assert isinstance(output, ir.Tensor)
    return AlgorithmUse(name.value, output.name, roles)


def _given(node: written.Algorithm, algorithm: Algorithm) -> dict[str, Scalar[str | int | bool]]:
    """The spec's expression for each role of the algorithm."""
    faults = Faults()
    given: dict[str, Scalar[str | int | bool]] = {}
    absent = algorithm.roles.keys() - {key.value for key in node.roles}
    misspelt: set[str | None] = set()
    name = node.algorithm
    for key, value in node.roles.items():
        role = key.value
        if role not in algorithm.roles:
            misspelt.add(nearest(role, absent))
            message = f"{name.value} has no role {role!r}; it has {', '.join(algorithm.roles)}"
            faults.report(key.position, "unknown-key", message, nearest(role, absent))
        elif isinstance(value, Scalar):
            given[role] = value
        else:
            message = f"{KINDS[algorithm.roles[role].kind]} is expected"
            faults.report(node.place(role), "wrong-type", message)
    for role, wanted in algorithm.roles.items():
        if role in absent - misspelt:
            message = f"{name.value} needs {role!r}: {wanted.meaning}"
            faults.report(name.position, "missing-key", message)
    faults.stop()
    return given


def _tensor(given: Scalar[str | int | bool], role: Role, members: Mapping[str, Member]) -> ir.Tensor:
    tensors = {
        member.name: member
        for member in members.values()
        if member.role == role.kind and member.is_tensor and member.count is None
    }
    name = str(given.value)
    check_known(given, tensors, f"{name!r} is not {KINDS[role.kind]}; the role is {role.meaning}")
    if tensors[name].optional and not role.optional:
        raise fault(given.position, "wrong-value", f"{name} may be absent; the role is {role.meaning}")
    return ir.Tensor(name)
