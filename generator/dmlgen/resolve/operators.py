"""One operator's file to an operator of the registry."""

from __future__ import annotations

import math
from collections.abc import Mapping as Map
from dataclasses import replace
from pathlib import Path
from typing import cast

from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.cost import MAX_RULES_COST, cost_of_check
from dmlgen.expr.parse import Scope
from dmlgen.registry import (
    AlgorithmUse,
    DataRequirement,
    Definition,
    Erratum,
    Example,
    FeatureLevel,
    Inference,
    Member,
    Operator,
    OutputDefinitions,
    Provenance,
    Rule,
    Support,
    TensorData,
)
from dmlgen.resolve import rules
from dmlgen.resolve.algorithm import resolve_algorithm
from dmlgen.resolve.defaults import Default, resolve_defaults
from dmlgen.resolve.definition import definer_of, resolve_definition
from dmlgen.resolve.general import General, check_counts
from dmlgen.resolve.nodes import (
    Faults,
    fault,
    free_text,
    integer,
    mapping,
    mappings,
    place,
    required,
    scalars,
    text,
)
from dmlgen.schedules import schedule_of
from dmlgen.schedules.contraction import recognise
from dmlgen.schedules.described import Described
from dmlgen.schedules.schedule import Contraction, Schedule, schedule_of_algorithm
from dmlgen.source import Mapping, Scalar, Sequence
from dmlgen.text import Text


def resolve_operator(general: General, node: Mapping, path: Path) -> Operator:
    """The operator that a file describes; SpecError with all faults of the file."""
    faults = Faults()
    name, since = text(node, "operator"), general.since(node)
    if path.stem != name.lower():
        with faults:
            message = f"the file of {name} is named {path.name}; {name.lower()}.yaml is expected"
            raise fault(place(node, "operator"), "file-name", message)
    members = _members(general, node, faults)
    faults.stop()  # without members, most names would be unknown
    tensors = {member.name: member for member in members.values() if member.is_tensor}
    scope = general.scope({member.name: _name(general, node, member) for member in members.values()})
    scope, definitions, resolved, inferences = _rules(general, node, name, scope, tensors, faults)
    support: Map[str, tuple[Support, ...]] = {}
    defines: OutputDefinitions | None = None
    algorithm: AlgorithmUse | None = None
    schedule: Schedule | None = None
    contraction: Contraction | None = None
    defaults: Map[str, Default] = {}
    in_place: tuple[str, ...] = ()
    fused_into: dict[str, FeatureLevel] = {}
    examples: list[Example] = []
    data: list[DataRequirement] = []
    with faults:
        support = _support(general, mapping(node, "support"), tensors, since, scope)
    with faults:
        computed = mapping(node, "compute")
        if computed.entries:
            kinds = {e.name: e.kind for e in general.enums["TENSOR_DATA_TYPE"].entries if e.kind is not None}
            definer = definer_of(computed, members, resolved, support, kinds, scope)
            if computed.get("algorithm") is not None:
                algorithm = resolve_algorithm(node, members, resolved, support, definer)
                schedule = schedule_of_algorithm(algorithm)
            else:
                defines = resolve_definition(node, members, resolved, support, definer)
                described = Described(members, inferences, support, general.enums)
                schedule = schedule_of(defines, described)
                contraction = recognise(defines, described) if schedule is None else None
    with faults:
        defaults = resolve_defaults(general, mapping(node, "defaults"), members)
    with faults:
        in_place = _in_place(node, tensors)
    with faults:
        fused_into = _fused_into(general, mapping(node, "fused_into"), since)
    for item in mappings(node, "examples"):
        with faults:
            examples.append(_example(general, item, members))
    for free in scalars(node, "free"):
        with faults:
            if free.value not in members:
                message = f"{free.value!r} is not a member"
                raise fault(free.position, "unknown-name", message, nearest(str(free.value), members))
    for item in mappings(node, "data"):
        with faults:
            rules.known_tensor(required(item, "tensor"), tensors)
            data.append(DataRequirement(text(item, "id"), text(item, "tensor"), free_text(item, "text")))
    faults.stop()
    return Operator(
        name=name,
        alias=text(node, "alias"),
        family=path.parent.name,
        value=integer(node, "value"),
        since=since,
        struct_since=general.level_at(node, "struct_since") or since,
        summary=free_text(node, "summary"),
        page=text(node, "page"),
        in_place=in_place,
        fused_into=fused_into,
        members=tuple(members.values()),
        defaults=defaults,
        free=tuple(str(item.value) for item in scalars(node, "free")),
        definitions=definitions,
        rules=resolved,
        inferences=inferences,
        support=support,
        defines=defines,
        algorithm=algorithm,
        schedule=schedule,
        contraction=contraction,
        examples=tuple(examples),
        data=tuple(data),
        errata=tuple(erratum(item) for item in mappings(node, "errata")),
        position=place(node, "operator"),
        places={entry.name: entry.key.position for entry in node.entries},
    )


def erratum(node: Mapping) -> Erratum:
    """One erratum."""
    return Erratum(
        where=free_text(node, "where"),
        says=free_text(node, "says"),
        holds=free_text(node, "holds"),
        source=cast(Provenance, text(node, "source")),
        stated=tuple(Text(str(item.value)) for item in scalars(node, "stated")),
        position=node.position,
    )


def _members(general: General, node: Mapping, faults: Faults) -> dict[str, Member]:
    members: dict[str, Member] = {}
    listed = mapping(node, "members")
    for entry in listed.entries:
        with faults:
            members[entry.name] = general.member(entry)
            if not members[entry.name].is_tensor:
                general.expression_type(members[entry.name], mapping(listed, entry.name))
    for name, member in members.items():
        if member.typed_by is not None and not (
            member.typed_by in members and members[member.typed_by].type in ("tensor", "TENSOR_DATA_TYPE")
        ):
            with faults:
                message = (
                    f"{name} is typed by {member.typed_by}, which is neither tensor nor data type member"
                )
                where = place(mapping(listed, name), "of")
                raise fault(where, "unknown-name", message, nearest(member.typed_by, members))
    check_counts(listed, members.values(), faults)
    return members


def _name(general: General, node: Mapping, member: Member) -> ir.Expr:
    """What the member's name stands for in an expression."""
    if member.is_tensor:
        return ir.Tensors(member.name) if member.count else ir.Tensor(member.name)
    type_ = general.expression_type(member, node)
    return ir.Member(member.name, type_, signed=member.type == "INT")


def _rules(
    general: General,
    node: Mapping,
    operator: str,
    scope: Scope,
    tensors: Map[str, Member],
    faults: Faults,
) -> tuple[Scope, tuple[Definition, ...], tuple[Rule, ...], tuple[Inference, ...]]:
    """The operator's rules; the scope grows by the names that `let` and `shape` define."""
    definitions: tuple[Definition, ...] = ()
    with faults:
        scope, definitions = rules.define(mapping(node, "let"), scope)
    resolved: dict[str, Rule] = {}
    inferences: list[Inference] = []
    for item in mappings(node, "rules"):
        with faults:
            if item.get("shape") is not None:
                scope, named = rules.name_dimensions(item, scope, tensors)
                definitions += named
            rule, inferred = rules.operator_rule(general, item, operator, scope, tensors)
            if rule.slug in resolved:
                message = f"two rules have the id {rule.slug}; the first is at {resolved[rule.slug].position}"
                raise fault(place(item, "id"), "duplicate-rule", message)
            resolved[rule.slug] = rule
            inferences += inferred
    for statement in scalars(node, "infers"):
        with faults:
            default = rules.infers(general, statement, scope, tensors)
            inferences.append(replace(default, demanded=False))
    with faults:
        checks = [check for rule in resolved.values() for check in rule.checks]
        total = sum(cost_of_check(check.loops, check.condition) for check in checks)
        if total > MAX_RULES_COST:
            message = f"the rules together can take {total} steps; at most {MAX_RULES_COST} are allowed"
            raise fault(place(node, "rules"), "expression-size", message)
    return scope, definitions, tuple(resolved.values()), _that_can_apply(inferences)


def _that_can_apply(inferences: list[Inference]) -> tuple[Inference, ...]:
    """Those inferences that none before them always precedes."""
    found: list[Inference] = []
    settled: set[tuple[str, str]] = set()
    for one in inferences:
        if (one.tensor, one.field) not in settled:
            found.append(one)
            settled |= {(one.tensor, one.field)} if one.when is None else set()
    return tuple(found)


def _in_place(node: Mapping, tensors: Map[str, Member]) -> tuple[str, ...]:
    """The inputs whose buffer an output may share."""
    names: list[str] = []
    for item in scalars(node, "in_place"):
        member = rules.known_tensor(item, tensors)
        if member.role != "input":
            raise fault(item.position, "unknown-name", f"{member.name} is an output; inputs are expected")
        names.append(member.name)
    return tuple(names)


def _fused_into(general: General, node: Mapping, since: FeatureLevel) -> dict[str, FeatureLevel]:
    """The levels from which other operators take this one as activation."""
    levels: dict[str, FeatureLevel] = {}
    for entry in node.entries:
        level = general.level_at(node, entry.name)
        assert level is not None, "the schema has checked that there is one"
        if level.ordinal < since.ordinal:
            message = f"{entry.name} takes the operator from {level.name}, but it exists since {since.name}"
            raise fault(entry.value.position, "level-order", message)
        levels[entry.name] = level
    return levels


def _support(
    general: General, node: Mapping, tensors: Map[str, Member], since: FeatureLevel, scope: Scope
) -> dict[str, tuple[Support, ...]]:
    """The table of every level from `since` on: that of the newest block which is not above it."""
    blocks: dict[int, tuple[Support, ...]] = {}
    faults = Faults()
    for entry in node.entries:
        with faults:
            if entry.name not in general.level:
                message = f"there is no feature level {entry.name}"
                raise fault(entry.key.position, "unknown-level", message, nearest(entry.name, general.level))
            level = general.level[entry.name]
            if level.ordinal < since.ordinal:
                message = f"there is a table for {level.name}, but the operator is new in {since.name}"
                raise fault(entry.key.position, "support-level", message)
            rows: list[Support] = []
            assert isinstance(entry.value, Sequence)
            for row in entry.value.items:
                with faults:
                    assert isinstance(row, Mapping)
                    rows += _support_rows(general, row, tensors, scope)
            missing = [name for name in tensors if all(row.tensor != name for row in rows)]
            if missing and not faults:
                message = f"the table of {level.name} has no row for {', '.join(missing)}"
                raise fault(entry.key.position, "support-incomplete", message)
            blocks[level.ordinal] = tuple(rows)
    if since.ordinal not in blocks and not faults:
        message = f"the operator is new in {since.name}, but no table says what it supports there"
        raise fault(node.position, "support-incomplete", message)
    faults.stop()
    return {
        level.name: blocks[max(ordinal for ordinal in blocks if ordinal <= level.ordinal)]
        for level in general.levels[since.ordinal :]
    }


def _support_rows(general: General, row: Mapping, tensors: Map[str, Member], scope: Scope) -> list[Support]:
    faults = Faults()
    members: list[Member] = []
    with faults:
        members = rules.known_tensors(row, "tensors", tensors)
    types = [_data_type(general, item, faults) for item in scalars(row, "types")]
    if row.get("ranks") and isinstance(row.get("ranks"), Sequence):
        ranks = tuple(cast(int, item.value) for item in scalars(row, "ranks"))
    else:
        lower, _, upper = text(row, "ranks").partition("..")
        ranks = tuple(range(int(lower), int(upper or lower) + 1))
    if not ranks:
        with faults:
            raise fault(place(row, "ranks"), "empty-range", "this range of dimension counts is empty")
    faults.stop()
    when = None if row.get("when") is None else rules.expression(row.get("when"), scope, ir.BOOL)
    return [Support(member.name, ranks, tuple(types), when, row.position) for member in members]


def _data_type(general: General, node: Scalar, faults: Faults) -> str:
    name = str(node.value)
    known = [entry.name for entry in general.enums["TENSOR_DATA_TYPE"].entries if entry.bits]
    if name not in known:
        with faults:
            message = f"{name!r} is not a tensor data type"
            raise fault(node.position, "unknown-type", message, nearest(name, known))
    return name


def _example(general: General, node: Mapping, members: Map[str, Member]) -> Example:
    faults = Faults()
    plain = {name: member for name, member in members.items() if not member.is_tensor}
    for entry in mapping(node, "members").entries:
        if entry.name not in plain:
            with faults:
                message = f"{entry.name!r} is not a member other than a tensor"
                raise fault(entry.key.position, "unknown-name", message, nearest(entry.name, plain))
        elif isinstance(entry.value, Scalar) and isinstance(entry.value.value, str):
            with faults:
                _known_word(general, plain[entry.name], entry.value)
    tensors: dict[str, TensorData | tuple[TensorData, ...]] = {}
    known = {name: member for name, member in members.items() if member.is_tensor}
    given = mapping(node, "tensors")
    for entry in given.entries:
        with faults:
            is_list = isinstance(entry.value, Sequence)
            if bool(rules.known_tensor(entry.key, known).count) != is_list:
                kind, form = ("one tensor", "a mapping") if is_list else ("an array of tensors", "a list")
                message = f"{entry.name} is {kind}; {form} is expected"
                raise fault(entry.value.position, "example-form", message)
            if is_list:
                tensors[entry.name] = tuple(
                    _tensor_data(general, item, faults) for item in mappings(given, entry.name)
                )
            else:
                tensors[entry.name] = _tensor_data(general, mapping(given, entry.name), faults)
    faults.stop()
    return Example(text(node, "id"), free_text(node, "where"), mapping(node, "members").plain(), tensors)


def _known_word(general: General, member: Member, given: Scalar) -> None:
    """Raises SpecError unless a member's text is an enumerator, or a number that YAML has no form for."""
    enum = general.enums.get(member.type)
    if enum is None:
        known, expected = ["nan", "inf", "-inf"], "a number, nan, inf or -inf"
    else:
        known, expected = [entry.name for entry in enum.entries], f"a value of {enum.c_name}"
    if given.value not in known:
        message = f"{member.name} is {given.value!r}; {expected} is expected"
        raise fault(given.position, "unknown-name", message, nearest(str(given.value), known))


def _tensor_data(general: General, node: Mapping, faults: Faults) -> TensorData:
    sizes = tuple(cast(int, item.value) for item in scalars(node, "sizes"))
    type_ = _data_type(general, required(node, "type"), faults)
    if node.get("data") is None:
        return TensorData(type_, sizes, None)
    data = tuple(cast(float, item.value) for item in scalars(node, "data"))
    if len(data) != math.prod(sizes):
        message = f"{len(data)} values for sizes {list(sizes)}; {math.prod(sizes)} are expected"
        raise fault(place(node, "data"), "example-size", message)
    return TensorData(type_, sizes, data)
