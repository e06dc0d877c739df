"""Sums of products, passes of definitions: intermediate tensors whose sums are shared by the threads of
groups.

Rows run along those dimensions of the result that weights depend on, columns along those that the other
factors depend on. A group computes a block of both, so that everything it loads of one serves all of the
other. Its threads, or with cooperative matrices its waves, split the products of each sum if there are few.
"""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .contraction import COOPERATIVE_ALONE, COOPERATIVE_RATE
from .definition_types import SumsPass
from .gemm_view import no_matrices
from .loops import ceil_div, times
from .operands import NONE, Eight, Sizes, Tensor, Tensors, is_float16
from .planning import Planning
from .tile_cost import Rates, Tile, Tiles, choose_tile

SUMS_THREADS = 256  # NVIDIA H200: 64 at 0.77 to 1.02, 128 at 0.95 to 1.03, 512 at 0.16 to 1.00
"threads in a group"
SUMS_ROWS = 4  # NVIDIA H200: 8 at 0.88 to 1.39
"rows per group, in units of what a thread has"
SUMS_LARGE_ROWS = 8  # NVIDIA H200: 4 with 256 threads at 0.91 to 0.96
"the same where threads have the most sums that they can hold, and there are many groups"
SUMS_LARGE_THREADS = 64  # NVIDIA H200: 256 at 0.86
"threads in such a group, in place of SUMS_THREADS"
SUMS_GROUPS = 256  # NVIDIA H200: 128 at 0.88 to 1.01, 512 at 0.97
"groups that saturate a GPU; with fewer, each has fewer rows"
SUMS_OWN = 64  # NVIDIA H200: 32 at 0.76 to 0.98, 128 at 0.96
"accumulators of a thread, at most"
SUMS_AHEAD = 32  # NVIDIA H200: 16 at 0.87 to 1.00, 64 at 1.01
"weights that a thread prefetches, at most"
SUMS_TILE = 5120  # NVIDIA H200: 1280 at 1.00, 2560 at 1.00, 10240 at 1.00
"words of the factor in shared memory, at most"
SUMS_ALONE = 16384  # NVIDIA H200: 0 at 0.84
"products per step of a recurrence up to which one group beats several that synchronize"
SUMS_ALONE_ROWS = 16  # NVIDIA H200: 8 at 0.63, 32 at 1.00
"the same as SUMS_ROWS in a group that is alone"
SUMS_COOPERATIVE_COLUMNS = 5  # NVIDIA H200: 2 at 0.97, 10 at 0.99
"columns from which cooperative matrices, which process 16, are faster"
SUMS_LATENCY = 400  # NVIDIA H200: 229, as in other products, at 0.985 to 1.00
"nanoseconds of a step of the k-loop in which a group only waits"


class SumsTile(NamedTuple):
    """The work of a group: `rows` of each sum, and the `columns` and `depth` of its k-loop; the rows and
    columns that a thread accumulates, of the tile of all sums and a wave with cooperative matrices; the
    adjacent weights that a thread loads at once, its threads, and how many groups there are. `copied` has a
    bit for each tensor that is also stored as float16. `is_alone`: a single group runs all steps of a
    recurrence."""

    rows: int
    columns: int
    depth: int
    own_rows: int
    own_columns: int
    vector: int
    threads: int
    groups: int
    copied: int
    is_cooperative: bool
    is_alone: bool


def no_sums() -> SumsTile:
    """For any other pass."""
    return SumsTile(0, 0, 0, 0, 0, 0, 0, 0, 0, False, False)


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


def is_in_vectors(tensor: Tensor, vector: int) -> bool:
    """Whether a tensor consists of contiguous, aligned vectors of that many elements along k."""
    found = tensor.strides[-1] == 1 and tensor.sizes[-1] % vector == 0
    for size, stride in zip(tensor.sizes[:-1], tensor.strides[:-1], strict=True):
        found = found and (size == 1 or stride % vector == 0)
    return found


def sums_tile(out: Planning, one: SumsPass, tensors: Tensors, sizes: Sizes, may_be_alone: bool) -> SumsTile:
    """The tile for these sizes, those of a step if the pass runs along a recurrence, all of whose steps a
    single group may run."""
    rows, columns = count_along(sizes, one.rows), count_along(sizes, one.columns)
    others = count_along(sizes, 255 - (one.rows | one.columns))
    weights = tensors[one.weights]
    products = times(times(times(rows, columns), others), times(one.sums, weights.sizes[-1]))
    is_alone = may_be_alone and products <= SUMS_ALONE
    if not is_alone and suits_cooperative_sums(out, one, tensors, columns):
        return cooperative_tile(one, weights.sizes[-1], rows, columns, others)
    return ordinary_tile(one, weights, rows, columns, others, is_alone)


def suits_cooperative_sums(out: Planning, one: SumsPass, tensors: Tensors, columns: int) -> bool:
    """Whether the device has cooperative matrices, columns and rows of each sum are enough to fill them, and
    the tensors that products read are float16 in vectors of eight."""
    fits = is_in_eights(tensors[one.weights]) and (one.tensor == NONE or is_in_eights(tensors[one.tensor]))
    are_full = one.sums <= 4 and columns >= SUMS_COOPERATIVE_COLUMNS
    return out.has(Capability.COOPERATIVE_MATRIX) and fits and are_full


def is_in_eights(tensor: Tensor) -> bool:
    """Whether a tensor consists of contiguous, aligned vectors of eight float16 elements along k."""
    return is_float16(tensor) and is_in_vectors(tensor, 8)


def sums_candidates() -> Tiles:
    """Tiles of cooperative matrices, whose rows are the weights of each sum in turn, padded. Waves split k
    where several share sums."""
    return [
        Tile(128, 128, 64, 64, 64, 2, 80),
        Tile(128, 64, 64, 32, 32, 2, 90),
        Tile(64, 64, 64, 32, 32, 2, 90),
        Tile(32, 32, 128, 16, 32, 2, 90),
        Tile(16, 32, 256, 16, 32, 2, 90),
        Tile(16, 16, 256, 16, 16, 2, 90),
    ]


def cooperative_tile(one: SumsPass, depth: int, rows: int, columns: int, others: int) -> SumsTile:
    """The tile that takes the least time by the cost model of products."""
    found = no_matrices()._replace(rows=times(rows, one.sums), columns=columns, depth=depth, count=others)
    rates = Rates(COOPERATIVE_RATE, SUMS_LATENCY, COOPERATIVE_ALONE, 2, 1)
    # Sums share the rows equally, in multiples of 4: neighbors are stored as float16, in whole words.
    tiles: Tiles = [
        tile._replace(rows=tile.rows // one.sums // 4 * 4 * one.sums) for tile in sums_candidates()
    ]
    best = choose_tile(found, tiles, rates, False).tile
    in_group = best.rows // one.sums
    groups = times(times(ceil_div(rows, in_group), ceil_div(columns, best.columns)), others)
    threads = SUMS_THREADS if best.wave_columns < 64 else SUMS_THREADS // 2  # of more sums each
    return no_sums()._replace(
        rows=in_group,
        columns=best.columns,
        depth=best.depth,
        own_rows=best.wave_rows,
        own_columns=best.wave_columns,
        threads=threads,
        groups=groups,
        copied=one.copied,
        is_cooperative=True,
    )


def ordinary_tile(
    one: SumsPass, weights: Tensor, rows: int, columns: int, others: int, is_alone: bool
) -> SumsTile:
    """Up to 32 columns, and the most rows that leave enough groups; a single group has all of them."""
    depth, vector = weights.sizes[-1], 4 if is_in_vectors(weights, 4) else 1
    own_columns = 1
    while own_columns < min(columns, 8):
        own_columns *= 2
    in_group = own_columns
    while in_group < min(columns, 32):
        in_group *= 2
    across = times(ceil_div(columns, in_group), others)
    own_rows, down = 1, SUMS_ALONE_ROWS if is_alone else SUMS_ROWS
    least = 2 * across if is_alone else 2 * SUMS_GROUPS
    while (
        2 * own_rows * one.sums * own_columns <= SUMS_OWN
        and times(ceil_div(rows, own_rows * down), across) >= least
    ):
        own_rows *= 2
    threads, is_large = SUMS_THREADS, own_rows * own_columns == SUMS_OWN
    if is_large and times(ceil_div(rows, own_rows * SUMS_LARGE_ROWS), across) >= SUMS_GROUPS:
        down, threads = SUMS_LARGE_ROWS, SUMS_LARGE_THREADS
    lanes = threads * own_columns // (down * in_group)
    step = vector * lanes
    padded = in_group + (own_columns if in_group > 1 else 0)
    while (
        2 * step * one.sums * own_rows <= SUMS_AHEAD * lanes
        and step < depth
        and 2 * step * padded <= SUMS_TILE
    ):
        step *= 2
    groups = 1 if is_alone else times(ceil_div(rows, down * own_rows), across)
    return no_sums()._replace(
        rows=down * own_rows,
        columns=in_group,
        depth=step,
        own_rows=own_rows,
        own_columns=own_columns,
        vector=vector,
        threads=threads,
        groups=groups,
        is_alone=is_alone,
    )


def define_sums(out: Planning, tile: SumsTile) -> None:
    """The macros of a pass of sums."""
    if tile.is_alone:
        out.define("SINGLE_GROUP", 1)
    if tile.is_cooperative:
        out.define("COOPERATIVE_MATRIX", 1)
    else:
        out.define("WEIGHTS_VECTOR", tile.vector)
    out.define("SUM_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("OWN_ROWS", tile.own_rows)
    out.define("OWN_COLUMNS", tile.own_columns)
