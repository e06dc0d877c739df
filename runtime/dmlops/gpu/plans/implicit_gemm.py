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
    Factors,
    Matrices,
    Side,
    WindowAxes,
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
from .windows import has_phases, in_words, is_divided, is_pointwise, most_places, phases_of, taps_of

ROWS = 1
"""The output's dimension of rows."""

COOPERATIVE_TAPS = 3  # NVIDIA H200: 1 at 0.60 to 0.93
"taps along a window's last dimension that tiles hold at once, at most: shared memory has room for them"
COOPERATIVE_REACH = 16  # NVIDIA H200: 2 at 0.92
"extra columns of a tile that only its other taps need, at most"


PACK_PASS = 2  # packs factors: its number, relative to the contraction's


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them is behind the first, and the matrices, with padded rows of the output."""

    taps: int
    reach: int
    matrices: Matrices


def side_by_side(output: Tensor) -> int:
    """The number of contiguous elements in the output, as loops over its last dimensions visit them."""
    run, axis = 1, len(output.sizes) - 1
    while axis > ROWS and (output.sizes[axis] == 1 or output.strides[axis] == run):
        run *= output.sizes[axis]
        axis -= 1
    return run


def channels_axis(factors: Factors, output: Tensor) -> int:
    """The left factor's dimension of channels, 0 or 1; the other one has the rows."""
    return 0 if factors.left[0] == len(output.sizes) else 1


def windowed(op: Contraction, axes: WindowAxes, groups: int) -> Matrices:
    """The output as matrices: one per phase of each channel group."""
    factors, left, right, output = op.factors, op.left, op.right, op.output
    sizes: Eight = [output.sizes[0], 1]
    sizes.extend([ceil_div(axis.elements, axis.divisor) for axis in axes])  # those of the largest phase
    rows, columns = output.sizes[ROWS] // groups, element_count(sizes)
    depth, count = times(factors.depth, most_places(axes)), times(groups, phases_of(axes))
    is_straight = has_phases(axes)
    if is_of_bytes(op):
        is_straight = is_straight and len(factors.right_less) == 0
    for axis in factors.left_less:
        is_straight = is_straight and axis == ROWS
    channels = channels_axis(factors, output)
    matrix_step = left.sizes[0] // groups * left.strides[0]
    run = 1 if is_divided(axes) else side_by_side(output)
    is_down = is_stored_down(op, ROWS, rows, run)
    return Matrices(
        is_straight and is_tiled(op, depth, times(times(rows, columns), depth * count)),
        sizes,
        ROWS,
        NONE,
        rows,
        columns,
        is_down,
        rows if is_down else run,
        depth,
        count,
        Side(
            axis_steps(output, ROWS, left.strides[1 - channels]), left.strides[channels], matrix_step, True, 1
        ),
        Side(axis_steps(output, 0, right.strides[0]), right.strides[1], 0, True, 1),
    )


def adjacent_columns(axes: WindowAxes) -> int:
    """The number of columns that are contiguous in the right factor: more than 1 only if each element meets a
    single tap, and these are contiguous along all of the window's dimensions."""
    run = 1
    for place in range(len(axes)):
        axis = axes[len(axes) - 1 - place]
        if not is_pointwise(axis) or (axis.limit > 1 and axis.stride != run):
            return 1
        run *= axis.limit
    return run


def float_window_tiles(channels: int) -> Tiles:
    """The candidates. Their depth divides the `channels` of a tap if possible, so that a step reads a single
    tap."""
    depth = 16 if channels % 16 == 0 else 8
    return [
        Tile(128, 128, depth, 32, 64, 2, 92),
        Tile(64, 128, depth, 32, 64, 3, 76),
        Tile(32, 128, depth, 16, 64, 6, 66),
        Tile(32, 64, 32 if channels % 32 == 0 else depth, 16, 32, 3, 100),
        Tile(16, 128, depth, 16, 32, 6, 100),
    ]


def is_matrix(axes: WindowAxes, found: Matrices, vector: int) -> bool:
    """Whether the left factor is a matrix as it is, of such vectors along k: there is a single tap, which all
    elements meet, and none outside of the right factor."""
    is_inside = taps_of(axes) == 1 and not is_divided(axes)
    for axis in axes:
        last = axis.first + axis.step * (axis.elements - 1)
        is_inside = is_inside and axis.weightsFirst == 0 and axis.first >= 0 and last < axis.limit
    return is_inside and side_vector(found.left, ROWS, found.rows, found.depth, vector) == vector


def packed_side(op: Contraction, found: Matrices, vector: int) -> Side:
    """The way to load the left factor packed: rows are padded to whole vectors along k."""
    pitch = ceil_div(found.depth, vector) * vector
    return Side(axis_steps(op.output, found.row_axis, pitch), 1, times(found.rows, pitch), True, vector)


def left_items(found: Matrices, vector: int) -> int:
    """The vectors of the packed left factor."""
    return times(times(found.rows, found.count), ceil_div(found.depth, vector))


def gathered(op: Contraction, axes: WindowAxes, side: Side, most: int) -> Side:
    """The way to load the right factor: up to `most` adjacent channels or pixels at once, wherever they
    start, or single elements, which tiles of cooperative matrices then hold along k."""
    right = op.right
    channels = gcd(most, op.factors.depth) if right.strides[1] == 1 else 1
    columns = gcd(most, adjacent_columns(axes))
    for d, stride in enumerate(right.strides):
        if right.sizes[d] > 1:
            channels = channels if d == 1 else gcd(channels, stride)
            columns = gcd(columns, stride) if d < 2 else columns
    if channels > 1:
        return side._replace(is_along=True, vector=channels)
    return side._replace(is_along=columns == 1 and most == 8, vector=columns)


def row_of(op: Contraction, axes: WindowAxes, found: Matrices) -> Row:
    """The taps that tiles can hold at once. Each row of the output has so many columns that they keep its
    windows clear of the tensor's next row: the zeros before that row also end this one."""
    axis = axes[-1]
    reach, before, width = axis.tap * (axis.taps - 1), max(-axis.first, 0), axis.elements
    is_near = 1 < axis.taps <= COOPERATIVE_TAPS and axis.step == 1 and 0 < reach <= COOPERATIVE_REACH
    if not is_near or is_divided(axes) or op.factors.depth % 16 > 0:
        return Row(1, 0, found)
    sizes: Eight = list(found.sizes)
    sizes[-1] = max(min(width + reach, max(before + axis.limit, width + reach - before)), width)
    run = found.run if found.is_down else 1
    padded = found._replace(sizes=sizes, columns=element_count(sizes), run=run)
    return Row(axis.taps, ceil_div(reach, 4) * 4, padded)


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


def plan_window_product(
    out: Planning, op: Contraction, axes: WindowAxes, product: Product, channels: int, items: int, row: Row
) -> None:
    """One dispatch, preceded by one if `items`, vectors of 16 bytes, are packed, and followed by one if there
    are partial sums. A tap has so many `channels`, with padding. In packed factors the k-loop counts
    elements."""
    found, factors, vector = product.matrices, product.factors, product.factors.left.vector
    sums = begin_product(out, product, times(4, items))
    if items > 0 and times(sums // 4 + items, vector) >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, times(4, sums + times(4, items)))
    out.define("PHASED", int(is_divided(axes)))
    out.define("TAPS_AT_ONCE", row.taps)
    out.share()
    words = in_words(out, axes)
    stored: Eight = [channels, op.factors.depth, 0, found.left.matrix % 2**32]
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


def plan_window_tiles(out: Planning, op: Contraction, axes: WindowAxes, given: Matrices) -> bool:
    """Chooses the tile, of cooperative matrices where these suit, with one tap or several, and the parts of
    k. False if there is too little to compute."""
    if not given.is_worth:
        return False
    channels, is_cooperative = op.factors.depth, suits_cooperative_matrix(out, op, given)
    vector = 8 if is_cooperative else 4
    row = Row(1, 0, given)
    rates = Rates(FLOAT_RATE, 747, 58, 4, 1)  # NVIDIA H200, fitted
    tiles = float_window_tiles(channels)
    if is_cooperative:
        rates = Rates(COOPERATIVE_RATE, 379, 32, 2, 1)  # NVIDIA H200, fitted
        tiles = tap_tiles(channels)
    chosen, several = choose_tile(given, tiles, rates, True), row_of(op, axes, given)
    if is_cooperative and several.taps > 1:
        rows = choose_tile(several.matrices, row_tiles(several), rates._replace(taps=several.taps), True)
        if rows.time < chosen.time:
            chosen, row = rows, several
    found = row.matrices
    tile = chosen.tile._replace(columns=chosen.tile.columns + row.reach, depth=chosen.tile.depth // row.taps)
    items, left = left_items(found, vector), packed_side(op, found, vector)
    if is_matrix(axes, found, vector):
        items, left = 0, found.left._replace(vector=vector)
    factors = found._replace(left=left, right=gathered(op, axes, found.right, vector))
    product = product_of(chosen._replace(tile=tile), found, factors, is_cooperative)
    plan_window_product(out, op, axes, product, channels, items, row)
    return True
