"""What the registry knows of levels and operators: as JSON values, and as tables for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import registry
from .enums import NEWEST, FeatureLevel
from .judgement import ranks_text


def levels() -> list[dict[str, Any]]:
    """The feature levels, each with the first DirectML version and Windows release that have it."""
    return [
        {
            "level": str(level),
            "directml": one.directml,
            "build": one.in_box and one.in_box.build,
            "windows": one.in_box and one.in_box.name,
            "source": one.in_box and one.in_box.source,
        }
        for level, one in registry.LEVELS.items()
    ]


def support(name: str, level: FeatureLevel) -> list[dict[str, Any]]:
    """What each tensor of an operator may be at a feature level; KeyError for an unknown operator."""
    return [
        {
            "tensor": tensor,
            "dimension_counts": sorted(row.ranks),
            "data_types": [type_.name for type_ in row.types],
        }
        for tensor, row in registry.support(name, level).items()
    ]


def operator(name: str) -> dict[str, Any]:
    """An operator: members, rules, support at the newest level; KeyError for an unknown one."""
    described = registry.operator(name)
    return {
        "operator": described.OPERATOR,
        "summary": (described.__doc__ or "").partition("\n")[0],
        "since": str(described.SINCE),
        "members": [
            {
                "name": member.name,
                "type": member.type,
                "role": member.role,
                "optional": member.optional,
                "count": member.count,
            }
            for member in described.MEMBERS
        ],
        "rules": [
            {
                "rule": rule.id,
                "text": registry.rule(rule.id).text,
                "source": rule.source,
                "advice": rule.advice,
                "since": rule.since and str(rule.since),
                "until": rule.until and str(rule.until),
            }
            for rule in described.RULES
        ],
        "support": {"level": str(NEWEST), "tensors": support(name, NEWEST)},
    }


def levels_text() -> str:
    """The feature levels as a table."""
    rows = [
        (
            one["level"],
            one["directml"],
            "-" if one["build"] is None else str(one["build"]),
            "-" if one["windows"] is None else f"{one['windows']} ({one['source']})",
        )
        for one in levels()
    ]
    return "\n".join(_table(("Level", "DirectML", "Build", "First Windows release (source)"), rows))


def support_text(name: str, level: FeatureLevel) -> str:
    """The support of an operator at a feature level as a table."""
    name = registry.operator_name(name)
    rows = support(name, level)
    if not rows:
        return f"{name} is not part of feature level {level}; it needs {registry.OPERATORS[name].since}."
    return "\n".join([f"{name} at feature level {level}", "", *_support_table(rows)])


def operator_text(name: str) -> str:
    """An operator for a person."""
    one = operator(name)
    members = [(member["name"], _kind(member)) for member in one["members"]]
    lines = [f"{one['operator']}, from feature level {one['since']} on", one["summary"], "", "Members"]
    lines += [f"  {line}" for line in _table((), members)]
    for title, advice in (("Rules", False), ("Advice, which never makes a description invalid", True)):
        rules = [rule for rule in one["rules"] if rule["advice"] is advice]
        lines += ["", title] if rules else []
        for rule in rules:
            lines += [f"  {rule['rule']}{_when(rule)}", f"      {rule['text']}"]
    lines += ["", f"Support at feature level {one['support']['level']}"]
    lines += [f"  {line}" for line in _support_table(one["support"]["tensors"])]
    return "\n".join(lines)


def _kind(member: dict[str, Any]) -> str:
    kind = f"{member['role']} tensor" if member["type"] == "tensor" else member["type"]
    entries = f", an array of {member['count']} entries" if member["count"] else ""
    return f"{kind}{entries}{', optional' if member['optional'] else ''}"


def _when(rule: dict[str, Any]) -> str:
    """The levels of a rule that does not hold at all of them."""
    since = f", from feature level {rule['since']} on" if rule["since"] else ""
    return f"{since}, below feature level {rule['until']}" if rule["until"] else since


def _support_table(tensors: Iterable[dict[str, Any]]) -> Iterator[str]:
    rows = [
        (one["tensor"], ranks_text(one["dimension_counts"]), " ".join(one["data_types"])) for one in tensors
    ]
    return _table(("Tensor", "Dimensions", "Data types"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines with columns that are as wide as their longest cell."""
    lines = [*([head] if head else []), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
