"""The part of the C header that writes JSON: how each type of a member is shown."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.outputs.c_program import TENSOR
from dmlgen.outputs.c_rules import MemberView, plain_member
from dmlgen.outputs.c_types import STANDARD
from dmlgen.registry import EnumEntry, Member, Registry, Struct

_DESC = "OPERATOR_DESC"


@dataclass(frozen=True)
class ValueView:
    """A type: a number, a `truth` value, a float too `narrow` for C, a `struct` of fields, or a `union` of
    all types of elements."""

    name: str
    kind: str
    c_type: str
    bits: int = 0
    data_type: int = 0
    fields: tuple[Member, ...] = ()


@dataclass(frozen=True)
class JsonView:
    """The template's input: all types, those of elements by data type, the tensor's struct, and the prefix of
    the names of operators."""

    values: tuple[ValueView, ...]
    elements: tuple[str, ...]
    tensor: Struct
    fields: tuple[MemberView, ...]
    prefix: str

    @property
    def types(self) -> list[str]:
        return [one.name for one in self.values]


def json_view(registry: Registry) -> JsonView:
    tensor = registry.structs[TENSOR]
    return JsonView(
        tuple(_value(registry, name) for name in _types(registry)),
        tuple(_element_type(registry, entry) for entry in registry.data_types),
        tensor,
        tuple(plain_member(registry, member) for member in tensor.members),
        next(enum.prefix for enum in registry.declared_enums if enum.name == "OPERATOR_TYPE"),
    )


def _types(registry: Registry) -> list[str]:
    """All types of numbers, and those of members that are structs or unions of them."""
    found = dict.fromkeys(registry.types)
    for one in registry.operators:
        found |= {member.type: None for member in one.members if _is_struct(registry, member)}
    return [*found, *(entry.name for entry in registry.data_types if _is_narrow(entry))]


def _is_struct(registry: Registry, member: Member) -> bool:
    return member.type in registry.structs and member.type != _DESC


def _is_narrow(entry: EnumEntry) -> bool:
    """Whether it is a float for which C has no type: unions hold its bits."""
    return entry.kind == "float" and entry.bits < 32


def _value(registry: Registry, name: str) -> ValueView:
    if name in registry.types:
        number = registry.types[name]
        kind = "truth" if name == "BOOL" else number.kind
        return ValueView(name, kind, STANDARD.get(name, name), number.bits)
    if name in registry.data_type:
        entry = registry.data_type[name]
        return ValueView(name, "narrow", f"uint{entry.bits}_t", data_type=entry.value)
    struct = registry.structs[name]
    if struct.union:
        return ValueView(name, "union", struct.c_name)
    return ValueView(name, "struct", struct.c_name, fields=struct.members)


def _element_type(registry: Registry, entry: EnumEntry) -> str:
    """The type of a data type's elements in a union; those of less than a byte have one."""
    if _is_narrow(entry):
        return entry.name
    kind = (entry.kind, max(8, entry.bits))
    return next(name for name, number in registry.types.items() if (number.kind, number.bits) == kind)
