"""How threads share rows."""

from __future__ import annotations

from typing import NamedTuple

from .loops import ELEMENTWISE_BUSY, SATURATING_THREADS, ceil_div, power_of_two, times

REDUCTION_LEAST_THREADS = 128  # NVIDIA H200: 32 at 1.01, 64 at 1.00, 256 at 0.96
"threads in a group, at least"
REDUCTION_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.93
"threads in a group, at most"
REDUCTION_UNROLL = 8  # NVIDIA H200: 4 at 0.90, 16 at 0.98
"vectors that a thread has in flight, at most"
REDUCTION_NEIGHBORS = 16  # NVIDIA H200: 8 at 0.97 to 1.01, 32 at 0.90 to 1.02
"adjacent rows whose elements are loaded together"
REDUCTION_LONG = 20  # NVIDIA H200: 16 at 0.85 to 0.93, 32 at 0.95 to 1.24
"vectors that each thread of the largest group takes of a row, at most, if it is not split"
REDUCTION_GROUPS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.91
"groups that saturate a GPU; with fewer, long rows are split into parts"


class RowShape(NamedTuple):
    """The `number` of rows, and of vectors in a row, `extent`. `is_across`: adjacent elements belong to
    different rows. `is_reread`: the elements of a row are needed again."""

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


def most_lanes(rows: RowShape) -> int:
    """The threads that can share a row, if neighboring threads work on neighboring rows where these are
    adjacent."""
    neighbors = min(REDUCTION_NEIGHBORS, power_of_two(rows.number)) if rows.is_across else 1
    return REDUCTION_MOST_THREADS // neighbors


def shared(rows: RowShape, extent: int) -> Sharing:
    """Divides rows among threads in parts of `extent` vectors. Every thread gets something to load. If there
    are few rows, more threads share each, with fewer vectors per thread; if there are many, fewer threads do.
    It ends because each loop only raises or only lowers `lanes`, within bounds."""
    most = most_lanes(rows)
    number = times(rows.number, ceil_div(rows.extent, extent))
    unroll = REDUCTION_UNROLL
    lanes = ceil_div(extent, unroll)
    # NVIDIA H200: without it, small normalizations are at 0.64 to 0.99; twice the threads at 0.89 to 1.01
    while unroll > 1 and 2 * lanes <= most and times(number, lanes) < SATURATING_THREADS:
        unroll //= 2
        lanes = ceil_div(extent, unroll)
    lanes = min(most, power_of_two(lanes))
    least = 1 if rows.is_across else REDUCTION_LEAST_THREADS
    # NVIDIA H200: without it, sums are at 0.46 to 1.00; from half as many threads on, at 0.75 to 1.07
    while not rows.is_reread and lanes > least and times(number, lanes) >= 2 * ELEMENTWISE_BUSY:
        lanes //= 2
    rounds = ceil_div(extent, lanes * unroll)
    unroll = ceil_div(extent, lanes * rounds)  # so that the last round is as large as others
    threads = REDUCTION_MOST_THREADS // most * lanes
    return Sharing(extent, unroll, lanes, max(threads, REDUCTION_LEAST_THREADS))


def part_extent(rows: RowShape) -> int:
    """The vectors in a part of a row: all of them if there are enough rows to saturate a GPU, or if they are
    short, since parts take another dispatch."""
    sharing, lanes = shared(rows, rows.extent), most_lanes(rows)
    groups = ceil_div(rows.number * sharing.lanes, sharing.threads)
    if rows.extent <= lanes * REDUCTION_LONG or groups >= REDUCTION_GROUPS:
        return rows.extent
    size = ceil_div(rows.extent, ceil_div(REDUCTION_GROUPS, groups))
    step = lanes * sharing.unroll if size > lanes * sharing.unroll else lanes
    return ceil_div(size, step) * step
