"""Resolves one operator's file to an operator of the registry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dmlgen import written
from dmlgen.diagnostics import Position, fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.cost import MAX_RULES_COST, cost_of_check
from dmlgen.expr.parse import Scope
from dmlgen.registry import (
    AlgorithmUse,
    Definition,
    Erratum,
    Example,
    ExampleTensor,
    FeatureLevel,
    Inference,
    Member,
    Operator,
    OutputDefinitions,
    Rule,
    Support,
)
from dmlgen.resolve import rules
from dmlgen.resolve.algorithm import resolve_algorithm
from dmlgen.resolve.defaults import resolve_defaults
from dmlgen.resolve.definition import definer_of, resolve_definition
from dmlgen.resolve.faults import Faults, check_each, check_known, check_named
from dmlgen.resolve.general import General, check_counts
from dmlgen.source import Node, Scalar


def resolve_operator(general: General, node: written.Operator, path: Path) -> Operator:
    """The operator that a file describes; SpecError with all errors of the file."""
    faults = Faults()
    name, since = node.operator.value, node.since
    if path.stem != name.lower():
        message = f"the file of {name} is named {path.name}; {name.lower()}.yaml is expected"
        faults.report(node.operator.position, "file-name", message)
    members = _members(general, node.members, faults)
    faults.stop()  # without members, most names would be unknown
    tensors = {member.name: member for member in members.values() if member.is_tensor}
    scope = general.scope({member.name: _name(general, member) for member in members.values()})
    scope, definitions, resolved, inferences = _rules(general, node, scope, tensors, faults)
    support = faults.tried(lambda: _support(general, node, tensors, since, scope)) or {}
    inferences += tuple(_only_types(scope, members, support, inferences))
    computed = faults.tried(lambda: _computed(general, node, members, resolved, support, scope))
    defaults = faults.tried(lambda: resolve_defaults(general, node.defaults, members)) or {}
    in_place = faults.tried(lambda: _in_place(node.in_place, tensors)) or ()
    fusible_into = faults.tried(lambda: _fusible_into(general, node.fusible_into, since)) or {}
    examples = [faults.tried(partial(_example, general, example, members)) for example in node.examples]
    unconstrained = faults.tried(lambda: _unconstrained(node.unconstrained, members)) or ()
    for one in node.data_constraints:
        with faults:
            check_named(one.tensor, one.place("tensor"), tensors, f"{one.tensor!r} is not a tensor member")
    faults.stop()
    return Operator(
        name=name,
        alias="" if node.alias is None else node.alias.value,
        family=path.parent.name,
        value=node.value,
        since=since,
        struct_since=node.struct_since or since,
        summary=node.summary,
        page=node.page,
        in_place=in_place,
        fusible_into=fusible_into,
        integer_operators=tuple(item.value for item in node.integer_operators),
        members=tuple(members.values()),
        defaults=defaults,
        unconstrained=unconstrained,
        definitions=definitions,
        rules=resolved,
        inferences=inferences,
        support=support,
        defines=computed if isinstance(computed, OutputDefinitions) else None,
        algorithm=computed if isinstance(computed, AlgorithmUse) else None,
        examples=tuple(filter(None, examples)),
        data_constraints=node.data_constraints,
        errata=tuple(map(erratum, node.errata)),
        position=node.operator.position,
        places={entry.name: entry.key.position for entry in node.node.entries},
    )


def erratum(found: Erratum) -> Erratum:
    """The erratum; raises SpecError unless it states what a source does."""
    if bool(found.says) == bool(found.unspecified):
        raise fault(found.position, "erratum", "an erratum has either `says` or `unspecified`")
    return found


def _members(
    general: General, listed: Mapping[Scalar[str], written.Member], faults: Faults
) -> dict[str, Member]:
    members: dict[str, Member] = {}
    for key, node in listed.items():
        with faults:
            members[key.value] = general.member(key, node)
            if not members[key.value].is_tensor:
                general.expression_type(members[key.value], node.place("type"))
    for key, node in listed.items():
        selector = node.typed_by
        if selector is not None and not (
            selector.value in members and members[selector.value].type in ("tensor", "TENSOR_DATA_TYPE")
        ):
            message = (
                f"{key.value} is typed by {selector.value}, which is neither tensor nor data type member"
            )
            faults.report(selector.position, "unknown-name", message, nearest(selector.value, members))
    check_counts(listed, list(members.values()), faults)
    return members


def _name(general: General, member: Member) -> ir.Expr:
    """The expression that the member's name represents."""
    if member.is_tensor:
        return ir.Tensors(member.name) if member.count else ir.Tensor(member.name)
    type_ = general.expression_type(member, member.position)
    return ir.Member(member.name, type_, signed=member.type == "INT")


def _rules(
    general: General,
    node: written.Operator,
    scope: Scope,
    tensors: Mapping[str, Member],
    faults: Faults,
) -> tuple[Scope, tuple[Definition, ...], tuple[Rule, ...], tuple[Inference, ...]]:
    """The operator's rules; adds the names that `let` and `shape` define to the scope."""
    definitions: tuple[Definition, ...] = ()
    with faults:
        scope, definitions = rules.define(node.let, scope)
    resolved: dict[str, Rule] = {}
    inferences: list[Inference] = []
    for item in node.rules:
        with faults:
            if item.shape is not None:
                scope, named = rules.name_dimensions(item.shape, item.sizes, scope, tensors)
                definitions += named
            for name, one in rules.named(item):
                if name.value in resolved:
                    first = resolved[name.value].position
                    message = f"two rules have the id {name.value}; the first is at {first}"
                    raise fault(name.position, "duplicate-rule", message)
                rule, inferred = rules.operator_rule(general, name, one, node.operator.value, scope, tensors)
                resolved[rule.slug] = rule
                inferences += inferred
    for statement in node.default_outputs:
        with faults:
            default = rules.infers(general, statement, scope, tensors)
            inferences.append(replace(default, demanded=False))
    checks = [check for rule in resolved.values() for check in rule.checks]
    total = sum(cost_of_check(check.loops, check.condition) for check in checks)
    if total > MAX_RULES_COST:
        message = f"the rules together can take {total} steps; at most {MAX_RULES_COST} are allowed"
        faults.report(node.place("rules"), "expression-size", message)
    return scope, definitions, tuple(resolved.values()), _that_can_apply(inferences)


def _that_can_apply(inferences: list[Inference]) -> tuple[Inference, ...]:
    """Drops inferences that an earlier one always precedes."""
    found: list[Inference] = []
    settled: set[tuple[str, str]] = set()
    for one in inferences:
        if (one.tensor, one.field) not in settled:
            found.append(one)
            settled |= {(one.tensor, one.field)} if one.when is None else set()
    return tuple(found)


def _only_types(
    scope: Scope,
    members: Mapping[str, Member],
    support: Mapping[str, tuple[Support, ...]],
    inferences: Sequence[Inference],
) -> Iterator[Inference]:
    """The data types of outputs that no rule determines, and whose tables list one type at all levels."""
    determined = {one.tensor for one in inferences if one.field == "DataType"}
    for member in members.values():
        if member.role == "output" and member.name not in determined:
            rows = [row for rows in support.values() for row in rows if row.tensor == member.name]
            types = {type_ for row in rows for type_ in row.types}
            if len(types) == 1 and not member.count:
                (name,) = types
                value = ir.EnumValue(name, scope.enums["TENSOR_DATA_TYPE"][name], scope.fields["DataType"])
                yield Inference(member.name, "DataType", value)


def _computed(
    general: General,
    node: written.Operator,
    members: Mapping[str, Member],
    resolved: tuple[Rule, ...],
    support: Mapping[str, tuple[Support, ...]],
    scope: Scope,
) -> OutputDefinitions | AlgorithmUse | None:
    """The computation of an operator, if the spec has one."""
    if node.compute is None:
        return None
    if isinstance(node.compute, written.Algorithm):
        return resolve_algorithm(node.compute, members, scope)
    file = node.operator.position.file
    kinds = {e.name: e.kind for e in general.enums["TENSOR_DATA_TYPE"].entries if e.kind is not None}
    definer = definer_of(node.compute, members, resolved, support, kinds, scope)
    return resolve_definition(node.compute, file, members, resolved, support, definer)


def _unconstrained(listed: Sequence[Scalar[str]], members: Mapping[str, Member]) -> tuple[str, ...]:
    """The members whose values, or sizes, no rule restricts."""
    check_each(listed, members, "'{}' is not a member")
    return tuple(item.value for item in listed)


def _in_place(listed: Iterable[Scalar[str]], tensors: Mapping[str, Member]) -> tuple[str, ...]:
    """The inputs whose buffer an output may share."""
    names: list[str] = []
    for item in listed:
        member = rules.known_tensor(item, tensors)
        if member.role != "input":
            raise fault(item.position, "unknown-name", f"{member.name} is an output; inputs are expected")
        names.append(member.name)
    return tuple(names)


def _fusible_into(
    general: General, listed: Mapping[Scalar[str], Scalar[str]], since: FeatureLevel
) -> dict[str, FeatureLevel]:
    """The levels from which other operators accept this one as activation."""
    levels: dict[str, FeatureLevel] = {}
    for name, value in listed.items():
        level = general.level_at(value)
        if level.ordinal < since.ordinal:
            message = f"{name.value} takes the operator from {level.name}, but it exists since {since.name}"
            raise fault(value.position, "level-order", message)
        levels[name.value] = level
    return levels


def _support(
    general: General, node: written.Operator, tensors: Mapping[str, Member], since: FeatureLevel, scope: Scope
) -> dict[str, tuple[Support, ...]]:
    """The table of every level from `since` on: the newest block that is not above it."""
    blocks: dict[int, tuple[Support, ...]] = {}
    faults = Faults()
    for name, block in node.support.items():
        with faults:
            level = general.level_at(name)
            if level.ordinal < since.ordinal:
                message = f"there is a table for {level.name}, but the operator is new in {since.name}"
                raise fault(name.position, "support-level", message)
            rows: list[Support] = []
            for row in block:
                with faults:
                    rows += _support_rows(general, row, tensors, scope)
            missing = [name for name in tensors if all(row.tensor != name for row in rows)]
            if missing and not faults:
                message = f"the table of {level.name} has no row for {', '.join(missing)}"
                raise fault(name.position, "support-incomplete", message)
            blocks[level.ordinal] = tuple(rows)
    if since.ordinal not in blocks and not faults:
        message = f"the operator is new in {since.name}, but no table says what it supports there"
        raise fault(node.place("support"), "support-incomplete", message)
    faults.stop()
    return {
        level.name: blocks[max(ordinal for ordinal in blocks if ordinal <= level.ordinal)]
        for level in general.levels[since.ordinal :]
    }


def _support_rows(
    general: General, row: written.SupportRow, tensors: Mapping[str, Member], scope: Scope
) -> list[Support]:
    faults = Faults()
    members: list[Member] = []
    with faults:
        members = rules.known_tensors(row.tensors, tensors)
    for item in row.types:
        _check_data_type(general, item.value, item.position, faults)
    ranks = _ranks(row.ranks)
    if not ranks:
        faults.report(row.place("ranks"), "empty-range", "this range of dimension counts is empty")
    faults.stop()
    when = None if row.when is None else rules.expression(row.when, scope, ir.BOOL)
    types = tuple(item.value for item in row.types)
    return [Support(member.name, ranks, types, when, row.position) for member in members]


def _ranks(ranks: int | str | tuple[int, ...]) -> tuple[int, ...]:
    """Dimension counts: a single one, a list, or a range such as "1..8"."""
    if isinstance(ranks, int):
        return (ranks,)
    if isinstance(ranks, str):
        lower, upper = map(int, ranks.split(".."))
        return tuple(range(lower, upper + 1))
    return ranks


def _check_data_type(general: General, name: str, position: Position, faults: Faults) -> None:
    known = [entry.name for entry in general.enums["TENSOR_DATA_TYPE"].entries if entry.bits]
    with faults:
        check_named(name, position, known, f"{name!r} is not a tensor data type", "unknown-type")


def _example(general: General, node: written.Example, members: Mapping[str, Member]) -> Example:
    faults = Faults()
    plain = {name: member for name, member in members.items() if not member.is_tensor}
    for key, value in node.members.items():
        with faults:
            _known_value(general, key, value, plain)
    tensors: dict[str, ExampleTensor | tuple[ExampleTensor, ...]] = {}
    known = {name: member for name, member in members.items() if member.is_tensor}
    for key, given in node.tensors.items():
        with faults:
            is_list = isinstance(given, tuple)
            if bool(rules.known_tensor(key, known).count) != is_list:
                kind, form = ("one tensor", "a mapping") if is_list else ("an array of tensors", "a list")
                message = f"{key.value} is {kind}; {form} is expected"
                raise fault(node.place("tensors", key.value), "example-form", message)
            for one in given if isinstance(given, tuple) else [given]:
                _check_example_tensor(general, one, faults)
            tensors[key.value] = given
    faults.stop()
    members_ = {key.value: value.plain() for key, value in node.members.items()}
    return Example(node.id.value, node.where, members_, tensors)


def _known_value(general: General, name: Scalar[str], given: Node, members: Mapping[str, Member]) -> None:
    """Raises SpecError unless a text is an enumerator of a member, or a number that YAML cannot express."""
    check_known(name, members, f"{name.value!r} is not a member other than a tensor")
    member = members[name.value]
    if not isinstance(given, Scalar) or not isinstance(given.value, str):
        return
    enum = general.enums.get(member.type)
    if enum is None:
        known, expected = ["nan", "inf", "-inf"], "a number, nan, inf or -inf"
    else:
        known, expected = [entry.name for entry in enum.entries], f"a value of {enum.c_name}"
    check_known(given, known, f"{member.name} is {given.value!r}; {expected} is expected")


def _check_example_tensor(general: General, node: ExampleTensor, faults: Faults) -> None:
    _check_data_type(general, node.type, node.place("type"), faults)
    if node.data is not None and len(node.data) != math.prod(node.sizes):
        count = math.prod(node.sizes)
        message = f"{len(node.data)} values for sizes {list(node.sizes)}; {count} are expected"
        raise fault(node.place("data"), "example-size", message)
