"""Test cases of an operator, found by searching among its rules; no case is written by hand.

The search is seeded by the operator's name, so that the same specs give the same cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Any, Literal

from dmlgen.cases import negatives
from dmlgen.cases.data import Computation, Data, sample_inputs
from dmlgen.cases.moves import Proposer, State
from dmlgen.cases.negatives import Attempt
from dmlgen.cases.positives import Goal, Positives
from dmlgen.cases.search import Search, Subject
from dmlgen.description import Tensor
from dmlgen.judge import CompiledCheck, GeneralJudge, Judge, in_force
from dmlgen.registry import Example, FeatureLevel, Operator, Registry, Rule

Kind = Literal["positive", "boundary", "negative", "twin", "example"]


@dataclass(frozen=True)
class Case:
    """A description at a feature level, and what is expected of it.

    `rules` are the broken ones, `minimum_level` the lowest level that takes the description. A negative names
    the one rule that it `breaks` and its valid `twin`. `form` is "json" where a C struct cannot express it.
    """

    id: str
    kind: Kind
    state: State
    rules: tuple[str, ...]
    minimum_level: FeatureLevel | None
    form: Literal["any", "json"]
    breaks: str | None = None
    twin: str | None = None
    inputs: Data | None = None
    outputs: Data | None = None


@dataclass(frozen=True)
class RuleCoverage:
    """How many cases break a rule alone, and in how many valid ones it judges something.

    Where none breaks it, `unbroken` says why.
    """

    rule: str
    broken: int
    held: int
    unbroken: str | None


@dataclass(frozen=True)
class Cases:
    """All cases of an operator; `missed` are entries of the support table that no valid description shows."""

    cases: tuple[Case, ...]
    coverage: tuple[RuleCoverage, ...]
    missed: tuple[Goal, ...]


class CaseSearch:
    """Finds the cases of any operator of a registry."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._general = GeneralJudge(registry)
        self._proposer = Proposer(registry, self._general.compile)

    def cases(self, operator: Operator) -> Cases:
        """The cases of one operator."""
        return _OperatorCases(self.registry, Judge(self._general, operator), self._proposer).all()


class _OperatorCases:
    def __init__(self, registry: Registry, judge: Judge, proposer: Proposer) -> None:
        self.registry, self.operator, self.judge = registry, judge.operator, judge
        self.search = Search(judge, proposer)
        compute = self.operator.compute
        self.computation = Computation(judge, compute) if compute is not None else None
        self.found: dict[str, Case] = {}
        self.valid: dict[Hashable, str] = {}

    def all(self) -> Cases:
        positives = Positives(self.search)
        for goal, state in positives.found.items():
            self._add_positive(goal, state)
        for example in self.operator.examples:
            self._add_example(example)
        bases = _bases(self.search, positives.found.values())
        rules = [rule for rule in self.registry.rules_of(self.operator) if self._can_be_judged(rule)]
        for rule in rules:
            self._add_boundaries(rule, bases[: negatives.FEW])
        attempts = {rule.id: negatives.attempt(self.search, rule, bases) for rule in rules}
        for attempt in attempts.values():
            self._add_negatives(attempt)
        coverage = tuple(
            self._coverage(rule, attempts.get(rule.id)) for rule in self.registry.rules_of(self.operator)
        )
        return Cases(tuple(self.found.values()), coverage, tuple(positives.missed))

    def _can_be_judged(self, rule: Rule) -> bool:
        levels = self.registry.levels[self.operator.since.ordinal :]
        return rule.form != "abi" and any(in_force(rule, level) for level in levels)

    def _add_positive(self, goal: Goal, state: State) -> None:
        inputs: Data | None = None
        outputs: Data | None = None
        name = f"{goal.tensor}-{goal.type}-{goal.rank}"
        if self.computation is not None:
            random = Random(f"{self.operator.name}/{name}")
            inputs = sample_inputs(self.registry, self.operator, state.description, random)
            outputs = self.computation.run(state.description, inputs)
        self._add("positive", name, state, inputs=inputs, outputs=outputs)

    def _add_example(self, example: Example) -> None:
        description: dict[str, Tensor | int | None] = {}
        for member in self.operator.members:
            if member.is_tensor and member.name in example.tensors:
                data = example.tensors[member.name]
                description[member.name] = Tensor(self.registry.data_type[data.type].value, data.sizes)
            else:
                value = example.members.get(member.name)
                assert value is None or isinstance(value, int)
                description[member.name] = value
        level = self.judge.minimum_level(description) or self.registry.levels[-1]
        inputs, outputs = (
            {
                member.name: example.tensors[member.name].data
                for member in members
                if member.name in example.tensors
            }
            for members in (self.operator.inputs, self.operator.outputs)
        )
        self._add("example", example.id, State(level, description), inputs=inputs, outputs=outputs)

    def _add_boundaries(self, rule: Rule, bases: list[State]) -> None:
        """For every ordering comparison of the rule; the tensors take turns in rules of tensors."""
        subjects: dict[CompiledCheck, list[Subject]] = {}
        for subject in self.search.subjects(rule):
            if subject.check is not None:
                subjects.setdefault(subject.check, []).append(subject)
        for number, group in enumerate(subjects.values()):
            subject = group[len(self.found) % len(group)]
            state = negatives.boundary(self.search, subject, bases)
            if state is not None and state.key not in self.valid:
                self._add("boundary", f"{rule.id}-{number + 1}", state)

    def _add_negatives(self, attempt: Attempt) -> None:
        names: Counter[str] = Counter()
        for negative in attempt.found:
            owner = negative.subject.owner
            name = f"{attempt.rule.id}-{owner}" if owner else attempt.rule.id
            names[name] += 1
            name = f"{name}-{names[name]}" if names[name] > 1 else name
            twin = self.valid.get(negative.twin.key) or self._add("twin", name, negative.twin)
            self._add("negative", name, negative.state, breaks=attempt.rule.id, twin=twin)

    def _add(self, kind: Kind, name: str, state: State, **more: Any) -> str:
        """Judge the state and keep it as a case; its id."""
        id_ = f"{self.operator.name}/{kind}/{name}"
        failures = self.search.judge(state)
        rules = tuple(sorted({failure.rule.id for failure in failures}))
        form: Literal["any", "json"] = "any"
        if any(failure.rule.form == "json" for failure in failures):
            form = "json"
        level = self.judge.minimum_level(state.description)
        self.found[id_] = Case(id_, kind, state, rules, level, form, **more)
        if not failures:
            self.valid.setdefault(state.key, id_)
        return id_

    def _coverage(self, rule: Rule, attempt: Attempt | None) -> RuleCoverage:
        valid = [case.state for case in self.found.values() if not case.rules]
        held = sum(self.search.judges(rule, state) for state in valid)
        broken = len(attempt.found) if attempt is not None else 0
        return RuleCoverage(rule.id, broken, held, None if broken else _why_unbroken(rule, attempt))


def _why_unbroken(rule: Rule, attempt: Attempt | None) -> str:
    if rule.form == "abi":
        return "only a C struct can break it"
    if attempt is None:
        return "it holds at no feature level of the operator"
    if attempt.companions:
        others = ", ".join(sorted(attempt.companions))
        return f"every description found that breaks it breaks another rule too: {others}"
    return "nothing in a description of the operator can break it"


def _bases(search: Search, states: Iterable[State]) -> list[State]:
    """The valid states to start from: without strides, newest level first, of about two dimensions."""

    def plainness(state: State) -> int:
        tensors = [value for value in state.description.values() if isinstance(value, Tensor)]
        return sum(abs(tensor.DimensionCount - 2) for tensor in tensors)

    by_level: dict[int, list[State]] = {}
    for state in sorted(states, key=plainness):
        by_level.setdefault(-state.level.ordinal, []).append(state)
    turns = zip_longest(*(by_level[key] for key in sorted(by_level)))
    chosen = [state for turn in turns for state in turn if state is not None]
    return [plain if search.is_valid(plain := _without_strides(state)) else state for state in chosen]


def _without_strides(state: State) -> State:
    return State(
        state.level,
        {
            name: value._replace(Strides=None) if isinstance(value, Tensor) else value
            for name, value in state.description.items()
        },
    )
