"""The `compute` section of a spec that names an algorithm of the catalogue, with a value for each role."""

from __future__ import annotations

from collections.abc import Mapping as Map

from dmlgen.catalogue import ALGORITHMS, KINDS, Algorithm, Role
from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.define import Definer, varies
from dmlgen.expr.defined import free_locals
from dmlgen.expr.ranks import Counts, Lengths
from dmlgen.registry import Compute, Member, Rule, Support
from dmlgen.resolve.definition import definer_of, dimension_counts, unused_names
from dmlgen.resolve.nodes import Faults, fault, mapping, required
from dmlgen.schedules.cases import TooLarge, written
from dmlgen.schedules.elements import InElements, Unfit
from dmlgen.source import Mapping, Scalar

_TYPES = {"int": ir.INT, "bool": ir.BOOL, "coordinate": ir.INTS}


def resolve_algorithm(
    node: Mapping,
    members: Map[str, Member],
    resolved: tuple[Rule, ...],
    support: Map[str, tuple[Support, ...]],
    definer: Definer,
) -> Compute:
    """The computation that a spec asks for by name."""
    compute = mapping(node, "compute")
    name = required(compute, "algorithm")
    algorithm = ALGORITHMS.get(str(name.value))
    if algorithm is None:
        message = f"there is no algorithm {name.value!r}"
        raise fault(name.position, "unknown-name", message, nearest(str(name.value), ALGORITHMS))
    given = _given(compute, name, algorithm)
    faults = Faults()
    roles: dict[str, ir.Expr] = {}
    for role, wanted in algorithm.roles.items():
        with faults:
            roles[role] = (
                _tensor(given[role], wanted, members)
                if wanted.kind in ("input", "output")
                else _number(given[role], wanted, definer)
            )
    faults.stop()
    unused_names(node, definer, faults)
    tensors = {role: value.name for role, value in roles.items() if isinstance(value, ir.Tensor)}
    elements, place = InElements(definer.scope.elements), None
    for role, wanted in algorithm.roles.items():
        with faults:
            if wanted.kind == "coordinate":
                counts = dimension_counts(members, resolved, support)
                place = _coordinate(given[role], wanted, roles.pop(role), tensors, elements, counts)
    faults.stop()
    del roles["output"]
    return Compute(
        kernel=str(name.value),
        output=tensors["output"],
        over=tensors["output"],
        definitions=elements.definitions,
        value=None,
        place=place,
        roles=roles,
        steps=(),
    )


def _given(compute: Mapping, name: Scalar, algorithm: Algorithm) -> dict[str, Scalar]:
    """What the spec gives for each role that the algorithm has."""
    faults = Faults()
    given = {entry.name: entry for entry in compute.entries if entry.name not in ("algorithm", "let")}
    absent = [role for role in algorithm.roles if role not in given]
    misspelt: set[str | None] = set()
    for role, entry in given.items():
        if role not in algorithm.roles:
            misspelt.add(nearest(role, absent))
            message = f"{name.value} has no role {role!r}; it has {', '.join(algorithm.roles)}"
            with faults:
                raise fault(entry.key.position, "unknown-key", message, nearest(role, absent))
    for role in absent:
        if role not in misspelt:
            message = f"{name.value} needs {role!r}: {algorithm.roles[role].meaning}"
            with faults:
                raise fault(name.position, "missing-key", message)
    faults.stop()
    return {role: required(compute, role) for role in given}


def _tensor(given: Scalar, role: Role, members: Map[str, Member]) -> ir.Tensor:
    tensors = {
        member.name: member
        for member in members.values()
        if member.role == role.kind and member.is_tensor and member.count is None
    }
    name = str(given.value)
    if name not in tensors:
        message = f"{name!r} is not {KINDS[role.kind]}; the role is {role.meaning}"
        raise fault(given.position, "unknown-name", message, nearest(name, tensors))
    if tensors[name].optional and not role.optional:
        raise fault(given.position, "wrong-value", f"{name} may be absent; the role is {role.meaning}")
    return ir.Tensor(name)


def _number(given: Scalar, role: Role, definer: Definer) -> ir.Expr:
    found = definer.parse(str(given.value), given.at, _TYPES[role.kind])
    if role.kind != "coordinate" and (varies(found) or "at" in free_locals(found)):
        raise fault(given.position, "expression-type", f"this is not {KINDS[role.kind]}")
    if role.kind == "coordinate":
        return found
    try:
        return written(found, {})
    except TooLarge:
        raise fault(given.position, "expression-size", "with all names written out this is too long") from None


def _coordinate(
    given: Scalar,
    role: Role,
    value: ir.Expr,
    tensors: Map[str, str],
    elements: InElements,
    counts: list[Counts],
) -> ir.Expr:
    """A coordinate as kernels compute it; `tensors` gives those of the roles that it names."""
    for combination in counts:
        lengths, known = Lengths(combination, {}), {"at": combination.ranks.get(tensors[role.over])}
        for misfit in lengths.misfits(value, known):
            raise fault(given.position, "coordinate-length", misfit)
        length, rank = lengths.length(value, known), combination.ranks.get(tensors[role.into])
        if length is not None and rank is not None and length != rank:
            message = f"{tensors[role.into]} has {rank} dimensions, and this is a list of {length}"
            raise fault(given.position, "coordinate-length", message)
    try:
        found = elements.of(value)
    except Unfit:
        message = "a place is made of `at`, sizes and indices: no loops over elements, no functions"
        raise fault(given.position, "expression-form", message) from None
    read = {node.tensor.name for node in ir.walk(found) if isinstance(node, ir.Load)}
    if read != {tensors[role.reads]}:
        message = f"this reads {', '.join(sorted(read)) or 'nothing'}, not {tensors[role.reads]} alone"
        raise fault(given.position, "wrong-value", message)
    return found
