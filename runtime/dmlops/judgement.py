"""The rules that apply to every operator, checked against its tables and members.

Operators test a description quickly and come here only if something is wrong, to find out what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from .description import Description, Tables
from .enums import ENUMS, FeatureLevel, LevelLike, TensorDataType, feature_level, name_of
from .forms import ACTIVATION, faults
from .member import Member
from .registry import GENERAL_RULES, INTEGERS, NEGATIVE_HINT, RANK_HINT, STRUCTS
from .tensor import TensorDesc
from .tensor_rules import READS, check_structure, check_values
from .violation import Violation, filled

Accepted = dict[LevelLike, tuple[frozenset[int], ...]]

_INDEX, _LAST_INDEX = re.compile(r"\[\d+\]"), re.compile(r"\[\d+\]$")
_MOST_LISTED, _FIRST_LISTED = 8, 6  # as in dmlops.h
_FIELDS = frozenset(field.name for field in STRUCTS["DML_BUFFER_TENSOR_DESC"])


def accepted_by_level(support: Tables) -> Accepted:
    """For each level, and for its name: the dimension counts and data types of every tensor in turn."""
    accepted: Accepted = {}
    for level, table in support.items():
        sets = [frozenset(one) for row in table.values() for one in (row.ranks, row.types)]
        accepted[level] = accepted[str(level)] = tuple(sets)
    return accepted


def accepted_in_case(desc: Description) -> Accepted:
    """The same, if it depends on the description's members."""
    key = desc.OPERATOR, () if desc._state else desc.case()
    if key not in _accepted:
        _accepted[key] = accepted_by_level(desc.support())
    return _accepted[key]


_accepted: dict[tuple[str, tuple[bool, ...]], Accepted] = {}


def before(desc: Description, level: LevelLike) -> list[Violation]:
    """The violation for a level before the operator's first; ValueError if the level does not exist.

    A level given as a number with a point is judged by its name.
    """
    known = feature_level(level)
    if known >= desc.SINCE:
        return desc.validate(known)
    values = {"operator": desc.OPERATOR, "since": desc.SINCE, "level": known}
    return [_violation("since", "Type", values)]


def wrong_types(desc: Description) -> list[Violation]:
    """Members of the wrong type; no other rule can be checked then."""
    violations = []
    for fault in faults(desc):
        shown = {"member": fault.path, "value": fault.value, "choices": fault.expected}
        violations.append(_violation("type-of-member", fault.path, shown, fault.hint))
    return violations


def structure(desc: Description, level: LevelLike) -> list[Violation]:
    """Absent members, values that do not fit their type, and tensors that cannot be read."""
    if desc._state:
        return wrong_types(desc)
    violations = list(_members(desc, desc.MEMBERS))
    for path, activation in _activations(desc):
        violations += _activation(desc, path, activation, level)
    for path, member, tensor in tensors(desc):
        check_structure(tensor, path, member.role == "input", violations)
    return reliable(desc, violations)


def _members(desc: Description, members: Sequence[Member], path: str = "") -> Iterator[Violation]:
    """Members that are absent, do not fit their type, or have the wrong length; `path` is that of `desc`."""
    for member in members:
        if member.pointer and not member.optional and getattr(desc, member.name) is None:
            where = f"{path}{member.name}"
            yield _violation("required", where, {"member": where, "operator": desc.OPERATOR})
    for member in members:
        yield from _values_fit(desc, member, f"{path}{member.name}")
    for member in members:
        yield from _array_length(desc, member, path)


def why_invalid(inferred: Description) -> list[Violation]:
    """The rules that a description breaks at the newest level, if its outputs are inferred from the rest.

    Problems of outputs are reported only if nothing else is wrong, since they follow from the rest. Sizes
    that no tensor can have would hide the mistake that causes them, so others take their place.
    """
    outputs = {
        member.name: getattr(inferred, member.name) for member in inferred.MEMBERS if member.role == "output"
    }
    stand_ins: Any = {
        name: TensorDesc(tensor.DataType, (1,) * max(1, len(tensor.Sizes)))
        for name, tensor in outputs.items()
        if type(tensor) is TensorDesc and not _possible(tensor)
    }
    dataclass: Any = inferred  # like all descriptions
    causes = replace(dataclass, **stand_ins).validate()
    elsewhere = [one for one in causes if _INDEX.sub("", one.member).partition(".")[0] not in outputs]
    return elsewhere or (inferred.validate() if stand_ins else causes)


def _possible(tensor: TensorDesc) -> bool:
    """Whether tensors can have these sizes."""
    least, most = INTEGERS["UINT"]
    return bool(tensor.Sizes) and max(least, 1) <= min(tensor.Sizes) and max(tensor.Sizes) <= most


def reliable(desc: Description, violations: list[Violation]) -> list[Violation]:
    """Drops violations of rules that read what an earlier rule has found to be wrong."""
    if len(violations) < 2:
        return violations
    broken: dict[str, set[str]] = {}  # the rules that found a path wrong
    told = []
    for violation in violations:
        rule, member = violation.rule, _LAST_INDEX.sub("", violation.member)
        reads = desc.READS.get(rule, "").split()
        if rule in READS:
            reads = [f"{member.rpartition('.')[0]}.{field}" for field in READS[rule].split()]
        if all(broken.get(path, {rule}) == {rule} for path in reads):
            for path in (member, _read_path(member)):
                broken.setdefault(path, set()).add(rule)
            told.append(violation)
    return told


def _read_path(member: str) -> str:
    """The path of a violation as rules read it: a tensor's field, or only the member; without indices."""
    owner, _, field = _INDEX.sub("", member).partition(".")
    return f"{owner}.{field}" if field in _FIELDS else owner


def dimension_counts(desc: Description, level: LevelLike, violations: list[Violation]) -> None:
    """Dimension counts that the level's support table does not list."""
    level, support = feature_level(level), desc.support()
    refused: set[int] = set()  # one mistake often affects all tensors, and is reported once
    for path, member, tensor in tensors(desc):
        accepted = {one: table[member.name].ranks for one, table in support.items()}
        value = tensor.DimensionCount
        if value not in accepted[level] and value not in refused:
            refused.add(value)
            path = f"{path}.DimensionCount"
            shown = {"member": path, "value": value, "level": level, "choices": ranks_text(accepted[level])}
            violations.append(_unsupported("dimension-count", shown, accepted))


def values(desc: Description, level: LevelLike, violations: list[Violation]) -> None:
    """Data types that the level's support table does not list, and the rules on the values in tensors."""
    level, support = feature_level(level), desc.support()
    for path, member, tensor in tensors(desc):
        accepted = {one: table[member.name].types for one, table in support.items()}
        if tensor.DataType not in accepted[level]:
            choices = _listed([one.name for one in accepted[level]])
            shown = {
                "member": f"{path}.DataType",
                "value": tensor.DataType,
                "level": level,
                "choices": choices,
            }
            violations.append(_unsupported("data-type", shown, accepted))
        check_values(tensor, path, member.role == "input", violations)


def fused(desc: Description, level: LevelLike) -> list[Violation]:
    """The rules of its own that a fused activation breaks, in a description that is valid without it."""
    return [
        violation
        for path, activation in _activations(desc)
        for violation in _inside(path, _applied(activation, desc).fused_violations(level))
    ]


def _applied(activation: Any, desc: Description) -> Description:
    """A fused activation as an operator of its own: all of its tensors are the first output of `desc`."""
    result = next(getattr(desc, member.name) for member in desc.MEMBERS if member.role == "output")
    names = [member.name for member in activation.MEMBERS if member.type == "tensor"]
    applied: Description = replace(activation, **dict.fromkeys(names, result))
    return applied


def advice(desc: Description, level: LevelLike) -> list[Violation]:
    """The advice that a valid description draws: its own, then that of its fused activations."""
    if desc.validate(level):
        return []
    found = reliable(desc, desc.own_advice(level))
    for path, activation in _activations(desc):
        found += _inside(path, _applied(activation, desc).fused_advice(level))
    return found


def tensors(desc: Description) -> Iterator[tuple[str, Member, TensorDesc]]:
    """The tensors that are given, with their paths, in struct order."""
    for member in desc.MEMBERS:
        if member.type == "tensor":
            for path, tensor in _entries(desc, member):
                yield path, member, tensor


def holds(typed_by: TensorDesc | int | None, value: float) -> bool:
    """Whether a union's value fits the data type given by a tensor or a member."""
    bounds = _bounds(typed_by.DataType if isinstance(typed_by, TensorDesc) else typed_by)
    return bounds is None or (isinstance(value, int) and bounds[0] <= value <= bounds[1])


@cache
def _bounds(type_: int | None) -> tuple[int, int] | None:
    """The range of an integer data type; None for other types."""
    named = next((one for one in TensorDataType if one == type_ and one.kind in ("signed", "unsigned")), None)
    if named is None:
        return None
    half = 1 << (named.bits - 1)
    return (-half, half - 1) if named.kind == "signed" else (0, 2 * half - 1)


def _entries(desc: Description, member: Member) -> Iterator[tuple[str, Any]]:
    """What a pointer refers to: the entries of an array, or a single value, with their paths."""
    value = getattr(desc, member.name)
    if value is None:
        return
    if member.count:
        yield from ((f"{member.name}[{position}]", one) for position, one in enumerate(value))
    else:
        yield member.name, value


def _values_fit(desc: Description, member: Member, path: str) -> Iterator[Violation]:
    """Whether a member's numbers fit their type."""
    value = getattr(desc, member.name)
    if value is None:
        return
    if member.type == "tensor":
        for where, tensor in _entries(desc, member):
            for field in STRUCTS["DML_BUFFER_TENSOR_DESC"]:
                yield from _integer_range(field, f"{where}.{field.name}", getattr(tensor, field.name))
    elif member.typed_by:
        typed_by = getattr(desc, member.typed_by)
        if not holds(typed_by, value):
            type_ = typed_by.DataType if isinstance(typed_by, TensorDesc) else typed_by
            least, most = _bounds(type_) or (0, 0)
            shown = {"member": path, "value": value, "least": least, "most": most, "type": type_.name}
            yield _violation("scalar-range", path, shown)
    elif member.type in ENUMS:
        yield from _enum_value(member, path, value)
    elif f"DML_{member.type}" in STRUCTS and member.type != ACTIVATION:
        for field in STRUCTS[f"DML_{member.type}"]:
            yield from _integer_range(field, f"{path}.{field.name}", getattr(value, field.name))
    else:
        yield from _integer_range(member, path, value, NEGATIVE_HINT if member.name in desc.AXES else "")


def _array_length(desc: Description, member: Member, path: str) -> Iterator[Violation]:
    value = getattr(desc, member.name)
    if member.count and value is not None and len(value) != getattr(desc, member.count):
        count = getattr(desc, member.count)
        shown = {"member": path + member.name, "value": len(value), "count": count}
        found = _violation("array-length", path + member.name, {**shown, "choices": path + member.count})
        yield replace(found, expected=count)


def _activations(desc: Description) -> Iterator[tuple[str, Description]]:
    for member in desc.MEMBERS:
        if member.type == ACTIVATION:
            yield from _entries(desc, member)


def _activation(
    desc: Description, path: str, activation: Description, level: LevelLike
) -> Iterator[Violation]:
    """Whether the operator and the level accept a fused activation, which has no tensors of its own."""
    since = desc.FUSABLE.get(activation.OPERATOR)
    if since is None:
        shown = {"member": path, "value": activation.OPERATOR, "operator": desc.OPERATOR}
        yield _violation("fused-activation", path, {**shown, "choices": _listed(list(desc.FUSABLE))})
        return
    if feature_level(level) < since:
        pair = f"{activation.OPERATOR} in {desc.OPERATOR}"
        levels = {"since": since, "level": feature_level(level)}
        yield _violation("since", f"{path}.Type", {"operator": pair, **levels})
        return
    for given, _, _ in tensors(activation):
        where = f"{path}.{given}"
        yield _violation("fused-activation-tensors", where, {"member": where})
    attributes = [member for member in activation.MEMBERS if member.type != "tensor"]
    yield from _members(activation, attributes, f"{path}.")


def _inside(path: str, violations: Iterable[Violation]) -> Iterator[Violation]:
    """The violations of a fused activation, as violations of the description that contains it."""
    return (replace(one, member=f"{path}.{one.member}") for one in violations)


def _integer_range(member: Member, path: str, value: Any, if_negative: str = "") -> Iterator[Violation]:
    if member.type not in INTEGERS or value is None:
        return
    least, most = INTEGERS[member.type]
    for position, number in enumerate(value) if member.count else [(None, value)]:
        if not least <= number <= most:
            where = path if position is None else f"{path}[{position}]"
            shown = {"member": where, "value": number, "type": member.type, "least": least, "most": most}
            yield _violation("integer-range", where, shown, if_negative if number < 0 else "")
            return


def _enum_value(member: Member, path: str, value: int) -> Iterator[Violation]:
    if value not in ENUMS[member.type].__members__.values():
        shown = {"member": path, "value": value, "type": f"DML_{member.type}"}
        yield _violation("enum-value", path, shown)


def _unsupported(
    rule: str, shown: dict[str, Any], accepted: Mapping[FeatureLevel, Sequence[int]]
) -> Violation:
    """A value that the level's table does not list, with the lowest higher level that does, if any."""
    value, level = shown["value"], shown["level"]
    needed = next((one for one, choices in accepted.items() if one > level and value in choices), None)
    too_few = needed is None and rule == "dimension-count" and all(value < one for one in accepted[level])
    if rule == "data-type":
        shown = {**shown, "value": name_of(TensorDataType, value)}
    text = GENERAL_RULES[rule]
    hint = RANK_HINT if too_few else ""
    pieces = text.message + text.hint if needed is not None else text.message
    found = filled(text.id, pieces, {**shown, "needed": needed}, hint)
    if rule == "data-type":
        return replace(found, expected=tuple(name_of(TensorDataType, one) for one in accepted[level]))
    return replace(found, expected=tuple(accepted[level]))


def _violation(rule: str, member: str, shown: dict[str, Any], rest: str = "") -> Violation:
    """The violation of a general rule, with the values that its message shows and a text after it."""
    text = GENERAL_RULES[rule]
    return filled(text.id, text.message, {"member": member, **shown}, rest)


def ranks_text(ranks: Iterable[int]) -> str:
    """Dimension counts in words, with runs of three or more as "1 to 8"."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    texts: list[str] = []
    for run in runs:
        texts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(rank) for rank in run]
    return _listed(texts)


def _listed(names: Sequence[str]) -> str:
    """Names as text; of a long list the first ones, and how many there are beyond them."""
    if len(names) > _MOST_LISTED:
        names = [*names[:_FIRST_LISTED], f"{len(names) - _FIRST_LISTED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names) or "none"
