"""Convolutions as products: implicit GEMM, whose right factor is gathered tap by tap, and never stored.

Each channel group, or each phase of one, is a matrix: rows are its channels, dimension 1 of the output, and
columns run along all other dimensions. Weights, the left factor, are packed along k first, unless there is
one tap; of bytes, the right one, too.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .contraction import COOPERATIVE_RATE, FLOAT_RATE, suits_cooperative_matrix
from .gemm_view import (
    Contraction,
    Matrices,
    Side,
    Window,
    axis_steps,
    is_of_bytes,
    is_stored_down,
    is_tiled,
    side_vector,
)
from .loops import MAX_COUNT, ceil_div, element_count, times
from .operands import NO_MEMBER, NONE, Eight, Tensor
from .planning import Planning
from .product import Product, WindowConstants, begin_product, dispatch_single, multiply, product_of
from .reasons import Reason
from .tile_cost import Rates, Tile, Tiles, choose_tile
from .windows import (
    first_of,
    has_channels_first,
    has_phases,
    is_divided,
    is_pointwise,
    most_places,
    row_dimension,
    window_words,
)

COOPERATIVE_TAPS = 3  # NVIDIA H200: 1 at 0.60 to 0.93
"taps along a window's last dimension that tiles hold at once, at most: shared memory has room for them"
COOPERATIVE_REACH = 16  # NVIDIA H200: 2 at 0.92
"extra columns of a tile that only its other taps need, at most"


PACK_PASS = 2  # packs factors: its number, relative to the contraction's


class Packing(NamedTuple):
    """The packing of factors into scratch, in so many `items`, vectors of 16 bytes: none if they are read
    where they are. Taps have so many `channels` with padding, and the right factor, packed or not, these
    `strides` along the window."""

    items: int
    channels: int
    strides: Eight


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them is behind the first, and the columns (`pitch`) that a row of the output
    counts with padding."""

    taps: int
    reach: int
    pitch: int


def side_by_side(output: Tensor, row_axis: int) -> int:
    """The number of contiguous elements in the output, as loops over its last dimensions visit them."""
    run, axis = 1, len(output.sizes) - 1
    while axis >= 0 and axis != row_axis and (output.sizes[axis] == 1 or output.strides[axis] == run):
        run *= output.sizes[axis]
        axis -= 1
    return run


def windowed(op: Contraction) -> Matrices:
    """The output as matrices: one per phase of each channel group."""
    factors, window = op.factors, op.factors.window
    left, right, output = op.left, op.right, op.output
    counts_rows = row_dimension(factors, output)
    row_axis, groups = factors.left[counts_rows], max(window.groups, 1)
    sizes: Eight = [1 if d == row_axis else size for d, size in enumerate(output.sizes)]
    for d, divisor in enumerate(window.right_divisors):
        axis = window.axes[d]
        sizes[axis] = ceil_div(sizes[axis], divisor)  # those of the largest phase
    rows = output.sizes[row_axis] // groups
    columns = element_count(sizes)
    depth = times(factors.depth, most_places(window))
    is_straight = has_phases(window, output) and has_channels_first(factors, output)
    if is_of_bytes(op):
        is_straight = is_straight and len(factors.right_less) == 0
    for axis in factors.left_less:
        is_straight = is_straight and axis == row_axis
    row_step, depth_step = left.strides[counts_rows], left.strides[1 - counts_rows]
    matrix_step = left.sizes[0] // groups * left.strides[0]
    count = times(groups, element_count(window.right_divisors))
    run = 1 if is_divided(window) else side_by_side(output, row_axis)
    is_down = is_stored_down(op, row_axis, rows, run)
    return Matrices(
        is_straight and is_tiled(op, depth, times(times(rows, columns), depth * count)),
        sizes,
        row_axis,
        NONE,
        rows,
        columns,
        is_down,
        rows if is_down else run,
        depth,
        count,
        Side(axis_steps(output, row_axis, row_step), depth_step, matrix_step, True, 1),
        Side(axis_steps(output, factors.right[0], right.strides[0]), right.strides[1], 0, True, 1),
    )


def adjacent_columns(window: Window, tensor: Tensor, output: Tensor) -> int:
    """The number of columns that are contiguous in the right factor: more than 1 only if each element meets a
    single tap, and these are contiguous along all of the window's dimensions."""
    run, behind = 1, len(tensor.sizes) - len(window.sizes)
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        size, is_next = tensor.sizes[behind + d], is_pointwise(window, d) and window.right_steps[d] == 1
        is_whole = output.sizes[window.axes[d]] == size * window.right_divisors[d]
        if not is_next or not is_whole or (size > 1 and tensor.strides[behind + d] != run):
            return 1
        run *= size
    return run


def float_window_tiles(channels: int) -> Tiles:
    """The candidates. Their depth divides the `channels` of a tap if possible, so that a step reads a single
    tap."""
    depth = 16 if channels % 16 == 0 else 8
    return [
        Tile(64, 128, depth, 32, 64, 3, 76),
        Tile(32, 128, depth, 16, 64, 6, 66),
        Tile(32, 64, 32 if channels % 32 == 0 else depth, 16, 32, 3, 100),
        Tile(16, 128, depth, 16, 32, 6, 100),
    ]


def is_matrix(op: Contraction, found: Matrices, vector: int) -> bool:
    """Whether the left factor is a matrix as it is, of such vectors along k: there is a single tap, which all
    elements meet, and none outside of the right factor."""
    window, right, output = op.factors.window, op.right, op.output
    behind = len(right.sizes) - len(window.sizes)
    is_inside = element_count(window.sizes) == 1 and not is_divided(window)
    for d, first in enumerate(window.right_first):
        last = first + window.right_steps[d] * (output.sizes[window.axes[d]] - 1)
        is_inside = is_inside and first >= 0 and last < right.sizes[behind + d]
    return is_inside and side_vector(found.left, found.row_axis, found.rows, found.depth, vector) == vector


def packed_side(op: Contraction, found: Matrices, vector: int) -> Side:
    """The way to load the left factor packed: rows are padded to whole vectors along k."""
    pitch = ceil_div(found.depth, vector) * vector
    return Side(axis_steps(op.output, found.row_axis, pitch), 1, times(found.rows, pitch), True, vector)


def left_items(found: Matrices, vector: int) -> int:
    """The vectors of the packed left factor."""
    return times(times(found.rows, found.count), ceil_div(found.depth, vector))


def gathered(op: Contraction, side: Side, most: int) -> Side:
    """The way to load the right factor: up to `most` adjacent channels or pixels at once, wherever they
    start, or single elements, which tiles of cooperative matrices then hold along k."""
    right = op.right
    channels = gcd(most, op.factors.depth) if right.strides[1] == 1 else 1
    columns = gcd(most, adjacent_columns(op.factors.window, right, op.output))
    for d, stride in enumerate(right.strides):
        if right.sizes[d] > 1:
            channels = channels if d == 1 else gcd(channels, stride)
            columns = gcd(columns, stride) if d < 2 else columns
    if channels > 1:
        return side._replace(is_along=True, vector=channels)
    return side._replace(is_along=columns == 1 and most == 8, vector=columns)


def row_of(op: Contraction, found: Matrices) -> Row:
    """The taps that tiles can hold at once. Each row of the output has so many columns that they keep its
    windows clear of the tensor's next row: the zeros before that row also end this one."""
    window, right = op.factors.window, op.right
    last = len(window.sizes) - 1
    taps, first = window.sizes[last], window.right_first[last]
    tap, step = window.right_taps[last], window.right_steps[last]
    width, size = found.sizes[window.axes[last]], right.sizes[len(right.sizes) - 1]
    reach, before = tap * (taps - 1), max(-first, 0)
    is_near = 1 < taps <= COOPERATIVE_TAPS and step == 1 and 0 < reach <= COOPERATIVE_REACH
    if not is_near or is_divided(window) or op.factors.depth % 16 > 0:
        return Row(1, 0, 0)
    pitch = max(min(width + reach, max(before + size, width + reach - before)), width)
    return Row(taps, ceil_div(reach, 4) * 4, pitch)


def in_rows(found: Matrices, window: Window, row: Row) -> Matrices:
    """The matrices with padded output rows, for tiles that hold several taps at once."""
    axis, pitch = window.axes[len(window.sizes) - 1], row.pitch
    sizes: Eight = [pitch if d == axis else size for d, size in enumerate(found.sizes)]
    run = found.run if found.is_down else 1
    return found._replace(sizes=sizes, columns=found.columns // found.sizes[axis] * pitch, run=run)


def tap_tiles(channels: int) -> Tiles:
    """The candidates with a single tap. Their depth divides the `channels` of a tap if possible, so that a
    step reads a single tap."""
    depth = 32 if channels % 64 > 0 else 64
    return [
        Tile(128, 128, 32, 64, 64, 2, 23),
        Tile(128, 128, depth, 64, 32, 1, 50),
        Tile(64, 128, 32, 32, 64, 4, 17),
        Tile(64, 64, depth, 32, 32, 3, 14),
        Tile(32, 32, depth, 16, 16, 2, 8),
        Tile(16, 64, depth, 16, 16, 5, 20),
    ]


def row_tiles(row: Row) -> Tiles:
    """The candidates that contain several taps, each with 16 channels. Their last columns serve other tiles,
    too, so these are not counted."""
    wide, depth = 256 - row.reach, 16 * row.taps
    return [
        Tile(64, wide, depth, 32, 64, 2, 23),
        Tile(128, wide, depth, 64, 64, 1, 100),
        Tile(64, 128 - row.reach, depth, 32, 64, 4, 18),
        Tile(32, wide, depth, 32, 32, 2, 18),
        Tile(16, wide, depth, 16, 32, 3, 12),
    ]


def plan_window_product(out: Planning, op: Contraction, product: Product, packing: Packing, row: Row) -> None:
    """One dispatch, preceded by one if factors are packed, and followed by one if there are partial sums. In
    packed factors the k-loop counts elements."""
    found, factors, window = product.matrices, product.factors, op.factors.window
    items, channels, vector = packing.items, packing.channels, factors.left.vector
    sums = begin_product(out, product, times(4, items))
    if items > 0 and times(sums // 4 + items, vector) >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, times(4, sums + times(4, items)))
    out.define("PHASED", int(is_divided(window)))
    out.define("TAPS_AT_ONCE", row.taps)
    out.share()
    words = window_words(out, window, op.left, op.right, packing.strides)
    stored: Eight = [channels, op.factors.depth, first_of(window, op.left) % 2**32, found.left.matrix % 2**32]
    read = product._replace(window=WindowConstants(words, stored))
    tap_products = gcd(channels, product.tile.depth)
    if items > 0:
        out.define("TILE_DEPTH", product.tile.depth)
        out.define("TAP_PRODUCTS", tap_products)
        out.define("PACK_VECTOR", vector)
        dispatch_single(out, op, read, PACK_PASS, items)
        packed: Eight = [channels, op.factors.depth, sums // 4 * vector, factors.left.matrix]
        read = product._replace(window=WindowConstants(words, packed))
    out.define("TAP_PRODUCTS", tap_products)
    out.define("REACH", row.reach)
    multiply(out, op, read, items > 0)


def plan_window_tiles(out: Planning, op: Contraction, given: Matrices) -> bool:
    """Chooses the tile, of cooperative matrices where these suit, with one tap or several, and the parts of
    k. False if there is too little to compute."""
    if not given.is_worth:
        return False
    channels, is_cooperative = op.factors.depth, suits_cooperative_matrix(out, op, given)
    vector = 8 if is_cooperative else 4
    found, row = given, Row(1, 0, 0)
    rates = Rates(FLOAT_RATE, 747, 58, 4, 1)  # NVIDIA H200, fitted
    tiles = float_window_tiles(channels)
    if is_cooperative:
        rates = Rates(COOPERATIVE_RATE, 379, 32, 2, 1)  # NVIDIA H200, fitted
        tiles = tap_tiles(channels)
    chosen, several = choose_tile(given, tiles, rates, True), row_of(op, given)
    if is_cooperative and several.taps > 1:
        padded = in_rows(given, op.factors.window, several)
        rows = choose_tile(padded, row_tiles(several), rates._replace(taps=several.taps), True)
        if rows.time < chosen.time:
            chosen, found, row = rows, padded, several
    tile = chosen.tile._replace(columns=chosen.tile.columns + row.reach, depth=chosen.tile.depth // row.taps)
    items, left = left_items(found, vector), packed_side(op, found, vector)
    if is_matrix(op, found, vector):
        items, left = 0, found.left._replace(vector=vector)
    factors = found._replace(left=left, right=gathered(op, found.right, vector))
    product = product_of(chosen._replace(tile=tile), found, factors, is_cooperative)
    strides: Eight = list(op.right.strides[2:])
    plan_window_product(out, op, product, Packing(items, channels, strides), row)
    return True
