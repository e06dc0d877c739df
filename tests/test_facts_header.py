"""Double entry: the registry, and the package's ctypes structs, against what the public DirectML.h declares.

`tests/data/facts/header.tsv` is taken from the header, see the README beside it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from dmlgen.registry import Member, Operator, Registry
from dmlops import abi
from dmlops.registry import STRUCTS, operator
from facts_data import rows

COLUMNS = 8  # kind, owner, name, version, number, type, count, nullable
Line = tuple[str, ...]
Lines = dict[tuple[str, str, str], Line]


@pytest.fixture(scope="module")
def header() -> Lines:
    lines = [tuple((*row, *[""] * COLUMNS)[:COLUMNS]) for row in rows("header.tsv")]
    return {line[:3]: line for line in lines}  # type: ignore[misc]


def test_constants_and_enumerators(registry: Registry, header: Lines) -> None:
    ours = {
        ("constant", "", one.name): (f"{one.since.value:#x}", str(one.value)) for one in registry.constants
    }
    for enum in registry.declared_enums:
        for entry in enum.entries:
            name = enum.prefix + entry.name
            ours["enum", enum.c_name, name] = (f"{entry.since.value:#x}", str(entry.value))
    for one in registry.operators:
        if one.alias:
            name = f"DML_OPERATOR_{one.alias}"
            ours["enum", "DML_OPERATOR_TYPE", name] = (f"{one.since.value:#x}", str(one.value))
    theirs = {key: row[3:5] for key, row in header.items() if key[0] in ("constant", "enum")}
    assert ours == theirs


def test_levels(registry: Registry) -> None:
    """The versions of DirectML and Windows that brought them, and what the header declares them for."""
    theirs = {level: [*rest, *[""] * (3 - len(rest))] for level, *rest in rows("levels.tsv")}
    assert theirs == {
        one.name: [one.directml, str(one.in_box.build) if one.in_box else "", one.ntddi or ""]
        for one in registry.levels
    }


def test_structs(registry: Registry, header: Lines) -> None:
    """Members in their order, with C types, counts, whether they can be null; and the target version."""
    early = {"DML_ELEMENT_WISE_ADD1_OPERATOR_DESC"}  # declared for any target version; its enumerator is not
    theirs = [
        (*row[:3], "0x2000" if row[1] in early else row[3], _unqualified(row[5]), *row[6:])
        for key, row in header.items()
        if key[0] in ("struct", "union")
    ]
    ours = [*_structs(registry)]
    assert {row[1] for row in ours} == {row[1] for row in theirs}
    for name in dict.fromkeys(row[1] for row in theirs):
        assert [row for row in ours if row[1] == name] == [row for row in theirs if row[1] == name]


def _structs(registry: Registry) -> Iterator[Line]:
    structs = [
        (one.c_name, one.members, one.since, "union" if one.union else "struct")
        for one in registry.structs.values()
    ]
    structs += [(_declared(one), one.members, one.since, "struct") for one in registry.operators]
    for name, members, since, kind in structs:
        version = f"{since.value:#x}"
        yield (kind, name, "", version, "", "", "")
        for member in members:
            optional = "null" if member.pointer and member.optional else ""
            yield (kind, name, member.name, version, _type(registry, member), member.count or "", optional)


def _declared(operator: Operator) -> str:
    """The struct that the header declares; the newer name of one that was renamed is a typedef."""
    return operator.c_alias or operator.c_name


def _type(registry: Registry, member: Member) -> str:
    """The C type, as the header spells it, without const."""
    named = {enum.name for enum in registry.declared_enums} | {*registry.structs}
    base = "DML_TENSOR_DESC" if member.is_tensor else member.type
    base = f"DML_{base}" if base in named else base
    length = f"[{member.length}]" if member.length else ""
    return f"{base}*" if member.pointer else f"{base}{length}"


def _unqualified(type_: str) -> str:
    """A type of the header without const, which the registry does not state; FLOAT is a typedef of float."""
    return type_.removeprefix("const ").replace("float", "FLOAT")


def test_sizes_and_offsets(registry: Registry, header: Lines) -> None:
    """On a 64-bit platform."""
    structs = {name: abi.struct(name, members) for name, members in STRUCTS.items()}
    structs |= {_declared(one): abi.desc_struct(operator(one.name)) for one in registry.operators}
    numbers = {key[1:]: row[4] for key, row in header.items() if key[0] in ("struct", "union")}
    del structs["DML_SCALAR_UNION"]  # ctypes has 8 bytes in its place
    for name, struct in structs.items():
        assert numbers[name, ""] == str(ctypes.sizeof(struct)), name
        for field in struct._fields_:
            assert numbers[name, field[0]] == str(getattr(struct, field[0]).offset), (name, field[0])
