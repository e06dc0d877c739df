"""Facts of the registry about levels and operators, as JSON values and as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from . import counterparts, registry
from .data import operator_data
from .enums import NEWEST, FeatureLevel
from .facts import Support
from .terminal import PLAIN, Style, table
from .validation import ranks_text


def levels() -> list[dict[str, Any]]:
    """The feature levels, each with the first DirectML version and Windows release that have it."""
    return [level(one) for one in FeatureLevel]


def level(which: FeatureLevel) -> dict[str, Any]:
    """A feature level, with the first DirectML version and Windows release that have it."""
    known = registry.LEVELS[which]
    return {
        "level": str(which),
        "directml": known.directml,
        "build": known.in_box and known.in_box.build,
        "windows": known.in_box and known.in_box.name,
        "source": known.in_box and known.in_box.source,
    }


def rule(identifier: str) -> dict[str, Any]:
    """A rule: what it requires, its source, and its levels; KeyError for an unknown identifier."""
    known = registry.rule(identifier)
    return {
        "rule": known.id,
        "operator": known.operator,
        "text": known.text,
        "formulas": list(known.formulas),
        "where": list(known.where),
        "source": known.source,
        "page": known.page,
        "since": str(known.since),
        "until": known.until and str(known.until),
    }


def changes(old: FeatureLevel, new: FeatureLevel) -> list[dict[str, Any]]:
    """The differences between two feature levels, operator by operator."""
    return [
        {
            "operator": change.operator,
            "is_new": change.is_new,
            "added": _rows(change.added),
            "removed": _rows(change.removed),
            "rules_added": list(change.rules_added),
            "rules_removed": list(change.rules_removed),
        }
        for change in registry.changes(old, new)
    ]


def support(name: str, level: FeatureLevel) -> list[dict[str, Any]]:
    """The support of each tensor of an operator at a feature level; KeyError for an unknown operator."""
    return _rows(registry.support(name, level))


_INTERFACES = {("onnx", ""): "ONNX", ("onnx", "com.microsoft"): "ONNX Runtime", ("webnn", ""): "WebNN"}


def resolved(name: str) -> tuple[str, list[str]]:
    """The operator of a name; if another interface has the name, or longer ones, the first operator that
    computes it, and a line on each such operation. KeyError for an unknown name.
    """
    try:
        return registry.operator_name(name), []
    except KeyError:
        found = [one for one in counterparts.named(name) if one.operators]
        if not found:
            raise
    lines = [
        f"{_INTERFACES.get((one.interface, one.domain), one.domain)} {one.name}: {', '.join(one.operators)}"
        for one in found
    ]
    return found[0].operators[0], lines


def data_requirement(identifier: str) -> dict[str, Any] | None:
    """The demand of an identifier on a tensor's elements, which no validator sees; None if it is a rule's."""
    for name, one in operator_data().items():
        for required in one.get("data_constraints", ()):
            if identifier == f"DML-{name}-{required['id']}":
                return {"operator": name, **required}
    return None


def operator(name: str) -> dict[str, Any]:
    """An operator: members, rules, support at the newest level; KeyError for an unknown one."""
    described = registry.operator(name)
    data = operator_data()[described.OPERATOR]
    meanings = {member["name"]: member.get("summary", "") for member in data["members"]}
    return {
        "operator": described.OPERATOR,
        "summary": data["summary"],
        "since": str(described.SINCE),
        "members": [
            {
                "name": member.name,
                "type": member.type,
                "role": member.role,
                "optional": member.optional,
                "count": member.count,
                "default": member.default,
                "summary": meanings[member.name],
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
        "requires": data.get("requires", []),
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
    return "\n".join(table([("Level", "DirectML", "Build", "First Windows release (source)"), *rows]))


def support_text(name: str, level: FeatureLevel) -> str:
    """The support of an operator at a feature level as a table."""
    name = registry.operator_name(name)
    rows = support(name, level)
    if not rows:
        return f"{name} is not part of feature level {level}; it needs {registry.OPERATORS[name].since}."
    return "\n".join([f"{name} at feature level {level}", "", *_support_table(rows)])


def changes_text(old: FeatureLevel, new: FeatureLevel, style: Style = PLAIN) -> str:
    """The differences between two feature levels: operators, types and ranks by tensor, rules."""
    found = changes(old, new)
    lines = [f"From feature level {old} to {new}"]
    for is_new, title in ((True, "New operators"), (False, "Changed operators")):
        chosen = [one for one in found if one["is_new"] is is_new]
        lines += ["", style.strong(f"{title}: {len(chosen)}")]
        for one in chosen:
            lines += [f"  {style.strong(one['operator'])}", *_change_lines(one, style)]
    return "\n".join(lines)


def operator_text(name: str, style: Style = PLAIN) -> str:
    """An operator, as text."""
    one = operator(name)
    members = [(member["name"], _kind(member), member["summary"]) for member in one["members"]]
    title = f"{style.strong(one['operator'])}, from feature level {one['since']} on"
    lines = [title, one["summary"], "", style.strong("Members")]
    lines += [f"  {line}" for line in table(members)]
    for title, advice in (("Rules", False), ("Advice, which never makes a description invalid", True)):
        rules = [rule for rule in one["rules"] if rule["advice"] is advice]
        lines += ["", style.strong(title)] if rules else []
        for rule in rules:
            lines += [f"  {rule['rule']}{style.faint(_when(rule))}", f"      {rule['text']}"]
    lines += ["", style.strong(f"Support at feature level {one['support']['level']}")]
    lines += [f"  {line}" for line in _support_table(one["support"]["tensors"])]
    lines += ["", style.strong("What its shader requires of a Direct3D 12 device")]
    required = [("Int64ShaderOps", "all data types"), *map(_requirement, one["requires"])]
    lines += [f"  {line}" for line in table(required)]
    return "\n".join(lines)


def schema_text(of: str = "schema") -> str:
    """The JSON Schema of descriptions; "graph_schema" is that of graphs."""
    return (files(__package__) / f"{of}.json").read_text(encoding="utf-8")


def _requirement(one: dict[str, Any]) -> tuple[str, str]:
    tensor = f"{one['tensor']} of " if "tensor" in one else ""
    member = f" with {one['member']}" if "member" in one else ""
    return one["option"], f"{tensor}{' '.join(one['types'])}{member}"


def _kind(member: dict[str, Any]) -> str:
    kind = f"{member['role']} tensor" if member["type"] == "tensor" else member["type"]
    entries = f", an array of {member['count']} entries" if member["count"] else ""
    return f"{kind}{entries}{', optional' if member['optional'] else ''}"


def _when(rule: dict[str, Any]) -> str:
    """The levels of a rule that does not apply to all of them."""
    since = f", from feature level {rule['since']} on" if rule["since"] else ""
    return f"{since}, below feature level {rule['until']}" if rule["until"] else since


def _change_lines(change: dict[str, Any], style: Style) -> Iterator[str]:
    for sign, tensors in (("+", change["added"]), ("-", change["removed"])):
        for line in table([_row(one) for one in tensors]):
            yield _signed(sign, line, style)
    for sign, rules in (("+", change["rules_added"]), ("-", change["rules_removed"])):
        for identifier in rules:
            yield _signed(sign, identifier, style)


def _signed(sign: str, line: str, style: Style) -> str:
    text = f"    {sign} {line}"
    return style.good(text) if sign == "+" else style.bad(text)


def _rows(table: Mapping[str, Support]) -> list[dict[str, Any]]:
    return [
        {
            "tensor": tensor,
            "dimension_counts": sorted(row.ranks),
            "data_types": [type_.name for type_ in row.types],
        }
        for tensor, row in table.items()
    ]


def _row(tensor: dict[str, Any]) -> tuple[str, str, str]:
    """A row of a table; "-" for empty cells."""
    ranks = ranks_text(tensor["dimension_counts"]) if tensor["dimension_counts"] else "-"
    return tensor["tensor"], ranks, " ".join(tensor["data_types"]) or "-"


def _support_table(tensors: Iterable[dict[str, Any]]) -> Iterator[str]:
    return table([("Tensor", "Dimensions", "Data types"), *map(_row, tensors)])
