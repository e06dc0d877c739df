"""Reductions: how threads share the work, and the shader's constants."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .loops import (
    COUNT_LIMIT,
    Dimensions,
    Loops,
    ceil_div,
    check_span,
    define_tensor,
    in_steps,
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
    loops_along,
    of_tensors,
    part_extent,
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

    `reduced`: for each dimension 1 if sets run along it, else 0. `is_each`: it stores something for each
    element. `chooses`: a set is reduced to one of its elements. `shifts`: elements are mapped after a common
    shift is subtracted from the whole set.
    """

    input: Tensor
    output: Tensor
    reduced: Sizes
    is_each: bool
    chooses: bool
    shifts: bool
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


def vector_of(op: Reduce, kept: Loops, reduced: Loops, is_across: bool) -> int:
    """The elements of a vector: adjacent in the input, and in the output if it has equally many elements."""
    inner = kept[-1] if is_across else reduced[-1]
    other = reduced[-1] if is_across else kept[-1]
    outer: Loops = [other]
    for loop in kept[:-1]:
        outer.append(loop)
    for loop in reduced[:-1]:
        outer.append(loop)
    widths = widths_along([op.input, op.output], inner, outer)
    return gcd(widths[INPUT], widths[OUTPUT]) if op.is_each else widths[INPUT]


def plan_reduce(out: Planning, op: Reduce) -> None:
    """One dispatch; two if sets are reduced in parts."""
    check_span(out, op.input)
    check_span(out, op.output)
    kept = loops_along(op.input, [op.input, op.output], 3, axes_of(op.reduced, 0), op.input.strides)
    reduced = loops_along(op.input, [op.input, op.output], 3, axes_of(op.reduced, 1), reduced_order(op))
    is_across = are_across(kept, reduced)
    vector = vector_of(op, kept, reduced, is_across)
    count = repeats(reduced)
    if count >= COUNT_LIMIT // 2:
        out.refuse(Reason.REDUCTION_TOO_LARGE, NO_MEMBER, count)
    if is_across:
        kept[-1] = in_steps(kept[-1], vector)
    else:
        reduced[-1] = in_steps(reduced[-1], vector)
    is_reread = op.is_each or op.shifts
    sets = Sets(kept, reduced, repeats(kept), repeats(reduced), is_across, is_reread)
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
    state = 2 * word if op.chooses or op.shifts else word
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
    block = sharing.lanes * sharing.unroll
    groups = define_sharing(out, sets, sharing, True)
    out.define("PASS", number)
    out.define("EVEN", int(sets.extent % sharing.extent == 0 and sharing.extent % block == 0))
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
