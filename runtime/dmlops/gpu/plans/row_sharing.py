"""How threads share rows, and in which vectors they load them."""

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
"the same where a row stays in registers, or is long and read again"
REDUCTION_NEIGHBORS = 16  # NVIDIA H200: 8 at 0.97 to 1.01, 32 at 0.90 to 1.02
"adjacent rows, or vectors of rows, whose elements are loaded together"
REDUCTION_BUSY = 262144  # NVIDIA H200: 131072 at 0.75 to 1.07, no limit at 0.46 to 1.00
"threads that keep a GPU busy throughout; with twice as many, fewer share a row"
REDUCTION_LONG = 3  # NVIDIA H200: rows that take 4 are 1.25 to 1.7 times as fast split
"rounds of loads by the largest group that a row takes, at most, if it is not split"
REDUCTION_REREAD_LONG = 5  # NVIDIA H200: split, rows that take 5 are at 0.81 to 0.93, 8 at 0.95 to 1.24
"the same where elements are read again"
REDUCTION_GROUPS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.91
"groups that saturate a GPU; with fewer, rows are split into parts"

MAX_BLOCKS = 1024  # of vectors that one thread adds up: bounds rounding errors
FIRST = 0  # a loop's stride in the tensor that rows are of; those in all tensors follow


class RowLoops(NamedTuple):
    """Loops from row to row, and over the vectors of a row; and the counts of both.

    `is_across`: adjacent elements belong to different rows, and vectors to several of them. `is_reread`: the
    elements of a row are needed again.
    """

    kept: Loops
    reduced: Loops
    number: int
    extent: int
    is_across: bool
    is_reread: bool


class Sharing(NamedTuple):
    """The division of rows, or parts of them, of `extent` vectors, among threads.

    `unroll`: vectors that one thread has in flight. `lanes`: the threads that share a row. `threads`: those
    in a group.
    """

    extent: int
    unroll: int
    lanes: int
    threads: int


def axes_of(reduced: Sizes, flag: int) -> Eight:
    """The dimensions that rows run along (`flag` 1), or the others (0)."""
    axes: Eight = []
    for axis, found in enumerate(reduced):
        if found == flag:
            axes.append(axis)
    return axes


def loops_along(source: Tensor, tensors: Tensors, taking: int, axes: Sizes, order: Sizes) -> Loops:
    """Some dimensions of the tensor that rows are of, merged; at least one loop. Strides are those of this
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
    """For each tensor the adjacent elements that make up a vector, along a row or across rows; 1 for absent
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


def row_loops_of(kept: Loops, reduced: Loops, vector: int, is_across: bool, is_reread: bool) -> RowLoops:
    """The loops over rows, in vectors of so many elements."""
    across = in_vectors(kept, vector if is_across else 1)
    along = in_vectors(reduced, 1 if is_across else vector)
    return RowLoops(across, along, repeats(across), repeats(along), is_across, is_reread)


def power_of_two(number: int) -> int:
    """The least power of 2 that is not below a positive number."""
    return 1 << (number - 1).bit_length()


def are_across(kept: Loops, reduced: Loops) -> bool:
    """Whether adjacent elements belong to different rows."""
    return repeats(kept) > 1 and kept[-1].strides[FIRST] < reduced[-1].strides[FIRST]


def most_lanes(rows: RowLoops) -> int:
    """The threads that can share a row, if neighboring threads work on neighboring rows where these are
    adjacent."""
    neighbors = min(REDUCTION_NEIGHBORS, power_of_two(rows.number)) if rows.is_across else 1
    return REDUCTION_MOST_THREADS // neighbors


def shared(rows: RowLoops, extent: int) -> Sharing:
    """Divides rows among threads in parts of `extent` vectors. Every thread gets something to load, and has
    more vectors in flight where a row is long or stays in registers. If there are few rows, more threads
    share each, with fewer vectors per thread; if there are many, fewer threads do. It ends because each loop
    only raises or only lowers `lanes`, within bounds."""
    most = most_lanes(rows)
    number = times(rows.number, ceil_div(rows.extent, extent))
    is_whole = not rows.is_across and extent <= most * REDUCTION_WHOLE_UNROLL
    is_deep = rows.is_across and rows.is_reread and rows.extent > most * REDUCTION_WHOLE_UNROLL
    unroll = REDUCTION_WHOLE_UNROLL if is_whole or is_deep else REDUCTION_UNROLL
    lanes = ceil_div(extent, unroll)
    # NVIDIA H200: without it, small normalizations are at 0.64 to 0.99; twice the threads at 0.89 to 1.01
    while is_whole and unroll > 1 and 2 * lanes <= most and times(number, lanes) < SATURATING_THREADS:
        unroll //= 2
        lanes = ceil_div(extent, unroll)
    lanes = min(most, power_of_two(lanes))
    least = 1 if rows.is_across else REDUCTION_LEAST_THREADS
    while not rows.is_reread and lanes > least and times(number, lanes) >= 2 * REDUCTION_BUSY:
        lanes //= 2
        unroll = REDUCTION_WHOLE_UNROLL
    threads = REDUCTION_MOST_THREADS // most * lanes
    return Sharing(extent, unroll, lanes, max(threads, REDUCTION_LEAST_THREADS))


def part_extent(rows: RowLoops) -> int:
    """The vectors in a part of a row: all of them if there are enough rows to saturate a GPU, or if they are
    short: the largest group takes at most so many rounds of loads. Where elements are read again, splitting
    takes another dispatch, and pays only for longer and fewer rows."""
    sharing = shared(rows, rows.extent)
    groups = ceil_div(rows.number * sharing.lanes, sharing.threads)
    parts = ceil_div(rows.extent, sharing.lanes * sharing.unroll * MAX_BLOCKS)
    most = most_lanes(rows) * sharing.unroll
    least = most if rows.is_across else REDUCTION_LEAST_THREADS * sharing.unroll
    enough = MULTIPROCESSORS if rows.is_reread else REDUCTION_GROUPS
    rounds = REDUCTION_REREAD_LONG if rows.is_reread else REDUCTION_LONG
    if rows.extent > most * rounds and groups < enough:
        parts = max(min(ceil_div(REDUCTION_GROUPS, groups), ceil_div(rows.extent, least)), parts)
    if parts == 1:
        return rows.extent
    size = ceil_div(rows.extent, parts)
    step = most if size > most else least
    return ceil_div(size, step) * step


def is_even(rows: RowLoops, sharing: Sharing) -> bool:
    """Whether all blocks of vectors that threads have in flight are full."""
    block = sharing.lanes * sharing.unroll
    return rows.extent % sharing.extent == 0 and sharing.extent % block == 0


def define_sharing(out: Planning, rows: RowLoops, sharing: Sharing, is_combined: bool) -> Groups:
    """The macros of how threads share rows, whose elements they may combine, and the groups."""
    parts = ceil_div(rows.extent, sharing.extent)
    groups = ceil_div(rows.number * sharing.lanes, sharing.threads) * parts
    out.define("NUM_THREADS", sharing.threads)
    out.define("REDUCTION_THREADS", sharing.lanes)
    out.define("ADJACENT_ROWS", int(rows.is_across))
    out.define("UNROLL", sharing.unroll)
    if is_combined:
        out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS)))
    out.define("KEPT_RANK", len(rows.kept))
    out.define("REDUCED_RANK", len(rows.reduced))
    return grid(out, groups * sharing.threads, sharing.threads, 1)
