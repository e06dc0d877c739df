"""Compares pages on structs and enumerations with the registry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from dmlaudit import sentences
from dmlaudit.members import MemberList, StatedType, declarations, described
from dmlaudit.page import Heading, Page, Paragraph
from dmlaudit.tables import level_in
from dmlaudit.verdict import Verdict
from dmlgen.diagnostics import Position
from dmlgen.registry import Enum, EnumEntry, Member, Registry, Struct

_ENTRY = re.compile(r"(DML_\w+)(?: ?: ?(0x[0-9A-Fa-f]+|\d+))?")
_CONSTANT = re.compile(r"The (DML_\w+) constant")
_STRUCT = re.compile(r"described by the (DML_\w+)")
_TYPEDEFS = {"float": "FLOAT"}  # in windows.h


def compare_struct(registry: Registry, struct: Struct, page: Page) -> Iterator[Verdict]:
    """The page's statements about the struct."""
    place = struct.position or Position("structs.yaml")
    lists = [listed for listed in declarations(page) if listed.struct == struct.c_name]
    members = described(page)
    for listed in (*lists, *([members] if members else [])):
        yield from compare_members(registry, struct.members, listed, place)
    if not members:
        yield Verdict(1, "no members", f"{len(struct.members)} members", place)
    for one in sentences.introduced(page):
        says = f"introduced in {one.level or f'DirectML {one.version}'}"
        since = struct.since
        agrees = since.name == one.level if one.level else since.directml == one.version
        yield Verdict(one.line, says, "" if agrees else f"{since.name}, DirectML {since.directml}", place)


def compare_members(
    registry: Registry, members: Sequence[Member], listed: MemberList, place: Position
) -> Iterator[Verdict]:
    """Names, order, types, optionality, and lengths of arrays."""
    ours = {member.name: member for member in members}
    names = Counter(one.name for one in listed.members)
    for one in listed.members:
        if one.name not in ours:
            yield Verdict(one.line, f"member {one.name}", "there is no such member", place)
            continue
        if names[one.name] > 1:
            yield Verdict(
                one.line, f"member {one.name} twice", "one member of the name", ours[one.name].position
            )
        else:
            yield Verdict(one.line, f"member {one.name}", "", ours[one.name].position)
        if one.type is not None:
            yield from _type(registry, ours[one.name], one.type)
    for name, member in ours.items():
        if name not in names:
            yield Verdict(listed.line, f"no member {name}", f"member {name}", member.position)
    common = [name for name in names if name in ours]
    order = [name for name in ours if name in common]
    yield Verdict(
        listed.line,
        f"order {', '.join(common)}",
        "" if common == order else f"order {', '.join(order)}",
        place,
    )


def _type(registry: Registry, member: Member, stated: StatedType) -> Iterator[Verdict]:
    name, place = member.name, member.position
    base = _TYPEDEFS.get(stated.base, stated.base)
    says = base + "*" * stated.pointer
    ours = _base(registry, member) + "*" * member.pointer
    yield Verdict(stated.line, f"{name}: {says}", "" if says == ours else ours, place)
    optional = {True: "optional", False: "required"}
    holds = "" if stated.optional == member.optional else optional[member.optional]
    yield Verdict(stated.line, f"{name}: {optional[stated.optional]}", holds, place)
    if stated.count or member.count:
        says = f"{name}: {stated.count} entries" if stated.count else f"{name}: no number of entries"
        holds = (
            "" if stated.count == member.count else f"{member.count} entries" if member.count else "no array"
        )
        yield Verdict(stated.line, says, holds, place)


def _base(registry: Registry, member: Member) -> str:
    if member.is_tensor:
        return "DML_TENSOR_DESC"
    enums = {enum.name for enum in registry.declared_enums}
    return f"DML_{member.type}" if member.type in enums or member.type in registry.structs else member.type


def compare_enum(registry: Registry, enum: Enum, page: Page) -> Iterator[Verdict]:
    """The page's statements about the enumeration: names, values, order, levels, omitted names."""
    entries = {f"{enum.prefix}{entry.name}": entry for entry in enum.entries}
    aliases = {f"DML_OPERATOR_{one.alias}": one.name for one in registry.operators if one.alias}
    place = enum.position or Position("enums.yaml")
    seen: dict[str, EnumEntry] = {}
    last = -1
    for line, name, value, level in _entries(page, enum):
        entry = entries.get(name) or entries.get(f"DML_OPERATOR_{aliases.get(name)}")
        if entry is None:
            yield Verdict(line, f"value {name}", "there is no such value", place)
            continue
        at = entry.position or place
        yield Verdict(line, f"value {name}" + " twice" * (name in seen), "once" * (name in seen), at)
        seen[name] = entry
        if value is not None:
            yield Verdict(line, f"{name} = {value}", "" if value == entry.value else str(entry.value), at)
        if level is not None:
            holds = "" if level == entry.since.name else f"since {entry.since.name}"
            yield Verdict(line, f"{name} since {level}", holds, at)
        elif enum.name != "OPERATOR_TYPE":
            yield Verdict(line, f"{name} in its place", "" if entry.value > last else "values ascend", at)
            last = entry.value
    for name, entry in entries.items():
        if entry not in seen.values():
            yield Verdict(1, f"no value {name}", f"value {name}", entry.position or place)
    for one in sentences.introduced(page):
        if one.level is not None:
            holds = "" if one.level == enum.since.name else f"introduced in {enum.since.name}"
            yield Verdict(one.line, f"introduced in {one.level}", holds, place)
    yield from _described_by(registry, enum, page)


def _entries(page: Page, enum: Enum) -> Iterator[tuple[int, str, int | None, str | None]]:
    """Line, name, value and level of constants, from headings and from sentences on a single one."""
    for section in page.sections:
        level = next((one for heading in section.path[:-1] if (one := level_in(heading.text))), None)
        if section.path and len(section.path) > 1 and (found := _ENTRY.fullmatch(section.title)):
            is_level = enum.name != "FEATURE_LEVEL" and level_in(section.title) is not None
            if not is_level:
                yield section.path[-1].line, found[1], int(found[2], 0) if found[2] else None, level
        for block in section.blocks:
            if isinstance(block, Paragraph) and (found := _CONSTANT.match(block.text)):
                yield block.line, found[1], None, None


def _described_by(registry: Registry, enum: Enum, page: Page) -> Iterator[Verdict]:
    """The structs that the page lists for operators."""
    if enum.name != "OPERATOR_TYPE":
        return
    heading: Heading | None = None
    for block in page.blocks:
        if isinstance(block, Heading):
            heading = block
        elif heading and isinstance(block, Paragraph) and (found := _STRUCT.search(block.text)):
            name = heading.text.removeprefix("DML_OPERATOR_")
            ours = [one for one in registry.operators if name in (one.name, one.alias)]
            structs = [struct for one in ours for struct in (one.c_name, one.c_alias) if struct]
            holds = "" if found[1] in structs else structs[0] if structs else "there is no such operator"
            place = ours[0].position if ours else Position("enums.yaml")
            yield Verdict(block.line, f"{heading.text} is described by {found[1]}", holds, place)
