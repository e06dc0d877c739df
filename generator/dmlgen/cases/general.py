"""Changes that break the rules for every operator, which no condition states, and changes that mend them.

A rule that is missing here is one that the search cannot break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dmlgen.cases.changes import NOWHERE, Move, Place, Slot, State
from dmlgen.cases.moves import Proposer
from dmlgen.cases.samples import Sampler
from dmlgen.cases.validators import Validators, changed, entries_of, members_of
from dmlgen.expr import ir
from dmlgen.registry import Member, Operator, Registry, integer_range

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


_RANK = "DimensionCount"


def _since(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    """For the operator itself, and for fused activations."""
    start = setting.operator.since.ordinal
    below = setting.registry.levels[:start]
    if owner.member:
        fused = [setting.fusable[one.OPERATOR] for one in _activations(owner, state)]
        below = setting.registry.levels[start : max(since.ordinal for since in fused)]
    yield from (Move(Place(None), level) for level in reversed(below))


def _given(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    yield Move(Place(owner.member), setting.sampler.value(setting.operator.member[owner.member], 2))


def _integer_range(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    """Values just outside the range of the C type; tensors take turns, one field each."""
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


def _scalar_range(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    """For unions, whose type a data type selects."""
    typing: Any = getattr(state.description, setting.operator.member[owner.member].typed_by or "")
    value = getattr(typing, "DataType", typing)
    entry = next((one for one in setting.registry.data_types if one.value == value), None)
    if entry is not None and entry.kind and entry.kind != "float":
        least, most = integer_range(entry.bits, entry.kind)
        yield from (Move(Place(owner.member), new) for new in (most + 1, least - 1))


def _enum_value(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    enum = setting.registry.enums[setting.operator.member[owner.member].type]
    yield Move(Place(owner.member), max(entry.value for entry in enum.entries) + 1)


def _array_length(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    array = getattr(state.description, owner.member)
    entry = array[-1] if array else setting.sampler.entry(owner.member)
    yield from (Move(Place(owner.member), new, alone=True) for new in ((*array, entry), array[:-1]))


def _counted(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    count = setting.operator.member[owner.member].count
    yield Move(Place(count), len(getattr(state.description, owner.member)))


def _fused(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    """An operator without attributes that cannot be fused, if there is one."""
    for other in setting.registry.operators:
        if other.name not in setting.fusable and not other.attributes:
            yield _with_nested(owner, state, setting.validators.described(other, {}))
            return


def _fused_tensors(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    first = next(_activations(owner, state))
    tensors = setting.registry.operator[first.OPERATOR].inputs
    given = setting.validators.tensor(setting.registry.data_types[0].name, (1,))
    if tensors:
        yield _with_nested(owner, state, changed(first, {tensors[0].name: given}))


def _dimension_count(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    ranks, _ = _table(owner, state)
    if ranks:
        others = (rank for rank in range(1, max(ranks) + 2) if rank not in ranks)
        yield from (Move(Place(*owner, field=_RANK), rank) for rank in others)


def _supported_ranks(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    """Those that the tables list, nearest first."""
    rank = len(tensor_at(owner, state).Sizes)
    nearest = sorted(_table(owner, state)[0], key=lambda other: abs(other - rank))
    yield from (Move(Place(*owner, field=_RANK), rank) for rank in nearest)
    yield from _other_cases(setting, owner, state)


def _data_type(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    _, types = _table(owner, state)
    values = (entry.value for entry in setting.registry.data_types if entry.value not in types)
    yield from (Move(Place(*owner, field="DataType"), new) for new in values)


def _supported_types(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    yield from (Move(Place(*owner, field="DataType"), value) for value in _table(owner, state)[1])
    yield from _other_cases(setting, owner, state)


def _other_cases(setting: Setting, owner: Slot, state: State) -> Iterator[Move]:
    """Moves after which rows of the tables apply that have a condition."""
    for row in setting.operator.support[state.level.name]:
        if row.tensor == owner.member and row.when is not None:
            yield from setting.ways_to_choose(row.when, state)


Moves: TypeAlias = Callable[[Setting, Slot, State], Iterable[Move]]


class GeneralMoves(NamedTuple):
    """The moves for one rule.

    `owners` are the members and tensors of an operator that can break it; for an array of tensors, the first.
    `breaking` are single moves that may break it, `mending` those that may fix it, most promising first.
    """

    owners: Callable[[Setting], Iterable[Slot]]
    breaking: Moves
    mending: Moves = lambda setting, owner, state: ()


def _nested(setting: Setting) -> Iterator[Slot]:
    yield from (Slot(member.name) for member in setting.nested)


def _integers(setting: Setting) -> Iterator[Slot]:
    """Tensors, numbers, and structs."""
    others = setting.operator.attributes
    yield from tensor_slots(setting)
    yield from (Slot(member.name) for member in others if _range(setting.registry, member.type))
    yield from (Slot(member.name) for member in others if member.type in setting.validators.structs)


def _members(has: Callable[[Setting, Member], object]) -> Callable[[Setting], list[Slot]]:
    """The members for which something holds."""
    return lambda setting: [Slot(one.name) for one in setting.operator.members if has(setting, one)]


def tensor_at(slot: Slot, state: State) -> TensorDesc:
    value = getattr(state.description, slot.member)
    tensor: TensorDesc = value if slot.at is None else value[slot.at]
    return tensor


def tensor_slots(setting: Setting) -> Iterator[Slot]:
    """The tensors of an operator; of an array, the first."""
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


GENERAL_MOVES: Mapping[str, GeneralMoves] = {
    "since": GeneralMoves(lambda setting: [NOWHERE, *_nested(setting)], _since),
    "required": GeneralMoves(
        _members(lambda _, one: one.pointer and not one.optional),
        lambda _, owner, __: [Move(Place(owner.member), None, alone=True)],
        _given,
    ),
    "integer-range": GeneralMoves(_integers, _integer_range),
    "scalar-range": GeneralMoves(
        _members(lambda _, one: one.typed_by),
        _scalar_range,
        lambda _, owner, __: [Move(Place(owner.member), value) for value in (0, 1)],
    ),
    "enum-value": GeneralMoves(
        _members(lambda setting, one: one.type in setting.registry.enums), _enum_value
    ),
    "array-length": GeneralMoves(_members(lambda _, one: one.count is not None), _array_length, _counted),
    "fused-activation": GeneralMoves(_nested, _fused),
    "fused-activation-tensors": GeneralMoves(_nested, _fused_tensors),
    "dimension-count": GeneralMoves(tensor_slots, _dimension_count, _supported_ranks),
    "data-type": GeneralMoves(tensor_slots, _data_type, _supported_types),
}
