"""What operators compute, one element after the other: a third implementation, beside reference and shaders.

It is slow and plain, shares nothing with the others but what is to be computed, and says of each element how
far another implementation may be away from it, and on which choices of this registry it rests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cmp_to_key, reduce
from itertools import product
from math import prod
from operator import mul
from typing import Any, NamedTuple

from dmlgen.cases import elements
from dmlgen.cases.elements import NAN, Arithmetic, Number
from dmlgen.cases.moves import packed
from dmlgen.description import Description, Nested, Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import LOAD, Environment, Evaluator
from dmlgen.judge import Judge
from dmlgen.schedules.schedule import Schedule, Steps

Elements = tuple[int | float | None, ...]  # of a tensor, row-major; None where any value is right
Data = Mapping[str, Elements | tuple[Elements, ...]]  # by member; of an array of tensors, each one's
Coordinate = tuple[int, ...]
Origin = tuple[
    str, int | None, int
]  # an input element: tensor, place in an array of tensors, row-major place

DUPLICATES = "several updates of one element"
EQUALS = "which of equal elements counts"
RANDOM = "the order of random words"

CHOICES = elements.CHOICES | {DUPLICATES, EQUALS, RANDOM}
"""What no source defines, and has a value here by this registry's choice."""

ALWAYS = frozenset({RANDOM})
"""Choices that no data can leave out."""


class Element(NamedTuple):
    """An element of an output: where it is, what it rests on (`notes`), and what it was made of (`origins`).

    `entry` is the place in an array of tensors, `place` the row-major one in the tensor.
    """

    output: str
    entry: int | None
    place: int
    value: int | float
    error: float
    notes: frozenset[str]
    origins: frozenset[Origin]


_Made = Iterator[tuple[str, int | None, Coordinate, Any]]  # output, place in an array, coordinate, value


class Computation:
    """The `compute` section of an operator as a function."""

    def __init__(self, judge: Judge, compute: Schedule) -> None:
        registry = judge.general.registry
        self.compute, self._judge, self._registry = compute, judge, registry
        self._arithmetic = Arithmetic(registry)
        functions = {**self._arithmetic.functions(), "activated": self._activated}
        self._evaluator = Evaluator(registry.bits, registry.signed, functions)
        self._kernels: Mapping[str, Callable[[Environment], _Made]] = {
            "map": self._map, "gather": self._map, "reduce": self._reduce, "scan": self._scan,
            "scatter": self._scatter, "top_k": self._top_k, "nonzero": self._nonzero, "philox": self._philox,
        }  # fmt: skip

    def elements(self, description: Description, inputs: Data) -> Iterator[Element]:
        """The output elements; one that comes twice has its last value.

        The description is valid, and every tensor that is read has its data.
        """
        origins: set[Origin] = set()
        notes = self._arithmetic.notes

        def load(name: str, index: int | None, coordinate: Coordinate) -> Number:
            tensor: Any = environment[name]
            data: Any = inputs[name]
            if index is not None:
                tensor, data = tensor[index], data[index]
            place = sum(map(mul, coordinate, packed(tensor.Sizes)))
            origins.add((name, index, place))
            return self._arithmetic.load(data[place], tensor.DataType)

        environment = {**self._judge.environment(description), LOAD: load}
        notes.clear()
        for output, index, coordinate, value in self._kernels[self.compute.form](environment):
            tensor = environment[output] if index is None else environment[output][index]
            result = self._arithmetic.stored(value, tensor.DataType)
            place = sum(map(mul, coordinate, packed(tensor.Sizes)))
            yield Element(output, index, place, *result, frozenset(notes), frozenset(origins))
            notes.clear()
            origins.clear()

    def _value(self, node: ir.Expr, environment: Environment) -> Any:
        return self._evaluator.function(node)(environment)

    def _role(self, name: str) -> str:
        role = self.compute.roles[name]
        assert isinstance(role, ir.Tensor)
        return role.name

    def _activated(self, value: Number, activation: Nested | None) -> Any:
        """A fused activation: the element that it computes from the value alone."""
        if activation is None:
            return value
        operator = self._registry.operator[activation.operator]
        assert operator.schedule is not None and operator.schedule.value is not None
        absent = dict.fromkeys(operator.member)
        given = dict(activation.members)
        environment = {**absent, **given, "at": (), LOAD: lambda name, index, at: value}
        return self._value(operator.schedule.value, environment)

    def _map(self, environment: Environment) -> _Made:
        compute = self.compute
        assert compute.value is not None
        over = environment[compute.over]
        output = environment[compute.output]
        for index, tensor in ((None, over),) if isinstance(over, Tensor) else enumerate(over):
            target = None if isinstance(output, Tensor) else index
            for at in _coordinates(tensor.Sizes):
                here = {**environment, "at": at, "index": index}
                place = at if compute.place is None else self._value(compute.place, here)
                yield compute.output, target, place, self._value(compute.value, here)

    def _steps(self) -> Mapping[str, Callable[..., Any]]:
        """The steps that hold always, as functions of the names in ir.STEP_NAMES."""
        return self._functions(next(steps for steps in self.compute.steps if steps.case == "ALWAYS"))

    def _functions(self, steps: Steps) -> Mapping[str, Callable[..., Any]]:
        def function(node: ir.Expr) -> Callable[..., Any]:
            evaluated = self._evaluator.function(node)
            return lambda *values: evaluated(dict(zip(ir.STEP_NAMES, values, strict=False)))

        return {name: function(node) for name, node in steps.expressions.items()}

    def _reduce(self, environment: Environment) -> _Made:
        roles = self.compute.roles
        source, sizes = self._role("input"), environment[self._role("input")].Sizes
        reduced = set(self._value(roles["axes"], environment))
        steps = self._case(environment)
        kept = [range(1) if d in reduced else range(size) for d, size in enumerate(sizes)]
        within = [range(size) if d in reduced else range(1) for d, size in enumerate(sizes)]
        for start in product(*kept):
            places = [tuple(map(sum, zip(start, step, strict=True))) for step in product(*within)]
            elements = [environment[LOAD](source, None, place) for place in places]
            if "better" in steps:
                chosen = self._chosen(elements, steps, environment)
                results = [elements[0].like(place == chosen) for place in range(len(elements))]
                shift: Any = None
                result: Any = chosen
            else:
                shift = 0
                if "shift" in steps:
                    shift = reduce(steps["shift"], elements)
                    shift = shift.like(0) if shift.value in (float("inf"), -float("inf")) else shift
                mapped = [steps["map"](x, shift) for x in elements] if "map" in steps else elements
                result = reduce(steps["combine"], mapped)
                if "finish" in steps:
                    result = steps["finish"](result, shift, None, elements[0].like(len(elements)))
                results = [result] * len(elements)
            if "each" in steps:
                made = [steps["each"](x, y, shift) for x, y in zip(elements, results, strict=True)]
            elif "each_mapped" in steps:
                made = [steps["each_mapped"](x, y) for x, y in zip(mapped, results, strict=True)]
            else:
                yield self.compute.output, None, start, result
                continue
            for place, value in zip(places, made, strict=True):
                yield self.compute.output, None, place, value

    def _case(self, environment: Environment) -> Mapping[str, Callable[..., Any]]:
        """The steps of the function that the description names."""
        if "function" not in self.compute.roles:
            return self._steps()
        role = self.compute.roles["function"]
        function = self._value(role, environment)
        names = {entry.value: entry.name for entry in self._registry.enums[role.type.name or ""].entries}
        return self._functions(next(one for one in self.compute.steps if one.case == names[function]))

    def _chosen(
        self, elements: list[Number], steps: Mapping[str, Callable[..., Any]], environment: Environment
    ) -> int:
        """The place of the best element; of several the first, or the last where a direction says so."""
        better, last = steps["better"], False
        if "direction" in self.compute.roles:
            increasing = self._registry.enums["AXIS_DIRECTION"].entries[0]
            last = self._value(self.compute.roles["direction"], environment) != increasing.value
        chosen = 0
        for place in range(1, len(elements)):
            new, old = elements[place], elements[chosen]
            equal = not better(new, old) and not better(old, new)
            if better(new, old) or (equal and last):
                chosen = place
        if "direction" not in self.compute.roles and "each" not in steps:
            best = [x for x in elements if not better(elements[chosen], x)]
            if len(best) > 1:
                self._arithmetic.notes.add(EQUALS)
        return chosen

    def _scan(self, environment: Environment) -> _Made:
        roles, source = self.compute.roles, self._role("input")
        axis = self._value(roles["axis"], environment)
        steps, sizes = self._steps(), environment[source].Sizes
        way = range(sizes[axis])[:: -1 if self._value(roles["decreasing"], environment) else 1]
        exclusive = self._value(roles["exclusive"], environment)
        for start in product(*(range(1 if d == axis else size) for d, size in enumerate(sizes))):
            running = None
            for place in way:
                at = (*start[:axis], place, *start[axis + 1 :])
                element = environment[LOAD](source, None, at)
                before = element.like(steps["identity"]()) if running is None else running
                running = steps["combine"](before, element)
                yield self.compute.output, None, at, before if exclusive else running

    def _scatter(self, environment: Environment) -> _Made:
        assert self.compute.place is not None
        source, updates = self._role("input"), self._role("updates")
        for at in _coordinates(environment[source].Sizes):
            yield self.compute.output, None, at, environment[LOAD](source, None, at)
        taken: set[Coordinate] = set()
        for at in _coordinates(environment[updates].Sizes):
            place = self._value(self.compute.place, {**environment, "at": at})
            if place in taken:
                self._arithmetic.notes.add(DUPLICATES)
            taken.add(place)
            yield self.compute.output, None, place, environment[LOAD](updates, None, at)

    def _top_k(self, environment: Environment) -> _Made:
        roles, source = self.compute.roles, self._role("input")
        axis, count, largest = (
            self._value(roles[name], environment) for name in ("axis", "count", "largest")
        )
        sizes = environment[source].Sizes
        for start in product(*(range(1 if d == axis else size) for d, size in enumerate(sizes))):
            line = [(*start[:axis], place, *start[axis + 1 :]) for place in range(sizes[axis])]
            values = [environment[LOAD](source, None, at).value for at in line]
            if any(value != value for value in values):
                self._arithmetic.notes.add(NAN)

            def compared(i: int, j: int, values: list[Any] = values) -> int:
                x, y = values[i], values[j]
                order: int = (x != x) - (y != y) or (x > y) - (x < y)
                return -order if largest else order

            order = sorted(
                range(len(line)), key=cmp_to_key(compared)
            )  # stable: the first of equal ones first
            for at, chosen in zip(line[:count], order, strict=False):
                value = self._arithmetic.load(values[chosen], environment[source].DataType)
                yield self.compute.output, None, at, value
                yield self._role("indices"), None, at, chosen

    def _nonzero(self, environment: Environment) -> _Made:
        """The rows after the last coordinate are left out: they may hold anything."""
        source, table = self._role("input"), self._role("coordinates")
        *ones, _, columns = environment[table].Sizes
        found = [
            at
            for at in _coordinates(environment[source].Sizes)
            if environment[LOAD](source, None, at).value != 0
        ]
        yield self.compute.output, None, (0,) * len(environment[self.compute.output].Sizes), len(found)
        for row, at in enumerate(found):
            for column, value in enumerate(at[len(at) - columns :]):
                yield table, None, (*(0 for _ in ones), row, column), value

    def _philox(self, environment: Environment) -> _Made:
        """Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011): Philox 4x32-10."""
        source, after = self._role("state"), self._role("next_state")
        words = [environment[LOAD](source, None, at).value for at in _coordinates(environment[source].Sizes)]
        counter = sum(word << 32 * place for place, word in enumerate(words[:4]))
        sizes = environment[self.compute.output].Sizes
        blocks = -(-prod(sizes) // 4)
        stream = [
            word for block in range(blocks) for word in _philox_block((counter + block) % 2**128, words[4:])
        ]
        self._arithmetic.notes.add(RANDOM)
        for at, word in zip(_coordinates(sizes), stream, strict=False):
            yield self.compute.output, None, at, word
        if environment[after] is not None:
            following = [(counter + blocks) % 2**128 >> 32 * place & 0xFFFFFFFF for place in range(4)]
            for at, word in zip(_coordinates(environment[after].Sizes), following + words[4:], strict=True):
                yield after, None, at, word


def _philox_block(counter: int, key: Iterable[int]) -> tuple[int, ...]:
    """The random words of one counter."""
    a, b, c, d = (counter >> 32 * place & 0xFFFFFFFF for place in range(4))
    first, second = key
    for _ in range(10):
        product_, other = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (
            other >> 32 ^ b ^ first,
            other & 0xFFFFFFFF,
            product_ >> 32 ^ d ^ second,
            product_ & 0xFFFFFFFF,
        )
        first, second = (first + 0x9E3779B9) & 0xFFFFFFFF, (second + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def _coordinates(sizes: Iterable[int]) -> Iterator[Coordinate]:
    """In row-major order."""
    return product(*map(range, sizes))
