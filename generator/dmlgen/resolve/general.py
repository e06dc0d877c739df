"""The general files: levels, number types, constants, enumerations, structs, rules of every tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Map
from typing import Literal, cast

from dmlgen.diagnostics import nearest
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.parse import Scope
from dmlgen.registry import (
    Declaration,
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
    Stage,
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
    scalars,
    text,
)
from dmlgen.source import Entry, Mapping, Node

FILES = ("feature_levels", "constants", "enums", "structs", "rules", "identifiers")

# The values that outputs have at hand where they report a general rule, or add a general hint.
_VALUES = {
    "type": {"value"},
    "feature-level": {"value"},
    "since": {"operator", "since", "level"},
    "required": {"member", "operator"},
    "type-of-member": {"member", "value", "choices"},
    "integer-range": {"member", "value", "least", "most", "type"},
    "enum-value": {"member", "value", "type"},
    "scalar-range": {"member", "value", "least", "most", "type"},
    "array-length": {"member", "value", "count", "choices"},
    "fused-activation": {"member", "value", "operator", "choices"},
    "fused-activation-tensors": {"member"},
    "dimension-count": {"member", "value", "level", "choices"},
    "data-type": {"member", "value", "level", "choices"},
}
_HINT_VALUES: dict[str, set[str]] = {
    "broadcast": {"expected"},
    "rank": set(),
    "negative": set(),
    "axis": {"value", "negative"},
}

_DATA_TYPES = 32  # bits of the masks in which the header and its validators hold data types

_BUILT_IN_STAGES = {"dimension-count": Stage.COUNTS, "data-type": Stage.VALUES}


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
            name: self._number(node) for name, node in mapping(files["constants"], "foreign").items()
        }
        self.interfaces = tuple(str(item.value) for item in scalars(files["constants"], "interfaces"))
        structs = mapping(files["structs"], "structs")
        self._by_address = {name for name, node in _entries(structs) if flag(node, "by_address")}
        self.constants = tuple(
            NamedConstant(
                name, integer(node, "value"), self.since(node), free_text(node, "summary"), node.position
            )
            for name, node in _entries(constants)
        )
        self.enums = {
            name: self._enum(name, node) for name, node in _entries(mapping(files["enums"], "enums"))
        }
        self.structs = {name: self._struct(name, node) for name, node in _entries(structs)}
        self.declared = tuple(self._declared(files))
        self._check_types(structs)
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
            raise fault(
                constants.position,
                "constants",
                f"no constant has the value {MAX_RANK}, the highest rank that outputs can handle",
            )
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
        missing = sorted(_VALUES.keys() - {rule.slug for rule in self.operator_rules})
        if missing:
            where = place(files["rules"], "operator")
            raise fault(where, "missing", f"the general rule {missing[0]} is missing")

    def _declared(self, files: Map[str, Mapping]) -> Iterator[Declaration]:
        """What the header has from these files."""
        levels = mapping(files["feature_levels"], "feature_levels")
        for level, entry in zip(self.levels, levels.entries, strict=True):
            yield Declaration(level.constant, f"feature level {level.name}", entry.key.position)
        for entry in mapping(files["constants"], "constants").entries:
            yield Declaration(entry.name, entry.name, entry.key.position)
        enums = mapping(files["enums"], "enums")
        for enum, entry in zip(self.enums.values(), enums.entries, strict=True):
            yield Declaration(enum.c_name, f"the enumeration {enum.name}", entry.key.position)
        for enum in self.enums.values():
            for entry in mapping(mapping(enums, enum.name), "values").entries:
                yield Declaration(
                    f"{enum.prefix}{entry.name}", f"{enum.name}.{entry.name}", entry.key.position
                )
        structs = mapping(files["structs"], "structs")
        for struct, entry in zip(self.structs.values(), structs.entries, strict=True):
            yield Declaration(struct.c_name, f"the struct {struct.name}", entry.key.position)

    def _number(self, node: Node) -> str:
        """The number type that a scalar names."""
        name = str(node.plain())
        if name not in self.types:
            raise fault(
                node.position, "unknown-type", f"there is no number type {name}", nearest(name, self.types)
            )
        return name

    def _check_types(self, structs: Mapping) -> None:
        """Raises SpecError unless members of structs have types that there are."""
        made = ("OPERATOR_TYPE", "FEATURE_LEVEL")  # enumerations that follow from operators and levels
        ours = {"void", "char", *made, *self.types, *self.enums, *self.structs}
        faults = Faults()
        for struct in self.structs.values():
            members = mapping(mapping(structs, struct.name), "members")
            for member in struct.members:
                known = {*ours, *(self.interfaces if member.pointer else self.foreign)}
                if member.type not in known:
                    with faults:
                        unknown = f"{member.name} has type {member.type}, which nothing declares"
                        where = place(mapping(members, member.name), "type")
                        raise fault(where, "unknown-type", unknown, nearest(member.type, known))
        faults.stop()

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
                position=entry.position,
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
        return Enum(name, text(node, "prefix"), flag(node, "flags"), since, summary, entries, node.position)

    def _struct(self, name: str, node: Mapping) -> Struct:
        members = tuple(self.member(one) for one in mapping(node, "members").entries)
        faults = Faults()
        check_counts(mapping(node, "members"), members, faults, ("UINT", "UINT64", "SIZE_T"))
        faults.stop()
        page = text(node, "page") or None
        return Struct(
            name=name,
            since=self.since(node),
            summary=free_text(node, "summary"),
            members=members,
            page=page,
            union=flag(node, "union"),
            position=node.position,
        )

    def _operator_rule(self, node: Mapping) -> Rule:
        slug = text(node, "id")
        if slug not in _VALUES:
            unknown = f"there is no general rule {slug}; outputs judge each of them in their own way"
            raise fault(place(node, "id"), "unknown-name", unknown, nearest(slug, _VALUES))
        return Rule(
            id=f"DML-OPERATOR-{slug}",
            slug=slug,
            stage=_BUILT_IN_STAGES.get(slug, Stage.STRUCTURE),
            summary=free_text(node, "summary"),
            checks=(),
            since=self.levels[0],
            until=None,
            form=cast(Form, text(node, "form", "any")),
            source="docs",
            position=node.position,
            message=message(node, "message", _VALUES[slug]),
            hint=message(node, "hint", {*_VALUES[slug], "needed"}),
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
            position=entry.position,
        )
        if levels and level.value <= levels[-1].value:
            low = f"level {name} has value {level.value:#x}, not above that of {levels[-1].name}"
            raise fault(place(entry, "value"), "level-order", low)
        levels.append(level)
    return tuple(levels)
