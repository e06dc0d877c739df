"""The registry as data: feature levels, operators, types, structs, and queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from .data import RuleText, operator_data, registry_data, rule_texts
from .description import Description
from .enums import PREFIXES, FeatureLevel, LevelLike, TensorDataType, feature_level
from .facts import Support
from .member import Member, members_of
from .safe_text import nearest, shown


@dataclass(frozen=True, slots=True)
class WindowsRelease:
    """A Windows release: `build` is like 22621.

    `source` is "docs" if the documentation name it, "header" if DirectML.h declares the level for its SDK.
    """

    build: int
    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Level:
    """A feature level: the first DirectML version that supports it, and the first Windows release that
    includes it.

    `in_box` is None if no Windows release introduced exactly this level; later releases include it too.
    """

    directml: str
    in_box: WindowsRelease | None


@dataclass(frozen=True, slots=True)
class Operator:
    """The name of an operator's class, and the feature level that introduced the operator."""

    python: str
    since: FeatureLevel


@dataclass(frozen=True, slots=True)
class Change:
    """How an operator differs between two feature levels: table entries by tensor, and applicable rules."""

    operator: str
    is_new: bool
    added: Mapping[str, Support]
    removed: Mapping[str, Support]
    rules_added: tuple[str, ...]
    rules_removed: tuple[str, ...]


LEVELS: dict[FeatureLevel, Level] = {
    feature_level(one["name"]): Level(
        one["directml"], WindowsRelease(**one["windows"]) if "windows" in one else None
    )
    for one in registry_data()["levels"]
}

OPERATORS: dict[str, Operator] = {
    name: Operator("".join(map(str.capitalize, name.split("_"))), feature_level(one["since"]))
    for name, one in operator_data().items()
}

# Other names that DirectML.h declares.
ALIASES: dict[str, str] = {one["alias"]: name for name, one in operator_data().items() if "alias" in one}


def integer_range(bits: int, kind: str) -> tuple[int, int]:
    """The least and the greatest integer of a "signed" or "unsigned" type."""
    return (-1 << bits - 1, (1 << bits - 1) - 1) if kind == "signed" else (0, (1 << bits) - 1)


# Bits and kind of the number types; the range of those that are integers.
NUMBERS: dict[str, tuple[int, str]] = {
    one["name"]: (one["bits"], one["kind"]) for one in registry_data()["types"]
}
INTEGERS: dict[str, tuple[int, int]] = {
    name: integer_range(bits, kind) for name, (bits, kind) in NUMBERS.items() if kind != "float"
}


def _hint(name: str) -> str:
    """An addition to messages that is the same with every operator, with {} around the names of values."""
    parts = registry_data()["hints"][name]
    return "".join(part if isinstance(part, str) else f"{{{part[1]}}}" for part in parts)


# What is said of an axis below 0, of a tensor with too few dimensions, and of one with sizes of 1 instead of
# others.
NEGATIVE_HINT, RANK_HINT, BROADCAST_HINT = map(_hint, ("negative", "rank", "broadcast"))

SAME_FIELD: str = registry_data()["same_field"]
"""The message if a field of a tensor differs from that of another one."""

# Structs of DirectML.h that descriptions are made of.
_USED = {member["type"] for one in operator_data().values() for member in one["members"]}
_USED |= {"BUFFER_TENSOR_DESC", "TENSOR_DESC", "OPERATOR_DESC"}
STRUCTS: dict[str, tuple[Member, ...]] = {
    one["c_name"]: members_of(one) for one in registry_data()["structs"] if one["name"] in _USED
}


def operator_name(name: str) -> str:
    """The registry's name of an operator, such as GATHER_ELEMENTS, for any spelling of it.

    Other spellings are DML_OPERATOR_GATHER_ELEMENTS, DML_GATHER_ELEMENTS_OPERATOR_DESC, GatherElements and
    "gather elements". Raises KeyError, which suggests the closest name, if there is none.
    """
    if name in OPERATORS:
        return name
    plain = re.sub(r"[\s-]+", "_", name.strip()).upper()
    plain = re.sub(r"^DML_OPERATOR_|^DML_(?=.*_OPERATOR_DESC$)|(?<=.)_OPERATOR_DESC$", "", plain)
    spellings = {known.replace("_", ""): known for known in OPERATORS}
    spellings |= {alias.replace("_", ""): known for alias, known in ALIASES.items()}
    found = spellings.get(plain.replace("_", ""))
    if found is None:
        raise KeyError(f"there is no operator {shown(name)}{nearest(plain, OPERATORS)}")
    return found


def operator(name: str) -> type[Description]:
    """The class of an operator, by its name in any spelling. Raises KeyError for unknown names."""
    name = operator_name(name)
    module = import_module(f".operators.{name.lower()}", __package__)
    described: type[Description] = getattr(module, OPERATORS[name].python)
    return described


# Queries. Levels can be given by name. Unknown levels raise ValueError, unknown operators KeyError.


def operators(level: LevelLike) -> tuple[str, ...]:
    """The operators that a feature level supports."""
    level = feature_level(level)
    return tuple(name for name, one in OPERATORS.items() if one.since <= level)


def level_of_build(build: int) -> FeatureLevel | None:
    """The highest feature level that a Windows build, such as 22621, includes; None if it has no DirectML."""
    carried = [level for level, one in LEVELS.items() if one.in_box is not None and one.in_box.build <= build]
    return max(carried, default=None)


def rule(identifier: str) -> RuleText:
    """The requirement of a rule, its source and its levels; KeyError for an unknown identifier."""
    texts = rule_texts()
    if identifier not in texts:
        raise KeyError(f"there is no rule {shown(identifier)}{nearest(identifier, texts)}")
    return texts[identifier]


def support(name: str, level: LevelLike) -> Mapping[str, Support]:
    """The support of each tensor of an operator at a feature level; empty if the level lacks the operator."""
    return operator(name).SUPPORT.get(feature_level(level), {})


def since(name: str, tensor: str, data_type: TensorDataType | str) -> FeatureLevel | None:
    """The feature level at which an operator's tensor first supports a data type ("INT64"); None if it never
    does.

    Raises KeyError for a name that is not a tensor of the operator, or not a data type.
    """
    wanted = _data_type(data_type)
    tables = operator(name).SUPPORT
    known = next(iter(tables.values()))
    if tensor not in known:
        raise KeyError(f"{operator_name(name)} has no tensor {shown(tensor)}{nearest(tensor, known)}")
    return next((level for level, table in tables.items() if wanted in table[tensor].types), None)


def _data_type(given: TensorDataType | str) -> TensorDataType:
    if not isinstance(given, str):
        return given
    name = given.removeprefix(PREFIXES["TENSOR_DATA_TYPE"])
    if name not in TensorDataType.__members__:
        raise KeyError(f"there is no data type {shown(given)}{nearest(name, TensorDataType.__members__)}")
    return TensorDataType[name]


def changes(old: LevelLike, new: LevelLike) -> tuple[Change, ...]:
    """The differences between two feature levels, operator by operator; this loads all operators."""
    found = []
    for name in OPERATORS:
        before, after = support(name, old), support(name, new)
        rules_before, rules_after = _rules(name, old), _rules(name, new)
        change = Change(
            operator=name,
            is_new=not before and bool(after),
            added=_beyond(after, before),
            removed=_beyond(before, after),
            rules_added=tuple(rule for rule in rules_after if rule not in rules_before),
            rules_removed=tuple(rule for rule in rules_before if rule not in rules_after),
        )
        if change.added or change.removed or change.rules_added or change.rules_removed:
            found.append(change)
    return tuple(found)


def _rules(name: str, level: LevelLike) -> tuple[str, ...]:
    """The rules of an operator that apply at a level."""
    level, described = feature_level(level), operator(name)
    return tuple(
        rule.id
        for rule in described.RULES
        if max(rule.since or described.SINCE, described.SINCE) <= level < (rule.until or level + 1)
    )


def _beyond(table: Mapping[str, Support], other: Mapping[str, Support]) -> dict[str, Support]:
    """The entries that one table lists and the other does not, by tensor."""
    nothing = Support((), ())
    rest = {
        tensor: Support(
            tuple(rank for rank in row.ranks if rank not in other.get(tensor, nothing).ranks),
            tuple(one for one in row.types if one not in other.get(tensor, nothing).types),
        )
        for tensor, row in table.items()
    }
    return {tensor: row for tensor, row in rest.items() if row != nothing}
