"""Finds the valid description that a person would most likely have meant by an invalid one.

The search tries `edits` on the first violation of a description, judges what they give, and goes
on with the cheapest until it comes to a valid one (uniform-cost search). If it finds none soon, it starts
again and prefers descriptions with few violations left. It ends because it judges a bounded number of
descriptions. Only a description that validates is an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import Any

from .description import Description
from .edits import KINDS, Kind
from .edits.costs import COSTS
from .edits.problem import Edit, Problem, unlike, wrong
from .enums import NEWEST, FeatureLevel, LevelLike, feature_level
from .errors import InvalidDescription
from .forms import DEEPEST, members_of
from .json_form import to_json
from .paths import Path, path_of, put_all, text_of, value_at
from .tensor import TensorDesc
from .validation import own_advice
from .value import WRONG_TYPE, Value
from .violation import Violation

MOST_STEPS = 5
MOST_OTHERS = 3  # descriptions as near as the closest that are shown
MOST_ALIKE = 2  # descriptions on the way that break the same rules with the same values
MOST_VALUES = 2048  # larger descriptions are not searched
AS_NEAR = 0.001  # descriptions whose costs differ by less are as near as each other
# The searches in turn: what a step and a remaining violation add to the cost of a description on the way, and
# how many descriptions are validated at most.
_SEARCHES = ((0.3, 300), (4.0, 700))


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
    """A valid description, and how it differs from the original.

    `others` are descriptions that are as near, if there are several.
    """

    desc: Description
    changes: tuple[Change, ...]
    others: tuple[Closest, ...] = ()

    @property
    def steps(self) -> int:
        """The number of changes, not counting those that follow from another."""
        return sum(change.because is not None for change in self.changes)


@dataclass(frozen=True, slots=True)
class _Step:
    """A change on the way: the violation that it answers, where it is, and what it gives."""

    because: Violation
    path: Path
    desc: Description


@dataclass(frozen=True, slots=True)
class _State:
    """A description on the way to a valid one, what is wrong with it, and the steps that led to it."""

    cost: float
    desc: Description
    left: list[Violation]
    steps: tuple[_Step, ...]


def closest(desc: Description, level: LevelLike = NEWEST) -> Closest | None:
    """The valid description at a feature level that keeps most of what an invalid one says.

    None if none is found: if the level does not have the operator, if too much would have to change, if a
    member has a value of the wrong type, or if there are thousands of values. A valid description is its own
    closest one. Raises ValueError for an unknown level.
    """
    level = feature_level(level)
    violations = desc.validate(level)
    if not violations:
        return Closest(desc, ())
    if level < desc.SINCE or desc._state & WRONG_TYPE or _values(desc) > MOST_VALUES:
        return None
    searches = (_Search(desc, violations, level, each).run(most) for each, most in _SEARCHES)
    found = next((found for found in searches if found), None)
    if found is None:
        return None
    first, *others = (_closest(desc, one) for one in found)
    return replace(first, others=tuple(others))


class _Search:
    """A search by increasing cost, in which an edit is only made when its turn comes.

    What waits is a description that is judged, a kind of edits for it, or one edit; each at the least that a
    description which comes of it can cost.
    """

    def __init__(
        self, desc: Description, violations: list[Violation], level: FeatureLevel, each: float
    ) -> None:
        self.level = level
        self.each = each
        self.outputs = {member.name for member in desc.TENSORS if member.role == "output"}
        self.waiting: list[tuple[float, int, Callable[[], None]]] = []
        self.seen = {desc}
        self.expanded: Counter[Hashable] = Counter()
        self.found: list[_State] = []
        self.judged = 0
        self.pushed = 0
        self.add(_State(0.0, desc, violations, ()))

    def run(self, most: int) -> list[_State]:
        """The nearest valid descriptions: one, or several that are as near; judges at most so many.

        If these do not suffice to rule out nearer ones, the nearest that it has come across.
        """
        while self.waiting and self.judged < most and self.waiting[0][0] <= self.nearest + AS_NEAR:
            _, _, go = heappop(self.waiting)
            go()
        near = [one for one in self.found if one.cost <= self.nearest + AS_NEAR]
        return sorted(near, key=lambda one: one.cost)[: 1 + MOST_OTHERS]

    @property
    def nearest(self) -> float:
        """The least cost of a valid description so far."""
        return min((one.cost for one in self.found), default=inf)

    def push(self, cost: float, go: Callable[[], None]) -> None:
        self.pushed += 1
        heappush(self.waiting, (cost, self.pushed, go))

    def add(self, state: _State) -> None:
        """A description that is judged: an answer, or one to go on from."""
        if state.left:
            if len(state.steps) < MOST_STEPS:
                self.push(state.cost + self.rest(state), partial(self.expand, state))
        else:
            self.found.append(state)

    def expand(self, state: _State) -> None:
        """All kinds of edits on the first violation of a description.

        If several earlier ones broke the same rules with the same values, they answer for it.
        """
        first = state.left[0]
        path = path_of(first.member)
        left = tuple((one.rule, one.member, one.values) for one in state.left)
        alike = left, value_at(state.desc, path[:1])
        if self.expanded[alike] == MOST_ALIKE:
            return
        self.expanded[alike] += 1
        if path[:1] and path[0] in self.outputs:
            self.follow(state, state, first, path)
        problem = Problem(state.desc, first, self.level)
        more = self.rest(state)
        for least, kind in KINDS:
            self.push(state.cost + least + more, partial(self.try_kind, state, problem, kind, more))

    def try_kind(self, state: _State, problem: Problem, kind: Kind, more: float) -> None:
        for edit in kind(problem):
            self.push(state.cost + edit.cost + more, partial(self.try_edit, state, edit))

    def try_edit(self, state: _State, edit: Edit) -> None:
        """Judges an edit; drops it if the violation that it is for remains, with no fewer wrong entries."""
        first = state.left[0]
        desc = put_all(state.desc, edit.values)
        if desc in self.seen:
            return
        self.seen.add(desc)
        left = self.judge(desc)
        same = [one for one in left if (one.rule, one.member) == (first.rule, first.member)]
        if any(wrong(one) >= wrong(first) for one in same):
            return
        cost = state.cost + edit.cost + COSTS["another step"] * bool(state.steps) + self.surprise(desc, left)
        new = _State(cost, desc, left, (*state.steps, _Step(first, edit.path, desc)))
        self.add(new)
        if left and all(path_of(one.member)[:1] and path_of(one.member)[0] in self.outputs for one in left):
            self.follow(state, new, first, edit.path)

    def follow(self, before: _State, state: _State, because: Violation, path: Path) -> None:
        """Adds the same with the outputs that follow from the rest.

        If they were wrong before the last step already, they are a separate step.
        """
        desc = _inferred(state.desc)
        if desc is None or desc in self.seen:
            return
        self.seen.add(desc)
        left = self.judge(desc)
        changed = [name for name in self.outputs if getattr(desc, name) != getattr(state.desc, name)]
        more = max((_unlike(state.desc, desc, name) for name in changed), default=0.0)
        cost = state.cost + len(changed) * COSTS["output"] + more + self.surprise(desc, left)
        earlier = None if before is state else _inferred(before.desc)
        if earlier is not None and all(getattr(earlier, name) == getattr(desc, name) for name in changed):
            steps = (*state.steps, _Step(state.left[0], path_of(state.left[0].member), desc))
        else:
            steps = (*before.steps, _Step(because, path, desc))
        self.add(_State(cost, desc, left, steps))

    def rest(self, state: _State) -> float:
        """An estimate of what is still to pay for a description on the way."""
        return self.each * (len(state.left) - 1 + len(state.steps))

    def judge(self, desc: Description) -> list[Violation]:
        self.judged += 1
        return desc.validate(self.level)

    def surprise(self, desc: Description, left: list[Violation]) -> float:
        """The cost of advice on sizes: the description is valid, and probably not what is meant."""
        if left:
            return 0.0
        advice = [path_of(one.member) for one in own_advice(desc, self.level)]
        return COSTS["advice"] * sum("Sizes" in path[1:] for path in advice)


def _unlike(before: Description, desc: Description, name: str) -> float:
    """The cost that is added for other sizes of an output than before."""
    old, new = getattr(before, name), getattr(desc, name)
    both = isinstance(old, TensorDesc) and isinstance(new, TensorDesc)
    return unlike(before, old, new.Sizes) if both else 0.0


def _inferred(desc: Description) -> Description | None:
    """The description with the outputs that follow from the rest, valid or not; None if they do not."""
    try:
        return desc.infer()
    except InvalidDescription as error:
        return error.desc
    except ValueError:
        return None


def _values(value: Any, depth: int = 0) -> int:
    """The number of values in a value; too many if activations are nested excessively."""
    if depth > DEEPEST:
        return MOST_VALUES + 1
    if isinstance(value, Value):
        members = [getattr(value, member.name) for member in members_of(type(value))]
        return sum(_values(one, depth + 1) for one in members)
    return sum(_values(one, depth) for one in value) if type(value) is tuple else 1


def _closest(desc: Description, found: _State) -> Closest:
    """The result of the search, with the changes of each step: the required one, then those that follow from
    it. What several steps change is said once, as it ends up.
    """
    changes: list[Change] = []
    before = desc
    for step in found.steps:
        differing = list(_differences(to_json(before)["desc"], to_json(step.desc)["desc"], ""))
        path = text_of(step.path)
        asked = next((one for one in differing if one[0].startswith(path) or path.startswith(one[0])), None)
        asked = asked or differing[0]
        changes.append(Change(*asked, step.because))
        changes += [Change(*one, None) for one in differing if one is not asked]
        before = step.desc
    final = {one.member: one.new for one in changes}
    first = {one.member: one for one in reversed(changes)}
    once = [replace(one, new=final[one.member]) for one in changes if one is first[one.member]]
    once = [one for one in once if one.old != one.new]
    once[0] = replace(once[0], because=changes[0].because)
    return Closest(found.desc, tuple(once))


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The paths at which two JSON values differ, with both values; None where there is none."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _differences(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif (
        isinstance(old, list)
        and isinstance(new, list)
        and len(old) == len(new)
        and all(isinstance(one, dict) for one in old)
    ):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif old != new or type(old) is not type(new):
        yield path, old, new
