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
from .told import NO_MEMBER, Eight, Read, Sizes, Switches, Tensor, Written
from .tuning import (
    MULTIPROCESSORS,
    REDUCTION_BUSY,
    REDUCTION_GROUPS,
    REDUCTION_LEAST_THREADS,
    REDUCTION_LONG,
    REDUCTION_MOST_THREADS,
    REDUCTION_NEIGHBOURS,
    REDUCTION_REREAD_GROUPS,
    REDUCTION_REREAD_NEIGHBOURS,
    REDUCTION_SINGLE_LONG,
    REDUCTION_THREADS,
    REDUCTION_UNROLL,
    REDUCTION_WHOLE_UNROLL,
)
from .types import define_tensor

MAX_BLOCKS = 1024  # of vectors that one thread adds up: bounds rounding errors
INPUT = 0  # the strides of a loop
OUTPUT = 1
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


class Sets(NamedTuple):
    """Sets of elements: loops from set to set, and over the vectors of a set; and the counts of both.

    `is_across`: adjacent elements belong to different sets, and vectors to several of them. `is_single`:
    elements are loaded one by one. `is_reread`: the elements of a set are needed again.
    """

    kept: Loops
    reduced: Loops
    number: int
    extent: int
    is_across: bool
    is_single: bool
    is_reread: bool


class Sharing(NamedTuple):
    """How threads share sets, or parts of them, of `extent` vectors.

    `unroll`: vectors that one thread has in flight. `lanes`: the threads that share a set, as many as have
    `unroll` vectors to load. `threads`: those in a group, few if neighboring sets need no more, since all of
    them meet at barriers.
    """

    extent: int
    unroll: int
    lanes: int
    threads: int


def power_of_two(number: int) -> int:
    """The least power of 2 that is not below a positive number."""
    return 1 << (number - 1).bit_length()


def are_across(kept: Loops, reduced: Loops) -> bool:
    """Whether adjacent elements belong to different sets."""
    return repeats(kept) > 1 and kept[-1].strides[INPUT] < reduced[-1].strides[INPUT]


def neighbours(sets: Sets) -> int:
    """The sets that neighboring threads work on."""
    is_few = sets.is_reread and not sets.is_single
    most = REDUCTION_REREAD_NEIGHBOURS if is_few else REDUCTION_NEIGHBOURS
    return min(most, power_of_two(sets.number)) if sets.is_across else 1


def shared(sets: Sets, extent: int) -> Sharing:
    """How threads share sets in parts of `extent` vectors."""
    most = REDUCTION_MOST_THREADS
    number = sets.number * ceil_div(sets.extent, extent)
    is_whole = not sets.is_across and extent <= most * REDUCTION_WHOLE_UNROLL
    abreast = neighbours(sets)
    is_long = sets.extent > most // abreast * REDUCTION_WHOLE_UNROLL
    is_deep = sets.is_across and sets.is_single and sets.is_reread and is_long
    unroll = REDUCTION_WHOLE_UNROLL if is_whole or is_deep else REDUCTION_UNROLL
    lanes = ceil_div(extent, unroll)
    while is_whole and unroll > 1 and 2 * lanes <= most and number * lanes < REDUCTION_THREADS:
        unroll //= 2
        lanes = ceil_div(extent, unroll)
    lanes = min(most // abreast, power_of_two(lanes))
    least = 1 if sets.is_across else REDUCTION_LEAST_THREADS
    while not sets.is_reread and lanes > least and number * lanes >= 2 * REDUCTION_BUSY:
        lanes //= 2
        unroll = REDUCTION_WHOLE_UNROLL
    return Sharing(extent, unroll, lanes, max(abreast * lanes, REDUCTION_LEAST_THREADS))


def part_extent(sets: Sets, longest: int) -> int:
    """The vectors in a part of a set: all of them if there are enough sets to saturate a GPU, or if they are
    short: the largest group takes at most `longest` rounds of loads. Where elements are read again, splitting
    takes another dispatch, and pays only for fewer sets."""
    sharing = shared(sets, sets.extent)
    groups = ceil_div(sets.number * sharing.lanes, sharing.threads)
    parts = ceil_div(sets.extent, sharing.lanes * sharing.unroll * MAX_BLOCKS)
    most = REDUCTION_MOST_THREADS // neighbours(sets) * sharing.unroll
    least = most if sets.is_across else REDUCTION_LEAST_THREADS * sharing.unroll
    enough, saturating, rounds = REDUCTION_GROUPS, REDUCTION_GROUPS, longest
    if sets.is_reread and sets.is_across and sets.is_single:
        enough, rounds = MULTIPROCESSORS, REDUCTION_SINGLE_LONG
    elif sets.is_reread:
        enough, saturating = MULTIPROCESSORS // 2, REDUCTION_REREAD_GROUPS
    if sets.extent > most * rounds and groups < enough:
        parts = max(min(ceil_div(saturating, groups), ceil_div(sets.extent, least)), parts)
    if parts == 1:
        return sets.extent
    size = ceil_div(sets.extent, parts)
    step = most if size > most else least
    return ceil_div(size, step) * step


def packed(sizes: Sizes) -> Sizes:
    """The strides of a packed array."""
    strides: Eight = []
    stride = 1
    for place in range(len(sizes)):
        strides.insert(0, stride)
        stride = times(stride, sizes[len(sizes) - 1 - place])
    return strides


def loops_over(told: Reduce, of_axes: bool) -> Loops:
    """The dimensions that are reduced, or those that are kept; an axis given twice is reduced once.

    A loop's last stride is the one to sort them by.
    """
    found: Eight = []
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


def vector_of(told: Reduce, kept: Loops, reduced: Loops, is_across: bool) -> int:
    """The elements of a vector: adjacent in the input, and in the output if it has as many elements."""
    inner = kept[-1] if is_across else reduced[-1]
    other = reduced[-1] if is_across else kept[-1]
    outer: Loops = [other]
    for loop in kept[:-1]:
        outer.append(loop)
    for loop in reduced[:-1]:
        outer.append(loop)
    vector = 0
    for tensor in range(2 if told.is_each else 1):
        others: Words = [loop.strides[tensor] for loop in outer if loop.size > 1]
        vector = gcd(vector, vector_width(told.input.bits, inner.size, inner.strides[tensor], others))
    return vector


def plan_reduce(out: Planning, told: Reduce) -> None:
    """One dispatch; two if sets are reduced in parts."""
    check_span(out, told.input)
    check_span(out, told.output)
    kept = loops_over(told, False)
    reduced = loops_over(told, True)
    is_across = are_across(kept, reduced)
    vector = vector_of(told, kept, reduced, is_across)
    count = repeats(reduced)
    if count >= COUNT_LIMIT // 2:
        out.refuse(Reason.LARGE_SETS, NO_MEMBER, count)
    if is_across:
        kept[-1] = in_steps(kept[-1], vector)
    else:
        reduced[-1] = in_steps(reduced[-1], vector)
    is_reread = told.is_each or told.shifts
    sets = Sets(kept, reduced, repeats(kept), repeats(reduced), is_across, vector == 1, is_reread)
    define_tensor(out, told.input)
    define_tensor(out, told.output)
    for switch in told.switches:
        out.define(switch.name, switch.value)
    out.define("VECTOR", vector)
    out.define("ACROSS", int(is_across))
    out.share()

    extent = part_extent(sets, REDUCTION_LONG)
    parts = ceil_div(sets.extent, extent)
    source, target = told.input.buffer, told.output.buffer
    if parts == 1:
        out.bind(ReduceResources(input=source, partials=source, output=target))
        dispatch_sets(out, sets, shared(sets, extent), count, WHOLE)
        return
    word = 8 if told.input.bits == 64 else 4
    state = 2 * word if told.chooses or told.shifts else word
    partials = out.scratch(sets.number * parts * state * (vector if is_across else 1))
    out.bind(ReduceResources(input=source, partials=source, output=partials))
    dispatch_sets(out, sets, shared(sets, extent), count, PARTS)
    out.bind(ReduceResources(input=source, partials=partials, output=target))
    if told.is_each:
        dispatch_sets(out, sets, shared(sets, extent), count, REST)
    else:
        of_parts = sets._replace(extent=parts)
        dispatch_sets(out, of_parts, shared(of_parts, parts), count, REST)


def dispatch_sets(out: Planning, sets: Sets, sharing: Sharing, count: int, number: int) -> None:
    """Pass `number` over sets in parts; `count` is the number of elements of a whole set."""
    parts = ceil_div(sets.extent, sharing.extent)
    block = sharing.lanes * sharing.unroll
    groups = ceil_div(sets.number * sharing.lanes, sharing.threads) * parts
    found = grid(out, groups * sharing.threads, sharing.threads, 1)
    out.define("PASS", number)
    out.define("NUM_THREADS", sharing.threads)
    out.define("LANES", sharing.lanes)
    out.define("UNROLL", sharing.unroll)
    out.define("WHOLE", int(sharing.extent <= block))
    out.define("EVEN", int(sets.extent % sharing.extent == 0 and sharing.extent % block == 0))
    out.define("KEPT_RANK", len(sets.kept))
    out.define("REDUCED_RANK", len(sets.reduced))
    params = ReduceParams(
        sets.number,
        sets.extent,
        sharing.extent,
        parts,
        found.columns,
        count,
        dimensions(sets.kept),
        dimensions(sets.reduced),
    )
    out.dispatch(params, found, number == REST)
