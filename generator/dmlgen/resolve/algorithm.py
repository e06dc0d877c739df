"""The `compute` section of a spec that names an algorithm of the catalog and gives each role a value."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen import written
from dmlgen.catalog import ALGORITHMS, KINDS, Algorithm, Role
from dmlgen.diagnostics import fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.define import Definer, varies
from dmlgen.expr.definition_queries import free_locals
from dmlgen.registry import AlgorithmUse, Definition, Member, Rule, Support
from dmlgen.resolve.definition import unused_names
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.resolve.lengths import Lengths, combinations
from dmlgen.source import Scalar

_TYPES = {"int": ir.INT, "bool": ir.BOOL, "coordinate": ir.INTS}


def resolve_algorithm(
    node: written.Algorithm,
    file: str,
    members: Mapping[str, Member],
    resolved: tuple[Rule, ...],
    support: Mapping[str, tuple[Support, ...]],
    definer: Definer,
) -> AlgorithmUse:
    """The computation that a spec requests by name; `file` is the operator's own."""
    name = node.algorithm
    check_known(name, ALGORITHMS, f"there is no algorithm {name.value!r}")
    algorithm = ALGORITHMS[name.value]
    given = _given(node, algorithm)
    faults = Faults()
    roles: dict[str, ir.Expr] = {}
    for role, wanted in algorithm.roles.items():
        with faults:
            roles[role] = (
                _tensor(given[role], wanted, members)
                if wanted.kind in ("input", "output")
                else _number(given[role], wanted, definer)
            )
    unused_names(file, node.let, definer.used, [*node.let.values(), *given.values()], faults)
    faults.stop()
    tensors = {role: value.name for role, value in roles.items() if isinstance(value, ir.Tensor)}
    every = combinations(members, resolved, support)
    names: dict[str, ir.Expr] = {}
    target = None
    for role, wanted in algorithm.roles.items():
        with faults:
            if wanted.kind not in ("input", "output"):
                roles[role] = _named(given[role], roles[role], names)
            if wanted.kind == "coordinate":
                target = _checked_target(given[role], wanted, roles.pop(role), tensors, every)
    faults.stop()
    del roles["output"]
    definitions = tuple(Definition(*one) for one in names.items())
    return AlgorithmUse(name.value, tensors["output"], definitions, target, roles)


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
            faults.report(key.position, "unknown-key", message, nearest(role, [*absent, "let"]))
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


def _number(given: Scalar[str | int | bool], role: Role, definer: Definer) -> ir.Expr:
    found = definer.parse(str(given.value), given.at, _TYPES[role.kind])
    if role.kind != "coordinate" and (varies(found) or "at" in free_locals(found)):
        raise fault(given.position, "expression-type", f"this is not {KINDS[role.kind]}")
    return found


def _named(given: Scalar[str | int | bool], value: ir.Expr, names: dict[str, ir.Expr]) -> ir.Expr:
    """A number or a coordinate, with its names, which are collected, each after those it uses."""
    found: dict[ir.Expr, ir.Expr] = {}
    for node in ir.walk(value):
        match node:
            case ir.Apply(function=ir.Function(name=name, parameters=(), body=body)):
                names[name] = names.get(name) or _named(given, body, names)
                found[node] = ir.Definition(name, names[name])
            case ir.Apply() | ir.Reduce(over_elements=True):
                message = (
                    "algorithms compute this of `at`, sizes and indices: no loops over elements, no functions"
                )
                raise fault(given.position, "expression-form", message)
    return ir.substitute(value, found)


def _checked_target(
    given: Scalar[str | int | bool],
    role: Role,
    value: ir.Expr,
    tensors: Mapping[str, str],
    every: list[Lengths],
) -> ir.Expr:
    """A coordinate with one entry per dimension of its tensor, computed from elements of one other tensor."""
    into, over, reads = tensors[role.into], tensors[role.over], tensors[role.reads]
    for one in every:
        lengths = one.with_locals({"at": one.counts[over]})
        for _, misfit in lengths.misfits(value):
            raise fault(given.position, "coordinate-length", misfit)
        length, rank = lengths.certain(value), one.counts[into]
        if length not in (None, rank):
            message = f"{into} has {rank} dimensions, and this is a list of {length}"
            raise fault(given.position, "coordinate-length", message)
    found = {node.tensor.name for node in ir.walk(value) if isinstance(node, ir.Load)}
    if found != {reads}:
        message = (
            f"this reads {', '.join(sorted(found)) or 'nothing'}; elements of {reads} alone are expected"
        )
        raise fault(given.position, "wrong-value", message)
    return value
