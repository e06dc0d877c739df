"""Reductions: how threads share the work, and the shader's constants."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .loops import (
    COUNT_LIMIT,
    Dimensions,
    Loop,
    Loops,
    Words,
    ceil_div,
    check_span,
    define_tensor,
    dimensions,
    in_steps,
    lone,
    merged,
    repeats,
    times,
    vector_width,
)
from .operands import NO_MEMBER, Eight, Read, Sizes, Switches, Tensor, Written
from .planning import Planning
from .reasons import Reason
from .sets import Sets, Sharing, are_across, define_sharing, part_extent, shared

INPUT = 0  # the strides of a loop
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


def packed(sizes: Sizes) -> Sizes:
    """The strides of a packed array."""
    strides: Eight = []
    stride = 1
    for place in range(len(sizes)):
        strides.insert(0, stride)
        stride = times(stride, sizes[len(sizes) - 1 - place])
    return strides


def loops_over(op: Reduce, along: bool) -> Loops:
    """The dimensions that are reduced, or those that are kept. A loop's last stride is the one to sort them
    by."""
    found: Eight = []
    for place, is_reduced in enumerate(op.reduced):
        if (is_reduced == 1) == along:
            found.append(place)
    order = packed([op.input.sizes[place] for place in found])
    loops: Loops = []
    for number, place in enumerate(found):
        read = op.input.strides[place]
        # An output with one element per set does not constrain the order of the others.
        written = op.output.strides[place] if not along or op.is_each else read
        in_order = along and op.chooses
        loops.append(Loop(op.input.sizes[place], [read, written, order[number] if in_order else read]))
    loops = merged(loops)
    if len(loops) == 0:
        loops.append(lone(3, 1))
    return [Loop(loop.size, [loop.strides[INPUT], loop.strides[OUTPUT]]) for loop in loops]


def vector_of(op: Reduce, kept: Loops, reduced: Loops, is_across: bool) -> int:
    """The elements of a vector: adjacent in the input, and in the output if it has equally many elements."""
    inner = kept[-1] if is_across else reduced[-1]
    other = reduced[-1] if is_across else kept[-1]
    outer: Loops = [other]
    for loop in kept[:-1]:
        outer.append(loop)
    for loop in reduced[:-1]:
        outer.append(loop)
    vector = 0
    for tensor in range(2 if op.is_each else 1):
        others: Words = [loop.strides[tensor] for loop in outer if loop.size > 1]
        vector = gcd(vector, vector_width(op.input.bits, inner.size, inner.strides[tensor], others))
    return vector


def plan_reduce(out: Planning, op: Reduce) -> None:
    """One dispatch; two if sets are reduced in parts."""
    check_span(out, op.input)
    check_span(out, op.output)
    kept = loops_over(op, False)
    reduced = loops_over(op, True)
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
    out.define("WHOLE", int(sharing.extent <= block))
    out.define("EVEN", int(sets.extent % sharing.extent == 0 and sharing.extent % block == 0))
    params = ReduceParams(
        sets.number,
        sets.extent,
        sharing.extent,
        ceil_div(sets.extent, sharing.extent),
        groups.columns,
        count,
        dimensions(sets.kept),
        dimensions(sets.reduced),
    )
    out.dispatch(params, groups, number == REST)
