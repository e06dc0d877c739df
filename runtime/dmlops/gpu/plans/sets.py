"""Rows as sets of elements that groups combine: how threads share them."""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .loops import (
    MULTIPROCESSORS,
    SATURATING_THREADS,
    Dimensions,
    Loop,
    Loops,
    Row,
    Words,
    ceil_div,
    dimensions,
    grid,
    in_steps,
    lone,
    merged,
    repeats,
    times,
    vector_width,
)
from .operands import Eight, Groups, Sizes, Tensor, Tensors
from .planning import Planning

REDUCTION_LEAST_THREADS = 128  # NVIDIA H200: 32 at 1.01, 64 at 1.00, 256 at 0.96
"threads in a group, at least"
REDUCTION_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.93
"threads in a group, at most"
REDUCTION_UNROLL = 4  # NVIDIA H200: 2 at 0.96, 8 at 0.97
"vectors that a thread has in flight"
REDUCTION_WHOLE_UNROLL = 8  # NVIDIA H200: 4 at 0.90, 16 at 0.98
"the same where a set stays in registers, or is long and read again"
REDUCTION_NEIGHBORS = 16  # NVIDIA H200: 8 at 0.97 to 1.01, 32 at 0.90 to 1.02
"adjacent sets, or vectors of sets, whose elements are loaded together"
REDUCTION_BUSY = 262144  # NVIDIA H200: 131072 at 0.75 to 1.07, no limit at 0.46 to 1.00
"threads that keep a GPU busy throughout; with twice as many, fewer share a set"
REDUCTION_LONG = 3  # NVIDIA H200: rows that take 4 are 1.25 to 1.7 times as fast split
"rounds of loads by the largest group that a set takes, at most, if it is not split"
REDUCTION_REREAD_LONG = 5  # NVIDIA H200: split, rows that take 5 are at 0.81 to 0.93, 8 at 0.95 to 1.24
"the same where elements are read again"
REDUCTION_GROUPS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.91
"groups that saturate a GPU; with fewer, sets are split into parts"

MAX_BLOCKS = 1024  # of vectors that one thread adds up: bounds rounding errors
FIRST = 0  # a loop's stride in the tensor that sets are of; those in all tensors follow


class Sets(NamedTuple):
    """Sets of elements: loops from set to set, and over the vectors of a set; and the counts of both.

    `is_across`: adjacent elements belong to different sets, and vectors to several of them. `is_reread`: the
    elements of a set are needed again.
    """

    kept: Loops
    reduced: Loops
    number: int
    extent: int
    is_across: bool
    is_reread: bool


class Sharing(NamedTuple):
    """The division of sets, or parts of them, of `extent` vectors, among threads.

    `unroll`: vectors that one thread has in flight. `lanes`: the threads that share a set. `threads`: those
    in a group.
    """

    extent: int
    unroll: int
    lanes: int
    threads: int


def axes_of(reduced: Sizes, flag: int) -> Eight:
    """The dimensions that sets run along (`flag` 1), or the others (0)."""
    axes: Eight = []
    for axis, found in enumerate(reduced):
        if found == flag:
            axes.append(axis)
    return axes


def loops_along(source: Tensor, tensors: Tensors, taking: int, axes: Sizes, order: Sizes) -> Loops:
    """Some dimensions of the tensor that sets are of, merged; at least one loop. Strides are those of this
    tensor, of all tensors, and of `order`, by which loops are sorted. A tensor has stride 0 where all
    neighbors are the same element, or if it is not among those `taking` part, as bits."""
    loops: Loops = []
    for axis in axes:
        strides: Row = [source.strides[axis]]
        for place, tensor in enumerate(tensors):
            is_along = taking >> place & 1 == 1 and tensor.is_present and tensor.sizes[axis] > 1
            strides.append(tensor.strides[axis] if is_along else 0)
        strides.append(order[axis])
        loops.append(Loop(source.sizes[axis], strides))
    loops = merged(loops)
    if len(loops) == 0:
        loops.append(lone(len(tensors) + 2, 0))
    return loops


def of_tensors(loops: Loops) -> Dimensions:
    """Loops as shaders take them, with one stride per tensor."""
    return dimensions([Loop(loop.size, loop.strides[1:-1]) for loop in loops])


def widths_along(tensors: Tensors, kept: Loops, reduced: Loops, is_across: bool) -> Words:
    """For each tensor the adjacent elements that make up a vector, along a set or across sets; 1 for absent
    ones."""
    inner = vector_loop(kept, reduced, is_across)
    outer: Loops = [vector_loop(kept, reduced, not is_across)]
    for loop in kept[:-1]:
        outer.append(loop)
    for loop in reduced[:-1]:
        outer.append(loop)
    widths: Words = []
    for place, tensor in enumerate(tensors):
        width = 1
        if tensor.is_present:
            others: Words = [loop.strides[place + 1] for loop in outer]
            width = vector_width(tensor.bits, inner.size, inner.strides[place + 1], others)
        widths.append(width)
    return widths


def vector_loop(kept: Loops, reduced: Loops, is_across: bool) -> Loop:
    """The loop that vectors are along."""
    return kept[-1] if is_across else reduced[-1]


def in_vectors(loops: Loops, vector: int) -> Loops:
    """The loops with an innermost one over vectors of so many elements."""
    inner = loops[-1]
    vectors: Loops = loops[:-1]
    vectors.append(in_steps(inner, vector))
    return vectors


def sets_of(kept: Loops, reduced: Loops, vector: int, is_across: bool, is_reread: bool) -> Sets:
    """Sets of so many elements a vector."""
    across = in_vectors(kept, vector if is_across else 1)
    along = in_vectors(reduced, 1 if is_across else vector)
    return Sets(across, along, repeats(across), repeats(along), is_across, is_reread)


def power_of_two(number: int) -> int:
    """The least power of 2 that is not below a positive number."""
    return 1 << (number - 1).bit_length()


def are_across(kept: Loops, reduced: Loops) -> bool:
    """Whether adjacent elements belong to different sets."""
    return repeats(kept) > 1 and kept[-1].strides[FIRST] < reduced[-1].strides[FIRST]


def most_lanes(sets: Sets) -> int:
    """The threads that can share a set, if neighboring threads work on neighboring sets where these are
    adjacent."""
    neighbors = min(REDUCTION_NEIGHBORS, power_of_two(sets.number)) if sets.is_across else 1
    return REDUCTION_MOST_THREADS // neighbors


def shared(sets: Sets, extent: int) -> Sharing:
    """Divides sets among threads in parts of `extent` vectors: as many as have something to load, with more
    in flight for each where a set is long or stays in registers. Few sets are shared by more threads, each
    with fewer vectors; many, by fewer. `lanes` and `unroll` only grow or only shrink, within bounds."""
    most = most_lanes(sets)
    number = times(sets.number, ceil_div(sets.extent, extent))
    is_whole = not sets.is_across and extent <= most * REDUCTION_WHOLE_UNROLL
    is_deep = sets.is_across and sets.is_reread and sets.extent > most * REDUCTION_WHOLE_UNROLL
    unroll = REDUCTION_WHOLE_UNROLL if is_whole or is_deep else REDUCTION_UNROLL
    lanes = ceil_div(extent, unroll)
    while is_whole and unroll > 1 and 2 * lanes <= most and times(number, lanes) < SATURATING_THREADS:
        unroll //= 2
        lanes = ceil_div(extent, unroll)
    lanes = min(most, power_of_two(lanes))
    least = 1 if sets.is_across else REDUCTION_LEAST_THREADS
    while not sets.is_reread and lanes > least and times(number, lanes) >= 2 * REDUCTION_BUSY:
        lanes //= 2
        unroll = REDUCTION_WHOLE_UNROLL
    threads = REDUCTION_MOST_THREADS // most * lanes
    return Sharing(extent, unroll, lanes, max(threads, REDUCTION_LEAST_THREADS))


def part_extent(sets: Sets) -> int:
    """The vectors in a part of a set: all of them if there are enough sets to saturate a GPU, or if they are
    short: the largest group takes at most so many rounds of loads. Where elements are read again, splitting
    takes another dispatch, and pays only for longer and fewer sets."""
    sharing = shared(sets, sets.extent)
    groups = ceil_div(sets.number * sharing.lanes, sharing.threads)
    parts = ceil_div(sets.extent, sharing.lanes * sharing.unroll * MAX_BLOCKS)
    most = most_lanes(sets) * sharing.unroll
    least = most if sets.is_across else REDUCTION_LEAST_THREADS * sharing.unroll
    enough = MULTIPROCESSORS if sets.is_reread else REDUCTION_GROUPS
    rounds = REDUCTION_REREAD_LONG if sets.is_reread else REDUCTION_LONG
    if sets.extent > most * rounds and groups < enough:
        parts = max(min(ceil_div(REDUCTION_GROUPS, groups), ceil_div(sets.extent, least)), parts)
    if parts == 1:
        return sets.extent
    size = ceil_div(sets.extent, parts)
    step = most if size > most else least
    return ceil_div(size, step) * step


def is_even(sets: Sets, sharing: Sharing) -> bool:
    """Whether all blocks of vectors that threads have in flight are full."""
    block = sharing.lanes * sharing.unroll
    return sets.extent % sharing.extent == 0 and sharing.extent % block == 0


def define_sharing(out: Planning, sets: Sets, sharing: Sharing, is_combined: bool) -> Groups:
    """The macros of how threads share sets, whose elements they may combine, and the groups."""
    parts = ceil_div(sets.extent, sharing.extent)
    groups = ceil_div(sets.number * sharing.lanes, sharing.threads) * parts
    out.define("NUM_THREADS", sharing.threads)
    out.define("REDUCTION_THREADS", sharing.lanes)
    out.define("ADJACENT_SETS", int(sets.is_across))
    out.define("UNROLL", sharing.unroll)
    if is_combined:
        out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS)))
    out.define("KEPT_RANK", len(sets.kept))
    out.define("REDUCED_RANK", len(sets.reduced))
    return grid(out, groups * sharing.threads, sharing.threads, 1)
