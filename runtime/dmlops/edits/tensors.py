"""Other fields of tensors: what is stored, data types, sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log2
from typing import Any

from ..description import Description
from ..enums import TensorDataType, TensorFlags
from ..paths import Path, places_of, value_at
from ..tensor import TensorDesc
from .costs import COSTS
from .problem import (
    MOST_ENTRIES,
    UNUSUAL,
    Edit,
    Problem,
    Shape,
    attributes_of,
    is_shape,
    resized,
    values_solving,
)


def infer_outputs(problem: Problem) -> Iterator[Edit]:
    """An output as its rule expects it."""
    at, expected = problem.at, problem.violation.expected
    for path, tensor, member in problem.read:
        if member.role == "output" and at == (*path, "Sizes") and is_shape(expected) and min(expected) > 0:
            cost = COSTS["output"] + problem.unlike(tensor, member, expected)
            yield Edit(cost, at, {path: resized(tensor, expected, None)})


def store_exactly(problem: Problem) -> Iterator[Edit]:
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
            for flags in TensorFlags.__members__.values():
                if flags != tensor.Flags:
                    yield Edit(COSTS["transform"], problem.at, {(*path, field): flags})


def drop_fields(problem: Problem) -> Iterator[Edit]:
    """A tensor's strides or total size left out."""
    is_optional = problem.at[-1:] in (("Strides",), ("TotalTensorSizeInBytes",))
    if is_optional and value_at(problem.desc, problem.at) is not None:
        yield Edit(COSTS["strides"] + COSTS["dropped"], problem.at, {problem.at: None})


def change_types(problem: Problem) -> Iterator[Edit]:
    """Other data types: for the tensor that is named, for all of the same type, for the first tensor; for
    attributes, rather the one that is expected."""
    for place in attributes_of(problem):
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
        listed = [type_ for _, _, member in group for type_ in problem.row(member).types]
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


def _unlike(old: TensorDataType, new: TensorDataType) -> float:
    """The distance between two data types, below 0.6: in kind first, then in width."""
    if not isinstance(old, TensorDataType) or not isinstance(new, TensorDataType) or not old.bits:
        return 0.5
    kinds = 0.0 if old.kind == new.kind else 0.1 if "float" not in (old.kind, new.kind) else 0.3
    width = abs(log2(new.bits / (old.bits if old.kind == new.kind else 32)))
    return kinds + 0.04 * width + (0.01 if new.bits < old.bits else 0) + 0.02 * (new.kind == "unsigned")


def resize_tensors(problem: Problem, kind: str) -> Iterator[Edit]:
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
        if is_shape(expected):
            shapes.insert(0, expected)
        for shape in dict.fromkeys(shapes):
            if shape != tensor.Sizes and all(one > 0 for one in shape):
                few = sum(a != b for a, b in zip(shape, tensor.Sizes, strict=False))
                more = 0.3 if len(shape) != len(tensor.Sizes) else 0.0
                made = resized(tensor, shape, None)
                cost = least + problem.unlike(tensor, member, shape) + 0.1 * min(few, 4)
                yield Edit(cost + more, at, {path: made})
        for d, size in enumerate(tensor.Sizes[:MOST_ENTRIES]):
            for new in dict.fromkeys([*values_solving(problem, (*at, d), size), *problem.pool, 1]):
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
    if given is None or len(given) != len(sizes) or 0 not in given:
        return None
    strides, step = [], 1
    for size, old in zip(sizes[::-1], given[::-1], strict=True):
        strides.append(0 if old == 0 else step)
        step *= 1 if old == 0 else size
    return tuple(strides[::-1])
