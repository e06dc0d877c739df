"""Products in tiles: an output of sums of products of two factors, computed through shared memory.

The output is treated as a batch of matrices. One dispatch computes them tile by tile in a k-loop. With a
window, another may come first that packs factors into scratch, in the order in which the k-loop reads them;
if k is split, another one follows, which adds up partial sums. `contraction` (floats), `cooperative_matrix`
(float16) and `bytes` choose the tile, the split, and how factors are read; this module dispatches.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .capabilities import Capability
from .common_bindings import CommonConstants, Lists, begin_form
from .definition_types import MAX_COUNT, Definition, DefinitionShader
from .gemm_view import Matrices, is_of_bytes, output_vector
from .loops import Dimensions, Words, ceil_div, extents, grid, times
from .operands import NO_MEMBER, NONE, WAVE, Eight, Groups
from .planning import Planning
from .reasons import Reason

TILE_WALK = 8  # NVIDIA H200: 1, 2, 4, 16 at 0.98 to 1.03 for float16
"rows of tiles that are walked as one band, so that shared factors stay in the cache"
SINGLE_THREADS = 256  # NVIDIA H200: 64 at 0.94, 128 at 1.00, 512 at 1.00
"threads in a group, for passes that add up partial sums or pack factors"

# Passes, relative to the contraction's number
PARTS_PASS = 1  # adds up partial sums
PACK_PASS = 2  # packs factors; the shader has it only with a window
SKINNY_PASS = 2  # multiplies skinny matrices; only without one

WindowWords = Annotated[list[int], 96]


class Tile(NamedTuple):
    """A group's tile of the output, the `depth` of its k-loop, each wave's share, how many tiles are
    prefetched `ahead`, how many groups are `resident` on a multiprocessor at once, and the percentage of its
    arithmetic rate that these reach."""

    rows: int
    columns: int
    depth: int
    wave_rows: int
    wave_columns: int
    ahead: int
    resident: int
    efficiency: int


class Split(NamedTuple):
    """The division of work: tiles down and across a matrix, parts of k, and the products in a part."""

    down: int
    across: int
    parts: int
    products: int


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them is behind the first, and the columns (`pitch`) that a row of the output
    counts with padding."""

    taps: int
    reach: int
    pitch: int


class Packing(NamedTuple):
    """The packing of factors: in so many `items`, none if they are read where they are, each a vector of
    `vector` elements, of which a word of scratch holds `in_word`."""

    items: int
    vector: int
    in_word: int


class WindowView(NamedTuple):
    """The window of a product: its constants (`words`), the number of its `taps`, the left factor's
    offset at the `first` of them and its stride from tap to tap, how many of the output's last dimensions
    form one (`merged`), and the taps that a tile holds at once. `is_phased`: it steps in fractions;
    `is_bordered`: it reaches beyond the edge of the right factor."""

    words: WindowWords
    taps: int
    first: int
    tap_step: int
    merged: int
    row: Row
    is_phased: bool
    is_bordered: bool


class Product(NamedTuple):
    """The parameters of a plan. `in_parts`: partial sums go to scratch, even if k has a single part.

    `matrices` are those of the tensors; `factors` are the same with the factors as the k-loop reads them:
    packed, perhaps, with so many `channels` per tap of the window.
    """

    tile: Tile
    split: Split
    in_parts: bool
    matrices: Matrices
    factors: Matrices
    channels: int
    window: WindowView
    packing: Packing
    is_cooperative: bool


class Common(NamedTuple):
    """The parameters shared by all passes of a plan: the split, the sizes of the output and what groups
    divide their numbers by, the partial sums in scratch, in words, and what depends only on the
    description."""

    split: Split
    sizes: Dimensions
    walk: Dimensions
    words: int
    known: CommonConstants


class ContractionParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the output, 1 along rows, and along columns without a window"
    walk: Annotated[Dimensions, "5"]
    "tiles of a matrix, matrices, tiles of a band, and rows of tiles in a band and in the last one"
    leftSteps: Eight
    "strides along the dimensions of the output; lists fill two vectors"
    rightSteps: Eight
    window: WindowWords
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
    tilesDown: int
    "of a matrix"
    groupColumns: int
    "thread groups along x"
    channels: int
    "products of a tap of the window"
    taps: int
    leftFirst: int
    "offset of the first tap"
    leftTapStep: int
    "stride from tap to tap"
    leftMatrixStep: int
    elements: Words
    scalars: Words


def tile_threads(tile: Tile) -> int:
    """Threads in a group."""
    return tile.rows // tile.wave_rows * (tile.columns // tile.wave_columns) * WAVE


def split_into(parts: int, depth: int, step: int, down: int, across: int) -> Split:
    """Splits k, of `depth` products, into at most so many parts, all but the last of which are multiples of
    `step`."""
    products = ceil_div(ceil_div(depth, parts), step) * step
    return Split(down, across, ceil_div(depth, products), products)


def partial_vectors(found: Matrices) -> int:
    """The vectors of four partial sums in one part; rows, or columns if these are stored, are padded."""
    across = times(found.rows, ceil_div(found.columns, 4))
    return times(times(found.columns, ceil_div(found.rows, 4)) if found.is_down else across, found.count)


def single_tap() -> Row:
    return Row(1, 0, 0)


def no_window() -> WindowView:
    words: WindowWords = []
    return WindowView(words, 1, 0, 0, 0, single_tap(), False, False)


def begin_product(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    found: Matrices,
    split: Split,
    in_parts: bool,
    packing: Packing,
) -> Common:
    """The macros and resources of all passes. Groups walk the tiles of a matrix in bands."""
    output = op.tensors[shader.contracted.output]
    sums_words = times(4 * partial_vectors(found), split.parts) if in_parts else 0
    words = sums_words + times(ceil_div(packing.items, 4) * 4, packing.vector // packing.in_word)
    if words >= MAX_COUNT // packing.in_word:  # the shader counts elements there
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    known = begin_form(out, op, shader, output)
    if found.is_down:
        out.define("OUTPUT_DOWN", 1)
    if in_parts:
        out.define("SPLIT_K", 1)
    if found.row_axis > found.column_axis and found.column_axis != NONE:
        out.define("TRANSPOSED", 1)
    out.write(out.scratch(max(4 * words, 16)))
    out.share()
    height = min(TILE_WALK, split.down)
    last = split.down - (split.down - 1) // height * height
    walk = extents([split.down * split.across, found.count, height * split.across, height, last])
    return Common(split, extents(found.sizes), walk, sums_words, known)


def plan_product(out: Planning, op: Definition, shader: DefinitionShader, product: Product) -> None:
    """One dispatch, preceded by one if factors are packed, and followed by one if there are partial sums."""
    found, packing, window = product.matrices, product.packing, product.window
    common = begin_product(out, op, shader, found, product.split, product.in_parts, packing)
    first = window.first
    if packing.items > 0:
        out.define("PACK_VECTOR", packing.vector)
        if is_of_bytes(op, shader):
            define_signs(out, op, shader)
        else:
            out.define("TILE_DEPTH", product.tile.depth)
            out.define("WHOLE_TAPS", int(op.factors.depth % product.tile.depth == 0))
        dispatch_single(out, op, shader, found, common, window, PACK_PASS, packing.items)
        first = common.words * packing.in_word
    define_k_loop(out, op, shader, product)
    threads = tile_threads(product.tile)
    tiles = product.split.down * product.split.across * found.count
    groups = grid(out, tiles * product.split.parts * threads, threads, 1)
    params = contraction_params(op, product.factors, product.channels, first, window, common, groups)
    out.dispatch(params, groups, packing.items > 0)
    if product.in_parts:
        add_parts(out, op, shader, found, common, window)


def define_signs(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """The macros of the types of bytes."""
    out.define("LEFT_UNSIGNED", int(not op.tensors[shader.contracted.left].is_signed))
    out.define("RIGHT_UNSIGNED", int(not op.tensors[shader.contracted.right].is_signed))


def define_phases(
    out: Planning, op: Definition, shader: DefinitionShader, found: Matrices, window: WindowView
) -> None:
    """The macros of all passes under a window, where factors are floats."""
    if found.column_axis == NONE and not is_of_bytes(op, shader):
        out.define("PHASED", int(window.is_phased))
        out.define("TAPS_AT_ONCE", window.row.taps)


def define_k_loop(out: Planning, op: Definition, shader: DefinitionShader, product: Product) -> None:
    """The macros of the pass that multiplies."""
    contracted, window = shader.contracted, product.window
    right, output = op.tensors[contracted.right], op.tensors[contracted.output]
    found, factors, tile = product.matrices, product.factors, product.tile
    is_windowed, of_bytes = found.column_axis == NONE, is_of_bytes(op, shader)
    out.define("PASS", contracted.number)
    out.define("LEFT_VECTOR", factors.left.vector)
    if factors.left.is_along:
        out.define("LEFT_ALONG", 1)
    out.define("RIGHT_VECTOR", factors.right.vector)
    if factors.right.is_along:
        out.define("RIGHT_ALONG", 1)
    out.define("OUTPUT_VECTOR", 1 if product.in_parts else output_vector(found, output))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("WAVE_ROWS", tile.wave_rows)
    out.define("WAVE_COLUMNS", tile.wave_columns)
    out.define("AHEAD", tile.ahead)
    if product.is_cooperative:
        out.define("COOPERATIVE_MATRIX", 1)
    if product.packing.items > 0:
        out.define("PACKED", 1)
    define_phases(out, op, shader, found, window)
    if is_windowed and not of_bytes:
        out.define("WHOLE_TAPS", int(op.factors.depth % tile.depth == 0))
        out.define("BORDERED", int(window.is_bordered))
        out.define("REACH", window.row.reach)
        if product.is_cooperative:
            out.define("OUTPUT_MERGED", window.merged)
    if of_bytes:
        define_signs(out, op, shader)
        # UINT8 always has a zero point, as tiles hold it.
        out.define("LEFT_SUMS", int(op.factors.lessens_right or not right.is_signed))
        out.define("RIGHT_SUMS", int(op.factors.lessens_left or not op.tensors[contracted.left].is_signed))
        out.define("DOT_PRODUCTS", int(out.has(Capability.DOT_PRODUCTS)))


def add_parts(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    found: Matrices,
    common: Common,
    window: WindowView,
) -> None:
    """The pass in which each thread adds up four adjacent partial sums."""
    dispatch_single(out, op, shader, found, common, window, PARTS_PASS, partial_vectors(found))


def dispatch_single(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    found: Matrices,
    common: Common,
    window: WindowView,
    number: int,
    items: int,
) -> None:
    """A pass beside the one that multiplies, in which each thread takes one item. Partial sums are waited
    for."""
    contracted = shader.contracted
    output = op.tensors[contracted.output]
    is_last = number == PARTS_PASS
    groups = grid(out, items, SINGLE_THREADS, 1)
    out.define("PASS", contracted.number + number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("RIGHT_VECTOR", 1)
    if output.bits >= 16:
        out.define("OUTPUT_VECTOR", output_vector(found, output) if is_last else 1)
    define_phases(out, op, shader, found, window)
    params = contraction_params(op, found, op.factors.depth, window.first, window, common, groups)
    out.dispatch(params, groups, is_last)


def contraction_params(
    op: Definition,
    found: Matrices,
    channels: int,
    first: int,
    window: WindowView,
    common: Common,
    groups: Groups,
) -> ContractionParams:
    """The constants of a pass; `first` is the left factor's offset at the first tap."""
    split, known = common.split, common.known
    return ContractionParams(
        common.sizes,
        common.walk,
        [step % 2**32 for step in found.left.steps],
        [step % 2**32 for step in found.right.steps],
        window.words,
        known.lists,
        known.activations,
        found.count,
        found.rows,
        found.columns,
        found.depth,
        found.left.depth % 2**32,
        found.right.depth % 2**32,
        split.products,
        split.parts,
        split.down,
        groups.columns,
        channels,
        window.taps,
        first % 2**32,
        window.tap_step % 2**32,
        found.left.matrix % 2**32,
        op.elements,
        known.scalars,
    )
