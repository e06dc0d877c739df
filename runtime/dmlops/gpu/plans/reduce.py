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
    dimensions,
    grid,
    in_steps,
    lone,
    merged,
    repeats,
    times,
    vector_width,
)
from .planning import Planning
from .reasons import Reason
from .told import NO_MEMBER, Read, Sizes, Switches, Tensor, Written
from .tuning import (
    REDUCTION_GROUPS,
    REDUCTION_LEAST_THREADS,
    REDUCTION_MOST_THREADS,
    REDUCTION_NEIGHBOURS,
    REDUCTION_THREADS,
    REDUCTION_UNROLL,
    REDUCTION_WHOLE_UNROLL,
)
from .types import define_tensor

MAX_BLOCKS = 1024  # of vectors that one thread adds up: bounds rounding errors
INPUT = 0  # the strides of a loop
OUTPUT = 1
NO_PASS = -1  # for shaders that store something per element: their one pass has no number
WHOLE = 0
PARTS = 1
REST = 2


class Reduce(NamedTuple):
    """The planner's input.

    `is_each`: it stores something for each element. `chooses`: a set is reduced to one of its elements.
    `shifts`: elements are mapped after a common shift is subtracted from the whole set.
    """

    input: Tensor
    output: Tensor
    axes: Sizes
    is_each: bool
    chooses: bool
    shifts: bool
    switches: Switches


class ReduceResources(NamedTuple):
    input: Read
    output: Written


class ReduceParams(NamedTuple):
    sets: int
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


class Sets(NamedTuple):
    """Sets of elements: loops from set to set, and over the vectors of a set; and the counts of both."""

    kept: Loops
    reduced: Loops
    number: int
    extent: int


class Sharing(NamedTuple):
    """How threads share sets.

    `is_across`: adjacent elements belong to different sets. `unroll`: vectors that one thread has in flight.
    `lanes`: the threads that share a set, as many as have `unroll` vectors to load. `threads`: those in a
    group, few if neighbouring sets need no more, since all of them meet at barriers.
    """

    is_across: bool
    unroll: int
    lanes: int
    threads: int


def power_of_two(number: int) -> int:
    """The least power of 2 that is not below a positive number."""
    return 1 << (number - 1).bit_length()


def sets_of(kept: Loops, reduced: Loops) -> Sets:
    return Sets(kept, reduced, repeats(kept), repeats(reduced))


def shared(sets: Sets) -> Sharing:
    """How threads share sets."""
    most = REDUCTION_MOST_THREADS
    is_across = sets.number > 1 and sets.kept[-1].strides[INPUT] < sets.reduced[-1].strides[INPUT]
    is_whole = not is_across and sets.extent <= most * REDUCTION_WHOLE_UNROLL
    unroll = REDUCTION_WHOLE_UNROLL if is_whole else REDUCTION_UNROLL
    lanes = ceil_div(sets.extent, unroll)
    while is_whole and unroll > 1 and 2 * lanes <= most and sets.number * lanes < REDUCTION_THREADS:
        unroll //= 2
        lanes = ceil_div(sets.extent, unroll)
    side_by_side = min(REDUCTION_NEIGHBOURS, power_of_two(sets.number)) if is_across else 1
    lanes = min(most // side_by_side, power_of_two(lanes))
    threads = most if is_across else max(lanes, REDUCTION_LEAST_THREADS)
    return Sharing(is_across, unroll, lanes, threads)


def part_extent(sets: Sets, sharing: Sharing) -> int:
    """The vectors in a part of a set: all of them if there are enough sets to saturate a GPU."""
    block = sharing.lanes * sharing.unroll
    blocks = ceil_div(sets.extent, block)
    groups = ceil_div(sets.number * sharing.lanes, sharing.threads)
    parts = max(min(ceil_div(REDUCTION_GROUPS, groups), blocks // 2), ceil_div(blocks, MAX_BLOCKS), 1)
    return ceil_div(blocks, parts) * block


def packed(sizes: Sizes) -> Sizes:
    """The strides of a packed array."""
    strides: Annotated[list[int], 8] = []
    stride = 1
    for place in range(len(sizes)):
        strides.insert(0, stride)
        stride = times(stride, sizes[len(sizes) - 1 - place])
    return strides


def loops_over(told: Reduce, of_axes: bool) -> Loops:
    """The dimensions that are reduced, or those that are kept; an axis given twice is reduced once.

    A loop's last stride is the one to sort them by.
    """
    found: Annotated[list[int], 8] = []
    for place in range(len(told.input.sizes)):
        if any(axis == place for axis in told.axes) == of_axes:
            found.append(place)
    order = packed([told.input.sizes[place] for place in found])
    loops: Loops = []
    for number, place in enumerate(found):
        read = told.input.strides[place]
        # An output with one element per set does not constrain the order of the others.
        written = told.output.strides[place] if not of_axes or told.is_each else read
        in_order = of_axes and told.chooses
        loops.append(Loop(told.input.sizes[place], [read, written, order[number] if in_order else read]))
    loops = merged(loops)
    if len(loops) == 0:
        loops.append(lone(3, 1))
    return [Loop(loop.size, [loop.strides[INPUT], loop.strides[OUTPUT]]) for loop in loops]


def vector_of(told: Reduce, kept: Loops, reduced: Loops) -> int:
    """The elements of a vector: adjacent in the input, and in the output if it has as many elements."""
    inner = reduced[-1]
    vector = 0
    for tensor in range(2 if told.is_each else 1):
        others: Words = [loop.strides[tensor] for loop in kept]
        for loop in reduced[:-1]:
            others.append(loop.strides[tensor])
        vector = gcd(vector, vector_width(told.input.bits, inner.size, inner.strides[tensor], others))
    return vector


def plan_reduce(out: Planning, told: Reduce) -> None:
    """One dispatch; two if sets are reduced in parts."""
    check_span(out, told.input)
    check_span(out, told.output)
    kept = loops_over(told, False)
    reduced = loops_over(told, True)
    vector = vector_of(told, kept, reduced)
    vectors: Loops = reduced[:-1]
    vectors.append(in_steps(reduced[-1], vector))
    sets = sets_of(kept, vectors)
    count = sets.extent * vector
    if count >= COUNT_LIMIT // 2:
        out.refuse(Reason.LARGE_SETS, NO_MEMBER, count)
    define_tensor(out, told.input)
    define_tensor(out, told.output)
    for switch in told.switches:
        out.define(switch.name, switch.value)
    out.share()

    extent = sets.extent
    if not told.is_each:
        extent = part_extent(sets, shared(sets))
    parts = ceil_div(sets.extent, extent)
    if parts == 1:
        out.bind(ReduceResources(input=told.input.buffer, output=told.output.buffer))
        dispatch_sets(out, sets, sets.extent, count, vector, NO_PASS if told.is_each else WHOLE)
        return
    word = 8 if told.input.bits == 64 else 4
    state = 2 * word if told.chooses or told.shifts else word
    partials = out.scratch(sets.number * parts * state)
    out.bind(ReduceResources(input=told.input.buffer, output=partials))
    dispatch_sets(out, sets, extent, count, vector, PARTS)
    order = packed([loop.size for loop in kept])
    places: Loops = [Loop(loop.size, [order[place], loop.strides[OUTPUT]]) for place, loop in enumerate(kept)]
    out.bind(ReduceResources(input=partials, output=told.output.buffer))
    dispatch_sets(out, sets_of(places, [Loop(parts, [sets.number, 0])]), parts, count, 1, REST)


def dispatch_sets(out: Planning, sets: Sets, extent: int, count: int, vector: int, number: int) -> None:
    """Pass `number` over sets in parts of `extent` vectors; `count` is the number of elements of a whole
    set."""
    sharing = shared(sets)
    parts = ceil_div(sets.extent, extent)
    block = sharing.lanes * sharing.unroll
    groups = ceil_div(sets.number * sharing.lanes, sharing.threads) * parts
    found = grid(out, groups * sharing.threads, sharing.threads, 1)
    out.define("NUM_THREADS", sharing.threads)
    out.define("LANES", sharing.lanes)
    out.define("ACROSS", int(sharing.is_across))
    out.define("UNROLL", sharing.unroll)
    out.define("WHOLE", int(sets.extent <= block))
    out.define("EVEN", int(sets.extent % block == 0))
    out.define("KEPT_RANK", len(sets.kept))
    out.define("REDUCED_RANK", len(sets.reduced))
    out.define("VECTOR", vector)
    if number != NO_PASS:
        out.define("PASS", number)
    kept, reduced = dimensions(sets.kept), dimensions(sets.reduced)
    params = ReduceParams(sets.number, sets.extent, extent, parts, found.columns, count, kept, reduced)
    out.dispatch(params, found, number == REST)
