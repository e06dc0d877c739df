"""Validation: the rules on every operator, and the order in which they and its own are checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

from .data import registry_data
from .description import Description
from .enums import ENUMS, FeatureLevel, LevelLike, TensorDataType, feature_level, name_of
from .facts import Tables
from .forms import ACTIVATION, faults
from .member import Member
from .registry import INTEGERS, NEGATIVE_HINT, RANK_HINT, STRUCTS, integer_range
from .tensor import TensorDesc
from .tensor_rules import advise, check_structure, check_values
from .value import READABLE, SOUND_INPUT, SOUND_OUTPUT, WRONG_TYPE, set_state
from .violation import Violation, filled

_INDEX, _LAST_INDEX = re.compile(r"\[\d+\]"), re.compile(r"\[\d+\]$")
_MOST_LISTED, _FIRST_LISTED = 8, 6  # as in dmlops.h
_FIELDS = frozenset(field.name for field in STRUCTS["DML_BUFFER_TENSOR_DESC"])
_TENSOR_READS = {rule["id"]: rule.get("reads", []) for rule in registry_data()["tensor"]["rules"]}


def validate(desc: Description, level: LevelLike) -> list[Violation]:
    """The rules that a description breaks at a feature level; ValueError if the level does not exist.

    The first stage that finds something is the last.
    """
    level = feature_level(level)
    if level < desc.SINCE:
        shown = {"operator": desc.OPERATOR, "since": desc.SINCE, "level": level}
        return [_violation("since", "Type", shown)]
    violations = [] if desc._state & READABLE else structure(desc, level)
    if violations:
        return violations
    given, support = tensors(desc), desc.support()
    dimension_counts(given, support, level, violations)
    desc.check_counts(level, violations)
    if not violations:
        desc.check_arrays(level, violations)
    if not violations:
        values(given, support, level, violations)
        desc.check_values(level, violations)
    if violations:
        return reliable(desc, violations)
    return fused(desc, level) if desc.FUSABLE else violations


def wrong_types(desc: Description) -> list[Violation]:
    """Members of the wrong type; no other rule can be checked then."""
    violations = []
    for fault in faults(desc):
        shown = {"member": fault.path, "value": fault.value, "choices": fault.expected}
        violations.append(_violation("type-of-member", fault.path, shown, fault.hint))
    return violations


def structure(desc: Description, level: FeatureLevel) -> list[Violation]:
    """Absent members, values that do not fit their type, and tensors that cannot be read.

    A description is immutable, so it remembers, for all levels, that none of this is wrong.
    """
    if desc._state & WRONG_TYPE:
        return wrong_types(desc)
    violations = list(_members(desc, desc.MEMBERS))
    activations = list(_activations(desc))
    for path, activation in activations:
        violations += _activation(desc, path, activation, level)
    for path, member, tensor in tensors(desc):
        if not tensor._state & _SOUND[member.role]:
            check_structure(tensor, path, member.role == "input", violations)
    if not violations and not activations:
        set_state(desc, desc._state | READABLE)
    return reliable(desc, violations)


_SOUND = {"input": SOUND_INPUT, "output": SOUND_OUTPUT}


def _members(desc: Description, members: Sequence[Member], path: str = "") -> Iterator[Violation]:
    """Members that are absent, do not fit their type, or have the wrong length; `path` is that of `desc`."""
    for member in members:
        if member.pointer and not member.optional and getattr(desc, member.name) is None:
            where = f"{path}{member.name}"
            yield _violation("required", where, {"member": where, "operator": desc.OPERATOR})
    for member in members:
        if getattr(desc, member.name) is not None:
            yield from _values_fit(desc, member, path)
    for member in members:
        if member.count:
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
    reported = []
    for violation in violations:
        rule, member = violation.rule, _LAST_INDEX.sub("", violation.member)
        reads = desc.READS.get(rule, ())
        if rule in _TENSOR_READS:
            reads = tuple(f"{member.rpartition('.')[0]}.{field}" for field in _TENSOR_READS[rule])
        if all(broken.get(path, {rule}) == {rule} for path in reads):
            for path in (member, _read_path(member)):
                broken.setdefault(path, set()).add(rule)
            reported.append(violation)
    return reported


def _read_path(member: str) -> str:
    """The path of a violation as rules read it: a tensor's field, or only the member; without indices."""
    owner, _, field = _INDEX.sub("", member).partition(".")
    return f"{owner}.{field}" if field in _FIELDS else owner


def dimension_counts(given: Given, support: Tables, level: FeatureLevel, violations: list[Violation]) -> None:
    """Dimension counts that the level's support table does not list."""
    table = support[level]
    refused: set[int] = set()  # one mistake often affects all tensors, and is reported once
    for path, member, tensor in given:
        value, choices = len(tensor.Sizes), table[member.name].ranks
        if value not in choices and value not in refused:
            refused.add(value)
            path = f"{path}.DimensionCount"
            shown = {"member": path, "value": value, "level": level, "choices": ranks_text(choices)}
            accepted = {one: rows[member.name].ranks for one, rows in support.items()}
            violations.append(_unsupported("dimension-count", shown, accepted))


def values(given: Given, support: Tables, level: FeatureLevel, violations: list[Violation]) -> None:
    """Data types that the level's support table does not list, and the rules on the values in tensors.

    A tensor is immutable, so it remembers that it breaks no rule on tensors, as an input or as an output.
    """
    table = support[level]
    for path, member, tensor in given:
        value, types = tensor.DataType, table[member.name].types
        if value not in types:
            choices = _listed([one.name for one in types])
            shown = {"member": f"{path}.DataType", "value": value, "level": level, "choices": choices}
            accepted = {one: rows[member.name].types for one, rows in support.items()}
            violations.append(_unsupported("data-type", shown, accepted))
        sound = _SOUND[member.role]
        if not tensor._state & sound:
            before = len(violations)
            check_values(tensor, path, member.role == "input", violations)
            if len(violations) == before:
                set_state(tensor, tensor._state | sound)


def fused(desc: Description, level: FeatureLevel) -> list[Violation]:
    """The rules that a fused activation itself breaks, in a description that is valid without it."""
    found: list[Violation] = []
    for path, activation in _activations(desc):
        violations: list[Violation] = []
        _applied(activation, desc).check_fused(level, violations)
        found += _inside(path, violations)
    return found


def _applied(activation: Any, desc: Description) -> Description:
    """A fused activation as a separate operator: all of its tensors are the first output of `desc`."""
    result = next(getattr(desc, member.name) for member in desc.MEMBERS if member.role == "output")
    names = [member.name for member in activation.MEMBERS if member.type == "tensor"]
    applied: Description = replace(activation, **dict.fromkeys(names, result))
    return applied


def own_advice(desc: Description, level: FeatureLevel) -> list[Violation]:
    """The advice on the tensors and the operator of a valid description, without its fused activations."""
    found: list[Violation] = []
    for path, member, tensor in tensors(desc):
        advise(tensor, path, member.role == "input", found)
    desc.advise(level, found)
    return found


def advice(desc: Description, level: LevelLike) -> list[Violation]:
    """The advice that a valid description draws: its own, then that of its fused activations."""
    level = feature_level(level)
    if desc.validate(level):
        return []
    found = reliable(desc, own_advice(desc, level))
    for path, activation in _activations(desc):
        violations: list[Violation] = []
        _applied(activation, desc).advise_fused(level, violations)
        found += _inside(path, violations)
    return found


Given: TypeAlias = list[tuple[str, Member, TensorDesc]]


def tensors(desc: Description) -> Given:
    """The tensors that are given, with their paths, in struct order."""
    found: Given = []
    for member in desc.TENSORS:
        value = getattr(desc, member.name)
        if value is not None and not member.count:
            found.append((member.name, member, value))
        elif value is not None:
            found += ((f"{member.name}[{position}]", member, one) for position, one in enumerate(value))
    return found


def tensor_violations(tensor: TensorDesc, path: str, is_input: bool) -> list[Violation]:
    """The violations of a tensor on its own, whose members have the right types."""
    violations = _fields_fit(tensor, path)
    for check in () if violations else (check_structure, check_values):
        if not violations:
            check(tensor, path, is_input, violations)
    return violations


def holds(typed_by: TensorDesc | int | None, value: float) -> bool:
    """Whether a union's value fits the data type given by a tensor or a member."""
    bounds = _bounds(typed_by.DataType if isinstance(typed_by, TensorDesc) else typed_by)
    return bounds is None or (isinstance(value, int) and bounds[0] <= value <= bounds[1])


@cache
def _bounds(type_: int | None) -> tuple[int, int] | None:
    """The range of an integer data type; None for other types."""
    named = next((one for one in TensorDataType if one == type_ and one.kind in ("signed", "unsigned")), None)
    return None if named is None else integer_range(named.bits, named.kind)


def _entries(desc: Description, member: Member) -> Iterator[tuple[str, Any]]:
    """The target of a pointer: the entries of an array, or a single value, with their paths."""
    value = getattr(desc, member.name)
    if value is None:
        return
    if member.count:
        yield from ((f"{member.name}[{position}]", one) for position, one in enumerate(value))
    else:
        yield member.name, value


def _values_fit(desc: Description, member: Member, path: str) -> Iterator[Violation]:
    """Whether the numbers of a member that is given fit their type; `path` is that of `desc`."""
    value = getattr(desc, member.name)
    if member.type in INTEGERS:
        yield from _integer_range(member, path, value, NEGATIVE_HINT if member.name in desc.AXES else "")
    elif member.type == "tensor":
        for where, tensor in _entries(desc, member):
            if not tensor._state & _SOUND[member.role]:
                yield from _fields_fit(tensor, where)
    elif member.typed_by:
        typed_by = getattr(desc, member.typed_by)
        if not holds(typed_by, value):
            type_ = typed_by.DataType if isinstance(typed_by, TensorDesc) else typed_by
            least, most = _bounds(type_) or (0, 0)
            where = f"{path}{member.name}"
            shown = {"member": where, "value": value, "least": least, "most": most, "type": type_.name}
            yield _violation("scalar-range", where, shown)
    elif member.type in ENUMS:
        yield from _enum_value(member, f"{path}{member.name}", value)
    elif f"DML_{member.type}" in STRUCTS and member.type != ACTIVATION:
        for field in STRUCTS[f"DML_{member.type}"]:
            yield from _integer_range(field, f"{path}{member.name}.", getattr(value, field.name))


def _fields_fit(tensor: TensorDesc, path: str) -> list[Violation]:
    """Whether the numbers of a tensor fit their types."""
    found: list[Violation] = []
    for field in _NUMBERS:
        value = getattr(tensor, field.name)
        if value:  # 0 fits every type
            found += _integer_range(field, f"{path}.", value)
    return found


_NUMBERS = tuple(field for field in STRUCTS["DML_BUFFER_TENSOR_DESC"] if field.type in INTEGERS)


def _array_length(desc: Description, member: Member, path: str) -> Iterator[Violation]:
    value, counted_by = getattr(desc, member.name), member.count or ""
    count = getattr(desc, counted_by)
    if value is not None and len(value) != count:
        shown = {"member": path + member.name, "value": len(value), "count": count}
        found = _violation("array-length", path + member.name, {**shown, "choices": path + counted_by})
        yield replace(found, expected=count)


def _activations(desc: Description) -> Iterator[tuple[str, Description]]:
    for member in desc.MEMBERS:
        if member.type == ACTIVATION:
            yield from _entries(desc, member)


def _activation(
    desc: Description, path: str, activation: Description, level: FeatureLevel
) -> Iterator[Violation]:
    """Whether the operator and the level accept a fused activation, which has no tensors of its own."""
    since = desc.FUSABLE.get(activation.OPERATOR)
    if since is None:
        shown = {"member": path, "value": activation.OPERATOR, "operator": desc.OPERATOR}
        yield _violation("fused-activation", path, {**shown, "choices": _listed(list(desc.FUSABLE))})
        return
    if level < since:
        pair = f"{activation.OPERATOR} in {desc.OPERATOR}"
        levels = {"since": since, "level": level}
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


def _integer_range(member: Member, path: str, value: Any, if_negative: str = "") -> Sequence[Violation]:
    """The first number of a member that does not fit its integer type; `path` is that of its struct."""
    if member.type not in INTEGERS or value is None:
        return ()
    least, most = INTEGERS[member.type]
    numbers = value if member.count else (value,)
    if not numbers or (least <= min(numbers) and max(numbers) <= most):
        return ()
    position, number = next(one for one in enumerate(numbers) if not least <= one[1] <= most)
    where = f"{path}{member.name}[{position}]" if member.count else f"{path}{member.name}"
    shown = {"member": where, "value": number, "type": member.type, "least": least, "most": most}
    return (_violation("integer-range", where, shown, if_negative if number < 0 else ""),)


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
    rest = RANK_HINT if too_few else ""
    found = filled(f"DML-OPERATOR-{rule}", {**shown, "needed": needed}, rest, with_hint=needed is not None)
    if rule == "data-type":
        return replace(found, expected=tuple(name_of(TensorDataType, one) for one in accepted[level]))
    return replace(found, expected=tuple(accepted[level]))


def _violation(rule: str, member: str, shown: dict[str, Any], rest: str = "") -> Violation:
    """The violation of a general rule, with the values that its message shows and a text after it."""
    return filled(f"DML-OPERATOR-{rule}", {"member": member, **shown}, rest)


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
