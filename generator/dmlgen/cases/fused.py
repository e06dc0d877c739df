"""Descriptions whose fused activation breaks a rule or draws advice of its own, each with its twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from dmlgen.cases.negatives import MOVES, Attempt, Negative
from dmlgen.cases.samples import nested_sample
from dmlgen.cases.search import Search, Subject
from dmlgen.changes import State
from dmlgen.description import Nested
from dmlgen.failures import Slot
from dmlgen.judge import Fused, GeneralJudge
from dmlgen.registry import FeatureLevel, Member, Operator, Rule


def attempts(general: GeneralJudge, search: Search, bases: Sequence[State]) -> Iterator[Attempt]:
    """A negative for every rule that an activation can break where it is fused into the operator."""
    for member in search.rules.nested:
        for name in search.rules.fusable:
            operator = general.registry.operator[name]
            inner = Search(general, operator)
            for rule in general.registry.rules_of(operator):
                subjects = [one for one in inner.subjects(rule) if _is_of_fused(operator, one)]
                found = [_negative(search, member, inner, subject, bases) for subject in subjects]
                yield Attempt(rule, [one for one in found if one is not None])


def _is_of_fused(operator: Operator, subject: Subject) -> bool:
    """Whether the subject's rule also applies where the operator is a fused activation."""
    if subject.owner.member:
        return not operator.member[subject.owner.member].is_tensor
    return subject.check is not None and subject.rule.concerns_attributes


def _negative(
    search: Search, member: Member, inner: Search, subject: Subject, bases: Sequence[State]
) -> Negative | None:
    """The first single change to an activation that breaks just this rule."""
    result, nested = search.operator.outputs[0].name, nested_sample(search.registry, inner.operator)
    level = _newest(inner, subject.rule)
    for base in bases:
        twin = _with_activation(State(level, base.description), member, nested)
        if twin is None or not search.heeds(subject.rule, twin):
            continue
        fused = Fused("", Slot(member.name), inner.rules, dict(nested.members))
        start = State(level, fused.applied_to(twin.description[result]))
        for move in islice(inner.ways_to_break(subject, start), MOVES):
            broken = inner.apply(move, start).description
            given = tuple((one.name, broken[one.name]) for one in inner.operator.attributes)
            changed = Nested(nested.operator, tuple(one for one in given if one[1] is not None))
            state = _with_activation(State(level, base.description), member, changed)
            if state is not None and {failure.rule for failure in search.judge(state)} == {subject.rule}:
                owner = ".".join(filter(None, (member.name, subject.owner.member)))
                return Negative(subject._replace(owner=Slot(owner)), state, twin)
        return None
    return None


def _newest(search: Search, rule: Rule) -> FeatureLevel:
    """The newest level at which the rule applies."""
    return next(level for level in reversed(search.registry.levels) if search.in_force(rule, level))


def _with_activation(state: State, member: Member, nested: Nested) -> State | None:
    """The state with this as its first activation; None if its array of activations is empty or absent."""
    value: Any = state.description[member.name]
    if member.count is not None and not value:
        return None
    new = nested if member.count is None else (nested, *value[1:])
    return state._replace(description={**state.description, member.name: new})
