"""Products of bytes with zero points: by cooperative matrices on devices that have them, else by dot products
of four bytes.

Tiles of the factors are stored in shared memory line by line, with the bytes of a sum adjacent, regardless of
the tensors' layouts; a wave multiplies 16x16 blocks of them. There all bytes are signed: UINT8 is biased by
-128. Zero points are accounted for at the end, by the sums of the lines: sum((a - x) (b - y)) = sum(a b) - x
sum(b - y) - y sum(a). A convolution packs both factors first, the channels of a pixel adjacent.
"""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .definition_types import MAX_COUNT, Definition, DefinitionShader
from .gemm_view import Matrices, Side, axis_steps, matrices_of, output_vector, side_vector, tiles_of
from .implicit_gemm import Packing, begin_packed, pack, product_window, unpacked_window
from .loops import MULTIPROCESSORS, ceil_div, element_count, times
from .operands import NONE, Eight
from .planning import Planning
from .product import Product, multiply, no_window, partial_vectors
from .tile_cost import Split, Tile, split_into

TILE_FEW_ROWS = 32  # NVIDIA H200: 16 at 0.73, 64 at 1.00, 128 at 1.00
"rows up to which tiles are 16 or 32 rows high"
COOPERATIVE_PART = 512  # NVIDIA H200: 384 at 1.00, 640 at 0.99
"products in a part of k, at least; k is split from four times as many"
COOPERATIVE_WINDOW_PART = 256  # NVIDIA H200: 64 at 0.63 with 256 products of a sum, at 1.0 with 576 to 2304
"the same with a window"
COOPERATIVE_MOST_PARTS = (
    8  # NVIDIA H200: 2 at 0.81, 4 at 1.00, 16 at 1.00; without a window, 8 at 0.35 to 0.7
)
"parts of k with a window, at most"
BYTES_GROUPS = 128  # NVIDIA H200: tiles half as large at 0.8 to 1.0, twice as large at 0.65 to 0.9
"groups that saturate a GPU with products of bytes"
BYTES_PART = 256  # NVIDIA H200: 1024 at 0.81
"products in a part of k, at least"
BYTES_MOST_PARTS = 8  # NVIDIA H200: 4 at 0.81, 16 at 1.00
"parts of k, at most"
BYTES_DEEP = 4  # NVIDIA H200: 2 at 0.7 to 1.0, 12 at 0.88, 24 at 0.72 to 1.0
"channels up to which they are padded to vectors of 4 bytes; more are padded to 16"


class BytePacking(NamedTuple):
    """The packed factors of a convolution: `vector` bytes are loaded at once, each channel group has `padded`
    bytes per pixel, and a row of the left factor takes `pitch` bytes. Items are vectors."""

    vector: int
    padded: int
    pitch: int
    left_items: int
    right_items: int


def line_vector(side: Side, axis: int, lines: int, depth: int) -> Side:
    """A plain matrix, with the adjacent elements that are loaded at once; `axis` has that many lines."""
    vector = side_vector(side, axis, lines, depth, 16)
    whole = 16 if vector == 16 and side.is_along else 4
    return side._replace(vector=whole if vector >= 4 else 1)


def cooperative_parts(found: Matrices, tile: Tile) -> int:
    """The parts of k: as many as fill the multiprocessors, if it is deep enough for four."""
    is_windowed = found.column_axis == NONE
    least = COOPERATIVE_WINDOW_PART if is_windowed else COOPERATIVE_PART
    if found.depth < 4 * least:
        return 1
    wanted = tile.resident * MULTIPROCESSORS // tiles_of(found, tile.rows, tile.columns)
    most = COOPERATIVE_MOST_PARTS if is_windowed else found.depth // least
    return max(min(wanted, found.depth // least, most), 1)


def occupies_most(found: Matrices, tile: Tile) -> bool:
    """Whether groups with this tile, each with a part of k, occupy at least three fifths of the
    multiprocessors."""
    return (
        5 * times(tiles_of(found, tile.rows, tile.columns), cooperative_parts(found, tile))
        >= 3 * MULTIPROCESSORS
    )


def is_for_pairs(found: Matrices, tile: Tile) -> bool:
    """Whether large tiles are best taken by groups of which two are resident. A round of pairs takes five
    thirds of the time of a round of single groups, and is worth three parts of k, but not two."""
    tiles = tiles_of(found, tile.rows, tile.columns)
    if tiles > MULTIPROCESSORS:
        return 5 * ceil_div(tiles, 2 * MULTIPROCESSORS) < 3 * ceil_div(tiles, MULTIPROCESSORS)
    return 2 * tiles > MULTIPROCESSORS and cooperative_parts(found, tile) == 3


def byte_tile_for(found: Matrices, is_cooperative: bool) -> Tile:
    """The tile for these matrices: the largest that leaves enough groups, with k split where it is deep. Deep
    tiles need fewer barriers, but where lines are transposed, large ones run out of registers. With few rows,
    groups mostly wait for loads, so more of them are resident."""
    if found.column_axis == NONE or not is_cooperative:
        return byte_window_tile_for(found, is_cooperative)
    ahead = 1 if found.depth <= 64 else 2
    if found.rows <= 16:
        return Tile(16, 64, 64, 16, 16, ahead, 8, 100)
    depth = 64 if found.depth <= 64 else 128
    resident = 4 if found.rows <= TILE_FEW_ROWS else 2 if found.rows <= 64 else 1
    is_along = found.left.is_along and found.right.is_along  # nothing to transpose
    large_depth = depth if is_along else 64
    large_ahead = 1 if is_along else ahead
    share = 32 if is_along else 64
    large = Tile(128, 128, large_depth, 64, share, large_ahead, 1, 100)
    if min(found.rows, found.columns) > 64 and occupies_most(found, large):
        pair = Tile(128, 128, depth, 64, 64, 1, 2, 100)
        if is_along and is_for_pairs(found, pair):
            return pair
        return large
    half = Tile(64, 128, large_depth, 32, share, large_ahead, resident, 100)
    if found.rows > TILE_FEW_ROWS and found.columns > 64 and occupies_most(found, half):
        return half
    square = Tile(64, 64, depth, 32, 32, 1, resident, 100)
    if found.rows > TILE_FEW_ROWS and occupies_most(found, square):
        return square
    small = Tile(32, 64, depth, 16, 32, 1, resident, 100)
    if occupies_most(found, small):
        return small
    return Tile(16, 32, 64, 16, 16, ahead, resident, 100)


def byte_window_tile_for(found: Matrices, is_cooperative: bool) -> Tile:
    """The tile for windows, which need more groups, and enough arithmetic to hide the latency of their loads.
    Devices without units take these tiles for plain matrices, too."""
    is_windowed = found.column_axis == NONE
    enough = 2 * BYTES_GROUPS if is_windowed else BYTES_GROUPS
    if found.rows <= 16:
        return Tile(16, 64, 64, 16, 16, 1, 1, 100)
    if found.rows <= TILE_FEW_ROWS:
        return Tile(32, 64, 64, 16, 32, 1, 1, 100)
    if found.rows > 64 and tiles_of(found, 128, 256) >= BYTES_GROUPS and is_cooperative:
        return Tile(128, 256, 64, 64, 64, 1, 1, 100)
    if tiles_of(found, 64, 128) >= enough:
        return Tile(64, 128, 64, 32, 32 if is_windowed and is_cooperative else 64, 1, 1, 100)
    if tiles_of(found, 64, 64) >= BYTES_GROUPS // 2:
        return Tile(64, 64, 64, 32, 32, 1, 1, 100)
    return Tile(16, 32, 64, 16, 16, 1, 1, 100)


def byte_split(found: Matrices, tile: Tile, is_cooperative: bool) -> Split:
    """The division of work among groups. k is split where there are few tiles."""
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    groups = times(down * across, found.count)
    parts = 1
    if found.column_axis != NONE and is_cooperative:
        parts = cooperative_parts(found, tile)
    elif groups < BYTES_GROUPS:
        parts = max(min(ceil_div(BYTES_GROUPS, groups), found.depth // BYTES_PART, BYTES_MOST_PARTS), 1)
    return split_into(parts, found.depth, tile.depth, down, across)


def byte_packing(op: Definition, shader: DefinitionShader, found: Matrices) -> BytePacking:
    """The packing of a convolution's factors. Few channels are not worth padding to whole vectors."""
    window, right = op.factors.window, op.tensors[shader.contracted.right]
    channels = op.factors.depth
    vector = 16 if channels % 16 == 0 or channels > BYTES_DEEP else 4
    padded = ceil_div(channels, vector) * vector
    pitch = ceil_div(times(element_count(window.sizes), padded), 16) * 16
    groups = max(window.groups, 1)
    pixels = element_count(right.sizes) // right.sizes[1]
    return BytePacking(
        vector,
        padded,
        pitch,
        times(times(found.rows, groups), pitch // vector),
        times(times(pixels, groups), padded // vector),
    )


def packed_factors(
    op: Definition, shader: DefinitionShader, found: Matrices, layout: BytePacking
) -> Matrices:
    """The matrices with packed factors."""
    right, output = op.tensors[shader.contracted.right], op.tensors[shader.contracted.output]
    image = layout.padded * (right.sizes[1] // op.factors.depth)
    for d, size in enumerate(right.sizes):
        image = times(image, size) if d > 1 else image
    return found._replace(
        depth=times(element_count(op.factors.window.sizes), layout.padded),
        left=Side(
            axis_steps(output, found.row_axis, layout.pitch), 1, times(found.rows, layout.pitch), True, 16
        ),
        right=Side(axis_steps(output, op.factors.right[0], image), 1, 0, True, layout.vector),
    )


def pixel_strides(op: Definition, shader: DefinitionShader, layout: BytePacking) -> Eight:
    """Strides in bytes along each dimension of the window, in the packed right factor."""
    right = op.tensors[shader.contracted.right]
    strides: Eight = []
    for d in range(len(op.factors.window.sizes)):
        stride = layout.padded * (right.sizes[1] // op.factors.depth)
        for later, size in enumerate(right.sizes):
            stride = times(stride, size) if later > d + 2 else stride
        strides.append(stride)
    return strides


def byte_product(
    out: Planning, op: Definition, shader: DefinitionShader, found: Matrices, factors: Matrices
) -> Product:
    """The tile, and k split into parts. There are partial sums also where cooperative matrices cannot store
    the output: storing bytes one by one takes atomics, which do not mix with them."""
    output = op.tensors[shader.contracted.output]
    is_whole = output.bits >= 16 or output_vector(found, output) == 4
    sums = times(4, partial_vectors(found))
    is_cooperative = out.has(Capability.COOPERATIVE_MATRIX_INT8) and (is_whole or sums < MAX_COUNT // 16)
    tile = byte_tile_for(factors, is_cooperative)
    split = byte_split(factors, tile, is_cooperative)
    in_parts = split.parts > 1 or (is_cooperative and not is_whole)
    return Product(tile, split, in_parts, found, factors, is_cooperative)


def define_signs(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """The macros of the types of bytes."""
    out.define("LEFT_UNSIGNED", int(not op.tensors[shader.contracted.left].is_signed))
    out.define("RIGHT_UNSIGNED", int(not op.tensors[shader.contracted.right].is_signed))


def plan_bytes(out: Planning, op: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """One dispatch, preceded by one if a convolution's factors are packed, and followed by one if there are
    partial sums."""
    left, right = op.tensors[shader.contracted.left], op.tensors[shader.contracted.right]
    is_windowed, channels = found.column_axis == NONE, op.factors.depth
    is_packed = is_windowed and found.right.vector < 4
    layout = byte_packing(op, shader, found)
    factors = found._replace(
        left=line_vector(found.left, found.row_axis, found.rows, channels),
        right=found.right._replace(vector=4),
    )
    if is_packed:
        factors = packed_factors(op, shader, found, layout)
    elif not is_windowed:
        columns = line_vector(found.right, found.column_axis, found.columns, channels)
        factors = factors._replace(right=columns)
    product = byte_product(out, op, shader, found, factors)
    packing = Packing(layout.left_items + layout.right_items if is_packed else 0, layout.vector, 4)
    common = begin_packed(out, op, shader, product, packing)
    out.share()
    window = no_window()
    if is_packed:
        define_signs(out, op, shader)
        pack(out, op, shader, product, packing, common)
        strides = pixel_strides(op, shader, layout)
        window = product_window(out, op, shader, factors, strides, layout.padded, 4 * common.words)
    elif is_windowed:
        window = unpacked_window(out, op, shader, found)
    define_signs(out, op, shader)
    # UINT8 always has a zero point, as tiles hold it.
    out.define("LEFT_SUMS", int(op.factors.lessens_right or not right.is_signed))
    out.define("RIGHT_SUMS", int(op.factors.lessens_left or not left.is_signed))
    out.define("DOT_PRODUCTS", int(out.has(Capability.DOT_PRODUCTS)))
    multiply(out, op, shader, product, window, common, is_packed)


def plan_int8_products(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """False if the definition's own passes are as good."""
    return plan_int8_tiles(out, op, shader, matrices_of(op, shader))


def plan_int8_tiles(out: Planning, op: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """False if there is too little to compute."""
    if found.is_worth:
        plan_bytes(out, op, shader, found)
    return found.is_worth
