"""Reads graphs that ONNX Runtime and DxDispatch have serialized (Partition_0.bin), which are FlatBuffers.

A table is an offset to its fields' offsets, a vector its length and its entries, and a string a vector of
bytes. Nodes name the tensors that they read and write; an absent one has an empty name. Tensors have no
flags: a constant whose contents are elsewhere becomes an input of the graph that DirectML owns. The structure
is that of DmlGraphDesc and OperatorFieldTypes in ONNX Runtime's DirectML provider, and in DxDispatch.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..description import Description
from ..elements import computed
from ..enums import TensorDataType
from ..errors import JsonError
from ..registry import operator
from .json_form import DATA, from_json
from .model import Graph

_DEEPEST = 4  # activations in activations
_OPERATOR, _NAMED_CONSTANT = 1, 1  # kinds of nodes, and of constants


def from_serialized(data: bytes) -> Graph:
    """The graph in a file. Raises JsonError if it has none."""
    try:
        root = _Table(data, _u32(data, 0))
        tables = root.tables(0)
        owned = [name for one in tables if _is_named(one) for name in one.texts(4)]
        nodes = [_node(one, frozenset(owned)) for one in tables if not _is_named(one)]
        inputs = list(dict.fromkeys([*root.texts(1), *owned]))
        return from_json({"inputs": inputs, "outputs": root.texts(2), "nodes": nodes})
    except (struct.error, UnicodeDecodeError, IndexError, KeyError, StopIteration, RecursionError):
        raise JsonError("", "not a serialized graph") from None


def _is_named(node: _Table) -> bool:
    """Whether a node is a constant whose contents are elsewhere, under its name."""
    desc = node.table(1)
    return node.number(0, "B") != _OPERATOR and desc is not None and desc.number(0, "B") == _NAMED_CONSTANT


class _Table:
    """A table: a field is absent, or has a place in the data."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        if self._fields < 0:
            raise IndexError(at)
        self._size = _u16(data, self._fields)

    def place(self, field: int) -> int | None:
        """The offset of a field; None if it is absent."""
        slot = 4 + 2 * field
        offset = _u16(self._data, self._fields + slot) if slot < self._size else 0
        return self._at + offset if offset else None

    def target(self, field: int) -> int | None:
        """The offset of what a field refers to."""
        place = self.place(field)
        return None if place is None else place + _u32(self._data, place)

    def number(self, field: int, kind: str) -> int:
        place = self.place(field)
        return 0 if place is None else int(struct.unpack_from(f"<{kind}", self._data, place)[0])

    def table(self, field: int) -> _Table | None:
        target = self.target(field)
        return None if target is None else _Table(self._data, target)

    def text(self, field: int) -> str:
        target = self.target(field)
        return "" if target is None else self._text(target)

    def _text(self, at: int) -> str:
        size = _u32(self._data, at)
        text = self._data[at + 4 : at + 4 + size]
        if len(text) < size:
            raise IndexError(at)
        return text.decode()

    def numbers(self, field: int, kind: str) -> list[Any] | None:
        """The entries of a vector of numbers."""
        target = self.target(field)
        if target is None:
            return None
        count = _u32(self._data, target)
        if count * struct.calcsize(kind) > len(self._data):
            raise IndexError(target)
        return list(struct.unpack_from(f"<{count}{kind}", self._data, target + 4))

    def _entries(self, field: int) -> list[int]:
        """The offsets of the entries of a vector of tables or strings."""
        first = (self.target(field) or 0) + 4
        return [first + 4 * at + offset for at, offset in enumerate(self.numbers(field, "I") or [])]

    def tables(self, field: int) -> list[_Table]:
        return [_Table(self._data, at) for at in self._entries(field)]

    def texts(self, field: int) -> list[str]:
        return [self._text(at) for at in self._entries(field)]

    def unpacked(self, field: int, kind: str) -> tuple[Any, ...]:
        """The values of a struct to which a field refers."""
        target = self.target(field)
        if target is None:
            raise IndexError(field)
        return struct.unpack_from(f"<{kind}", self._data, target)


def _u16(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<H", data, at)[0])


def _u32(data: bytes, at: int) -> int:
    return int(struct.unpack_from("<I", data, at)[0])


def _node(table: _Table, owned: Collection[str]) -> dict[str, Any]:
    """A node in the JSON form of graphs by names; the tensors with some names are owned by DirectML."""
    desc = table.table(1)
    name, reads, writes = table.text(2), table.texts(3), table.texts(4)
    if desc is None:
        raise IndexError(name)
    if table.number(0, "B") != _OPERATOR:
        raw = desc.table(1)
        data = bytes(raw.numbers(0, "B") or ()) if raw is not None else b""
        contents = base64.b64encode(data).decode()
        return {"name": name, "constant": contents, "bindings": {DATA: writes[0] if writes else None}}
    described = operator(desc.text(0))
    values = _attributes(described, desc.tables(3))
    bindings: dict[str, Any] = {}
    for role, names, tensors in (("input", reads, desc.tables(1)), ("output", writes, desc.tables(2))):
        left, rest = iter(tensors), iter(names)
        for member in (one for one in described.MEMBERS if one.role == role):
            if member.count:
                pairs = list(zip(left, rest, strict=False))
                values[member.name] = [_tensor(tensor, one in owned) for tensor, one in pairs]
                bindings[member.name] = [one for _, one in pairs]
            elif bound := next(rest, ""):
                values[member.name] = _tensor(next(left), bound in owned)
                bindings[member.name] = bound
    return {"name": name, "type": described.OPERATOR, "desc": values, "bindings": bindings}


def _tensor(table: _Table, is_owned: bool) -> dict[str, Any]:
    strides = table.numbers(2, "I")
    return {
        "DataType": table.text(0),
        "Sizes": table.numbers(1, "I") or [],
        **({} if strides is None else {"Strides": strides}),
        "TotalTensorSizeInBytes": table.number(3, "Q"),
        **({"Flags": "OWNED_BY_DML"} if is_owned else {}),
    }


def _attributes(described: type[Description], tables: Sequence[_Table], depth: int = 0) -> dict[str, Any]:
    """The members of a description that are no tensors, which stand in their order."""
    members = [one for one in described.MEMBERS if one.role == "attribute"]
    values = {one.name: _value(table, depth) for one, table in zip(members, tables, strict=False)}
    for member in members:
        if member.typed_by and isinstance(values.get(member.name), bytes):
            values[member.name] = _scalar(values[member.name], values.get(member.typed_by))
    return {name: value for name, value in values.items() if value is not None}


def _value(table: _Table, depth: int) -> Any:
    """The value of an attribute, by its kind; None if there is none."""
    kind = table.number(1, "B")
    inner = table.table(2) if kind in (1, 2, 7, 8, 9, 12) else None
    match kind:
        case 1 if inner is not None:
            return _activation(inner, depth)
        case 2 if inner is not None:
            return [_activation(one, depth) for one in inner.tables(0)]
        case 7 | 8 | 9 if inner is not None:
            return inner.numbers(0, {7: "I", 8: "i", 9: "f"}[kind]) or []
        case 10:
            scale, bias = table.unpacked(2, "ff")
            return {"Scale": scale, "Bias": bias}
        case 11:
            width, height = table.unpacked(2, "II")
            return {"Width": width, "Height": height}
        case 12 if inner is not None:
            return bytes(inner.unpacked(1, "8B"))
        case 13:
            return bool(table.unpacked(2, "B")[0])
        case 3 | 4 | 5 | 6:
            return table.unpacked(2, {3: "I", 4: "Q", 5: "i", 6: "f"}[kind])[0]
    return None


def _activation(table: _Table, depth: int) -> dict[str, Any]:
    if depth == _DEEPEST:
        raise IndexError(depth)
    described = operator(table.text(0))
    return {"type": described.OPERATOR, "desc": _attributes(described, table.tables(1), depth + 1)}


def _scalar(data: bytes, data_type: Any) -> float:
    """The number in a union, as the data type that another attribute gives."""
    types = {one.value: one for one in TensorDataType}
    if data_type not in types or types[data_type].bits < 8:
        raise IndexError(data_type)
    kind = types[data_type].numpy
    elements = np.frombuffer(data[: kind.itemsize], kind)
    value: float = computed(elements, types[data_type])[0].item()
    return value
