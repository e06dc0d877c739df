"""Compares pages about no single operator: feature levels, versions, constants, fused activations, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from dmlaudit.page import Code, Heading, Page, Paragraph, Row, Table
from dmlaudit.tables import level_in
from dmlaudit.verdict import Verdict
from dmlgen.diagnostics import Position
from dmlgen.registry import FeatureLevel, Operator, Registry

_NAME = re.compile(r"\bDML_[A-Z0-9_]+\b")
_OPERATOR = re.compile(r"\bDML_OPERATOR_(?!TYPE\b)([A-Z0-9_]+)\b")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_HEX = re.compile(r"0x[0-9A-Fa-f]+")
_BUILD = re.compile(r"\bBuild (?:10\.0\.)?(\d{5})\b")
_NTDDI = re.compile(r"(NTDDI_\w+) results in a target version of (0x[0-9A-Fa-f]+)")
_MACROS = "DML_TARGET_VERSION"  # macros with this prefix are not facts in the specs
_ADDED = re.compile(
    r"Added (?:support for )?(?:the following |these )?(?:operator types?\b|DML_OPERATOR_\w+\.?$)"
)
_EXTENDING = ("data type", "datatype", "dimension", "UINT8")
_ONLY = re.compile(r"\(For (.*) only\)")

Change: TypeAlias = Literal["", "adds", "extends"]


def compare_topic(registry: Registry, page: Page) -> Iterator[Verdict]:
    """The page's statements about feature levels, versions, constants and fusion, wherever they are."""
    for section in page.sections:
        level = level_in(section.title) if len(section.path) > 1 else None
        for block in section.blocks:
            if isinstance(block, Table):
                yield from _table(registry, block)
        if level is not None and section.title.startswith("DML_FEATURE_LEVEL_"):
            yield from _history(registry, level, [b for b in section.blocks if isinstance(b, Paragraph)])
        if section.title == "Operators that support fused activation":
            yield from _fusing(registry, section.blocks)
        if section.title == "Activations that are supported for fusion":
            yield from _fused(registry, section.blocks)
    for paragraph in page.paragraphs:
        for found in _NTDDI.finditer(paragraph.text):
            line, value = paragraph.line_at(found.start()), int(found[2], 16)
            ours = [one for one in registry.levels if one.ntddi == found[1]]
            holds = "" if [one.value for one in ours] == [value] else _values(ours)
            yield Verdict(line, f"{found[1]} declares {found[2]}", holds, _place(registry, ours))


def _values(levels: list[FeatureLevel]) -> str:
    return " and ".join(f"{one.value:#x}" for one in levels) or "nothing of the kind"


def _place(registry: Registry, levels: list[FeatureLevel]) -> Position:
    return (levels or [registry.levels[0]])[0].position or Position("feature_levels.yaml")


def is_compared(table: Table) -> bool:
    """Whether this module, or that of operators, compares the table."""
    first = table.header[0]
    return first in ("Tensor", "Constant", "DirectML version", "DML_TARGET_VERSION")


def _table(registry: Registry, table: Table) -> Iterator[Verdict]:
    first = table.header[0]
    for row in table.rows:
        if first == "Constant":
            yield from _constant(registry, row)
        elif first == "DirectML version":
            yield from _version(registry, table, row)
        elif first == "DML_TARGET_VERSION" and (found := _HEX.fullmatch(row.cells[0])):
            yield from _target(registry, row, int(found[0], 16))
    if first == "DirectML version":
        text = " ".join(cell for row in table.rows for cell in row.cells)
        for level in registry.levels:
            if level.constant not in text.split():
                place = _place(registry, [level])
                yield Verdict(
                    table.line, f"no version with {level.name}", f"DirectML {level.directml}", place
                )
    if first == "Constant":
        names = {row.cells[0] for row in table.rows}
        for constant in registry.constants:
            if constant.name not in names:
                place = constant.position or Position("constants.yaml")
                yield Verdict(table.line, f"no constant {constant.name}", str(constant.value), place)


def _constant(registry: Registry, row: Row) -> Iterator[Verdict]:
    name, value = row.cells[:2]
    ours = next((one for one in registry.constants if one.name == name), None)
    place = (ours.position if ours else None) or Position("constants.yaml")
    holds = (
        "there is no such constant" if ours is None else "" if value == str(ours.value) else str(ours.value)
    )
    yield Verdict(row.line, f"{name} = {value}", holds, place)


def _version(registry: Registry, table: Table, row: Row) -> Iterator[Verdict]:
    """A version, its levels with their values, and the Windows build that introduced it."""
    version = (_VERSION.match(row.cells[0]) or [row.cells[0]])[0]
    names = re.findall(r"DML_FEATURE_LEVEL_\w+", row.cells[1])
    values = [int(value, 16) for value in _HEX.findall(row.cells[2])]
    levels = [one for one in registry.levels if one.constant in names]
    place = _place(registry, levels)
    for name in names:
        ours = next((one for one in levels if one.constant == name), None)
        agrees = (
            ours is not None
            and _number(ours.directml) <= _number(version)
            and _minor(ours, registry, version)
        )
        holds = "" if agrees else f"first in DirectML {ours.directml}" if ours else "there is no such level"
        yield Verdict(
            row.line,
            f"DirectML {version} has {level_in(name)}",
            holds,
            _place(registry, [ours] if ours else []),
        )
    agrees = sorted(values) == [one.value for one in levels]
    says = f"DirectML {version} has target version {' or '.join(map(hex, values)) or 'none'}"
    yield Verdict(row.line, says, "" if agrees else _values(levels), place)
    builds = {int(found) for found in _BUILD.findall(row.cells[3])}
    if any(one.directml == version for one in levels):
        ours_ = {one.in_box.build for one in levels if one.in_box}
        says = f"DirectML {version} came with build {', '.join(map(str, builds)) or 'of no Windows'}"
        yield Verdict(row.line, says, "" if builds == ours_ else f"build {', '.join(map(str, ours_))}", place)


def _minor(level: FeatureLevel, registry: Registry, version: str) -> bool:
    """Whether no higher level came with a version up to this one, except with that of the level itself."""
    above = registry.levels[level.ordinal + 1 :]
    passed = [one for one in above if _number(one.directml) <= _number(version)]
    return all(one.directml == level.directml == version for one in passed)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _target(registry: Registry, row: Row, value: int) -> Iterator[Verdict]:
    ours = [one for one in registry.levels if one.value == value]
    version = _VERSION.search(row.cells[1])
    says = f"target version {value:#x} is DirectML {version[0] if version else 'of no version'}"
    holds = "there is no such level"
    if ours:
        holds = "" if version and version[0] == ours[0].directml else f"DirectML {ours[0].directml}"
    yield Verdict(row.line, says, holds, _place(registry, ours))


def _history(registry: Registry, level: str, blocks: list[Paragraph]) -> Iterator[Verdict]:
    """The additions of a level: operators, and extensions of existing ones."""
    known = registry.level.get(level)
    first = blocks[0].line if blocks else 1
    if known is None:
        yield Verdict(first, f"feature level {level}", "there is no such level", _place(registry, []))
        return
    change: Change = ""
    listed: set[str] = set()
    for block in blocks:
        if block.text.startswith("Introduced in DirectML version") and (found := _VERSION.search(block.text)):
            holds = "" if found[0] == known.directml else f"DirectML {known.directml}"
            yield Verdict(block.line, f"{level} is of DirectML {found[0]}", holds, _place(registry, [known]))
        names = _OPERATOR.findall(block.text.partition(", when")[0])
        if not names:  # it concerns those listed below
            change = _change(block.text)
        here = change if _OPERATOR.match(block.text) else _change(block.text)
        for name in names if here else ():
            listed |= {name} if here == "adds" else set()
            yield _verdict(registry, known, name, here, block.line)
    for one in registry.operators:
        if one.since == known and known.ordinal and not listed & {one.name, one.alias}:
            yield Verdict(first, f"{level} does not add {one.name}", "it does", one.places["since"])


def _change(text: str) -> Change:
    """The statements about operators that a text names, or that are listed below it."""
    if _ADDED.match(text):
        return "adds"
    if text.startswith(("Introduced", "The operator types mentioned")):
        return ""
    return "extends" if any(word in text for word in _EXTENDING) else ""


def _verdict(registry: Registry, level: FeatureLevel, name: str, change: Change, line: int) -> Verdict:
    ours = next((one for one in registry.operators if name in (one.name, one.alias)), None)
    says = f"{level.name} {change} {name}"
    if ours is None:
        return Verdict(line, says, "there is no such operator", _place(registry, [level]))
    if change == "adds":
        agrees = ours.since == level
        return Verdict(line, says, "" if agrees else f"it came with {ours.since.name}", ours.places["since"])
    below = registry.levels[level.ordinal - 1]
    old, new = ours.support.get(below.name), ours.support.get(level.name)
    holds = (
        ""
        if old is not None and old != new
        else f"its table of {below.name} holds"
        if old
        else "it is new there"
    )
    return Verdict(line, says, holds, ours.places["support"])


def _listed(blocks: tuple[object, ...]) -> Iterator[tuple[int, str, str]]:
    """Line, operator and text of the items of a list of operators."""
    for block in blocks:
        if (
            isinstance(block, Paragraph)
            and block.depth is not None
            and (found := _OPERATOR.match(block.text))
        ):
            yield block.line, found[1], block.text


def _fusing(registry: Registry, blocks: tuple[object, ...]) -> Iterator[Verdict]:
    """The operators that accept a fused activation."""
    listed: set[str] = set()
    line = 1
    for line, name, _ in _listed(blocks):
        listed.add(name)
        ours = registry.operator.get(name)
        has = ours is not None and "FusedActivation" in ours.member
        place = ours.places["members"] if ours else Position("operators")
        yield Verdict(line, f"{name} takes an activation", "" if has else "it has no place for one", place)
    for one in registry.operators:
        if "FusedActivation" in one.member and one.name not in listed:
            yield Verdict(line, f"{one.name} takes no activation", "it does", one.places["members"])


def _fused(registry: Registry, blocks: tuple[object, ...]) -> Iterator[Verdict]:
    """The operators that others accept as activation."""
    listed: set[str] = set()
    line = 1
    for line, name, text in _listed(blocks):
        listed.add(name)
        ours = registry.operator.get(name)
        only = _ONLY.search(text)
        says = f"{name} is taken" + (f" by {only[1]} only" if only else "")
        if ours is None:
            yield Verdict(line, says, "there is no such operator", Position("operators"))
            continue
        wanted = {part.upper() for part in re.split(r",? and |, ", only[1])} if only else {"ANY"}
        takers = {taker.upper() for taker in ours.fusible_into}
        holds = "" if takers == wanted else f"taken by {', '.join(sorted(ours.fusible_into)) or 'none'}"
        yield Verdict(line, says, holds, ours.places.get("fusible_into", ours.position))
    for one in registry.operators:
        if one.fusible_into and one.name not in listed:
            holds = f"taken by {', '.join(sorted(one.fusible_into))}"
            yield Verdict(line, f"{one.name} is taken by none", holds, one.places["fusible_into"])


def compare_names(registry: Registry, page: Page) -> Iterator[Verdict]:
    """The names of DirectML.h that the page uses outside listings, without duplicates."""
    known = _known(registry)
    seen: set[str] = set()
    for block in page.blocks:
        if isinstance(block, Code):
            continue
        texts = (
            [(row.line, cell) for row in block.rows for cell in row.cells]
            if isinstance(block, Table)
            else [(block.line, block.text)]
        )
        for first, text in texts:
            for found in _NAME.finditer(text):
                name = found[0].rstrip("_")
                if name not in seen and not name.startswith(_MACROS):
                    seen.add(name)
                    line = first + text.count("\n", 0, found.start())
                    holds = "" if name in known else "DirectML.h has no such name"
                    yield Verdict(
                        line, f"name {name}", holds, known.get(name) or registry.identifiers_position
                    )


def _known(registry: Registry) -> dict[str, Position | None]:
    names: dict[str, Position | None] = {one.name: one.position for one in registry.constants}
    for enum in registry.declared_enums:
        names[enum.c_name] = enum.position
        names |= {f"{enum.prefix}{entry.name}": entry.position for entry in enum.entries}
    names |= {struct.c_name: struct.position for struct in registry.structs.values()}
    for operator in registry.operators:
        for name in operator_names(operator):
            names[name] = operator.position
    return names


def operator_names(operator: Operator) -> tuple[str, ...]:
    """The header's names of an operator and its struct."""
    alias = (operator.c_alias, f"DML_OPERATOR_{operator.alias}") if operator.alias else ()
    return (operator.c_name, operator.c_constant, *alias)


def heading_names(page: Page) -> Iterator[str]:
    """The names of DirectML.h in top-level headings."""
    for block in page.blocks:
        if isinstance(block, Heading) and block.level == 1:
            yield from _NAME.findall(block.text)
