"""Which rules a description breaks at a feature level, by evaluating the rules themselves.

The search for test cases runs on this; the generated validators do not, so they and it can check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dmlgen.description import Description, Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import Compiled, Environment, compile_expression
from dmlgen.registry import Check, FeatureLevel, Operator, Registry, Rule, Stage, Support


@dataclass(frozen=True, eq=False)
class CompiledCheck:
    """A check as functions of an environment; `iterations` are those of its loops, the guard apart."""

    check: Check
    guard: Compiled | None
    iterations: Callable[[Environment], Iterator[Environment]]
    condition: Compiled

    def judges(self, environment: Environment) -> bool:
        """Whether the description has anything that the check judges."""
        guarded = self.guard is None or self.guard(environment)
        return guarded and next(self.iterations(environment), None) is not None

    def first_failure(self, environment: Environment) -> Environment | None:
        """The values of names in the first iteration that fails; None when the check holds."""
        if self.guard is not None and not self.guard(environment):
            return None
        for inner in self.iterations(environment):
            if not self.condition(inner):
                return inner
        return None

    def counters(self, environment: Environment) -> tuple[int, ...]:
        """The values of the loop variables, outermost first."""
        return tuple(environment[loop.variable.name] for loop in self.check.loops)


class Failure(NamedTuple):
    """A broken rule. `member` is the path that violations name; `owner` the tensor or member it belongs to.

    `position` is the place in the order in which failures are best mended: stage, part of it, and so on. In
    the last stage rules of tensors come after those of the operator, as mending them disturbs no other.
    `check` and the names' values at the failure are known where the rule has checks of its own.
    """

    rule: Rule
    member: str
    owner: str
    position: tuple[int, ...]
    check: CompiledCheck | None = None
    environment: Environment | None = None


class GeneralJudge:
    """What is judged the same way for every operator; one serves them all."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.rules = {rule.slug: rule for rule in registry.operator_rules}
        self.tensor_checks = [
            (rule, self.compile_check(check))
            for rule in registry.tensor.rules
            if rule.form != "abi"
            for check in rule.checks
        ]
        self.defaults = {
            field: self.compile(value) for field, value in sorted(registry.tensor.defaults.items())
        }
        self.integer_fields = {
            member.name: registry.types[member.type].range
            for member in registry.structs["BUFFER_TENSOR_DESC"].members
            if member.type in registry.types and member.name in Tensor._fields
        }
        self._complete: dict[Tensor, Tensor] = {}
        self._out_of_range: dict[Tensor, tuple[str, ...]] = {}
        self._failures: dict[tuple[Tensor, bool], tuple[Failure, ...]] = {}

    def compile(self, node: ir.Expr) -> Compiled:
        return compile_expression(node, self.registry.bits, self.registry.signed)

    def compile_check(self, check: Check) -> CompiledCheck:
        guard = self.compile(check.guard) if check.guard is not None else None
        loops = [self._loop(loop) for loop in check.loops]

        def iterations(environment: Environment) -> Iterator[Environment]:
            found = [environment]
            for loop in loops:
                found = [inner for outer in found for inner in loop(outer)]
            return iter(found)

        return CompiledCheck(check, guard, iterations, self.compile(check.condition))

    def complete(self, tensor: Tensor) -> Tensor:
        """The tensor with the defaults in place of what was left out."""
        found = self._complete.get(tensor)
        if found is None:
            environment = {"": tensor}
            missing = {
                field: default(environment)
                for field, default in self.defaults.items()
                if getattr(tensor, field) is None
            }
            found = self._complete[tensor] = tensor._replace(**missing)
        return found

    def tensor_failures(self, tensor: Tensor, is_input: bool) -> tuple[Failure, ...]:
        """The failures of all rules of tensors, in order; paths are relative to the tensor."""
        key = (tensor, is_input)
        found = self._failures.get(key)
        if found is None:
            environment = {"": self.complete(tensor), "is_input": is_input}
            found = self._failures[key] = tuple(
                Failure(rule, check.check.member, "", (number, *check.counters(failing)), check, failing)
                for number, (rule, check) in enumerate(self.tensor_checks)
                if (failing := check.first_failure(environment)) is not None
            )
        return found

    def out_of_range(self, tensor: Tensor) -> tuple[str, ...]:
        """The fields and array entries that do not fit their C type."""
        found = self._out_of_range.get(tensor)
        if found is None:
            found = self._out_of_range[tensor] = tuple(self._beyond_range(tensor))
        return found

    def _beyond_range(self, tensor: Tensor) -> Iterator[str]:
        for field, (least, most) in self.integer_fields.items():
            value = getattr(tensor, field)
            if isinstance(value, tuple):
                for index, entry in enumerate(value):
                    if not least <= entry <= most:
                        yield f"{field}[{index}]"
            elif value is not None and not least <= value <= most:
                yield field

    def _loop(self, loop: ir.Loop) -> Callable[[Environment], Iterator[Environment]]:
        lower, upper, name = self.compile(loop.lower), self.compile(loop.upper), loop.variable.name
        condition = self.compile(loop.condition) if loop.condition is not None else None

        def run(environment: Environment) -> Iterator[Environment]:
            for value in range(lower(environment), upper(environment)):
                inner = {**environment, name: value}
                if condition is None or condition(inner):
                    yield inner

        return run


class Judge:
    """Judges the descriptions of one operator."""

    def __init__(self, general: GeneralJudge, operator: Operator) -> None:
        self.general, self.operator = general, operator
        self.registry = general.registry
        self.checks = [
            (rule, general.compile_check(check))
            for rule in operator.rules
            if rule.form != "abi"
            for check in rule.checks
        ]
        types = self.registry.types
        for member in operator.members:
            if member.count is not None or not (member.is_tensor or member.type in types):
                raise NotImplementedError(f"{operator.name}.{member.name}: no judge of {member.type} members")
        self.integers = {
            member.name: types[member.type].range
            for member in operator.attributes
            if member.type in types and types[member.type].kind != "float"
        }
        self.inputs = frozenset(member.name for member in operator.inputs)
        self.type_names = {entry.value: entry.name for entry in self.registry.data_types}

    @cached_property
    def _conditions(self) -> Mapping[Support, Compiled]:
        rows = {row for table in self.operator.support.values() for row in table if row.when is not None}
        return {row: self.general.compile(row.when) for row in rows if row.when is not None}

    def judge(self, description: Description, level: FeatureLevel) -> Iterator[Failure]:
        """The broken rules, of the first stage with any, in the order of their positions."""
        if level.ordinal < self.operator.since.ordinal:
            yield Failure(self.general.rules["since"], "", "", (-1,))
            return
        tensors = {name: value for name, value in description.items() if isinstance(value, Tensor)}
        failure: Failure | None = None
        for failure in self._structure(description, tensors, level):
            yield failure
        if failure is not None:
            return
        environment = self.environment(description)
        for failure in self._counts(tensors, environment, level):
            yield failure
        if failure is None:
            yield from self._values(tensors, environment, level)

    def is_valid(self, description: Description, level: FeatureLevel) -> bool:
        """Whether no rule is broken."""
        return next(self.judge(description, level), None) is None

    def minimum_level(self, description: Description) -> FeatureLevel | None:
        """The lowest feature level at which no rule is broken."""
        levels = self.registry.levels[self.operator.since.ordinal :]
        return next((level for level in levels if self.is_valid(description, level)), None)

    def environment(self, description: Description) -> Environment:
        """The names of rules: members, their tensors complete."""
        return {
            name: self.general.complete(value) if isinstance(value, Tensor) else value
            for name, value in description.items()
        }

    def supported(self, tensor: str, environment: Environment, level: FeatureLevel) -> list[Support]:
        """The rows of a level's table that hold for a tensor of this description."""
        return [
            row
            for row in self.operator.support[level.name]
            if row.tensor == tensor and (row.when is None or self._conditions[row](environment))
        ]

    def _structure(
        self, description: Description, tensors: Mapping[str, Tensor], level: FeatureLevel
    ) -> Iterator[Failure]:
        general = self.general
        for number, member in enumerate(self.operator.members):
            if description[member.name] is None and not member.optional:
                yield Failure(general.rules["required"], member.name, member.name, (0, 0, number))
        for number, (name, (least, most)) in enumerate(self.integers.items()):
            value = description[name]
            if isinstance(value, int) and not least <= value <= most:
                yield Failure(general.rules["integer-range"], name, name, (0, 1, number))
        for number, (name, tensor) in enumerate(tensors.items()):
            for path in general.out_of_range(tensor):
                yield Failure(general.rules["integer-range"], f"{name}.{path}", name, (0, 2, number))
        for number, (name, tensor) in enumerate(tensors.items()):
            first: Rule | None = None
            for failure in self._tensor_rules(name, tensor, level, (0, 3, number)):
                if first not in (None, failure.rule):
                    break  # the rules after the first broken one may rely on it
                first = failure.rule
                yield failure

    def _counts(
        self, tensors: Mapping[str, Tensor], environment: Environment, level: FeatureLevel
    ) -> Iterator[Failure]:
        for number, (name, tensor) in enumerate(tensors.items()):
            rows = self.supported(name, environment, level)
            if all(tensor.DimensionCount not in row.ranks for row in rows):
                rule = self.general.rules["dimension-count"]
                yield Failure(rule, f"{name}.DimensionCount", name, (1, 0, number))
        yield from self._operator_rules(environment, level, Stage.COUNTS)

    def _values(
        self, tensors: Mapping[str, Tensor], environment: Environment, level: FeatureLevel
    ) -> Iterator[Failure]:
        for number, (name, tensor) in enumerate(tensors.items()):
            type_ = self.type_names.get(tensor.DataType)
            if all(type_ not in row.types for row in self.supported(name, environment, level)):
                yield Failure(self.general.rules["data-type"], f"{name}.DataType", name, (2, 0, number))
        yield from self._operator_rules(environment, level, Stage.VALUES)
        for number, (name, tensor) in enumerate(tensors.items()):
            yield from self._tensor_rules(name, tensor, level, (2, 2, number))

    def _tensor_rules(
        self, name: str, tensor: Tensor, level: FeatureLevel, position: tuple[int, ...]
    ) -> Iterator[Failure]:
        for failure in self.general.tensor_failures(tensor, name in self.inputs):
            if failure.rule.stage == position[0] and in_force(failure.rule, level):
                yield failure._replace(
                    member=f"{name}.{failure.member}", owner=name, position=(*position, *failure.position)
                )

    def _operator_rules(
        self, environment: Environment, level: FeatureLevel, stage: Stage
    ) -> Iterator[Failure]:
        for number, (rule, check) in enumerate(self.checks):
            if rule.stage == stage and in_force(rule, level):
                failing = check.first_failure(environment)
                if failing is not None:
                    position = (stage, 1, number, *check.counters(failing))
                    yield Failure(rule, check.check.member, "", position, check, failing)


def in_force(rule: Rule, level: FeatureLevel) -> bool:
    """Whether the rule is judged at the level."""
    return rule.since.ordinal <= level.ordinal and (rule.until is None or level.ordinal < rule.until.ordinal)
