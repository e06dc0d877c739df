"""The same elements of tensors, described differently: strides, broadcasts, ranks, layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from ..description import Description
from ..enums import TensorDataType
from ..paths import Path, path_of, put_all
from ..registry import INTEGERS
from ..tensor import TensorDesc
from .costs import COSTS
from .problem import UNUSUAL, Edit, Found, Problem, Shape, is_shape, resized

Order = tuple[range, Callable[[int], Shape]]  # for some ranks: the dimensions in another order

_CHANNELS_FIRST: Order = range(3, 6), lambda rank: (0, rank - 1, *range(1, rank - 1))  # NCHW from NHWC
_OUTPUTS_FIRST: Order = range(3, 6), lambda rank: (1, 0, *range(2, rank))  # OIHW from IOHW, and back
_FILTERS_FIRST: Order = range(4, 6), lambda rank: (rank - 1, rank - 2, *range(rank - 2))  # OIHW from HWIO
# Batch and sequence exchanged, behind a leading 1 or the heads of attention.
_BATCH_FIRST: Order = range(4, 5), lambda rank: (0, 2, 1, 3)
_TRANSPOSED: Order = range(2, 9), lambda rank: (*range(rank - 2), rank - 1, rank - 2)


def restride(problem: Problem) -> Iterator[Edit]:
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
            yield Edit(COSTS["strides"], at, {path: resized(tensor, sizes, tuple(whole))})
        elif len(given) > len(sizes):
            for cut in (given[-len(sizes) :], given[: len(sizes)]):
                yield Edit(COSTS["strides"], at, {path: resized(tensor, sizes, cut)})
        size = tensor.DataType.bits // 8 if isinstance(tensor.DataType, TensorDataType) else 0
        if size > 1 and len(given) == len(sizes) and all(one % size == 0 for one in given):
            counted = tuple(one // size for one in given)
            yield Edit(COSTS["stored"], at, {path: resized(tensor, sizes, counted)})
        yield Edit(COSTS["strides"] + COSTS["dropped"], at, {path: resized(tensor, sizes, None)})


def broadcast(problem: Problem) -> Iterator[Edit]:
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
    if is_shape(problem.violation.expected):
        targets.insert(0, problem.violation.expected)
    if problem.at[-1:] == ("DimensionCount",):  # of a scalar or vector: the sizes of what it goes with
        few = max((prod(tensor.Sizes) for _, tensor, _ in problem.read), default=0)
        targets += [tensor.Sizes for _, tensor, _ in problem.tensors if prod(tensor.Sizes) > few]
    whole = _common_sizes([tensor.Sizes for _, tensor, member in problem.read if member.role == "input"])
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


def _common_sizes(shapes: list[Shape]) -> Shape | None:
    """The sizes to which all these broadcast, aligned at the last dimension; None if there are none."""
    rank = max(map(len, shapes), default=0)
    whole = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and whole[at] not in (1, size):
                return None
            whole[at] = max(whole[at], size)
    return tuple(whole)


def change_ranks(problem: Problem) -> Iterator[Edit]:
    """Other dimension counts: ones in front or behind, added or removed; dimensions in front merged."""
    found, expected = problem.violation.found, problem.violation.expected
    lengths = {len(one) for one in (found, expected) if is_shape(one)}
    lengths |= {len(tensor.Sizes) for _, tensor, _ in problem.read}
    if "DimensionCount" not in problem.at and (len(lengths) == 1 or not problem.is_about_shapes):
        return
    wanted = {rank for path, _, member in problem.read for rank in problem.row(member).ranks}
    wanted |= set(problem.ranks) | ({problem.ranks[-1] + 1} if problem.ranks else set())
    named = [one for one in problem.tensors if problem.at[: len(one[0])] == one[0]]
    for rank in sorted(wanted):
        for group in _of_other_rank(problem, named, rank):
            for extra, reranked in _RERANKED:
                changed = {path: reranked(tensor, rank) for path, tensor, _ in group}
                if any(one is None for one in changed.values()):
                    continue
                if reranked is _with_inserted_ones and all(member.optional for _, _, member in group):
                    extra = COSTS["trailing ones"] - 0.1  # a mask of batches and keys
                cost = COSTS["ones"] + extra + 0.05 * (len(group) - 1)
                values: dict[Path, Any] = dict(changed)
                first = problem.tensors[0]
                path = (*group[0][0], "Sizes")
                if reranked is with_leading_ones and first[0] in changed:
                    axes = _moved(problem.desc, rank - len(first[1].Sizes))
                    if axes:
                        yield Edit(cost, path, {**values, **axes})
                        cost += 0.1
                yield Edit(cost, path, values)


def _of_other_rank(problem: Problem, named: list[Found], rank: int) -> Iterator[list[Found]]:
    """The tensors to change together: first those named, then those like them, then all that differ."""
    seen: set[tuple[Path, ...]] = set()
    ranks = {len(tensor.Sizes) for _, tensor, _ in named}
    alike = [one for one in problem.tensors if len(one[1].Sizes) in ranks]
    inputs = [one for one in problem.tensors if one[2].role == "input"]
    for group in (named, alike, inputs, problem.read, problem.tensors):
        changed = [one for one in group if len(one[1].Sizes) != rank]
        key = tuple(path for path, _, _ in changed)
        if changed and key not in seen:
            seen.add(key)
            yield changed


def with_leading_ones(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With ones in front, or without those that are there."""
    more = rank - len(tensor.Sizes)
    strides = tensor.Strides
    if more >= 0:
        grown = None if strides is None else (0,) * more + strides
        return resized(tensor, (1,) * more + tensor.Sizes, grown)
    if rank > 0 and all(one == 1 for one in tensor.Sizes[:-rank]):
        return resized(tensor, tensor.Sizes[-rank:], None if strides is None else strides[-rank:])
    return None


def _with_trailing_ones(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With ones behind, or without those that are there."""
    more = rank - len(tensor.Sizes)
    strides = tensor.Strides
    if more > 0:
        grown = None if strides is None else strides + (0,) * more
        return resized(tensor, tensor.Sizes + (1,) * more, grown)
    if 0 < rank < len(tensor.Sizes) and all(one == 1 for one in tensor.Sizes[rank:]):
        return resized(tensor, tensor.Sizes[:rank], None if strides is None else strides[:rank])
    return None


def merge_leading(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With the first dimensions merged, if the tensor is packed."""
    extra = len(tensor.Sizes) - rank
    if extra <= 0 or rank <= 0 or tensor.Strides is not None:
        return None
    merged = prod(tensor.Sizes[: extra + 1])
    return resized(tensor, (merged, *tensor.Sizes[extra + 1 :]), None)


def _along_channels(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """A vector along the channels."""
    if len(tensor.Sizes) != 1 or rank < 3:
        return None
    return resized(tensor, (1, *tensor.Sizes, *(1,) * (rank - 2)), None)


def _with_inserted_ones(tensor: TensorDesc, rank: int) -> TensorDesc | None:
    """With ones after the first dimension: channels that are missing between batch and space."""
    more = rank - len(tensor.Sizes)
    if more <= 0 or len(tensor.Sizes) < 2 or tensor.Strides is not None:
        return None
    return resized(tensor, (tensor.Sizes[0], *(1,) * more, *tensor.Sizes[1:]), None)


_RERANKED = (
    (0.0, with_leading_ones),
    (-0.1, _along_channels),
    (COSTS["trailing ones"], _with_trailing_ones),
    (COSTS["inserted ones"], _with_inserted_ones),
    (COSTS["merged"], merge_leading),
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


def reorder_dimensions(problem: Problem) -> Iterator[Edit]:
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
        groups.append(("layout", [(one, _CHANNELS_FIRST) for one in group]))
    for one in named:
        rest = [(other, _CHANNELS_FIRST) for other in data if other != one]
        groups.append(("filter layout", [(one, _FILTERS_FIRST)]))
        groups.append(("filter layout", [*rest, (one, _FILTERS_FIRST)]))
        groups.append(("filter layout", [(one, _BATCH_FIRST)]))
        groups.append(("transposed layout", [(one, _TRANSPOSED)]))
        groups.append(("outputs first", [(one, _OUTPUTS_FIRST)]))
    for kind, orders in groups:
        values: dict[Path, Any] = {}
        for (path, tensor, _), (ranks, order) in orders:
            rank = len(tensor.Sizes)
            if rank in ranks and len(tensor.element_strides) == rank:
                values[path] = _permuted(tensor, order(rank))
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


def split_dimensions(problem: Problem) -> Iterator[Edit]:
    """A last dimension that combines several: heads, and tensors that are stacked."""
    if not problem.is_about_shapes:
        return
    numbers = [getattr(problem.desc, one.name) for one in problem.desc.MEMBERS if one.type in INTEGERS]
    factors = [one for one in dict.fromkeys(numbers) if type(one) is int and 1 < one < UNUSUAL]
    for path, tensor, member in problem.read:
        wanted = problem.row(member).ranks
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
                    yield Edit(COSTS["split"], (*path, "Sizes"), {path: resized(tensor, sizes, None)})


def merge_heads(problem: Problem) -> Iterator[Edit]:
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
