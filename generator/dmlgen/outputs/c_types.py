"""The part of the C header that declares constants, enumerations and structs like DirectML.h."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgen.outputs.c_layout import POINTER_SIZES, layout
from dmlgen.registry import Enum, FeatureLevel, Member, Operator, Registry, Struct, entry
from dmlgen.text import Text

# Number types with another name in C. BOOL differs between headers (signed on Windows, unsigned in
# DirectX-Headers for Linux), so any declaration of ours would clash with some of them.
STANDARD = {"SIZE_T": "size_t", "BOOL": "int32_t"}
_OPERATOR_TYPE = "OPERATOR_TYPE"


@dataclass(frozen=True)
class FieldView:
    """A member of a struct: C type, entries of an array inside it, offset for each size of a pointer.

    `alone` is the type of a struct of d3d12.h without that header.
    """

    name: str
    type: str
    length: int | None
    offsets: tuple[int, ...]
    summary: Text
    alone: str = ""


@dataclass(frozen=True)
class StructView:
    """A struct or union, with its size for each size of a pointer.

    DirectML.h declares it as `declared_name` from the target version `since` on; `other_name` is another name
    that it may have there, or "".
    """

    keyword: str
    c_name: str
    declared_name: str
    other_name: str
    since: FeatureLevel
    summary: Text
    fields: tuple[FieldView, ...]
    sizes: tuple[int, ...]


def names(registry: Registry) -> dict[str, list[tuple[int, str]]]:
    """The values of each enumeration as messages show them."""
    names = {
        enum.name: [(entry.value, entry.name) for entry in enum.entries] for enum in registry.declared_enums
    }
    newest_first = [(level.value, level.name) for level in reversed(registry.levels)]
    return {**names, "FEATURE_LEVEL": newest_first}


def enums_in_order(registry: Registry) -> list[Enum]:
    """The enumerations with operator aliases; entries in the order in which DirectML.h got them."""
    aliases = [entry(one.alias, one.value, one.since) for one in registry.operators if one.alias]
    found: list[Enum] = []
    for enum in registry.declared_enums:
        entries = [*enum.entries, *(aliases if enum.name == _OPERATOR_TYPE else [])]
        entries.sort(key=lambda one: (one.since.ordinal, one.value))
        found.append(replace(enum, values={one.name: one for one in entries}))
    return found


def struct_view(registry: Registry, struct: Struct | Operator) -> StructView:
    layouts = [layout(registry, struct, size) for size in POINTER_SIZES]
    declared_name, other_name, since = _declared(struct)
    return StructView(
        "union" if isinstance(struct, Struct) and struct.union else "struct",
        struct.c_name,
        declared_name,
        other_name,
        since,
        struct.summary,
        tuple(
            FieldView(
                member.name,
                c_type(registry, member),
                member.length,
                tuple(one.offsets[i] for one in layouts),
                member.summary,
                _alone(registry, member),
            )
            for i, member in enumerate(struct.members)
        ),
        tuple(one.size for one in layouts),
    )


def _alone(registry: Registry, member: Member) -> str:
    """A struct like one of d3d12.h, without its name, which that header may declare later."""
    if member.type not in registry.foreign:
        return ""
    name, type_ = registry.foreign[member.type]
    return f"struct {{ {STANDARD.get(type_, type_)} {name}; }}"


def _declared(struct: Struct | Operator) -> tuple[str, str, FeatureLevel]:
    """The first name of a struct in DirectML.h, its other name, and the first target version."""
    if isinstance(struct, Struct):
        return struct.c_name, "", struct.since
    if struct.alias and struct.since.ordinal < struct.struct_since.ordinal:
        return struct.c_alias, struct.c_name, struct.since
    return struct.c_name, struct.c_alias, struct.struct_since


def interfaces(registry: Registry) -> list[str]:
    """The types to which structs hold pointers and which other headers declare."""
    members = (member for struct in registry.structs.values() for member in struct.members)
    return sorted({member.type for member in members if member.pointer and _is_foreign(registry, member)})


def _is_foreign(registry: Registry, member: Member) -> bool:
    own = {
        "tensor",
        "void",
        "char",
        *registry.types,
        *registry.structs,
        *(e.name for e in registry.declared_enums),
    }
    return member.type not in own


def number_type(bits: int, kind: str) -> str:
    if kind == "float":
        return {32: "float", 64: "double"}[bits]
    return f"{'u' * (kind == 'unsigned')}int{bits}_t"


def c_type(registry: Registry, member: Member) -> str:
    """The type of a member in its C struct."""
    if _is_foreign(registry, member):
        return f"{member.type}*" if member.pointer else member.type
    if member.type in STANDARD:
        name = STANDARD[member.type]
    elif member.type in registry.types or member.type in ("void", "char"):
        name = member.type
    else:
        name = "DML_TENSOR_DESC" if member.is_tensor else f"DML_{member.type}"
    return f"const {name}*" if member.pointer else name
