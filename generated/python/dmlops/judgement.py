"""The rules that hold for every operator, judged by what is known of it.

Operators test a description quickly and come here only when something is wrong, to learn what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .arithmetic import decimal
from .description import Description, Tables
from .enums import ENUMS, FeatureLevel, TensorDataType, feature_level, name_of
from .member import Member
from .registry import GENERAL_RULES, INTEGERS, STRUCTS
from .tensor import TensorDesc
from .tensor_rules import check_structure, check_values
from .violation import Violation

Accepted = dict[FeatureLevel | str, tuple[frozenset[int], ...]]


def accepted_by_level(support: Tables) -> Accepted:
    """For each level, by itself and by name: the dimension counts and data types of every tensor in turn."""
    accepted: Accepted = {}
    for level, table in support.items():
        sets = [frozenset(one) for row in table.values() for one in (row.ranks, row.types)]
        accepted[level] = accepted[str(level)] = tuple(sets)
    return accepted


def before(desc: Description, level: FeatureLevel | str) -> list[Violation]:
    """The violation of asking for too low a level; ValueError if there is no such level."""
    values = {"operator": desc.OPERATOR, "since": desc.SINCE, "level": feature_level(level)}
    return [_violation("since", "Type", values)]


def structure(desc: Description) -> list[Violation]:
    """Members that are absent or hold what their type cannot, and tensors that cannot be read."""
    violations = [
        _violation("required", member.name, {"member": member.name, "operator": desc.OPERATOR})
        for member in desc.MEMBERS
        if member.pointer and not member.optional and getattr(desc, member.name) is None
    ]
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if isinstance(value, TensorDesc):
            for field in STRUCTS["DML_BUFFER_TENSOR_DESC"]:
                violations += _integer_range(field, f"{member.name}.{field.name}", getattr(value, field.name))
        else:
            violations += _integer_range(member, member.name, value)
    for member in desc.MEMBERS:
        if member.type in ENUMS:
            violations += _enum_value(member, getattr(desc, member.name))
    for member, tensor in tensors(desc):
        check_structure(tensor, member.name, member.role == "input", violations)
    return violations


def dimension_counts(desc: Description, level: FeatureLevel | str, violations: list[Violation]) -> None:
    """Dimension counts that the level's support table has not."""
    level = feature_level(level)
    for member, tensor in tensors(desc):
        accepted = {one: table[member.name].ranks for one, table in desc.SUPPORT.items()}
        value = tensor.DimensionCount
        if value not in accepted[level]:
            path = f"{member.name}.DimensionCount"
            shown = {"member": path, "value": value, "level": level, "choices": _ranks(accepted[level])}
            violations.append(_unsupported("dimension-count", shown, accepted))


def values(desc: Description, level: FeatureLevel | str, violations: list[Violation]) -> None:
    """Data types that the level's support table has not, and the rules on the values in tensors."""
    level = feature_level(level)
    for member, tensor in tensors(desc):
        accepted = {one: table[member.name].types for one, table in desc.SUPPORT.items()}
        if tensor.DataType not in accepted[level]:
            choices = _either([one.name for one in accepted[level]])
            path = f"{member.name}.DataType"
            shown = {"member": path, "value": tensor.DataType, "level": level, "choices": choices}
            violations.append(_unsupported("data-type", shown, accepted))
        check_values(tensor, member.name, member.role == "input", violations)


def tensors(desc: Description) -> Iterator[tuple[Member, TensorDesc]]:
    """The tensors that are given, in the order of the struct."""
    for member in desc.MEMBERS:
        if member.type == "tensor" and getattr(desc, member.name) is not None:
            yield member, getattr(desc, member.name)


def _integer_range(member: Member, path: str, value: Any) -> Iterator[Violation]:
    if member.type not in INTEGERS or value is None:
        return
    least, most = INTEGERS[member.type]
    for position, number in enumerate(value) if member.count else [(None, value)]:
        if not least <= number <= most:
            where = path if position is None else f"{path}[{position}]"
            shown = {"member": where, "value": decimal(number), "type": member.type}
            yield _violation("integer-range", where, {**shown, "least": least, "most": most})
            return


def _enum_value(member: Member, value: int) -> Iterator[Violation]:
    if value not in ENUMS[member.type].__members__.values():
        shown = {"member": member.name, "value": decimal(value), "type": f"DML_{member.type}"}
        yield _violation("enum-value", member.name, shown)


def _unsupported(
    rule: str, shown: dict[str, Any], accepted: Mapping[FeatureLevel, Sequence[int]]
) -> Violation:
    """A value that the level's table has not, with the lowest higher level that has it, if any."""
    value, level = shown["value"], shown["level"]
    needed = next((one for one, choices in accepted.items() if one > level and value in choices), None)
    if rule == "data-type":
        shown = {**shown, "value": name_of(TensorDataType, value)}
    return _violation(rule, shown["member"], {**shown, "needed": needed}, hint=needed is not None)


def _violation(rule: str, member: str, shown: dict[str, Any], hint: bool = False) -> Violation:
    text = GENERAL_RULES[rule]
    message = text.message + text.hint if hint else text.message
    return Violation(text.id, member, message.format_map(shown))


def _ranks(ranks: Iterable[int]) -> str:
    """Dimension counts, with runs of three or more as "1 to 8"."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    texts: list[str] = []
    for run in runs:
        texts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(rank) for rank in run]
    return _either(texts)


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
