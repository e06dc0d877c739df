"""Contractions of halves by matrix units, on devices that have them.

The output is treated as matrices, as in `contraction`. Tiles of the factors are stored in shared memory as
they lie in memory, eight halves to a vector, and each wave of a group multiplies 16x16 blocks of them. A
convolution is an implicit GEMM that gathers its right factor tap by tap; another dispatch packs its weights
first.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .capabilities import Capability
from .contraction import define_matrices
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
from .defined import MAX_COUNT, Definition, DefinitionShader, Window
from .forms import begin_form
from .loops import ceil_div, element_count, grid, times
from .matrices import (
    Matrices,
    Side,
    axis_steps,
    channels_vector,
    first_of,
    merged_last,
    output_vector,
    side_vector,
    tiles_of,
)
from .occupancy import UnitTile, is_for_pairs, occupies_most, unit_parts, unit_threads
from .ordering import ORDER_PASS, copied, copied_words, pays_to_copy
from .phases import is_divided, is_pointwise
from .planning import Planning
from .reasons import Reason
from .told import NO_MEMBER, NONE, Eight, Tensor
from .tuning import (
    MULTIPROCESSORS,
    SINGLE_THREADS,
    TILE_FEW_ROWS,
    UNITS_DIRECT_ROWS,
    UNITS_GROUPS,
    UNITS_MEMORY,
    UNITS_MOST_PARTS,
    UNITS_REACH,
    UNITS_ROWS,
    UNITS_SHALLOW,
    UNITS_TAPS,
    UNITS_TINY,
    UNITS_WINDOW_PART,
)

EIGHTS_PASS = 2  # packs a convolution's left factor; relative to the contraction's number
GROUP_MEMORY = 48 * 1024  # bytes of shared memory; detection requires that much for matrix units


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them lies behind the first, and the columns (`pitch`) that a row of the output
    counts with padding."""

    taps: int
    reach: int
    pitch: int


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
    """The taps that tiles hold at once. Each row of the output then counts as many columns as keep its
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
    suits = taps > 1 and taps <= UNITS_TAPS and tap > 0 and step == 1 and reach <= UNITS_REACH
    suits = suits and told.factors.depth % 16 == 0 and 4 * pitch <= 5 * width
    suits = suits and tiles_of(found, 64, 128) >= UNITS_ROWS
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


def row_tile_for(found: Matrices, channels: int, row: Row) -> UnitTile:
    """The tile for matrices where it holds several taps, each with `depth` channels: if there are few groups,
    one with many products between barriers; if there are many, one with few loads per product."""
    if tiles_of(found, 64, 128) <= 2 * UNITS_GROUPS:
        deep = UnitTile(64, 128, gcd(32, channels), 32, 32, 1, 2)
        if has_room(deep, row):
            return deep
        return UnitTile(64, 128, 16, 32, 32, 1, 2)
    tall = UnitTile(128, 256, 16, 64, 64, 1, 1)
    if ceil_div(found.rows, 64) % 2 == 0 and has_room(tall, row):
        return tall
    if tiles_of(found, 64, 256) < 2 * MULTIPROCESSORS:  # wider ones would leave some with a single group
        return UnitTile(64, 128, 16, 32, 64, 1, 2)
    return UnitTile(64, 256, 16, 32, 64, 1, 2)


def has_room(tile: UnitTile, row: Row) -> bool:
    """Whether tiles of both factors leave shared memory for other groups. Lines are padded by one vector."""
    left = tile.rows * (row.taps * tile.depth // 8 + 1)
    right = (tile.columns + row.reach) * (tile.depth // 8 + 1)
    return left + right < UNITS_MEMORY // 16


def unit_tile_for(found: Matrices, channels: int, is_gathered: bool) -> UnitTile:
    """The tile for these matrices: the largest that leaves enough groups, with k split where it is deep. With
    few rows or columns, groups mostly wait for loads, so more of them are resident. `channels` are those of
    one tap; if `is_gathered`, elements of the right factor are loaded one by one, which takes registers."""
    is_windowed = found.column_axis == NONE
    depth = 32 if is_windowed and channels % 64 > 0 else 64
    ahead = 1 if is_windowed or found.depth <= 64 else 2
    if found.rows <= 16:
        return UnitTile(16, 64, depth, 16, 16, ahead, 4)
    is_shallow = found.depth <= UNITS_SHALLOW and tiles_of(found, 32, 32) < UNITS_GROUPS
    if is_shallow and not is_windowed:
        return UnitTile(32, 32, depth, 16, 16, ahead, 1)
    if found.columns <= 16 and not is_windowed:
        return UnitTile(64, 16, depth, 16, 16, ahead, 4)
    large = UnitTile(128, 128, depth, 64, 32, 1, 1)
    if min(found.rows, found.columns) > 64 and occupies_most(found, large):
        pair = UnitTile(128, 128, 32 if is_gathered else depth, 64, 32 if is_gathered else 64, 1, 2)
        if is_for_pairs(found, pair):
            return pair
        return large
    half = UnitTile(64, 128, depth, 32, 32, ahead, 1)
    if found.rows > TILE_FEW_ROWS and found.columns > 64 and occupies_most(found, half):
        is_many = tiles_of(found, half.rows, half.columns) >= 2 * MULTIPROCESSORS
        if is_windowed and not is_gathered and is_many:
            return UnitTile(64, 128, depth, 32, 64, ahead, 2)
        return half
    square = UnitTile(64, 64, depth, 32, 32, ahead, 1)
    if found.rows > TILE_FEW_ROWS and occupies_most(found, square):
        return square
    resident = 2 if found.rows <= TILE_FEW_ROWS else 1
    wide = UnitTile(32, 128, depth, 32, 16, ahead, resident)
    if found.rows <= TILE_FEW_ROWS and found.columns > 64 and occupies_most(found, wide):
        return wide
    small = UnitTile(32, 64, depth, 32, 16, ahead, resident)
    if occupies_most(found, small):
        return small
    if is_windowed:
        return UnitTile(32, 32, depth, 16, 16, ahead, resident)
    return UnitTile(16, 64, depth, 16, 16, ahead, resident)


def phase_tile_for(found: Matrices) -> UnitTile:
    """The tile for phases: as large as leaves enough of them, since splitting k costs more here."""
    if found.rows <= TILE_FEW_ROWS:
        return UnitTile(32, 64, 32, 32, 16, 1, 2)
    enough = 2 * UNITS_GROUPS
    if ceil_div(found.rows, 64) % 2 == 0 and tiles_of(found, 128, 128) >= enough:
        return UnitTile(128, 128, 32, 64, 32, 1, 2)
    if tiles_of(found, 64, 128) >= enough and found.right.vector > 1:
        return UnitTile(64, 128, 64, 32, 32, 1, 2)
    if tiles_of(found, 64, 128) >= enough:
        return UnitTile(64, 128, 32, 32, 64, 1, 2)  # gathering takes more registers
    return UnitTile(64, 64, 64, 32, 32, 1, 2)


def phase_parts(found: Matrices, tile: UnitTile, groups: int) -> int:
    """The parts of k for phases, of which there are this many `groups` without parts."""
    enough = tile.resident * UNITS_GROUPS
    # With tall tiles, one group too many would cost a whole further round.
    wanted = enough // groups if tile.rows == 128 else ceil_div(enough, groups)
    return max(min(wanted, found.depth // UNITS_WINDOW_PART, UNITS_MOST_PARTS), 1)


def unit_split(found: Matrices, tile: UnitTile, row: Row, is_phased: bool) -> Split:
    """How groups share the work. k is split where there are few tiles, if that gains more than adding up the
    partial sums costs."""
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns - row.reach)
    parts = 1
    if is_phased:
        parts = phase_parts(found, tile, times(down * across, found.count))
    elif row.taps == 1:
        parts = unit_parts(found, tile)
    return split_into(parts, found.depth, tile.depth * row.taps, down, across)


def in_order(found: Matrices) -> int:
    """The vectors of eight in a convolution's packed left factor."""
    return times(times(found.rows, found.count), ceil_div(found.depth, 8))


def suits_units(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """Whether the device has matrix units, both factors are halves, and there is enough work."""
    contracted = shader.contracted
    is_for_units = is_half(told.tensors[contracted.left]) and is_half(told.tensors[contracted.right])
    least = UNITS_DIRECT_ROWS if found.column_axis == NONE else 2
    is_large = found.is_worth and found.rows >= least and found.columns > 1
    is_tiny = found.column_axis != NONE and max(found.rows, found.columns, found.depth) <= UNITS_TINY
    return out.has(Capability.MATRIX_UNITS) and is_for_units and is_large and not is_tiny


def plan_matrix_units(out: Planning, told: Definition, shader: DefinitionShader, given: Matrices) -> None:
    """One dispatch, preceded by one if factors are packed or copied, and followed by one if k is split."""
    contracted, window = shader.contracted, told.factors.window
    output = told.tensors[contracted.output]
    is_windowed = given.column_axis == NONE
    row = row_of(told, shader, given)
    found = in_rows(given, window, row)
    is_phased = is_divided(window)
    left = halves_of(found.left, found.row_axis, found.rows, found.depth)
    right = right_of(told, shader, found)
    tile = unit_tile_for(found, told.factors.depth, is_windowed and right.vector == 1)
    if is_phased:
        tile = phase_tile_for(found)
    if row.taps > 1:
        tile = row_tile_for(found, told.factors.depth, row)
    split = unit_split(found, tile, row, is_phased)
    is_ordered = is_windowed and (left.vector < 8 or element_count(window.sizes) > 1 or is_phased)
    is_copied = not is_windowed and pays_to_copy(found, min(left.vector, right.vector) == 1)
    sums_words = partial_words(found, split)
    factors = found
    if is_copied:
        factors = copied(found, 8)
    copied_items = copied_words(factors, 8) // 4 if is_copied else 0
    words = sums_words + times(4, in_order(found) if is_ordered else copied_items)
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
    if is_copied:
        out.define("ORDERED", 1)
        out.define("LEFT_ALONG", int(left.is_along))
        out.define("RIGHT_ALONG", int(right.is_along))
        dispatch_single(out, told, shader, found, first, common, number + ORDER_PASS, copied_items)
        left = Halves(left.is_along, 8)
        right = Halves(right.is_along, 8)
    if is_ordered:
        dispatch_single(out, told, shader, found, first, common, number + EIGHTS_PASS, in_order(found))
        first = 2 * sums_words
        left = Halves(True, 8)
        factors = ordered(found, output)
    out.define("PASS", number)
    out.define("MATRIX_UNITS", 1)
    define_tile(out, tile, left, right)
    out.define("ORDERED", int(is_ordered or is_copied))
    if is_windowed:
        out.define("REACH", row.reach)
        out.define("OUTPUT_MERGED", merged_last(output, found.row_axis))
    out.define("OUTPUT_VECTOR", output_vector(found, output) if split.parts == 1 else 1)
    threads = split.down * split.across * found.count * split.parts * unit_threads(tile)
    groups = grid(out, threads, unit_threads(tile), 1)
    params = contraction_params(told, factors, first, common, groups)
    out.dispatch(params, groups, is_ordered or is_copied)
    if split.parts > 1:
        dispatch_single(out, told, shader, found, first, common, number + PARTS_PASS, partial_vectors(found))


def ordered(found: Matrices, output: Tensor) -> Matrices:
    """The same matrices with a packed left factor, its rows padded to whole vectors."""
    pitch = ceil_div(found.depth, 8) * 8
    steps = axis_steps(output, found.row_axis, pitch)
    return found._replace(left=Side(steps, 1, times(found.rows, pitch), True, 1))


def define_tile(out: Planning, tile: UnitTile, left: Halves, right: Halves) -> None:
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
