"""The catalog's algorithms, computed element by element.

This is a third implementation beside reference and shaders: slow, simple, and independent of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cmp_to_key
from itertools import product
from math import prod
from typing import Any

from dmlgen.cases.definition import Computation, Load, Stored
from dmlgen.cases.elements import NAN
from dmlgen.cases.results import RANDOM, Coordinate
from dmlgen.expr import ir
from dmlgen.registry import AlgorithmUse, Registry

_Values = Iterator[tuple[str, Coordinate, Any]]  # output, coordinate, value


class Algorithm(Computation):
    """The algorithm of an operator."""

    def __init__(self, registry: Registry, algorithm: AlgorithmUse) -> None:
        tensors = {name: role.name for name, role in algorithm.roles.items() if isinstance(role, ir.Tensor)}
        super().__init__(registry, (algorithm.output,), ())
        self._output, self._tensors = algorithm.output, tensors
        self._numbers = {
            name: self._program.value(node, True)
            for name, node in algorithm.roles.items()
            if name not in tensors
        }
        algorithms: Mapping[str, Callable[[Mapping[str, Any], Load], _Values]] = {
            "top_k": self._top_k, "nonzero": self._nonzero, "philox": self._philox,
        }  # fmt: skip
        self._computed = algorithms[algorithm.name]

    def _values(self, members: Mapping[str, Any], load: Load) -> Iterator[Stored]:
        return ((output, None, at, value) for output, at, value in self._computed(members, load))

    def _top_k(self, members: Mapping[str, Any], load: Load) -> _Values:
        source = self._tensors["input"]
        axis, count, largest = (self._numbers[name]({}) for name in ("axis", "count", "largest"))
        sizes = members[source].Sizes
        for start in product(*(range(1 if d == axis else size) for d, size in enumerate(sizes))):
            line = [(*start[:axis], place, *start[axis + 1 :]) for place in range(sizes[axis])]
            values = [load(source, None, at).value for at in line]
            if any(value != value for value in values):
                self._run.notes.add(NAN)

            def compared(i: int, j: int, values: list[Any] = values) -> int:
                x, y = values[i], values[j]
                order: int = (x != x) - (y != y) or (x > y) - (x < y)
                return -order if largest else order

            order = sorted(
                range(len(line)), key=cmp_to_key(compared)
            )  # stable: the first of equal ones comes first
            for at, chosen in zip(line[:count], order, strict=False):
                yield self._output, at, self._run.arithmetic.load(values[chosen], members[source].DataType)
                yield self._tensors["indices"], at, chosen

    def _nonzero(self, members: Mapping[str, Any], load: Load) -> _Values:
        """The rows after the last coordinate are left out: they can have any value."""
        source, table = self._tensors["input"], self._tensors["coordinates"]
        *ones, _, columns = members[table].Sizes
        found = [at for at in _coordinates(members[source].Sizes) if load(source, None, at).value != 0]
        yield self._output, (0,) * len(members[self._output].Sizes), len(found)
        for row, at in enumerate(found):
            for column, value in enumerate(at[len(at) - columns :]):
                yield table, (*(0 for _ in ones), row, column), value

    def _philox(self, members: Mapping[str, Any], load: Load) -> _Values:
        """Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011): Philox 4x32-10."""
        source, after = self._tensors["state"], self._tensors["next_state"]
        words = [load(source, None, at).value for at in _coordinates(members[source].Sizes)]
        counter = sum(word << 32 * place for place, word in enumerate(words[:4]))
        sizes = members[self._output].Sizes
        blocks = -(-prod(sizes) // 4)
        stream = [
            word for block in range(blocks) for word in _philox_block((counter + block) % 2**128, words[4:])
        ]
        self._run.notes.add(RANDOM)
        for at, word in zip(_coordinates(sizes), stream, strict=False):
            yield self._output, at, word
        if members[after] is not None:
            following = [(counter + blocks) % 2**128 >> 32 * place & 0xFFFFFFFF for place in range(4)]
            for at, word in zip(_coordinates(members[after].Sizes), following + words[4:], strict=True):
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
