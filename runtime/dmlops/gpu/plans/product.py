"""Products in tiles: an output of sums of products of two factors, computed through shared memory.

The output is treated as a batch of matrices. One dispatch computes them tile by tile in a k-loop; if k is
split, another one follows, which adds up partial sums. `contraction` (floats and float16), `implicit_gemm`
(the same with a window) and `int8_product` choose the tile, the split, and how factors are read; this module
dispatches.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .capabilities import Capability
from .gemm_view import Contraction, Matrices, WindowAxes, is_of_bytes, output_vector
from .loops import MAX_COUNT, Dimensions, Lists, Words, ceil_div, extents, grid, power_below, times
from .operands import NO_MEMBER, WAVE, Eight, Groups
from .planning import Planning
from .reasons import Reason
from .tile_cost import Choice, Split, Tile

SINGLE_THREADS = 256  # NVIDIA H200: 64 at 0.94, 128 at 1.00, 512 at 1.00
"threads in a group, for passes that add up partial sums or pack factors"
PARTS_ALL_THREADS = 32768  # NVIDIA H200: 65536 at 0.98 to 0.99
"threads that saturate a GPU with partial sums; with fewer sums, more of them share each"
PARTS_EACH = 8  # NVIDIA H200: 1 thread for 128 parts at 0.69 to 0.81
"parts that each of these adds up, at least"
PARTS_SHARING = 32
"threads that share a sum, at most"

# Passes, relative to the contraction's number
PARTS_PASS = 1  # adds up partial sums
SKINNY_PASS = 2  # multiplies skinny matrices; under a window, the pass of this number packs factors


class WindowConstants(NamedTuple):
    """The constants of a window; none without one."""

    axes: WindowAxes
    numbers: Eight


class Product(NamedTuple):
    """The parameters of a plan. `in_parts`: partial sums go to scratch, even if k has a single part.

    `matrices` are those of the tensors; `factors` are the same with the factors as the k-loop reads them:
    packed, perhaps.
    """

    tile: Tile
    split: Split
    in_parts: bool
    matrices: Matrices
    factors: Matrices
    is_cooperative: bool
    window: WindowConstants


class ContractionParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the output, 1 along rows, and along columns without a window"
    walk: Annotated[Dimensions, "3"]
    "tiles of a matrix, matrices, and tiles across a matrix"
    leftSteps: Eight
    "strides along the dimensions of the output; lists fill two vectors"
    rightSteps: Eight
    windowAxes: Annotated[WindowAxes, "WINDOW_RANK"]
    lists: Lists
    activations: Annotated[list[int], 32]
    matrices: int
    matrixRows: int
    matrixColumns: int
    matrixDepth: int
    "products of a sum: the extent of k"
    leftDepthStep: int
    "stride along k"
    rightDepthStep: int
    partDepth: int
    "products in a part of k"
    parts: int
    groupColumns: int
    "thread groups along x"
    taps: Eight
    elements: Words
    scalars: Words


def product_of(chosen: Choice, given: Matrices, factors: Matrices, is_cooperative: bool) -> Product:
    """The product by a tile, with partial sums, which are always in rows, if k is split."""
    found, in_parts = given, chosen.split.parts > 1
    if given.is_down and in_parts:
        found = given._replace(is_down=False, run=1)
    window = WindowConstants([], [])
    return Product(chosen.tile, chosen.split, in_parts, found, factors, is_cooperative, window)


def partial_vectors(found: Matrices) -> int:
    """The vectors of four partial sums in one part; rows are padded."""
    return times(times(found.rows, ceil_div(found.columns, 4)), found.count)


def begin_product(out: Planning, product: Product, packed: int) -> int:
    """The macros and resources of all passes. Returns the words of partial sums in scratch; so many words of
    packed factors follow them."""
    found = product.matrices
    sums = times(4 * partial_vectors(found), product.split.parts) if product.in_parts else 0
    words = sums + packed
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    if found.is_down:
        out.define("OUTPUT_DOWN", 1)
    if product.in_parts:
        out.define("SPLIT_K", 1)
    out.write(out.scratch(max(4 * words, 16)))
    return sums


def multiply(out: Planning, op: Contraction, product: Product, is_packed: bool) -> None:
    """The pass that multiplies, after its own macros, and one that adds up partial sums."""
    found, factors, tile, split = product.matrices, product.factors, product.tile, product.split
    out.define("PASS", op.number)
    out.define("LEFT_VECTOR", factors.left.vector)
    if factors.left.is_along:
        out.define("LEFT_ALONG", 1)
    out.define("RIGHT_VECTOR", factors.right.vector)
    if factors.right.is_along:
        out.define("RIGHT_ALONG", 1)
    if is_of_bytes(op):
        are_signed = op.left.is_signed and op.right.is_signed  # UINT8 has a zero point, as tiles hold it
        lessens = op.factors.lessens_left or op.factors.lessens_right
        out.define("ZERO_POINTS", int(lessens or not are_signed))
        out.define("DOT_PRODUCTS", int(out.has(Capability.DOT_PRODUCTS)))
    elif is_packed:
        out.define("PACKED", 1)
    out.define("OUTPUT_VECTOR", 1 if product.in_parts else output_vector(found, op.output))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("WAVE_ROWS", tile.wave_rows)
    out.define("WAVE_COLUMNS", tile.wave_columns)
    if product.is_cooperative:
        out.define("COOPERATIVE_MATRIX", 1)
    threads = tile.rows // tile.wave_rows * (tile.columns // tile.wave_columns) * WAVE  # in a group
    groups = grid(out, split.down * split.across * found.count * split.parts * threads, threads, 1)
    out.dispatch(contraction_params(op, product, factors, groups), groups, is_packed)
    if product.in_parts:
        add_parts(out, op, product)


def plan_product(out: Planning, op: Contraction, product: Product) -> None:
    """One dispatch, followed by one if there are partial sums."""
    begin_product(out, product, 0)
    out.share()
    multiply(out, op, product, False)


def add_parts(out: Planning, op: Contraction, product: Product) -> None:
    """The pass that adds up partial sums, in which threads take four adjacent ones, and share them if these
    are few."""
    vectors = partial_vectors(product.matrices)
    wanted = min(PARTS_ALL_THREADS // vectors, product.split.parts // PARTS_EACH)
    sharing = power_below(wanted, PARTS_SHARING)
    out.define("PART_THREADS", sharing)
    dispatch_single(out, op, product, PARTS_PASS, times(vectors, sharing))


def dispatch_single(out: Planning, op: Contraction, product: Product, number: int, items: int) -> None:
    """A pass beside the one that multiplies, in which each thread takes one item. Partial sums are waited
    for."""
    is_last = number == PARTS_PASS
    groups = grid(out, items, SINGLE_THREADS, 1)
    out.define("PASS", op.number + number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("RIGHT_VECTOR", 1)
    if is_last or op.output.bits >= 16:
        out.define("OUTPUT_VECTOR", output_vector(product.matrices, op.output) if is_last else 1)
    out.dispatch(contraction_params(op, product, product.matrices, groups), groups, is_last)


def contraction_params(
    op: Contraction, product: Product, factors: Matrices, groups: Groups
) -> ContractionParams:
    """The constants of a pass that reads factors so."""
    split, window = product.split, product.window
    return ContractionParams(
        extents(factors.sizes),
        extents([split.down * split.across, factors.count, split.across]),
        [step % 2**32 for step in factors.left.steps],
        [step % 2**32 for step in factors.right.steps],
        window.axes,
        op.constants.lists,
        op.constants.activations,
        factors.count,
        factors.rows,
        factors.columns,
        factors.depth,
        factors.left.depth % 2**32,
        factors.right.depth % 2**32,
        split.products,
        split.parts,
        groups.columns,
        window.numbers,
        op.constants.elements,
        op.constants.scalars,
    )
