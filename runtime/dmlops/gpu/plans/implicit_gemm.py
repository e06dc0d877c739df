"""Convolutions as products: implicit GEMM, whose right factor is gathered tap by tap, and never stored.

Each channel group, or each phase of one, is a matrix: rows are its channels, dimension 1 of the output, and
columns run along all other dimensions. Weights, the left factor, are packed along k first, unless there is
one tap; of bytes, the right one, too: the channels of a pixel adjacent, and padded to whole vectors.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .backend import Backend
from .gemm_view import (
    Contraction,
    Matrices,
    Side,
    WindowAxes,
    is_of_bytes,
    is_stored_down,
    side_by_side,
    side_of,
    side_vector,
    suits_tiles,
)
from .loops import ceil_div, element_count, padded, times
from .operands import NONE, Eight
from .planning import Planning
from .product import plan_product, product_of
from .tile_cost import Tile, Tiles, choose_tile
from .windows import has_phases, in_words, is_divided, is_pointwise, most_places, phases_of, taps_of

ROWS = 1
"""The output's dimension of rows."""

COOPERATIVE_TAPS = 3  # NVIDIA H200: 1 at 0.60 to 0.93
"taps along a window's last dimension that tiles hold at once, at most: shared memory has room for them"
COOPERATIVE_REACH = 16  # NVIDIA H200: 2 at 0.92
"extra columns of a tile that only its other taps need, at most"


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them is behind the first, and the matrices, with padded rows of the output."""

    taps: int
    reach: int
    matrices: Matrices


def windowed(op: Contraction, axes: WindowAxes, groups: int) -> Matrices:
    """The output as matrices: one per phase of each channel group."""
    factors, output = op.factors, op.output
    sizes: Eight = [output.sizes[0], 1]
    sizes.extend([ceil_div(axis.elements, axis.divisor) for axis in axes])  # those of the largest phase
    rows, run = output.sizes[ROWS] // groups, 1 if is_divided(axes) else side_by_side(output, ROWS)
    is_down = is_stored_down(op, ROWS, rows, run)
    left = side_of(op.left, factors.left, output.sizes, ROWS)
    return Matrices(
        sizes,
        ROWS,
        NONE,
        rows,
        element_count(sizes),
        is_down,
        rows if is_down else run,
        times(factors.depth, most_places(axes)),
        factors.depth,
        times(groups, phases_of(axes)),
        axes,
        left._replace(matrix=op.left.sizes[0] // groups * op.left.strides[0]),
        side_of(op.right, factors.right, output.sizes, 0),
    )


def suits_window_tiles(op: Contraction, found: Matrices) -> bool:
    """Whether there is enough work for tiles, phases are worth it, and zero points are those of rows."""
    are_of_rows = all(axis == ROWS for axis in op.factors.left_less)
    is_one = len(op.factors.right_less) == 0
    return are_of_rows and is_one and has_phases(found.axes) and suits_tiles(op, found)


def is_matrix(found: Matrices, vector: int) -> bool:
    """Whether the left factor is a matrix as it is, of such vectors along k: there is a single tap, which all
    elements meet, and none outside of the right factor."""
    is_inside = taps_of(found.axes) == 1 and not is_divided(found.axes) and found.left.is_along
    for axis in found.axes:
        last = axis.first + axis.step * (axis.elements - 1)
        is_inside = is_inside and axis.weightsFirst == 0 and axis.first >= 0 and last < axis.limit
    return is_inside and side_vector(found.left, ROWS, found.rows, found.depth, vector) == vector


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


def gathered(op: Contraction, found: Matrices, most: int) -> Side:
    """The way to load the right factor: up to `most` adjacent channels or pixels at once, wherever they
    start, or single elements, which tiles of cooperative matrices then hold along k."""
    right = op.right
    channels = gcd(most, found.channels) if right.strides[1] == 1 else 1
    columns = gcd(most, adjacent_columns(found.axes))
    for d, stride in enumerate(right.strides):
        if right.sizes[d] > 1:
            channels = channels if d == 1 else gcd(channels, stride)
            columns = gcd(columns, stride) if d < 2 else columns
    is_along = channels > 1 or (columns == 1 and most == 8)
    return found.right._replace(is_along=is_along, vector=channels if channels > 1 else columns)


def with_packed_pixels(op: Contraction, given: Matrices) -> Matrices:
    """The matrices with the right factor packed: the channels of all groups are innermost, those of each
    padded to whole vectors."""
    channels = ceil_div(given.channels, 16) * 16
    axes: WindowAxes = list(given.axes)
    stride = channels * (op.right.sizes[1] // given.channels)
    for place in range(len(given.axes)):
        d = len(axes) - 1 - place
        axes[d] = axes[d]._replace(stride=stride)
        stride = times(stride, axes[d].limit)
    depth, right = times(taps_of(axes), channels), Side(0, padded([stride]), 1, 0, True, 16)
    return given._replace(depth=depth, channels=channels, axes=axes, right=right)


def row_of(op: Contraction, found: Matrices) -> Row:
    """The taps that tiles can hold at once. Each row of the output has so many columns that they keep its
    windows clear of the tensor's next row: the zeros before that row also end this one."""
    axis = found.axes[-1]
    reach, before, width = axis.tap * (axis.taps - 1), max(-axis.first, 0), axis.elements
    is_near = 1 < axis.taps <= COOPERATIVE_TAPS and axis.step == 1 and 0 < reach <= COOPERATIVE_REACH
    if not is_near or is_divided(found.axes) or op.factors.depth % 16 > 0:
        return Row(1, 0, found)
    sizes: Eight = list(found.sizes)
    sizes[-1] = max(min(width + reach, max(before + axis.limit, width + reach - before)), width)
    run = found.run if found.is_down else 1
    wide = found._replace(sizes=sizes, columns=element_count(sizes), run=run)
    return Row(axis.taps, ceil_div(reach, 4) * 4, wide)


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


def plan_window_tiles(out: Planning, op: Contraction, given: Matrices, backend: Backend) -> bool:
    """Chooses what is packed, the tile, with one tap or several, and the parts of k."""
    vector, found, packed = backend.vector, given, 0
    if is_of_bytes(op):
        found = with_packed_pixels(op, given)
        packed = times(op.right.sizes[0], found.right.steps[0] // vector)
    else:
        found = given._replace(right=gathered(op, given, vector))
    left = found.left._replace(vector=vector)
    if is_of_bytes(op) or not is_matrix(found, vector):
        vectors = ceil_div(found.depth, vector)  # of a row, which is padded
        packed += times(times(found.rows, found.count), vectors)
        pitch = vectors * vector
        left = Side(0, padded([0, pitch]), 1, times(found.rows, pitch), True, vector)
    row = Row(1, 0, found)
    chosen = choose_tile(found, backend.tiles, backend.rates, True)
    several = row_of(op, found)
    if vector == 8 and several.taps > 1:
        rates = backend.rates._replace(taps=several.taps)
        other = choose_tile(several.matrices, row_tiles(several), rates, True)
        if other.time < chosen.time:
            chosen, row = other, several
    tile = chosen.tile._replace(columns=chosen.tile.columns + row.reach, depth=chosen.tile.depth // row.taps)
    out.define("PHASED", int(is_divided(given.axes)))
    out.define("TAPS_AT_ONCE", row.taps)
    read = row.matrices._replace(axes=in_words(out, found.axes), left=left)
    product = product_of(op, chosen._replace(tile=tile), read, backend.is_cooperative)
    plan_product(out, op, product._replace(packed=packed, reach=row.reach), given.left)
    return True
