"""A stand-in for the real DirectML.h, with what the registry knows of it.

It is C++ only, has DIRECTML_H as its guard, constants that are variables, and declarations gated by
DML_TARGET_VERSION.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from dmlgen.registry import Member, Operator, Registry, Struct

_BEGIN = """#ifndef DIRECTML_H
#define DIRECTML_H

#ifdef _WIN32
#include <d3d12.h>
#else
#include <cstddef>
#include <cstdint>
#define __d3d12_h__
typedef std::size_t SIZE_T;
"""
_BASE = """#endif

#ifndef DML_TARGET_VERSION
#define DML_TARGET_VERSION 0x6400
#endif

struct IDMLDispatchable;
struct IDMLOperator;
"""


def other_header(registry: Registry) -> str:
    """The text of the header."""
    lines = [_BEGIN]
    for name, number in registry.types.items():
        if name != "SIZE_T":
            integer = f"std::{'u' * (number.kind == 'unsigned')}int{number.bits}_t"
            floating = {32: "float", 64: "double"}.get(number.bits)
            lines.append(f"typedef {floating if number.kind == 'float' else integer} {name};")
    lines += [f"struct {name} {{ {type_} ptr; }};" for name, type_ in registry.foreign.items()]
    lines += ["struct ID3D12Resource;", _BASE]
    for constant in registry.constants:
        lines += _gated(constant.since.value, [f"static const UINT {constant.name} = {constant.value};"])
    for enum in registry.enums.values():
        entries = [(e.since.value, f"{enum.prefix}{e.name} = {e.value},") for e in enum.entries]
        lines += _gated(enum.since.value, _enum(enum.c_name, entries))
    lowest, declared = registry.levels[0].value, registry.levels_declared.value
    operators = [(o.since.value, f"{o.c_constant} = {o.value},") for o in registry.operators]
    lines += _gated(lowest, _enum("DML_OPERATOR_TYPE", [(lowest, "DML_OPERATOR_INVALID,"), *operators]))
    levels = [(declared, f"{level.constant} = {level.value:#x},") for level in registry.levels]
    lines += _gated(declared, _enum("DML_FEATURE_LEVEL", levels))
    for struct in (*registry.structs.values(), *registry.operators):
        lines += _gated(struct.since.value, _struct(registry, struct))
    return "\n".join([*lines, "#endif", ""])


def _gated(since: int, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"#if DML_TARGET_VERSION >= {since:#x}", *lines, "#endif")


def _enum(name: str, entries: list[tuple[int, str]]) -> Iterator[str]:
    yield f"enum {name} {{"
    for since, group in groupby(entries, key=lambda entry: entry[0]):
        yield from _gated(since, [f"    {text}" for _, text in group])
    yield "};"


def _struct(registry: Registry, struct: Struct | Operator) -> Iterator[str]:
    yield f"{'union' if isinstance(struct, Struct) and struct.union else 'struct'} {struct.c_name} {{"
    for member in struct.members:
        array = f"[{member.length}]" if member.length else ""
        yield f"    {_type(registry, member)} {member.name}{array};"
    yield "};"


def _type(registry: Registry, member: Member) -> str:
    plain = (
        member.type in registry.types or member.type in registry.foreign or member.type in ("void", "char")
    )
    own = member.type in (*registry.structs, *registry.enums, "OPERATOR_TYPE", "FEATURE_LEVEL")
    name = "DML_TENSOR_DESC" if member.is_tensor else f"DML_{member.type}" if own else member.type
    if not member.pointer:
        return name
    return f"const {name}*" if plain or own or member.is_tensor else f"{name}*"
