"""Contractions of halves by cooperative matrices, on devices that have them.

The output is treated as matrices, as in `contraction`. Tiles of the factors are stored in shared memory as
they lie in memory, eight halves to a vector, and each wave of a group multiplies 16x16 blocks of them. A
convolution is an implicit GEMM that gathers its right factor tap by tap; another dispatch packs its weights
first.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .capabilities import Capability
from .contraction import define_matrices
from .contraction_passes import (
    PARTS_PASS,
    CommonConstants,
    common_constants,
    contraction_params,
    partial_vectors,
    partial_words,
    split_into,
    window_words,
)
from .defined import MAX_COUNT, Definition, DefinitionShader, Window
from .forms import begin_form
from .loops import COUNT_LIMIT, ceil_div, element_count, grid, times
from .matrices import (
    Matrices,
    Side,
    axis_steps,
    channels_vector,
    first_of,
    merged_last,
    output_vector,
    side_vector,
)
from .occupancy import CooperativeTile, unit_threads
from .phases import is_divided, is_pointwise
from .planning import Planning
from .reasons import Reason
from .tile_cost import Rates, Shape, SplitK, split_k
from .told import NO_MEMBER, NONE, Eight, Tensor
from .tuning import (
    COOPERATIVE_ALONE,
    COOPERATIVE_DIRECT_ROWS,
    COOPERATIVE_GATHER_LATENCY,
    COOPERATIVE_LATENCY,
    COOPERATIVE_MEMORY,
    COOPERATIVE_RATE,
    COOPERATIVE_REACH,
    COOPERATIVE_ROW_ALONE,
    COOPERATIVE_ROW_LATENCY,
    COOPERATIVE_TAPS,
    COOPERATIVE_TINY,
    COOPERATIVE_WINDOW_LATENCY,
    SINGLE_THREADS,
)

EIGHTS_PASS = 2  # packs a convolution's left factor; relative to the contraction's number
GROUP_MEMORY = 48 * 1024  # bytes of shared memory; detection requires that much for cooperative matrices


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them lies behind the first, and the columns (`pitch`) that a row of the output
    counts with padding."""

    taps: int
    reach: int
    pitch: int


CooperativeTiles = Annotated[list[CooperativeTile], 12]


class CooperativeChoice(NamedTuple):
    """A tile, and how k is split with it."""

    tile: CooperativeTile
    split: SplitK


class Halves(NamedTuple):
    """How a factor is loaded: `vector` adjacent halves at once, along k if `is_along`, else across rows or
    columns."""

    is_along: bool
    vector: int


def is_half(tensor: Tensor) -> bool:
    return tensor.bits == 16 and tensor.is_float


def halves_of(side: Side, axis: int, lines: int, depth: int) -> Halves:
    """How a factor that is a plain matrix is loaded; `axis` has its `lines`, rows or columns."""
    return Halves(side.is_along, side_vector(side, axis, lines, depth, 8))


def pixels_of(told: Definition, shader: DefinitionShader) -> Halves:
    """How a convolution's right factor is loaded: eight adjacent channels at once, or eight adjacent pixels
    if each output element meets one tap, which is never outside; else element by element."""
    window, right = told.factors.window, told.tensors[shader.contracted.right]
    if channels_vector(told.factors, right, 8) == 8:
        return Halves(True, 8)
    output = told.tensors[shader.contracted.output]
    behind = len(right.sizes) - len(window.sizes)
    is_plain = True
    for d, divisor in enumerate(window.right_divisors):
        size = output.sizes[window.axes[d]]
        is_next = size == 1 or window.right_steps[d] - window.right_first[d] == 1
        is_plain = is_plain and is_pointwise(window, d) and is_next
        is_plain = is_plain and size % divisor == 0 and size // divisor <= right.sizes[behind + d]
    run = 1
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        if is_plain and right.strides[behind + d] == run:
            run *= output.sizes[window.axes[d]] // window.right_divisors[d]
    whole = 1
    for d, divisor in enumerate(window.right_divisors):
        whole *= output.sizes[window.axes[d]] // divisor
    vector = gcd(gcd(8, run), right.strides[1])
    if output.sizes[0] > 1:
        vector = gcd(vector, right.strides[0])
    if is_plain and run == whole and vector == 8:
        return Halves(False, 8)
    return Halves(True, 1)


def right_of(told: Definition, shader: DefinitionShader, found: Matrices) -> Halves:
    """How the right factor is loaded."""
    if found.column_axis == NONE:
        return pixels_of(told, shader)
    return halves_of(found.right, found.column_axis, found.columns, found.depth)


def row_of(told: Definition, shader: DefinitionShader, found: Matrices) -> Row:
    """The taps that tiles can hold at once. Each row of the output has so many columns that they keep its
    windows clear of the tensor's next row: the zeros before that row also end this one."""
    window, right = told.factors.window, told.tensors[shader.contracted.right]
    if found.column_axis != NONE or is_divided(window):
        return Row(1, 0, 0)
    last = len(window.sizes) - 1
    taps, first = window.sizes[last], window.right_first[last]
    tap, step = window.right_taps[last] - first, window.right_steps[last] - first
    width, size = found.sizes[window.axes[last]], right.sizes[len(right.sizes) - 1]
    reach, before = tap * (taps - 1), max(-first, 0)
    pitch = max(min(width + reach, max(before + size, width + reach - before)), width)
    suits = taps > 1 and taps <= COOPERATIVE_TAPS and tap > 0 and step == 1 and reach <= COOPERATIVE_REACH
    suits = suits and told.factors.depth % 16 == 0 and 4 * pitch <= 5 * width
    if not suits:
        return Row(1, 0, 0)
    return Row(taps, reach, pitch)


def in_rows(found: Matrices, window: Window, row: Row) -> Matrices:
    """The same matrices, with padded output rows if tiles hold several taps at once."""
    if row.taps == 1:
        return found
    axis, pitch = window.axes[len(window.sizes) - 1], row.pitch
    sizes: Eight = [pitch if d == axis else size for d, size in enumerate(found.sizes)]
    run = found.run if found.is_down else 1
    return found._replace(sizes=sizes, columns=found.columns // found.sizes[axis] * pitch, run=run)


def has_room(tile: CooperativeTile, row: Row) -> bool:
    """Whether tiles of both factors leave shared memory for other groups. Lines are padded by one vector."""
    left = tile.rows * (row.taps * tile.depth // 8 + 1)
    right = (tile.columns + row.reach) * (tile.depth // 8 + 1)
    return left + right < COOPERATIVE_MEMORY // 16


def candidates(found: Matrices, channels: int, is_gathered: bool) -> CooperativeTiles:
    """The tiles to choose from. With a window, their depth divides the `channels` of a tap if possible, so
    that a step reads a single tap; gathering elements one by one takes registers, and so smaller shares."""
    tiles: CooperativeTiles = []
    if found.column_axis != NONE:
        ahead = 1 if found.depth <= 64 else 2
        tiles.append(CooperativeTile(128, 128, 64, 64, 64, 1, 2, 80))
        tiles.append(CooperativeTile(64, 128, 64, 32, 32, ahead, 1, 89))
        tiles.append(CooperativeTile(64, 64, 64, 32, 32, ahead, 6, 100))
        tiles.append(CooperativeTile(32, 64, 64, 32, 16, ahead, 7, 100))
        tiles.append(CooperativeTile(32, 32, 64, 16, 16, ahead, 6, 100))
        tiles.append(CooperativeTile(64, 16, 64, 16, 16, ahead, 6, 100))
        tiles.append(CooperativeTile(16, 64, 64, 16, 16, ahead, 6, 100))
        return tiles
    depth = 32 if channels % 64 > 0 else 64
    if is_gathered:
        tiles.append(CooperativeTile(128, 128, 32, 64, 32, 1, 2, 26))
    else:
        tiles.append(CooperativeTile(128, 128, depth, 64, 64, 1, 2, 100))
        tiles.append(CooperativeTile(128, 128, depth, 64, 32, 1, 2, 26))
    tiles.append(CooperativeTile(64, 128, depth, 32, 32, 1, 3, 72))
    tiles.append(CooperativeTile(64, 128, depth, 32, 64, 1, 4, 14))
    tiles.append(CooperativeTile(64, 64, depth, 32, 32, 1, 1, 56))
    tiles.append(CooperativeTile(32, 64, depth, 32, 16, 1, 5, 100))
    tiles.append(CooperativeTile(32, 32, depth, 16, 16, 1, 5, 61))
    tiles.append(CooperativeTile(16, 64, depth, 16, 16, 1, 4, 98))
    return tiles


def row_candidates(channels: int, row: Row) -> CooperativeTiles:
    """The same for tiles that hold several taps, each with `depth` channels: those that shared memory has
    room for."""
    tiles: CooperativeTiles = []
    if row.taps == 1:
        return tiles
    deep = CooperativeTile(64, 128, gcd(32, channels), 32, 32, 1, 3, 100)
    if has_room(deep, row):
        tiles.append(deep)
    wide = CooperativeTile(64, 256, 16, 32, 64, 1, 1, 100)
    if has_room(wide, row):
        tiles.append(wide)
    tall = CooperativeTile(128, 256, 16, 64, 64, 1, 1, 61)
    if has_room(tall, row):
        tiles.append(tall)
    tiles.append(CooperativeTile(64, 128, 16, 32, 64, 1, 4, 100))
    return tiles


def unit_rates(found: Matrices, row: Row, is_gathered: bool) -> Rates:
    """The rates of cooperative matrices; with a window, those of steps with one tap or several."""
    if found.column_axis != NONE:
        return Rates(COOPERATIVE_RATE, COOPERATIVE_LATENCY, COOPERATIVE_ALONE, 2)
    latency, alone = COOPERATIVE_WINDOW_LATENCY, COOPERATIVE_ALONE
    if row.taps > 1:
        latency, alone = COOPERATIVE_ROW_LATENCY, COOPERATIVE_ROW_ALONE
    if is_gathered:
        latency = latency * COOPERATIVE_GATHER_LATENCY // 100
    return Rates(COOPERATIVE_RATE, latency, alone, 2)


def choose_tile(found: Matrices, tiles: CooperativeTiles, row: Row, is_gathered: bool) -> CooperativeChoice:
    """The candidate that takes the least time, with its parts of k; if there is none, no time is less."""
    rates = unit_rates(found, row, is_gathered)
    best = CooperativeChoice(CooperativeTile(16, 64, 32, 16, 16, 1, 1, 1), SplitK(1, COUNT_LIMIT))
    for tile in tiles:
        shape = Shape(
            tile.rows, tile.columns - row.reach, tile.depth * row.taps, tile.resident, tile.efficiency
        )
        split = split_k(found, shape, rates, row.taps == 1)
        if split.time < best.split.time:
            best = CooperativeChoice(tile, split)
    return best


def in_order(found: Matrices) -> int:
    """The vectors of eight in a convolution's packed left factor."""
    return times(times(found.rows, found.count), ceil_div(found.depth, 8))


def suits_units(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """Whether the device has cooperative matrices, both factors are halves, and there is enough work."""
    contracted = shader.contracted
    is_for_units = is_half(told.tensors[contracted.left]) and is_half(told.tensors[contracted.right])
    least = COOPERATIVE_DIRECT_ROWS if found.column_axis == NONE else 2
    is_large = found.is_worth and found.rows >= least and found.columns > 1
    is_tiny = found.column_axis != NONE and max(found.rows, found.columns, found.depth) <= COOPERATIVE_TINY
    return out.has(Capability.COOPERATIVE_MATRIX) and is_for_units and is_large and not is_tiny


def plan_cooperative_matrix(
    out: Planning, told: Definition, shader: DefinitionShader, given: Matrices
) -> None:
    """One dispatch, preceded by one if the left factor is packed, and followed by one if k is split."""
    contracted, window = shader.contracted, told.factors.window
    output = told.tensors[contracted.output]
    is_windowed = given.column_axis == NONE
    right = right_of(told, shader, given)
    is_gathered = is_windowed and right.vector == 1
    single, several = Row(1, 0, 0), row_of(told, shader, given)
    channels = told.factors.depth
    by_taps = choose_tile(given, candidates(given, channels, is_gathered), single, is_gathered)
    by_rows = choose_tile(
        in_rows(given, window, several), row_candidates(channels, several), several, is_gathered
    )
    row = several if by_rows.split.time < by_taps.split.time else single
    chosen = by_rows if by_rows.split.time < by_taps.split.time else by_taps
    tile = chosen.tile
    found = in_rows(given, window, row)
    is_phased = is_divided(window)
    left = halves_of(found.left, found.row_axis, found.rows, found.depth)
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns - row.reach)
    split = split_into(chosen.split.parts, found.depth, tile.depth * row.taps, down, across)
    is_ordered = is_windowed and (left.vector < 8 or element_count(window.sizes) > 1 or is_phased)
    sums_words = partial_words(found, split)
    factors = found
    words = sums_words + (times(4, in_order(found)) if is_ordered else 0)
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    known = begin_form(out, told, shader, output)
    define_matrices(out, told, shader, found, tile.depth, row.taps)
    out.define("TILE_DEPTH", tile.depth)
    out.define("IN_PARTS", int(split.parts > 1))
    out.write(out.scratch(max(4 * words, 16)))
    out.share()

    number = contracted.number
    first = first_of(window, told.tensors[contracted.left]) if is_windowed else 0
    common = common_constants(found, split, window_words(out, told, shader), known)
    if is_ordered:
        dispatch_single(out, told, shader, found, first, common, number + EIGHTS_PASS, in_order(found))
        first = 2 * sums_words
        left = Halves(True, 8)
        factors = ordered(found, output)
    out.define("PASS", number)
    out.define("COOPERATIVE_MATRIX", 1)
    define_tile(out, tile, left, right)
    if is_windowed:
        out.define("ORDERED", int(is_ordered))
        out.define("REACH", row.reach)
        out.define("OUTPUT_MERGED", merged_last(output, found.row_axis))
    out.define("OUTPUT_VECTOR", output_vector(found, output) if split.parts == 1 else 1)
    threads = split.down * split.across * found.count * split.parts * unit_threads(tile)
    groups = grid(out, threads, unit_threads(tile), 1)
    params = contraction_params(told, factors, first, common, groups)
    out.dispatch(params, groups, is_ordered)
    if split.parts > 1:
        dispatch_single(out, told, shader, found, first, common, number + PARTS_PASS, partial_vectors(found))


def ordered(found: Matrices, output: Tensor) -> Matrices:
    """The same matrices with a packed left factor, its rows padded to whole vectors."""
    pitch = ceil_div(found.depth, 8) * 8
    steps = axis_steps(output, found.row_axis, pitch)
    return found._replace(left=Side(steps, 1, times(found.rows, pitch), True, 1))


def define_tile(out: Planning, tile: CooperativeTile, left: Halves, right: Halves) -> None:
    """The macros of the pass that multiplies."""
    out.define("NUM_THREADS", unit_threads(tile))
    out.define("LEFT_VECTOR", left.vector)
    out.define("LEFT_ALONG", int(left.is_along))
    out.define("RIGHT_VECTOR", right.vector)
    out.define("RIGHT_ALONG", int(right.is_along))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("WAVE_ROWS", tile.wave_rows)
    out.define("WAVE_COLUMNS", tile.wave_columns)
    out.define("AHEAD", tile.ahead)


def dispatch_single(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    first: int,
    common: CommonConstants,
    number: int,
    threads: int,
) -> None:
    """Pass `number`, in which each thread packs one item, or adds up four adjacent partial sums. The latter
    waits for these."""
    contracted = shader.contracted
    is_last = number == contracted.number + PARTS_PASS
    vector = output_vector(found, told.tensors[contracted.output]) if is_last else 1
    groups = grid(out, threads, SINGLE_THREADS, 1)
    out.define("PASS", number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("RIGHT_VECTOR", 1)
    out.define("OUTPUT_VECTOR", vector)
    params = contraction_params(told, found, first, common, groups)
    out.dispatch(params, groups, is_last)
