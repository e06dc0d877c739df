"""How descriptions break the rules for every operator, which no condition states, and how they are mended.

A rule that is missing here is one that the search cannot break.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dmlgen.cases.changes import NOWHERE, Move, Place, Slot, State
from dmlgen.cases.moves import Proposer
from dmlgen.cases.samples import Sampler
from dmlgen.cases.validators import Validators, changed, entries_of, members_of
from dmlgen.expr import ir
from dmlgen.registry import Operator, Registry, integer_range

if TYPE_CHECKING:
    from dmlops import Description, TensorDesc


class Setting:
    """The parts of moves for one operator. `fusable` are the activations of members that are `nested`."""

    def __init__(self, validators: Validators, operator: Operator) -> None:
        self.validators, self.operator = validators, operator
        self.registry = validators.registry
        self.sampler = Sampler(validators, operator)
        self.proposer = Proposer(
            self.registry,
            validators.evaluator,
            operator,
            lambda name: self.sampler.value(operator.member[name], 2),
        )
        self.nested = [member for member in operator.members if member.type == "OPERATOR_DESC"]
        self.fusable = self.registry.fusable(operator) if self.nested else {}

    def ways_to_choose(self, when: ir.Expr, state: State) -> Iterator[Move]:
        """Single moves that may make the condition of a support table row hold."""
        for proposal in self.proposer.directed(when, wanted=True):
            yield from proposal(members_of(state.description))


class GeneralMoves:
    """The moves for one rule."""

    def owners(self, setting: Setting) -> Iterator[Slot]:
        """The members and tensors of an operator that can break it; for an array of tensors, the first."""
        raise NotImplementedError

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        """Single moves that may break it."""
        raise NotImplementedError

    def mending(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        """Single moves that may fix it, most promising first."""
        return iter(())


class _Since(GeneralMoves):
    """For the operator itself, and for fused activations."""

    def owners(self, setting: Setting) -> Iterator[Slot]:
        yield NOWHERE
        yield from (Slot(member.name) for member in setting.nested)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        start = setting.operator.since.ordinal
        below = setting.registry.levels[:start]
        if owner.member:
            fused = [setting.fusable[one.OPERATOR] for one in _activations(owner, state)]
            below = setting.registry.levels[start : max(since.ordinal for since in fused)]
        yield from (Move(Place(None), level) for level in reversed(below))


class _Required(GeneralMoves):
    def owners(self, setting: Setting) -> Iterator[Slot]:
        members = setting.operator.members
        yield from (Slot(member.name) for member in members if member.pointer and not member.optional)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        yield Move(Place(owner.member), None, alone=True)

    def mending(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        yield Move(Place(owner.member), setting.sampler.value(setting.operator.member[owner.member], 2))


class _IntegerRange(GeneralMoves):
    """For numbers, parts of structs, and fields of tensors: values just outside the range of the C type."""

    def owners(self, setting: Setting) -> Iterator[Slot]:
        registry = setting.registry
        others = setting.operator.attributes
        yield from _tensors(setting)
        yield from (Slot(member.name) for member in others if _range(registry, member.type))
        yield from (Slot(member.name) for member in others if member.type in setting.validators.structs)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        """Tensors take turns, one field each."""
        name, registry = owner.member, setting.registry
        member = setting.operator.member[name]
        if member.is_tensor:
            listed = registry.structs["BUFFER_TENSOR_DESC"].members
            ranges = {field.name: _range(registry, field.type) for field in listed}
            fields = [(field, found[1]) for field, found in ranges.items() if found and field != _RANK]
            turn = [member.name for member in setting.operator.tensors].index(name) % len(fields)
            tensor = tensor_at(owner, state)
            for field, most in fields[turn:] + fields[:turn]:
                array = isinstance(getattr(tensor, field), tuple)
                if array or field != "Strides":
                    yield Move(Place(*owner, field, 0 if array else None), most + 1)
        elif (bounds := _range(registry, member.type)) is not None:
            array = getattr(state.description, name)
            place = Place(name, entry=len(array) - 1) if isinstance(array, tuple) else Place(name)
            yield from (Move(place, value, alone=True) for value in (bounds[1] + 1, bounds[0] - 1))
        else:
            for part in registry.structs[member.type].members:
                if (bounds := _range(registry, part.type)) is not None:
                    yield Move(Place(name, field=part.name), bounds[1] + 1)


class _ScalarRange(GeneralMoves):
    """For unions, whose type a data type selects."""

    def owners(self, setting: Setting) -> Iterator[Slot]:
        yield from (Slot(member.name) for member in setting.operator.attributes if member.typed_by)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        typing: Any = getattr(state.description, setting.operator.member[owner.member].typed_by or "")
        value = getattr(typing, "DataType", typing)
        entry = next((one for one in setting.registry.data_types if one.value == value), None)
        if entry is not None and entry.kind and entry.kind != "float":
            least, most = integer_range(entry.bits, entry.kind)
            yield from (Move(Place(owner.member), new) for new in (most + 1, least - 1))

    def mending(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        yield from (Move(Place(owner.member), value) for value in (0, 1))


class _EnumValue(GeneralMoves):
    def owners(self, setting: Setting) -> Iterator[Slot]:
        others = setting.operator.attributes
        yield from (Slot(member.name) for member in others if member.type in setting.registry.enums)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        enum = setting.registry.enums[setting.operator.member[owner.member].type]
        yield Move(Place(owner.member), max(entry.value for entry in enum.entries) + 1)


class _ArrayLength(GeneralMoves):
    def owners(self, setting: Setting) -> Iterator[Slot]:
        yield from (Slot(member.name) for member in setting.operator.members if member.count is not None)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        array = getattr(state.description, owner.member)
        entry = array[-1] if array else setting.sampler.entry(owner.member)
        yield from (Move(Place(owner.member), new, alone=True) for new in ((*array, entry), array[:-1]))

    def mending(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        count = setting.operator.member[owner.member].count
        yield Move(Place(count), len(getattr(state.description, owner.member)))


class _FusedActivation(GeneralMoves):
    def owners(self, setting: Setting) -> Iterator[Slot]:
        yield from (Slot(member.name) for member in setting.nested)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        """An operator without attributes that cannot be fused, if there is one."""
        for other in setting.registry.operators:
            if other.name not in setting.fusable and not other.attributes:
                yield _with_nested(owner, state, setting.validators.described(other, {}))
                return


class _FusedActivationTensors(GeneralMoves):
    def owners(self, setting: Setting) -> Iterator[Slot]:
        yield from (Slot(member.name) for member in setting.nested)

    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        first = next(_activations(owner, state))
        tensors = setting.registry.operator[first.OPERATOR].inputs
        given = setting.validators.tensor(setting.registry.data_types[0].name, (1,))
        if tensors:
            yield _with_nested(owner, state, changed(first, {tensors[0].name: given}))


class _Supported(GeneralMoves):
    """For what the support tables list; some of their rows apply only under a condition."""

    def owners(self, setting: Setting) -> Iterator[Slot]:
        yield from _tensors(setting)

    def mending(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        yield from self.supported(setting, owner, state)
        for row in setting.operator.support[state.level.name]:
            if row.tensor == owner.member and row.when is not None:
                yield from setting.ways_to_choose(row.when, state)

    def supported(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        """Moves to values that the tables list, nearest first."""
        raise NotImplementedError


class _DimensionCount(_Supported):
    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        ranks, _ = _table(owner, state)
        if ranks:
            others = (rank for rank in range(1, max(ranks) + 2) if rank not in ranks)
            yield from (Move(Place(*owner, field=_RANK), rank) for rank in others)

    def supported(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        ranks, _ = _table(owner, state)
        rank = len(tensor_at(owner, state).Sizes)
        nearest = sorted(ranks, key=lambda other: abs(other - rank))
        yield from (Move(Place(*owner, field=_RANK), rank) for rank in nearest)


class _DataType(_Supported):
    def breaking(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        _, types = _table(owner, state)
        values = (entry.value for entry in setting.registry.data_types if entry.value not in types)
        yield from (Move(Place(*owner, field="DataType"), new) for new in values)

    def supported(self, setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
        _, types = _table(owner, state)
        yield from (Move(Place(*owner, field="DataType"), value) for value in types)


GENERAL_MOVES: Mapping[str, GeneralMoves] = {
    "since": _Since(),
    "required": _Required(),
    "integer-range": _IntegerRange(),
    "scalar-range": _ScalarRange(),
    "enum-value": _EnumValue(),
    "array-length": _ArrayLength(),
    "fused-activation": _FusedActivation(),
    "fused-activation-tensors": _FusedActivationTensors(),
    "dimension-count": _DimensionCount(),
    "data-type": _DataType(),
}
_RANK = "DimensionCount"


def tensor_at(slot: Slot, state: State) -> TensorDesc:
    value = getattr(state.description, slot.member)
    tensor: TensorDesc = value if slot.at is None else value[slot.at]
    return tensor


def _tensors(setting: Setting) -> Iterator[Slot]:
    for member in setting.operator.tensors:
        yield Slot(member.name, 0 if member.count is not None else None)


def _table(owner: Slot, state: State) -> tuple[list[int], list[int]]:
    """The dimension counts and data types that the level supports for a tensor."""
    levels: Any = state.description.support()
    row = levels[state.level.value][owner.member]
    return sorted(row.ranks), sorted(row.types)


def _range(registry: Registry, type_: str) -> tuple[int, int] | None:
    """The range of an integer type that is not a truth value; None for other types."""
    number = registry.types.get(type_)
    return None if number is None or number.kind == "float" or type_ == "BOOL" else number.range


def _activations(owner: Slot, state: State) -> Iterator[Description]:
    yield from (one for _, one in entries_of(getattr(state.description, owner.member)))


def _with_nested(owner: Slot, state: State, nested: Description) -> Move:
    """Replaces the first fused activation of a member."""
    value = getattr(state.description, owner.member)
    new = (nested, *value[1:]) if isinstance(value, tuple) else nested
    return Move(Place(owner.member), new, alone=True)
