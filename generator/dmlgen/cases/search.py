"""From a description to one that breaks no rule, or just one: what is broken first is mended first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dmlgen.cases.moves import Move, Place, Proposal, Proposer, State
from dmlgen.description import Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import Environment
from dmlgen.judge import CompiledCheck, Failure, Judge, in_force
from dmlgen.registry import FeatureLevel, Rule, Stage

_STEPS, _PATIENCE = 24, 3  # in all, and of these in a row those that bring nothing
_BEYOND_ALL = (len(Stage),)
_NO_PLACES: frozenset[Place] = frozenset()


class Subject(NamedTuple):
    """One thing to break: a check of a rule, for one tensor where it is a rule of tensors.

    A general rule of operators has no check; `owner` is the member it is about.
    """

    rule: Rule
    owner: str
    check: CompiledCheck | None = None

    def is_broken(self, failures: Iterable[Failure]) -> bool:
        return any(
            f.rule is self.rule and f.check is self.check and self.owner in ("", f.owner) for f in failures
        )


class _Standing(NamedTuple):
    """How far the rules hold: the further on the first broken one is, the better."""

    position: tuple[int, ...]
    failure: Failure | None


class _Remedies(NamedTuple):
    """The moves that a check proposes, compiled."""

    mend: list[Proposal]
    violate: list[Proposal]
    nearby: list[Proposal]


class Search:
    """Searches among the descriptions of one operator."""

    def __init__(self, judge: Judge, proposer: Proposer) -> None:
        self._judge, self.proposer = judge, proposer
        self.registry, self.operator = judge.registry, judge.operator
        self._remedies: dict[CompiledCheck, _Remedies] = {}

    def judge(self, state: State) -> list[Failure]:
        return list(self._judge.judge(state.description, state.level))

    def is_valid(self, state: State) -> bool:
        return self._judge.is_valid(state.description, state.level)

    def minimum_level(self, state: State) -> FeatureLevel | None:
        return self._judge.minimum_level(state.description)

    def remedies(self, state: State) -> Iterator[Move]:
        """Single moves that may mend what is broken."""
        for failure in self.judge(state):
            yield from self._remedy(failure, state)

    def judges(self, rule: Rule, state: State) -> bool:
        """Whether a valid state has anything that the rule judges."""
        if not in_force(rule, state.level):
            return False
        for subject in self.subjects(rule):
            if subject.check is None or subject.check.judges(self._environment(subject.owner, state)):
                return True
        return False

    def gap(self, subject: Subject) -> Callable[[State], int | None] | None:
        """How far the sides of the subject's comparison are apart in a state, where they are nearest.

        None for what is no ordering comparison of integers.
        """
        condition = subject.check.check.condition if subject.check is not None else None
        if not isinstance(condition, ir.Compare) or condition.op in ("==", "!="):
            return None
        left, right = self.proposer.compile(condition.left), self.proposer.compile(condition.right)

        def measure(state: State) -> int | None:
            assert subject.check is not None
            environments = subject.check.iterations(self._environment(subject.owner, state))
            return min((abs(left(env) - right(env)) for env in environments), default=None)

        return measure

    def mend(
        self, state: State, keep: Rule | None = None, pinned: frozenset[Place] = _NO_PLACES
    ) -> State | None:
        """A state near to this one that breaks no rule but `keep`, and that one; None when none is found.

        What is pinned stays as it is.
        """
        standing = self._standing(state, keep)
        seen = {state.key}
        patience = _PATIENCE
        for _ in range(_STEPS):
            if standing is None or standing.failure is None:
                return standing and state
            best: tuple[_Standing, State] | None = None
            for move in self._remedy(standing.failure, state):
                after = move.apply(state)
                if move.place.whole in pinned or after.key in seen:
                    continue
                found = self._standing(after, keep)
                if found is not None and (best is None or found.position > best[0].position):
                    best = (found, after)
                    if found.position > standing.position:
                        break
            if best is None or patience == 0:
                return None
            patience = _PATIENCE if best[0].position > standing.position else patience - 1
            standing, state = best
            seen.add(state.key)
        return None

    def _standing(self, state: State, keep: Rule | None) -> _Standing | None:
        """Where the first broken rule but `keep` is; None when `keep` is broken no longer."""
        kept, other = keep is None, None
        for failure in self._judge.judge(state.description, state.level):
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
        """All that can break the rule."""
        tensors = [member.name for member in self.operator.tensors]
        if rule in self.registry.tensor.rules:
            for owner, check in self._judge.general.tensor_checks:
                if owner is rule:
                    yield from (Subject(rule, name, check) for name in tensors)
        elif rule in self.operator.rules:
            yield from (Subject(rule, "", check) for owner, check in self._judge.checks if owner is rule)
        elif rule.slug == "since":
            yield Subject(rule, "")
        elif rule.slug == "integer-range":
            yield from (Subject(rule, name) for name in (*tensors, *self._judge.integers))
        elif rule.slug in ("required", "dimension-count", "data-type"):
            yield from (Subject(rule, name) for name in tensors)

    def ways_to_break(self, subject: Subject, state: State) -> Iterator[Move]:
        """Single moves that may break the rule for the subject."""
        if subject.check is None:
            yield from self._general_violations(subject, state)
            return
        environment = self._environment(subject.owner, state)
        remedies = self._proposals(subject.check)
        for inner in subject.check.iterations(environment):
            yield from _moves(remedies.violate, inner, subject.owner)
        yield from _moves(remedies.nearby, environment, subject.owner)

    def ways_to_the_bound(self, subject: Subject, state: State) -> Iterator[Move]:
        """Single moves after which the subject's comparison should hold, but only just."""
        if subject.check is not None:
            environment = self._environment(subject.owner, state)
            for inner in subject.check.iterations(environment):
                yield from _moves(self._proposals(subject.check).mend, inner, subject.owner)
            yield from _moves(self._proposals(subject.check).nearby, environment, subject.owner)

    def _environment(self, owner: str, state: State) -> Environment:
        environment = self._judge.environment(state.description)
        if owner:
            return {"": environment[owner], "is_input": owner in self._judge.inputs}
        return environment

    def _remedy(self, failure: Failure, state: State) -> Iterator[Move]:
        """Moves that may make the broken rule hold, the most promising first."""
        if failure.check is not None and failure.environment is not None:
            proposals = self._proposals(failure.check)
            yield from _moves(proposals.mend, failure.environment, failure.owner)
            yield from _moves(proposals.nearby, failure.environment, failure.owner)
        elif failure.rule.slug == "data-type":
            _, types = self._table(failure.owner, state)
            yield from (Move(Place(failure.owner, "DataType"), value) for value in types)
        elif failure.rule.slug == "dimension-count":
            ranks, _ = self._table(failure.owner, state)
            tensor = state.description[failure.owner]
            assert isinstance(tensor, Tensor)
            nearest = sorted(ranks, key=lambda rank: abs(rank - tensor.DimensionCount))
            yield from (Move(Place(failure.owner, "DimensionCount"), rank) for rank in nearest)

    def _general_violations(self, subject: Subject, state: State) -> Iterator[Move]:
        slug, owner = subject.rule.slug, subject.owner
        if slug == "since":
            below = self.registry.levels[: self.operator.since.ordinal]
            yield from (Move(Place(None), level) for level in reversed(below))
        elif slug == "required":
            yield Move(Place(owner), None)
        elif slug == "integer-range":
            yield from self._beyond_range(owner, state)
        elif slug == "dimension-count":
            ranks, _ = self._table(owner, state)
            others = (rank for rank in range(1, max(ranks) + 2) if rank not in ranks)
            yield from (Move(Place(owner, "DimensionCount"), rank) for rank in others)
        elif slug == "data-type":
            _, types = self._table(owner, state)
            values = (entry.value for entry in self.registry.data_types if entry.value not in types)
            yield from (Move(Place(owner, "DataType"), value) for value in values)

    def _beyond_range(self, owner: str, state: State) -> Iterator[Move]:
        """Values just outside of the C type; tensors take turns at showing their fields."""
        if owner in self._judge.integers:
            least, most = self._judge.integers[owner]
            yield from (Move(Place(owner), value) for value in (most + 1, least - 1))
            return
        fields = list(self._judge.general.integer_fields.items())
        turn = [member.name for member in self.operator.tensors].index(owner)
        tensor = state.description[owner]
        for field, (_, most) in fields[turn:] + fields[:turn]:
            array = isinstance(getattr(tensor, field), tuple)
            if array or field != "Strides":
                yield Move(Place(owner, field, 0 if array else None), most + 1)

    def _table(self, tensor: str, state: State) -> tuple[list[int], list[int]]:
        """The dimension counts and data types (values) that the level supports for a tensor."""
        rows = self._judge.supported(tensor, self._judge.environment(state.description), state.level)
        ranks = dict.fromkeys(rank for row in rows for rank in row.ranks)
        types = dict.fromkeys(self.registry.data_type[name].value for row in rows for name in row.types)
        return list(ranks), list(types)

    def _proposals(self, check: CompiledCheck) -> _Remedies:
        found = self._remedies.get(check)
        if found is None:
            condition = check.check.condition
            parts = [condition, *(part for loop in check.check.loops for part in (loop.lower, loop.upper))]
            found = self._remedies[check] = _Remedies(
                mend=self.proposer.directed(condition, wanted=True),
                violate=self.proposer.directed(condition, wanted=False),
                nearby=[proposal for part in parts for proposal in self.proposer.nearby(part)],
            )
        return found


def _moves(proposals: Iterable[Proposal], environment: Environment, owner: str) -> Iterator[Move]:
    for proposal in proposals:
        for move in proposal(environment):
            yield move._replace(place=move.place._replace(member=move.place.member or owner))
