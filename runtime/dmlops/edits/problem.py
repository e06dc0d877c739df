"""A violation, what its rule reads, and the numbers that solve it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..description import Description
from ..enums import FeatureLevel
from ..facts import Support
from ..member import Member
from ..paths import Path, Place, path_of, places_of, put, tensors_of, value_at
from ..registry import INTEGERS
from ..tensor import TensorDesc
from ..value import plain
from ..violation import Violation
from .costs import COSTS

MOST_ENTRIES = 16  # entries of an array that are tried
UNUSUAL = 1 << 64  # numbers that are tried are smaller
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change: what it costs, where it is, and the values that it puts at which places."""

    cost: float
    path: Path
    values: Mapping[Path, Any]


class Problem:
    """A violation, and what its rule reads in the description."""

    def __init__(self, desc: Description, violation: Violation, level: FeatureLevel) -> None:
        self.desc = desc
        self.violation = violation
        self.level = level
        self.at = path_of(violation.member)
        self.support = desc.support().get(level, {})
        reads = [path_of(one) for one in desc.READS.get(violation.rule, ())]
        self.members = {str(path[0]) for path in (self.at, *reads) if path}
        self.fields = {str(path[-1]) for path in (self.at, *reads) if len(path) > 1 and path[-1] != ""}
        self.fields |= {str(one) for one in self.at[1:]}
        self.tensors = list(tensors_of(desc))
        self.read = [one for one in self.tensors if one[2].name in self.members]
        self.ranks = sorted({len(tensor.Sizes) for _, tensor, _ in self.tensors})
        self.pool = _numbers_of((violation.found, violation.expected, *violation.values))

    @property
    def is_about_types(self) -> bool:
        return "DataType" in self.fields

    @property
    def is_about_shapes(self) -> bool:
        return bool({"Sizes", "DimensionCount"} & self.fields)

    def row(self, member: Member) -> Support:
        """The ranks and types that the level supports for a tensor."""
        return self.support.get(member.name, Support((), ()))

    def size_cost(self, path: Path, member: Member) -> float:
        """The cost of changing a tensor's sizes."""
        if member.role == "output":
            return COSTS["output"]
        return COSTS["data" if path == self.tensors[0][0] else "parameter"]

    def unlike(self, tensor: TensorDesc, member: Member, sizes: Shape) -> float:
        """The cost that is added for an output whose sizes are far from those given."""
        return unlike(self.desc, tensor, sizes) if member.role == "output" else 0.0

    def type_cost(self, path: Path, member: Member) -> float:
        """The cost of changing a tensor's data type."""
        if member.role == "output":
            return COSTS["output type"]
        if path == self.tensors[0][0]:
            return COSTS["data type"]
        return COSTS["optional type" if member.optional else "type"]


def unlike(desc: Description, old: TensorDesc, sizes: Shape) -> float:
    """The cost that is added for other sizes of an output than those given.

    Rounding explains a difference of 1, and the sizes of an input say little; any other is far.
    """
    if len(old.Sizes) != len(sizes):
        return 0.0
    gaps = [abs(a - b) for a, b in zip(old.Sizes, sizes, strict=True) if a != b]
    far = sum(gap > 1 for gap in gaps)
    inputs = (tensor.Sizes for _, tensor, member in tensors_of(desc) if member.role == "input")
    if not far or old.Sizes in inputs:
        return COSTS["another size"] * max(len(gaps) - 1, 0)
    near = COSTS["another size"] * (len(gaps) - far)
    return COSTS["far size"] + COSTS["another far size"] * (far - 1) + near


def resized(tensor: TensorDesc, sizes: Shape, strides: Shape | None) -> TensorDesc:
    """A tensor of other sizes and strides; a total size that was exact stays so, or becomes large enough."""
    made = replace(tensor, Sizes=sizes, Strides=strides, TotalTensorSizeInBytes=None)
    total = tensor.TotalTensorSizeInBytes
    if total is None:
        return made
    try:
        exact, implied = total == tensor.implied_size, made.implied_size
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return made
    return replace(made, TotalTensorSizeInBytes=implied if exact else max(total, implied))


Found = tuple[Path, TensorDesc, Member]


def attributes_of(problem: Problem) -> Iterator[Place]:
    """The places of attributes that the rule reads, inside structs and activations too."""
    for place in places_of(problem.desc, MOST_ENTRIES):
        tensor = any(place.path[: len(path)] == path for path, _, _ in problem.tensors)
        if not tensor and place.path[0] in problem.members and place.value is not None:
            yield place


def numbers_near(problem: Problem, path: Path, value: Any) -> list[Any]:
    """Numbers to try in an attribute: what solves the rule, what its message shows, and the usual ones."""
    exact = plain(value)
    if type(exact) not in (int, float) or not -UNUSUAL < exact < UNUSUAL:
        exact = 0
    numbers: list[Any] = [*values_solving(problem, path, exact), *problem.pool]
    numbers += [one + step for one in problem.pool[:8] if type(one) is int for step in (-1, 1)]
    numbers += [0, 1, 2, -exact, exact + 1, exact - 1, *(rank - 1 for rank in problem.ranks)]
    if type(exact) is int and 0 < exact < UNUSUAL:
        numbers += [1 << exact.bit_length(), 1 << exact.bit_length() - 1, -(-exact // 4) * 4]
    else:
        numbers += [exact / 2, 0.0, 1.0]
    return list(dict.fromkeys(one for one in numbers if -UNUSUAL < one < UNUSUAL))


def values_solving(problem: Problem, path: Path, value: Any) -> list[Any]:
    """The value that solves the rule at a place: as it expects, or by the difference or ratio of its two
    sides."""
    found, expected = problem.violation.found, problem.violation.expected
    if path == problem.at and type(expected) in (int, float):
        return [expected]
    numbers = list(solutions(problem.desc, problem.violation, problem.level, path))
    if type(found) is int and type(expected) is int and type(value) is int:
        numbers += [value + expected - found, value - expected + found]
        numbers += [value * a // b for a, b in ((expected, found), (found, expected)) if b]
    return list(dict.fromkeys(numbers))


def solutions(desc: Description, violation: Violation, level: FeatureLevel, path: Path) -> Iterator[int]:
    """The values at a place with which the rule's two sides agree, if they depend on it linearly.

    Found by asking the rule itself: how much the difference of its sides changes if the value changes by 1.
    """
    value, gaps = value_at(desc, path), gaps_of(violation)
    if type(value) is not int or not gaps or not -UNUSUAL < value < UNUSUAL:
        return
    for step in (1, -1):
        try:
            left = put(desc, path, value + step).validate(level)
        except (TypeError, ValueError):
            continue
        same = next(
            (one for one in left if (one.rule, one.member) == (violation.rule, violation.member)), None
        )
        if same is None:
            yield value + step
            continue
        moved = [pair for pair in zip(gaps, gaps_of(same), strict=False) if pair[0] not in (0, pair[1])]
        exact = [gap * step // (gap - new) for gap, new in moved if gap * step % (gap - new) == 0]
        yield from (value + steps for steps in exact)
        if exact:
            return


def gaps_of(violation: Violation) -> tuple[int, ...]:
    """The difference between the value found and the one expected; of lists, one for each entry."""
    found, expected = violation.found, violation.expected
    if type(found) is int and type(expected) is int:
        return (found - expected,)
    if is_shape(found) and is_shape(expected) and len(found) == len(expected):
        return tuple(a - b for a, b in zip(found, expected, strict=True))
    return ()


def wrong(violation: Violation) -> int:
    """The number of entries that a violation finds wrong."""
    return sum(gap != 0 for gap in gaps_of(violation)) or 1


def _numbers_of(values: Iterable[Any]) -> list[Any]:
    """The numbers among values and in lists among them."""
    flat = [one for value in values for one in (value if type(value) is tuple else (value,))]
    numbers = [one for one in map(plain, flat) if type(one) in (int, float) and -UNUSUAL < one < UNUSUAL]
    return list(dict.fromkeys(numbers[:24]))


def is_shape(value: Any) -> bool:
    return type(value) is tuple and bool(value) and all(type(one) is int for one in value)


def holds(member: Member, number: Any) -> bool:
    """Whether a member's type can represent a number."""
    if member.type not in INTEGERS:
        return True
    least, most = INTEGERS[member.type]
    return type(number) is int and least <= number <= most
