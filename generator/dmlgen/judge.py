"""Finds the rules that a description breaks at a feature level, by evaluating the rules themselves.

The search for test cases uses this; the generated validators do not, so the two can check each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

from dmlgen.description import Description, Nested, Tensor, Value
from dmlgen.expr.evaluate import Compiled, Environment, Evaluator
from dmlgen.failures import NOWHERE, CompiledCheck, Failure, Slot
from dmlgen.general_rules import GENERAL_RULES, Judged
from dmlgen.reads import read_path, reads
from dmlgen.registry import Check, FeatureLevel, Member, NumberType, Operator, Registry, Rule, Stage


class Verdict(NamedTuple):
    """What is wrong with one tensor, independent of the operator; paths are relative to the tensor."""

    complete: Tensor
    beyond_range: tuple[str, ...]
    structure: tuple[Failure, ...]
    values: tuple[Failure, ...]


class Activation(NamedTuple):
    """A nested description; `since` is the level from which the operator accepts it, if it ever does."""

    path: str
    owner: Slot
    nested: Nested
    since: FeatureLevel | None


class Fused(NamedTuple):
    """A nested description that the operator accepts, with the judge of its own operator."""

    path: str
    owner: Slot
    judge: Judge
    members: Description

    def applied_to(self, tensor: Any) -> dict[str, Any]:
        """All members of the nested operator; its tensors are the one that it is applied to."""
        operator = self.judge.operator
        tensors = {member.name: tensor for member in operator.tensors}
        return dict.fromkeys(operator.member) | dict(self.members) | tensors


class GeneralJudge:
    """Checks that are the same for every operator; one instance serves them all."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.evaluator = Evaluator(registry.bits, registry.signed)
        self.rules = {rule.slug: rule for rule in registry.operator_rules}
        self.tensor_checks = [
            (rule, self.compile_check(check))
            for rule in registry.tensor.rules
            if rule.applies_to != "abi"
            for check in rule.checks
        ]
        self.fields = frozenset(member.name for member in registry.structs["BUFFER_TENSOR_DESC"].members)
        self.reads = {rule.id: reads(rule) for rule in registry.tensor.rules}
        self.defaults = {
            field: self.evaluator.function(value) for field, value in sorted(registry.tensor.defaults.items())
        }
        self.integer_fields = {
            member.name: registry.types[member.type].range
            for member in registry.structs["BUFFER_TENSOR_DESC"].members
            if member.type in registry.types and member.name in Tensor._fields
        }
        self.type_names = {entry.value: entry.name for entry in registry.data_types}
        self._verdicts: dict[tuple[Tensor, bool], Verdict] = {}
        self._judges: dict[str, Judge] = {}

    def judge_of(self, operator: Operator) -> Judge:
        """The judge of an operator, for its own descriptions and for those nested in another's."""
        found = self._judges.get(operator.name)
        if found is None:
            found = self._judges[operator.name] = Judge(self, operator)
        return found

    def compile_check(self, check: Check) -> CompiledCheck:
        evaluator = self.evaluator
        return CompiledCheck(
            check,
            evaluator.first_failure(check.loops, check.guard, check.condition),
            evaluator.iterations(check.loops, check.guard),
        )

    def verdict(self, tensor: Tensor, is_input: bool) -> Verdict:
        """The tensor with defaults for omitted fields, and what is wrong with it."""
        found = self._verdicts.get((tensor, is_input))
        if found is None:
            complete = self._complete(tensor)
            environment = {"": complete, "is_input": is_input}
            failures = [
                Failure(rule, check.check.member, NOWHERE, (number, *check.counters(failing)), check, failing)
                for number, (rule, check) in enumerate(self.tensor_checks)
                if (failing := check.first_failure(environment)) is not None
            ]
            structure = tuple(failure for failure in failures if failure.rule.stage == Stage.STRUCTURE)
            values = tuple(failure for failure in failures if failure.rule.stage == Stage.VALUES)
            found = Verdict(complete, tuple(self._beyond_range(tensor)), structure, values)
            self._verdicts[tensor, is_input] = found
        return found

    def scalar_type(self, data_type: int) -> NumberType | None:
        """The type of a union's value for this tensor data type; None for a type without elements."""
        entry = self.registry.data_type.get(self.type_names.get(data_type, ""))
        return NumberType(entry.name, entry.bits, entry.kind or "float") if entry is not None else None

    def _complete(self, tensor: Tensor) -> Tensor:
        environment = {"": tensor}
        missing = {
            field: default(environment)
            for field, default in self.defaults.items()
            if getattr(tensor, field) is None
        }
        return tensor._replace(**missing)

    def _beyond_range(self, tensor: Tensor) -> Iterator[str]:
        for field, (least, most) in self.integer_fields.items():
            value = getattr(tensor, field)
            if isinstance(value, tuple):
                for index, entry in enumerate(value):
                    if not least <= entry <= most:
                        yield f"{field}[{index}]"
            elif value is not None and not least <= value <= most:
                yield field


class _Row(NamedTuple):
    """One row of a support table: sets for fast lookups, data types by value."""

    ranks: frozenset[int]
    types: frozenset[int]
    when: Compiled | None


class Judge:
    """Checks the descriptions of one operator."""

    def __init__(self, general: GeneralJudge, operator: Operator) -> None:
        self.general, self.operator = general, operator
        self.registry = registry = general.registry
        self.checks = [
            (rule, general.compile_check(check))
            for rule in operator.rules
            if rule.applies_to != "abi"
            for check in rule.checks
        ]
        self._reads = {rule.id: reads(rule) for rule in operator.rules}
        self._bounds = {
            rule.id: (
                rule.since.ordinal,
                rule.until.ordinal if rule.until is not None else len(registry.levels),
            )
            for rule in (*operator.rules, *registry.tensor.rules)
        }
        self._checks_of = {
            stage: [
                (number, rule, check, *self._bounds[rule.id])
                for number, (rule, check) in enumerate(self.checks)
                if rule.stage == stage
            ]
            for stage in Stage
        }
        self.enums = {
            member.name: frozenset(entry.value for entry in registry.enums[member.type].entries)
            for member in operator.attributes
            if member.type in registry.enums
        }
        self.scalars = {
            member.name: member.typed_by for member in operator.attributes if member.typed_by is not None
        }
        self.arrays = {member.name: member.count for member in operator.members if member.count is not None}
        self.nested = [member for member in operator.attributes if member.type == "OPERATOR_DESC"]
        self.inputs = frozenset(member.name for member in operator.inputs)
        self.required = [
            (number, member.name) for number, member in enumerate(operator.members) if not member.optional
        ]
        self._tensors = [member.name for member in operator.tensors]
        self._slots = [(name, name in self.inputs, Slot(name)) for name in self._tensors]
        applying = [one for one in GENERAL_RULES.values() if any(True for _ in one.owners(self))]
        self._general_rules = {
            stage: [(one, general.rules[one.slug]) for one in applying if one.stage is stage]
            for stage in Stage
        }

    @cached_property
    def integers(self) -> Mapping[str, tuple[int, int]]:
        """The ranges of members that are integers."""
        types = self.registry.types
        return {
            member.name: types[member.type].range
            for member in self.operator.attributes
            if member.type in types and types[member.type].kind != "float" and member.type != "BOOL"
        }

    @cached_property
    def parts(self) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """The ranges of integers in members that are structs."""
        types, structs = self.registry.types, self.registry.structs
        return {
            member.name: {
                part.name: types[part.type].range
                for part in structs[member.type].members
                if part.type in types and types[part.type].kind != "float"
            }
            for member in self.operator.attributes
            if member.type in structs and member.type not in ("OPERATOR_DESC", "SCALAR_UNION")
        }

    @cached_property
    def fusable(self) -> Mapping[str, FeatureLevel]:
        """The operators that can be the fused activation, with the level from which they can."""
        return self.registry.fusable(self.operator)

    @cached_property
    def fused_checks(self) -> list[tuple[Rule, CompiledCheck]]:
        """The checks, including advice, that also apply to a nested description."""
        return [(rule, check) for rule, check in self.checks if rule.concerns_attributes]

    @cached_property
    def _tables(self) -> Mapping[str, Mapping[str, list[_Row]]]:
        """The rows by level and tensor."""
        value = {entry.name: entry.value for entry in self.registry.data_types}
        tables: dict[str, dict[str, list[_Row]]] = {}
        for level, supports in self.operator.support.items():
            table: dict[str, list[_Row]] = {name: [] for name in self._tensors}
            for support in supports:
                when = self.general.evaluator.function(support.when) if support.when is not None else None
                types = frozenset(value[name] for name in support.types)
                table[support.tensor].append(_Row(frozenset(support.ranks), types, when))
            tables[level] = table
        return tables

    @cached_property
    def blocks(self) -> tuple[FeatureLevel, ...]:
        """The levels at which the table or the applicable rules differ from those of the level before."""
        levels = self.registry.levels[self.operator.since.ordinal :]
        fusable = self.fusable if self.nested else {}
        judges = (self, *(self.general.judge_of(self.registry.operator[name]) for name in fusable))
        bounds = {bound for judge in judges for both in judge._bounds.values() for bound in both}
        bounds |= {since.ordinal for since in fusable.values()}
        return tuple(
            level
            for number, level in enumerate(levels)
            if number == 0
            or level.ordinal in bounds
            or self.operator.support[level.name] != self.operator.support[levels[number - 1].name]
        )

    def judge(self, description: Description, level: FeatureLevel) -> Iterator[Failure]:
        """The broken rules of the first stage that has any, in order of position.

        A rule is skipped if it reads something that another one, in the validators' order, has found to be
        wrong. If no rule is broken: the advice that the description draws.
        """
        broken = list(self._broken(description, level))
        if len(broken) > 1:
            broken = sorted(self._reliable(broken), key=lambda failure: failure.position)
        yield from broken

    def _reliable(self, broken: Iterable[Failure]) -> Iterator[Failure]:
        """Drops rules that read what an earlier rule has found to be wrong."""
        found: dict[str, set[str]] = {}  # the rules that found a path wrong
        for failure in broken:
            rule, member = failure.rule, re.sub(r"\[\d+\]$", "", failure.member)
            reads = self.general.reads.get(rule.id, self._reads.get(rule.id, frozenset()))
            if rule.id in self.general.reads:
                reads = frozenset(f"{member.rpartition('.')[0]}.{field}" for field in reads)
            if all(found.get(path, {rule.id}) == {rule.id} for path in reads):
                for path in (member, read_path(member, self.general.fields)):
                    found.setdefault(path, set()).add(rule.id)
                yield failure

    def _broken(self, description: Description, level: FeatureLevel) -> Iterator[Failure]:
        """The broken rules of the first stage that has any, in the validators' order; else the advice."""
        tensors = self.tensors(description)
        judged = Judged(self, description, tensors, level, {})
        failure: Failure | None = None
        for failure in self._structure(judged):
            yield failure
        if failure is not None:
            return
        environment = self._environment(description, tensors)
        judged = judged._replace(environment=environment)
        for failure in self._general(judged, Stage.COUNTS):
            yield failure
        for stage in (Stage.COUNTS, Stage.ARRAYS):
            for failure in self._operator_rules(environment, level, stage):
                yield failure
            if failure is not None:
                return
        for failure in self._general(judged, Stage.VALUES):
            yield failure
        for number, (slot, verdict) in enumerate(tensors):
            if verdict.values:
                for failure in self._of_tensor(slot, verdict.values, level, (Stage.VALUES, 2, number)):
                    yield failure
        for failure in self._operator_rules(environment, level, Stage.VALUES):
            yield failure
        if failure is None:
            for failure in self._rules_of_fused(judged, Stage.VALUES):
                yield failure
        if failure is None:
            yield from self._operator_rules(environment, level, Stage.ADVICE)
            yield from self._rules_of_fused(judged, Stage.ADVICE)

    def is_valid(self, description: Description, level: FeatureLevel) -> bool:
        """Whether no rule is broken."""
        first = next(self._broken(description, level), None)
        return first is None or first.rule.advice

    def minimum_level(self, description: Description) -> FeatureLevel | None:
        """The lowest feature level at which no rule is broken."""
        return next((level for level in self.blocks if self.is_valid(description, level)), None)

    def tensors(self, description: Description) -> list[tuple[Slot, Verdict]]:
        """The given tensors, in the order of the members."""
        found: list[tuple[Slot, Verdict]] = []
        verdict = self.general.verdict
        for name, is_input, slot in self._slots:
            value = description[name]
            if isinstance(value, Tensor):
                found.append((slot, verdict(value, is_input)))
            elif isinstance(value, tuple):
                for index, entry in enumerate(value):
                    found.append((Slot(name, index), verdict(entry, is_input)))
        return found

    def environment(self, description: Description) -> Environment:
        """The values of names in rules: members, with their tensors completed."""
        return self._environment(description, self.tensors(description))

    def _environment(self, description: Description, tensors: list[tuple[Slot, Verdict]]) -> Environment:
        environment = dict(description)
        for slot, verdict in tensors:
            if slot.at is None:
                environment[slot.member] = verdict.complete
            else:
                before = environment[slot.member]
                assert isinstance(before, tuple)
                entries = (*before[: slot.at], verdict.complete, *before[slot.at + 1 :])
                environment[slot.member] = entries
        return environment

    def table(
        self, tensor: str, environment: Environment, level: FeatureLevel
    ) -> tuple[list[int], list[int]]:
        """The dimension counts and data types (values) that a level supports for a tensor."""
        rows = [row for row in self._tables[level.name][tensor] if row.when is None or row.when(environment)]
        ranks = {rank for row in rows for rank in row.ranks}
        types = {type_ for row in rows for type_ in row.types}
        return sorted(ranks), sorted(types)

    def supports(self, judged: Judged, tensor: str, value: int, what: Literal["ranks", "types"]) -> bool:
        """Whether the level supports a dimension count or a data type of a tensor."""
        for row in self._tables[judged.level.name][tensor]:
            if value in getattr(row, what) and (row.when is None or row.when(judged.environment)):
                return True
        return False

    def activations(self, description: Description) -> Iterator[Activation]:
        """The nested descriptions."""
        for member in self.nested:
            for path, nested in _entries(member, description[member.name]):
                yield Activation(path, Slot(member.name), nested, self.fusable.get(nested.operator))

    def fused(self, description: Description, level: FeatureLevel) -> Iterator[Fused]:
        """The nested descriptions that the operator accepts at a level."""
        for one in self.activations(description):
            if one.since is not None and one.since.ordinal <= level.ordinal:
                judge = self.general.judge_of(self.registry.operator[one.nested.operator])
                yield Fused(one.path, one.owner, judge, dict(one.nested.members))

    def in_force(self, rule: Rule, level: FeatureLevel) -> bool:
        """Whether the rule applies at the level."""
        bounds = self._bounds.get(rule.id)
        return bounds is None or bounds[0] <= level.ordinal < bounds[1]

    def _structure(self, judged: Judged) -> Iterator[Failure]:
        for failure in self._general(judged, Stage.STRUCTURE):
            yield failure
            if failure.owner is NOWHERE:  # the level has no such operator
                return
        yield from self._structure_of_fused(judged)
        for number, (slot, verdict) in enumerate(judged.tensors):
            if verdict.structure:
                first = verdict.structure[0].rule  # the rules after the first broken one may rely on it
                failures = tuple(failure for failure in verdict.structure if failure.rule is first)
                yield from self._of_tensor(slot, failures, judged.level, (0, 5, number))

    def _general(self, judged: Judged, stage: Stage) -> Iterator[Failure]:
        for one, rule in self._general_rules[stage]:
            yield from one.failures(rule, judged)

    def _structure_of_fused(self, judged: Judged) -> Iterator[Failure]:
        """What is wrong with members of fused activations other than tensors."""
        for one in self.fused(judged.description, judged.level):
            members = one.applied_to(judged.description[self.operator.outputs[0].name])
            for failure in one.judge._general(
                Judged(one.judge, members, [], judged.level, {}), Stage.STRUCTURE
            ):
                if not one.judge.operator.member[failure.owner.member].is_tensor:
                    path, position = f"{one.path}.{failure.member}", (0, 4, 2, *failure.position)
                    yield failure._replace(member=path, owner=one.owner, position=position)

    def _rules_of_fused(
        self, judged: Judged, stage: Literal[Stage.VALUES, Stage.ADVICE]
    ) -> Iterator[Failure]:
        """The rules that fused activations themselves break, or the advice that they draw.

        An activation's tensors are the operator's first output, to which it is applied.
        """
        result = judged.environment[self.operator.outputs[0].name]
        for one in self.fused(judged.description, judged.level):
            members = one.applied_to(result)
            for rule, check in one.judge.fused_checks:
                if (
                    rule.advice == (stage is Stage.ADVICE)
                    and one.judge.in_force(rule, judged.level)
                    and check.first_failure(members) is not None
                ):
                    yield Failure(rule, f"{one.path}.{check.check.member}", one.owner, (stage, 4))

    def _of_tensor(
        self, slot: Slot, failures: tuple[Failure, ...], level: FeatureLevel, position: tuple[int, ...]
    ) -> Iterator[Failure]:
        for failure in failures:
            if self.in_force(failure.rule, level):
                yield failure._replace(
                    member=f"{slot.path}.{failure.member}",
                    owner=slot,
                    position=(*position, *failure.position),
                )

    def _operator_rules(
        self, environment: Environment, level: FeatureLevel, stage: Stage
    ) -> Iterator[Failure]:
        for number, rule, check, since, until in self._checks_of[stage]:
            if since <= level.ordinal < until:
                failing = check.first_failure(environment)
                if failing is not None:
                    position = (stage, 1, number, *check.counters(failing))
                    yield Failure(rule, check.check.member, NOWHERE, position, check, failing)


def _entries(member: Member, value: Value) -> Iterator[tuple[str, Nested]]:
    """The nested descriptions in a member, with their paths."""
    entries = value if isinstance(value, tuple) else () if value is None else (value,)
    for index, nested in enumerate(entries):
        assert isinstance(nested, Nested)
        yield f"{member.name}[{index}]" if isinstance(value, tuple) else member.name, nested
