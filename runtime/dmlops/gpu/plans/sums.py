"""Sums of products, passes of definitions: intermediate tensors whose sums are shared by the threads of
groups.

Rows run along those dimensions of the result that weights depend on, columns along those that the other
factors depend on. A group computes a block of both, so that everything it loads of one serves all of the
other. Its threads, or with cooperative matrices its waves, split the products of each sum if there are few.
"""

from __future__ import annotations

from typing import NamedTuple

from .backend import COOPERATIVE_RATE
from .capabilities import Capability
from .definition_types import SumsPass
from .gemm_view import Matrices, no_matrices
from .loops import ceil_div, power_below, power_of_two, times
from .operands import NONE, Eight, Sizes, Tensor, Tensors, Threads, is_float16
from .planning import Planning
from .tile_cost import Rates, Tile, Tiles, choose_tile

SUMS_THREADS = 256  # NVIDIA H200: 64 at 0.77 to 1.02, 128 at 0.95 to 1.03, 512 at 0.16 to 1.00
"threads in a group"
SUMS_ROWS = 4  # NVIDIA H200: 8 at 0.88 to 1.39
"rows per group, in units of what a thread has"
SUMS_LARGE_ROWS = 8  # NVIDIA H200: 4 with 256 threads at 0.91 to 0.96
"the same where threads have the most sums that they can hold"
SUMS_LARGE_THREADS = 64  # NVIDIA H200: 256 at 0.86
"threads in such a group, in place of SUMS_THREADS"
SUMS_GROUPS = 256  # NVIDIA H200: 128 at 0.88 to 1.01, 512 at 0.97
"groups that saturate a GPU; with fewer, each has fewer rows"
SUMS_OWN = 64  # NVIDIA H200: 32 at 0.76 to 0.98, 128 at 0.96
"accumulators of a thread, at most"
SUMS_AHEAD = 64  # NVIDIA H200: 128 at 0.82 to 1.00
"elements of both factors that a thread prefetches, at most"
SUMS_ALONE = 16384  # NVIDIA H200: 0 at 0.84
"products per step of a recurrence up to which one group beats several that synchronize"
SUMS_ALONE_ROWS = 16  # NVIDIA H200: 8 at 0.63, 32 at 1.00
"the same as SUMS_ROWS in a group that is alone"
SUMS_COOPERATIVE_COLUMNS = 5  # NVIDIA H200: 2 at 0.97, 10 at 0.99
"columns from which cooperative matrices, which process 16, are faster"
SUMS_LATENCY = 400  # NVIDIA H200: 229, as in other products, at 0.985 to 1.00
"nanoseconds of a step of the k-loop in which a group only waits"


class SumsTile(NamedTuple):
    """The work of a group: its `tile`, whose rows are those of each sum in turn, `rows` of them, and whose
    waves are threads without cooperative matrices; the adjacent products that a thread loads at once; and
    the threads of all groups. `copied` has a bit for each tensor that is also stored as float16. `is_alone`:
    a single group runs all steps of a recurrence."""

    tile: Tile
    rows: int
    vector: int
    threads: Threads
    copied: int
    is_cooperative: bool
    is_alone: bool


def no_sums() -> SumsTile:
    """For any other pass."""
    return SumsTile(Tile(0, 0, 0, 0, 0, 0, 0), 0, 0, Threads(0, 0), 0, False, False)


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
    single group may run; of cooperative matrices where these suit."""
    rows, columns = count_along(sizes, one.rows), count_along(sizes, one.columns)
    others = count_along(sizes, 255 - (one.rows | one.columns))
    depth = tensors[one.weights].sizes[-1]
    found = no_matrices([])._replace(rows=times(rows, one.sums), columns=columns, depth=depth, count=others)
    is_alone = may_be_alone and times(times(found.rows, columns), times(others, depth)) <= SUMS_ALONE
    is_cooperative = not is_alone and suits_cooperative_sums(out, one, tensors, columns)
    vector = 4 if are_in_vectors(one, tensors, 4) else 1
    tile = lane_tile(one.sums, found, vector, is_alone)
    if is_cooperative:
        rates = Rates(COOPERATIVE_RATE, SUMS_LATENCY, 32, 2)  # as for products
        tile = choose_tile(found, cooperative_sums(one.sums), rates, False).tile
    in_group = tile.rows // one.sums
    groups = times(times(ceil_div(rows, in_group), ceil_div(columns, tile.columns)), others)
    threads = sums_threads(tile)
    return SumsTile(
        tile,
        in_group,
        vector,
        Threads(threads if is_alone else times(groups, threads), threads),
        one.copied if is_cooperative else 0,
        is_cooperative,
        is_alone,
    )


def are_in_vectors(one: SumsPass, tensors: Tensors, vector: int) -> bool:
    """Whether both factors consist of vectors of `vector` elements along k; intermediate tensors do."""
    return is_in_vectors(tensors[one.weights], vector) and (
        one.tensor == NONE or is_in_vectors(tensors[one.tensor], vector)
    )


def suits_cooperative_sums(out: Planning, one: SumsPass, tensors: Tensors, columns: int) -> bool:
    """Whether the device has cooperative matrices, columns and rows of each sum are enough to fill them, and
    the tensors that products read are float16 in vectors of eight."""
    are_float16 = is_float16(tensors[one.weights]) and (one.tensor == NONE or is_float16(tensors[one.tensor]))
    are_full = one.sums <= 4 and columns >= SUMS_COOPERATIVE_COLUMNS
    fits = are_float16 and are_in_vectors(one, tensors, 8)
    return out.has(Capability.COOPERATIVE_MATRIX) and fits and are_full


def sums_candidates() -> Tiles:
    """Tiles of cooperative matrices. Waves split k where several share sums."""
    return [
        Tile(128, 64, 64, 32, 32, 2, 90),
        Tile(64, 64, 64, 32, 32, 2, 90),
        Tile(32, 32, 128, 16, 32, 2, 90),
        Tile(16, 32, 256, 16, 32, 2, 90),
        Tile(16, 16, 256, 16, 16, 2, 90),
    ]


def cooperative_sums(sums: int) -> Tiles:
    """These tiles with rows that sums share equally, in multiples of 4: neighbors are stored as float16, in
    whole words."""
    tiles: Tiles = [tile._replace(rows=tile.rows // sums // 4 * 4 * sums) for tile in sums_candidates()]
    return tiles


def lane_tile(sums: int, found: Matrices, vector: int, is_alone: bool) -> Tile:
    """The tile without cooperative matrices, whose waves are lanes that share sums: up to 32 columns, and the
    most rows that leave enough groups. Its depth is that of the elements that threads prefetch."""
    across, beside = min(power_of_two(found.columns), 32), min(power_of_two(found.columns), 8)
    rows = times(times(found.rows // sums, ceil_div(found.columns, across)), found.count)
    down = SUMS_ALONE_ROWS if is_alone else SUMS_ROWS
    most = (SUMS_OWN // 2 if is_alone else SUMS_OWN) // (sums * beside)
    own = power_below(rows // (down if is_alone else down * SUMS_GROUPS), most)
    if own * sums * beside == SUMS_OWN:
        down = SUMS_LARGE_ROWS
    tile = Tile(down * own * sums, across, 1, own * sums, beside, 1, 100)
    lanes = sums_threads(tile) * beside // (down * across)
    step = power_below(SUMS_AHEAD // (own * sums + beside), ceil_div(found.depth, lanes))
    return tile._replace(depth=lanes * max(step, vector))


def sums_threads(tile: Tile) -> int:
    """The threads of a group, fewer where each has the most sums."""
    return SUMS_LARGE_THREADS if tile.wave_rows * tile.wave_columns == SUMS_OWN else SUMS_THREADS


def define_sums(out: Planning, sums: SumsTile) -> None:
    """The macros of a pass of sums."""
    tile, each = sums.tile, sums.tile.rows // sums.rows
    if sums.is_alone:
        out.define("SINGLE_GROUP", 1)
    if sums.is_cooperative:
        out.define("COOPERATIVE_MATRIX", 1)
        each = 1
    else:
        out.define("SUM_VECTOR", sums.vector)
        out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS)))
    out.define("SUM_ROWS", sums.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("OWN_ROWS", tile.wave_rows // each)
    out.define("OWN_COLUMNS", tile.wave_columns)
