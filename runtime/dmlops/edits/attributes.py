"""Other values of attributes: axes, counts, lists, choices, numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..enums import ENUMS
from ..forms import ACTIVATION
from ..member import Member
from ..paths import Path, Place, path_of, put, value_at
from ..registry import INTEGERS
from ..structs import STRUCT_CLASSES
from ..tensor import TensorDesc
from ..value import Value, plain
from ..violation import Violation
from .costs import COSTS
from .problem import (
    MOST_ENTRIES,
    UNUSUAL,
    Edit,
    Problem,
    attributes_of,
    gaps_of,
    holds,
    is_shape,
    numbers_near,
    resized,
    solutions,
    wrong,
)

_NEUTRAL = ((0, 1), (1.0, 0.0))  # what lists lack whose default is not known: integers, and factors
_SWITCHES = frozenset(name for name, enum in ENUMS.items() if len(enum) == 2 and "NONE" in enum.__members__)
_NEGATIVE = 1 << 31  # unsigned numbers from here on are converted negative ones


def match_counts(problem: Problem) -> Iterator[Edit]:
    """Counts that follow the arrays, and arrays of the length that a count or a rule asks for."""
    desc = problem.desc
    counts = {member.count for member in desc.MEMBERS if member.count and member.name in problem.members}
    counts |= {member.count for member in desc.MEMBERS if member.count in problem.members}
    for count in sorted(name for name in counts if name is not None):
        arrays = [one for one in desc.MEMBERS if one.count == count]
        given = {one.name: getattr(desc, one.name) for one in arrays}
        lists = {name: one for name, one in given.items() if type(one) is tuple}
        lengths = {len(one) for one in lists.values()}
        number = getattr(desc, count)
        if len(lengths) == 1 and lengths != {number}:
            yield Edit(COSTS["count"], (count,), {(count,): min(lengths)})
        wanted = [number, *lengths, *problem.pool, *problem.ranks, *(rank - 2 for rank in problem.ranks)]
        for length in dict.fromkeys(one for one in wanted if type(one) is int and 0 < one <= MOST_ENTRIES):
            short = [one for one in arrays if one.name in lists and len(lists[one.name]) != length]
            tensors = [one for one in short if one.type == "tensor"]
            if not short or tensors:
                continue
            choices = [_of_length(one, lists[one.name], length) for one in short]
            for way in range(max(map(len, choices)) if all(choices) else 0):
                values: dict[Path, Any] = {(count,): length}
                lost = 0
                for one, lengthened in zip(short, choices, strict=True):
                    gone, new = lengthened[min(way, len(lengthened) - 1)]
                    values[one.name,] = new
                    lost += gone
                path = (count,) if length != number else (short[0].name,)
                cost = COSTS["list"] + 0.1 * way + COSTS["lost"] * min(lost, 4) + 0.05 * (len(short) - 1)
                yield Edit(cost, path, values)


def _of_length(member: Member, given: tuple[Any, ...], length: int) -> list[tuple[int, tuple[Any, ...]]]:
    """A list with entries added or removed, each with how many were lost that were not the default."""
    neutral = member.default
    if len(given) > length:
        last, first = given[-length:], given[:length]
        lost = (given[:-length], given[length:])
        gone = [sum(one != neutral for one in some) for some in lost]
        return sorted([(gone[0], last), (gone[1], first)], key=lambda one: one[0])
    if not given:
        return [] if neutral is None else [(0, (neutral,) * length)]
    more = length - len(given)
    found = [(given * length)[:length], (*given, *(given[-1:] * more))]
    if member.type != ACTIVATION:
        rest = [
            type(given[0])(one)
            for one in (_NEUTRAL[member.type == "FLOAT"] if neutral is None else (neutral,))
        ]
        in_front = [(*((one,) * more), *given) for one in rest]
        behind = [(*given, *((one,) * more)) for one in rest]
        found = [*in_front, *found, *behind] if len(given) > 1 else [*found, *in_front, *behind]
    return [(0, one) for one in dict.fromkeys(found)]


def count_axes_from_front(problem: Problem) -> Iterator[Edit]:
    """Axes counted from the end."""
    desc = problem.desc
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if member.name not in problem.members or member.type not in INTEGERS or value is None:
            continue
        entries = value if type(value) is tuple else (value,)
        counted = [one - 2 * _NEGATIVE if one >= _NEGATIVE else one for one in entries]
        if not any(one < 0 for one in counted):
            continue
        for place, rank in enumerate(problem.ranks[::-1]):
            new = tuple(one + rank if one < 0 else one for one in counted)
            if all(one >= 0 for one in new):
                whole = new if type(value) is tuple else new[0]
                yield Edit(COSTS["axis"] + 0.1 * place, (member.name,), {(member.name,): whole})


def replace_zeros(problem: Problem) -> Iterator[Edit]:
    """All zeros of a list, where 1 is meant; in sizes, where those of another tensor are meant."""
    path = problem.at[:-1] if problem.at and isinstance(problem.at[-1], int) else problem.at
    owner, value = value_at(problem.desc, path[:-1]), value_at(problem.desc, path)
    if isinstance(owner, TensorDesc):
        others = dict.fromkeys(tensor.Sizes for _, tensor, _ in problem.tensors if tensor != owner)
        for sizes in others:
            if not owner.Sizes and sizes:
                yield Edit(COSTS["list"] + 0.5, path, {path[:-1]: resized(owner, sizes, None)})
            elif 0 in owner.Sizes and len(sizes) == len(owner.Sizes):
                full = tuple(b if a == 0 else a for a, b in zip(owner.Sizes, sizes, strict=True))
                yield Edit(COSTS["list"], path, {path[:-1]: resized(owner, full, owner.Strides)})
    elif type(value) is tuple and 0 in value:
        yield Edit(COSTS["list"], path, {path: tuple(1 if one == 0 else one for one in value)})
    elif type(value) is int and value == 0:
        yield Edit(COSTS["list"], path, {path: 1})


def change_choices(problem: Problem) -> Iterator[Edit]:
    """Other enumerators of what the rule reads."""
    for place in attributes_of(problem):
        if place.member.type in ENUMS and place.member.type != "TENSOR_DATA_TYPE":
            for one in ENUMS[place.member.type].__members__.values():
                if one != place.value:
                    cost = COSTS["transform" if place.member.type in _SWITCHES else "choice"]
                    yield Edit(cost, place.path, {place.path: one})
        elif place.member.type == "BOOL":
            yield Edit(COSTS["choice"], place.path, {place.path: type(place.value)(not place.value)})


def change_numbers(problem: Problem) -> Iterator[Edit]:
    """Other numbers in attributes that the rule reads: above all those that solve it."""
    counts = {member.count for member in problem.desc.MEMBERS if member.count}
    for place in attributes_of(problem):
        member, value = place.member, place.value
        if member.name in counts and place.path == (member.name,):
            for new in numbers_near(problem, place.path, value):
                if 0 < new <= MOST_ENTRIES and holds(member, new):
                    yield Edit(COSTS["entries"], place.path, {place.path: new})
            continue
        if member.type in (*ENUMS, *STRUCT_CLASSES, "BOOL", "tensor", ACTIVATION) or isinstance(value, Value):
            continue
        paths = [place.path]
        if type(value) is tuple:
            paths = [(*place.path, at) for at in range(min(len(value), MOST_ENTRIES))]
        for path in paths:
            old = value_at(problem.desc, path)
            for new in numbers_near(problem, path, old):
                if holds(member, new) and (new != old or type(new) is not type(old)):
                    yield Edit(_number_cost(member, old, new), path, {path: new})


def _number_cost(member: Member, old: Any, new: Any) -> float:
    """The cost of another number in an attribute; an unset one says little about which."""
    is_unset = member.default is not None and old == member.default
    return COSTS["unset"] + 0.3 * _far(old, new) if is_unset else COSTS["number"] + _far(old, new)


def solve_lists(problem: Problem) -> Iterator[Edit]:
    """All entries of a list or a struct solved that the rule finds wrong, such as ends given for sizes.

    It asks the rule for one entry after the other, a bounded number of times.
    """
    lists: dict[Path, list[Place]] = {}
    for place in attributes_of(problem):
        if place.member.type in INTEGERS and place.member.name not in problem.desc.AXES:
            entries = range(min(len(place.value), MOST_ENTRIES)) if type(place.value) is tuple else ()
            paths = [(*place.path, d) for d in entries] or [place.path]
            lists.setdefault(place.path[:1], []).extend(replace(place, path=path) for path in paths)
    for path, places in lists.items():
        desc, violation, values, cost = problem.desc, problem.violation, dict[Path, Any](), 0.0
        for place in places:
            old = value_at(desc, place.path)
            if type(old) is not int:
                continue
            gaps = [gap for gap in gaps_of(violation) if gap]
            nearest = [old - sign * (gap + more) for gap in gaps for more in (0, 1) for sign in (1, -1)]
            for new in dict.fromkeys([*solutions(desc, violation, problem.level, place.path), *nearest]):
                if new == old or not holds(place.member, new):
                    continue
                changed = put(desc, place.path, new)
                left = changed.validate(problem.level)
                if any(path_of(one.member)[:1] == path != path_of(violation.member)[:1] for one in left):
                    continue
                same = next((one for one in left if one.rule == violation.rule), None)
                if same is None or _is_after(same, violation) or wrong(same) < wrong(violation):
                    desc, values[place.path] = changed, new
                    cost = max(cost, _number_cost(place.member, old, new))
                    violation = same or violation
                    break
            else:
                continue
            if same is None:
                break
        if len(values) > 1:
            yield Edit(cost, path, values)


def _is_after(one: Violation, other: Violation) -> bool:
    """Whether a violation of the same rule is at a later entry."""
    path, before = path_of(one.member), path_of(other.member)
    return path[:-1] == before[:-1] and path[-1:] > before[-1:]


def change_axes(problem: Problem) -> Iterator[Edit]:
    """An axis more or less."""
    for member in problem.desc.MEMBERS:
        given = getattr(problem.desc, member.name)
        if member.name not in problem.desc.AXES or type(given) is not tuple or not member.count:
            continue
        for d in range(max(problem.ranks, default=0)):
            axes = tuple(one for one in given if one != d) if d in given else tuple(sorted((*given, d)))
            both: dict[Path, Any] = {(member.name,): axes, (member.count,): len(axes)}
            yield Edit(COSTS["axes"], (member.name,), both)


def arrange_lists(problem: Problem) -> Iterator[Edit]:
    """A list in order, without repetitions, or as its rule expects it."""
    expected = problem.violation.expected
    for place in attributes_of(problem):
        given, name = place.value, place.member.name
        if type(given) is not tuple or place.member.type in ("tensor", ACTIVATION):
            continue
        others = [tuple(sorted(given)), given[::-1]]
        if is_shape(expected) and len(expected) == len(given) and place.path == problem.at:
            others.append(expected)
        for new in dict.fromkeys(others):
            if new != given:
                yield Edit(COSTS["number"], place.path, {place.path: new})
        once = tuple(dict.fromkeys(given))
        if place.member.count and place.path == (name,) and 0 < len(once) < len(given):
            both: dict[Path, Any] = {place.path: once, (place.member.count,): len(once)}
            yield Edit(COSTS["axes"], place.path, both)


def _far(old: Any, new: Any) -> float:
    """The distance between two numbers, below 0.9."""
    old = plain(old)
    if type(old) not in (int, float):
        return 0.9
    gap = abs(new - old)
    return 0.9 * gap / (gap + max(abs(old), 1)) if gap < UNUSUAL else 0.9
