"""What operators compute, element by element in plain Python: exact for operators that move data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from operator import mul
from random import Random
from typing import Any

from dmlgen.cases.moves import packed
from dmlgen.cases.samples import tensors_of
from dmlgen.description import Description, Tensor
from dmlgen.expr import ir
from dmlgen.expr.evaluate import EVALUATED, LOAD
from dmlgen.judge import Judge
from dmlgen.registry import Compute, EnumEntry, Operator, Registry

Elements = tuple[int | float, ...]  # of a tensor, row-major
Data = Mapping[str, Elements | tuple[Elements, ...]]  # by member; of an array of tensors, each one's


def exact(operator: Operator) -> bool:
    """Whether each output element is an element of an input or a constant, exact for any data type."""
    compute = operator.compute
    if compute is None or compute.value is None or compute.place is not None:
        return False
    if operator.member[compute.output].count or not moves_data(compute.value):
        return False
    calls = (node for node in ir.walk(compute.value) if isinstance(node, ir.Call))
    return all(call.function in EVALUATED or call.function == "wrap" for call in calls)


def moves_data(node: ir.Expr) -> bool:
    """Whether a value is an element of an input or a constant."""
    match node:
        case ir.Definition(value=value):
            return moves_data(value)
        case ir.Conditional(then=then, otherwise=otherwise):
            return moves_data(then) and moves_data(otherwise)
        case _:
            return isinstance(node, ir.Load | ir.Number) or (
                isinstance(node, ir.Member) and node.type.kind == "element"
            )


class Computation:
    """The `compute` section of an operator as a function."""

    def __init__(self, judge: Judge, compute: Compute) -> None:
        assert compute.value is not None
        self.output, self._judge = compute.output, judge
        self._element = judge.general.evaluator.function(compute.value)

    def run(self, description: Description, inputs: Data) -> Data:
        """The output's elements. The description is valid, and every tensor that is read has its data."""

        def load(name: str, index: int | None, coordinate: tuple[int, ...]) -> Any:
            tensor: Any = description[name]
            elements: Any = inputs[name]
            if index is not None:
                tensor, elements = tensor[index], elements[index]
            return elements[sum(map(mul, coordinate, packed(tensor.Sizes)))]

        environment = {**self._judge.environment(description), LOAD: load}
        sizes = environment[self.output].Sizes
        coordinates = product(*map(range, sizes))
        return {self.output: tuple(self._element({**environment, "at": at}) for at in coordinates)}


def sample_inputs(registry: Registry, operator: Operator, description: Description, random: Random) -> Data:
    """Elements that tell places apart; indices on both sides of what is in range."""
    assert operator.compute is not None and operator.compute.value is not None
    indices = set(_index_tensors(operator.compute.value))
    types = {entry.value: entry for entry in registry.data_types}
    largest = max(size for _, tensor in tensors_of(description) for size in tensor.Sizes)

    def elements(name: str, tensor: Tensor) -> Elements:
        count, type_ = math.prod(tensor.Sizes), types[tensor.DataType]
        values = _indices(type_, largest, random) if name in indices else _distinct(type_)
        return tuple(next(values) for _ in range(count))

    inputs: dict[str, Elements | tuple[Elements, ...]] = {}
    for member in operator.inputs:
        value = description[member.name]
        if isinstance(value, Tensor):
            inputs[member.name] = elements(member.name, value)
        elif isinstance(value, tuple):
            inputs[member.name] = tuple(elements(member.name, tensor) for tensor in value)
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
