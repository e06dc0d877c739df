"""Searches from a description to one that breaks no rule, or just one; fixes the first broken rule first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dmlgen.cases.changes import NOWHERE, Move, Place, Slot, State
from dmlgen.cases.general import GENERAL_MOVES, Setting, tensor_at, tensor_slots
from dmlgen.cases.moves import Editor, Proposal, Proposer
from dmlgen.cases.samples import Choices
from dmlgen.cases.validators import Validators, members_of, violations_of
from dmlgen.expr import ir
from dmlgen.expr.evaluate import Environment
from dmlgen.registry import Check, FeatureLevel, Operator, Rule, Stage

if TYPE_CHECKING:
    from dmlops import TensorDesc, Violation

_STEPS, _PATIENCE = 80, 3  # in total, and in a row without progress
_STEPS_BROKEN = 24  # while a broken rule must stay broken
_CANDIDATES = 24  # moves that are examined in one step
_BEYOND_ALL = (len(Stage),)
_NO_PLACES: frozenset[Place] = frozenset()


class SearchedCheck:
    """A check with the values of its parts, and the moves that it proposes.

    `iterations` are those of its loops as environments, if its guard holds. The moves `mend` the check where
    it fails, `violate` it, or are `nearby`: they change what it reads.
    """

    def __init__(self, check: Check, proposer: Proposer) -> None:
        self.check = check
        self._proposer = proposer
        self._holds = proposer.compile(check.condition)

    @cached_property
    def iterations(self) -> Callable[[Environment], Iterator[Environment]]:
        return self._proposer.evaluator.iterations(self.check.loops, self.check.guard)

    def failing(self, environment: Environment) -> Environment | None:
        """The first iteration in which the condition fails."""
        return next((inner for inner in self.iterations(environment) if not self._holds(inner)), None)

    @cached_property
    def mend(self) -> list[Proposal]:
        condition, guard = self.check.condition, self.check.guard
        return [
            *self._proposer.directed(condition, wanted=True),
            *(self._proposer.directed(guard, wanted=False) if guard is not None else ()),
        ]

    @cached_property
    def violate(self) -> list[Proposal]:
        return self._proposer.directed(self.check.condition, wanted=False)

    @cached_property
    def nearby(self) -> list[Proposal]:
        loops = (part for loop in self.check.loops for part in (loop.lower, loop.upper))
        return [one for part in (self.check.condition, *loops) for one in self._proposer.nearby(part)]


class Subject(NamedTuple):
    """One thing to break: a check of a rule, for one tensor if it is a rule on tensors.

    A general rule on operators has no check; `owner` is the member that it concerns.
    """

    rule: Rule
    owner: Slot
    check: SearchedCheck | None = None


class _Standing(NamedTuple):
    """A score of how well a state satisfies the rules: the later the first broken one, the better."""

    position: tuple[int, ...]
    failure: _Failure | None


class _Failure(NamedTuple):
    """A broken rule, and the tensor or member that it concerns.

    If it has conditions: the one that fails, and the values of names where it does.
    """

    rule: Rule
    owner: Slot
    check: SearchedCheck | None = None
    environment: Environment | None = None


class Search:
    """Searches among the descriptions of one operator."""

    def __init__(self, validators: Validators, operator: Operator) -> None:
        self.setting = Setting(validators, operator)
        self.validators, self.operator, self.registry = validators, operator, validators.registry
        self.sampler, self.proposer = self.setting.sampler, self.setting.proposer
        self._editor = Editor(operator, self.sampler.entry)
        registry, compiled = self.registry, self.proposer.compile
        rules = registry.rules_of(operator)
        inner = (registry.operator[name].rules for name in self.setting.fusable)
        self.rule = {rule.id: rule for rule in (*(one for some in inner for one in some), *rules)}
        self._checks = {
            rule.id: [SearchedCheck(check, self.proposer) for check in rule.checks]
            for rule in rules
            if rule.applies_to != "abi"
        }
        self._number = {rule.id: number for number, rule in enumerate(rules)}
        self._of_tensors = {rule.id for rule in registry.tensor.rules}
        of_tensors = (check for rule in registry.tensor.rules for check in self._checks.get(rule.id, ()))
        self._turn = {check: turn for turn, check in enumerate(of_tensors, 1)}
        self._member_number = {member.name: number for number, member in enumerate(operator.members)}
        self._choices: dict[FeatureLevel, Choices] = {}
        self._infer = [
            (one, compiled(one.value), compiled(one.when) if one.when is not None else None)
            for one in operator.inferences
        ]

    # What a state breaks.

    def broken(self, state: State) -> list[Violation]:
        """The rules that a state breaks, of the first stage that has any; otherwise the advice it draws."""
        return violations_of(state.description, state.level)

    def is_valid(self, state: State) -> bool:
        return not state.description.validate(state.level.name)

    def heeds(self, rule: Rule, state: State) -> bool:
        """Whether the state is valid, and does not draw this advice."""
        return all(self.rule[one.rule].advice and one.rule != rule.id for one in self.broken(state))

    def minimum_level(self, state: State) -> FeatureLevel | None:
        level = state.description.min_feature_level()
        return None if level is None else self.registry.level[str(level)]

    def breaks(self, subject: Subject, state: State, violations: Iterable[Violation]) -> bool:
        """Whether a state with these violations breaks the subject's check."""
        owners = (self._owner(one) for one in violations if one.rule == subject.rule.id)
        return any(
            subject.owner.member in ("", owner.member)
            and (subject.check is None or subject.check.failing(self._environment(owner, state)) is not None)
            for owner in owners
        )

    def in_force(self, rule: Rule, level: FeatureLevel) -> bool:
        """Whether the rule applies at the level."""
        since = max(rule.since.ordinal, self.operator.since.ordinal)
        return since <= level.ordinal and (rule.until is None or level.ordinal < rule.until.ordinal)

    def newest(self, rule: Rule) -> FeatureLevel | None:
        """The newest level at which the rule applies, if there is any."""
        levels = reversed(self.registry.levels)
        return next((level for level in levels if self.in_force(rule, level)), None)

    # States.

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
            environment = members_of(state.description)
            given = environment[inference.tensor]
            if (
                field not in inferred
                and given is not None
                and not isinstance(given, tuple)
                and (when is None or when(environment))
            ):
                inferred.add(field)
                new = value(environment)
                if new and not (inference.field == "Sizes" and max(new) > 1 << 10):
                    state = self.apply(Move(Place(inference.tensor, field=inference.field), new), state)
        return state

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
        """The position of the first broken rule except `keep`; None if `keep` is no longer broken.

        In the last stage, rules on tensors come after those of the operator, because fixing them disturbs no
        other.
        """
        violations = self.broken(state)
        others = [one for one in violations if keep is None or one.rule != keep.id]
        first = min(others, key=self._rank, default=None)
        kept = keep is None or len(others) < len(violations)
        if keep is not None and not kept and (first is None or self.rule[first.rule].stage >= keep.stage):
            return None
        if first is None:
            return _Standing(_BEYOND_ALL, None)
        rank, failure = self._rank(first), self._failure(first, state)
        if failure.check is None or failure.environment is None:
            return _Standing(rank, failure)
        counters = (failure.environment[loop.variable.name] for loop in failure.check.check.loops)
        number = self._checks[failure.rule.id].index(failure.check)
        return _Standing((*rank, number, *counters), failure)

    def _rank(self, violation: Violation) -> tuple[int, ...]:
        """The position of a violation in the order in which they are best fixed."""
        rule, owner = self.rule[violation.rule], self._owner(violation)
        where = (self._member_number.get(owner.member, -1), owner.at or 0)
        if rule.id in self._of_tensors:
            return (rule.stage, 2, *where)
        if rule.checks:  # of the operator, or of what is fused into it
            return (rule.stage, 1, self._number.get(rule.id, len(self._number)))
        return (rule.stage, 0, self._number[rule.id], *where)

    def _owner(self, violation: Violation) -> Slot:
        """The tensor or member that a violation of a general rule or a rule on tensors names."""
        if self.rule[violation.rule].checks and violation.rule not in self._of_tensors:
            return NOWHERE
        name, at = _BEGINNING.match(violation.member).groups()  # type: ignore[union-attr]
        member = self.operator.member.get(name)
        if member is None:
            return NOWHERE
        return Slot(name, int(at) if at is not None and member.is_tensor else None)

    def _failure(self, violation: Violation, state: State) -> _Failure:
        rule, owner = self.rule[violation.rule], self._owner(violation)
        for check in self._checks.get(rule.id, ()):
            environment = check.failing(self._environment(owner, state))
            if environment is not None:
                return _Failure(rule, owner, check, environment)
        return _Failure(rule, owner)

    # Subjects and moves.

    def subjects(self, rule: Rule) -> Iterator[Subject]:
        """Everything that can break the rule; in rules on every tensor, tensors take turns at being first."""
        if not rule.checks and rule.slug in GENERAL_MOVES:
            yield from (Subject(rule, owner) for owner in GENERAL_MOVES[rule.slug].owners(self.setting))
        elif rule.id not in self._of_tensors:
            yield from (Subject(rule, NOWHERE, check) for check in self._checks.get(rule.id, ()))
        else:
            tensors = [*tensor_slots(self.setting)]
            for check in self._checks.get(rule.id, ()):
                start = self._turn[check] % len(tensors)
                yield from (Subject(rule, slot, check) for slot in tensors[start:] + tensors[:start])

    def judged(self, subject: Subject, state: State) -> bool:
        """Whether the state has what the subject concerns, and its check applies."""
        if _lacks(state, subject):
            return False
        return subject.check is None or any(
            True for _ in self._iterations(subject.owner, subject.check, state)
        )

    def judges(self, rule: Rule, state: State) -> bool:
        """Whether the rule checks anything in a valid state."""
        if not self.in_force(rule, state.level):
            return False
        return any(self.judged(subject, state) for subject in self.subjects(rule))

    def gap(self, subject: Subject) -> Callable[[State], int | None] | None:
        """The smallest gap between the sides of the subject's comparison in a state.

        None if it is not an ordering comparison of integers.
        """
        check = subject.check
        condition = check.check.condition if check is not None else None
        if check is None or not isinstance(condition, ir.Compare) or condition.op in ("==", "!="):
            return None
        left, right = self.proposer.compile(condition.left), self.proposer.compile(condition.right)

        def measure(state: State) -> int | None:
            if _lacks(state, subject):
                return None
            iterations = self._iterations(subject.owner, check, state)
            return min((abs(left(env) - right(env)) for env in iterations), default=None)

        return measure

    def ways_to_break(self, subject: Subject, state: State) -> Iterator[Move]:
        """Single moves that may break the rule for the subject."""
        check = subject.check
        if _lacks(state, subject):
            return
        if check is None:
            yield from GENERAL_MOVES[subject.rule.slug].breaking(self.setting, subject.owner, state)
            return
        for inner in self._iterations(subject.owner, check, state):
            yield from _moves(check.violate, inner, subject.owner)
        yield from _moves(check.nearby, self._environment(subject.owner, state), subject.owner)

    def with_all(self, subject: Subject, state: State) -> State | None:
        """The state with everything true of which a rule demands `not all(...)`; None for any other rule.

        It ends after a fixed number of changes, each of which makes one more part true.
        """
        match subject.check and subject.check.check.condition:
            case ir.Not(operand=ir.Reduce(kind="all", loop=loop, body=body)):
                parts = body.operands if isinstance(body, ir.Logic) and body.op == "and" else (body,)
            case _:
                return None
        turns = self.proposer.evaluator.iterations((loop,), None)
        for _ in range(_STEPS_BROKEN):
            environments = turns(self._environment(subject.owner, state))
            left = (
                (one, env) for env in environments for one in parts if not self.proposer.compile(one)(env)
            )
            part, inner = next(left, (None, None))
            if part is None or inner is None:
                return state
            move = next(_moves(self.proposer.directed(part, wanted=True), inner, subject.owner), None)
            if move is None:
                return None
            state = self.apply(move, state)
        return None

    def ways_to_the_bound(self, subject: Subject, state: State) -> Iterator[Move]:
        """Single moves after which the subject's comparison should only just hold."""
        check = subject.check
        if check is None or _lacks(state, subject):
            return
        for inner in self._iterations(subject.owner, check, state):
            yield from _moves(check.mend, inner, subject.owner)
        yield from _moves(check.nearby, self._environment(subject.owner, state), subject.owner)

    def remedies(self, state: State) -> Iterator[Move]:
        """Single moves that may fix what is broken."""
        for violation in sorted(self.broken(state), key=self._rank):
            yield from islice(self._remedy(self._failure(violation, state), state), _CANDIDATES)

    def _remedy(self, failure: _Failure, state: State) -> Iterator[Move]:
        """Moves that may satisfy the broken rule, most promising first."""
        rule, owner, check, environment = failure
        if check is not None and environment is not None:
            yield from _moves(check.mend, environment, owner)
            yield from _moves(check.nearby, environment, owner)
        elif not rule.checks and rule.slug in GENERAL_MOVES:
            yield from GENERAL_MOVES[rule.slug].mending(self.setting, owner, state)

    def _iterations(self, owner: Slot, check: SearchedCheck, state: State) -> Iterator[Environment]:
        return check.iterations(self._environment(owner, state))

    def _environment(self, owner: Slot, state: State) -> Environment:
        """The values of names in a rule: members, or for a rule on tensors those of one tensor."""
        if not owner.member:
            return members_of(state.description)
        return {
            "": _complete(tensor_at(owner, state)),
            "is_input": self.operator.member[owner.member].role == "input",
        }


@cache
def _complete(tensor: TensorDesc) -> TensorDesc:
    """The tensor with the size that follows from the rest, if it has none."""
    return replace(tensor, TotalTensorSizeInBytes=tensor.size_in_bytes)


_BEGINNING = re.compile(r"(\w*)(?:\[(\d+)\])?")  # of the path of a violation


def _lacks(state: State, subject: Subject) -> bool:
    """Whether the member that the subject concerns is absent, or an empty array."""
    owner = subject.owner.member
    return bool(owner) and getattr(state.description, owner) in (None, ())


def _moves(proposals: Iterable[Proposal], environment: Environment, owner: Slot) -> Iterator[Move]:
    for proposal in proposals:
        for move in proposal(environment):
            if move.place.member == "":
                yield move._replace(place=move.place._replace(member=owner.member, at=owner.at))
            elif move.place.member != "is_input":  # the operator says what it reads, no member
                yield move
