"""For every rule, descriptions that break only that rule, each with the nearest possible valid twin.

For advice, which does not make a description invalid: descriptions that draw only that advice, and twins that
do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import NamedTuple

from dmlgen.cases.changes import Move, Place, State
from dmlgen.cases.search import Search, Subject
from dmlgen.cases.validators import members_of
from dmlgen.expr import ir
from dmlgen.registry import Rule

FEW = 6  # bases that suffice for most rules
_MORE = 12  # further ones, for other rules
_TURNS = 3  # tensors for which a rule on every tensor is broken, if possible
MOVES = 40  # tried on one base
_IS_INPUT = ir.Member("is_input", ir.BOOL)
_MOST = 5  # times the effort, for what is hard to find
_BREAKING, _HIDING = 4, 2  # of these, those after which other failures are fixed


class Negative(NamedTuple):
    """A state that breaks only the subject's rule, and its valid twin."""

    subject: Subject
    state: State
    twin: State


@dataclass
class Attempt:
    """The result of trying to break one rule. `companions` are the rules that were broken along with it."""

    rule: Rule
    found: list[Negative] = field(default_factory=list)
    companions: set[str] = field(default_factory=set)


def attempt(search: Search, rule: Rule, bases: Sequence[State]) -> Attempt:
    """A negative for every subject of the rule that has one; `bases` are valid states, simplest first.

    The later bases are tried only if the first ones do not break the rule, with more moves from all of them
    for a rule of the operator itself.
    """
    result = Attempt(rule)
    for turn, subject in enumerate(search.subjects(rule)):
        if subject.check is not None and subject.owner.member and result.found and turn >= _TURNS:
            break
        fitting = _fitting(search, subject, bases)
        efforts = [(fitting[:FEW], 1), (fitting[FEW : FEW + _MORE], 1)]
        if subject.check is not None and not subject.owner.member:
            efforts.append((fitting, _MOST))
        for some, effort in efforts[: 1 if result.found else None]:
            found = (
                _alone(search, subject, some, result)
                or _with_all(search, subject, some)
                or _with_mending(search, subject, some, result, effort)
            )
            if found:
                result.found += found
                break
    return result


def _fitting(search: Search, subject: Subject, bases: Sequence[State]) -> list[State]:
    """First the bases in which the subject checks something, at a level at which its rule applies.

    A subject about a member needs the member to be present.
    """
    states: list[State] = []
    for base in bases:
        if not search.in_force(subject.rule, base.level):
            base = base._replace(level=search.newest(subject.rule) or base.level)
        elif not subject.rule.advice:
            states.append(base)
            continue
        if search.heeds(subject.rule, base):
            states.append(base)
    states.sort(key=lambda state: not search.judged(subject, state))
    return states if _can_be_judged(subject) else [state for state in states if search.judged(subject, state)]


def _can_be_judged(subject: Subject) -> bool:
    """Whether a change to the description can make the subject's guard hold."""
    guard = subject.check.check.guard if subject.check is not None else None
    return guard is None or any(
        not isinstance(node, ir.Number | ir.Not | ir.Logic) and node != _IS_INPUT for node in ir.walk(guard)
    )


def boundary(search: Search, subject: Subject, bases: Sequence[State]) -> State | None:
    """A valid state in which the subject's ordering comparison of integers only just holds."""
    gap = search.gap(subject)
    if gap is None or subject.check is None:
        return None
    condition = subject.check.check.condition
    slack = 1 if isinstance(condition, ir.Compare) and condition.op in ("<", ">") else 0
    for base in bases:
        for move in islice(search.ways_to_the_bound(subject, base), MOVES):
            near = search.apply(move, base)
            if gap(near) == slack:
                state = search.mend(near, pinned=frozenset({move.place.whole}))
                if state is not None and gap(state) == slack:
                    return state
    return None


def _alone(search: Search, subject: Subject, bases: Sequence[State], result: Attempt) -> list[Negative]:
    """With one move from a valid state, which is then the twin; for sizes that a rule lists, each of them."""
    found: dict[Place, Negative] = {}
    for base in bases:
        for move in islice(search.ways_to_break(subject, base), MOVES):
            if move.place in found:
                continue
            state = search.apply(move, base)
            violations = search.broken(state)
            if search.breaks(subject, state, violations):
                companions = {violation.rule for violation in violations} - {subject.rule.id}
                if not companions:
                    found[move.place] = Negative(subject, state, base)
                    if not _lists_sizes(subject):
                        break
                result.companions |= companions
        if found:
            break
    return [*found.values()]


def _with_all(search: Search, subject: Subject, bases: Sequence[State]) -> list[Negative]:
    """For a rule `not all(...)`, with as many moves as make everything true in it."""
    for base in bases:
        state = search.with_all(subject, base)
        if state is not None and {one.rule for one in search.broken(state)} == {subject.rule.id}:
            return [Negative(subject, state, base)]
    return []


def _lists_sizes(subject: Subject) -> bool:
    match subject.check and subject.check.check.condition:
        case ir.Compare(op="==", right=ir.ListOf()):
            return True
    return False


def _with_mending(
    search: Search, subject: Subject, bases: Sequence[State], result: Attempt, effort: int
) -> list[Negative]:
    """With one move from a valid state, and others that fix what else it broke."""
    for base in bases:
        for move in _promising(search, subject, base, result, effort):
            state = search.mend(search.apply(move, base), subject.rule, frozenset({move.place.whole}))
            if state is not None and search.breaks(subject, state, search.broken(state)):
                return [Negative(subject, state, _twin(search, subject, state, base))]
    return []


def _promising(search: Search, subject: Subject, base: State, result: Attempt, effort: int) -> list[Move]:
    """Moves that break the rule; if there are none, some that break an earlier one, which may hide it."""
    breaking: list[Move] = []
    hiding: list[Move] = []
    for move in islice(search.ways_to_break(subject, base), MOVES):
        state = search.apply(move, base)
        violations = search.broken(state)
        if search.breaks(subject, state, violations):
            breaking.append(move)
        elif violations and search.rule[violations[0].rule].stage < subject.rule.stage:
            result.companions |= {violation.rule for violation in violations}
            hiding.append(move)
    return breaking[: _BREAKING * effort] or hiding[: _HIDING * effort]


def _twin(search: Search, subject: Subject, state: State, base: State) -> State:
    """The valid state nearest to one that breaks a rule: one change away, if possible."""
    for move in search.remedies(state):
        twin = search.apply(move, state)
        if search.heeds(subject.rule, twin):
            return twin
    level = search.minimum_level(state)
    if level is not None and search.heeds(subject.rule, state._replace(level=level)):
        return state._replace(level=level)
    mended = search.mend(state)
    if mended is None or not search.heeds(subject.rule, mended):
        return base
    return min((mended, base), key=lambda twin: distance(twin, state))


def distance(one: State, other: State) -> int:
    """The number of members and tensor fields that differ; the feature level is one of them."""
    count = int(one.level is not other.level)
    tensors = {member.name for member in one.description.TENSORS if not member.count}
    others = members_of(other.description)
    for name, left in members_of(one.description).items():
        right = others[name]
        if name in tensors and left is not None and right is not None:
            count += sum(getattr(left, part.name) != getattr(right, part.name) for part in fields(left))
        else:
            count += left != right
    return count
