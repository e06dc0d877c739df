"""Contractions: an output from sums of products of two factors, computed in tiles through shared memory.

The output is treated as a batch of matrices. With a window, a dispatch may come first that packs the left
factor into scratch, in the order in which tiles read it.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

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
from .matrices import Matrices, Side, axis_steps, first_of, is_bordered, output_vector
from .ordering import ORDER_PASS, is_put_in_order, row_pitch
from .phases import is_divided
from .planning import Planning
from .reasons import Reason
from .tile_cost import Rates, Shape, split_k
from .told import NO_MEMBER, NONE
from .tuning import (
    FLOAT_ALONE,
    FLOAT_LATENCY,
    FLOAT_RATE,
    FLOAT_WINDOW_ALONE,
    FLOAT_WINDOW_LATENCY,
    SINGLE_THREADS,
)


class Tile(NamedTuple):
    """A group's tile of the output, the `depth` of its k-loop, the elements that each of its threads
    accumulates, how many such groups are `resident` on a multiprocessor at once, and the percentage of its
    arithmetic rate that these reach."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    resident: int
    efficiency: int


Tiles = Annotated[list[Tile], 8]


def tiles_for(found: Matrices, channels: int) -> Tiles:
    """The candidates. With a window, their depth divides the `channels` of a tap if possible, so that a step
    reads a single tap."""
    tiles: Tiles = []
    if found.column_axis != NONE:
        shallow = 8 if found.depth < 32 else 16
        tiles.append(Tile(128, 128, 16, 8, 8, 2, 100))
        tiles.append(Tile(64, 128, 16, 8, 8, 4, 85))
        tiles.append(Tile(64, 64, 16, 8, 4, 4, 70))
        tiles.append(Tile(32, 128, 16, 4, 8, 5, 100))
        tiles.append(Tile(32, 64, 32, 4, 4, 7, 55))
        tiles.append(Tile(32, 32, shallow, 4, 4, 7, 80))
        tiles.append(Tile(16, 32, shallow, 4, 4, 8, 100))
        return tiles
    depth = 16 if channels % 16 == 0 else 8
    tiles.append(Tile(64, 128, depth, 8, 8, 3, 76))
    tiles.append(Tile(32, 128, depth, 4, 8, 6, 66))
    tiles.append(Tile(32, 64, 32 if channels % 32 == 0 else depth, 4, 4, 3, 100))
    tiles.append(Tile(16, 128, depth, 4, 4, 6, 100))
    return tiles


def tile_for(found: Matrices, channels: int) -> Tile:
    """The candidate that takes the least time."""
    tiles = tiles_for(found, channels)
    best, least = 0, -1
    for place, tile in enumerate(tiles):
        time = split_k(found, shape_of(tile), rates_of(found), True).time
        if least < 0 or time < least:
            best, least = place, time
    return tiles[best]


def shape_of(tile: Tile) -> Shape:
    return Shape(tile.rows, tile.columns, tile.depth, tile.resident, tile.efficiency)


def rates_of(found: Matrices) -> Rates:
    """The rates of single-precision arithmetic, with or without a window."""
    if found.column_axis != NONE:
        return Rates(FLOAT_RATE, FLOAT_LATENCY, FLOAT_ALONE, 4)
    return Rates(FLOAT_RATE, FLOAT_WINDOW_LATENCY, FLOAT_WINDOW_ALONE, 4)


def tile_split(found: Matrices, tile: Tile) -> Split:
    """How groups share the work."""
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    parts = split_k(found, shape_of(tile), rates_of(found), True).parts
    return split_into(parts, found.depth, tile.depth, down, across)


def plan_contraction(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """One dispatch, preceded by one if the left factor is packed, and followed by one if k is split."""
    window, contracted = told.factors.window, shader.contracted
    left, output = told.tensors[contracted.left], told.tensors[contracted.output]
    tile = tile_for(found, told.factors.depth)
    split = tile_split(found, tile)
    sums_words = partial_words(found, split)
    is_windowed = found.column_axis == NONE
    is_ordered = is_put_in_order(told, found)
    factors = found
    ordered_words = times(times(found.depth, row_pitch(found)), found.count) if is_ordered else 0
    words = sums_words + ordered_words
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    known = begin_form(out, told, shader, output)
    define_matrices(out, told, shader, found, tile.depth, 1)
    out.define("TILE_DEPTH", tile.depth)
    out.define("IN_PARTS", int(split.parts > 1))
    out.write(out.scratch(max(4 * words, 16)))
    out.share()

    number = contracted.number
    first = first_of(window, left) if is_windowed else 0
    common = common_constants(found, split, window_words(out, told, shader), known)
    if is_ordered:
        dispatch_items(out, told, shader, found, first, common, number + ORDER_PASS, ordered_words // 4)
        pitch = row_pitch(found)
        steps = axis_steps(output, found.row_axis, 1)
        factors = found._replace(left=Side(steps, pitch, times(found.depth, pitch), False, 4))
        first = sums_words
    dispatch_tiles(out, told, shader, factors, first, common, tile, is_ordered)
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
    out.define("RIGHT_ALONG", int(found.right.is_along))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("THREAD_ROWS", tile.thread_rows)
    out.define("THREAD_COLUMNS", tile.thread_columns)
    if found.column_axis == NONE:
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
    """Pass `number`, in which each thread packs four elements of a factor, or adds up four adjacent partial
    sums. The latter waits for these."""
    is_last = number == shader.contracted.number + PARTS_PASS
    vector = output_vector(found, told.tensors[shader.contracted.output]) if is_last else 1
    groups = grid(out, threads, SINGLE_THREADS, 1)
    out.define("PASS", number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("RIGHT_VECTOR", found.right.vector if is_last else 1)
    out.define("OUTPUT_VECTOR", vector)
    out.dispatch(contraction_params(told, found, first, common, groups), groups, is_last)
