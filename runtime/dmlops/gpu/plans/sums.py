"""Sums of products, passes of recurrent networks: intermediate tensors whose sums are shared by the threads
of groups.

Rows are units, columns batches, or in the projection those of all steps, apart for each direction. A group
computes a block of both, so that everything it loads of one serves all of the other. Its threads, or with
cooperative matrices its waves, split the products of each sum if there are few.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .backend import cooperative_rates
from .capabilities import Capability
from .definition_types import SumsPass
from .gemm_view import Matrices, no_matrices
from .loops import ceil_div, power_below, power_of_two, times
from .operands import Sizes, Tensors, is_float16
from .planning import Planning
from .tile_cost import Tile, Tiles, choose_tile

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
SUMS_COOPERATIVE_COLUMNS = 5  # NVIDIA H200: 2 at 0.97, 10 at 0.99
"columns from which cooperative matrices, which process 16, are faster"


class SumsTile(NamedTuple):
    """The work of a group: its `tile`, `rows` of each sum, whose waves are threads without cooperative
    matrices; the adjacent products that a thread loads at once, 8 with cooperative matrices; the number of
    `groups`, and their `threads` each. `copied` has a bit for each tensor that is also stored as float16."""

    tile: Tile
    rows: int
    vector: int
    groups: int
    threads: int
    copied: int


def sums_tile(out: Planning, one: SumsPass, tensors: Tensors, sizes: Sizes, is_along: bool) -> SumsTile:
    """The tile of tensors of these sizes, of one step at a time if they are a recurrence; of cooperative
    matrices where these suit."""
    factors: Tensors = [tensor for place, tensor in enumerate(tensors) if one.factors >> place & 1 == 1]
    rows, columns = sizes[3], sizes[2] if is_along else times(sizes[0], sizes[2])
    found = no_matrices([])._replace(
        rows=times(rows, one.sums), columns=columns, depth=factors[0].sizes[3], count=sizes[1]
    )
    most, are_float16 = sums_vector(factors), all(is_float16(tensor) for tensor in factors)
    are_full = one.sums <= 4 and columns >= SUMS_COOPERATIVE_COLUMNS and most == 8
    is_cooperative = out.has(Capability.COOPERATIVE_MATRIX) and are_full and are_float16
    vector = 8 if is_cooperative else 4 if most >= 4 else 1
    tile = lane_tile(one.sums, found, vector)
    if is_cooperative:
        tile = choose_tile(found, cooperative_sums(one.sums), cooperative_rates(), False).tile
    in_group = tile.rows // one.sums
    groups = times(times(ceil_div(rows, in_group), ceil_div(columns, tile.columns)), found.count)
    copied = one.copied if vector == 8 else 0
    return SumsTile(tile, in_group, vector, groups, sums_threads(tile, found.depth), copied)


def sums_vector(factors: Tensors) -> int:
    """Adjacent products, at most 8, whose factors are contiguous and aligned."""
    vector = 8
    for tensor in factors:
        vector = gcd(vector, tensor.sizes[3]) if tensor.strides[3] == 1 else 1
        for d in range(3):
            vector = gcd(vector, tensor.strides[d] if tensor.sizes[d] > 1 else 0)
    return vector


def cooperative_sums(sums: int) -> Tiles:
    """Tiles of cooperative matrices, with rows that sums share equally, in multiples of 4: neighbors are
    stored as float16, in whole words. Waves split k where several share sums."""
    tiles: Tiles = [
        Tile(128, 64, 64, 32, 32),
        Tile(64, 64, 64, 32, 32),
        Tile(32, 32, 128, 16, 32),
        Tile(16, 32, 256, 16, 32),
        Tile(16, 16, 256, 16, 16),
    ]
    shared: Tiles = [tile._replace(rows=tile.rows // sums // 4 * 4 * sums) for tile in tiles]
    return shared


def lane_tile(sums: int, found: Matrices, vector: int) -> Tile:
    """The tile without cooperative matrices, whose waves are lanes that share sums: up to 32 columns, and the
    most rows that leave enough groups. Its depth is that of the elements that threads prefetch."""
    across, beside = min(power_of_two(found.columns), 32), min(power_of_two(found.columns), 8)
    rows = times(times(found.rows // sums, ceil_div(found.columns, across)), found.count)
    own = power_below(rows // (SUMS_ROWS * SUMS_GROUPS), SUMS_OWN // (sums * beside))
    down = SUMS_LARGE_ROWS if own * sums * beside == SUMS_OWN else SUMS_ROWS
    tile = Tile(down * own * sums, across, 1, own * sums, beside)
    lanes = sums_threads(tile, found.depth) * beside // (down * across)
    step = power_below(SUMS_AHEAD // (own * sums + beside), ceil_div(found.depth, lanes))
    return tile._replace(depth=lanes * max(step, vector))


def sums_threads(tile: Tile, depth: int) -> int:
    """The threads of a group, fewer where each has the most sums, or where there are not enough products."""
    own = tile.wave_rows * tile.wave_columns
    if own == SUMS_OWN:
        return SUMS_LARGE_THREADS
    if own > SUMS_OWN:  # those of a wave
        return SUMS_THREADS
    return max(min(tile.rows * tile.columns // own * power_of_two(ceil_div(depth, 4)), SUMS_THREADS), 32)


def define_sums(out: Planning, sums: SumsTile) -> None:
    """The macros of a pass of sums."""
    tile = sums.tile
    if sums.vector == 8:
        out.define("COOPERATIVE_MATRIX", 1)
    else:
        out.define("SUM_VECTOR", sums.vector)
        out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS)))
    out.define("SUM_ROWS", sums.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("OWN_ROWS", tile.wave_rows)
    out.define("OWN_COLUMNS", tile.wave_columns)
