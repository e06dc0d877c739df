"""Valid descriptions that together cover the whole support table, and many pairs of the other choices."""

from __future__ import annotations

from itertools import combinations, zip_longest
from typing import NamedTuple

from dmlgen.cases.changes import Place, State
from dmlgen.cases.data import MOST_ELEMENTS, is_light, is_small
from dmlgen.cases.samples import Chosen, laid_out
from dmlgen.cases.search import Search
from dmlgen.cases.validators import members_of, tensors_of
from dmlgen.expr import ir
from dmlgen.registry import FeatureLevel, Support

_ATTEMPTS, _GREEDY = 24, 3  # for one goal; of these with the choices that cover most
_SMALL = 16  # of these only with tensors whose data can be written out
_MOST_ELEMENTS = 1 << 20  # of a tensor for which no case has data
_MORE = 12  # cases beyond those that the table needs, to cover pairs


class Goal(NamedTuple):
    """A data type and dimension count of a tensor, at the lowest level whose table lists them.

    None means any.
    """

    level: FeatureLevel
    tensor: str
    type: str | None
    rank: int | None


class Positives:
    """Valid states by name; goals for which no state was found are `missed`."""

    def __init__(self, search: Search) -> None:
        self.search, self.registry = search, search.registry
        self.operator, self.sampler = search.operator, search.sampler
        self.found: dict[str, State] = {}
        self.missed: list[Goal] = []
        self._pairs: set[tuple[object, ...]] = set()
        self._shown: set[tuple[str, ir.Expr | None, str | int]] = set()
        self._value = {entry.name: entry.value for entry in self.registry.data_types}
        self._name = {value: name for name, value in self._value.items()}
        for level in search.validators.levels(search.operator):
            for row in self.operator.support[level.name]:
                self._show(level, row)
        if self.found:
            self._show_choices()

    def _show_choices(self) -> None:
        """Covers every enumerator, optional members given and absent, as far as rules allow; and pairs."""
        level = self.registry.levels[-1]
        rows = self.operator.support[level.name]
        row = next((row for row in rows if not self.operator.member[row.tensor].optional), rows[0])
        ranks = sorted(row.ranks, key=lambda rank: abs(rank - 3))[:3]
        plain = Goal(level, row.tensor, None, ranks[0])
        for name, values in self.search.choices(level).items():
            for value in values if not name.endswith((".DataType", ".layout")) else ():
                if not any(_shows_choice(state, name, value) for state in self.found.values()):
                    state = self._reach(plain, row, (name, value))
                    if state is not None:
                        self._keep(f"choice-{len(self.found)}", state, row)
        for number in range(_MORE):
            state = self._reach(plain._replace(rank=ranks[number % len(ranks)]), row)
            if state is not None:
                self._keep(f"pairs-{number + 1}", state, row)

    def _show(self, level: FeatureLevel, row: Support) -> None:
        """Covers every type and every dimension count of the row, two at a time if possible."""
        types = [type_ for type_ in row.types if not self._shows(row, type_)]
        ranks = [rank for rank in row.ranks if not self._shows(row, rank)]
        for type_, rank in zip_longest(types, ranks):
            if not self._shows(row, type_) and not self._shows(row, rank):
                self._try(Goal(level, row.tensor, type_, rank), row)
            for value, goal in (
                (type_, Goal(level, row.tensor, type_, None)),
                (rank, Goal(level, row.tensor, None, rank)),
            ):
                if not self._shows(row, value) and not self._try(goal, row):
                    self.missed.append(goal)

    def _try(self, goal: Goal, row: Support) -> bool:
        state = self._reach(goal, row)
        if state is not None:
            name = "-".join(str(part) for part in goal[1:] if part is not None)
            self._keep(name if name not in self.found else f"{name}-{len(self.found)}", state, row)
        return state is not None

    def _shows(self, row: Support, value: str | int | None) -> bool:
        return value is None or (row.tensor, row.when, value) in self._shown

    def _keep(self, name: str, state: State, row: Support) -> None:
        """Records what the state covers: for the row's tensor under its condition, for others under none."""
        self.found[name] = state
        for member, tensor in tensors_of(state.description):
            when = row.when if member == row.tensor else None
            type_ = self._name[tensor.DataType]
            self._shown |= {(member, when, type_), (member, when, tensor.DimensionCount)}

    def _reach(self, goal: Goal, row: Support, choice: tuple[str, object] | None = None) -> State | None:
        """A valid state that covers the goal and the choice, with strides if rules allow them."""
        value = None if goal.type is None else self._value[goal.type]
        when = None if row.when is None else self.search.proposer.compile(row.when)
        array = self.operator.member[goal.tensor].count is not None
        for attempt in range(_ATTEMPTS):
            slot = Place(goal.tensor, attempt % 2 if array else None)
            pinned = {Place(goal.tensor), *((Place(_member(choice[0])),) if choice is not None else ())}
            if attempt % 3 != 2:  # the choice may be unreachable from the sample
                pinned |= {slot._replace(field="DataType")} if goal.type else set()
                pinned |= {slot._replace(field="DimensionCount")} if goal.rank else set()
            rank = goal.rank or self.sampler.random.choice(row.ranks)
            chosen = self._choose(goal, row, attempt < _GREEDY, choice)
            description = self.sampler.description(rank, goal.level, chosen)
            start = State(goal.level, description)
            if row.when is not None:
                moves = list(self.search.setting.ways_to_choose(row.when, start))
                start = self.search.apply(self.sampler.random.choice(moves), start) if moves else start
                pinned |= {Place(node.name) for node in ir.walk(row.when) if isinstance(node, ir.Member)}
            state = self.search.mend(self.search.infer(start), pinned=frozenset(pinned))
            written_out = is_light(self.operator) and attempt < _SMALL
            if state is None or not is_small(state, MOST_ELEMENTS if written_out else _MOST_ELEMENTS):
                continue
            shows = any(
                member == goal.tensor
                and value in (None, tensor.DataType)
                and goal.rank in (None, tensor.DimensionCount)
                for member, tensor in tensors_of(state.description)
            )
            shows = shows and (choice is None or _shows_choice(state, *choice))
            if shows and (when is None or when(members_of(state.description))):
                laid = State(state.level, laid_out(state.description, self.operator, chosen))
                self._pairs.update(combinations(sorted(chosen.items(), key=lambda item: item[0]), 2))
                return laid if self.search.is_valid(laid) else state
        return None

    def _choose(self, goal: Goal, row: Support, greedy: bool, choice: tuple[str, object] | None) -> Chosen:
        """Types, layouts and so on: if greedy, those that cover the most new pairs."""
        chosen: dict[str, object] = {f"{goal.tensor}.given": True}
        chosen |= {choice[0]: choice[1]} if choice is not None else {}
        if goal.type is not None:
            chosen[f"{goal.tensor}.DataType"] = goal.type
        else:
            chosen[f"{goal.tensor}.DataType"] = self.sampler.random.choice(row.types)
        for name, values in self.search.choices(goal.level).items():
            if name not in chosen:
                shuffled = self.sampler.random.sample(values, len(values))
                chosen[name] = shuffled[0]
                if greedy:
                    chosen[name] = max(shuffled, key=lambda value: self._new_pairs(chosen, (name, value)))
        return chosen

    def _new_pairs(self, chosen: Chosen, choice: tuple[str, object]) -> int:
        pairs = self._pairs
        return sum(
            ((choice, other) if choice[0] < other[0] else (other, choice)) not in pairs
            for other in chosen.items()
        )


def _member(choice: str) -> str:
    return choice.partition(".")[0]


def _shows_choice(state: State, name: str, value: object) -> bool:
    """Whether a member has the value; or for a choice `.given`, whether it is given."""
    found = getattr(state.description, _member(name))
    return (found is not None) == value if name.endswith(".given") else found == value
