"""Valid descriptions that together show the whole support table, and every pair of the choices beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from random import Random
from typing import NamedTuple

from dmlgen.cases.moves import Place, State, packed
from dmlgen.cases.search import Search
from dmlgen.description import Tensor
from dmlgen.registry import FeatureLevel, Member, Operator, Registry

MAX_ELEMENTS = 24  # of a tensor, so that cases stay readable
_SIZES = (1, 2, 2, 3, 4)
_ATTEMPTS = 6


class Goal(NamedTuple):
    """A data type and dimension count of a tensor, at the lowest level whose table has them."""

    level: FeatureLevel
    tensor: str
    type: str
    rank: int


class Positives:
    """Valid states by goal; goals that no state was found for are `missed`."""

    def __init__(self, search: Search) -> None:
        self.search, self.registry = search, search.registry
        self.operator = search.operator
        self.random = Random(self.operator.name)
        self.found: dict[Goal, State] = {}
        self.missed: list[Goal] = []
        self._pairs: set[frozenset[tuple[str, object]]] = set()
        covered: set[tuple[str, int, int]] = set()
        for goal in goals(self.registry, self.operator):
            wanted = (goal.tensor, self.registry.data_type[goal.type].value, goal.rank)
            if wanted in covered:
                continue
            state = self._reach(goal)
            if state is None:
                self.missed.append(goal)
                continue
            self.found[goal] = state
            tensors = [
                (name, value) for name, value in state.description.items() if isinstance(value, Tensor)
            ]
            covered |= {(name, tensor.DataType, tensor.DimensionCount) for name, tensor in tensors}

    def _reach(self, goal: Goal) -> State | None:
        """A valid state that shows the goal, with strides where rules allow them."""
        value = self.registry.data_type[goal.type].value
        for _ in range(_ATTEMPTS):
            chosen = self._choose(goal)
            pinned = frozenset({Place(goal.tensor, "DataType"), Place(goal.tensor, "DimensionCount")})
            state = self.search.mend(self._sample(goal, chosen), pinned=pinned)
            if state is None:
                continue
            tensor = state.description[goal.tensor]
            assert isinstance(tensor, Tensor)
            if (tensor.DataType, tensor.DimensionCount) != (value, goal.rank) or not _small(state):
                continue
            state = self._lay_out(state, chosen)
            self._pairs |= set(map(frozenset, combinations(chosen.items(), 2)))
            return state
        return None

    def _choose(self, goal: Goal) -> dict[str, object]:
        """Types, dimension count and layouts that show the most pairs not seen yet."""
        chosen: dict[str, object] = {"rank": goal.rank, f"{goal.tensor}.DataType": goal.type}
        choices: dict[str, Sequence[object]] = {}
        for member in self.operator.tensors:
            rows = [row for row in self.operator.support[goal.level.name] if row.tensor == member.name]
            choices[f"{member.name}.DataType"] = [type_ for row in rows for type_ in row.types]
            choices[f"{member.name}.layout"] = layouts(member)
        for name, values in choices.items():
            if name not in chosen:
                shuffled = self.random.sample(values, len(values))
                chosen[name] = max(shuffled, key=lambda value: self._new_pairs(chosen, (name, value)))
        return chosen

    def _new_pairs(self, chosen: dict[str, object], choice: tuple[str, object]) -> int:
        return sum(frozenset((choice, other)) not in self._pairs for other in chosen.items())

    def _sample(self, goal: Goal, chosen: dict[str, object]) -> State:
        """A state that need not be valid."""
        common = self._sizes(goal.rank)
        alike = self.random.random() < 0.5
        description: dict[str, Tensor | int | None] = {}
        for member in self.operator.members:
            if member.is_tensor:
                type_ = self.registry.data_type[str(chosen[f"{member.name}.DataType"])]
                description[member.name] = Tensor(type_.value, common if alike else self._sizes(goal.rank))
            else:
                description[member.name] = self.random.randint(0, goal.rank)
        return State(goal.level, description)

    def _sizes(self, rank: int) -> tuple[int, ...]:
        sizes: list[int] = []
        for _ in range(rank):
            size = self.random.choice(_SIZES)
            sizes.append(size if math.prod(sizes) * size <= MAX_ELEMENTS else 1)
        self.random.shuffle(sizes)
        return tuple(sizes)

    def _lay_out(self, state: State, chosen: dict[str, object]) -> State:
        description = dict(state.description)
        for member in self.operator.tensors:
            tensor = description[member.name]
            if isinstance(tensor, Tensor):
                strides = laid_out(str(chosen[f"{member.name}.layout"]), tensor.Sizes)
                description[member.name] = tensor._replace(Strides=strides)
        after = State(state.level, description)
        return after if self.search.is_valid(after) else state


def goals(registry: Registry, operator: Operator) -> Iterator[Goal]:
    """What the tables of all levels have, lowest level first."""
    seen: set[tuple[str, str, int]] = set()
    for level in registry.levels[operator.since.ordinal :]:
        for row in operator.support[level.name]:
            for type_, rank in product(row.types, row.ranks):
                if (row.tensor, type_, rank) not in seen:
                    seen.add((row.tensor, type_, rank))
                    yield Goal(level, row.tensor, type_, rank)


def layouts(member: Member) -> tuple[str, ...]:
    """How a tensor may lie in memory; elements of an output may not share a place."""
    everywhere = ("default", "packed", "padded", "transposed")
    return (*everywhere, "broadcast") if member.role == "input" else everywhere


def laid_out(layout: str, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of a layout."""
    match layout:
        case "packed":
            return packed(sizes)
        case "padded":
            return packed((*sizes[:-1], sizes[-1] + 1))
        case "transposed":
            return tuple(reversed(packed(tuple(reversed(sizes)))))
        case "broadcast":
            return (0, *packed(sizes)[1:])
        case _:
            return None


def _small(state: State) -> bool:
    tensors = (value for value in state.description.values() if isinstance(value, Tensor))
    return all(math.prod(tensor.Sizes) <= 2 * MAX_ELEMENTS for tensor in tensors)
