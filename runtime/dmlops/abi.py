"""Descriptions as the structs of DirectML.h, through ctypes, with the same sizes and offsets as in C."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from typing import Any

from .description import Description, well_typed
from .enums import OperatorType, TensorDataType, TensorType
from .member import Member
from .registry import NUMBERS, STRUCTS
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc

_FLOATS: dict[int, type[Any]] = {32: ctypes.c_float, 64: ctypes.c_double}


@cache
def struct(name: str, members: tuple[Member, ...]) -> type[ctypes.Structure]:
    """The ctypes structure for a struct."""
    return type(
        name, (ctypes.Structure,), {"_fields_": [(member.name, _ctype(member)) for member in members]}
    )


def desc_struct(described: type[Description]) -> type[ctypes.Structure]:
    """The structure for an operator's description, such as DML_GATHER_OPERATOR_DESC."""
    return struct(f"DML_{described.OPERATOR}_OPERATOR_DESC", described.MEMBERS)


def operator_desc(desc: Description) -> ctypes.Structure:
    """The DML_OPERATOR_DESC of a description; it keeps everything it points to alive.

    Raises ValueError if a member does not fit its C type.
    """
    well_typed(desc)
    values: dict[str, Any] = {}
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if member.typed_by:
            values[member.name] = _union(member, value, getattr(desc, member.typed_by))
        else:
            values[member.name] = _value(member, value)
    inner = _filled(desc_struct(type(desc)), desc.MEMBERS, values)
    return _general("OPERATOR_DESC", Type=OperatorType[desc.OPERATOR], Desc=inner)


def _tensor_desc(tensor: TensorDesc) -> ctypes.Structure:
    if tensor.Strides is not None and len(tensor.Strides) != tensor.DimensionCount:
        raise ValueError(
            f"{len(tensor.Strides)} strides and {tensor.DimensionCount} sizes: C has one count for both"
        )
    inner = _general("BUFFER_TENSOR_DESC", tensor, TotalTensorSizeInBytes=tensor.size_in_bytes)
    return _general("TENSOR_DESC", Type=TensorType.BUFFER, Desc=inner)


def _general(name: str, value: Any = None, **others: Any) -> ctypes.Structure:
    """A struct with the members that a value has, or others in their place."""
    members = STRUCTS[f"DML_{name}"]
    given = {member.name: getattr(value, member.name, None) for member in members} | others
    made = {member.name: _value(member, given[member.name]) for member in members}
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
    """A member's value for ctypes; a structure or an array if the member is a pointer."""
    if isinstance(value, tuple):
        entries = [_entry(member, item) for item in value]
        array = (_entry_type(member) * len(entries))(*entries)
        array.alive = entries  # the array holds copies of the structures, which keep what they point to alive
        return array
    return None if value is None else _entry(member, value)


def _entry(member: Member, value: Any) -> Any:
    """A single value, or one entry of an array."""
    if isinstance(value, TensorDesc):
        return _tensor_desc(value)
    if isinstance(value, Description):
        return operator_desc(value)
    if member.type in STRUCT_CLASSES:
        return _general(member.type, value)
    if isinstance(value, int):
        return _fitting(_number(member.type), value, member.name)
    return value


def _union(member: Member, value: float, typed_by: Any) -> ctypes.Union:
    """The scalar union, with the value stored as the data type it will be read as."""
    import numpy as np  # loaded only when a scalar needs it

    from .elements import elements_of

    data_type = typed_by.DataType if isinstance(typed_by, TensorDesc) else typed_by
    if not isinstance(data_type, TensorDataType):
        raise ValueError(f"{member.name} has the data type {data_type}, which is none")
    union = _union_type(member.type)
    try:
        with np.errstate(over="ignore"):  # values too large for a float become infinite
            element = elements_of(value, data_type)
    except OverflowError:
        raise ValueError(f"{member.name} is {value}, which does not fit {data_type.name}") from None
    return union.from_buffer_copy(element.tobytes().ljust(ctypes.sizeof(union), b"\0"))


def _fitting(number: type[Any], value: int, name: str) -> int:
    if number(value).value != value:
        raise ValueError(f"{name} is {value}, which does not fit its C type")
    return value


def _ctype(member: Member) -> type[Any]:
    if member.pointer:
        return ctypes.c_void_p
    return _union_type(member.type) if member.typed_by else _entry_type(member)


def _entry_type(member: Member) -> type[Any]:
    """The type of a single value, or of one entry of an array."""
    name = f"DML_{'TENSOR_DESC' if member.type == 'tensor' else member.type}"
    return struct(name, STRUCTS[name]) if name in STRUCTS else _number(member.type)


@cache
def _union_type(name: str) -> type[ctypes.Union]:
    fields = [(field.name, _number(field.type)) for field in STRUCTS[f"DML_{name}"]]
    return type(f"DML_{name}", (ctypes.Union,), {"_fields_": fields})


def _number(type_: str) -> type[Any]:
    bits, kind = NUMBERS.get(type_, (32, "unsigned"))  # enumerations of the header are 32 bits
    if kind == "float":
        return _FLOATS[bits]
    number: type[Any] = getattr(ctypes, f"c_{'u' if kind == 'unsigned' else ''}int{bits}")
    return number
