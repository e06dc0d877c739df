"""Reads what DirectML.h declares of one operator: its value, its target version, and its struct's members.

Only the subset of C that such a header uses is understood: preprocessor conditions on DML_TARGET_VERSION, one
enumerator or member per line, and annotations of optional members and arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dmlgen.diagnostics import Finding, Position, SpecError, shown
from dmlgen.registry import Member
from dmlgen.source import MAX_BYTES
from dmlgen.text import NO_TEXT

_CONDITION = re.compile(r"#\s*if DML_TARGET_VERSION >= (0x[0-9A-Fa-f]{4})\b")
_ENUMERATOR = re.compile(r"DML_OPERATOR_(\w+)\s*(?:=\s*(\d+)\s*)?,")
_MEMBER = re.compile(
    r"(?P<notes>(?:_\w+_(?:\(\w+\))?\s+)*)(?:const\s+)?(?P<type>\w+)\s*(?P<pointer>\*?)\s*(?P<name>\w+)\s*;"
)


@dataclass(frozen=True)
class Declared:
    """An operator in the header. `version` is like 0x6300; output tensors are recognized by their names."""

    value: int
    version: int
    members: tuple[Member, ...]


def declared(path: Path, operator: str) -> Declared | None:
    """The declaration of an operator in a header, if anything. SpecError if it is not DirectML.h."""
    text = _read(path)
    found = {name: (value, version) for name, value, version in _operators(text)}
    members = tuple(_members(text, operator, path))
    if operator not in found or not members:
        return None
    return Declared(*found[operator], members)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    try:
        if len(data) > MAX_BYTES:
            raise ValueError
        return data.decode("utf-8-sig")
    except ValueError:
        message = f"no header: it is larger than {MAX_BYTES} bytes, or not UTF-8"
        raise SpecError([Finding(Position(path.as_posix()), "bad-header", message)]) from None


def _operators(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, value and target version of each entry of DML_OPERATOR_TYPE, including DML_OPERATOR_INVALID."""
    value, versions, inside = -1, [0x1000], False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("enum DML_OPERATOR_TYPE"):
            inside = True
        elif not inside:
            continue
        elif line.startswith("}"):
            return
        elif line.startswith("#"):
            condition = _CONDITION.match(line)
            if condition or line.startswith("#if"):
                versions.append(int(condition[1], 16) if condition else versions[-1])
            elif line.startswith("#endif") and len(versions) > 1:
                versions.pop()
        elif entry := _ENUMERATOR.match(line):
            value = int(entry[2]) if entry[2] else value + 1
            yield entry[1], value, versions[-1]


def _members(text: str, operator: str, path: Path) -> Iterator[Member]:
    """The members of the struct, or of the struct of which it is an alias."""
    alias = re.search(rf"^using DML_{operator}_OPERATOR_DESC = DML_(\w+)_OPERATOR_DESC;", text, re.MULTILINE)
    name = alias[1] if alias else operator
    start = re.search(rf"^struct DML_{name}_OPERATOR_DESC\s*\{{", text, re.MULTILINE)
    if start is None:
        return
    body = text[start.end() : text.find("};", start.end())]
    seen: list[Member] = []
    for number, line in enumerate(body.splitlines(), text.count("\n", 0, start.end()) + 1):
        declaration = line.partition("//")[0].strip()
        position = Position(path.as_posix(), number)
        found = _MEMBER.fullmatch(declaration)
        if found is not None:
            seen.append(_member(found, position))
        elif declaration:
            message = f"{shown(declaration)} is no member as DirectML.h has them"
            raise SpecError([Finding(position, "bad-header", message)])
    names = [member.name for member in seen]
    last_input = names.index("OutputTensor") if "OutputTensor" in names else 0
    for place, member in enumerate(seen):
        # For example, the scale of OutputTensor is an input if it comes first.
        is_output = member.is_tensor and member.name.startswith("Output") and place >= last_input
        yield replace(member, role="output") if is_output else member


def _member(found: re.Match[str], position: Position) -> Member:
    notes, type_, name = found["notes"], found["type"], found["name"]
    count = re.search(r"_Field_size_(?:opt_)?\((\w+)\)", notes)
    tensor = type_ == "DML_TENSOR_DESC"
    return Member(
        name=name,
        role="input" if tensor else "attribute",
        type="tensor" if tensor else type_.removeprefix("DML_").upper(),  # float is FLOAT
        count=count[1] if count else None,
        pointer=bool(found["pointer"]),
        optional="_Maybenull_" in notes or "_opt_" in notes,
        summary=NO_TEXT,
        position=position,
    )
