"""Random values of an operator's members: plausible, not yet valid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from dmlgen.cases.moves import packed
from dmlgen.cases.validators import Validators, changed, entries_of
from dmlgen.registry import FeatureLevel, Member, Operator

if TYPE_CHECKING:
    from dmlops import Description, TensorDesc

MAX_ELEMENTS = 24  # of a tensor, so that cases stay readable
_SIZES = (1, 2, 2, 3, 4)
_ALIGNMENT = 16  # no data type has a larger element
_SHARE_OF_ONES = 0.1  # share of descriptions in which every size is 1
_FLOATS = (1.0, 0.5, 2.0, -1.0)
_ENTRIES = ((1,), (1,), (0,), (1, 2), (0, 1))  # of arrays: strides are at least 1, paddings can be 0

Choices = Mapping[str, Sequence[object]]
Chosen = Mapping[str, object]


class Sampler:
    """Samples descriptions of one operator, from choices that `choices` lists."""

    def __init__(self, validators: Validators, operator: Operator) -> None:
        self.validators, self.registry, self.operator = validators, validators.registry, operator
        self.random = Random(operator.name)
        self._counts = {member.count for member in operator.members if member.count is not None}
        self._nested = [
            (since, nested_sample(validators, self.registry.operator[name]))
            for name, since in self.registry.fusable(operator).items()
        ]

    def choices(self, level: FeatureLevel) -> Choices:
        """The properties in which descriptions at a level can differ, besides sizes and numbers."""
        choices: dict[str, Sequence[object]] = {}
        for member in self.operator.members:
            given = (True, False) if member.optional else (True,)
            if member.is_tensor:
                rows = [row for row in self.operator.support[level.name] if row.tensor == member.name]
                choices[f"{member.name}.DataType"] = [type_ for row in rows for type_ in row.types]
                choices[f"{member.name}.layout"] = layouts(member)
            elif member.type in self.registry.enums:
                entries = self.registry.enums[member.type].entries
                if member.type == "TENSOR_DATA_TYPE":
                    entries = self.registry.data_types
                choices[member.name] = [entry.value for entry in entries]
            elif member.type == "BOOL":
                choices[member.name] = (True, False)
            elif member.type == "OPERATOR_DESC" and not self._nested:
                given = (False,)
            if len(given) > 1:
                choices[f"{member.name}.given"] = given
        return choices

    def description(self, rank: int, level: FeatureLevel, chosen: Chosen) -> Description:
        """A description with the chosen properties, whose tensors have that dimension count if possible."""
        common, alike = self.sizes(rank), self.random.random() < 0.5
        if self.random.random() < _SHARE_OF_ONES:
            common, alike = (1,) * rank, True
        lengths = {count: max(rank - self.random.choice((0, 0, 2)), 1) for count in sorted(self._counts)}
        description: dict[str, Any] = {}
        for member in self.operator.members:
            if not chosen.get(f"{member.name}.given", True):
                description[member.name] = None
            elif member.name in self._counts:
                description[member.name] = lengths[member.name]
            elif member.name in chosen:
                description[member.name] = chosen[member.name]
            elif member.is_tensor:
                type_ = str(chosen[f"{member.name}.DataType"])
                own = self._rank(member, rank, level)
                length = min(lengths[member.count], 3) if member.count else 1
                tensors = tuple(
                    self.validators.tensor(type_, common if alike and own == rank else self.sizes(own))
                    for _ in range(length)
                )
                description[member.name] = tensors if member.count else tensors[0]
                if member.count:
                    lengths[member.count] = description[member.count] = length
            elif member.count:
                description[member.name] = self._entries(member, lengths[member.count], level)
            else:
                description[member.name] = self.value(member, rank, level)
        return self.validators.described(self.operator, description)

    def value(self, member: Member, rank: int = 1, level: FeatureLevel | None = None) -> Any:
        """A value for a given member other than an array. An activation exists at the level or the first."""
        types = self.registry.types
        if member.is_tensor:
            level = self.registry.levels[-1]
            row = next(row for row in self.operator.support[level.name] if row.tensor == member.name)
            return self.validators.tensor(row.types[0], self.sizes(row.ranks[0]))
        if member.type == "OPERATOR_DESC":
            most = (level or self.operator.since).ordinal
            nested = [one for since, one in self._nested if since.ordinal <= most]
            return self.random.choice(nested) if nested else None
        if member.type == "SCALAR_UNION":
            return self.random.choice((0, 1, 2))
        if member.type in self.registry.structs:
            parts = self.registry.structs[member.type].members
            return self.validators.structs[member.type](
                **{
                    part.name: 1.0 if types[part.type].kind == "float" else self.random.randint(1, 2)
                    for part in parts
                }
            )
        if member.type in types and types[member.type].kind == "float":
            return self.random.choice(_FLOATS)
        signed = member.type in types and types[member.type].kind == "signed"
        return self.random.randint(-rank if signed else 0, rank)

    def entry(self, name: str) -> Any:
        """An entry of an array member; the value itself if the member is not an array."""
        member = self.operator.member[name]
        types = self.registry.types
        if member.count is None or member.is_tensor or member.type == "OPERATOR_DESC":
            return self.value(member)
        return 1.0 if types[member.type].kind == "float" else 1

    def _entries(self, member: Member, length: int, level: FeatureLevel) -> tuple[Any, ...]:
        if member.type == "OPERATOR_DESC":
            return tuple(self.value(member, level=level) for _ in range(length))
        numbers = (1.0,) if self.registry.types[member.type].kind == "float" else self.random.choice(_ENTRIES)
        return tuple(self.random.choice(numbers) for _ in range(length))

    def sizes(self, rank: int) -> tuple[int, ...]:
        """Small sizes."""
        sizes: list[int] = []
        for _ in range(rank):
            size = self.random.choice(_SIZES)
            sizes.append(size if math.prod(sizes) * size <= MAX_ELEMENTS else 1)
        self.random.shuffle(sizes)
        return tuple(sizes)

    def _rank(self, member: Member, rank: int, level: FeatureLevel) -> int:
        rows = [row for row in self.operator.support[level.name] if row.tensor == member.name]
        ranks = sorted({count for row in rows for count in row.ranks})
        return rank if rank in ranks or not ranks else self.random.choice(ranks)


def nested_sample(validators: Validators, operator: Operator) -> Description:
    """A description of a fused activation: no tensors; numbers are 1, arrays hold one zero, and enumerations
    have their first value.
    """
    registry = validators.registry
    members: dict[str, Any] = {}
    for member in operator.attributes:
        if member.type in registry.enums:
            members[member.name] = registry.enums[member.type].entries[0].value
        elif member.type in registry.types:
            one = 1.0 if registry.types[member.type].kind == "float" else 1
            members[member.name] = one if member.count is None else (0 * one,)
    return validators.described(operator, members)


def layouts(member: Member) -> tuple[str, ...]:
    """The ways to lay out a tensor in memory; elements of an output cannot share memory."""
    everywhere = ("default", "packed", "padded", "transposed", "aligned")
    return (*everywhere, "broadcast") if member.role == "input" else everywhere


def laid_out(description: Description, operator: Operator, chosen: Chosen) -> Description:
    """The description with the chosen layouts."""
    changes: dict[str, Any] = {}
    for member in operator.tensors:
        layout, value = str(chosen[f"{member.name}.layout"]), getattr(description, member.name)
        tensors = tuple(_laid_out(tensor, layout) for _, tensor in entries_of(value))
        if tensors:
            changes[member.name] = tensors if member.count else tensors[0]
    return changed(description, changes)


def _laid_out(tensor: TensorDesc, layout: str) -> TensorDesc:
    sizes = tensor.Sizes
    match layout:
        case "packed":
            return replace(tensor, Strides=packed(sizes))
        case "padded":
            return replace(tensor, Strides=packed((*sizes[:-1], sizes[-1] + 1)))
        case "transposed":
            return replace(tensor, Strides=tuple(reversed(packed(tuple(reversed(sizes))))))
        case "aligned":
            return replace(tensor, GuaranteedBaseOffsetAlignment=_ALIGNMENT)
        case "broadcast":
            shared = next((d for d, size in enumerate(sizes) if size > 1), 0)
            strides = list(packed(sizes))
            strides[shared] = 0
            return replace(tensor, Strides=tuple(strides))
        case _:
            return tensor
