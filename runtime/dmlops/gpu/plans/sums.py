"""Sums of products, passes of definitions: intermediate tensors whose sums are shared by the threads of
groups.

Rows run along those dimensions of the result that weights depend on, columns along those that the other
factors depend on. A group computes a block of both, so that everything it loads of one serves all of the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .definition_types import SumsPass
from .loops import ceil_div, element_count, times
from .operands import Eight, Sizes, Tensor, Tensors
from .planning import Planning
from .sums_cooperative import (
    CooperativeSums,
    cooperative_sums_for,
    groups_of,
    no_units,
    rows_of_each,
    suits_cooperative_sums,
)

SUMS_LEAST_PRODUCTS = 4096  # NVIDIA H200: 512 at 1.00, 32768 at 0.18
"products written at once; below, one thread per element is as good"
SUMS_FEW_THREADS = 128  # NVIDIA H200: 64 at 0.84 to 1.02, 256 at 1.00
"threads in a group whose threads have fewer than 8 columns each"
SUMS_MANY_THREADS = 256  # NVIDIA H200: 64 at 0.77 to 1.00, 128 at 1.00, 512 at 0.16 to 1.00
"threads in any other group"
SUMS_ROWS = 4  # NVIDIA H200: 8 at 0.88 to 1.39
"rows per group, in units of what a thread has"
SUMS_LARGE_ROWS = 8  # NVIDIA H200: 4 with 256 threads at 0.69, 8 with 256 at 0.86
"the same where there are many groups"
SUMS_LARGE_THREADS = 64  # NVIDIA H200: 256 at 0.86
"threads in such a group"
SUMS_GROUPS = 256  # NVIDIA H200: 128 at 0.88 to 1.01, 512 at 0.97
"groups that saturate a GPU; with fewer, each has fewer rows"
SUMS_OWN = 64  # NVIDIA H200: 32 at 0.76 to 0.98, 128 at 0.96
"accumulators of a thread, at most"
SUMS_AHEAD = 32  # NVIDIA H200: 16 at 0.87 to 1.00, 64 at 1.01
"weights that a thread prefetches, at most"
SUMS_TILE = 5120  # NVIDIA H200: 1280 at 1.00, 2560 at 1.00, 10240 at 1.00
"words of factors in shared memory, at most"
SUMS_ALONE = 16384  # NVIDIA H200: 16 groups that wait for each other at 0.83
"products per step of a recurrence up to which one group beats several that synchronize"
SUMS_ALONE_THREADS = 256  # NVIDIA H200: 128 at 0.89, 512 at 0.94
"threads of that group"
SUMS_ALONE_ROWS = 64  # NVIDIA H200: 32 at 0.63, 128 at 1.00
"rows that it computes at once"
SUMS_ALONE_THREAD_ROWS = 4  # NVIDIA H200: 2 at 1.0
"rows of these per thread"


class SumsTile(NamedTuple):
    """The work of a group, a thread's share of it, the adjacent weights that a thread loads at once, and
    how many such vectors it has in flight; threads in a group, and in all. With cooperative matrices only
    rows, columns and threads of these apply, besides `units`, and the tensors that are also `copied` as
    float16, as bits. `is_alone`: a single group runs all steps of a recurrence."""

    rows: int
    columns: int
    thread_rows: int
    thread_columns: int
    vector: int
    fetches: int
    threads: int
    all_threads: int
    units: CooperativeSums
    copied: int
    is_alone: bool


def no_sums() -> SumsTile:
    """For any other pass."""
    return SumsTile(0, 0, 0, 0, 0, 0, 0, 0, no_units(), 0, False)


def at_once(sizes: Sizes, is_along: bool) -> Eight:
    """The sizes of what is written at once: a single step of a recurrence."""
    step: Eight = [1 if is_along and d == 0 else size for d, size in enumerate(sizes)]
    return step


def count_along(sizes: Sizes, dimensions: int) -> int:
    """The number of coordinates along some dimensions, given as bits."""
    count = 1
    for d, size in enumerate(sizes):
        if dimensions >> d & 1 == 1:
            count = times(count, size)
    return count


def is_worth_sharing(
    one: SumsPass, tensors: Tensors, kept_sizes: Annotated[Sequence[Sizes], 16], sizes: Sizes
) -> bool:
    """Whether groups are faster: there are many products, and all factors have the same extent of k."""
    depth = tensors[one.weights].sizes[-1]
    for place, tensor in enumerate(tensors):
        if one.tensors >> place & 1 == 1 and tensor.sizes[-1] != depth:
            return False
    for place, kept in enumerate(kept_sizes):
        if one.kept >> place & 1 == 1 and kept[-1] != depth:
            return False
    return times(times(element_count(sizes), depth), one.sums) >= SUMS_LEAST_PRODUCTS


def weights_vector(weights: Tensor) -> int:
    """Adjacent weights of one sum that are loaded at once."""
    is_whole = weights.strides[-1] == 1 and weights.sizes[-1] % 4 == 0
    for size, stride in zip(weights.sizes[:-1], weights.strides[:-1], strict=True):
        is_whole = is_whole and (size == 1 or stride % 4 == 0)
    return 4 if is_whole else 1


def sums_tile(out: Planning, one: SumsPass, tensors: Tensors, sizes: Sizes, is_along: bool) -> SumsTile:
    """The tile for these sizes, those of a step if the pass runs along a recurrence: with cooperative
    matrices if they suit, else with ordinary arithmetic."""
    rows, columns = count_along(sizes, one.rows), count_along(sizes, one.columns)
    others = count_along(sizes, 255 - (one.rows | one.columns))
    weights = tensors[one.weights]
    products = times(times(times(rows, columns), others), times(one.sums, weights.sizes[-1]))
    if is_along and products <= SUMS_ALONE:
        return tile_alone(weights, rows, columns, others)
    if not one.has_units or not suits_cooperative_sums(out, tensors, one.tensors, columns, sizes[-1]):
        return ordinary_tile(one, weights, rows, columns, others)
    copied = one.writes & one.kept
    units = cooperative_sums_for(rows, columns, others, one.sums)
    in_group = rows_of_each(units.rows, one.sums)
    groups = groups_of(rows, columns, others, in_group, units.columns)
    all_threads = times(groups, units.threads)
    return SumsTile(in_group, units.columns, 0, 0, 0, 0, units.threads, all_threads, units, copied, False)


def tile_alone(weights: Tensor, rows: int, columns: int, others: int) -> SumsTile:
    """Many threads on some rows and up to 4 columns; a single group computes these blocks in sequence."""
    in_group = SUMS_ROWS
    while in_group < min(rows, SUMS_ALONE_ROWS):
        in_group *= 2
    across = 1
    while across < min(columns, 4):
        across *= 2
    groups = times(times(ceil_div(rows, in_group), ceil_div(columns, across)), others)
    return SumsTile(
        in_group,
        across,
        SUMS_ALONE_THREAD_ROWS,
        across,
        weights_vector(weights),
        1,
        SUMS_ALONE_THREADS,
        times(groups, SUMS_ALONE_THREADS),
        no_units(),
        0,
        True,
    )


def ordinary_tile(one: SumsPass, weights: Tensor, rows: int, columns: int, others: int) -> SumsTile:
    """Up to 32 columns, and as many rows as leave enough groups, larger ones if groups are many more."""
    depth, vector = weights.sizes[-1], weights_vector(weights)
    thread_columns = 1
    while thread_columns < min(columns, 8):
        thread_columns *= 2
    in_group = thread_columns
    while in_group < min(columns, 32):
        in_group *= 2
    threads = SUMS_MANY_THREADS if thread_columns == 8 else SUMS_FEW_THREADS
    across = times(ceil_div(columns, in_group), others)
    thread_rows, down = 1, SUMS_ROWS
    while (
        2 * thread_rows * one.sums * thread_columns <= SUMS_OWN
        and times(ceil_div(rows, 2 * thread_rows * down), across) >= SUMS_GROUPS
    ):
        thread_rows *= 2
    large = times(ceil_div(rows, thread_rows * SUMS_LARGE_ROWS), across)
    if thread_rows == 8 and thread_columns == 8 and large >= SUMS_GROUPS:
        down, threads = SUMS_LARGE_ROWS, SUMS_LARGE_THREADS
    lanes = threads * thread_columns // (down * in_group)
    fetches = 1
    padded = in_group + (thread_columns if in_group > 1 else 0)
    while (
        2 * fetches * vector * one.sums * thread_rows <= SUMS_AHEAD
        and fetches * vector * lanes < depth
        and 2 * fetches * vector * lanes * padded * one.factors <= SUMS_TILE
    ):
        fetches *= 2
    all_threads = times(times(ceil_div(rows, down * thread_rows), across), threads)
    return SumsTile(
        down * thread_rows,
        in_group,
        thread_rows,
        thread_columns,
        vector,
        fetches,
        threads,
        all_threads,
        no_units(),
        0,
        False,
    )


def define_sums(out: Planning, tile: SumsTile, is_alone: bool) -> None:
    """The macros of a pass of sums; `is_alone`: one group runs all steps of a recurrence."""
    if is_alone:
        out.define("SINGLE_GROUP", 1)
    out.define("SUM_ROWS", tile.rows)
    out.define("SUM_COLUMNS", tile.columns)
    units = tile.units
    if units.rows > 0:
        out.define("COOPERATIVE_MATRIX", 1)
        out.define("TILE_ROWS", units.rows)
        out.define("TILE_DEPTH", units.depth)
        out.define("WAVE_ROWS", units.wave_rows)
        out.define("WAVE_COLUMNS", units.wave_columns)
        out.define("AHEAD", units.ahead)
        return
    out.define("AHEAD", 1)
    out.define("THREAD_ROWS", tile.thread_rows)
    out.define("THREAD_COLUMNS", tile.thread_columns)
    out.define("WEIGHTS_VECTOR", tile.vector)
    out.define("FETCHES", tile.fetches)
