"""Finds the valid description closest to an invalid one, with as few changes as possible.

A step looks at the first violation and tries other values: first for the member it names, then for what its
rule reads, then for anything else. Dependent values change along with it: outputs that follow, tensors that
had the same data type or number of dimensions, arrays whose count changes. Only a description that validates
is an answer. The search ends because there are three steps, each of which tries a bounded number of
descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, takewhile
from math import prod
from typing import Any

from .description import Description
from .enums import ENUMS, NEWEST, FeatureLevel, TensorDataType, feature_level
from .forms import ACTIVATION, DEEPEST, may_be_none, members_of
from .json_form import to_json
from .member import Member
from .plain import plain
from .registry import INTEGERS, operator
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc
from .value import WRONG_TYPE, Value
from .violation import Violation

MOST_STEPS = 3
KEPT = 8  # descriptions from which the next step starts
MOST_TRIED = 3000  # descriptions that a step validates
MOST_ENTRIES = 64  # entries tried of an array or a pool of numbers
MOST_PLACES = 256  # places in a description at which other values are tried
UNUSUAL = 1 << 128  # numbers that are tried are smaller
MOST_VALUES = 2048  # larger descriptions are not searched

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_LIST = re.compile(r"\[(-?\d+(?:, -?\d+)*)\]")
_INDEX = re.compile(r"\[\d+\]$")

Distance = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A value that differs in the closest description.

    `member` is its path; `old` and `new` are JSON values, None if there is none. `because` is the violation
    that requires the change; None if it only follows from the change before it.
    """

    member: str
    old: Any
    new: Any
    because: Violation | None


@dataclass(frozen=True, slots=True)
class Closest:
    """A valid description, and how it differs from the original."""

    desc: Description
    changes: tuple[Change, ...]

    @property
    def steps(self) -> int:
        """The number of changes, not counting those that follow from another."""
        return sum(change.because is not None for change in self.changes)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A description with one member changed, and its distance from the original."""

    path: str
    desc: Description
    distance: Distance


@dataclass(frozen=True, slots=True)
class _Path:
    """A description on the way to a valid one, and the steps that led to it."""

    desc: Description
    steps: tuple[tuple[Violation, str, Description], ...] = ()


def closest(desc: Description, level: FeatureLevel | str = NEWEST) -> Closest | None:
    """The valid description at a feature level that takes the fewest changes, at most three.

    None if none is found: if the level does not have the operator, if more would have to change, if a member
    has a value of the wrong type, or if there are thousands of values. A valid description is its own closest
    one. Raises ValueError for an unknown level.
    """
    level = feature_level(level)
    if not desc.validate(level):
        return Closest(desc, ())
    if level < desc.SINCE or desc._state & WRONG_TYPE or _values(desc) > MOST_VALUES:
        return None
    paths = [_Path(desc)]
    for _ in range(MOST_STEPS):
        further = []
        for path in paths:
            found, ways = _step(path, level)
            if found is not None:
                return _told(desc, found)
            further += ways
        further.sort(key=lambda one: one[0])
        paths = [path for _, path in further[:KEPT]]
    return None


def _step(path: _Path, level: FeatureLevel) -> tuple[_Path | None, list[tuple[Distance, _Path]]]:
    """The path to a valid description with one more change; if there is none, the paths that get closer."""
    violations = path.desc.validate(level)
    first = violations[0]
    ways = []
    tried = 0
    for rank, candidates in enumerate(_candidates(path.desc, first, level)):
        valid = []
        for candidate in candidates:
            tried += 1
            if tried > MOST_TRIED:
                break
            made, left = _judged(candidate, level)
            further = _Path(made, (*path.steps, (first, candidate.path, made)))
            if not left:
                valid.append((candidate.distance, further))
            elif all(one.rule != first.rule or one.member != first.member for one in left):
                ways.append(((len(left), rank, *candidate.distance), further))
        if valid:
            return min(valid, key=lambda one: one[0])[1], []
    ways.sort(key=lambda one: one[0])
    return None, ways[:KEPT]


def _judged(candidate: _Candidate, level: FeatureLevel) -> tuple[Description, list[Violation]]:
    """A candidate and what is wrong with it; with inferred outputs, if only the outputs are wrong."""
    left = candidate.desc.validate(level)
    outputs = {member.name for member in candidate.desc.MEMBERS if member.role == "output"}
    if not left or not all(_root(one.member) in outputs for one in left):
        return candidate.desc, left
    try:
        inferred = candidate.desc.infer()
    except ValueError:
        return candidate.desc, left
    return inferred, inferred.validate(level)


def _candidates(
    desc: Description, violation: Violation, level: FeatureLevel
) -> Iterator[Iterator[_Candidate]]:
    """Descriptions with one change: at the member that is named, at what the rule reads, elsewhere."""
    near = _field(violation.member)
    reads = [_field(path) for path in desc.READS.get(violation.rule, "").split()]
    search = _Search(desc, violation, level)
    places = list(islice(search.places(), MOST_PLACES))

    def at(*paths: str) -> list[_Place]:
        return [place for place in places if any(_touches(place.path, path) for path in paths)]

    named, read = at(near), at(*reads)
    yield iter([_Candidate(near, desc, ())])  # the inferred outputs may be all that is wrong
    read = [place for place in read if place not in named]
    yield search.changed(named)
    yield search.changed(read)
    yield search.changed([place for place in places if place not in named and place not in read])


@dataclass(frozen=True, slots=True)
class _Place:
    """A value in a description: its path, the member it belongs to, and how to replace it."""

    path: str
    member: Member
    holder: Any
    outer: _Place | None  # the place that contains this one
    index: int | None = None  # index in an array of tensors or activations

    @property
    def value(self) -> Any:
        value = getattr(self.holder, self.member.name)
        return value if self.index is None else value[self.index]

    def put(self, value: Any) -> Description:
        """The whole description with this value replaced."""
        if self.index is not None:
            entries = getattr(self.holder, self.member.name)
            value = (*entries[: self.index], value, *entries[self.index + 1 :])
        return self.put_all({self.member.name: value})

    def put_all(self, values: Mapping[str, Any]) -> Description:
        """The same with several members of the containing value replaced."""
        whole = replace(self.holder, **values)
        made: Description = whole if self.outer is None else self.outer.put(whole)
        return made


class _Search:
    """The changes that may fix a violation of a description."""

    def __init__(self, desc: Description, violation: Violation, level: FeatureLevel) -> None:
        self.desc = desc
        self.support = desc.support().get(level, {})
        text = violation.message
        self.lists = [tuple(map(int, found.split(", "))) for found in _LIST.findall(text)]
        named = [float(one) if "." in one else int(one) for one in _NUMBER.findall(text)]
        values = [getattr(desc, member.name) for member in desc.MEMBERS]
        self.tensors = [one for value in values for one in _entries(value) if isinstance(one, TensorDesc)]
        sizes = [size for tensor in self.tensors for size in tensor.Sizes if type(size) is int]
        counts = [len(tensor.Sizes) for tensor in self.tensors]
        numbers = [one for value in values for one in _entries(value) if type(plain(one)) in (int, float)]
        near = [one + step for one in named if type(one) is int for step in (-1, 1)]
        pool = [*named, *near, 0, 1, *sizes, *numbers, *counts, *(count - 1 for count in counts), 2, 4]
        self.pool = list(dict.fromkeys(one for one in pool if _is_usual(one)))[:MOST_ENTRIES]

    def places(self) -> Iterator[_Place]:
        """All values of the description, outermost first."""
        todo = [_Place(member.name, member, self.desc, None) for member in self.desc.MEMBERS]
        while todo:
            place = todo.pop(0)
            yield place
            value = place.value
            if isinstance(value, Value):
                members = members_of(type(value))
                todo += [
                    _Place(f"{place.path}.{one.name}", one, value, place)
                    for one in members
                    if not isinstance(value, Description) or one.type != "tensor"
                ]
            elif place.member.type in ("tensor", ACTIVATION) and type(value) is tuple:
                todo += [
                    _Place(f"{place.path}[{index}]", place.member, place.holder, place.outer, index)
                    for index in range(min(len(value), MOST_ENTRIES))
                ]

    def changed(self, places: Sequence[_Place]) -> Iterator[_Candidate]:
        """The description with the value at each of these places replaced in turn."""
        for place in places:
            for value in self._others(place):
                yield _Candidate(place.path, place.put(value), _distance(place.value, value))
            yield from self._together(place)

    def _others(self, place: _Place) -> Iterator[Any]:
        """Other values for a place."""
        member, value = place.member, place.value
        if value is not None and place.index is None and _may_be_absent(place):
            yield None
        if member.count and place.index is None:
            if member.type not in ("tensor", ACTIVATION):
                yield from self._arrays(place)
            elif type(value) is tuple and value:
                yield from (value[:-1], (*value, value[-1]))
            else:
                count = getattr(self.desc, member.count)
                new = self._tensors(member) if member.type == "tensor" else self._activations()
                yield from ((one,) * count for one in new if type(count) is int and 0 < count < MOST_ENTRIES)
        elif member.type == "tensor":
            if value is None:
                yield from self._tensors(member)
        elif member.type == ACTIVATION:
            yield from self._activations()
        elif member.type in STRUCT_CLASSES:
            pass  # its fields are places of their own
        elif member.type == "TENSOR_DATA_TYPE":
            yield from self._data_types(place)
        elif member.type in ENUMS:
            yield from (one for one in ENUMS[member.type].__members__.values() if one != value)
        else:
            yield from self._numbers(member, value)

    def _tensors(self, member: Member) -> Iterator[TensorDesc]:
        """Tensors for an absent member: like the preceding one first, then of its types and ranks."""
        before = takewhile(lambda one: one.name != member.name, self.desc.MEMBERS)
        given = [one for name in before for one in _entries(getattr(self.desc, name.name))]
        models = [*(one for one in given[::-1] if isinstance(one, TensorDesc)), *self.tensors]
        row = self.support.get(member.name)
        for one in dict.fromkeys(models):
            types = [one.DataType, *row.types] if row is not None else [one.DataType]
            ranks = [len(one.Sizes), *row.ranks] if row is not None else [len(one.Sizes)]
            yield from (TensorDesc(type_, one.Sizes) for type_ in dict.fromkeys(types))
            yield from (
                TensorDesc(type_, _ranked(one.Sizes, rank)) for type_ in types[1:] for rank in ranks[1:]
            )

    def _numbers(self, member: Member, value: Any) -> Iterator[Any]:
        exact = plain(value)
        near: list[float] = []
        if type(exact) in (int, float) and _is_usual(exact):
            near = [exact + 1, exact - 1, -exact, exact // 2 if type(exact) is int else exact / 2]
            if type(exact) is int and 0 < exact < 1 << 64:
                near += [1 << exact.bit_length(), 1 << exact.bit_length() - 1, -(-exact // 4) * 4]
        for number in dict.fromkeys([*self.pool, *near]):
            if number == value and type(number) is type(value):
                continue
            if member.typed_by or _holds(member.type, number):
                yield number

    def _arrays(self, place: _Place) -> Iterator[tuple[Any, ...]]:
        """Number arrays: from the message or another tensor, with one entry changed or of another length."""
        member, value = place.member, place.value
        given: tuple[Any, ...] = value if type(value) is tuple else ()
        whole = [*self.lists]
        if isinstance(place.holder, TensorDesc):
            whole += [tensor.Sizes for tensor in self.tensors]
            ranks = {rank for row in self.support.values() for rank in row.ranks}
            whole += [_ranked(given, rank) for rank in sorted(ranks)]
        counts = {len(given) - 1, len(given) + 1, *(one for one in self.pool if type(one) is int)}
        whole += [_resized(given, count) for count in sorted(counts) if 0 < count <= 8]
        whole += [given[:one] + given[one + 1 :] for one in range(len(given))] if len(given) <= 8 else []
        entries = [
            (*given[:index], number, *given[index + 1 :])
            for index, entry in enumerate(given[:MOST_ENTRIES])
            for number in self._numbers(member, entry)
        ]
        swapped = [tuple(sorted(given)), tuple(dict.fromkeys(given)), given[::-1]] if given else []
        swapped = [] if place.holder is not self.desc else swapped
        for array in dict.fromkeys(chain(whole, entries, swapped)):
            sizes = member.name != "Sizes" or all(size > 0 for size in array)
            if array != given and sizes and all(_holds(member.type, one) for one in array):
                yield array

    def _data_types(self, place: _Place) -> Iterator[TensorDataType]:
        tensor = _root(place.path)
        row = self.support.get(tensor)
        types = row.types if row is not None else tuple(TensorDataType)[1:]
        used = [one.DataType for one in self.tensors if one.DataType in types]
        yield from (one for one in dict.fromkeys([*used, *types]) if one != place.value)

    def _activations(self) -> Iterator[Description]:
        """Activations without parameters."""
        for name in self.desc.FUSABLE:
            described = operator(name)
            if all(member.type == "tensor" for member in described.MEMBERS):
                yield described(**{member.name: None for member in described.MEMBERS})

    def _together(self, place: _Place) -> Iterator[_Candidate]:
        """Changes of a place along with others that had the same value and get the same new one."""
        member, holder = place.member, place.holder
        if any(holder is self.desc and one.count == member.name for one in self.desc.MEMBERS):
            yield from self._counts(place)
        elif isinstance(holder, TensorDesc) and member.name == "DataType":
            for type_ in self._data_types(place):
                yield self._everywhere(place, DataType=partial(_exchanged, place.value, type_))
        elif isinstance(holder, TensorDesc) and member.name == "Sizes" and type(place.value) is tuple:
            yield from self._sizes(place)

    def _counts(self, place: _Place) -> Iterator[_Candidate]:
        """Another count, with its arrays truncated or extended."""
        for count in [one for one in self.pool if type(one) is int and 0 <= one <= 8 and one != place.value]:
            values: dict[str, Any] = {place.member.name: count}
            for array in [one for one in self.desc.MEMBERS if one.count == place.member.name]:
                given = getattr(self.desc, array.name)
                values[array.name] = _resized(given, count) if type(given) is tuple else given
            yield _Candidate(place.path, place.put_all(values), (2.0, _gap(place.value, count)))

    def _sizes(self, place: _Place) -> Iterator[_Candidate]:
        """Another rank for all tensors of the same rank; another size for all tensors with the same."""
        given = place.value
        for rank in sorted({rank for row in self.support.values() for rank in row.ranks} - {len(given)}):
            reranked = partial(_reranked, len(given), rank)
            yield self._everywhere(place, Sizes=reranked, Strides=partial(_dropped, len(given)))
        for index, size in enumerate(given[:MOST_ENTRIES]):
            for number in [one for one in self.pool if type(one) is int and one > 0 and one != size]:
                yield self._everywhere(place, Sizes=partial(_exchanged_at, given, index, number))

    def _everywhere(self, place: _Place, **changes: Callable[[Any], Any]) -> _Candidate:
        """The description with fields of all its tensors changed."""

        def changed(one: Any) -> Any:
            if not isinstance(one, TensorDesc):
                return one
            fields: Any = {name: change(getattr(one, name)) for name, change in changes.items()}
            return replace(one, **fields)

        values: dict[str, Any] = {}
        for member in [one for one in self.desc.MEMBERS if one.type == "tensor"]:
            value = getattr(self.desc, member.name)
            values[member.name] = tuple(map(changed, value)) if type(value) is tuple else changed(value)
        whole: Any = self.desc
        new = changes[place.member.name](place.value)
        return _Candidate(place.path, replace(whole, **values), (2.0, *_distance(place.value, new)))


def _values(value: Any, depth: int = 0) -> int:
    """The number of values in a value; too many if activations are nested excessively."""
    if depth > DEEPEST:
        return MOST_VALUES + 1
    if isinstance(value, Value):
        members = [getattr(value, member.name) for member in members_of(type(value))]
        return sum(_values(one, depth + 1) for one in members)
    return sum(_values(one, depth) for one in value) if type(value) is tuple else 1


def _entries(value: Any) -> tuple[Any, ...]:
    return value if type(value) is tuple else (value,)


def _holds(type_: str, number: float) -> bool:
    """Whether a number type can represent a number."""
    least, most = INTEGERS.get(type_, (number, number))
    return least <= number <= most and (type_ not in INTEGERS or type(number) is int)


def _may_be_absent(place: _Place) -> bool:
    """Whether the value at a place may be absent from the description."""
    return (
        place.member.optional
        if isinstance(place.holder, Description)
        else may_be_none(type(place.holder), place.member)
    )


def _exchanged(old: Any, new: Any, value: Any) -> Any:
    return new if value == old else value


def _exchanged_at(sizes: tuple[int, ...], index: int, new: int, others: tuple[int, ...]) -> tuple[int, ...]:
    """Other sizes with a new one at an index, if they have the same size there as these."""
    if len(others) != len(sizes) or others[index] != sizes[index]:
        return others
    return (*others[:index], new, *others[index + 1 :])


def _reranked(rank: int, new: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return _ranked(sizes, new) if len(sizes) == rank else sizes


def _dropped(rank: int, strides: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if strides is not None and len(strides) == rank else strides


def _ranked(sizes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The same number of elements with another rank: with 1s prepended, or the first sizes merged."""
    if len(sizes) <= rank:
        return (1,) * (rank - len(sizes)) + sizes
    extra = len(sizes) - rank
    together = max(-UNUSUAL, min(prod(sizes[: extra + 1]), UNUSUAL))
    return (together, *sizes[extra + 1 :])


def _resized(entries: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return (*entries[:count], *(entries[-1:] or (1,)) * (count - len(entries)))


def _distance(old: Any, new: Any) -> Distance:
    """The distance of a replacement from a value; removing it is closer than another tensor or struct."""
    if new is None or isinstance(new, Value):
        return (1.5, 0.0) if new is None else (2.0, 0.0)
    if type(old) is not tuple or type(new) is not tuple:
        return (1.0, _gap(old, new))
    if len(old) != len(new):  # farther than no change in length; nearer with the same number of elements
        return (1.7, abs(len(old) - len(new)), _gap(_product(old), _product(new)))
    return (1.0, sum(a != b for a, b in zip(old, new, strict=True)), sum(map(_gap, old, new)))


def _is_usual(number: float) -> bool:
    """Whether a number is plausible: finite, and not far outside the range of a member."""
    return -UNUSUAL < number < UNUSUAL


def _product(entries: tuple[Any, ...]) -> float:
    return prod(float(one) for one in map(plain, entries) if type(one) in (int, float) and _is_usual(one))


def _gap(a: Any, b: Any) -> float:
    """The difference between two numbers; 0 for anything else."""
    a, b = plain(a), plain(b)
    if type(a) not in (int, float) or type(b) not in (int, float):
        return 0.0
    return float(abs(a - b)) if _is_usual(a) else float(UNUSUAL)


def _root(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _field(path: str) -> str:
    """The value at a violation's path; a tensor's DimensionCount is the length of its sizes."""
    whole = _INDEX.sub("", path) if "." in path else path
    return re.sub(r"\.DimensionCount$", ".Sizes", whole)


def _touches(place: str, path: str) -> bool:
    """Whether a place is at a path, inside it or around it; paths that rules read have no array index."""
    plain_place, plain_path = re.sub(r"\[\d*\]", "", place), re.sub(r"\[\d*\]", "", path)
    return plain_place == plain_path or plain_place.startswith(f"{plain_path}.") or plain_path == _root(place)


def _told(desc: Description, found: _Path) -> Closest:
    """The result of the search, with the changes of each step: the required one, then those that follow from
    it.
    """
    changes = []
    before = desc
    for violation, path, after in found.steps:
        differing = list(_differences(to_json(before)["desc"], to_json(after)["desc"], ""))
        asked = next((one for one in differing if one[0].startswith(path)), differing[0])
        changes.append(Change(*asked, violation))
        changes += [Change(*one, None) for one in differing if one is not asked]
        before = after
    return Closest(found.desc, tuple(changes))


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The paths at which two JSON values differ, with both values; None where there is none."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif (
        isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and all(map(_is_object, old))
    ):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif old != new or type(old) is not type(new):
        yield path, old, new


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
