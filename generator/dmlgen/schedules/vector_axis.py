"""Outputs whose elements along one coordinate read in the same way: only the position that is read moves with
them, as with channels when regions are sampled.

A thread can then compute several of them at once, and determine only once where to read, with what weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import walk_through
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import dimensions, loads_of
from dmlgen.schedules.cases import written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts


@dataclass(frozen=True)
class VectorAxis(FastForm):
    """An output of which a thread can compute several elements along dimension `axis`: each reads `tensor` at
    its own coordinate along dimension `tensor_axis`, which is the same number in both (`schedules`)."""

    output: str
    tensor: str
    axis: int
    tensor_axis: int


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> VectorAxis | None:
    """The dimension of the output of a definition along which threads can compute several elements."""
    output, *others = defines.outputs
    if others or not facts.is_certain(output) or facts.may_be(output, "FLOAT64"):
        return None
    found = next(_axes(output, written(defines.outputs[output], {}), facts), None)
    values = [*(one.value for one in defines.tensors), *_arguments(defines.outputs[output])]
    return None if found is None or any(_reads(value, found.tensor) for value in values) else found


def _axes(output: str, value: ir.Expr, facts: TensorFacts) -> Iterator[VectorAxis]:
    """The dimensions along which elements read a tensor at coordinates that differ in one entry only. Not the
    last one: along that, threads read adjacent elements."""
    loads = [load for load in loads_of(value) if load.type == ir.FLOAT]
    for tensor in dict.fromkeys(load.tensor for load in loads):
        parts = {load: ir.joined_parts(load.coordinate) for load in loads if load.tensor == tensor}
        firsts = [one.items if isinstance(one, ir.ListOf) else () for one, *_ in parts.values()]
        is_fit = (
            tensor.index is None and facts.is_certain(tensor.name) and _is_of_elements(value, tensor.name)
        )
        outer = range((facts.rank(output) or 0) - 1)
        for axis, place in product(outer, range(min(map(len, firsts)))):
            if is_fit and all(items[place] == ir.at(axis) for items in firsts):
                others: dict[ir.Expr, ir.Expr] = {
                    load: ir.ListOf((*items[:place], *items[place + 1 :], *rest))
                    for (load, (_, *rest)), items in zip(parts.items(), firsts, strict=True)
                }
                if axis not in dimensions(ir.substitute(value, others)):
                    yield VectorAxis(output, tensor.name, axis, place)


def _is_of_elements(node: ir.Expr, tensor: str) -> bool:
    """Whether elements of a tensor are only used in arithmetic, sums, minima and maxima."""
    if not _reads(node, tensor):
        return True
    match node:
        case ir.Load():
            return True
        case ir.Binary("+" | "-" | "*" | "/", left, right, ir.FLOAT):
            return _is_of_elements(left, tensor) and _is_of_elements(right, tensor)
        case ir.Conditional(test, then, otherwise):
            branches = (then, otherwise)
            return not _reads(test, tensor) and all(_is_of_elements(one, tensor) for one in branches)
        case ir.Reduce("sum" | "min" | "max", loops, body, ir.FLOAT):
            outer = [part for loop in loops for part in ir.children(loop)]
            return not any(_reads(one, tensor) for one in outer) and _is_of_elements(body, tensor)
    return False


def _arguments(value: ir.Expr) -> list[ir.Expr]:
    """The arguments of all functions that a value calls."""
    calls = [part for part in walk_through(value) if isinstance(part, ir.Apply)]
    return [argument for call in calls for argument in call.arguments]


def _reads(node: ir.Expr, tensor: str) -> bool:
    return any(load.tensor.name == tensor for load in loads_of(node))
