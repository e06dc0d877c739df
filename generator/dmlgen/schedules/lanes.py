"""Outputs whose elements along one coordinate read in the same way: only the position that is read moves with
them, as with channels when regions are sampled.

A thread can then compute several of them at once, and determine only once where to read, with what weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.elements import Unfit
from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.expr.definition_queries import walk_through
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.access import dimensions
from dmlgen.schedules.cases import written
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.tensor_facts import TensorFacts


@dataclass(frozen=True)
class Lanes(FastForm):
    """An output of which a thread can compute several elements along dimension `apart`: each reads `tensor`
    at its own coordinate along dimension `place`, which is the same number in both (`schedules`)."""

    output: str
    tensor: str
    apart: int
    place: int


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Lanes | None:
    """The lanes that the output of a definition has."""
    output, *others = defines.outputs
    if others or not facts.is_certain(output) or facts.may_be(output, "FLOAT64"):
        return None
    found = _lanes(output, written(defines.outputs[output], {}), facts)
    values = [*(one.value for one in defines.tensors), *_arguments(defines.outputs[output])]
    return None if any(_reads(value, found.tensor) for value in values) else found


def _lanes(output: str, value: ir.Expr, facts: TensorFacts) -> Lanes:
    loads = [part for part in ir.walk(value) if isinstance(part, ir.Load) and part.type == ir.FLOAT]
    rank = facts.rank(output) or 0
    for tensor in dict.fromkeys(load.tensor for load in loads):
        own = [load for load in loads if load.tensor == tensor]
        if tensor.index is not None or not facts.is_certain(tensor.name):
            continue
        for apart, place in sorted(set.intersection(*(_places(load.coordinate) for load in own))):
            held: dict[ir.Expr, ir.Expr] = {
                load: ir.Load(tensor, _held(load.coordinate, place), load.type) for load in own
            }
            is_outer = apart < rank - 1  # along the last dimension, threads read adjacent elements
            if (
                is_outer
                and _is_lanewise(value, tensor.name)
                and apart not in dimensions(ir.substitute(value, held))
            ):
                return Lanes(output, tensor.name, apart, place)
    raise Unfit


def _first(coordinate: ir.Expr) -> tuple[ir.Expr, ...]:
    """The first entries of a coordinate."""
    found = ir.joined_parts(coordinate)[0]
    return found.items if isinstance(found, ir.ListOf) else ()


def _places(coordinate: ir.Expr) -> set[tuple[int, int]]:
    """The dimensions of an output and of a tensor in which an element and what it reads move together."""
    firsts = enumerate(_first(coordinate))
    return {(d, place) for place, item in firsts for d in range(MAX_RANK) if item == ir.at(d)}


def _held(coordinate: ir.Expr, place: int) -> ir.Expr:
    """The coordinate with 0 in place of one entry."""
    match coordinate:
        case ir.ListOf(items):
            return ir.ListOf((*items[:place], ir.ZERO, *items[place + 1 :]))
        case ir.Binary("+", left, right, ir.INTS):
            return ir.Binary("+", _held(left, place), right, ir.INTS)
    raise Unfit


def _is_lanewise(node: ir.Expr, tensor: str) -> bool:
    """Whether elements of a tensor are only used in arithmetic, sums, minima and maxima."""
    if not _reads(node, tensor):
        return True
    match node:
        case ir.Load():
            return True
        case ir.Binary("+" | "-" | "*" | "/", left, right, ir.FLOAT):
            return _is_lanewise(left, tensor) and _is_lanewise(right, tensor)
        case ir.Conditional(test, then, otherwise):
            branches = (then, otherwise)
            return not _reads(test, tensor) and all(_is_lanewise(one, tensor) for one in branches)
        case ir.Fold("sum" | "min" | "max", loops, condition, body, ir.FLOAT):
            bounds = [bound for each in loops for bound in (each.first, each.last)]
            outer = [one for one in (*bounds, condition) if one is not None]
            return not any(_reads(one, tensor) for one in outer) and _is_lanewise(body, tensor)
    return False


def _arguments(value: ir.Expr) -> list[ir.Expr]:
    """The arguments of all functions that a value calls."""
    calls = [part for part in walk_through(value) if isinstance(part, ir.Apply)]
    return [argument for call in calls for argument in call.arguments]


def _reads(node: ir.Expr, tensor: str) -> bool:
    return any(isinstance(part, ir.Load) and part.tensor.name == tensor for part in walk_through(node))
