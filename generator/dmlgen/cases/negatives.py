"""For every rule, descriptions that break it alone, each with a valid twin that is as near as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from dmlgen.cases.moves import Move, State
from dmlgen.cases.search import Search, Subject
from dmlgen.description import Tensor
from dmlgen.expr import ir
from dmlgen.registry import Rule

FEW = 12  # bases that are enough for most rules
_MOVES = 60  # tried on one base
_BREAKING, _HIDING = 6, 2  # of these, those after which other failures are mended


class Negative(NamedTuple):
    """A state that breaks the subject's rule alone, and its valid twin."""

    subject: Subject
    state: State
    twin: State


@dataclass
class Attempt:
    """What came of trying to break one rule. `companions` are the rules that were broken with it."""

    rule: Rule
    found: list[Negative] = field(default_factory=list)
    companions: set[str] = field(default_factory=set)


def attempt(search: Search, rule: Rule, bases: Sequence[State]) -> Attempt:
    """A negative for every subject of the rule that has one; `bases` are valid states, the plainest first.

    The later bases are tried only for a rule that the first ones do not break.
    """
    result = Attempt(rule)
    for some in (bases[:FEW], bases[FEW:]):
        for subject in search.subjects(rule):
            negative = _alone(search, subject, some, result) or _with_mending(search, subject, some, result)
            if negative is not None:
                result.found.append(negative)
        if result.found:
            break
    return result


def boundary(search: Search, subject: Subject, bases: Sequence[State]) -> State | None:
    """A valid state in which the subject's ordering comparison of integers holds, but only just."""
    gap = search.gap(subject)
    if gap is None or subject.check is None:
        return None
    condition = subject.check.check.condition
    slack = 1 if isinstance(condition, ir.Compare) and condition.op in ("<", ">") else 0
    for base in bases:
        for move in islice(search.ways_to_the_bound(subject, base), _MOVES):
            near = move.apply(base)
            if gap(near) == slack:
                state = search.mend(near, pinned=frozenset({move.place.whole}))
                if state is not None and gap(state) == slack:
                    return state
    return None


def _alone(search: Search, subject: Subject, bases: Sequence[State], result: Attempt) -> Negative | None:
    """By one move from a valid state, which then is the twin."""
    for base in bases:
        for move in islice(search.ways_to_break(subject, base), _MOVES):
            state = move.apply(base)
            failures = search.judge(state)
            if subject.is_broken(failures):
                companions = {failure.rule.id for failure in failures} - {subject.rule.id}
                if not companions:
                    return Negative(subject, state, base)
                result.companions |= companions
    return None


def _with_mending(
    search: Search, subject: Subject, bases: Sequence[State], result: Attempt
) -> Negative | None:
    """By one move from a valid state, and others that mend what else it broke."""
    for base in bases:
        for move in _promising(search, subject, base, result):
            state = search.mend(move.apply(base), subject.rule, frozenset({move.place.whole}))
            if state is not None and subject.is_broken(search.judge(state)):
                return Negative(subject, state, _twin(search, subject, state, base))
    return None


def _promising(search: Search, subject: Subject, base: State, result: Attempt) -> list[Move]:
    """Moves that break the rule; if there are none, some that break an earlier one, which may hide it."""
    breaking: list[Move] = []
    hiding: list[Move] = []
    for move in islice(search.ways_to_break(subject, base), _MOVES):
        failures = search.judge(move.apply(base))
        if subject.is_broken(failures):
            breaking.append(move)
        elif failures and failures[0].rule.stage < subject.rule.stage:
            result.companions |= {failure.rule.id for failure in failures}
            hiding.append(move)
    return breaking[:_BREAKING] or hiding[:_HIDING]


def _twin(search: Search, subject: Subject, state: State, base: State) -> State:
    """The valid state nearest to one that breaks a rule: one change away, if any is."""
    for move in search.remedies(state):
        twin = move.apply(state)
        if search.is_valid(twin):
            return twin
    level = search.minimum_level(state)
    if level is not None:
        return state._replace(level=level)
    mended = search.mend(state)
    return min((mended or base, base), key=lambda twin: distance(twin, state))


def distance(one: State, other: State) -> int:
    """How many members and fields of tensors differ; the feature level counts as one."""
    count = int(one.level is not other.level)
    for name, left in one.description.items():
        right = other.description[name]
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            count += sum(a != b for a, b in zip(left, right, strict=True))
        else:
            count += left != right
    return count
