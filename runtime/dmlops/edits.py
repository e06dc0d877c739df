"""The changes that a person would try on an invalid description, each with what it costs.

An edit keeps as much as possible of what was said. `COSTS` is the order of preference: first what only says
the same in another way or follows from the rest, then choices and numbers, last the sizes of tensors, whose
data exists already. Costs add up over several edits; smaller fractions in the code only order edits of one
kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import log2, prod
from typing import Any

from .description import Description
from .enums import ENUMS, FeatureLevel, TensorDataType
from .forms import ACTIVATION, may_be_none, members_of
from .member import Member
from .paths import Path, Place, path_of, places_of, put, put_all, tensors_of, value_at
from .registry import INTEGERS, operator
from .structs import STRUCT_CLASSES
from .tensor import TensorDesc
from .value import Value, plain
from .violation import Violation

COSTS = {
    # The same, said in another way; or what follows from the rest.
    "output": 1.0,  # sizes, data type and strides of an output
    "count": 1.0,  # a count of the entries that are given
    "axis": 1.0,  # an axis counted from the end, as the one from the front
    "broadcast": 1.0,  # sizes with strides of 0 for dimensions that repeat
    "ones": 1.0,  # leading dimensions of size 1
    "stored": 1.0,  # a total size in bytes, an alignment, strides in bytes, tensors of a fused activation
    "repeat": 5.0,  # strides of 0 for a required tensor, at a size that a rule names: rather a group count
    # The same elements, described differently.
    "strides": 2.0,  # strides of another length
    "split": 2.0,  # a dimension split in several
    "layout": 2.5,  # NHWC for NCHW, with strides
    "filter layout": 2.7,  # HWIO for OIHW; time and batch exchanged
    "transposed layout": 4.0,  # the last two dimensions exchanged
    "outputs first": 4.5,  # OIHW for IOHW
    "list": 2.0,  # entries added to a list or removed from it; ones for zeros
    "heads": 3.0,  # the heads of attention merged into one dimension, which needs a copy
    # What was chosen.
    "output type": 2.0,  # the data type of an output
    "optional type": 1.5,  # the data type of an optional tensor, such as a bias or a zero point
    "transform": 3.0,  # what is done or not, such as transposing a matrix; a flag
    "unset": 3.0,  # an attribute that has its default
    "axes": 3.0,  # an axis more or less
    "type": 3.0,  # the data type of another tensor than the first
    "number": 4.0,  # an attribute
    "choice": 6.0,  # a direction, a mode, a function
    "exchange": 6.0,  # two tensors that were given for each other
    "data type": 5.0,  # the data type of the first tensor
    # What exists already.
    "parameter": 8.0,  # sizes of a tensor other than the first
    "data": 12.0,  # sizes of the first tensor
    "addition": 10.0,  # a tensor or activation that was not given
    "absence": 14.0,  # an optional member left out
    # Added to these.
    "another tensor": 0.1,  # for each tensor after the first that changes likewise
    "another size": 0.75,  # for each size of an output after the first that changes by 1
    "far size": 2.5,  # for a size of an output that changes by more, and is not that of an input
    "another far size": 1.0,  # for each one more
    "first tensor": 1.0,  # where the first tensor is broadcast
    "both broadcast": 3.0,  # where both operands repeat, which is rarely meant
    "other dimension": 0.4,  # where a vector repeats along another dimension than the channels
    "trailing ones": 0.5,
    "inserted ones": 1.5,  # between the first dimension and the others
    "merged": 2.0,  # dimensions in front
    "three dimensions": 6.0,  # where a layout has three, which are often batches of rows
    "dropped": 0.6,  # a field of a tensor left out, rather than mended
    "lost": 0.5,  # for each entry cut from a list that is not the default
    "another step": 0.3,
    "advice": 4.0,  # where advice on the sizes of a tensor remains
}

MOST_ENTRIES = 16  # entries of an array that are tried
UNUSUAL = 1 << 64  # numbers that are tried are smaller
_NEUTRAL = ((0, 1), (1.0, 0.0))  # what lists lack whose default is not known: integers, and factors
_SWITCHES = frozenset(name for name, enum in ENUMS.items() if len(enum) == 2 and "NONE" in enum.__members__)
_NEGATIVE = 1 << 31  # unsigned numbers from here on are converted negative ones

Shape = tuple[int, ...]
Order = Callable[[int], Shape | None]  # the dimensions in another order, for a rank


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
        reads = [path_of(one) for one in desc.READS.get(violation.rule, "").split()]
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


# What follows from the rest.


def _outputs(problem: Problem) -> Iterator[Edit]:
    """An output as its rule expects it."""
    at, expected = problem.at, problem.violation.expected
    for path, tensor, member in problem.read:
        if member.role == "output" and at == (*path, "Sizes") and _is_shape(expected) and min(expected) > 0:
            cost = COSTS["output"] + problem.unlike(tensor, member, expected)
            yield Edit(cost, at, {path: resized(tensor, expected, None)})


def _counts(problem: Problem) -> Iterator[Edit]:
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


def _stored(problem: Problem) -> Iterator[Edit]:
    """Edits of the layout of tensors, apart from strides; removal of a fused activation's tensors."""
    desc = problem.desc
    for place in places_of(desc, MOST_ENTRIES):
        path = place.path
        if isinstance(place.value, Description) and problem.at[: len(path)] == path:
            none: dict[Path, Any] = {
                (*path, one.name): None
                for one in place.value.MEMBERS
                if one.type == "tensor" and getattr(place.value, one.name) is not None
            }
            if none:
                yield Edit(COSTS["stored"], path, none)
    for path, tensor, _ in problem.tensors:
        if problem.at[: len(path)] != path or not problem.at[len(path) :]:
            continue
        field = problem.at[len(path)]
        if field == "TotalTensorSizeInBytes":
            yield Edit(COSTS["stored"], problem.at, {(*path, field): tensor.implied_size})
            yield Edit(COSTS["stored"] + 0.2, problem.at, {(*path, field): None})
        elif field == "GuaranteedBaseOffsetAlignment":
            yield Edit(COSTS["stored"] + 0.2, problem.at, {(*path, field): 0})
        elif field == "Flags":
            flags = next(ENUMS[one.type] for one in members_of(TensorDesc) if one.name == field)
            yield from (
                Edit(COSTS["transform"], problem.at, {(*path, field): one})
                for one in flags.__members__.values()
                if one != tensor.Flags
            )


def _fields(problem: Problem) -> Iterator[Edit]:
    """A tensor's field left out."""
    desc = problem.desc
    if len(problem.at) > 1:
        owner, field = value_at(desc, problem.at[:-1]), problem.at[-1]
        if (
            isinstance(owner, TensorDesc)
            and isinstance(field, str)
            and getattr(owner, field, None) is not None
        ):
            one = next((one for one in members_of(TensorDesc) if one.name == field), None)
            if one is not None and may_be_none(TensorDesc, one):
                yield Edit(COSTS["strides"] + COSTS["dropped"], problem.at, {problem.at: None})


# The same, said in another way.


def _axes(problem: Problem) -> Iterator[Edit]:
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


def _ones_for_zeros(problem: Problem) -> Iterator[Edit]:
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


def _strides(problem: Problem) -> Iterator[Edit]:
    """Strides for all dimensions, in elements rather than bytes, or none."""
    for path, tensor, _ in problem.tensors:
        if problem.at[: len(path)] != path or "Strides" not in problem.at[len(path) :] or not tensor.Strides:
            continue
        given, sizes, at = tensor.Strides, tensor.Sizes, (*path, "Strides")
        if len(given) < len(sizes):
            whole = list(given)
            while len(whole) < len(sizes):
                inner = len(sizes) - len(whole)
                whole.insert(0, 0 if whole[0] == 0 else whole[0] * sizes[inner])
            made = resized(tensor, sizes, tuple(whole))
            yield Edit(COSTS["strides"], at, {path: made})
        elif len(given) > len(sizes):
            for cut in (given[-len(sizes) :], given[: len(sizes)]):
                made = resized(tensor, sizes, cut)
                yield Edit(COSTS["strides"], at, {path: made})
        size = tensor.DataType.bits // 8 if isinstance(tensor.DataType, TensorDataType) else 0
        if size > 1 and len(given) == len(sizes) and all(one % size == 0 for one in given):
            made = resized(tensor, sizes, tuple(one // size for one in given))
            yield Edit(COSTS["stored"], at, {path: made})
        made = resized(tensor, sizes, None)
        yield Edit(COSTS["strides"] + COSTS["dropped"], at, {path: made})


def _broadcasts(problem: Problem) -> Iterator[Edit]:
    """Operands with strides of 0 where they repeat: of each tensor, along with others of the same sizes."""
    if not problem.is_about_shapes:
        return
    for path, tensor, member in problem.read:
        repeated = None if path == problem.tensors[0][0] else _repeated(problem, path, tensor)
        if repeated is not None:
            cost = COSTS["broadcast" if member.optional else "repeat"]
            yield Edit(cost, problem.at, {path: repeated})
    inputs = [one for one in problem.tensors if one[2].role == "input"]
    targets: list[Shape] = [tensor.Sizes for _, tensor, _ in problem.read]
    if _is_shape(problem.violation.expected):
        targets.insert(0, problem.violation.expected)
    if problem.at[-1:] == ("DimensionCount",):  # of a scalar or vector: the sizes of what it goes with
        few = max((prod(tensor.Sizes) for _, tensor, _ in problem.read), default=0)
        targets += [tensor.Sizes for _, tensor, _ in problem.tensors if prod(tensor.Sizes) > few]
    whole = _broadcast([tensor.Sizes for _, tensor, member in problem.read if member.role == "input"])
    targets = list(dict.fromkeys([*targets, *([whole] if whole else [])]))
    for target in targets:
        if not target or prod(target) == 0:
            continue
        fitting = [
            (path, tensor, views)
            for path, tensor, _ in inputs
            if tensor.Sizes != target and (views := _views(tensor, target))
        ]
        for path, tensor, views in fitting:
            if path[0] not in problem.members:
                continue
            alike = [one for one in fitting if one[1].Sizes == tensor.Sizes]
            together = fitting if target == whole else []
            for place, group in enumerate([[(path, tensor, views)], alike, together]):
                if (place == 1 and len(alike) < 2) or (place == 2 and len(together) < 2):
                    continue
                for way in range(len(views)):
                    values: dict[Path, Any] = {}
                    cost = COSTS["broadcast"] + COSTS["another tensor"] * (len(group) - 1)
                    cost += COSTS["both broadcast"] * (target == whole and place == 2)
                    cost += COSTS["first tensor"] * any(other == inputs[0][0] for other, _, _ in group)
                    for other, one, others in group:
                        extra, strides = others[min(way, len(others) - 1)]
                        values[other] = resized(one, target, strides)
                        cost += extra / len(group)
                    yield Edit(cost, (*path, "Sizes"), values)


def _repeated(problem: Problem, path: Path, tensor: TensorDesc) -> TensorDesc | None:
    """A tensor that repeats along each dimension of size 1 for which its rule expects another size.

    It ends because no dimension has size 1 twice.
    """
    made, violation = None, problem.violation
    while True:
        *owner, d = path_of(violation.member) or ("",)
        size, strides = violation.expected, tensor.element_strides
        if owner != [*path, "Sizes"] or type(d) is not int or type(size) is not int:
            return made
        if tensor.Sizes[d] != 1 or size < 2 or len(strides) != len(tensor.Sizes):
            return made
        sizes = (*tensor.Sizes[:d], size, *tensor.Sizes[d + 1 :])
        made = tensor = resized(tensor, sizes, (*strides[:d], 0, *strides[d + 1 :]))
        left = put_all(problem.desc, {path: tensor}).validate(problem.level)
        if not left or left[0].rule != violation.rule:
            return made
        violation = left[0]


def _views(tensor: TensorDesc, target: Shape) -> list[tuple[float, Shape]]:
    """The strides with which a tensor has the target's sizes, repeating elements; cheapest first."""
    sizes, strides = tensor.Sizes, tensor.element_strides
    if len(strides) != len(sizes) or len(sizes) > len(target):
        return []
    found: list[tuple[float, Shape]] = []
    padded = (1,) * (len(target) - len(sizes)) + sizes
    if all(one in (1, size) for one, size in zip(padded, target, strict=True)):
        kept = (0,) * (len(target) - len(sizes)) + strides
        found.append((0.0, tuple(0 if one == 1 else step for one, step in zip(padded, kept, strict=True))))
    real = [(size, step) for size, step in zip(sizes, strides, strict=True) if size > 1]
    if len(real) == 1 and len(sizes) == 1:  # a vector: along the channels, or along any other dimension
        size, step = real[0]
        for d in sorted(range(len(target)), key=lambda one: one != 1):
            view = tuple(step if at == d else 0 for at in range(len(target)))
            if target[d] == size and all(view != other for _, other in found):
                found.append((0.0 if d == 1 else COSTS["other dimension"], view))
    if found and found[0][1].count(0) == len(target) and prod(sizes) != 1:
        return []
    return found


def _broadcast(shapes: list[Shape]) -> Shape | None:
    """The sizes to which all these broadcast, aligned at the last dimension; None if there are none."""
    rank = max(map(len, shapes), default=0)
    whole = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and whole[at] not in (1, size):
                return None
            whole[at] = max(whole[at], size)
    return tuple(whole)


def _ranks(problem: Problem) -> Iterator[Edit]:
    """Other dimension counts: ones in front or behind, added or removed; dimensions in front merged."""
    found, expected = problem.violation.found, problem.violation.expected
    lengths = {len(one) for one in (found, expected) if _is_shape(one)}
    lengths |= {len(tensor.Sizes) for _, tensor, _ in problem.read}
    if "DimensionCount" not in problem.at and (len(lengths) == 1 or not problem.is_about_shapes):
        return
    wanted = {rank for path, _, member in problem.read for rank in _ranks_of(problem, member)}
    wanted |= set(problem.ranks) | ({problem.ranks[-1] + 1} if problem.ranks else set())
    named = [one for one in problem.tensors if problem.at[: len(one[0])] == one[0]]
    for rank in sorted(wanted):
        for group in _groups(problem, named, partial(_has_other_rank, rank)):
            for extra, reranked in _RERANKED:
                changed = {path: reranked(tensor, rank) for path, tensor, _ in group}
                if any(one is None for one in changed.values()):
                    continue
                if reranked is _inserted and all(member.optional for _, _, member in group):
                    extra = COSTS["trailing ones"] - 0.1  # a mask of batches and keys
                cost = COSTS["ones"] + extra + 0.05 * (len(group) - 1)
                values: dict[Path, Any] = dict(changed)
                first = problem.tensors[0]
                path = (*group[0][0], "Sizes")
                if reranked is _leading and first[0] in changed:
                    axes = _moved(problem.desc, rank - len(first[1].Sizes))
                    if axes:
                        yield Edit(cost, path, {**values, **axes})
                        cost += 0.1
                yield Edit(cost, path, values)


Found = tuple[Path, TensorDesc, Member]


def _groups(
    problem: Problem, named: list[Found], differs: Callable[[TensorDesc], bool]
) -> Iterator[list[Found]]:
    """The tensors to change together: first those named, then those like them, then all that differ."""
    seen: set[tuple[Path, ...]] = set()
    ranks = {len(tensor.Sizes) for _, tensor, _ in named}
    alike = [one for one in problem.tensors if len(one[1].Sizes) in ranks]
    inputs = [one for one in problem.tensors if one[2].role == "input"]
    for group in (named, alike, inputs, problem.read, problem.tensors):
        changed = [one for one in group if differs(one[1])]
        key = tuple(path for path, _, _ in changed)
        if changed and key not in seen:
            seen.add(key)
            yield changed


def _has_other_rank(rank: int, tensor: TensorDesc) -> bool:
    return len(tensor.Sizes) != rank


def _ranks_of(problem: Problem, member: Member) -> tuple[int, ...]:
    row = problem.support.get(member.name)
    return row.ranks if row is not None else ()


def _leading(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With ones in front, or without those that are there."""
    more = rank - len(tensor.Sizes)
    strides = tensor.Strides
    if more >= 0:
        grown = None if strides is None else (0,) * more + strides
        return resized(tensor, (1,) * more + tensor.Sizes, grown)
    if rank > 0 and all(one == 1 for one in tensor.Sizes[:-rank]):
        return resized(tensor, tensor.Sizes[-rank:], None if strides is None else strides[-rank:])
    return None


def _trailing(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With ones behind, or without those that are there."""
    more = rank - len(tensor.Sizes)
    strides = tensor.Strides
    if more > 0:
        grown = None if strides is None else strides + (0,) * more
        return resized(tensor, tensor.Sizes + (1,) * more, grown)
    if 0 < rank < len(tensor.Sizes) and all(one == 1 for one in tensor.Sizes[rank:]):
        return resized(tensor, tensor.Sizes[:rank], None if strides is None else strides[:rank])
    return None


def _merged(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With the first dimensions merged, if the tensor is packed."""
    extra = len(tensor.Sizes) - rank
    if extra <= 0 or rank <= 0 or tensor.Strides is not None:
        return None
    merged = prod(tensor.Sizes[: extra + 1])
    return resized(tensor, (merged, *tensor.Sizes[extra + 1 :]), None)


def _channels(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """A vector along the channels."""
    if len(tensor.Sizes) != 1 or rank < 3:
        return None
    return resized(tensor, (1, *tensor.Sizes, *(1,) * (rank - 2)), None)


def _inserted(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With ones after the first dimension: channels that are missing between batch and space."""
    more = rank - len(tensor.Sizes)
    if more <= 0 or len(tensor.Sizes) < 2 or tensor.Strides is not None:
        return None
    return resized(tensor, (tensor.Sizes[0], *(1,) * more, *tensor.Sizes[1:]), None)


_RERANKED = (
    (0.0, _leading),
    (-0.1, _channels),
    (COSTS["trailing ones"], _trailing),
    (COSTS["inserted ones"], _inserted),
    (COSTS["merged"], _merged),
)


def _moved(desc: Description, more: int) -> dict[Path, Any]:
    """The axes of a description if its tensors get leading ones."""
    if more <= 0:
        return {}
    values: dict[Path, Any] = {}
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if member.name in desc.AXES and value is not None:
            moved = tuple(one + more for one in value) if type(value) is tuple else value + more
            values[member.name,] = moved
    return values


def _layouts(problem: Problem) -> Iterator[Edit]:
    """Dimensions in the order that the operator expects, with strides for the order in memory."""
    if not problem.is_about_shapes:
        return
    inputs = [one for one in problem.tensors if one[2].role == "input"]
    named = [one for one in problem.read if len(one[1].Sizes) > 1]
    data = (
        [one for one in problem.tensors if one[2].role == "output" or one[0] == inputs[0][0]]
        if inputs
        else []
    )
    groups: list[tuple[str, Sequence[tuple[Found, Order]]]] = []
    for group in (data, problem.tensors, inputs, *([one] for one in named)):
        groups.append(("layout", [(one, _channels_first) for one in group]))
    for one in named:
        rest = [(other, _channels_first) for other in data if other != one]
        groups.append(("filter layout", [(one, _filters_first)]))
        groups.append(("filter layout", [*rest, (one, _filters_first)]))
        groups.append(("filter layout", [(one, _batch_first)]))
        groups.append(("transposed layout", [(one, _transposed)]))
        groups.append(("outputs first", [(one, _outputs_first)]))
    for kind, orders in groups:
        values: dict[Path, Any] = {}
        for (path, tensor, _), order in orders:
            permuted = order(len(tensor.Sizes))
            if permuted is not None and len(tensor.element_strides) == len(tensor.Sizes):
                values[path] = _permuted(tensor, permuted)
        if values:
            cost = COSTS[kind] + COSTS["another tensor"] * (len(values) - 1)
            cost += COSTS["three dimensions"] * any(len(one.Sizes) == 3 for one in values.values())
            yield Edit(cost, (*min(values), "Sizes"), values)


def _permuted(tensor: TensorDesc, order: Shape) -> TensorDesc:
    """The same elements with the dimensions in another order; without strides if only ones move."""
    sizes = tuple(tensor.Sizes[d] for d in order)
    moved = [d for d in order if tensor.Sizes[d] > 1]
    if tensor.Strides is None and moved == sorted(moved):
        return resized(tensor, sizes, None)
    return resized(tensor, sizes, tuple(tensor.element_strides[d] for d in order))


def _channels_first(rank: int) -> Shape | None:
    """NCHW from NHWC."""
    return (0, rank - 1, *range(1, rank - 1)) if rank in (3, 4, 5) else None


def _outputs_first(rank: int) -> Shape | None:
    """OIHW from IOHW, and the other way round."""
    return (1, 0, *range(2, rank)) if rank in (3, 4, 5) else None


def _filters_first(rank: int) -> Shape | None:
    """OIHW from HWIO."""
    return (rank - 1, rank - 2, *range(rank - 2)) if rank in (4, 5) else None


def _batch_first(rank: int) -> Shape | None:
    """Batch and sequence exchanged, behind a leading 1 or the heads of attention."""
    return (0, 2, 1, 3) if rank == 4 else None


def _transposed(rank: int) -> Shape | None:
    """Matrices transposed."""
    return (*range(rank - 2), rank - 1, rank - 2) if rank >= 2 else None


def _splits(problem: Problem) -> Iterator[Edit]:
    """A last dimension that combines several: heads, and tensors that are stacked."""
    if not problem.is_about_shapes:
        return
    numbers = [getattr(problem.desc, one.name) for one in problem.desc.MEMBERS if one.type in INTEGERS]
    factors = [one for one in dict.fromkeys(numbers) if type(one) is int and 1 < one < UNUSUAL]
    for path, tensor, member in problem.read:
        wanted = _ranks_of(problem, member)
        rank = len(tensor.Sizes)
        if tensor.Strides is not None or not tensor.Sizes or rank in wanted:
            continue
        for new in wanted:
            if not 0 < new - rank <= 2:
                continue
            for parts in product(*[[*factors, 2, 3]] * (new - rank)):
                rest, left = divmod(tensor.Sizes[-1], prod(parts))
                if not left and rest:
                    sizes = (*tensor.Sizes[:-1], *parts, rest)
                    made = resized(tensor, sizes, None)
                    yield Edit(COSTS["split"], (*path, "Sizes"), {path: made})


def _heads(problem: Problem) -> Iterator[Edit]:
    """Heads of attention in a separate dimension, merged with the size of a head."""
    if not problem.is_about_shapes:
        return
    numbers = {getattr(problem.desc, one.name) for one in problem.desc.MEMBERS if one.type in INTEGERS}
    for heads, order in ((1, (0, 2, 1, 3)), (2, (0, 1, 2, 3))):
        fitting = [
            (path, tensor, tuple(tensor.Sizes[d] for d in order))
            for path, tensor, _ in problem.tensors
            if len(tensor.Sizes) == 4 and tensor.Sizes[heads] in numbers and tensor.Sizes[heads] > 1
        ]
        named = [one for one in fitting if one[0][0] in problem.members]
        for group in (fitting, named):
            if group and named:
                values: dict[Path, Any] = {
                    path: resized(tensor, (*sizes[:2], sizes[2] * sizes[3]), None)
                    for path, tensor, sizes in group
                }
                cost = COSTS["heads"] + 0.05 * len(group)
                yield Edit(cost, (*named[0][0], "Sizes"), values)


# What was chosen.


def _choices(problem: Problem) -> Iterator[Edit]:
    """Other enumerators of what the rule reads."""
    for place in _attributes(problem):
        if place.member.type in ENUMS and place.member.type != "TENSOR_DATA_TYPE":
            for one in ENUMS[place.member.type].__members__.values():
                if one != place.value:
                    cost = COSTS["transform" if place.member.type in _SWITCHES else "choice"]
                    yield Edit(cost, place.path, {place.path: one})
        elif place.member.type == "BOOL":
            yield Edit(COSTS["choice"], place.path, {place.path: type(place.value)(not place.value)})


def _types(problem: Problem) -> Iterator[Edit]:
    """Other data types: for the tensor that is named, for all of the same type, for the first tensor; for
    attributes, rather the one that is expected."""
    for place in _attributes(problem):
        if place.member.type == "TENSOR_DATA_TYPE":
            for one in TensorDataType:
                if one not in (place.value, TensorDataType.UNKNOWN):
                    is_expected = one.name == problem.violation.expected
                    cost = COSTS["optional type" if is_expected else "choice"]
                    yield Edit(cost, place.path, {place.path: one})
    if not problem.is_about_types:
        return
    read = [one for one in problem.read if type(one[1].DataType) is TensorDataType]
    named = [one for one in read if problem.at[: len(one[0])] == one[0]]
    groups = [named, *([one] for one in read)]
    for _, tensor, _ in [*named, *read[:1]]:
        groups.append([one for one in problem.tensors if one[1].DataType == tensor.DataType])
        groups.append([one for one in read if one[1].DataType == tensor.DataType])
    seen = set()
    for group in groups:
        key = tuple(path for path, _, _ in group)
        if not group or key in seen:
            continue
        seen.add(key)
        old = group[0][1].DataType
        given = [tensor.DataType for _, tensor, _ in problem.read]
        listed = [type_ for _, _, member in group for type_ in _types_of(problem, member)]
        for new in dict.fromkeys([*given, *listed]):
            if new in (old, TensorDataType.UNKNOWN):
                continue
            values: dict[Path, Any] = {
                path: resized(replace(tensor, DataType=new), tensor.Sizes, tensor.Strides)
                for path, tensor, _ in group
            }
            cost = sum(problem.type_cost(path, member) for path, _, member in group)
            others = [tensor.DataType for path, tensor, _ in problem.tensors if path not in values]
            if len(others) > len(group) and set(others) == {new}:  # all others have it
                cost = min(cost, COSTS["output type"])
            used = 0 if new in given else 0.3
            where = (*group[0][0], "DataType")
            yield Edit(cost + used + _unlike(old, new), where, values)


def _types_of(problem: Problem, member: Member) -> tuple[TensorDataType, ...]:
    row = problem.support.get(member.name)
    return row.types if row is not None else ()


def _unlike(old: TensorDataType, new: TensorDataType) -> float:
    """The distance between two data types, below 0.6: in kind first, then in width."""
    if not isinstance(old, TensorDataType) or not isinstance(new, TensorDataType) or not old.bits:
        return 0.5
    kinds = 0.0 if old.kind == new.kind else 0.1 if "float" not in (old.kind, new.kind) else 0.3
    width = abs(log2(new.bits / (old.bits if old.kind == new.kind else 32)))
    return kinds + 0.04 * width + (0.01 if new.bits < old.bits else 0) + 0.02 * (new.kind == "unsigned")


def _numbers(problem: Problem) -> Iterator[Edit]:
    """Other numbers in attributes that the rule reads: above all those that solve it."""
    counts = {member.count for member in problem.desc.MEMBERS if member.count}
    for place in _attributes(problem):
        member, value = place.member, place.value
        if member.name in counts and place.path == (member.name,):
            for new in _near(problem, place.path, value):
                if 0 < new <= MOST_ENTRIES and _holds(member, new):
                    cost = COSTS["number"] + 2
                    yield Edit(cost, place.path, {place.path: new})
            continue
        if member.type in ENUMS or member.type in ("BOOL", "tensor", ACTIVATION):
            continue
        if member.type in STRUCT_CLASSES or isinstance(value, Value):
            continue
        paths = [place.path]
        if type(value) is tuple:
            paths = [(*place.path, at) for at in range(min(len(value), MOST_ENTRIES))]
        for path in paths:
            old = value_at(problem.desc, path)
            for new in _near(problem, path, old):
                if _holds(member, new) and (new != old or type(new) is not type(old)):
                    yield Edit(_number_cost(member, old, new), path, {path: new})


def _number_cost(member: Member, old: Any, new: Any) -> float:
    """The cost of another number in an attribute; an unset one says little about which."""
    is_unset = member.default is not None and old == member.default
    return COSTS["unset"] + 0.3 * _far(old, new) if is_unset else COSTS["number"] + _far(old, new)


def _solved(problem: Problem) -> Iterator[Edit]:
    """All entries of a list or a struct solved that the rule finds wrong, such as ends given for sizes.

    It asks the rule for one entry after the other, a bounded number of times.
    """
    lists: dict[Path, list[Place]] = {}
    for place in _attributes(problem):
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
                if new == old or not _holds(place.member, new):
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


def _more_axes(problem: Problem) -> Iterator[Edit]:
    """An axis more or less."""
    for member in problem.desc.MEMBERS:
        given = getattr(problem.desc, member.name)
        if member.name not in problem.desc.AXES or type(given) is not tuple or not member.count:
            continue
        for d in range(max(problem.ranks, default=0)):
            axes = tuple(one for one in given if one != d) if d in given else tuple(sorted((*given, d)))
            both: dict[Path, Any] = {(member.name,): axes, (member.count,): len(axes)}
            yield Edit(COSTS["axes"], (member.name,), both)


def _exchanges(problem: Problem) -> Iterator[Edit]:
    """The tensor that is named and another one, given for each other."""
    for path, tensor, _ in problem.read:
        if problem.at[: len(path)] == path:
            for other, one, _ in problem.tensors:
                if one != tensor:
                    yield Edit(COSTS["exchange"], path, {path: one, other: tensor})


def _arrangements(problem: Problem) -> Iterator[Edit]:
    """A list in order, without repetitions, or as its rule expects it."""
    expected = problem.violation.expected
    for place in _attributes(problem):
        given, name = place.value, place.member.name
        if type(given) is not tuple or place.member.type in ("tensor", ACTIVATION):
            continue
        others = [tuple(sorted(given)), given[::-1]]
        if _is_shape(expected) and len(expected) == len(given) and place.path == problem.at:
            others.append(expected)
        for new in dict.fromkeys(others):
            if new != given:
                yield Edit(COSTS["number"], place.path, {place.path: new})
        once = tuple(dict.fromkeys(given))
        if place.member.count and place.path == (name,) and 0 < len(once) < len(given):
            both: dict[Path, Any] = {place.path: once, (place.member.count,): len(once)}
            yield Edit(COSTS["axes"], place.path, both)


# What exists already.


def _sizes(problem: Problem, kind: str) -> Iterator[Edit]:
    """Other sizes of tensors: of outputs, of parameters or of the data."""
    if not problem.is_about_shapes:
        return
    expected = problem.violation.expected
    for path, tensor, member in problem.read:
        least = problem.size_cost(path, member)
        if least != COSTS[kind]:
            continue
        at = (*path, "Sizes")
        others = problem.read if len(problem.read) > 1 else problem.tensors
        shapes = [one.Sizes for other, one, _ in others if other != path]
        if _is_shape(expected):
            shapes.insert(0, expected)
        for shape in dict.fromkeys(shapes):
            if shape != tensor.Sizes and all(one > 0 for one in shape):
                few = sum(a != b for a, b in zip(shape, tensor.Sizes, strict=False))
                more = 0.3 if len(shape) != len(tensor.Sizes) else 0.0
                made = resized(tensor, shape, None)
                cost = least + problem.unlike(tensor, member, shape) + 0.1 * min(few, 4)
                yield Edit(cost + more, at, {path: made})
        for d, size in enumerate(tensor.Sizes[:MOST_ENTRIES]):
            for new in dict.fromkeys([*_solving(problem, (*at, d), size), *problem.pool, 1]):
                if type(new) is not int or not 0 < new < UNUSUAL or new == size:
                    continue
                sizes = (*tensor.Sizes[:d], new, *tensor.Sizes[d + 1 :])
                made = resized(tensor, sizes, None if tensor.Strides is None else _restrided(tensor, sizes))
                cost = least + problem.unlike(tensor, member, sizes)
                yield Edit(cost, (*at, d), {path: made})
                alike = {
                    other: resized(one, (*one.Sizes[:d], new, *one.Sizes[d + 1 :]), None)
                    for other, one, _ in problem.tensors
                    if len(one.Sizes) == len(sizes) and one.Sizes[d] == size and other != path
                }
                if alike:
                    roles = [(other, role) for other, _, role in problem.tensors if other in alike]
                    more = sum(problem.size_cost(other, role) for other, role in roles)
                    values: dict[Path, Any] = {path: made, **alike}
                    yield Edit(cost + more, (*at, d), values)


def _restrided(tensor: TensorDesc, sizes: Shape) -> Shape | None:
    """The strides of a tensor for other sizes: kept where the tensor repeats, else packed again."""
    given = tensor.Strides
    if given is None or len(given) != len(sizes):
        return None
    if 0 not in given:
        return None
    strides, step = [], 1
    for size, old in zip(sizes[::-1], given[::-1], strict=True):
        strides.append(0 if old == 0 else step)
        step *= 1 if old == 0 else size
    return tuple(strides[::-1])


def _additions(problem: Problem) -> Iterator[Edit]:
    """Tensors and activations that are missing: as the tensors before, as the rule's values say."""
    desc = problem.desc
    for member in desc.MEMBERS:
        if member.name not in problem.members or getattr(desc, member.name) is not None:
            continue
        at: Path = (member.name,)
        count = getattr(desc, member.count) if member.count else None
        entries = count if type(count) is int and 0 < count <= MOST_ENTRIES else 1
        news: list[Any] = []
        if member.type == "tensor":
            names = [one.name for one in desc.MEMBERS]
            place = names.index(member.name)
            before = [one for one in problem.tensors if names.index(str(one[0][0])) < place]
            models = [tensor for _, tensor, _ in [*before[::-1], *problem.tensors]]
            types, ranks = _types_of(problem, member), _ranks_of(problem, member)
            for one in dict.fromkeys(
                replace(model, Strides=None, TotalTensorSizeInBytes=None) for model in models
            ):
                kept = [one.DataType] if one.DataType in types or not types else []
                for type_ in [*kept, *types[:4]]:
                    news.append(TensorDesc(type_, one.Sizes))
                    wanted = [rank for rank in ranks if rank != len(one.Sizes)][:3]
                    news += [
                        TensorDesc(type_, made.Sizes)
                        for rank in wanted
                        if (made := _leading(one, rank) or _merged(one, rank)) is not None
                    ]
        elif member.type == ACTIVATION:
            news = list(_activations(desc))
        elif member.count:
            default = 0 if member.default is None else member.default
            news = [default, 1] if default != 1 else [1, 0]
        for new in dict.fromkeys(news):
            whole = (new,) * entries if member.count else new
            yield Edit(COSTS["addition"], at, {at: whole})


def _activations(desc: Description) -> Iterator[Description]:
    """Activations without parameters."""
    for name in desc.FUSABLE:
        described = operator(name)
        if all(member.type == "tensor" for member in described.MEMBERS):
            yield described(**{member.name: None for member in described.MEMBERS})


def _absences(problem: Problem) -> Iterator[Edit]:
    """Optional members left out."""
    for member in problem.desc.MEMBERS:
        value = getattr(problem.desc, member.name)
        if member.name in problem.members and member.optional and value is not None:
            named = 0.0 if problem.at[:1] == (member.name,) else 0.4
            yield Edit(COSTS["absence"] + named, (member.name,), {(member.name,): None})


def _cuts(problem: Problem) -> Iterator[Edit]:
    """A list of tensors or activations with one more or less."""
    for member in problem.desc.MEMBERS:
        value = getattr(problem.desc, member.name)
        holds = member.type in ("tensor", ACTIVATION) and member.name in problem.members
        if holds and type(value) is tuple and member.count and value:
            for cut in (value[:-1], (*value, value[-1])):
                both: dict[Path, Any] = {(member.name,): cut, (member.count,): len(cut)}
                yield Edit(COSTS["addition"], (member.name,), both)


# Numbers.


def _attributes(problem: Problem) -> Iterator[Place]:
    """The places of attributes that the rule reads, inside structs and activations too."""
    for place in places_of(problem.desc, MOST_ENTRIES):
        tensor = any(place.path[: len(path)] == path for path, _, _ in problem.tensors)
        if not tensor and place.path[0] in problem.members and place.value is not None:
            yield place


def _near(problem: Problem, path: Path, value: Any) -> list[Any]:
    """Numbers to try in an attribute: what solves the rule, what its message shows, and the usual ones."""
    exact = plain(value)
    if type(exact) not in (int, float) or not -UNUSUAL < exact < UNUSUAL:
        exact = 0
    numbers: list[Any] = [*_solving(problem, path, exact), *problem.pool]
    numbers += [one + step for one in problem.pool[:8] if type(one) is int for step in (-1, 1)]
    numbers += [0, 1, 2, -exact, exact + 1, exact - 1, *(rank - 1 for rank in problem.ranks)]
    if type(exact) is int and 0 < exact < UNUSUAL:
        numbers += [1 << exact.bit_length(), 1 << exact.bit_length() - 1, -(-exact // 4) * 4]
    else:
        numbers += [exact / 2, 0.0, 1.0]
    return list(dict.fromkeys(one for one in numbers if -UNUSUAL < one < UNUSUAL))


def _solving(problem: Problem, path: Path, value: Any) -> list[Any]:
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
    if _is_shape(found) and _is_shape(expected) and len(found) == len(expected):
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


def _is_shape(value: Any) -> bool:
    return type(value) is tuple and bool(value) and all(type(one) is int for one in value)


def _holds(member: Member, number: Any) -> bool:
    """Whether a member's type can represent a number."""
    if member.type not in INTEGERS:
        return True
    least, most = INTEGERS[member.type]
    return type(number) is int and least <= number <= most


def _far(old: Any, new: Any) -> float:
    """The distance between two numbers, below 0.9."""
    old = plain(old)
    if type(old) not in (int, float):
        return 0.9
    gap = abs(new - old)
    return 0.9 * gap / (gap + max(abs(old), 1)) if gap < UNUSUAL else 0.9


Kind = Callable[[Problem], Iterator[Edit]]

KINDS: tuple[tuple[float, Kind], ...] = (
    (COSTS["output"], _outputs),
    (COSTS["count"], _counts),
    (COSTS["axis"], _axes),
    (COSTS["stored"], _stored),
    (COSTS["stored"], _strides),
    (COSTS["broadcast"], _broadcasts),
    (COSTS["ones"] - 0.1, _ranks),
    (COSTS["list"], _ones_for_zeros),
    (COSTS["layout"], _layouts),
    (COSTS["split"], _splits),
    (COSTS["heads"], _heads),
    (COSTS["output"], _types),
    (COSTS["transform"], _choices),
    (COSTS["strides"], _fields),
    (COSTS["list"], _arrangements),
    (COSTS["unset"], _numbers),
    (COSTS["unset"], _solved),
    (COSTS["axes"], _more_axes),
    (COSTS["exchange"], _exchanges),
    (COSTS["output"], partial(_sizes, kind="output")),
    (COSTS["parameter"], partial(_sizes, kind="parameter")),
    (COSTS["addition"], _additions),
    (COSTS["data"], partial(_sizes, kind="data")),
    (COSTS["absence"], _absences),
    (COSTS["addition"], _cuts),
)
"""Each kind of edit, after the least that one of it costs."""
