"""Convolutions as products: implicit GEMM, whose right factor is gathered tap by tap, and never stored.

Each channel group, or each phase of one, is a matrix: rows are its channels, dimension 1 of the output, and
columns run along all other dimensions. Weights, the left factor, are packed first, unless there is one tap.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import eight
from .contraction import COOPERATIVE_ALONE, COOPERATIVE_RATE, FLOAT_RATE, suits_cooperative_matrix
from .gemm_view import (
    Contraction,
    Factors,
    Matrices,
    Side,
    Window,
    axis_steps,
    is_of_bytes,
    is_stored_down,
    is_tiled,
    side_vector,
)
from .loops import MAX_COUNT, Words, ceil_div, element_count, times
from .operands import NO_MEMBER, NONE, Eight, Sizes, Tensor
from .planning import Planning
from .polyphase import (
    first_of,
    has_channels_first,
    has_phases,
    is_divided,
    is_pointwise,
    most_places,
    period,
    phase_count,
    row_dimension,
)
from .product import Product, WindowConstants, begin_product, dispatch_single, multiply
from .reasons import Reason
from .tile_cost import Rates, Tile, Tiles, choose_tile, split_of

FLOAT_WINDOW_LATENCY = 747  # NVIDIA H200, fitted
"nanoseconds with a window"
FLOAT_WINDOW_ALONE = 58  # NVIDIA H200, fitted
"percentage with a window"
COOPERATIVE_WINDOW_LATENCY = 379  # NVIDIA H200, fitted
"nanoseconds with a window"
COOPERATIVE_TAPS = 7  # NVIDIA H200: 1 at 0.60 to 0.93
"taps along a window's last dimension that tiles hold at once, at most"
COOPERATIVE_MEMORY = 32 * 1024  # NVIDIA H200: 16384 at 0.84 to 0.99, 65536 at 1.00
"bytes of shared memory for a tile that holds several taps at once, at most"
COOPERATIVE_REACH = 16  # NVIDIA H200: 2 at 0.92
"extra columns of a tile that only its other taps need, at most"


PACK_PASS = 2  # packs factors: its number, relative to the contraction's


class Packing(NamedTuple):
    """The packing of factors: in so many `items`, none if they are read where they are, each a vector of
    `vector` elements, of which a word of scratch holds `in_word`."""

    items: int
    vector: int
    in_word: int


class Row(NamedTuple):
    """The `taps` along a window's last dimension whose products tiles hold at once, how many columns
    (`reach`) the last of them is behind the first, and the columns (`pitch`) that a row of the output
    counts with padding."""

    taps: int
    reach: int
    pitch: int


def window_strides(op: Contraction) -> Eight:
    """The right factor's strides along the window, as it is in memory."""
    right = op.right
    behind = len(right.sizes) - len(op.factors.window.sizes)
    strides: Eight = [stride for d, stride in enumerate(right.strides) if d >= behind]
    return strides


def product_window(
    out: Planning,
    op: Contraction,
    factors: Matrices,
    strides: Sizes,
    channels: int,
    offset: int,
) -> WindowConstants:
    """The constants of a window on the right factor, which has these strides: sizes, first coordinates,
    steps, taps, limits, strides, divisors and periods; then its strides on the left one. Taps are the
    distances between those that one phase meets. Numbers follow: the `channels` of a tap, the taps, the left
    factor's `offset` at the first of them, and its stride from one matrix to the next."""
    window = op.factors.window
    left, right = op.left, op.right
    words: Annotated[list[int], 96] = []
    behind = len(right.sizes) - len(window.sizes)
    taps: Eight = []
    periods: Eight = []
    left_steps: Eight = []
    for d, tap in enumerate(window.right_taps):
        periods.append(period(window, d))
        taps.append(tap * periods[d] // window.right_divisors[d])
        left_steps.append(window.left_taps[d] * left.strides[behind + d])
    limits: Eight = [size for d, size in enumerate(right.sizes) if d >= behind]
    lists: Annotated[list[Sizes], 16] = [
        window.sizes,
        window.right_first,
        window.right_steps,
        taps,
        limits,
        strides,
        window.right_divisors,
        periods,
        left_steps,
    ]
    for entries in lists:
        words.extend(eight(out, entries))
    numbers: Eight = [
        channels,
        element_count(window.sizes),
        offset % 2**32,
        factors.left.matrix % 2**32,
    ]
    return WindowConstants(words, numbers)


def unpacked_window(out: Planning, op: Contraction, found: Matrices) -> WindowConstants:
    """The constants of a window on the factors as they are in memory."""
    first = first_of(op.factors.window, op.left)
    return product_window(out, op, found, window_strides(op), op.factors.depth, first)


def side_by_side(output: Tensor, row_axis: int) -> int:
    """The number of contiguous elements in the output, as loops over its last dimensions visit them."""
    run = 1
    for place in range(len(output.sizes)):
        axis = len(output.sizes) - 1 - place
        if axis == row_axis or (output.sizes[axis] > 1 and output.strides[axis] != run):
            break
        run *= output.sizes[axis]
    return run


def boxed(output: Tensor, ones: Sizes, window: Window) -> Eight:
    """The sizes of the output, or of its largest phase, with 1 along some dimensions."""
    sizes: Eight = []
    sizes.extend(output.sizes)
    for axis in ones:
        sizes[axis] = 1
    for d, divisor in enumerate(window.right_divisors):
        axis = window.axes[d]
        sizes[axis] = ceil_div(sizes[axis], divisor)
    return sizes


def windowed(op: Contraction) -> Matrices:
    """The output as matrices: one per phase of each channel group."""
    factors, window = op.factors, op.factors.window
    left, right, output = op.left, op.right, op.output
    counts_rows = row_dimension(factors, output)
    row_axis, groups = factors.left[counts_rows], max(window.groups, 1)
    sizes = boxed(output, [row_axis], window)
    rows = output.sizes[row_axis] // groups
    columns = element_count(sizes)
    depth = times(factors.depth, most_places(window))
    is_straight = has_phases(window, output) and has_channels_first(factors, output)
    if is_of_bytes(op):
        is_straight = is_straight and not is_divided(window) and len(factors.right_less) == 0
    for axis in factors.left_less:
        is_straight = is_straight and axis == row_axis
    row_step, depth_step = left.strides[counts_rows], left.strides[1 - counts_rows]
    matrix_step = left.sizes[0] // groups * left.strides[0]
    others: Words = [row_step, first_of(window, left), matrix_step]
    vector = gcd(4 if depth_step == 1 else 1, factors.depth)
    for other in others:
        vector = gcd(vector, other)
    count = times(groups, phase_count(window))
    run = 1 if is_divided(window) else side_by_side(output, row_axis)
    is_down = is_stored_down(op, row_axis, rows, run)
    channels = 1 if is_of_bytes(op) else channels_vector(factors, right, 4)
    return Matrices(
        is_straight and is_tiled(op, depth, times(times(rows, columns), depth * count)),
        sizes,
        row_axis,
        NONE,
        rows,
        columns,
        is_down,
        rows if is_down else run,
        depth,
        count,
        Side(axis_steps(output, row_axis, row_step), depth_step, matrix_step, True, vector),
        Side(
            axis_steps(output, factors.right[0], right.strides[0]),
            right.strides[1],
            0,
            channels > 1,
            channels if channels > 1 else columns_vector(window, right, output, 4),
        ),
    )


def is_bordered(window: Window, tensor: Tensor, output: Tensor) -> bool:
    """Whether any tap is outside of the tensor."""
    found = False
    behind = len(tensor.sizes) - len(window.sizes)
    for d, first in enumerate(window.right_first):
        last = first + window.right_steps[d] * (output.sizes[window.axes[d]] - 1)
        span = window.right_taps[d] * (window.sizes[d] - 1)
        least, greatest = min(first, last) + min(span, 0), max(first, last) + max(span, 0)
        divisor = window.right_divisors[d]
        found = found or ceil_div(least, divisor) < 0 or greatest // divisor >= tensor.sizes[behind + d]
    return found


def columns_vector(window: Window, tensor: Tensor, output: Tensor, most: int) -> int:
    """The number of adjacent columns, up to `most`, that form a vector in the right factor, wherever they
    start: more than 1 only if each element meets a single tap, and these are contiguous along all of the
    window's dimensions."""
    run = 1
    is_whole = True
    behind = len(tensor.sizes) - len(window.sizes)
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        size = tensor.sizes[behind + d]
        is_whole = is_whole and is_pointwise(window, d)
        is_whole = is_whole and window.right_steps[d] == 1
        is_whole = is_whole and output.sizes[window.axes[d]] == size * window.right_divisors[d]
        is_whole = is_whole and (size == 1 or tensor.strides[behind + d] == run)
        run *= size
    vector = gcd(most, run) if is_whole else 1
    for d in range(behind):
        if tensor.sizes[d] > 1:
            vector = gcd(vector, tensor.strides[d])
    return vector


def channels_vector(factors: Factors, tensor: Tensor, most: int) -> int:
    """The number of adjacent channels, up to `most`, of a vector in the right factor, wherever they start."""
    if tensor.strides[1] != 1:
        return 1
    vector = gcd(most, factors.depth)
    for d, stride in enumerate(tensor.strides):
        if d != 1 and tensor.sizes[d] > 1:
            vector = gcd(vector, stride)
    return vector


def is_matrix(window: Window) -> bool:
    """Whether the left factor is a matrix as it is: there is a single tap, which all elements meet."""
    return element_count(window.sizes) == 1 and not is_divided(window)


def float_window_tiles(channels: int) -> Tiles:
    """The candidates. Their depth divides the `channels` of a tap if possible, so that a step reads a single
    tap."""
    depth = 16 if channels % 16 == 0 else 8
    return [
        Tile(64, 128, depth, 32, 64, 3, 76),
        Tile(32, 128, depth, 16, 64, 6, 66),
        Tile(32, 64, 32 if channels % 32 == 0 else depth, 16, 32, 3, 100),
        Tile(16, 128, depth, 16, 32, 6, 100),
    ]


def plan_float_window(out: Planning, op: Contraction, found: Matrices) -> None:
    """Chooses the tile and the parts of k; the left factor is packed by vectors of rows."""
    output = op.output
    rates = Rates(FLOAT_RATE, FLOAT_WINDOW_LATENCY, FLOAT_WINDOW_ALONE, 4, 1)
    chosen = choose_tile(found, float_window_tiles(op.factors.depth), rates, True)
    split = split_of(found, chosen)
    factors, items = found, 0
    if found.left.depth != 1 or not is_matrix(op.factors.window):
        vectors = ceil_div(found.rows, 4)
        pitch, whole = 4 * vectors, times(found.depth, 4 * vectors)
        factors = found._replace(left=Side(axis_steps(output, found.row_axis, 1), pitch, whole, False, 4))
        items = times(times(found.depth, vectors), found.count)
    product = Product(chosen.tile, split, split.parts > 1, found, factors, False)
    plan_window_product(out, op, product, Packing(items, 4, 1), single_tap())


def gathered(op: Contraction, side: Side) -> Side:
    """The way to load a convolution's right factor: up to eight adjacent channels or pixels at once."""
    right, output = op.right, op.output
    channels = channels_vector(op.factors, right, 8)
    if channels > 1:
        return side._replace(is_along=True, vector=channels)
    columns = columns_vector(op.factors.window, right, output, 8)
    return side._replace(is_along=columns == 1, vector=columns)


def single_tap() -> Row:
    return Row(1, 0, 0)


def row_of(op: Contraction, found: Matrices) -> Row:
    """The taps that tiles can hold at once. Each row of the output has so many columns that they keep its
    windows clear of the tensor's next row: the zeros before that row also end this one."""
    window, right = op.factors.window, op.right
    if is_divided(window):
        return single_tap()
    last = len(window.sizes) - 1
    taps, first = window.sizes[last], window.right_first[last]
    tap, step = window.right_taps[last], window.right_steps[last]
    width, size = found.sizes[window.axes[last]], right.sizes[len(right.sizes) - 1]
    reach, before = tap * (taps - 1), max(-first, 0)
    pitch = max(min(width + reach, max(before + size, width + reach - before)), width)
    if taps == 1 or taps > COOPERATIVE_TAPS or tap <= 0 or step != 1 or reach > COOPERATIVE_REACH:
        return single_tap()
    if op.factors.depth % 16 > 0:
        return single_tap()
    return Row(taps, ceil_div(reach, 4) * 4, pitch)


def in_rows(found: Matrices, window: Window, row: Row) -> Matrices:
    """The matrices with padded output rows, for tiles that hold several taps at once."""
    axis, pitch = window.axes[len(window.sizes) - 1], row.pitch
    sizes: Eight = [pitch if d == axis else size for d, size in enumerate(found.sizes)]
    run = found.run if found.is_down else 1
    return found._replace(sizes=sizes, columns=found.columns // found.sizes[axis] * pitch, run=run)


def has_room(tile: Tile, row: Row) -> bool:
    """Whether tiles of both factors leave shared memory for other groups. Lines are padded by one vector."""
    left = tile.rows * (row.taps * tile.depth // 8 + 1)
    right = (tile.columns + row.reach) * (tile.depth // 8 + 1)
    return left + right < COOPERATIVE_MEMORY // 16


def tap_tiles(channels: int) -> Tiles:
    """The candidates with a single tap. Their depth divides the `channels` of a tap if possible, so that a
    step reads a single tap."""
    depth = 32 if channels % 64 > 0 else 64
    return [
        Tile(128, 128, 32, 64, 64, 2, 23),
        Tile(128, 128, depth, 64, 32, 1, 50),
        Tile(64, 128, 32, 32, 64, 4, 17),
        Tile(64, 64, depth, 32, 32, 3, 14),
        Tile(32, 32, depth, 16, 16, 2, 8),
        Tile(16, 64, depth, 16, 16, 5, 20),
    ]


def row_tiles(row: Row) -> Tiles:
    """The candidates that contain several taps, each with 16 channels: those that shared memory has room for.
    Their last columns serve other tiles, too, so these are not counted."""
    shapes: Tiles = [
        Tile(64, 256, 16, 32, 64, 2, 23),
        Tile(128, 256, 16, 64, 64, 1, 100),
        Tile(64, 128, 16, 32, 64, 4, 18),
        Tile(32, 256, 16, 32, 32, 2, 18),
        Tile(16, 256, 16, 16, 32, 3, 12),
    ]
    tiles: Tiles = []
    for tile in shapes:
        if has_room(tile, row):
            tiles.append(tile._replace(columns=tile.columns - row.reach, depth=row.taps * tile.depth))
    return tiles


def plan_cooperative_window(out: Planning, op: Contraction, given: Matrices) -> None:
    """Chooses the tile, with one tap or several, and the parts of k; the left factor is packed along k."""
    window, output, channels = op.factors.window, op.output, op.factors.depth
    right, row = gathered(op, given.right), row_of(op, given)
    rates = Rates(COOPERATIVE_RATE, COOPERATIVE_WINDOW_LATENCY, COOPERATIVE_ALONE, 2, 1)
    found = given
    chosen = choose_tile(given, tap_tiles(channels), rates, True)
    if row.taps > 1:
        padded_rows = in_rows(given, window, row)
        rows = choose_tile(padded_rows, row_tiles(row), rates._replace(taps=row.taps), True)
        if rows.time < chosen.time:
            chosen, found = rows, padded_rows
        else:
            row = single_tap()
    split = split_of(found, chosen)
    tile = chosen.tile._replace(columns=chosen.tile.columns + row.reach, depth=chosen.tile.depth // row.taps)
    vector = side_vector(found.left, found.row_axis, found.rows, found.depth, 8)
    left, items = found.left._replace(vector=vector), 0
    if vector < 8 or not is_matrix(window):
        eights = ceil_div(found.depth, 8)
        steps = axis_steps(output, found.row_axis, 8 * eights)
        left = Side(steps, 1, times(found.rows, 8 * eights), True, 8)
        items = times(times(found.rows, found.count), eights)
    factors = found._replace(left=left, right=right)
    product = Product(tile, split, split.parts > 1, found, factors, True)
    plan_window_product(out, op, product, Packing(items, 8, 2), row)


def begin_packed(out: Planning, product: Product, packing: Packing) -> int:
    """The macros and resources of all passes, with room in scratch for packed factors, in which the k-loop
    counts elements. Returns the words before them."""
    packed = times(ceil_div(packing.items, 4) * 4, packing.vector // packing.in_word)
    words = begin_product(out, product.matrices, product.split, product.in_parts, packed)
    if packing.items > 0 and times(words + packed, packing.in_word) >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * (words + packed))
    return words


def pack(out: Planning, op: Contraction, product: Product, packing: Packing) -> None:
    """The pass that packs factors, after its own macros."""
    found = product.matrices
    out.define("PACK_VECTOR", packing.vector)
    words = unpacked_window(out, op, found)
    dispatch_single(out, op, found, product.split, words, PACK_PASS, packing.items)


def plan_window_product(out: Planning, op: Contraction, product: Product, packing: Packing, row: Row) -> None:
    """One dispatch, preceded by one if the left factor is packed, and followed by one if there are partial
    sums."""
    window, channels = op.factors.window, op.factors.depth
    right, output = op.right, op.output
    sums = begin_packed(out, product, packing)
    out.define("PHASED", int(is_divided(window)))
    out.define("TAPS_AT_ONCE", row.taps)
    out.share()
    words = unpacked_window(out, op, product.matrices)
    if packing.items > 0:
        out.define("TILE_DEPTH", product.tile.depth)
        out.define("TAP_PRODUCTS", gcd(channels, product.tile.depth))
        pack(out, op, product, packing)
        first, strides = sums * packing.in_word, window_strides(op)
        words = product_window(out, op, product.factors, strides, channels, first)
    out.define("TAP_PRODUCTS", gcd(channels, product.tile.depth))
    out.define("BORDERED", int(is_bordered(window, right, output)))
    out.define("REACH", row.reach)
    multiply(out, op, product, words, packing.items > 0)


def plan_window_tiles(out: Planning, op: Contraction, found: Matrices) -> bool:
    """Tiles of cooperative matrices where these suit, else of ordinary arithmetic. False if there is too
    little to compute."""
    if suits_cooperative_matrix(out, op, found):
        plan_cooperative_window(out, op, found)
    elif found.is_worth:
        plan_float_window(out, op, found)
    else:
        return False
    return True
