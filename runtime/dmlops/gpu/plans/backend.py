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

FLOAT_RATE = 225  # NVIDIA H200: 128 lanes at 1.76 GHz
"multiply-adds of float32 of a multiprocessor in a nanosecond"
DOT_RATE = 450  # NVIDIA H200: 64 dot products of four bytes at 1.76 GHz
"multiply-adds of bytes without cooperative matrices"
COOPERATIVE_RATE = 3750  # NVIDIA H200: 990 T/s
"multiply-adds of float16 by cooperative matrices"
BYTES_RATE = 7500  # NVIDIA H200: 1979 T/s
"multiply-adds of bytes by cooperative matrices"
COOPERATIVE_TINY = 32  # NVIDIA H200: 1.2 to 3.1 times as fast with 8 to 32, 0.81 with a depth of 64
"rows, columns and depth up to which ordinary arithmetic beats cooperative matrices"
TILE_LEAST_ROWS = 6  # NVIDIA H200: 4 at 0.4 to 1.2; of cooperative matrices 0.57 to 0.86 without them
"rows under a window from which tiles pay, unless cooperative matrices of float16 suit"


class Backend(NamedTuple):
    """The multiplication of tiles: by cooperative matrices or not, the adjacent elements that a load of a
    factor may have, and the candidates with their rates."""

    is_cooperative: bool
    vector: int
    rates: Rates
    tiles: Tiles


def backend_of(out: Planning, op: Contraction, found: Matrices) -> Backend:
    """The fastest that the device has and that suits the matrices. All rates are those of an NVIDIA H200:
    fitted, but for bytes by cooperative matrices, set by hand with their tiles, to choose the fastest."""
    if is_of_bytes(op):
        if suits_cooperative_bytes(out, op, found):
            return Backend(True, 16, Rates(BYTES_RATE, 410, 37, 1), byte_tiles(found))
        return Backend(False, 16, Rates(DOT_RATE, 210, 60, 1), dot_tiles())
    if suits_cooperative_matrix(out, op, found):
        return Backend(True, 8, Rates(COOPERATIVE_RATE, 379, 32, 2), cooperative_tiles())
    is_windowed = len(found.axes) > 0
    latency, alone = 704 if is_windowed else 210, 67 if is_windowed else 47
    return Backend(False, 4, Rates(FLOAT_RATE, latency, alone, 4), float_tiles(found))


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


def float_tiles(found: Matrices) -> Tiles:
    """The candidates without cooperative matrices. A thread accumulates a quarter of its wave's rows and an
    eighth of its columns. Their depth divides the channels of a tap if possible, so that a step reads a
    single one of several taps."""
    tap = found.channels if found.channels < found.depth else 0
    depth = 8 if tap % 16 > 0 or found.depth < 32 else 16
    deep = 32 if tap % 32 == 0 else depth
    return [
        Tile(128, 128, depth, 32, 64, 2, 100),
        Tile(64, 128, depth, 32, 64, 3, 86),
        Tile(64, 64, depth, 32, 64, 8, 63),
        Tile(32, 128, depth, 16, 64, 3, 85),
        Tile(16, 128, depth, 16, 32, 6, 100),
        Tile(32, 64, deep, 16, 32, 6, 57),
        Tile(128, 32, deep, 32, 32, 3, 54),
        Tile(32, 32, depth, 16, 32, 7, 80),
        Tile(16, 32, depth, 16, 32, 8, 100),
    ]


def cooperative_tiles() -> Tiles:
    """The candidates for float16; under a window, `implicit_gemm` has others.

    Two tiles in shared memory, and so one barrier per step, make steps of 32 products 1.11 times as fast on
    an NVIDIA H200 (4096x4096x4096), but 48 KiB do not hold two of 64, which are 1.18 times as fast. Eight
    waves of 64x64 that split a step's k are at 0.81 to 1.05 of four where groups are few. For 16 to 32 rows
    or columns and a depth of 4096 or more, the best of 32x64, 64x16 and 16x64 is at 0.62 to 0.94 of 32x256
    and 256x32; with a depth of 512 or 1024, which take smaller tiles, at 1.15 to 1.62."""
    return [
        Tile(128, 128, 64, 64, 64, 2, 80),
        Tile(64, 128, 64, 32, 32, 1, 89),
        Tile(64, 64, 64, 32, 32, 6, 100),
        Tile(32, 64, 64, 32, 16, 7, 100),
        Tile(32, 32, 64, 16, 16, 6, 100),
        Tile(32, 256, 64, 32, 32, 3, 100),
        Tile(256, 32, 64, 32, 32, 3, 100),
    ]


def byte_tiles(found: Matrices) -> Tiles:
    """The candidates with cooperative matrices. Deep ones need fewer barriers, but run out of registers under
    a window; so do deep ones and waves of few columns where lines are transposed."""
    is_windowed, is_along = len(found.axes) > 0, found.left.is_along and found.right.is_along
    deep = 128 if is_along and not is_windowed and found.depth > 64 else 64
    return [
        Tile(128, 128, deep, 64, 64, 2, 50),
        Tile(64, 128, deep, 32, 32 if is_along or is_windowed else 64, 2, 40),
        Tile(32, 64, deep, 16, 32, 5, 60),
        Tile(16, 32, 64, 16, 16, 8, 12),
    ]


def dot_tiles() -> Tiles:
    """The candidates without cooperative matrices."""
    return [
        Tile(64, 128, 64, 32, 64, 2, 100),
        Tile(64, 64, 64, 32, 32, 3, 85),
        Tile(32, 64, 64, 16, 32, 5, 75),
        Tile(16, 64, 64, 16, 32, 6, 55),
        Tile(16, 32, 64, 16, 32, 8, 50),
    ]
