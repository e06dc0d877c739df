"""Descriptions whose fused activation itself breaks a rule or draws advice, each with its twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dmlgen.cases.changes import Slot, State
from dmlgen.cases.negatives import MOVES, Attempt, Negative
from dmlgen.cases.samples import nested_sample
from dmlgen.cases.search import Search, Subject
from dmlgen.cases.validators import changed
from dmlgen.registry import Member, Operator

if TYPE_CHECKING:
    from dmlops import Description


def attempts(search: Search, bases: Sequence[State]) -> Iterator[Attempt]:
    """A negative for every rule that an activation can break where it is fused into the operator."""
    for member in search.setting.nested:
        for name in search.setting.fusable:
            operator = search.registry.operator[name]
            inner = Search(search.validators, operator)
            for rule in search.registry.rules_of(operator):
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
    nested = nested_sample(search.validators, inner.operator)
    tensors = [tensor.name for tensor in inner.operator.tensors]
    level = inner.newest(subject.rule)
    for base in bases if level is not None else ():
        assert level is not None
        twin = _with_activation(State(level, base.description), member, nested)
        if twin is None or not search.heeds(subject.rule, twin):
            continue
        result = getattr(twin.description, search.operator.outputs[0].name)
        start = State(level, changed(nested, dict.fromkeys(tensors, result)))
        for move in islice(inner.ways_to_break(subject, start), MOVES):
            broken = changed(inner.apply(move, start).description, dict.fromkeys(tensors))
            state = _with_activation(State(level, base.description), member, broken)
            if state is not None and {one.rule for one in search.broken(state)} == {subject.rule.id}:
                owner = ".".join(filter(None, (member.name, subject.owner.member)))
                return Negative(subject._replace(owner=Slot(owner)), state, twin)
        return None
    return None


def _with_activation(state: State, member: Member, nested: Description) -> State | None:
    """The state with this as its first activation; None if its array of activations is empty or absent."""
    value = getattr(state.description, member.name)
    if member.count is not None and not value:
        return None
    new = nested if member.count is None else (nested, *value[1:])
    return state._replace(description=changed(state.description, {member.name: new}))
