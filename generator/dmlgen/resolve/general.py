"""The general files: levels, number types, constants, enumerations, structs, rules of every tensor."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Map
from typing import Literal, cast

from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.parse import Scope
from dmlgen.general_rules import GENERAL_RULES
from dmlgen.registry import (
    Enum,
    EnumEntry,
    FeatureLevel,
    Form,
    InBox,
    Member,
    NamedConstant,
    NumberType,
    Provenance,
    Role,
    Rule,
    Struct,
)
from dmlgen.resolve.nodes import (
    Faults,
    fault,
    flag,
    free_text,
    integer,
    mapping,
    mappings,
    message,
    place,
    scalar,
    text,
)
from dmlgen.source import Entry, Mapping, Scalar

FILES = ("feature_levels", "constants", "enums", "structs", "rules", "identifiers")

# The values that outputs have at hand where they add a general hint.
_HINT_VALUES: dict[str, set[str]] = {
    "broadcast": {"expected"},
    "rank": set(),
    "negative": set(),
    "axis": {"value", "negative"},
}

_DATA_TYPES = 32  # bits of the masks in which the header and its validators hold data types


class General:
    """What operators are resolved against."""

    def __init__(self, files: Map[str, Mapping]) -> None:
        self.levels = _levels(mapping(files["feature_levels"], "feature_levels"))
        self.level = {level.name: level for level in self.levels}
        self.levels_declared = self.level_at(files["feature_levels"], "declared") or self.levels[0]
        constants = mapping(files["constants"], "constants")
        types = mapping(files["constants"], "types")
        self.types = {name: _number_type(name, node) for name, node in _entries(types)}
        self.pages = text(files["constants"], "pages")
        self.foreign = {
            name: str(node.value)
            for name, node in mapping(files["constants"], "foreign").items()
            if isinstance(node, Scalar)
        }
        structs = mapping(files["structs"], "structs")
        self._by_address = {name for name, node in _entries(structs) if flag(node, "by_address")}
        self.constants = tuple(
            NamedConstant(name, integer(node, "value"), self.since(node), free_text(node, "summary"))
            for name, node in _entries(constants)
        )
        self.enums = {
            name: self._enum(name, node) for name, node in _entries(mapping(files["enums"], "enums"))
        }
        self.structs = {name: self._struct(name, node) for name, node in _entries(structs)}
        buffer = mapping(structs, "BUFFER_TENSOR_DESC")
        self.fields = {
            member.name: self.expression_type(member, buffer) for member in self._struct("", buffer).members
        }
        self.named: dict[str, ir.Expr] = {
            constant.name: ir.Constant(constant.name, constant.value) for constant in self.constants
        }
        self.enum_values = {
            name: {entry.name: entry.value for entry in enum.entries} for name, enum in self.enums.items()
        }
        if MAX_RANK not in (constant.value for constant in self.constants):
            raise fault(constants.position, "constants", f"no constant is {MAX_RANK}, the greatest rank")
        self.parts = {
            name: {
                member.name: self.expression_type(member, buffer)
                for member in struct.members
                if member.type in self.types or member.type in self.enums
            }
            for name, struct in self.structs.items()
        }
        hints = mapping(files["rules"], "hints")
        self.hints = {name: message(hints, name, _HINT_VALUES[name]) for name, _ in hints.items()}
        self.operator_rules = tuple(
            self._operator_rule(node) for node in mappings(files["rules"], "operator")
        )
        missing = sorted(GENERAL_RULES.keys() - {rule.slug for rule in self.operator_rules})
        if missing:
            where = place(files["rules"], "operator")
            raise fault(where, "missing", f"the general rule {missing[0]} is missing")

    def scope(self, names: Map[str, ir.Expr]) -> Scope:
        """The scope of expressions that may use these names beside the constants."""
        return Scope({**self.named, **names}, self.fields, self.enum_values, self.parts)

    def level_at(self, node: Mapping, name: str) -> FeatureLevel | None:
        """The level that a key names; None where the key is absent."""
        value = scalar(node, name)
        if value is None:
            return None
        if value.value not in self.level:
            suggestion = nearest(str(value.value), self.level)
            raise fault(
                value.position, "unknown-level", f"there is no feature level {value.value}", suggestion
            )
        return self.level[str(value.value)]

    def since(self, node: Mapping, default: FeatureLevel | None = None) -> FeatureLevel:
        """The level that `since` names; else the default; else the lowest."""
        return self.level_at(node, "since") or default or self.levels[0]

    def member(self, entry: Entry) -> Member:
        """A member of a struct: a tensor has a role, anything else a type."""
        name, node = entry.name, entry.value
        assert isinstance(node, Mapping)
        type_ = text(node, "type")
        if (node.get("role") is None) == (type_ == ""):
            either = f"{name} needs either a role (a tensor) or a type (anything else)"
            raise fault(node.position, "member-kind", either)
        count = text(node, "count") or None
        return Member(
            name=name,
            role=cast(Role, text(node, "role", "attribute")),
            type=type_ or "tensor",
            count=count,
            pointer=count is not None or type_ in ("", *self._by_address) or flag(node, "pointer"),
            optional=flag(node, "optional"),
            summary=free_text(node, "summary"),
            position=entry.key.position,
            typed_by=text(node, "of") or None,
            length=integer(node, "length") or None,
        )

    def expression_type(self, member: Member, node: Mapping) -> ir.Type:
        """The type, in expressions, of a member that is no tensor."""
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
        raise fault(place(node, "type"), "unknown-type", unknown, nearest(member.type, known))

    def _enum(self, name: str, node: Mapping) -> Enum:
        since = self.since(node)
        entries = tuple(
            EnumEntry(
                name=key,
                value=integer(entry, "value"),
                since=self.since(entry, since),
                summary=free_text(entry, "summary"),
                bits=integer(entry, "bits"),
                kind=_kind(entry) if entry.get("kind") else None,
            )
            for key, entry in _entries(mapping(node, "values"))
        )
        first: dict[int, EnumEntry] = {}
        for one in entries:
            where = place(mapping(mapping(node, "values"), one.name), "value")
            if one.kind is not None and one.value >= _DATA_TYPES:
                large = (
                    f"a data type's value is below {_DATA_TYPES}; outputs hold data types as bits of a mask"
                )
                raise fault(where, "wrong-value", large)
            if first.setdefault(one.value, one) is not one:
                raise fault(
                    where, "duplicate-value", f"{first[one.value].name} has the same value, {one.value}"
                )
        summary = free_text(node, "summary")
        return Enum(name, text(node, "prefix"), flag(node, "flags"), since, summary, entries)

    def _struct(self, name: str, node: Mapping) -> Struct:
        members = tuple(self.member(one) for one in mapping(node, "members").entries)
        faults = Faults()
        check_counts(mapping(node, "members"), members, faults, ("UINT", "UINT64", "SIZE_T"))
        faults.stop()
        page = text(node, "page") or None
        return Struct(name, self.since(node), free_text(node, "summary"), members, page, flag(node, "union"))

    def _operator_rule(self, node: Mapping) -> Rule:
        slug = text(node, "id")
        if slug not in GENERAL_RULES:
            unknown = f"there is no general rule {slug}; outputs judge each of them in their own way"
            raise fault(place(node, "id"), "unknown-name", unknown, nearest(slug, GENERAL_RULES))
        general = GENERAL_RULES[slug]
        return Rule(
            id=f"DML-OPERATOR-{slug}",
            slug=slug,
            stage=general.stage,
            summary=free_text(node, "summary"),
            checks=(),
            since=self.levels[0],
            until=None,
            form=cast(Form, text(node, "form", "any")),
            source="docs",
            position=node.position,
            message=message(node, "message", general.values),
            hint=message(node, "hint", {*general.values, "needed"}),
        )


def _entries(node: Mapping) -> list[tuple[str, Mapping]]:
    return [(name, value) for name, value in node.items() if isinstance(value, Mapping)]


def _number_type(name: str, node: Mapping) -> NumberType:
    return NumberType(name, integer(node, "bits"), _kind(node), flag(node, "pointer_sized"))


def _kind(node: Mapping) -> Literal["float", "signed", "unsigned"]:
    return cast(Literal["float", "signed", "unsigned"], text(node, "kind"))


def _in_box(node: Mapping) -> InBox:
    return InBox(integer(node, "build"), free_text(node, "name"), cast(Provenance, text(node, "source")))


def check_counts(
    listed: Mapping, members: Iterable[Member], faults: Faults, types: tuple[str, ...] = ("UINT",)
) -> None:
    """Notes members that count their entries by what is no member of these types."""
    counts = [member.name for member in members if member.type in types and not member.count]
    for member in members:
        if member.count is not None and member.count not in counts:
            with faults:
                message = (
                    f"{member.name} counts its entries by {member.count}, which is not a {types[0]} member"
                )
                where = place(mapping(listed, member.name), "count")
                raise fault(where, "unknown-name", message, nearest(member.count, counts))


def _levels(node: Mapping) -> tuple[FeatureLevel, ...]:
    levels: list[FeatureLevel] = []
    for name, entry in _entries(node):
        box = mapping(entry, "in_box")
        level = FeatureLevel(
            name=name,
            value=int(text(entry, "value"), 16),
            ordinal=len(levels),
            directml=text(entry, "directml"),
            in_box=_in_box(box) if box.entries else None,
            ntddi=text(entry, "ntddi") or None,
        )
        if levels and level.value <= levels[-1].value:
            low = f"level {name} has value {level.value:#x}, not above that of {levels[-1].name}"
            raise fault(place(entry, "value"), "level-order", low)
        levels.append(level)
    return tuple(levels)
