"""Reductions: how threads share the work, and the shader's constants."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .loops import (
    COUNT_LIMIT,
    Dimensions,
    ceil_div,
    check_span,
    define_tensor,
    repeats,
    times,
)
from .operands import NO_MEMBER, Eight, Read, Sizes, Switches, Tensor, Written
from .planning import Planning
from .reasons import Reason
from .sets import (
    Sets,
    Sharing,
    are_across,
    axes_of,
    define_sharing,
    is_even,
    loops_along,
    of_tensors,
    part_extent,
    sets_of,
    shared,
    widths_along,
)

INPUT = 0
OUTPUT = 1
WHOLE = 0
PARTS = 1
REST = 2


class Reduce(NamedTuple):
    """The planner's input.

    `reduced`: for each dimension 1 if sets run along it, else 0. `chooses`: a set is reduced to one of its
    elements. `is_each`: this one is marked among all of them.
    """

    input: Tensor
    output: Tensor
    reduced: Sizes
    is_each: bool
    chooses: bool
    switches: Switches


class ReduceResources(NamedTuple):
    input: Read
    partials: Read
    output: Written


class ReduceParams(NamedTuple):
    sets: int
    "or vectors of sets"
    extent: int
    "vectors of a set"
    partExtent: int
    "vectors of a part of a set"
    parts: int
    "of a set"
    groupColumns: int
    "thread groups along x"
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of a set"
    kept: Annotated[Dimensions, "KEPT_RANK", "input", "output"]
    "outermost first"
    reduced: Annotated[Dimensions, "REDUCED_RANK", "input", "output"]


def reduced_order(op: Reduce) -> Eight:
    """The strides by which dimensions that are reduced are sorted: those of the input or, if a set is reduced
    to the number of an element, those with which its elements are numbered."""
    strides: Eight = []
    stride = 1
    for place in range(len(op.reduced)):
        axis = len(op.reduced) - 1 - place
        strides.insert(0, stride if op.chooses else op.input.strides[axis])
        if op.reduced[axis] == 1:
            stride = times(stride, op.input.sizes[axis])
    return strides


def plan_reduce(out: Planning, op: Reduce) -> None:
    """One dispatch; two if sets are reduced in parts."""
    check_span(out, op.input)
    check_span(out, op.output)
    kept = loops_along(op.input, [op.input, op.output], 3, axes_of(op.reduced, 0), op.input.strides)
    reduced = loops_along(op.input, [op.input, op.output], 3, axes_of(op.reduced, 1), reduced_order(op))
    is_across = are_across(kept, reduced)
    widths = widths_along([op.input, op.output], kept, reduced, is_across)
    vector = gcd(widths[INPUT], widths[OUTPUT]) if op.is_each else widths[INPUT]
    count = repeats(reduced)
    if count >= COUNT_LIMIT // 2:
        out.refuse(Reason.REDUCTION_TOO_LARGE, NO_MEMBER, count)
    sets = sets_of(kept, reduced, vector, is_across, op.is_each)
    define_tensor(out, op.input)
    define_tensor(out, op.output)
    for switch in op.switches:
        out.define(switch.name, switch.value)
    out.define("VECTOR", vector)
    out.share()

    extent = part_extent(sets)
    parts = ceil_div(sets.extent, extent)
    source, target = op.input.buffer, op.output.buffer
    if parts == 1:
        out.bind(ReduceResources(input=source, partials=source, output=target))
        dispatch_sets(out, sets, shared(sets, extent), count, WHOLE)
        return
    word = 8 if op.input.bits == 64 else 4
    state = 2 * word if op.chooses else word
    partials = out.scratch(sets.number * parts * state * (vector if is_across else 1))
    out.bind(ReduceResources(input=source, partials=source, output=partials))
    dispatch_sets(out, sets, shared(sets, extent), count, PARTS)
    out.bind(ReduceResources(input=source, partials=partials, output=target))
    if op.is_each:
        dispatch_sets(out, sets, shared(sets, extent), count, REST)
    else:
        of_parts = sets._replace(extent=parts)
        dispatch_sets(out, of_parts, shared(of_parts, parts), count, REST)


def dispatch_sets(out: Planning, sets: Sets, sharing: Sharing, count: int, number: int) -> None:
    """Pass `number` over sets in parts; `count` is the number of elements of a whole set."""
    groups = define_sharing(out, sets, sharing, True)
    out.define("PASS", number)
    if number != REST:
        out.define("EVEN", int(is_even(sets, sharing)))
    params = ReduceParams(
        sets.number,
        sets.extent,
        sharing.extent,
        ceil_div(sets.extent, sharing.extent),
        groups.columns,
        count,
        of_tensors(sets.kept),
        of_tensors(sets.reduced),
    )
    out.dispatch(params, groups, number == REST)
