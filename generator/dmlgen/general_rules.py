"""The rules for every operator that no condition in the specs states, with a class for each.

`specs/rules.yaml` has the identifier of such a rule, and its texts. Its class says which values the texts
show, in which stage it is checked, which members and tensors of an operator it concerns, what breaks it, and
which changes to a description break or satisfy it. A rule that the generator's own descriptions cannot break
only has its values. How an output checks these rules is in its templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from dmlgen.changes import Move, Place, State
from dmlgen.description import Description, Nested, Struct, Tensor, Value
from dmlgen.expr.evaluate import Environment
from dmlgen.failures import NOWHERE, Failure, Slot
from dmlgen.registry import FeatureLevel, NumberType, Rule, Stage

if TYPE_CHECKING:
    from dmlgen.cases.search import Search
    from dmlgen.judge import Judge, Verdict


class Judged(NamedTuple):
    """A description at a level, with its tensors, and the values of names after the structure stage."""

    judge: Judge
    description: Description
    tensors: list[tuple[Slot, Verdict]]
    level: FeatureLevel
    environment: Environment


class GeneralRule:
    """What the generator knows of one rule."""

    slug: ClassVar[str]
    values: ClassVar[frozenset[str]]  # available to outputs where they report it
    stage: ClassVar[Stage] = Stage.STRUCTURE

    def owners(self, judge: Judge) -> Iterator[Slot]:
        """The members and tensors of an operator that can break it; for an array of tensors, the first."""
        return iter(())

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        """Where a description breaks it."""
        return iter(())

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        """Single moves that may break it."""
        return iter(())

    def mending(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        """Single moves that may fix it, most promising first."""
        return iter(())


class OperatorType(GeneralRule):
    slug = "type"
    values = frozenset({"value"})


class RequestedLevel(GeneralRule):
    slug = "feature-level"
    values = frozenset({"value"})


class Since(GeneralRule):
    """For the operator itself, in which case nothing else is checked, and for fused activations."""

    slug = "since"
    values = frozenset({"operator", "since", "level"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield NOWHERE
        yield from (Slot(member.name) for member in judge.nested)

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        if judged.level.ordinal < judged.judge.operator.since.ordinal:
            yield Failure(rule, "", NOWHERE, (-1,))
        for one in judged.judge.activations(judged.description):
            if one.since is not None and judged.level.ordinal < one.since.ordinal:
                yield Failure(rule, f"{one.path}.Type", one.owner, (0, 4, 0))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        start = search.operator.since.ordinal
        below = search.registry.levels[:start]
        if owner.member:
            fused = [search.rules.fusable[one.operator] for one in _entries(state.description[owner.member])]
            below = search.registry.levels[start : max(since.ordinal for since in fused)]
        yield from (Move(Place(None), level) for level in reversed(below))


class Required(GeneralRule):
    slug = "required"
    values = frozenset({"member", "operator"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        members = judge.operator.members
        yield from (Slot(member.name) for member in members if member.pointer and not member.optional)

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        for number, name in judged.judge.required:
            if judged.description[name] is None:
                yield Failure(rule, name, Slot(name), (0, 0, number))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        yield Move(Place(owner.member), None, alone=True)

    def mending(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        yield Move(Place(owner.member), search.sampler.value(search.operator.member[owner.member], 2))


class TypeOfMember(GeneralRule):
    slug = "type-of-member"
    values = frozenset({"member", "value", "choices"})


class _RuleOfNumbers(GeneralRule):
    """A rule on members other than tensors."""

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        for path, owner in self.beyond(judged.judge, judged.description):
            yield Failure(rule, path, owner, (0, 1))

    def beyond(self, judge: Judge, members: Description) -> Iterator[tuple[str, Slot]]:
        """The paths of numbers that break it, with their owners."""
        raise NotImplementedError


class IntegerRange(_RuleOfNumbers):
    """For numbers, parts of structs, and fields of tensors."""

    slug = "integer-range"
    values = frozenset({"member", "value", "least", "most", "type"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from (*_tensors(judge), *map(Slot, judge.integers), *map(Slot, judge.parts))

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        yield from super().failures(rule, judged)
        for number, (slot, verdict) in enumerate(judged.tensors):
            for path in verdict.beyond_range:
                yield Failure(rule, f"{slot.path}.{path}", slot, (0, 2, number))

    def beyond(self, judge: Judge, members: Description) -> Iterator[tuple[str, Slot]]:
        for name, (least, most) in judge.integers.items():
            value = members.get(name)
            for entry in value if isinstance(value, tuple) else (value,):
                if entry is not None and not least <= entry <= most:
                    yield name, Slot(name)
        for name, parts in judge.parts.items():
            struct = members.get(name)
            if isinstance(struct, Struct):
                for part, (least, most) in parts.items():
                    if not least <= struct[part] <= most:
                        yield f"{name}.{part}", Slot(name)

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        """Values just outside the range of the C type; tensors take turns, one field each."""
        name, judge = owner.member, search.rules
        if name in judge.integers:
            least, most = judge.integers[name]
            array = state.description[name]
            place = Place(name, entry=len(array) - 1) if isinstance(array, tuple) else Place(name)
            yield from (Move(place, value, alone=True) for value in (most + 1, least - 1))
        elif name in judge.parts:
            for part, (_, most) in judge.parts[name].items():
                yield Move(Place(name, field=part), most + 1)
        else:
            fields = list(judge.general.integer_fields.items())
            turn = [member.name for member in search.operator.tensors].index(name) % len(fields)
            tensor = _tensor(owner, state)
            for field, (_, most) in fields[turn:] + fields[:turn]:
                array = isinstance(getattr(tensor, field), tuple)
                if array or field != "Strides":
                    yield Move(Place(*owner, field, 0 if array else None), most + 1)


class ScalarRange(_RuleOfNumbers):
    """For unions, whose type a data type selects."""

    slug = "scalar-range"
    values = frozenset({"member", "value", "least", "most", "type"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from map(Slot, judge.scalars)

    def beyond(self, judge: Judge, members: Description) -> Iterator[tuple[str, Slot]]:
        for name in judge.scalars:
            value, type_ = members.get(name), self._type(judge, name, members)
            if value is not None and type_ is not None and not _fits(value, type_):
                yield name, Slot(name)

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        type_ = self._type(search.rules, owner.member, state.description)
        if type_ is not None and type_.kind != "float":
            least, most = type_.range
            yield from (Move(Place(owner.member), new) for new in (most + 1, least - 1))

    def mending(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        yield from (Move(Place(owner.member), value) for value in (0, 1))

    def _type(self, judge: Judge, name: str, members: Description) -> NumberType | None:
        typing = members.get(judge.scalars[name])
        return judge.general.scalar_type(typing.DataType if isinstance(typing, Tensor) else typing)  # type: ignore[arg-type]


class EnumValue(_RuleOfNumbers):
    slug = "enum-value"
    values = frozenset({"member", "value", "type"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from map(Slot, judge.enums)

    def beyond(self, judge: Judge, members: Description) -> Iterator[tuple[str, Slot]]:
        for name, values in judge.enums.items():
            value = members.get(name)
            if value is not None and value not in values:
                yield name, Slot(name)

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        yield Move(Place(owner.member), max(search.rules.enums[owner.member]) + 1)


class ArrayLength(GeneralRule):
    slug = "array-length"
    values = frozenset({"member", "value", "count", "choices"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from map(Slot, judge.arrays)

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        for name, count in judged.judge.arrays.items():
            array = judged.description[name]
            if array is not None and len(array) != judged.description[count]:  # type: ignore[arg-type]
                yield Failure(rule, name, Slot(name), (0, 3))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        array = state.description[owner.member]
        assert isinstance(array, tuple)
        entry = array[-1] if array else search.sampler.entry(owner.member)
        yield from (Move(Place(owner.member), new, alone=True) for new in ((*array, entry), array[:-1]))

    def mending(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        array = state.description[owner.member]
        assert isinstance(array, tuple)
        yield Move(Place(search.rules.arrays[owner.member]), len(array))


class FusedActivation(GeneralRule):
    slug = "fused-activation"
    values = frozenset({"member", "value", "operator", "choices"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from (Slot(member.name) for member in judge.nested)

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        for one in judged.judge.activations(judged.description):
            if one.since is None:
                yield Failure(rule, one.path, one.owner, (0, 4, 0))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        fusable = search.registry.fusable(search.operator)
        for other in search.registry.operators:
            if other.name not in fusable and all(member.is_tensor for member in other.members):
                yield _with_nested(owner, state, Nested(other.name))
                return


class FusedActivationTensors(GeneralRule):
    slug = "fused-activation-tensors"
    values = frozenset({"member"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from (Slot(member.name) for member in judge.nested)

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        for one in judged.judge.fused(judged.description, judged.level):
            for tensor in one.judge.operator.tensors:
                if one.members.get(tensor.name) is not None:
                    yield Failure(rule, f"{one.path}.{tensor.name}", one.owner, (0, 4, 1))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        first = next(_entries(state.description[owner.member]))
        tensors = search.registry.operator[first.operator].inputs
        given = Tensor(search.registry.data_types[0].value, (1,))
        if tensors:
            nested = Nested(first.operator, ((tensors[0].name, given), *first.members))
            yield _with_nested(owner, state, nested)


class _RuleOfSupport(GeneralRule):
    """A rule on tensors that the support tables state; some of their rows apply only under a condition."""

    values = frozenset({"member", "value", "level", "choices"})

    def owners(self, judge: Judge) -> Iterator[Slot]:
        yield from _tensors(judge)

    def mending(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        yield from self.supported(search, owner, state)
        for row in search.operator.support[state.level.name]:
            if row.tensor == owner.member and row.when is not None:
                yield from search.ways_to_choose(row.when, state)

    def supported(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        """Moves to values that the tables list, nearest first."""
        raise NotImplementedError

    def table(self, search: Search, owner: Slot, state: State) -> tuple[list[int], list[int]]:
        """The dimension counts and data types (values) that the tables list for a tensor."""
        return search.rules.table(owner.member, search.rules.environment(state.description), state.level)


class DimensionCount(_RuleOfSupport):
    slug = "dimension-count"
    stage = Stage.COUNTS

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        """Reports each rejected count once."""
        judge, refused = judged.judge, set[int]()
        for number, (slot, verdict) in enumerate(judged.tensors):
            rank = verdict.complete.DimensionCount
            if rank not in refused and not judge.supports(judged, slot.member, rank, "ranks"):
                refused.add(rank)
                yield Failure(rule, f"{slot.path}.DimensionCount", slot, (Stage.COUNTS, 0, number))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        ranks, _ = self.table(search, owner, state)
        if ranks:
            others = (rank for rank in range(1, max(ranks) + 2) if rank not in ranks)
            yield from (Move(Place(*owner, field="DimensionCount"), rank) for rank in others)

    def supported(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        ranks, _ = self.table(search, owner, state)
        rank = len(_tensor(owner, state).Sizes)
        nearest = sorted(ranks, key=lambda other: abs(other - rank))
        yield from (Move(Place(*owner, field="DimensionCount"), rank) for rank in nearest)


class DataType(_RuleOfSupport):
    slug = "data-type"
    stage = Stage.VALUES

    def failures(self, rule: Rule, judged: Judged) -> Iterator[Failure]:
        for number, (slot, verdict) in enumerate(judged.tensors):
            if not judged.judge.supports(judged, slot.member, verdict.complete.DataType, "types"):
                yield Failure(rule, f"{slot.path}.DataType", slot, (Stage.VALUES, 0, number))

    def breaking(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        _, types = self.table(search, owner, state)
        values = (entry.value for entry in search.registry.data_types if entry.value not in types)
        yield from (Move(Place(*owner, field="DataType"), new) for new in values)

    def supported(self, search: Search, owner: Slot, state: State) -> Iterator[Move]:
        _, types = self.table(search, owner, state)
        yield from (Move(Place(*owner, field="DataType"), value) for value in types)


# In the order in which they are checked.
_RULES = (
    *(OperatorType(), RequestedLevel(), Since(), Required(), TypeOfMember()),
    *(IntegerRange(), ScalarRange(), EnumValue(), ArrayLength()),
    *(FusedActivation(), FusedActivationTensors(), DimensionCount(), DataType()),
)
GENERAL_RULES: Mapping[str, GeneralRule] = {one.slug: one for one in _RULES}


def general_rule(rule: Rule) -> GeneralRule | None:
    """The class of a rule; None for a rule with conditions of its own."""
    return None if rule.checks else GENERAL_RULES.get(rule.slug)


def _tensors(judge: Judge) -> Iterator[Slot]:
    for member in judge.operator.tensors:
        yield Slot(member.name, 0 if member.count is not None else None)


def _tensor(slot: Slot, state: State) -> Tensor:
    value = state.description[slot.member]
    tensor = value if slot.at is None else value[slot.at]  # type: ignore[index]
    assert isinstance(tensor, Tensor)
    return tensor


def _entries(value: Value) -> Iterator[Nested]:
    for one in value if isinstance(value, tuple) else (value,):
        if isinstance(one, Nested):
            yield one


def _with_nested(owner: Slot, state: State, nested: Nested) -> Move:
    """Replaces the first fused activation of a member."""
    value = state.description[owner.member]
    new = (nested, *value[1:]) if isinstance(value, tuple) else nested
    return Move(Place(owner.member), new, alone=True)


def _fits(value: Any, type_: NumberType) -> bool:
    """Whether a number is in the type's range."""
    if type_.kind == "float":
        return True
    least, most = type_.range
    return isinstance(value, int) and least <= value <= most
