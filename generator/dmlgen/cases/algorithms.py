"""The catalog's algorithms, computed element by element.

This is a third implementation beside reference and shaders: slow, simple, and independent of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cmp_to_key
from itertools import product
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any

from dmlgen.cases.elements import NAN, Arithmetic, Number
from dmlgen.cases.moves import packed
from dmlgen.cases.results import DUPLICATES, RANDOM, Coordinate, Data, Element, Origin
from dmlgen.cases.validators import members_of
from dmlgen.expr import ir
from dmlgen.expr.evaluate import LOAD, Environment, Evaluator
from dmlgen.registry import AlgorithmUse, Registry

if TYPE_CHECKING:
    from dmlops import Description

_Made = Iterator[tuple[str, Coordinate, Any]]  # output, coordinate, value


class Algorithm:
    """The algorithm of an operator as a function of description and data."""

    def __init__(self, registry: Registry, algorithm: AlgorithmUse) -> None:
        self._algorithm = algorithm
        self._arithmetic = Arithmetic(registry)
        self._evaluator = Evaluator(registry.bits, registry.signed, self._arithmetic.functions())
        algorithms: Mapping[str, Callable[[Environment], _Made]] = {
            "scatter": self._scatter, "top_k": self._top_k, "nonzero": self._nonzero, "philox": self._philox,
        }  # fmt: skip
        self._made = algorithms[algorithm.name]

    def elements(self, description: Description, inputs: Data) -> Iterator[Element]:
        """The output elements; if one occurs twice, the last value counts.

        The description is valid, and every tensor that is read has its data.
        """
        origins: set[Origin] = set()
        notes = self._arithmetic.notes

        def load(name: str, index: int | None, coordinate: Coordinate) -> Number:
            tensor, data = environment[name], inputs[name]
            place = sum(map(mul, coordinate, packed(tensor.Sizes)))
            origins.add((name, index, place))
            return self._arithmetic.load(data[place], tensor.DataType)

        environment = {**members_of(description), LOAD: load}
        notes.clear()
        for output, coordinate, value in self._made(environment):
            tensor = environment[output]
            result = self._arithmetic.stored(value, tensor.DataType)
            place = sum(map(mul, coordinate, packed(tensor.Sizes)))
            yield Element(output, None, place, *result, frozenset(notes), frozenset(origins))
            notes.clear()
            origins.clear()

    def _value(self, node: ir.Expr, environment: Environment) -> Any:
        return self._evaluator.function(node)(environment)

    def _role(self, name: str) -> str:
        role = self._algorithm.roles[name]
        assert isinstance(role, ir.Tensor)
        return role.name

    def _scatter(self, environment: Environment) -> _Made:
        assert self._algorithm.target is not None
        source, updates = self._role("input"), self._role("updates")
        for at in _coordinates(environment[source].Sizes):
            yield self._algorithm.output, at, environment[LOAD](source, None, at)
        taken: set[Coordinate] = set()
        for at in _coordinates(environment[updates].Sizes):
            place = self._value(self._algorithm.target, {**environment, "at": at})
            if place in taken:
                self._arithmetic.notes.add(DUPLICATES)
            taken.add(place)
            yield self._algorithm.output, place, environment[LOAD](updates, None, at)

    def _top_k(self, environment: Environment) -> _Made:
        roles, source = self._algorithm.roles, self._role("input")
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
            )  # stable: the first of equal ones comes first
            for at, chosen in zip(line[:count], order, strict=False):
                value = self._arithmetic.load(values[chosen], environment[source].DataType)
                yield self._algorithm.output, at, value
                yield self._role("indices"), at, chosen

    def _nonzero(self, environment: Environment) -> _Made:
        """The rows after the last coordinate are left out: they can have any value."""
        source, table = self._role("input"), self._role("coordinates")
        *ones, _, columns = environment[table].Sizes
        found = [
            at
            for at in _coordinates(environment[source].Sizes)
            if environment[LOAD](source, None, at).value != 0
        ]
        yield self._algorithm.output, (0,) * len(environment[self._algorithm.output].Sizes), len(found)
        for row, at in enumerate(found):
            for column, value in enumerate(at[len(at) - columns :]):
                yield table, (*(0 for _ in ones), row, column), value

    def _philox(self, environment: Environment) -> _Made:
        """Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011): Philox 4x32-10."""
        source, after = self._role("state"), self._role("next_state")
        words = [environment[LOAD](source, None, at).value for at in _coordinates(environment[source].Sizes)]
        counter = sum(word << 32 * place for place, word in enumerate(words[:4]))
        sizes = environment[self._algorithm.output].Sizes
        blocks = -(-prod(sizes) // 4)
        stream = [
            word for block in range(blocks) for word in _philox_block((counter + block) % 2**128, words[4:])
        ]
        self._arithmetic.notes.add(RANDOM)
        for at, word in zip(_coordinates(sizes), stream, strict=False):
            yield self._algorithm.output, at, word
        if environment[after] is not None:
            following = [(counter + blocks) % 2**128 >> 32 * place & 0xFFFFFFFF for place in range(4)]
            for at, word in zip(_coordinates(environment[after].Sizes), following + words[4:], strict=True):
                yield after, at, word


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
