"""Tensors, activations and optional members exchanged, added or left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..description import Description
from ..forms import ACTIVATION
from ..paths import Path
from ..registry import operator
from ..tensor import TensorDesc
from .costs import COSTS
from .layout import merge_leading, with_leading_ones
from .problem import MOST_ENTRIES, Edit, Problem


def exchange_tensors(problem: Problem) -> Iterator[Edit]:
    """The tensor that is named and another one, given for each other."""
    for path, tensor, _ in problem.read:
        if problem.at[: len(path)] == path:
            for other, one, _ in problem.tensors:
                if one != tensor:
                    yield Edit(COSTS["exchange"], path, {path: one, other: tensor})


def add_members(problem: Problem) -> Iterator[Edit]:
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
            types, ranks = problem.row(member).types, problem.row(member).ranks
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
                        if (made := with_leading_ones(one, rank) or merge_leading(one, rank)) is not None
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


def drop_members(problem: Problem) -> Iterator[Edit]:
    """Optional members left out."""
    for member in problem.desc.MEMBERS:
        value = getattr(problem.desc, member.name)
        if member.name in problem.members and member.optional and value is not None:
            named = 0.0 if problem.at[:1] == (member.name,) else 0.4
            yield Edit(COSTS["absence"] + named, (member.name,), {(member.name,): None})


def change_lengths(problem: Problem) -> Iterator[Edit]:
    """A list of tensors or activations with one more or less."""
    for member in problem.desc.MEMBERS:
        value = getattr(problem.desc, member.name)
        holds = member.type in ("tensor", ACTIVATION) and member.name in problem.members
        if holds and type(value) is tuple and member.count and value:
            for cut in (value[:-1], (*value, value[-1])):
                both: dict[Path, Any] = {(member.name,): cut, (member.count,): len(cut)}
                yield Edit(COSTS["addition"], (member.name,), both)
