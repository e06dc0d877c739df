"""What operators compute, element by element in plain Python: exact for operators that move data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from operator import mul
from random import Random

from dmlgen.cases.moves import packed
from dmlgen.description import Description, Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import LOAD
from dmlgen.judge import Judge
from dmlgen.registry import Compute, EnumEntry, Operator, Registry

Elements = tuple[int | float, ...]  # of a tensor, row-major
Data = Mapping[str, Elements]


class Computation:
    """The `compute` section of an operator as a function."""

    def __init__(self, judge: Judge, compute: Compute) -> None:
        self.output, self._judge = compute.output, judge
        self._element = judge.general.compile(compute.value)

    def run(self, description: Description, inputs: Data) -> Data:
        """The output's elements. The description is valid, and every tensor that is read has its data."""
        strides = {
            name: packed(value.Sizes) for name, value in description.items() if isinstance(value, Tensor)
        }

        def load(name: str, coordinate: tuple[int, ...]) -> int | float:
            place: int = sum(map(mul, coordinate, strides[name]))
            return inputs[name][place]

        environment = {**self._judge.environment(description), LOAD: load}
        sizes = environment[self.output].Sizes
        coordinates = product(*map(range, sizes))
        return {self.output: tuple(self._element({**environment, "at": at}) for at in coordinates)}


def sample_inputs(registry: Registry, operator: Operator, description: Description, random: Random) -> Data:
    """Elements that tell places apart; indices on both sides of what is in range."""
    assert operator.compute is not None
    indices = set(_index_tensors(operator.compute.value))
    types = {entry.value: entry for entry in registry.data_types}
    tensors = {name: value for name, value in description.items() if isinstance(value, Tensor)}
    largest = max(size for tensor in tensors.values() for size in tensor.Sizes)
    inputs: dict[str, Elements] = {}
    for member in operator.inputs:
        if member.name in tensors:
            tensor = tensors[member.name]
            count, type_ = math.prod(tensor.Sizes), types[tensor.DataType]
            values = _indices(type_, largest, random) if member.name in indices else _distinct(type_)
            inputs[member.name] = tuple(next(values) for _ in range(count))
    return inputs


def _index_tensors(node: ir.Expr) -> Iterator[str]:
    """The tensors whose elements are used as indices."""
    for part in ir.walk(node):
        match part:
            case ir.Call(function="wrap", arguments=(ir.Load(tensor=tensor), _)):
                yield tensor.name


def _distinct(type_: EnumEntry) -> Iterator[int | float]:
    """The extreme of an integer type first, so that no bit may be lost; then halves or whole numbers."""
    if type_.kind != "float":
        yield -(1 << type_.bits - 1) if type_.kind == "signed" else (1 << type_.bits) - 1
    number = 0
    while True:
        yield number + 0.5 if type_.kind == "float" else number
        number = -number if type_.kind != "unsigned" and number > 0 else abs(number) + 1


def _indices(type_: EnumEntry, size: int, random: Random) -> Iterator[int]:
    """Mostly in range of `size`, now and then just outside of it."""
    least = -size - 1 if type_.kind == "signed" else 0
    while True:
        yield random.choice((random.randrange(size), random.randrange(size), random.randint(least, size)))
