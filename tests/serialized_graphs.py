"""Writes graphs as ONNX Runtime serializes them: FlatBuffers of the tables that its DmlGraphDesc declares.

Every field takes 8 bytes, and what a field refers to follows its table.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from dmlops import Description, TensorDesc
from dmlops.member import Member

_NUMBERS = {"UINT": (3, "I"), "UINT64": (4, "Q"), "INT": (5, "i"), "FLOAT": (6, "f"), "BOOL": (13, "B")}
_ARRAYS = {"UINT": (7, "I"), "INT": (8, "i"), "FLOAT": (9, "f")}


@dataclass(frozen=True)
class Inline:
    """A number in a table."""

    kind: str
    value: int


@dataclass(frozen=True)
class Numbers:
    """A struct of numbers, or a vector of them."""

    kind: str
    values: tuple[Any, ...]
    counted: bool


@dataclass(frozen=True)
class Table:
    fields: tuple[Any, ...]


def serialized(root: Table) -> bytes:
    """The file of a table."""
    data = bytearray(8)
    struct.pack_into("<I", data, 0, _write(data, root))
    return bytes(data)


def _write(data: bytearray, value: Any) -> int:
    """Appends a value; where it is."""
    data += bytes(-len(data) % 8)
    start = len(data)
    match value:
        case str():
            text = value.encode()
            data += struct.pack("<I", len(text)) + text + b"\0"
        case Numbers(kind, values, counted):
            data += struct.pack("<I", len(values)) if counted else b""
            data += struct.pack(f"<{len(values)}{kind}", *values)
        case list():
            data += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for at, one in enumerate(value):
                _refer(data, start + 4 + 4 * at, one)
        case Table(fields):
            offsets = [0 if one is None else 8 + 8 * at for at, one in enumerate(fields)]
            data += struct.pack(f"<HH{len(offsets)}H", 4 + 2 * len(offsets), 8 + 8 * len(offsets), *offsets)
            data += bytes(-len(data) % 8)
            table = len(data)
            data += struct.pack("<i4x", table - start) + bytes(8 * len(fields))
            for offset, one in zip(offsets, fields, strict=True):
                if isinstance(one, Inline):
                    struct.pack_into(f"<{one.kind}", data, table + offset, one.value)
                elif one is not None:
                    _refer(data, table + offset, one)
            return table
    return start


def _refer(data: bytearray, place: int, value: Any) -> None:
    struct.pack_into("<I", data, place, _write(data, value) - place)


def graph_table(inputs: list[str], outputs: list[str], *nodes: Table) -> Table:
    return Table((list(nodes), inputs, outputs))


def constant_node(name: str, output: str, data: bytes | None = None) -> Table:
    """A constant with its contents, or one whose contents are elsewhere."""
    contents = Table((name,)) if data is None else Table((Numbers("B", tuple(data), True),))
    detail = Table((Inline("B", 1 if data is None else 2), contents))
    return Table((Inline("B", 2), detail, name, [], [output]))


def operator_node(name: str, desc: Description, reads: list[str], writes: list[str]) -> Table:
    """A node; an absent tensor has an empty name."""
    tensors: list[list[Table]] = []
    for role in ("input", "output"):
        values = [getattr(desc, one.name) for one in desc.MEMBERS if one.role == role]
        given = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
        tensors.append([_tensor(one) for one in given if one is not None])
    inner = Table((f"DML_OPERATOR_{desc.OPERATOR}", *tensors, _attributes(desc)))
    return Table((Inline("B", 1), inner, name, reads, writes))


def _tensor(tensor: TensorDesc) -> Table:
    strides = None if tensor.Strides is None else Numbers("I", tensor.Strides, True)
    sizes = Numbers("I", tensor.Sizes, True)
    type_ = f"DML_TENSOR_DATA_TYPE_{tensor.DataType.name}"
    return Table((type_, sizes, strides, Inline("Q", tensor.size_in_bytes)))


def _attributes(desc: Description) -> list[Table]:
    return [_attribute(desc, member) for member in desc.MEMBERS if member.role == "attribute"]


def _attribute(desc: Description, member: Member) -> Table:
    value = getattr(desc, member.name)
    if value is None:
        return Table((member.name, Inline("B", 0), None))
    if member.type == "OPERATOR_DESC":
        activations = [
            Table((f"DML_OPERATOR_{one.OPERATOR}", _attributes(one)))
            for one in (value if member.count else (value,))
        ]
        return _variant(
            member, 2 if member.count else 1, Table((activations,)) if member.count else activations[0]
        )
    if member.typed_by:
        typed_by = getattr(desc, member.typed_by)
        kind = getattr(typed_by, "DataType", typed_by).numpy
        scalar = Numbers("B", tuple(kind.type(value).tobytes().ljust(8, b"\0")), False)
        return _variant(member, 12, Table((Inline("B", 1), scalar)))
    if member.type == "SCALE_BIAS":
        return _variant(member, 10, Numbers("f", (value.Scale, value.Bias), False))
    if member.type == "SIZE_2D":
        return _variant(member, 11, Numbers("I", (value.Width, value.Height), False))
    if member.count:
        number, kind = _ARRAYS[member.type]
        return _variant(member, number, Table((Numbers(kind, value, True),)))
    number, kind = _NUMBERS.get(member.type, (3, "I"))  # enumerations are UINTs
    return _variant(member, number, Numbers(kind, (value,), False))


def _variant(member: Member, kind: int, value: Any) -> Table:
    return Table((member.name, Inline("B", kind), value))
