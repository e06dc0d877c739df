"""Contractions of bytes with zero points: by cooperative matrices on devices that have them, else by ordinary
arithmetic.

The output is treated as matrices, as in other contractions. Tiles of the factors are stored in shared memory
line by line, with the bytes of a sum adjacent, however the tensors are laid out; a wave multiplies 16x16
blocks of them. There all bytes are signed: UINT8 is biased by -128. Zero points are accounted for at the end,
by the sums of the lines: sum((a - x) (b - y)) = sum(a b) - x sum(b - y) - y sum(a). A convolution reads its
factors from scratch, where another dispatch packs them, the channels of a pixel adjacent.
"""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .contraction_passes import (
    PARTS_PASS,
    CommonConstants,
    ContractionParams,
    Split,
    common_constants,
    contraction_params,
    partial_vectors,
    split_into,
    strided_words,
    tapped_params,
    window_words,
)
from .defined import MAX_COUNT, Definition, DefinitionShader
from .forms import begin_form
from .loops import Words, ceil_div, element_count, grid, times
from .matrices import Matrices, Side, axis_steps, first_of, output_vector, side_vector, tiles_of
from .occupancy import CooperativeTile, is_for_pairs, occupies_most, unit_parts, unit_threads
from .planning import Planning
from .reasons import Reason
from .told import NO_MEMBER, NONE, Eight, Groups, Tensor
from .tuning import (
    BYTES_DEEP,
    BYTES_GROUPS,
    BYTES_MOST_PARTS,
    BYTES_PART,
    SINGLE_THREADS,
    TILE_FEW_ROWS,
)

BYTES_ORDER_PASS = 2  # packs both factors of a convolution; relative to the contraction's number


class InOrder(NamedTuple):
    """The packed factors of a convolution: `vector` bytes are loaded at once, each channel group has `padded`
    bytes per pixel, and a row of the left factor takes `pitch` bytes. Items are vectors."""

    vector: int
    padded: int
    pitch: int
    left_items: int
    right_items: int


def line_vector(side: Side, axis: int, lines: int, depth: int) -> int:
    """How many adjacent elements of a plain matrix are loaded at once; `axis` has that many lines."""
    vector = side_vector(side, axis, lines, depth, 16)
    return vector if vector == 16 and side.is_along else 4 if vector >= 4 else 1


def byte_tile_for(found: Matrices, has_units: bool) -> CooperativeTile:
    """The tile for these matrices: the largest that leaves enough groups, with k split where it is deep. Deep
    tiles need fewer barriers, but where lines are transposed, large ones run out of registers. With few rows,
    groups mostly wait for loads, so more of them are resident."""
    if found.column_axis == NONE or not has_units:
        return byte_window_tile_for(found, has_units)
    ahead = 1 if found.depth <= 64 else 2
    if found.rows <= 16:
        return CooperativeTile(16, 64, 64, 16, 16, ahead, 8, 100)
    depth = 64 if found.depth <= 64 else 128
    resident = 4 if found.rows <= TILE_FEW_ROWS else 2 if found.rows <= 64 else 1
    is_along = found.left.is_along and found.right.is_along  # nothing to transpose
    large_depth = depth if is_along else 64
    large_ahead = 1 if is_along else ahead
    share = 32 if is_along else 64
    large = CooperativeTile(128, 128, large_depth, 64, share, large_ahead, 1, 100)
    if min(found.rows, found.columns) > 64 and occupies_most(found, large):
        pair = CooperativeTile(128, 128, depth, 64, 64, 1, 2, 100)
        if is_along and is_for_pairs(found, pair):
            return pair
        return large
    half = CooperativeTile(64, 128, large_depth, 32, share, large_ahead, resident, 100)
    if found.rows > TILE_FEW_ROWS and found.columns > 64 and occupies_most(found, half):
        return half
    square = CooperativeTile(64, 64, depth, 32, 32, 1, resident, 100)
    if found.rows > TILE_FEW_ROWS and occupies_most(found, square):
        return square
    small = CooperativeTile(32, 64, depth, 16, 32, 1, resident, 100)
    if occupies_most(found, small):
        return small
    return CooperativeTile(16, 32, 64, 16, 16, ahead, resident, 100)


def byte_window_tile_for(found: Matrices, has_units: bool) -> CooperativeTile:
    """The same for windows, which need more groups, and enough arithmetic to hide the latency of their loads.
    Devices without units take these tiles for plain matrices, too."""
    is_windowed = found.column_axis == NONE
    enough = 2 * BYTES_GROUPS if is_windowed else BYTES_GROUPS
    if found.rows <= 16:
        return CooperativeTile(16, 64, 64, 16, 16, 1, 1, 100)
    if found.rows <= TILE_FEW_ROWS:
        return CooperativeTile(32, 64, 64, 16, 32, 1, 1, 100)
    if found.rows > 64 and tiles_of(found, 128, 256) >= BYTES_GROUPS and has_units:
        return CooperativeTile(128, 256, 64, 64, 64, 1, 1, 100)
    if tiles_of(found, 64, 128) >= enough:
        return CooperativeTile(64, 128, 64, 32, 32 if is_windowed and has_units else 64, 1, 1, 100)
    if tiles_of(found, 64, 64) >= BYTES_GROUPS // 2:
        return CooperativeTile(64, 64, 64, 32, 32, 1, 1, 100)
    return CooperativeTile(16, 32, 64, 16, 16, 1, 1, 100)


def byte_split(found: Matrices, tile: CooperativeTile, has_units: bool) -> Split:
    """How groups share the work. k is split where there are few tiles."""
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    groups = times(down * across, found.count)
    parts = 1
    if found.column_axis != NONE and has_units:
        parts = unit_parts(found, tile)
    elif groups < BYTES_GROUPS:
        parts = max(min(ceil_div(BYTES_GROUPS, groups), found.depth // BYTES_PART, BYTES_MOST_PARTS), 1)
    return split_into(parts, found.depth, tile.depth, down, across)


def order_of(told: Definition, shader: DefinitionShader, found: Matrices) -> InOrder:
    """How the factors of a convolution are packed. Few channels are not worth padding to whole vectors."""
    window, right = told.factors.window, told.tensors[shader.contracted.right]
    channels = told.factors.depth
    vector = 16 if channels % 16 == 0 or channels > BYTES_DEEP else 4
    padded = ceil_div(channels, vector) * vector
    pitch = ceil_div(times(element_count(window.sizes), padded), 16) * 16
    groups = max(window.groups, 1)
    pixels = element_count(right.sizes) // right.sizes[1]
    return InOrder(
        vector,
        padded,
        pitch,
        times(times(found.rows, groups), pitch // vector),
        times(times(pixels, groups), padded // vector),
    )


def ordered_factors(told: Definition, shader: DefinitionShader, found: Matrices, order: InOrder) -> Matrices:
    """The same matrices with packed factors."""
    right, output = told.tensors[shader.contracted.right], told.tensors[shader.contracted.output]
    image = order.padded * (right.sizes[1] // told.factors.depth)
    for d, size in enumerate(right.sizes):
        image = times(image, size) if d > 1 else image
    return found._replace(
        depth=times(element_count(told.factors.window.sizes), order.padded),
        left=Side(
            axis_steps(output, found.row_axis, order.pitch), 1, times(found.rows, order.pitch), True, 16
        ),
        right=Side(axis_steps(output, told.factors.right[0], image), 1, 0, True, order.vector),
    )


def pixel_strides(told: Definition, shader: DefinitionShader, order: InOrder) -> Eight:
    """Strides in bytes along each dimension of the window, in the packed right factor."""
    right = told.tensors[shader.contracted.right]
    strides: Eight = []
    for d in range(len(told.factors.window.sizes)):
        stride = order.padded * (right.sizes[1] // told.factors.depth)
        for later, size in enumerate(right.sizes):
            stride = times(stride, size) if later > d + 2 else stride
        strides.append(stride)
    return strides


def sums_count(tensor: Tensor, lessens: bool) -> bool:
    """Whether a factor's bytes have a zero point, as tiles hold them: UINT8 always does."""
    return lessens or not tensor.is_signed


def plan_bytes(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """One dispatch, preceded by one if factors are packed, and followed by one if k is split or cooperative
    matrices cannot store the output."""
    contracted, window, factors = shader.contracted, told.factors.window, told.factors
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    number = contracted.number
    is_windowed = found.column_axis == NONE
    is_ordered = is_windowed and found.right.vector < 4
    order = InOrder(16, 0, 0, 0, 0)
    made = found
    if is_ordered:
        order = order_of(told, shader, found)
        made = ordered_factors(told, shader, found, order)
    stored = output_vector(found, output)
    is_whole = output.bits >= 16 or stored == 4
    sums = times(4, partial_vectors(found))
    has_units = out.has(Capability.COOPERATIVE_MATRIX_INT8) and (is_whole or sums < MAX_COUNT // 16)
    tile = byte_tile_for(made, has_units)
    split = byte_split(made, tile, has_units)
    # Storing bytes one by one takes atomics, which do not mix with cooperative matrices.
    in_parts = split.parts > 1 or (has_units and not is_whole)
    sums_words = times(sums, split.parts) if in_parts else 0
    items = order.left_items + order.right_items
    words = sums_words + times(ceil_div(items, 4) * 4, order.vector // 4)
    if words >= MAX_COUNT // 4:  # the shader counts bytes there
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    known = begin_form(out, told, shader, output)
    out.define("RANK", len(output.sizes))
    out.define("ROW_AXIS", found.row_axis)
    if is_windowed:
        out.define("WINDOW_RANK", len(window.sizes))
        out.define("WINDOW_AXIS", window.axes[0])
    else:
        out.define("COLUMN_AXIS", found.column_axis)
    out.define("LEFT_UNSIGNED", int(not left.is_signed))
    out.define("RIGHT_UNSIGNED", int(not right.is_signed))
    out.define("IN_PARTS", int(in_parts))
    out.write(out.scratch(max(4 * words, 16)))
    out.share()

    common = common_constants(found, split, window_words(out, told, shader), known)
    if is_ordered:
        dispatch_byte_items(out, told, shader, found, common, number + BYTES_ORDER_PASS, order.vector, items)
    out.define("PASS", number)
    out.define("NUM_THREADS", unit_threads(tile))
    out.define("LEFT_SUMS", int(sums_count(right, factors.lessens_right)))
    out.define("RIGHT_SUMS", int(sums_count(left, factors.lessens_left)))
    define_lines(out, told, made, order.vector if is_ordered else 0)
    out.define("OUTPUT_VECTOR", 1 if in_parts else stored)
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", tile.depth)
    out.define("WAVE_ROWS", tile.wave_rows)
    out.define("WAVE_COLUMNS", tile.wave_columns)
    out.define("AHEAD", tile.ahead)
    out.define("COOPERATIVE_MATRIX", int(has_units))
    out.define("DOT_PRODUCTS", int(out.has(Capability.DOT_PRODUCTS)))
    threads = split.down * split.across * found.count * split.parts * unit_threads(tile)
    groups = grid(out, threads, unit_threads(tile), 1)
    if is_ordered:
        params = ordered_params(out, told, shader, made, order, sums_words, common, groups)
        out.dispatch(params, groups, True)
    else:
        out.dispatch(unordered_params(told, shader, found, common, groups), groups, False)
    if in_parts:
        dispatch_byte_items(out, told, shader, found, common, number + PARTS_PASS, 1, partial_vectors(found))


def define_lines(out: Planning, told: Definition, made: Matrices, gathered: int) -> None:
    """The macros of how factors are loaded: from scratch, `gathered` bytes at once, or from the tensors if
    that is 0."""
    left, right = made.left, made.right
    columns = made.columns
    depth = told.factors.depth
    left_vector = 16
    right_vector = gathered
    if made.column_axis == NONE:
        out.define("ORDERED", int(gathered > 0))
    if gathered == 0:
        left_vector = line_vector(left, made.row_axis, made.rows, depth)
        right_vector = 4
        if made.column_axis != NONE:
            right_vector = line_vector(right, made.column_axis, columns, depth)
    out.define("LEFT_VECTOR", left_vector)
    out.define("LEFT_ALONG", int(left.is_along))
    out.define("RIGHT_VECTOR", right_vector)
    out.define("RIGHT_ALONG", int(right.is_along))


def ordered_params(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    made: Matrices,
    order: InOrder,
    sums_words: int,
    common: CommonConstants,
    groups: Groups,
) -> ContractionParams:
    """The constants of the pass that multiplies packed factors, which follow the partial sums in scratch."""
    pixels = common._replace(window=strided_words(out, told, shader, pixel_strides(told, shader, order)))
    places = element_count(told.factors.window.sizes)
    tap: Words = [order.padded, places, 4 * sums_words, 0, made.left.matrix]
    return tapped_params(told, made, pixels, groups, tap)


def unordered_params(
    told: Definition, shader: DefinitionShader, found: Matrices, common: CommonConstants, groups: Groups
) -> ContractionParams:
    """The constants of a pass that reads the factors from their tensors."""
    window, left = told.factors.window, told.tensors[shader.contracted.left]
    first = first_of(window, left) if found.column_axis == NONE else 0
    return contraction_params(told, found, first, common, groups)


def dispatch_byte_items(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    common: CommonConstants,
    number: int,
    vector: int,
    items: int,
) -> None:
    """Pass `number`, in which each thread packs `vector` bytes of a factor, or adds up four adjacent partial
    sums. The latter waits for these."""
    groups = grid(out, items, SINGLE_THREADS, 1)
    is_last = number == shader.contracted.number + PARTS_PASS
    out.define("PASS", number)
    out.define("NUM_THREADS", SINGLE_THREADS)
    out.define("LEFT_VECTOR", 1)
    out.define("RIGHT_VECTOR", vector)
    if told.tensors[shader.contracted.output].bits >= 16:
        out.define("OUTPUT_VECTOR", 1)
    out.dispatch(unordered_params(told, shader, found, common, groups), groups, is_last)
