"""Where the members of a C struct lie, for a given size of a pointer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dmlgen.registry import Member, Registry

POINTER_SIZES = (8, 4)
_ENUM_SIZE = 4  # of every enumeration of the header


@dataclass(frozen=True)
class Layout:
    """Bytes of a struct, its alignment, and the offset of each member."""

    size: int
    alignment: int
    offsets: tuple[int, ...]


def layout(registry: Registry, members: Iterable[Member], pointer_size: int) -> Layout:
    """The layout of a struct with these members as Windows compilers choose it: all are naturally aligned."""
    end, alignment = 0, 1
    offsets: list[int] = []
    for member in members:
        size, align = _size(registry, member, pointer_size)
        offsets.append(-(-end // align) * align)
        end = offsets[-1] + size
        alignment = max(alignment, align)
    return Layout(-(-end // alignment) * alignment, alignment, tuple(offsets))


def _size(registry: Registry, member: Member, pointer_size: int) -> tuple[int, int]:
    """Bytes and alignment of a member."""
    if member.pointer:
        return pointer_size, pointer_size
    if member.type in registry.types:
        size = registry.types[member.type].bits // 8
        return size, size
    if member.type in registry.structs:
        inner = layout(registry, registry.structs[member.type].members, pointer_size)
        return inner.size, inner.alignment
    return _ENUM_SIZE, _ENUM_SIZE
