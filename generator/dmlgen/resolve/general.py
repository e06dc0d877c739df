"""The general files: levels, number types, constants, enumerations, structs, rules on every tensor."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from dmlgen import written
from dmlgen.diagnostics import Position, fault, nearest, shown
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.parse import Scope
from dmlgen.registry import (
    Declaration,
    Enum,
    FeatureLevel,
    Member,
    Struct,
)
from dmlgen.resolve.faults import Faults, check_known
from dmlgen.shape import Record
from dmlgen.source import Entry, Scalar
from dmlgen.source import Mapping as MappingNode
from dmlgen.text import Message, Piece, Text, folded

# The values available to outputs where they add a general hint.
_HINT_VALUES: dict[str, set[str]] = {
    "broadcast": {"expected"},
    "rank": set(),
    "negative": set(),
    "axis": {"value", "negative"},
}

_DATA_TYPES = 32  # bits in the masks in which the header and its validators store data types


class General:
    """The context in which operators are resolved."""

    def __init__(self, files: written.General, levels: Mapping[str, FeatureLevel]) -> None:
        self.levels = tuple(levels.values())
        self.level = levels
        self.levels_declared = self.level_at(files.feature_levels.declared)
        self.types = files.constants.types
        self.pages = files.constants.pages
        self.guides = files.constants.guides
        self.foreign = {
            name: (member, self._number(type_))
            for name, one in files.constants.foreign.items()
            for member, type_ in one.items()
        }
        self.interfaces = files.constants.interfaces
        structs = files.structs.structs
        self._by_address = {name for name, struct in structs.items() if struct.by_address}
        self.constants = tuple(files.constants.constants.values())
        self.enums = files.enums.enums
        for enum in self.enums.values():
            _check_enum(enum)
        self.structs = {name: self._struct(name, struct) for name, struct in structs.items()}
        self.declared = tuple(self._declared(files))
        self._check_types(files.structs)
        if "BUFFER_TENSOR_DESC" not in structs:
            raise fault(files.structs.place("structs"), "missing", "the struct BUFFER_TENSOR_DESC is missing")
        listed = structs["BUFFER_TENSOR_DESC"].members.values()
        self.fields = {
            member.name: self.expression_type(member, node.place("type"))
            for member, node in zip(self.structs["BUFFER_TENSOR_DESC"].members, listed, strict=True)
        }
        self.named: dict[str, ir.Expr] = {
            constant.name: ir.Constant(constant.name, constant.value) for constant in self.constants
        }
        self.enum_values = {
            name: {entry.name: entry.value for entry in enum.entries} for name, enum in self.enums.items()
        }
        if MAX_RANK not in (constant.value for constant in self.constants):
            raise fault(
                files.constants.place("constants"),
                "constants",
                f"no constant has the value {MAX_RANK}, the highest rank that outputs can handle",
            )
        self.parts = {
            name: {
                member.name: self.expression_type(member, member.position)
                for member in struct.members
                if member.type in self.types or member.type in self.enums
            }
            for name, struct in self.structs.items()
        }
        hints = files.rules.hints
        self.hints = {name: message(getattr(hints, name), known) for name, known in _HINT_VALUES.items()}

    def _declared(self, files: written.General) -> Iterator[Declaration]:
        """The declarations that the header gets from these files."""
        levels = _entries(files.feature_levels, "feature_levels")
        for level, entry in zip(self.levels, levels, strict=True):
            yield Declaration(level.constant, f"feature level {level.name}", entry.key.position)
        for entry in _entries(files.constants, "constants"):
            yield Declaration(entry.name, entry.name, entry.key.position)
        for enum, entry in zip(self.enums.values(), _entries(files.enums, "enums"), strict=True):
            yield Declaration(enum.c_name, f"the enumeration {enum.name}", entry.key.position)
        for enum in self.enums.values():
            for entry in _entries(enum, "values"):
                name = f"{enum.prefix}{entry.name}"
                yield Declaration(name, f"{enum.name}.{entry.name}", entry.key.position)
        for struct, entry in zip(self.structs.values(), _entries(files.structs, "structs"), strict=True):
            yield Declaration(struct.c_name, f"the struct {struct.name}", entry.key.position)

    def _number(self, given: Scalar[str]) -> str:
        """The number type named by a scalar."""
        check_known(given, self.types, f"there is no number type {given.value}", "unknown-type")
        return given.value

    def _check_types(self, files: written.Structs) -> None:
        """Raises SpecError if a member of a struct has an unknown type."""
        made = ("OPERATOR_TYPE", "FEATURE_LEVEL")  # enumerations derived from operators and levels
        ours = {"void", "char", *made, *self.types, *self.enums, *self.structs}
        faults = Faults()
        for struct in files.structs.values():
            for key, member in struct.members.items():
                known = {*ours, *(self.interfaces if member.pointer else self.foreign)}
                with faults:
                    unknown = f"{key.value} has type {member.type.value}, which nothing declares"
                    check_known(member.type, known, unknown, "unknown-type")
        faults.stop()

    def scope(self, names: Mapping[str, ir.Expr]) -> Scope:
        """The scope of expressions that can use these names in addition to the constants."""
        return Scope({**self.named, **names}, self.fields, self.enum_values, self.parts)

    def level_at(self, name: Scalar[str]) -> FeatureLevel:
        """The level with a name."""
        check_known(name, self.level, f"there is no feature level {name.value}", "unknown-level")
        return self.level[name.value]

    def member(self, name: Scalar[str], node: written.Member | written.StructMember) -> Member:
        """A member of a struct: a tensor has a role, anything else a type."""
        role, typed_by, length = None, None, None
        if isinstance(node, written.Member):
            role, typed_by = node.role, node.typed_by
            if (role is None) == (node.type is None):
                either = f"{name.value} needs either a role (a tensor) or a type (anything else)"
                raise fault(node.position, "member-kind", either)
        else:
            length = node.length
        type_ = "tensor" if node.type is None else node.type.value
        return Member(
            name=name.value,
            role=role or "attribute",
            type=type_,
            count=None if node.count is None else node.count.value,
            pointer=node.count is not None or type_ in ("tensor", *self._by_address) or node.pointer,
            optional=node.optional,
            summary=node.summary,
            position=name.position,
            typed_by=None if typed_by is None else typed_by.value,
            length=length,
        )

    def expression_type(self, member: Member, where: Position) -> ir.Type:
        """The type in expressions of a member that is not a tensor; `where` is where it is written."""
        if member.type in self.types:
            floating = self.types[member.type].kind == "float"
            if member.count:
                return ir.FLOATS if floating else ir.INTS
            return ir.FLOAT if floating else ir.BOOL if member.type == "BOOL" else ir.INT
        if member.type in self.enums:
            return ir.Type("enum", member.type)
        if member.type in self.structs:
            return ir.Type("struct", member.type)
        known = [*self.types, *self.enums, *self.structs]
        unknown = f"{member.name} has type {member.type}, which is not a number type, enumeration or struct"
        raise fault(where, "unknown-type", unknown, nearest(member.type, known))

    def _struct(self, name: str, node: written.Struct) -> Struct:
        members = tuple(self.member(key, one) for key, one in node.members.items())
        faults = Faults()
        check_counts(node.members, members, faults, ("UINT", "UINT64", "SIZE_T"))
        faults.stop()
        return Struct(
            name=name,
            since=node.since,
            summary=node.summary,
            members=members,
            page=node.page,
            union=node.union,
            position=node.position,
        )


def _check_enum(enum: Enum) -> None:
    """Raises SpecError for values, or formats of elements, that are the same or that masks cannot hold."""
    first: dict[int, str] = {}
    formats: dict[tuple[str | None, int, int], str] = {}
    for key, one in enum.values.items():
        if one.kind is not None and one.value >= _DATA_TYPES:
            large = f"a data type's value is below {_DATA_TYPES}; outputs hold data types as bits of a mask"
            raise fault(one.place("value"), "wrong-value", large)
        if (one.kind == "float") != bool(one.significand) or not one.significand < max(one.bits, 1):
            shape = "a float has a significand of fewer bits than an element; other types have none"
            raise fault(one.place("significand" if one.significand else "kind"), "wrong-significand", shape)
        other = formats.setdefault((one.kind, one.bits, one.significand), key)
        if one.kind is not None and other != key:
            format_ = (
                f"{other} is of kind {one.kind} with {one.bits} bits, too; outputs tell formats of elements "
                "by these and a float's significand, so they would take one for the other"
            )
            raise fault(one.place("bits"), "duplicate-format", format_)
        if first.setdefault(one.value, key) != key:
            same = f"{first[one.value]} has the same value, {one.value}"
            raise fault(one.place("value"), "duplicate-value", same)


def message(value: Scalar[str] | None, names: Collection[str]) -> Message:
    """A text as a message, in which names in braces are replaced by values; () if there is no text."""
    if value is None:
        return ()
    line, pieces, start = value.value, list[Piece](), 0
    for match in re.finditer(r"\{([^{}]*)\}|[{}]", line):
        name = match[1]
        if name is None:
            raise fault(value.at(match.start()), "message", "unmatched brace")
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            text_ = f"{shown(name)} is not a name that this message can show; it knows {known}"
            raise fault(value.at(match.start(1)), "unknown-name", text_, nearest(name, names))
        pieces.append(Piece(Text(folded(line[start : match.start()])), name))
        start = match.end()
    rest = Text(folded(line[start:].rstrip()))
    return (*pieces, Piece(rest)) if rest else tuple(pieces)


def check_counts(
    listed: Mapping[Scalar[str], written.AnyMember],
    members: Collection[Member],
    faults: Faults,
    types: tuple[str, ...] = ("UINT",),
) -> None:
    """Reports members that count their entries by anything but a member of these types."""
    counts = [member.name for member in members if member.type in types and not member.count]
    nodes = {name.value: node for name, node in listed.items()}
    for member in members:
        if member.count is not None and member.count not in counts:
            message = f"{member.name} counts its entries by {member.count}, which is not a {types[0]} member"
            where = nodes[member.name].place("count")
            faults.report(where, "unknown-name", message, nearest(member.count, counts))


def _entries(record: Record, name: str) -> tuple[Entry, ...]:
    """The entries of a mapping in a file, whose keys have positions."""
    node = record.node.get(name)
    return node.entries if isinstance(node, MappingNode) else ()


def levels_of(file: written.FeatureLevels) -> dict[str, FeatureLevel]:
    """The feature levels by name. Raises SpecError unless they are ascending."""
    levels: list[FeatureLevel] = []
    for name, node in file.feature_levels.items():
        level = FeatureLevel(
            name=name.value,
            value=int(node.value, 16),
            ordinal=len(levels),
            directml=node.directml,
            in_box=node.in_box,
            ntddi=node.ntddi,
            position=node.position,
        )
        if levels and level.value <= levels[-1].value:
            low = f"level {level.name} has value {level.value:#x}, not above that of {levels[-1].name}"
            raise fault(node.place("value"), "level-order", low)
        levels.append(level)
    return {level.name: level for level in levels}
