"""Backends of products, which multiply tiles: fused multiply-add, dot products of four bytes, or cooperative
matrices of float16 or bytes.

Tiles of floats are stored in shared memory by k. Those of cooperative matrices are stored in their layout in
memory, eight float16 to a vector, and each wave of a group multiplies 16x16 blocks of them; with bytes, in
lines along k, whatever the tensors' layouts. There all bytes are signed: UINT8 is biased by -128. Zero points
are accounted for at the end, by the sums of the lines: sum((a - x) (b - y)) = sum(a b) - x sum(b - y)
- y sum(a).
"""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .gemm_view import Contraction, Matrices, is_of_bytes, output_vector
from .loops import MAX_COUNT, ceil_div, times
from .operands import is_float16
from .planning import Planning
from .tile_cost import Rates, Tile, Tiles

COOPERATIVE_TINY = 32  # NVIDIA H200: 1.2 to 3.1 times as fast with 8 to 32, 0.81 with a depth of 64
"rows, columns and depth up to which ordinary arithmetic beats cooperative matrices"
NARROW = 64  # NVIDIA H200: 0 at 0.65 to 0.74, of wider ones 0.90
"rows or columns up to which matrices of floats may have deeper tiles"
TILE_LEAST_ROWS = 6  # NVIDIA H200: 4 at 0.4 to 1.2; of cooperative matrices 0.57 to 0.86 without them
"rows under a window from which tiles pay, unless cooperative matrices of float16 suit"


class Backend(NamedTuple):
    """The multiplication of tiles, by cooperative matrices or not: candidates, and their rates. Loads of
    factors have up to 16 bytes."""

    is_cooperative: bool
    rates: Rates
    tiles: Tiles


def backend_of(out: Planning, op: Contraction, found: Matrices) -> Backend:
    """The fastest that the device has and that suits the matrices. All rates are those of an NVIDIA H200:
    of arithmetic as its maker states them, others fitted."""
    is_windowed = len(found.axes) > 0
    if is_of_bytes(op):
        if suits_cooperative_bytes(out, op, found):
            is_along = found.left.is_along and found.right.is_along
            deep = 128 if is_along and not is_windowed and found.depth > 64 else 64
            return Backend(True, Rates(7500, 4, 490, 65, 1), matrix_tiles(deep))
        return Backend(False, Rates(450, 20, 210, 60, 1), thread_tiles(64))
    if suits_cooperative_matrix(out, op, found):
        return Backend(True, cooperative_rates(), matrix_tiles(64))
    tap = found.channels if found.channels < found.depth else 0
    depth = 8 if tap % 16 > 0 or found.depth < 32 else 16
    deep, is_narrow = 32 if tap % 32 == 0 else depth, min(found.rows, found.columns) <= NARROW
    tiles: Tiles = list(thread_tiles(depth))
    if is_windowed or is_narrow:
        tiles.append(Tile(32, 64, deep, 16, 32))
    if not is_windowed and is_narrow:
        tiles.append(Tile(128, 32, deep, 32, 32))
    if is_windowed:
        return Backend(False, Rates(225, 24, 440, 60, 4), tiles)
    return Backend(False, Rates(225, 5, 168, 54, 4), tiles)


def cooperative_rates() -> Rates:
    """Those of float16 by cooperative matrices."""
    return Rates(3750, 196, 178, 94, 2)


def suits_cooperative_matrix(out: Planning, op: Contraction, found: Matrices) -> bool:
    """Whether the device has cooperative matrices, both factors are float16, and there is enough work."""
    are_float16 = is_float16(op.left) and is_float16(op.right)
    is_tiny = len(found.axes) == 0 and max(found.rows, found.columns, found.depth) <= COOPERATIVE_TINY
    is_large = min(found.rows, found.columns) > 1 and not is_tiny
    return out.has(Capability.COOPERATIVE_MATRIX) and are_float16 and is_large


def suits_cooperative_bytes(out: Planning, op: Contraction, found: Matrices) -> bool:
    """Whether the device has cooperative matrices of bytes, there are enough rows, and scratch has room for
    sums that they cannot store as bytes."""
    is_large = len(found.axes) == 0 or found.rows >= TILE_LEAST_ROWS
    has_room = are_stored_whole(op, found) or times(4, partial_vectors(found)) < MAX_COUNT // 16
    return out.has(Capability.COOPERATIVE_MATRIX_INT8) and is_large and has_room


def are_stored_whole(op: Contraction, found: Matrices) -> bool:
    """Whether cooperative matrices can store the output: bytes only in whole words, since storing them one by
    one takes atomics, which do not mix with these matrices."""
    return op.output.bits >= 16 or output_vector(op, found, False) == 4


def partial_vectors(found: Matrices) -> int:
    """The vectors of four partial sums in one part; rows are padded."""
    return times(times(found.rows, ceil_div(found.columns, 4)), found.count)


def thread_tiles(depth: int) -> Tiles:
    """The candidates without cooperative matrices. A thread accumulates a quarter of its wave's rows and an
    eighth of its columns. The depth of floats divides the channels of a tap if possible, so that a step reads
    a single one of several taps."""
    return [
        Tile(128, 128, depth, 32, 64),
        Tile(64, 128, depth, 32, 64),
        Tile(128, 64, depth, 32, 64),
        Tile(32, 128, depth, 16, 64),
        Tile(16, 128, depth, 16, 32),
        Tile(32, 32, depth, 16, 32),
        Tile(16, 32, depth, 16, 32),
    ]


def matrix_tiles(depth: int) -> Tiles:
    """The candidates of cooperative matrices; for float16 under a window, `implicit_gemm` has others. Deep
    ones of bytes need fewer barriers, but run out of registers under a window, or if lines are transposed.

    Two tiles in shared memory, and so one barrier per step, make steps of 32 products 1.11 times as fast on
    an NVIDIA H200 (4096x4096x4096), but 48 KiB do not hold two of 64, which are 1.18 times as fast. Eight
    waves of 64x64 that split a step's k are at 0.81 to 1.05 of four where groups are few. For 16 to 32 rows
    or columns and a depth of 4096 or more, the best of 32x64, 64x16 and 16x64 is at 0.62 to 0.94 of 32x256
    and 256x32; with a depth of 512 or 1024, which take smaller tiles, at 1.15 to 1.62."""
    return [
        Tile(128, 128, depth, 64, 64),
        Tile(64, 128, depth, 32, 32),
        Tile(64, 64, depth, 32, 32),
        Tile(32, 64, depth, 32, 16),
        Tile(32, 32, depth, 16, 16),
        Tile(32, 256, depth, 32, 32),
        Tile(256, 32, depth, 32, 32),
    ]
