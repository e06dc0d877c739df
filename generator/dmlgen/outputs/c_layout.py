"""The layout of C structs, for a given pointer size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmlgen.registry import Member, Operator, Registry, Struct

POINTER_SIZES = (8, 4)
_ENUM_SIZE = 4  # size of every enumeration in the header


@dataclass(frozen=True)
class Layout:
    """The size of a struct, its alignment, and the offset of each member, in bytes."""

    size: int
    alignment: int
    offsets: tuple[int, ...]


def layout(registry: Registry, struct: Struct | Operator, pointer_size: int) -> Layout:
    """The layout chosen by Windows compilers: all members are naturally aligned."""
    sizes = [_size(registry, member, pointer_size) for member in struct.members]
    alignment = max((align for _, align in sizes), default=1)
    if isinstance(struct, Struct) and struct.union:
        return Layout(_aligned(max(size for size, _ in sizes), alignment), alignment, (0,) * len(sizes))
    return _in_turn(sizes, alignment)


def _in_turn(sizes: Sequence[tuple[int, int]], alignment: int) -> Layout:
    end = 0
    offsets: list[int] = []
    for size, align in sizes:
        offsets.append(_aligned(end, align))
        end = offsets[-1] + size
    return Layout(_aligned(end, alignment), alignment, tuple(offsets))


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _size(registry: Registry, member: Member, pointer_size: int) -> tuple[int, int]:
    """Bytes and alignment of a member."""
    _, type_ = registry.foreign.get(member.type, ("", member.type))
    if member.pointer or (type_ in registry.types and registry.types[type_].pointer_sized):
        return pointer_size, pointer_size
    if type_ in registry.types:
        size = registry.types[type_].bits // 8
        return size * (member.length or 1), size
    if type_ in registry.structs:
        inner = layout(registry, registry.structs[type_], pointer_size)
        return inner.size, inner.alignment
    return _ENUM_SIZE, _ENUM_SIZE
