"""Descriptions as the generator builds them: plain values by member name, and their JSON form.

Values are immutable, so descriptions can share them and verdicts on a tensor can be cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from dmlgen.registry import Enum, Member, Operator, Registry


class Tensor(NamedTuple):
    """A buffer tensor: sizes and strides in elements, outermost dimension first, `DataType` as its value.

    Strides are None if the tensor is packed; later fields are None if the JSON form leaves them out.
    """

    DataType: int
    Sizes: tuple[int, ...]
    Strides: tuple[int, ...] | None = None
    Flags: int | None = None
    TotalTensorSizeInBytes: int | None = None
    GuaranteedBaseOffsetAlignment: int | None = None

    @property
    def DimensionCount(self) -> int:
        return len(self.Sizes)


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of numbers: `PooledSize["Width"]`."""

    parts: tuple[tuple[str, int | float], ...]

    def __getitem__(self, name: str) -> int | float:
        return dict(self.parts)[name]

    def replace(self, name: str, value: int | float) -> Struct:
        """The struct with one part changed."""
        return Struct(tuple((part, value if part == name else old) for part, old in self.parts))


@dataclass(frozen=True, slots=True)
class Nested:
    """The description of another operator inside one; absent members are left out."""

    operator: str
    members: tuple[tuple[str, Value], ...] = ()


Value: TypeAlias = "Tensor | Struct | Nested | int | float | tuple[Any, ...] | None"
Description: TypeAlias = Mapping[str, Value]  # every member of the operator; None: absent


def to_json(registry: Registry, operator: Operator, description: Description) -> dict[str, Any]:
    """The JSON form, without absent members and omitted tensor fields."""
    members = {
        name: _json(registry, operator.member[name], value)
        for name, value in description.items()
        if value is not None
    }
    return {"type": operator.c_constant, "desc": members}


def from_json(registry: Registry, member: Member, value: Any) -> Value:
    """The value of a member that is not a tensor, from its JSON form; ValueError if it has another form."""
    if member.count is not None:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{member.name} is {value!r}; a list is expected")
        return tuple(value)
    if isinstance(value, str) and member.type in registry.enums:
        values = {entry.name: entry.value for entry in registry.enums[member.type].entries}
        if value not in values:
            raise ValueError(f"{member.name} is {value!r}, no value of {member.type}")
        return values[value]
    if isinstance(value, Mapping):
        return Struct(tuple(value.items()))
    if value is None or isinstance(value, (int, float)):
        return value
    raise ValueError(f"{member.name} is {value!r}")


def _json(registry: Registry, member: Member, value: Value) -> Any:
    match value:
        case Tensor():
            return _tensor(registry, value)
        case tuple():
            return [_json(registry, member, entry) for entry in value]
        case Struct():
            return dict(value.parts)
        case Nested():
            return to_json(registry, registry.operator[value.operator], dict(value.members))
        case int() if member.type in registry.enums:
            return _name(registry.enums[member.type], value)
        case int() if member.type == "BOOL":
            return bool(value)
    return value


def _tensor(registry: Registry, tensor: Tensor) -> dict[str, Any]:
    given = {name: value for name, value in tensor._asdict().items() if value is not None}
    given["DataType"] = _name(registry.enums["TENSOR_DATA_TYPE"], tensor.DataType)
    if tensor.Flags is not None:
        given["Flags"] = _name(registry.enums["TENSOR_FLAGS"], tensor.Flags)
    return given


def _name(enum: Enum, value: int) -> str | int:
    return next((entry.name for entry in enum.entries if entry.value == value), value)
