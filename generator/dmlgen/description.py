"""Descriptions as the generator itself builds them: plain values by member name, and their JSON form.

Values are never changed in place, so that descriptions may share them and verdicts on a tensor may be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from dmlgen.registry import Enum, Operator, Registry


class Tensor(NamedTuple):
    """A buffer tensor: sizes and strides in elements, outermost dimension first, `DataType` as its value.

    Strides are None where the tensor is packed; the fields after them where the JSON form leaves them out.
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


Value: TypeAlias = Tensor | int | None
Description: TypeAlias = Mapping[str, Value]  # every member of the operator; None: absent


def to_json(registry: Registry, operator: Operator, description: Description) -> dict[str, Any]:
    """The JSON form, absent members and what was left out of a tensor left out."""
    members: dict[str, Any] = {}
    for name, value in description.items():
        if isinstance(value, Tensor):
            members[name] = _tensor(registry, value)
        elif value is not None:
            members[name] = value
    return {"type": operator.c_constant, "desc": members}


def _tensor(registry: Registry, tensor: Tensor) -> dict[str, Any]:
    given = {name: value for name, value in tensor._asdict().items() if value is not None}
    given["DataType"] = _name(registry.enums["TENSOR_DATA_TYPE"], tensor.DataType)
    if tensor.Flags is not None:
        given["Flags"] = _name(registry.enums["TENSOR_FLAGS"], tensor.Flags)
    return given


def _name(enum: Enum, value: int) -> str | int:
    return next((entry.name for entry in enum.entries if entry.value == value), value)
