"""The facts on an operator in registry.json, in the types that its class has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from .data import operator_data, registry_data
from .enums import FeatureLevel, TensorDataType, feature_level

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Support:
    """The support of a tensor at a feature level: dimension counts and data types."""

    ranks: tuple[int, ...]
    types: tuple[TensorDataType, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of an operator, which applies from `since` (None: always) up to, but not including, `until`.

    `source` says where it comes from: "docs" the documentation, "header" DirectML.h, "observed" DirectML's
    observed behavior, "ours" a decision of this registry. `advice` is never a violation. `reads` are the
    members and fields that it reads, if it checks any.
    """

    id: str
    source: str
    since: FeatureLevel | None = None
    until: FeatureLevel | None = None
    advice: bool = False
    reads: tuple[str, ...] = ()


Tables: TypeAlias = Mapping[FeatureLevel, Mapping[str, Support]]
Rows: TypeAlias = tuple[tuple[int, Support], ...]  # each with the index of its condition; -1 for always
Cases: TypeAlias = Mapping[FeatureLevel, Mapping[str, Rows]]


def rules_of(operator: Json) -> tuple[Rule, ...]:
    """The rules of an operator, in the order of its spec."""
    return tuple(
        Rule(
            rule["id"],
            rule["source"],
            since=None if rule["since"] == operator["since"] else feature_level(rule["since"]),
            until=feature_level(rule["until"]) if "until" in rule else None,
            advice=rule["stage"] == "advice",
            reads=tuple(rule.get("reads", ())),
        )
        for rule in operator.get("rules", ())
    )


def support_of(operator: Json) -> tuple[Tables, Cases]:
    """The support of each tensor at each level in any case, and the rows by condition, if there are any.

    Conditions count in the order in which they first appear, as in `Description.case`.
    """
    conditions: list[Any] = [None]
    tables: dict[FeatureLevel, Mapping[str, Support]] = {}
    cases: dict[FeatureLevel, Mapping[str, Rows]] = {}
    for table in operator["support"]:
        rows: dict[str, Rows] = {one["name"]: () for one in operator["members"] if one["type"] == "tensor"}
        for one in table["tensors"]:
            when = one.get("when")
            if when not in conditions:
                conditions.append(when)
            row = conditions.index(when) - 1, _supported()[one["row"]]
            rows[one["tensor"]] = (*rows[one["tensor"]], row)
        in_any_case = {name: together(row for _, row in of) for name, of in rows.items()}
        for level in map(feature_level, table["levels"]):
            tables[level], cases[level] = in_any_case, rows
    return tables, cases if len(conditions) > 1 else {}


@cache
def _supported() -> tuple[Support, ...]:
    """The distinct rows of support tables, to which tables refer by position."""
    return tuple(
        Support(tuple(row["ranks"]), tuple(TensorDataType[name] for name in row["types"]))
        for row in registry_data()["supported"]
    )


def together(rows: Iterable[Support]) -> Support:
    """The ranks and the data types that at least one of the rows lists."""
    rows = tuple(rows)
    ranks = dict.fromkeys(rank for row in rows for rank in row.ranks)
    return Support(tuple(ranks), tuple(dict.fromkeys(one for row in rows for one in row.types)))


def fusable_into(operator: Json) -> dict[str, FeatureLevel]:
    """The operators that can be the activation of an operator, each with the first level."""
    if not any(member["type"] == "OPERATOR_DESC" for member in operator["members"]):
        return {}
    levels = {
        name: one["fusible_into"].get(operator["name"], one["fusible_into"].get("any"))
        for name, one in operator_data().items()
        if "fusible_into" in one
    }
    return {name: feature_level(level) for name, level in levels.items() if level is not None}


def turning_points(operator: Json) -> tuple[FeatureLevel, ...]:
    """The levels at which a table or a rule changes, also a rule on an activation."""
    fusable = fusable_into(operator)
    rules = [rule for name in (operator["name"], *fusable) for rule in rules_of(operator_data()[name])]
    levels = {feature_level(table["levels"][0]) for table in operator["support"]} | {*fusable.values()}
    levels |= {bound for rule in rules if not rule.advice for bound in (rule.since, rule.until) if bound}
    return tuple(sorted(level for level in levels if level >= feature_level(operator["since"])))
