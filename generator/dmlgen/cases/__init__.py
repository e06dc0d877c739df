"""Test cases of an operator, found by searching with its rules; no case is written by hand.

The search is seeded with the operator's name, so the same specs give the same cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

from dmlgen.cases import fused, negatives
from dmlgen.cases.changes import State
from dmlgen.cases.data import DataSearch, Shown
from dmlgen.cases.negatives import Attempt
from dmlgen.cases.positives import Positives
from dmlgen.cases.search import Search, SearchedCheck, Subject
from dmlgen.cases.validators import Validators, changed, tensors_of
from dmlgen.registry import Example, ExampleTensor, FeatureLevel, Operator, Provenance, Registry, Rule

_BOUNDARY_TURNS = 3  # tensors tried for a boundary of a rule on every tensor
Kind = Literal["positive", "boundary", "negative", "advice", "valid_variant", "example"]


@dataclass(frozen=True)
class Case:
    """A description at a feature level, and its expected result.

    `rules` are the broken ones, `advice` what a valid description draws, `minimum_level` the lowest level
    that accepts the description. A negative case names the one rule that it `breaks` and its
    `valid_variant`; an advice case names the advice that it `draws` and a variant that does not. `form` is
    "json" if a C struct cannot express it.
    """

    id: str
    kind: Kind
    state: State
    rules: tuple[str, ...]
    advice: tuple[str, ...]
    minimum_level: FeatureLevel | None
    form: Literal["any", "json"]
    breaks: str | None = None
    draws: str | None = None
    valid_variant: str | None = None
    data: Shown | None = None


@dataclass(frozen=True)
class RuleCoverage:
    """The number of cases that break only this rule, and of valid ones in which it checks something.

    Advice is drawn rather than broken. If no case breaks it, `untestable` says why.
    """

    rule: str
    source: Provenance
    advice: bool
    broken: int
    satisfied: int
    untestable: str | None


@dataclass(frozen=True)
class Cases:
    """All cases of an operator.

    `uncovered` has a sentence for everything without a valid description: entries of the support table, and
    examples that break a rule.
    """

    cases: tuple[Case, ...]
    coverage: tuple[RuleCoverage, ...]
    uncovered: tuple[str, ...]


class CaseSearch:
    """Finds the cases of any operator of a registry; `files` are those of the Python package made for it."""

    def __init__(self, registry: Registry, files: Mapping[str, bytes]) -> None:
        self.registry = registry
        self._validators = Validators(registry, files)

    def cases(self, operator: Operator) -> Cases:
        """The cases of one operator."""
        return _OperatorCases(self._validators, operator).all()


class _OperatorCases:
    def __init__(self, validators: Validators, operator: Operator) -> None:
        self.validators, self.registry, self.operator = validators, validators.registry, operator
        self.search = Search(validators, operator)
        self.data = DataSearch(self.registry, operator)
        self.found: dict[str, Case] = {}
        self.valid: dict[Hashable, str] = {}
        self.uncovered: list[str] = []

    def all(self) -> Cases:
        positives = Positives(self.search)
        self._note_missed(positives)
        shown = self.data.shown(positives.found)
        for name, state in positives.found.items():
            self._add("positive", name, state, data=shown.get(name))
        for example in self.operator.examples:
            self._add_example(example)
        bases = _bases(self.search, positives.found.values())
        rules = [
            rule
            for rule in self.registry.rules_of(self.operator)
            if rule.applies_to not in _UNBREAKABLE and self.search.newest(rule) is not None
        ]
        for rule in rules:
            self._add_boundaries(rule, bases[: negatives.FEW])
        attempts = {rule.id: negatives.attempt(self.search, rule, bases) for rule in rules}
        for one in fused.attempts(self.search, bases):
            attempts.setdefault(one.rule.id, Attempt(one.rule)).found.extend(one.found)
        for attempt in attempts.values():
            self._add_negatives(attempt)
        coverage = tuple(
            self._coverage(rule, attempts.get(rule.id)) for rule in self.registry.rules_of(self.operator)
        )
        return Cases(tuple(self.found.values()), coverage, tuple(self.uncovered))

    def _note_missed(self, positives: Positives) -> None:
        for goal in positives.missed:
            what = [goal.type, f"{goal.rank} dimensions" if goal.rank else None]
            shown = " of ".join(part for part in what if part)
            self.uncovered.append(f"no valid description has {goal.tensor} as {shown} at {goal.level.name}")
        if not positives.found:
            self.uncovered.append("no valid description was found at all")

    def _add_example(self, example: Example) -> None:
        tensors = {name: _described(given) for name, given in example.tensors.items()}
        try:
            description = self.validators.from_json(
                {"type": self.operator.name, "desc": {**example.members, **tensors}}
            )
        except ValueError as error:
            self.uncovered.append(f"example {example.id}: {error}")
            return
        state = State(self.registry.levels[-1], description)
        level = self.search.minimum_level(state)
        if level is None:
            broken = sorted({f"{one.rule} ({one.member})" for one in self.search.broken(state)})
            self.uncovered.append(f"example {example.id} breaks {', '.join(broken)}")
            return
        state = state._replace(level=level)
        shown: Shown | None = None
        if example.has_data:
            data = {name: _elements(given) for name, given in example.tensors.items()}
            inputs, outputs = (
                {member.name: data[member.name] for member in members if member.name in data}
                for members in (self.operator.inputs, self.operator.outputs)
            )
            shown = self.data.examined(state, inputs, outputs)
        self._add("example", example.id, state, data=shown)

    def _add_boundaries(self, rule: Rule, bases: list[State]) -> None:
        """Cases for every ordering comparison of the rule; in rules on tensors, the tensors take turns."""
        subjects: dict[SearchedCheck, list[Subject]] = {}
        for subject in self.search.subjects(rule):
            if subject.check is not None:
                subjects.setdefault(subject.check, []).append(subject)
        for number, group in enumerate(subjects.values()):
            turn = len(self.found) % len(group)
            for subject in (group[turn:] + group[:turn])[:_BOUNDARY_TURNS]:
                state = negatives.boundary(self.search, subject, bases)
                if state is not None and state.key not in self.valid:
                    self._add("boundary", f"{rule.id}-{number + 1}", state)
                if state is not None:
                    break

    def _add_negatives(self, attempt: Attempt) -> None:
        names: Counter[str] = Counter()
        for negative in attempt.found:
            owner = negative.subject.owner
            name = f"{attempt.rule.id}-{owner.path}" if owner.member else attempt.rule.id
            names[name] += 1
            name = f"{name}-{names[name]}" if names[name] > 1 else name
            twin = self.valid.get(negative.twin.key) or self._add("valid_variant", name, negative.twin)
            if attempt.rule.advice:
                self._add("advice", name, negative.state, draws=attempt.rule.id, valid_variant=twin)
            else:
                self._add("negative", name, negative.state, breaks=attempt.rule.id, valid_variant=twin)

    def _add(self, kind: Kind, name: str, state: State, **more: Any) -> str:
        """Validates the state and adds it as a case; its id."""
        id_ = f"{self.operator.name}/{kind}/{name}"
        broken = {one.rule: self.search.rule[one.rule] for one in self.search.broken(state)}
        advice = tuple(sorted(name for name, rule in broken.items() if rule.advice))
        rules = tuple(sorted(broken.keys() - {*advice}))
        form: Literal["any", "json"] = "any"
        if any(rule.applies_to == "json" for rule in broken.values()):
            form = "json"
        level = self.search.minimum_level(state)
        self.found[id_] = Case(id_, kind, state, rules, advice, level, form, **more)
        if not rules:
            self.valid.setdefault(state.key, id_)
        return id_

    def _coverage(self, rule: Rule, attempt: Attempt | None) -> RuleCoverage:
        twins = {case.valid_variant for case in self.found.values() if rule.id in (case.breaks, case.draws)}
        valid = [case for case in self.found.values() if not case.rules]
        satisfied = sum(case.id in twins or self.search.judges(rule, case.state) for case in valid)
        broken = len(attempt.found) if attempt is not None else 0
        why = None if broken else _why_unbroken(rule, attempt)
        return RuleCoverage(rule.id, rule.source, rule.advice, broken, satisfied, why)


def _described(given: ExampleTensor | tuple[ExampleTensor, ...]) -> Any:
    """The tensor of an example, or the array of them, as JSON has it."""
    if isinstance(given, tuple):
        return list(map(_described, given))
    return {"DataType": given.type, "Sizes": list(given.sizes)}


def _elements(given: ExampleTensor | tuple[ExampleTensor, ...]) -> Any:
    return tuple(map(_elements, given)) if isinstance(given, tuple) else given.data


# Forms in which no case can be written, and why.
_UNBREAKABLE = {"abi": "only a C struct can break it", "python": "only an object in Python can break it"}


def _why_unbroken(rule: Rule, attempt: Attempt | None) -> str:
    if rule.applies_to in _UNBREAKABLE:
        return _UNBREAKABLE[rule.applies_to]
    if attempt is None:
        return "it holds at no feature level of the operator"
    if attempt.companions:
        others = ", ".join(sorted(attempt.companions))
        return f"every description found that breaks it breaks another rule too: {others}"
    return "nothing in a description of the operator can break it"


def _bases(search: Search, states: Iterable[State]) -> list[State]:
    """The valid states to start from: without strides, newest level first, with about two dimensions."""

    def plainness(state: State) -> int:
        return sum(abs(tensor.DimensionCount - 2) for _, tensor in tensors_of(state.description))

    by_level: dict[int, list[State]] = {}
    for state in sorted(states, key=plainness):
        by_level.setdefault(-state.level.ordinal, []).append(state)
    turns = zip_longest(*(by_level[key] for key in sorted(by_level)))
    chosen = [state for turn in turns for state in turn if state is not None]
    return [plain if search.is_valid(plain := _without_strides(state)) else state for state in chosen]


def _without_strides(state: State) -> State:
    def plain(value: Any) -> Any:
        return tuple(map(plain, value)) if isinstance(value, tuple) else replace(value, Strides=None)

    description = state.description
    tensors = {member.name: getattr(description, member.name) for member in description.TENSORS}
    given = {name: plain(value) for name, value in tensors.items() if value is not None}
    return state._replace(description=changed(description, given))
