"""Searches from a description to one that breaks no rule, or just one; fixes the first broken rule first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from dmlgen.cases.moves import Editor, Proposal, Proposer
from dmlgen.cases.samples import Choices, Sampler
from dmlgen.changes import Move, Place, State
from dmlgen.description import Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import Compiled, Environment
from dmlgen.failures import NOWHERE, CompiledCheck, Failure, Slot
from dmlgen.general_rules import general_rule
from dmlgen.judge import GeneralJudge
from dmlgen.registry import FeatureLevel, Operator, Rule, Stage

_STEPS, _PATIENCE = 80, 3  # in total, and in a row without progress
_STEPS_BROKEN = 24  # while a broken rule must stay broken
_CANDIDATES = 24  # moves that are examined in one step
_BEYOND_ALL = (len(Stage),)
_NO_PLACES: frozenset[Place] = frozenset()


class Subject(NamedTuple):
    """One thing to break: a check of a rule, for one tensor if it is a rule on tensors.

    A general rule on operators has no check; `owner` is the member that it concerns.
    """

    rule: Rule
    owner: Slot
    check: CompiledCheck | None = None

    def is_broken(self, failures: Iterable[Failure]) -> bool:
        return any(
            failure.rule is self.rule
            and failure.check is self.check
            and self.owner.member in ("", failure.owner.member)
            for failure in failures
        )


class _Standing(NamedTuple):
    """How well a state satisfies the rules: the later the first broken one, the better."""

    position: tuple[int, ...]
    failure: Failure | None


class _Remedies(NamedTuple):
    """The moves that a check proposes, compiled."""

    mend: list[Proposal]
    violate: list[Proposal]
    nearby: list[Proposal]


class Search:
    """Searches among the descriptions of one operator."""

    def __init__(self, general: GeneralJudge, operator: Operator) -> None:
        self.rules = general.judge_of(operator)
        self.registry, self.operator = general.registry, operator
        self.sampler = Sampler(general.registry, operator)
        self._proposer = Proposer(
            general.registry,
            general.evaluator,
            operator,
            lambda name: self.sampler.value(operator.member[name], 2),
        )
        self._editor = Editor(operator, self.sampler.entry)
        self._remedies: dict[CompiledCheck, _Remedies] = {}
        self._choices: dict[FeatureLevel, Choices] = {}
        compiled = self._proposer.compile
        self._infer = [
            (one, compiled(one.value), compiled(one.when) if one.when is not None else None)
            for one in operator.inferences
        ]

    @property
    def blocks(self) -> tuple[FeatureLevel, ...]:
        """The levels at which the result of validation can change."""
        return self.rules.blocks

    def judge(self, state: State) -> list[Failure]:
        return list(self.rules.judge(state.description, state.level))

    def is_valid(self, state: State) -> bool:
        return self.rules.is_valid(state.description, state.level)

    def heeds(self, rule: Rule, state: State) -> bool:
        """Whether the state is valid, and does not draw this advice."""
        return all(failure.rule.advice and failure.rule is not rule for failure in self.judge(state))

    def minimum_level(self, state: State) -> FeatureLevel | None:
        return self.rules.minimum_level(state.description)

    def environment(self, state: State) -> Environment:
        return self.rules.environment(state.description)

    def compile(self, node: ir.Expr) -> Compiled:
        return self._proposer.compile(node)

    def choices(self, level: FeatureLevel) -> Choices:
        found = self._choices.get(level)
        if found is None:
            found = self._choices[level] = self.sampler.choices(level)
        return found

    def apply(self, move: Move, state: State) -> State:
        return self._editor.apply(move, state)

    def infer(self, state: State) -> State:
        """The state with the inferred fields of outputs."""
        inferred: set[tuple[str, str]] = set()
        for inference, value, when in self._infer:
            field = (inference.tensor, inference.field)
            environment = self.environment(state)
            if (
                field not in inferred
                and isinstance(state.description[inference.tensor], Tensor)
                and (when is None or when(environment))
            ):
                inferred.add(field)
                new = value(environment)
                if new and not (inference.field == "Sizes" and max(new) > 1 << 10):
                    state = self.apply(Move(Place(inference.tensor, field=inference.field), new), state)
        return state

    def ways_to_choose(self, when: ir.Expr, state: State) -> Iterator[Move]:
        """Single moves that may make the condition of a support table row hold."""
        yield from _moves(self._proposer.directed(when, wanted=True), self.environment(state), NOWHERE)

    def remedies(self, state: State) -> Iterator[Move]:
        """Single moves that may fix what is broken."""
        for failure in self.judge(state):
            yield from islice(self._remedy(failure, state), _CANDIDATES)

    def judges(self, rule: Rule, state: State) -> bool:
        """Whether the rule checks anything in a valid state."""
        if not self.rules.in_force(rule, state.level):
            return False
        return any(self.judged(subject, state) for subject in self.subjects(rule))

    def judged(self, subject: Subject, state: State) -> bool:
        """Whether the state has what the subject concerns, and its check applies."""
        if _lacks(state, subject):
            return False
        return subject.check is None or subject.check.judges(self._environment(subject.owner, state))

    def in_force(self, rule: Rule, level: FeatureLevel) -> bool:
        """Whether the rule applies at the level."""
        return self.rules.in_force(rule, level)

    def gap(self, subject: Subject) -> Callable[[State], int | None] | None:
        """The smallest gap between the sides of the subject's comparison in a state.

        None if it is not an ordering comparison of integers.
        """
        condition = subject.check.check.condition if subject.check is not None else None
        if not isinstance(condition, ir.Compare) or condition.op in ("==", "!="):
            return None
        left, right = self._proposer.compile(condition.left), self._proposer.compile(condition.right)

        def measure(state: State) -> int | None:
            assert subject.check is not None
            if _lacks(state, subject):
                return None
            environments = subject.check.iterations(self._environment(subject.owner, state))
            return min((abs(left(env) - right(env)) for env in environments), default=None)

        return measure

    def mend(
        self, state: State, keep: Rule | None = None, pinned: frozenset[Place] = _NO_PLACES
    ) -> State | None:
        """A nearby state that breaks no rule except `keep`, which it breaks; None if none is found.

        It draws no advice if that can be avoided. What is pinned stays unchanged.
        """
        standing = self._standing(state, keep)
        seen = {state.key}
        patience = _PATIENCE
        for _ in range(_STEPS if keep is None else _STEPS_BROKEN):
            if standing is None or standing.failure is None:
                return standing and state
            best: tuple[_Standing, State] | None = None
            for move in islice(self._remedy(standing.failure, state), _CANDIDATES):
                if move.place.whole in pinned:
                    continue
                after = self.apply(move, state)
                if after.key in seen:
                    continue
                found = self._standing(after, keep)
                if found is not None and (best is None or found.position > best[0].position):
                    best = (found, after)
                    if found.position > standing.position:
                        break
            if best is None or patience == 0:
                return state if keep is None and standing.failure.rule.advice else None
            patience = _PATIENCE if best[0].position > standing.position else patience - 1
            standing, state = best
            seen.add(state.key)
        return None

    def _standing(self, state: State, keep: Rule | None) -> _Standing | None:
        """The position of the first broken rule except `keep`; None if `keep` is no longer broken."""
        kept, other = keep is None, None
        for failure in self.rules.judge(state.description, state.level):
            if failure.rule is keep:
                kept = True
            elif other is None:
                other = failure
            if kept and other is not None:
                break
        if keep is not None and not kept and (other is None or other.rule.stage >= keep.stage):
            return None
        return _Standing(_BEYOND_ALL if other is None else other.position, other)

    def subjects(self, rule: Rule) -> Iterator[Subject]:
        """Everything that can break the rule; in rules on every tensor, tensors take turns at being first."""
        if (general := general_rule(rule)) is not None:
            yield from (Subject(rule, owner) for owner in general.owners(self.rules))
            return
        tensors = [
            Slot(member.name, 0 if member.count is not None else None) for member in self.operator.tensors
        ]
        for turn, (owner, check) in enumerate(self.rules.general.tensor_checks, 1):
            if owner is rule:
                start = turn % len(tensors)
                yield from (Subject(rule, slot, check) for slot in tensors[start:] + tensors[:start])
        for owner, check in self.rules.checks:
            if owner is rule:
                yield Subject(rule, NOWHERE, check)

    def ways_to_break(self, subject: Subject, state: State) -> Iterator[Move]:
        """Single moves that may break the rule for the subject."""
        if _lacks(state, subject):
            return
        if (general := general_rule(subject.rule)) is not None:
            yield from general.breaking(self, subject.owner, state)
        if subject.check is None:
            return
        environment = self._environment(subject.owner, state)
        remedies = self._proposals(subject.check)
        for inner in subject.check.iterations(environment):
            yield from _moves(remedies.violate, inner, subject.owner)
        yield from _moves(remedies.nearby, environment, subject.owner)

    def ways_to_the_bound(self, subject: Subject, state: State) -> Iterator[Move]:
        """Single moves after which the subject's comparison should only just hold."""
        if _lacks(state, subject):
            return
        if subject.check is not None:
            environment = self._environment(subject.owner, state)
            for inner in subject.check.iterations(environment):
                yield from _moves(self._proposals(subject.check).mend, inner, subject.owner)
            yield from _moves(self._proposals(subject.check).nearby, environment, subject.owner)

    def _environment(self, owner: Slot, state: State) -> Environment:
        environment = self.rules.environment(state.description)
        if owner.member:
            tensor = environment[owner.member]
            tensor = tensor if owner.at is None else tensor[owner.at]
            return {"": tensor, "is_input": owner.member in self.rules.inputs}
        return environment

    def _remedy(self, failure: Failure, state: State) -> Iterator[Move]:
        """Moves that may satisfy the broken rule, most promising first."""
        owner = failure.owner
        if failure.check is not None and failure.environment is not None:
            proposals = self._proposals(failure.check)
            yield from _moves(proposals.mend, failure.environment, owner)
            yield from _moves(proposals.nearby, failure.environment, owner)
        elif (general := general_rule(failure.rule)) is not None:
            yield from general.mending(self, owner, state)

    def _proposals(self, check: CompiledCheck) -> _Remedies:
        found = self._remedies.get(check)
        if found is None:
            condition, guard = check.check.condition, check.check.guard
            parts = [condition, *(part for loop in check.check.loops for part in (loop.lower, loop.upper))]
            found = self._remedies[check] = _Remedies(
                mend=[
                    *self._proposer.directed(condition, wanted=True),
                    *(self._proposer.directed(guard, wanted=False) if guard is not None else ()),
                ],
                violate=self._proposer.directed(condition, wanted=False),
                nearby=[proposal for part in parts for proposal in self._proposer.nearby(part)],
            )
        return found


def _lacks(state: State, subject: Subject) -> bool:
    """Whether the member that the subject concerns is absent, or an empty array."""
    return bool(subject.owner.member) and state.description[subject.owner.member] in (None, ())


def _moves(proposals: Iterable[Proposal], environment: Environment, owner: Slot) -> Iterator[Move]:
    for proposal in proposals:
        for move in proposal(environment):
            if move.place.member == "":
                yield move._replace(place=move.place._replace(member=owner.member, at=owner.at))
            else:
                yield move
