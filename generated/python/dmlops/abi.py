"""Descriptions as the structs of DirectML.h, through ctypes: sizes and offsets equal those of C."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from typing import Any

from .description import Description
from .enums import OperatorType, TensorType
from .member import Member
from .registry import NUMBERS, STRUCTS
from .tensor import TensorDesc

_CTYPES: dict[tuple[int, str], type[Any]] = {
    (32, "unsigned"): ctypes.c_uint32,
    (64, "unsigned"): ctypes.c_uint64,
    (32, "signed"): ctypes.c_int32,
    (32, "float"): ctypes.c_float,
}


@cache
def struct(name: str, members: tuple[Member, ...]) -> type[ctypes.Structure]:
    """The ctypes structure of a struct."""
    return type(
        name, (ctypes.Structure,), {"_fields_": [(member.name, _ctype(member)) for member in members]}
    )


def desc_struct(described: type[Description]) -> type[ctypes.Structure]:
    """The structure of an operator's description, DML_GATHER_OPERATOR_DESC."""
    return struct(f"DML_{described.OPERATOR}_OPERATOR_DESC", described.MEMBERS)


def operator_desc(desc: Description) -> ctypes.Structure:
    """The DML_OPERATOR_DESC of a description; it keeps all that it points to alive.

    Raises ValueError when a member does not fit its C type.
    """
    values = {member.name: _value(member, getattr(desc, member.name)) for member in desc.MEMBERS}
    inner = _filled(desc_struct(type(desc)), desc.MEMBERS, values)
    return _general("OPERATOR_DESC", {"Type": OperatorType[desc.OPERATOR], "Desc": inner})


def _tensor_desc(tensor: TensorDesc) -> ctypes.Structure:
    values = {
        name: getattr(tensor, name) for name in ("DataType", "Flags", "DimensionCount", "Sizes", "Strides")
    }
    values["TotalTensorSizeInBytes"] = tensor.size_in_bytes
    values["GuaranteedBaseOffsetAlignment"] = tensor.GuaranteedBaseOffsetAlignment
    if tensor.Strides is not None and len(tensor.Strides) != tensor.DimensionCount:
        raise ValueError(
            f"{len(tensor.Strides)} strides and {tensor.DimensionCount} sizes: C has one count for both"
        )
    return _general(
        "TENSOR_DESC", {"Type": TensorType.BUFFER, "Desc": _general("BUFFER_TENSOR_DESC", values)}
    )


def _general(name: str, values: dict[str, Any]) -> ctypes.Structure:
    members = STRUCTS[f"DML_{name}"]
    made = {member.name: _value(member, values[member.name]) for member in members}
    return _filled(struct(f"DML_{name}", members), members, made)


def _filled(
    made: type[ctypes.Structure], members: Iterable[Member], values: dict[str, Any]
) -> ctypes.Structure:
    structure = made()
    for member in members:
        value = values[member.name]
        address = (
            ctypes.cast(ctypes.pointer(value), ctypes.c_void_p)
            if member.pointer and value is not None
            else value
        )
        setattr(structure, member.name, address)
    structure.alive = values
    return structure


def _value(member: Member, value: Any) -> Any:
    """A member's value for ctypes: a structure or array where the member is an address."""
    if isinstance(value, TensorDesc):
        return _tensor_desc(value)
    if member.count and value is not None:
        number = _number(member.type)
        return (number * len(value))(*(_fitting(number, item, member.name) for item in value))
    if isinstance(value, int):
        return _fitting(_ctype(member), value, member.name)
    return value


def _fitting(number: type[Any], value: int, name: str) -> int:
    if number(value).value != value:
        raise ValueError(f"{name} is {value}, which does not fit its C type")
    return value


def _ctype(member: Member) -> type[Any]:
    return ctypes.c_void_p if member.pointer else _number(member.type)


def _number(type_: str) -> type[Any]:
    return _CTYPES[NUMBERS[type_]] if type_ in NUMBERS else ctypes.c_uint32  # enumerations of the header
