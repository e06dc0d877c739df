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
from .gemm_view import (
    Contraction,
    Matrices,
    Side,
    WindowAxes,
    axis_steps,
    matrices_of,
    output_vector,
    side_vector,
)
from .implicit_gemm import Row, left_items, packed_side, plan_window_product
from .loops import MAX_COUNT, ceil_div, times
from .operands import NONE
from .planning import Planning
from .product import Product, partial_vectors, plan_product, product_of
from .tile_cost import Rates, Tile, Tiles, choose_tile
from .windows import taps_of

BYTES_RATE = 7500  # NVIDIA H200: 1979 T/s
"multiply-adds of bytes by cooperative matrices of a multiprocessor in a nanosecond"
DOT_RATE = 450  # NVIDIA H200: 64 dot products of four bytes at 1.76 GHz
"multiply-adds of bytes without cooperative matrices of a multiprocessor in a nanosecond"


def line_vector(side: Side, axis: int, lines: int, depth: int) -> Side:
    """A plain matrix, with the adjacent elements that are loaded at once; `axis` has that many lines."""
    vector = side_vector(side, axis, lines, depth, 16)
    whole = 16 if vector == 16 and side.is_along else 4
    return side._replace(vector=whole if vector >= 4 else 1)


def byte_tiles(found: Matrices) -> Tiles:
    """The candidates with cooperative matrices. Deep ones need fewer barriers, but run out of registers under
    a window; so do deep ones and waves of few columns where lines are transposed."""
    is_windowed, is_along = found.column_axis == NONE, found.left.is_along and found.right.is_along
    deep = 128 if is_along and not is_windowed and found.depth > 64 else 64
    return [
        Tile(128, 128, deep, 64, 64, 2, 50),
        Tile(64, 128, deep, 32, 32 if is_along or is_windowed else 64, 2, 40),
        Tile(32, 64, deep, 16, 32, 5, 20),
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


def byte_product(out: Planning, op: Contraction, found: Matrices, factors: Matrices) -> Product:
    """The tile, and k split into parts. There are partial sums also where cooperative matrices cannot store
    the output: storing bytes one by one takes atomics, which do not mix with them."""
    output = op.output
    is_whole = output.bits >= 16 or output_vector(found, output) == 4
    sums = times(4, partial_vectors(found))
    is_cooperative = out.has(Capability.COOPERATIVE_MATRIX_INT8) and (is_whole or sums < MAX_COUNT // 16)
    rates = Rates(DOT_RATE, 210, 60, 1, 1)  # NVIDIA H200, fitted
    tiles = dot_tiles()
    if is_cooperative:
        # NVIDIA H200: set by hand, with the numbers of byte_tiles, to choose the fastest tiles
        rates = Rates(BYTES_RATE, 410, 37, 1, 1)
        tiles = byte_tiles(factors)
    product = product_of(choose_tile(factors, tiles, rates, True), found, factors, is_cooperative)
    return product._replace(in_parts=product.in_parts or (is_cooperative and not is_whole))


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


def plan_int8_window(out: Planning, op: Contraction, axes: WindowAxes, given: Matrices) -> bool:
    """Packs both factors of a convolution, and multiplies them."""
    padded = ceil_div(op.factors.depth, 16) * 16
    found = given._replace(depth=times(taps_of(axes), padded))
    packed: WindowAxes = list(axes)
    # That of the packed right factor along a dimension; the channels of all groups are innermost.
    stride = padded * (op.right.sizes[1] // op.factors.depth)
    for place in range(len(axes)):
        d = len(axes) - 1 - place
        packed[d] = axes[d]._replace(stride=stride)
        stride = times(stride, axes[d].limit)
    factors = found._replace(
        left=packed_side(op, found, 16), right=Side(axis_steps(op.output, 0, stride), 1, 0, True, 16)
    )
    items = left_items(found, 16) + times(op.right.sizes[0], stride // 16)
    product = byte_product(out, op, found, factors)
    plan_window_product(out, op, packed, product, padded, items, Row(1, 0, found))
    return True
