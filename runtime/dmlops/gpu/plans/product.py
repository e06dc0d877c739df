"""Products in tiles: an output of sums of products of two factors, computed through shared memory.

The output is treated as a batch of matrices. One dispatch computes them tile by tile in a k-loop. Another one
packs factors first where the k-loop cannot read them as they are; if k is split, one more adds up partial
sums. `contraction` and, with a window, `implicit_gemm` choose how factors are read, the tile and the split;
this module dispatches.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .backend import are_stored_whole, partial_vectors
from .capabilities import Capability
from .gemm_view import Contraction, Matrices, Side, WindowAxes, is_of_bytes, is_stored_down, output_vector
from .loops import MAX_COUNT, CommonConstants, Dimensions, extents, grid, power_below, times
from .operands import NO_MEMBER, WAVE, Eight, Groups
from .planning import Planning
from .reasons import Reason
from .tile_cost import Choice, Split

SINGLE_THREADS = 256  # NVIDIA H200: 64 at 0.94, 128 at 1.00, 512 at 1.00
"threads in a group, for passes that add up partial sums or pack factors"
PARTS_EACH = 8  # NVIDIA H200: 1 thread for 128 parts at 0.69 to 0.81
"partial sums that a thread adds up, at least, if several share them"

# Passes, relative to the contraction's number
PARTS_PASS = 1  # adds up partial sums
SKINNY_PASS = 2  # multiplies skinny matrices
PACK_PASS = 2  # under a window, packs factors


class Product(NamedTuple):
    """A product by a backend, in the chosen tiles. The matrices' factors are those that the k-loop reads;
    `packed` vectors of 16 bytes are packed first, the left one of them from `left`."""

    is_cooperative: bool
    chosen: Choice
    matrices: Matrices
    packed: int
    left: Side


class ContractionParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the output, 1 along rows, and along columns without a window"
    walk: Annotated[Dimensions, "3"]
    "tiles of a matrix, matrices, and tiles across a matrix"
    leftSteps: Eight
    "strides along the dimensions of the output; lists fill two vectors"
    rightSteps: Eight
    windowAxes: Annotated[WindowAxes, "WINDOW_RANK"]
    known: CommonConstants
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
    channels: int
    "products of a tap, with padding"
    ownChannels: int
    "the same without"
    leftFirst: int
    "offset of the left factor's first element"
    leftMatrixStep: int
    "its stride from one matrix to the next, with a window"


def plan_product(out: Planning, op: Contraction, product: Product) -> None:
    """The pass that multiplies; before it, one that packs factors, if there is anything to pack; after it,
    one that adds up partial sums, which are always in rows, if k is split or cooperative matrices cannot
    store the output. Packed factors follow these in scratch; the k-loop counts their elements."""
    found, tile, split, packed = product.matrices, product.chosen.tile, product.chosen.split, product.packed
    in_parts = split.parts > 1 or (product.is_cooperative and not are_stored_whole(op, found))
    is_down = not in_parts and is_stored_down(op, found)
    sums = times(4 * partial_vectors(found), split.parts) if in_parts else 0
    words, each = sums + times(4, packed), found.left.vector if packed > 0 else 4
    if times(sums // 4 + packed, each) >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, times(4, words))
    if is_down:
        out.define("OUTPUT_DOWN", 1)
    if in_parts:
        out.define("SPLIT_K", 1)
    out.write(out.scratch(max(4 * words, 16)))
    out.share()
    if packed > 0:
        out.define("TAP_PRODUCTS", gcd(found.channels, tile.depth))
        out.define("PACK_VECTOR", each)
        if op.output.bits >= 16:
            out.define("OUTPUT_VECTOR", 1)
        dispatch_single(out, op, split, found._replace(left=product.left), PACK_PASS, packed)
        found = found._replace(left=found.left._replace(first=sums // 4 * each))

    define_factors(out, op, found, packed > 0)
    if len(found.axes) > 0:
        out.define("TAP_PRODUCTS", gcd(found.channels, tile.depth))
        out.define("REACH", found.reach)
    if product.is_cooperative:
        out.define("COOPERATIVE_MATRIX", 1)
    out.define("PASS", op.number)
    out.define("OUTPUT_VECTOR", 1 if in_parts else output_vector(op, found, is_down))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("WAVE_ROWS", tile.wave_rows)
    out.define("WAVE_COLUMNS", tile.wave_columns)
    threads = tile.rows // tile.wave_rows * (tile.columns // tile.wave_columns) * WAVE  # in a group
    groups = grid(out, split.down * split.across * found.count * split.parts * threads, threads, 1)
    out.dispatch(contraction_params(op, split, found, groups), groups, packed > 0)

    if in_parts:  # a thread takes four adjacent sums, or shares them if they have many parts
        sharing = power_below(split.parts // PARTS_EACH, split.parts)
        out.define("PART_THREADS", sharing)
        out.define("OUTPUT_VECTOR", output_vector(op, found, False))
        dispatch_single(out, op, split, found, PARTS_PASS, times(partial_vectors(found), sharing))


def define_factors(out: Planning, op: Contraction, found: Matrices, is_packed: bool) -> None:
    """The macros that say how factors are read."""
    out.define("LEFT_VECTOR", found.left.vector)
    if found.left.is_along:
        out.define("LEFT_ALONG", 1)
    out.define("RIGHT_VECTOR", found.right.vector)
    if found.right.is_along:
        out.define("RIGHT_ALONG", 1)
    if is_of_bytes(op):
        are_signed = op.left.is_signed and op.right.is_signed  # UINT8 has a zero point, as tiles hold it
        lessens = op.factors.lessens_left or op.factors.lessens_right
        out.define("ZERO_POINTS", int(lessens or not are_signed))
        out.define("DOT_PRODUCTS", int(out.has(Capability.DOT_PRODUCTS)))
    elif is_packed:
        out.define("PACKED", 1)


def dispatch_single(
    out: Planning, op: Contraction, split: Split, found: Matrices, number: int, items: int
) -> None:
    """A pass beside the one that multiplies, in which each thread takes one item. Partial sums are waited
    for."""
    groups = grid(out, items, SINGLE_THREADS, 1)
    out.define("PASS", op.number + number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("RIGHT_VECTOR", 1)
    out.dispatch(contraction_params(op, split, found, groups), groups, number == PARTS_PASS)


def contraction_params(op: Contraction, split: Split, found: Matrices, groups: Groups) -> ContractionParams:
    """The constants of a pass that reads the factors of these matrices."""
    left, right = found.left, found.right
    return ContractionParams(
        extents(found.sizes),
        extents([split.down * split.across, found.count, split.across]),
        [step % 2**32 for step in left.steps],
        [step % 2**32 for step in right.steps],
        found.axes,
        op.constants,
        found.count,
        found.rows,
        found.columns,
        found.depth,
        left.depth % 2**32,
        right.depth % 2**32,
        split.products,
        split.parts,
        groups.columns,
        found.channels,
        op.factors.depth,
        left.first,
        left.matrix % 2**32,
    )
