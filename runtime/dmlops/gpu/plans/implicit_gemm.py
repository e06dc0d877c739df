"""Convolutions: windows with few rows or few products slide over the input; others are products by implicit
GEMM, whose right factor is gathered tap by tap, and never stored.

Each channel group, or each phase of one, is a matrix: rows are its channels, dimension 1 of the output, and
columns run along all other dimensions. Weights, the left factor, are packed along k first, unless there is
one tap; of bytes, the right one, too: the channels of a pixel adjacent, and padded to whole vectors.
"""

from __future__ import annotations

from math import gcd

from .backend import TILE_LEAST_ROWS, Backend, backend_of
from .definition_types import Definition, DefinitionShader, Window
from .gemm_view import (
    Contraction,
    Matrices,
    Side,
    WindowAxes,
    is_divided,
    is_of_bytes,
    matrices_of,
    side_by_side,
    side_vector,
    suits_tiles,
)
from .loops import ceil_div, element_count, padded, times
from .operands import Eight
from .planning import Planning
from .product import Product, plan_product
from .sliding import in_words, plan_sliding, window_axes
from .tile_cost import Tile, Tiles, choose_tile

ROWS = 1
"""The output's dimension of rows."""

PACKED_MOST = 16
"times the weights: packed ones, at most"
COOPERATIVE_TAPS = 3  # NVIDIA H200: 1 at 0.60 to 0.93
"taps along a window's last dimension that tiles hold at once, at most: shared memory has room for them"
COOPERATIVE_REACH = 16  # NVIDIA H200: 2 at 0.92
"extra columns of a tile that only its other taps need, at most"
COOPERATIVE_MOST_TAPS = 9  # NVIDIA H200: 25 at 0.69 to 0.77 with 4 rows
"taps of a window with fewer rows than tiles need otherwise for which cooperative matrices pay, at most"
TAPS_COST = 6  # NVIDIA H200: 5 at 0.68 to 1.08
"fifths of what the cost model says that tiles of several taps take"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which windows of several taps slide although there are enough rows for tiles"


def plan_convolutions(
    out: Planning, op: Definition, shader: DefinitionShader, contraction: Contraction
) -> bool:
    """Slides the window over the input, or uses tiles. False if the definition's own passes are as good."""
    axes = window_axes(out, op.window, contraction.left, contraction.right, contraction.output)
    found = matrices_of(contraction, axes, op.window.groups)
    backend, is_tiled = backend_of(out, contraction, found), suits_window_tiles(contraction, found)
    if is_of_bytes(contraction) and not is_tiled:
        return False
    suits = suits_sliding(found, op.window, is_tiled and backend.is_cooperative)
    if suits and plan_sliding(out, op, shader, contraction.constants, found):
        return True
    return is_tiled and plan_window_tiles(out, contraction, found, backend)


def suits_sliding(found: Matrices, window: Window, is_cooperative: bool) -> bool:
    """Whether a convolution has too few rows for tiles, such small channel groups that they make no tile, or
    so few products that tiles leave most of a GPU idle."""
    taps = element_count(window.sizes)
    has_rows = found.rows >= TILE_LEAST_ROWS or (is_cooperative and taps <= COOPERATIVE_MOST_TAPS)
    is_narrow = window.groups > 1 and max(found.rows, found.channels) <= SLIDING_CHANNELS
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    is_small = products <= SLIDING_PRODUCTS and (taps > 1 or not is_cooperative)
    return not has_rows or is_narrow or is_small


def suits_window_tiles(op: Contraction, found: Matrices) -> bool:
    """Whether there is enough work for tiles, zero points are those of rows, and phases are worth it:
    neighbors within a phase, and the taps that it meets, are also neighbors on the right factor, no phase is
    empty, and the left factor does not become too large, of which each phase has as much as any."""
    packed = times(times(found.rows, found.depth), found.count)
    suits = packed <= PACKED_MOST * element_count(op.left.sizes) and len(op.factors.right_less) == 0
    for less in op.factors.left_less:
        suits = suits and less == ROWS
    for axis in found.axes:
        is_next = max(axis.step, axis.tap) == 1 and axis.divisor <= axis.elements
        suits = suits and (axis.divisor == 1 or is_next)
    return suits and suits_tiles(op, found)


def is_matrix(found: Matrices, vector: int) -> bool:
    """Whether the left factor is a matrix as it is, of such vectors along k: there is a single tap, which all
    elements meet, and none outside of the right factor."""
    is_inside = found.depth == found.channels and not is_divided(found.axes) and found.left.is_along
    for axis in found.axes:
        last = axis.first + axis.step * (axis.elements - 1)
        is_inside = is_inside and axis.weightsFirst == 0 and axis.first >= 0 and last < axis.limit
    return is_inside and side_vector(found.left, ROWS, found.rows, found.depth, vector) == vector


def gathered(op: Contraction, found: Matrices, most: int) -> Side:
    """The way to load the right factor: up to `most` adjacent channels or pixels at once, wherever they
    start, or single elements, which tiles of cooperative matrices then hold along k."""
    right, is_same = op.right, True
    for axis in found.axes:  # whether elements meet a single tap, at their own coordinates within the phase
        is_first = axis.first == 1 - axis.taps and axis.first + (axis.taps - 1) * axis.tap == 0
        is_whole = axis.step == 1 and axis.elements == axis.limit * axis.divisor
        is_same = is_same and axis.taps == axis.divisor and is_first and is_whole
    run = side_by_side(right, ROWS) if is_same else 1
    channels, columns = gcd(most, found.channels) if right.strides[1] == 1 else 1, gcd(most, run)
    rest = element_count(right.sizes)  # from a dimension on; rows before the run may overlap
    for d, stride in enumerate(right.strides):
        if right.sizes[d] > 1:
            channels = channels if d == 1 else gcd(channels, stride)
            columns = columns if rest <= run else gcd(columns, stride)
        rest //= right.sizes[d]
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
    depth, right = times(given.depth // given.channels, channels), Side(0, padded([stride]), 1, 0, True, 16)
    return given._replace(depth=depth, channels=channels, axes=axes, right=right)


def with_several_taps(found: Matrices) -> Matrices:
    """The matrices with the taps that tiles can hold at once, if these are several. Each row of the output
    then has so many columns that they keep its windows clear of the tensor's next row: the zeros before that
    row also end this one."""
    axis = found.axes[-1]
    reach, before, width = axis.tap * (axis.taps - 1), max(-axis.first, 0), axis.elements
    is_near = 1 < axis.taps <= COOPERATIVE_TAPS and axis.step == 1 and 0 < reach <= COOPERATIVE_REACH
    if not is_near or is_divided(found.axes) or found.channels % 16 > 0:
        return found
    sizes: Eight = list(found.sizes)
    sizes[-1] = max(min(width + reach, max(before + axis.limit, width + reach - before)), width)
    reach = ceil_div(reach, 4) * 4
    return found._replace(sizes=sizes, columns=element_count(sizes), taps=axis.taps, reach=reach)


def tap_tiles(channels: int) -> Tiles:
    """The candidates of cooperative matrices for float16. Their depth divides the `channels` of a tap if
    possible, so that a step reads a single tap."""
    depth = 32 if channels % 64 > 0 else 64
    return [
        Tile(128, 128, 32, 64, 64),
        Tile(128, 128, depth, 64, 32),
        Tile(64, 128, 32, 32, 64),
        Tile(64, 64, depth, 32, 32),
        Tile(32, 32, depth, 16, 16),
        Tile(16, 64, depth, 16, 16),
    ]


def row_tiles(rows: int) -> Tiles:
    """The candidates that contain several taps, each with 16 channels."""
    is_low = rows <= 64
    return [
        Tile(128, 256, 16, 64, 64),
        Tile(64, 256 if is_low else 128, 16, 32, 64),
        Tile(32, 256, 16, 32, 32),
        Tile(16, 256, 16, 16, 32),
    ]


def plan_window_tiles(out: Planning, op: Contraction, given: Matrices, backend: Backend) -> bool:
    """Chooses what is packed, the tile, with one tap or several, and the parts of k."""
    vector, found, packed = 16 // backend.rates.element, given, 0
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
    tiles, several = backend.tiles, with_several_taps(found)
    if vector == 8:
        tiles = tap_tiles(found.channels)
    chosen = choose_tile(found, tiles, backend.rates, True)
    if vector == 8 and several.taps > 1:
        other = choose_tile(several, row_tiles(found.rows), backend.rates, True)
        if other.time * TAPS_COST < chosen.time * 5:
            chosen, found = other, several
    out.define("PHASED", int(is_divided(given.axes)))
    out.define("TAPS_AT_ONCE", found.taps)
    read = found._replace(axes=in_words(out, found.axes), left=left)
    plan_product(out, op, Product(backend.is_cooperative, chosen, read, packed, given.left))
    return True
