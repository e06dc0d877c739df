"""Outputs whose elements along one coordinate read in the same way: only the position that is read moves with
them, as with channels when regions are sampled.

A thread can then compute several of them at once, and determine only once where to read, with what weights.
"""

from __future__ import annotations

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
    its own coordinate along the dimension of the same number (`schedules`)."""

    output: str
    tensor: str
    axis: int


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> VectorAxis | None:
    """The dimension of the output of a definition along which threads can compute several elements. Not the
    last one: along that, threads read adjacent elements."""
    output, *others = defines.outputs
    if others or not facts.is_certain(output) or facts.may_be(output, "float", 64):
        return None
    whole, value = defines.outputs[output], written(defines.outputs[output], {})
    calls = [part for part in walk_through(whole) if isinstance(part, ir.Apply)]
    elsewhere = [*(one.value for one in defines.tensors), *(one for call in calls for one in call.arguments)]
    loads = [one for one in loads_of(value) if one.type == ir.FLOAT and facts.is_certain(one.tensor.name)]
    names = dict.fromkeys(one.tensor.name for one in loads)
    for tensor, axis in product(names, range((facts.rank(output) or 0) - 1)):
        own = {one for one in loads if one.tensor.name == tensor}
        rest: dict[ir.Expr, ir.Expr] = {}
        for one in own:
            match ir.joined_parts(one.coordinate):
                case [ir.ListOf(items), *parts] if items[axis : axis + 1] == (ir.at(axis),):
                    rest[one] = ir.ListOf((*items[:axis], *items[axis + 1 :], *parts))
        if (
            rest.keys() == own
            and axis not in dimensions(ir.substitute(value, rest))
            and _is_of_elements(value, tensor)
            and not any(_reads(one, tensor) for one in elsewhere)
        ):
            return VectorAxis(output, tensor, axis)
    return None


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


def _reads(node: ir.Expr, tensor: str) -> bool:
    return any(load.tensor.name == tensor for load in loads_of(node))
