"""Products of bytes with zero points: by cooperative matrices on devices that have them, else by dot products
of four bytes.

Tiles of the factors are stored in shared memory line by line, with the bytes of a sum adjacent, regardless of
the tensors' layouts; a wave multiplies 16x16 blocks of them. There all bytes are signed: UINT8 is biased by
-128. Zero points are accounted for at the end, by the sums of the lines: sum((a - x) (b - y)) = sum(a b) - x
sum(b - y) - y sum(a). A convolution packs both factors first, the channels of a pixel adjacent, and padded to
whole vectors.
"""

from __future__ import annotations

from .capabilities import Capability
from .gemm_view import Contraction, Matrices, Side, axis_steps, matrices_of, output_vector, side_vector
from .implicit_gemm import Packing, Row, left_items, packed_side, plan_window_product
from .loops import MAX_COUNT, MULTIPROCESSORS, ceil_div, element_count, times
from .operands import NONE, Eight
from .planning import Planning
from .product import Product, partial_vectors, plan_product
from .tile_cost import Choice, Rates, Tile, Tiles, choose_tile, split_of, tile_count

COOPERATIVE_PART = 512  # NVIDIA H200: 384 at 1.00, 640 at 0.99
"products in a part of k, at least; k is split from four times as many"
BYTES_RATE = 7500  # NVIDIA H200: 1979 T/s
"multiply-adds of bytes by cooperative matrices of a multiprocessor in a nanosecond"
BYTES_WINDOW_LATENCY = 284  # NVIDIA H200, fitted
"nanoseconds of a step in which a group only waits, with a window"
BYTES_WINDOW_ALONE = 28  # NVIDIA H200, fitted
"percentage of the rate that a group reaches alone, with a window"
DOT_RATE = 450  # NVIDIA H200: 64 dot products of four bytes at 1.76 GHz
"multiply-adds of bytes without cooperative matrices of a multiprocessor in a nanosecond"
DOT_LATENCY = 210  # NVIDIA H200, fitted
"nanoseconds of a step in which a group only waits"
DOT_ALONE = 60  # NVIDIA H200, fitted
"percentage of the rate that a group reaches alone"


def line_vector(side: Side, axis: int, lines: int, depth: int) -> Side:
    """A plain matrix, with the adjacent elements that are loaded at once; `axis` has that many lines."""
    vector = side_vector(side, axis, lines, depth, 16)
    whole = 16 if vector == 16 and side.is_along else 4
    return side._replace(vector=whole if vector >= 4 else 1)


def byte_tiles(found: Matrices) -> Tiles:
    """The tiles for matrices, from the largest to the least. Deep ones need fewer barriers, but where lines
    are transposed, large ones run out of registers. With few rows, groups mostly wait for loads, so more of
    them are resident."""
    deep = 64 if found.depth <= 64 else 128
    is_along = found.left.is_along and found.right.is_along  # nothing to transpose
    large = deep if is_along else 64
    share = 32 if is_along else 64
    resident = 4 if found.rows <= 32 else 2 if found.rows <= 64 else 1
    return [
        Tile(128, 128, large, 64, share, 1, 100),
        Tile(64, 128, large, 32, share, resident, 100),
        Tile(64, 64, deep, 32, 32, resident, 100),
        Tile(32, 64, deep, 16, 32, resident, 100),
        Tile(16, 32, 64, 16, 16, resident, 100),
    ]


def byte_parts(found: Matrices, tile: Tile) -> int:
    """The parts of k: as many as fill the multiprocessors, if it is deep enough for four."""
    most = found.depth // COOPERATIVE_PART
    wanted = tile.resident * MULTIPROCESSORS // tile_count(found, tile)
    return max(min(wanted, most), 1) if most >= 4 else 1


def is_for_pairs(found: Matrices, pair: Tile) -> bool:
    """Whether large tiles are best taken by groups of which two are resident. A round of pairs takes five
    thirds of the time of a round of single groups."""
    tiles = tile_count(found, pair)
    return 5 * ceil_div(tiles, 2 * MULTIPROCESSORS) < 3 * ceil_div(tiles, MULTIPROCESSORS)


def choose_matrix_tile(found: Matrices) -> Choice:
    """The largest tile of which half is used, and whose groups, each with a part of k, occupy three fifths of
    the multiprocessors; the parts of k."""
    flat = Tile(16, 64, 64, 16, 16, 8, 100)
    if found.rows <= flat.rows:
        return Choice(flat, byte_parts(found, flat), 0)
    tiles = byte_tiles(found)
    large, least = tiles[0], tiles[len(tiles) - 1]
    pair = large._replace(wave_columns=64, resident=2)
    for tile in tiles:
        parts = byte_parts(found, tile)
        is_used = 2 * found.rows > tile.rows and 2 * found.columns > tile.columns
        if is_used and 5 * times(tile_count(found, tile), parts) >= 3 * MULTIPROCESSORS:
            if tile.rows == pair.rows and tile.wave_columns < 64 and is_for_pairs(found, pair):
                return Choice(pair, byte_parts(found, pair), 0)
            return Choice(tile, parts, 0)
    return Choice(least, byte_parts(found, least), 0)


def byte_window_tiles() -> Tiles:
    """The candidates for windows."""
    return [
        Tile(128, 256, 64, 64, 64, 1, 100),
        Tile(64, 128, 64, 32, 32, 1, 72),
        Tile(64, 64, 64, 32, 32, 2, 28),
        Tile(32, 64, 64, 16, 32, 8, 8),
        Tile(16, 64, 64, 16, 16, 3, 18),
        Tile(16, 32, 64, 16, 16, 4, 38),
    ]


def dot_tiles() -> Tiles:
    """The candidates without cooperative matrices."""
    return [
        Tile(64, 128, 64, 32, 64, 2, 100),
        Tile(64, 64, 64, 32, 32, 3, 85),
        Tile(32, 64, 64, 16, 32, 5, 75),
        Tile(16, 64, 64, 16, 16, 6, 55),
        Tile(16, 32, 64, 16, 16, 8, 50),
    ]


def choose_byte_tile(found: Matrices, is_cooperative: bool) -> Choice:
    """The tile, and the parts of k."""
    if not is_cooperative:
        return choose_tile(found, dot_tiles(), Rates(DOT_RATE, DOT_LATENCY, DOT_ALONE, 1, 1), True)
    if found.column_axis != NONE:
        return choose_matrix_tile(found)
    rates = Rates(BYTES_RATE, BYTES_WINDOW_LATENCY, BYTES_WINDOW_ALONE, 1, 1)
    return choose_tile(found, byte_window_tiles(), rates, True)


def byte_product(out: Planning, op: Contraction, found: Matrices, factors: Matrices) -> Product:
    """The tile, and k split into parts. There are partial sums also where cooperative matrices cannot store
    the output: storing bytes one by one takes atomics, which do not mix with them."""
    output = op.output
    is_whole = output.bits >= 16 or output_vector(found, output) == 4
    sums = times(4, partial_vectors(found))
    is_cooperative = out.has(Capability.COOPERATIVE_MATRIX_INT8) and (is_whole or sums < MAX_COUNT // 16)
    chosen = choose_byte_tile(factors, is_cooperative)
    split = split_of(factors, chosen)
    in_parts = split.parts > 1 or (is_cooperative and not is_whole)
    return Product(chosen.tile, split, in_parts, found, factors, is_cooperative)


def plan_int8_products(out: Planning, op: Contraction) -> bool:
    """One dispatch, followed by one if there are partial sums. False if the definition's own passes are as
    good."""
    found, depth = matrices_of(op), op.factors.depth
    if not found.is_worth:
        return False
    left = line_vector(found.left, found.row_axis, found.rows, depth)
    right = line_vector(found.right, found.column_axis, found.columns, depth)
    plan_product(out, op, byte_product(out, op, found, found._replace(left=left, right=right)))
    return True


def packed_stride(op: Contraction, padded: int, d: int) -> int:
    """The packed right factor's stride in bytes along a dimension but that of channels, of which each group
    has so many with padding."""
    right = op.right
    stride = padded * (right.sizes[1] // op.factors.depth)
    for later, size in enumerate(right.sizes):
        stride = times(stride, size) if later > max(d, 1) else stride
    return stride


def plan_int8_window(out: Planning, op: Contraction, given: Matrices) -> bool:
    """Packs both factors of a convolution, and multiplies them."""
    right, padded = op.right, ceil_div(op.factors.depth, 16) * 16
    found = given._replace(depth=times(element_count(op.factors.window.sizes), padded))
    image = packed_stride(op, padded, 0)
    factors = found._replace(
        left=packed_side(op, found, 16),
        right=Side(axis_steps(op.output, op.factors.right[0], image), 1, 0, True, 16),
    )
    items = left_items(found, 16) + times(right.sizes[0], image // 16)
    strides: Eight = [packed_stride(op, padded, d) for d in range(2, len(right.sizes))]
    product = byte_product(out, op, found, factors)
    plan_window_product(out, op, product, Packing(items, padded, strides), Row(1, 0, 0))
    return True
