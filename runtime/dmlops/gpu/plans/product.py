"""Products in tiles: an output of sums of products of two factors, computed through shared memory.

The output is treated as a batch of matrices. One dispatch computes them tile by tile in a k-loop. With a
window, another may come first that packs factors into scratch, in the order in which the k-loop reads them;
if k is split, another one follows, which adds up partial sums. `contraction` (floats), `cooperative_matrix`
(float16) and `bytes` choose the tile, the split, and how factors are read; this module dispatches.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .capabilities import Capability
from .common_bindings import CommonConstants, Lists, eight
from .definition_types import MAX_COUNT, Definition, DefinitionShader
from .forms import begin_form
from .gemm_view import Matrices, first_of, is_bordered, is_of_bytes, merged_last, output_vector
from .loops import Dimensions, Words, ceil_div, element_count, extents, grid, times
from .operands import NO_MEMBER, NONE, WAVE, Eight, Groups, Sizes
from .planning import Planning
from .polyphase import is_divided, period
from .reasons import Reason
from .tuning import SINGLE_THREADS, TILE_WALK

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


class Product(NamedTuple):
    """The parameters of a plan. `in_parts`: partial sums go to scratch, even if k has a single part.

    `matrices` are those of the tensors; `factors` are the same with the factors as the k-loop reads them:
    packed, perhaps, with so many `channels` per tap, and with `strides` along the right factor's window.
    """

    tile: Tile
    split: Split
    in_parts: bool
    matrices: Matrices
    factors: Matrices
    channels: int
    strides: Eight
    packing: Packing
    row: Row
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


def window_strides(op: Definition, shader: DefinitionShader) -> Eight:
    """The right factor's strides along the window, as it is in memory."""
    right = op.tensors[shader.contracted.right]
    behind = len(right.sizes) - len(op.factors.window.sizes)
    strides: Eight = [stride for d, stride in enumerate(right.strides) if d >= behind]
    return strides


def window_words(out: Planning, op: Definition, shader: DefinitionShader, strides: Sizes) -> WindowWords:
    """The constants of a window on the right factor, which has these strides: sizes, first coordinates,
    steps, taps, limits, strides, divisors and periods; then its strides on the left one. Taps are the
    distances between those that one phase meets. None if there is no window."""
    window, contracted = op.factors.window, shader.contracted
    left, right = op.tensors[contracted.left], op.tensors[contracted.right]
    words: WindowWords = []
    if len(window.sizes) == 0:
        return words
    behind = len(right.sizes) - len(window.sizes)
    steps: Eight = []
    taps: Eight = []
    periods: Eight = []
    left_steps: Eight = []
    for d, first in enumerate(window.right_first):
        steps.append(window.right_steps[d] - first)
        periods.append(period(window, d))
        taps.append((window.right_taps[d] - first) * periods[d] // window.right_divisors[d])
        left_steps.append((window.left_taps[d] - window.left_first[d]) * left.strides[behind + d])
    limits: Eight = [size for d, size in enumerate(right.sizes) if d >= behind]
    lists: Annotated[list[Sizes], 16] = [
        window.sizes,
        window.right_first,
        steps,
        taps,
        limits,
        strides,
        window.right_divisors,
        periods,
        left_steps,
    ]
    for entries in lists:
        words.extend(eight(out, entries))
    return words


def begin_product(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    found: Matrices,
    split: Split,
    in_parts: bool,
    packing: Packing,
    taps_at_once: int,
) -> Common:
    """The macros and resources of all passes. Groups walk the tiles of a matrix in bands."""
    window, output = op.factors.window, op.tensors[shader.contracted.output]
    sums_words = times(4 * partial_vectors(found), split.parts) if in_parts else 0
    words = sums_words + times(ceil_div(packing.items, 4) * 4, packing.vector // packing.in_word)
    if words >= MAX_COUNT // packing.in_word:  # the shader counts elements there
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    known = begin_form(out, op, shader, output)
    out.define("RANK", len(output.sizes))
    out.define("ROW_AXIS", found.row_axis)
    out.define("OUTPUT_DOWN", int(found.is_down))
    out.define("SPLIT_K", int(in_parts))
    if found.column_axis != NONE:
        out.define("COLUMN_AXIS", found.column_axis)
    else:
        out.define("WINDOW_RANK", len(window.sizes))
        out.define("WINDOW_AXIS", window.axes[0])
        if not is_of_bytes(op, shader):
            out.define("PHASED", int(is_divided(window)))
            out.define("TAPS_AT_ONCE", taps_at_once)
    out.write(out.scratch(max(4 * words, 16)))
    out.share()
    height = min(TILE_WALK, split.down)
    last = split.down - (split.down - 1) // height * height
    walk = extents([split.down * split.across, found.count, height * split.across, height, last])
    return Common(split, extents(found.sizes), walk, sums_words, known)


def plan_product(out: Planning, op: Definition, shader: DefinitionShader, product: Product) -> None:
    """One dispatch, preceded by one if factors are packed, and followed by one if there are partial sums."""
    found, packing, row = product.matrices, product.packing, product.row
    common = begin_product(out, op, shader, found, product.split, product.in_parts, packing, row.taps)
    first = first_of(op.factors.window, op.tensors[shader.contracted.left])
    if packing.items > 0:
        out.define("PACK_VECTOR", packing.vector)
        if is_of_bytes(op, shader):
            define_signs(out, op, shader)
        else:
            out.define("TILE_DEPTH", product.tile.depth)
            out.define("WHOLE_TAPS", int(op.factors.depth % product.tile.depth == 0))
        dispatch_single(out, op, shader, found, common, PACK_PASS, packing.items)
        first = common.words * packing.in_word
    define_k_loop(out, op, shader, product)
    threads = tile_threads(product.tile)
    tiles = product.split.down * product.split.across * found.count
    groups = grid(out, tiles * product.split.parts * threads, threads, 1)
    words = window_words(out, op, shader, product.strides)
    params = contraction_params(op, product.factors, product.channels, first, words, common, groups)
    out.dispatch(params, groups, packing.items > 0)
    if product.in_parts:
        add_parts(out, op, shader, found, common)


def define_signs(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """The macros of the types of bytes."""
    out.define("LEFT_UNSIGNED", int(not op.tensors[shader.contracted.left].is_signed))
    out.define("RIGHT_UNSIGNED", int(not op.tensors[shader.contracted.right].is_signed))


def define_k_loop(out: Planning, op: Definition, shader: DefinitionShader, product: Product) -> None:
    """The macros of the pass that multiplies."""
    window, contracted = op.factors.window, shader.contracted
    right, output = op.tensors[contracted.right], op.tensors[contracted.output]
    found, factors, tile = product.matrices, product.factors, product.tile
    is_windowed, of_bytes = found.column_axis == NONE, is_of_bytes(op, shader)
    out.define("PASS", contracted.number)
    out.define("NUM_THREADS", tile_threads(tile))
    out.define("LEFT_VECTOR", factors.left.vector)
    out.define("LEFT_ALONG", int(factors.left.is_along))
    out.define("RIGHT_VECTOR", factors.right.vector)
    out.define("RIGHT_ALONG", int(factors.right.is_along))
    out.define("OUTPUT_VECTOR", 1 if product.in_parts else output_vector(found, output))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("WAVE_ROWS", tile.wave_rows)
    out.define("WAVE_COLUMNS", tile.wave_columns)
    out.define("AHEAD", tile.ahead)
    if product.is_cooperative:
        out.define("COOPERATIVE_MATRIX", 1)
    if is_windowed:
        out.define("PACKED", int(product.packing.items > 0))
    if is_windowed and not of_bytes:
        out.define("WHOLE_TAPS", int(op.factors.depth % tile.depth == 0))
        out.define("BORDERED", int(is_bordered(window, right, output)))
        out.define("REACH", product.row.reach)
        if product.is_cooperative:
            out.define("OUTPUT_MERGED", merged_last(output, found.row_axis))
    if of_bytes:
        define_signs(out, op, shader)
        # UINT8 always has a zero point, as tiles hold it.
        out.define("LEFT_SUMS", int(op.factors.lessens_right or not right.is_signed))
        out.define("RIGHT_SUMS", int(op.factors.lessens_left or not op.tensors[contracted.left].is_signed))
        out.define("DOT_PRODUCTS", int(out.has(Capability.DOT_PRODUCTS)))


def add_parts(
    out: Planning, op: Definition, shader: DefinitionShader, found: Matrices, common: Common
) -> None:
    """The pass in which each thread adds up four adjacent partial sums."""
    dispatch_single(out, op, shader, found, common, PARTS_PASS, partial_vectors(found))


def dispatch_single(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    found: Matrices,
    common: Common,
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
    first = first_of(op.factors.window, op.tensors[contracted.left])
    words = window_words(out, op, shader, window_strides(op, shader))
    params = contraction_params(op, found, op.factors.depth, first, words, common, groups)
    out.dispatch(params, groups, is_last)


def contraction_params(
    op: Definition,
    found: Matrices,
    channels: int,
    first: int,
    window: WindowWords,
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
        window,
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
        element_count(op.factors.window.sizes),
        first % 2**32,
        found.tap.step % 2**32,
        found.left.matrix % 2**32,
        op.elements,
        known.scalars,
    )
