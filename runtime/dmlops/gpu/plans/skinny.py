"""Contractions of skinny matrices: of few rows, or of few columns, which are then treated as rows.

Nearly all traffic is the right factor, each element of which is read once, so memory bandwidth is the limit.
Threads load it in vectors of 16 bytes, adjacent ones by neighboring threads. Where vectors run along k,
these take different products of the same columns; otherwise they have other columns. Each thread accumulates
its columns in all rows, and threads with the same columns add up their sums in shared memory.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .capabilities import Capability
from .gemm_view import Contraction, Matrices, side_vector
from .loops import MULTIPROCESSORS, ceil_div, grid, power_below, times
from .operands import Tensor
from .planning import Planning
from .product import SKINNY_PASS, add_parts, begin_product, contraction_params, no_window
from .tile_cost import Split, split_into

SKINNY_LEAST_THREADS = 256  # NVIDIA H200: 128 at 1.00, 512 at 0.71 to 0.99
"threads in a group, at least"
SKINNY_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.72 to 0.84, 1024 at 0.34 to 1.00
"the same, at most"
SKINNY_ALL_THREADS = 131072  # NVIDIA H200: 65536 at 0.72 to 0.86, 262144 at 0.94 to 1.09
"threads that saturate a GPU's memory bandwidth; with fewer columns, more of them share each"
SKINNY_LEAST = 2048  # NVIDIA H200: 512 at 0.73 with 4 rows of 64, at 0.31 for float16; 8192 at 0.85 with one
"products per row from which batches of matrices take this form"
SKINNY_REDUCING = 8  # NVIDIA H200: 64 at 0.94 to 1.10
"threads that share a sum, at least: where vectors run along k, they read a cache line"
SKINNY_NEIGHBORS = 4  # NVIDIA H200: 2 at 0.72 to 0.91, 8 at 0.73 to 0.84
"threads side by side on adjacent columns, if that leaves enough groups"
SKINNY_PART = 8192  # NVIDIA H200: 512 to 1024 at 0.83 to 0.97
"products of a sum in a part of k, at least"
SKINNY_VECTORS = 4  # NVIDIA H200: 2 at 0.80 to 1.02, 8 at 0.94 to 1.05
"vectors that a thread has in flight"

SKINNY_GROUPS = 128  # NVIDIA H200: 256 at 0.73 to 0.88
"groups that are enough; below, fewer threads are side by side, then k is split, into at most twice as many"

MOST_ROWS = 4  # that a thread accumulates
VECTOR_BITS = 128


class Skinny(NamedTuple):
    """Matrices with few rows, and their right factor; if they are transposed, that is the contraction's left
    one."""

    matrices: Matrices
    right: Tensor


class SkinnyThreads(NamedTuple):
    """The division of work among threads: each has so many `columns`, and takes `step` products of them at
    once. In a group, `reducing` threads share the products of the same columns, and `across` threads differ
    in their columns."""

    columns: int
    step: int
    reducing: int
    across: int
    split: Split


def transposed(found: Matrices) -> Matrices:
    """The transposed problem: rows and columns, and with them the factors, swapped."""
    return found._replace(
        row_axis=found.column_axis,
        column_axis=found.row_axis,
        rows=found.columns,
        columns=found.rows,
        is_down=False,
        run=1,
        left=found.right,
        right=found.left,
    )


def skinny_of(op: Contraction, found: Matrices) -> Skinny:
    """The matrices, transposed if they have too many rows. Threads store rows, contiguous or not."""
    if found.rows > MOST_ROWS:
        return Skinny(transposed(found), op.left)
    if found.is_down:
        return Skinny(found._replace(is_down=False, run=1), op.right)
    return Skinny(found, op.right)


def is_skinny(op: Contraction, found: Matrices) -> bool:
    """Whether there are few rows or columns, enough work, and whole vectors of floats to load. Many tiny
    matrices are better off in tiles."""
    if not found.is_worth or min(found.rows, found.columns) > MOST_ROWS:
        return False
    skinny = skinny_of(op, found)
    matrices, right = skinny.matrices, skinny.right
    if matrices.count > MULTIPROCESSORS and times(matrices.columns, matrices.depth) < SKINNY_LEAST:
        return False
    vector = VECTOR_BITS // right.bits
    axis, columns = matrices.column_axis, matrices.columns
    return right.is_float and side_vector(matrices.right, axis, columns, matrices.depth, vector) == vector


def skinny_threads(matrices: Matrices, vector: int) -> SkinnyThreads:
    """As many threads as saturate a GPU. k is split if there are few groups even then."""
    is_along = matrices.right.is_along
    columns = SKINNY_VECTORS if is_along else vector
    step = vector if is_along else SKINNY_VECTORS
    shared = times(ceil_div(matrices.columns, columns), matrices.count)
    neighbors = 1 if is_along else SKINNY_NEIGHBORS
    while neighbors > 1 and shared < neighbors * SKINNY_GROUPS:
        neighbors //= 2
    wanted = min(SKINNY_ALL_THREADS // shared, ceil_div(matrices.depth, step))
    reducing = max(power_below(wanted, SKINNY_MOST_THREADS // neighbors), SKINNY_REDUCING)
    across = max(SKINNY_LEAST_THREADS // reducing, neighbors)
    tiles = ceil_div(matrices.columns, columns * across)
    groups = times(tiles, matrices.count)
    parts = 1
    if groups < SKINNY_GROUPS:
        parts = max(min(2 * SKINNY_GROUPS // groups, matrices.depth // SKINNY_PART), 1)
    return SkinnyThreads(columns, step, reducing, across, split_into(parts, matrices.depth, step, 1, tiles))


def plan_skinny(out: Planning, op: Contraction, found: Matrices) -> None:
    """One dispatch, followed by one if k is split."""
    skinny = skinny_of(op, found)
    matrices = skinny.matrices
    vector = VECTOR_BITS // skinny.right.bits
    threads = skinny_threads(matrices, vector)
    split = threads.split
    in_parts = split.parts > 1
    begin_product(out, matrices, split, in_parts, 0)
    out.share()

    left, in_group = matrices.left, threads.reducing * threads.across
    out.define("PASS", op.number + SKINNY_PASS)
    out.define("NUM_THREADS", in_group)
    out.define("LEFT_VECTOR", gcd(left.vector, threads.step) if left.is_along else 1)
    out.define("RIGHT_VECTOR", vector)
    if matrices.right.is_along:
        out.define("RIGHT_ALONG", 1)
    out.define("VECTORS", SKINNY_VECTORS)
    out.define("REDUCTION_THREADS", threads.reducing)
    out.define("WIDTH", threads.across)
    out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS)))
    out.define("TILE_ROWS", matrices.rows)
    out.define("TILE_COLUMNS", threads.across * threads.columns)
    groups = grid(out, times(split.across, matrices.count) * split.parts * in_group, in_group, 1)
    params = contraction_params(op, matrices, split, no_window(), groups)
    out.dispatch(params, groups, False)
    if in_parts:
        add_parts(out, op, matrices, split, no_window())
