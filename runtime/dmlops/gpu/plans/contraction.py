"""Contractions: an output from sums of products of two factors, computed in tiles through shared memory.

The output is treated as a batch of matrices. A dispatch may come first: with a window it packs the left
factor into scratch, in the order in which tiles read it; without one it copies both factors, if they cannot
be loaded in whole vectors.
"""

from __future__ import annotations

from typing import NamedTuple

from .contraction_passes import (
    PARTS_PASS,
    CommonConstants,
    Split,
    common_constants,
    contraction_params,
    partial_vectors,
    partial_words,
    split_into,
    window_words,
)
from .defined import MAX_COUNT, Definition, DefinitionShader
from .forms import begin_form
from .loops import ceil_div, grid, times
from .matrices import Matrices, Side, axis_steps, first_of, is_bordered, output_vector, tiles_of
from .ordering import ORDER_PASS, copied, copied_words, is_put_in_order, pays_to_copy, row_pitch
from .phases import is_divided
from .planning import Planning
from .reasons import Reason
from .told import NO_MEMBER, NONE
from .tuning import (
    MULTIPROCESSORS,
    SINGLE_THREADS,
    TILE_DEEP,
    TILE_DEPTH,
    TILE_FEW_COLUMNS,
    TILE_FEW_PHASES,
    TILE_FEW_ROWS,
    TILE_GATHERED_DEPTH,
    TILE_GATHERED_PART,
    TILE_MANY,
    TILE_PART,
    TILE_SHALLOW,
    TILE_SMALL,
    TILE_SMALL_DEPTH,
    TILE_SMALL_PART,
    TILE_WINDOW_PARTS,
)


class Tile(NamedTuple):
    """A group's tile of the output, the `depth` of its k-loop, the elements that each of its threads
    accumulates, and how many such groups are `resident` on a multiprocessor at once. k is split into parts of
    at least `part` products."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    resident: int
    part: int


def is_small(found: Matrices) -> bool:
    """Whether matrices have so few products that latency, not throughput, limits them."""
    return found.rows > TILE_FEW_ROWS and found.depth <= TILE_SHALLOW and tiles_of(found, 32, 32) < TILE_SMALL


def narrow_tile_for(found: Matrices) -> Tile:
    """The tile for few columns: a tall one if that leaves enough groups, otherwise a small one, half as deep
    if there is a single iteration, or the last of a few would be partly empty."""
    tall = Tile(128, 32, TILE_DEPTH, 8, 4, 4, TILE_SMALL_PART)
    if found.rows >= tall.rows and tile_groups(found, tall) > 2 * MULTIPROCESSORS:
        return tall
    is_shallow = found.depth <= TILE_DEPTH or (found.depth < 4 * TILE_DEPTH and found.depth % TILE_DEPTH > 0)
    depth = TILE_DEPTH // 2 if is_shallow else TILE_DEPTH
    return Tile(16 if found.rows <= 16 else 32, 32, depth, 4, 4, 4, TILE_SMALL_PART)


def tile_for(found: Matrices, is_phased: bool, channels: int) -> Tile:
    """The tile for these matrices: the largest that leaves enough groups, with k split where it is deep.
    `channels` are those of one tap."""
    if found.column_axis == NONE:
        return gathered_tile_for(found, is_phased, channels)
    if found.columns <= TILE_FEW_COLUMNS and (found.rows <= 16 or not is_small(found)):
        return narrow_tile_for(found)
    if found.rows <= 16:
        return Tile(16, 64 if found.columns <= 64 else 128, TILE_DEPTH, 4, 4, 4, TILE_SMALL_PART)
    if is_small(found):
        return Tile(32, 32, TILE_SMALL_DEPTH, 4, 4, 1, TILE_PART)
    large = Tile(128, 128, TILE_DEPTH, 8, 8, 2, TILE_PART)
    half = Tile(64, 128, TILE_DEPTH, 8, 8, 3, TILE_PART)
    square = Tile(64, 64, TILE_DEPTH, 8, 4, 5, TILE_PART)
    if min(found.rows, found.columns) > 64:
        is_many = tiles_of(found, large.rows, large.columns) >= TILE_MANY
        # A round of large tiles takes at most 5/4 of the time of a round of half tiles.
        if is_many and 5 * tile_rounds(found, large) <= 4 * tile_rounds(found, half):
            return large
        if is_many or is_balanced(found, half, square):
            return half
        if tile_groups(found, large) >= TILE_MANY:
            return large
    if found.rows > TILE_FEW_ROWS and tile_groups(found, square) >= TILE_MANY:
        return square
    wide = Tile(32, 128, TILE_DEPTH, 4, 8, 4, TILE_PART)
    if found.rows <= TILE_FEW_ROWS and found.columns > 64 and tile_groups(found, wide) >= TILE_MANY:
        return wide
    # Where there are few groups, fewer barriers are worth more.
    depth = TILE_DEPTH if tiles_of(found, 32, 64) >= TILE_MANY else TILE_SMALL_DEPTH
    return Tile(32, 64, depth, 4, 4, 3, TILE_SMALL_PART)


def gathered_tile_for(found: Matrices, is_phased: bool, channels: int) -> Tile:
    """The tile for matrices with a window: wide ones amortize the cost of gathering, but small ones that fill
    the multiprocessors beat splitting k, unless k is deep; for phases they always do."""
    depth = TILE_DEPTH if channels % TILE_DEPTH == 0 else TILE_GATHERED_DEPTH
    if found.rows <= TILE_FEW_ROWS:
        return Tile(16, 128, depth, 4, 4, 4, TILE_GATHERED_PART)
    large = Tile(64, 128, depth, 8, 8, 4, TILE_GATHERED_PART)
    half = Tile(32, 128, depth, 4, 8, 4 if is_phased else 3, TILE_GATHERED_PART)
    tiles = tiles_of(found, large.rows, large.columns)
    # With three of them on each multiprocessor, the rest would run last, in a round of its own.
    is_tail = tiles > 3 * MULTIPROCESSORS and tiles < 4 * MULTIPROCESSORS
    enough = TILE_FEW_PHASES if is_phased else 2 * MULTIPROCESSORS
    if tiles > enough and not is_tail:
        return large
    if is_phased:
        return half
    if found.depth >= TILE_DEEP and 4 * tiles >= 3 * MULTIPROCESSORS:
        return large
    if tiles_of(found, half.rows, half.columns) >= TILE_MANY:
        return half
    is_split = found.depth >= TILE_DEEP // 2 or 5 * tiles_of(found, 32, 64) < 3 * MULTIPROCESSORS
    part = max(TILE_GATHERED_PART, ceil_div(found.depth, TILE_WINDOW_PARTS)) if is_split else found.depth
    return Tile(32, 64, TILE_SMALL_DEPTH if channels % TILE_SMALL_DEPTH == 0 else depth, 4, 4, 5, part)


def tile_rounds(found: Matrices, tile: Tile) -> int:
    """How often a multiprocessor takes as many tiles as are resident at once, if k is not split."""
    return ceil_div(tiles_of(found, tile.rows, tile.columns), tile.resident * MULTIPROCESSORS)


def is_balanced(found: Matrices, half: Tile, square: Tile) -> bool:
    """Whether half tiles give the busiest multiprocessor several groups, but no more work than square tiles,
    of half the size, do."""
    most_halves = ceil_div(tiles_of(found, half.rows, half.columns), MULTIPROCESSORS)
    most_squares = ceil_div(tiles_of(found, square.rows, square.columns), MULTIPROCESSORS)
    return most_halves > 1 and 2 * most_halves <= most_squares


def tile_parts(found: Matrices, tile: Tile) -> int:
    """The parts of k: as many as fill the multiprocessors, since one group too many costs a whole further
    round."""
    wanted = tile.resident * MULTIPROCESSORS // tiles_of(found, tile.rows, tile.columns)
    return max(min(wanted, found.depth // tile.part), 1)


def tile_groups(found: Matrices, tile: Tile) -> int:
    """Groups, each with a part of k."""
    return times(tiles_of(found, tile.rows, tile.columns), tile_parts(found, tile))


def tile_split(found: Matrices, tile: Tile) -> Split:
    """How groups share the work."""
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    return split_into(tile_parts(found, tile), found.depth, tile.depth, down, across)


def plan_contraction(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """One dispatch, preceded by one if factors are packed or copied, and followed by one if k is split."""
    window, contracted = told.factors.window, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    tile = tile_for(found, is_divided(window), told.factors.depth)
    split = tile_split(found, tile)
    sums_words = partial_words(found, split)
    is_windowed = found.column_axis == NONE
    is_ordered = is_put_in_order(told, found)
    is_copied = not is_windowed and left.bits == 32 and right.bits == 32
    is_copied = is_copied and pays_to_copy(found, min(found.left.vector, found.right.vector) <= 2)
    factors = found
    if is_copied:
        factors = copied(found, 4)
    ordered_words = copied_words(factors, 4) if is_copied else 0
    if is_ordered:
        ordered_words = times(times(found.depth, row_pitch(found)), found.count)
    words = sums_words + ordered_words
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    known = begin_form(out, told, shader, output)
    define_matrices(out, told, shader, found, tile.depth, 1)
    out.define("RIGHT_ALONG", int(found.right.is_along))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("THREAD_ROWS", tile.thread_rows)
    out.define("THREAD_COLUMNS", tile.thread_columns)
    out.define("IN_PARTS", int(split.parts > 1))
    out.write(out.scratch(max(4 * words, 16)))
    out.share()

    number = contracted.number
    first = first_of(window, left) if is_windowed else 0
    common = common_constants(found, split, window_words(out, told, shader), known)
    if is_ordered or is_copied:
        dispatch_items(out, told, shader, found, first, common, number + ORDER_PASS, ordered_words // 4)
    if is_ordered:
        pitch = row_pitch(found)
        steps = axis_steps(output, found.row_axis, 1)
        factors = found._replace(left=Side(steps, pitch, times(found.depth, pitch), False, 4))
        first = sums_words
    dispatch_tiles(out, told, shader, factors, first, common, tile, is_ordered or is_copied)
    if split.parts > 1:
        dispatch_items(out, told, shader, factors, first, common, number + PARTS_PASS, partial_vectors(found))


def define_matrices(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    tile_depth: int,
    taps_at_once: int,
) -> None:
    """The macros of the matrices' axes, of the output, and of the window; `taps_at_once` are the taps that
    tiles hold at once."""
    window, output = told.factors.window, told.tensors[shader.contracted.output]
    out.define("RANK", len(output.sizes))
    out.define("ROW_AXIS", found.row_axis)
    out.define("OUTPUT_DOWN", int(found.is_down))
    if found.column_axis != NONE:
        out.define("COLUMN_AXIS", found.column_axis)
        return
    out.define("WINDOW_RANK", len(window.sizes))
    out.define("WINDOW_AXIS", window.axes[0])
    out.define("WHOLE_TAPS", int(told.factors.depth % tile_depth == 0))
    out.define("BORDERED", int(is_bordered(window, told.tensors[shader.contracted.right], output)))
    out.define("PHASED", int(is_divided(window)))
    out.define("TAPS_AT_ONCE", taps_at_once)


def dispatch_tiles(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    first: int,
    common: CommonConstants,
    tile: Tile,
    is_ordered: bool,
) -> None:
    """The pass in which each group computes a tile or its partial sums. It waits for packed factors."""
    split, output = common.split, told.tensors[shader.contracted.output]
    in_group = tile.rows * tile.columns // (tile.thread_rows * tile.thread_columns)
    groups = grid(out, split.down * split.across * found.count * split.parts * in_group, in_group, 1)
    out.define("PASS", shader.contracted.number)
    out.define("NUM_THREADS", in_group)
    out.define("LEFT_VECTOR", found.left.vector)
    out.define("LEFT_ALONG", int(found.left.is_along))
    out.define("RIGHT_VECTOR", found.right.vector)
    out.define("ORDERED", int(is_ordered))
    out.define("OUTPUT_VECTOR", output_vector(found, output) if split.parts == 1 else 1)
    out.dispatch(contraction_params(told, found, first, common, groups), groups, is_ordered)


def dispatch_items(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    first: int,
    common: CommonConstants,
    number: int,
    threads: int,
) -> None:
    """Pass `number`, in which each thread packs or copies four elements of a factor, or adds up four adjacent
    partial sums. The latter waits for these."""
    is_last = number == shader.contracted.number + PARTS_PASS
    vector = output_vector(found, told.tensors[shader.contracted.output]) if is_last else 1
    groups = grid(out, threads, SINGLE_THREADS, 1)
    out.define("PASS", number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("LEFT_ALONG", int(found.left.is_along))
    out.define("RIGHT_VECTOR", found.right.vector if is_last else 1)
    if not is_last and found.column_axis != NONE:
        out.define("ORDERED", 1)
    out.define("OUTPUT_VECTOR", vector)
    out.dispatch(contraction_params(told, found, first, common, groups), groups, is_last)
