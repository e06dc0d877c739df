"""Products of float16 by cooperative matrices, on devices that have them.

Tiles of the factors are stored in shared memory in their layout in memory, eight elements to a vector, and
each wave of a group multiplies 16x16 blocks of them. A convolution is an implicit GEMM that gathers its right
factor tap by tap; its weights are packed first.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .capabilities import Capability
from .definition_types import Definition, DefinitionShader, Window
from .gemm_view import Matrices, Side, axis_steps, channels_vector, side_vector
from .loops import COUNT_LIMIT, ceil_div, element_count, times
from .operands import NONE, Eight, Tensor
from .planning import Planning
from .polyphase import is_divided, is_pointwise
from .product import Packing, Product, Row, Tile, single_tap, split_into, window_strides
from .tile_cost import Rates, SplitK, shape_of, split_k
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
)

CooperativeTiles = Annotated[list[Tile], 12]

GROUP_MEMORY = 48 * 1024  # bytes of shared memory; detection requires that much for cooperative matrices


class CooperativeChoice(NamedTuple):
    """A tile, how k is split with it, and the taps that it holds."""

    tile: Tile
    split: SplitK
    row: Row


def is_float16(tensor: Tensor) -> bool:
    return tensor.bits == 16 and tensor.is_float


def gathered(op: Definition, shader: DefinitionShader, side: Side) -> Side:
    """The way to load a convolution's right factor: eight adjacent channels at once, or eight adjacent pixels
    if each output element meets one tap, which is never outside; else element by element."""
    window, right = op.factors.window, op.tensors[shader.contracted.right]
    if channels_vector(op.factors, right, 8) == 8:
        return side._replace(is_along=True, vector=8)
    output = op.tensors[shader.contracted.output]
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
        return side._replace(is_along=False, vector=8)
    return side._replace(is_along=True, vector=1)


def right_of(op: Definition, shader: DefinitionShader, found: Matrices) -> Side:
    """The way to load the right factor."""
    if found.column_axis == NONE:
        return gathered(op, shader, found.right)
    return found.right._replace(
        vector=side_vector(found.right, found.column_axis, found.columns, found.depth, 8)
    )


def row_of(op: Definition, shader: DefinitionShader, found: Matrices) -> Row:
    """The taps that tiles can hold at once. Each row of the output has so many columns that they keep its
    windows clear of the tensor's next row: the zeros before that row also end this one."""
    window, right = op.factors.window, op.tensors[shader.contracted.right]
    if found.column_axis != NONE or is_divided(window):
        return single_tap()
    last = len(window.sizes) - 1
    taps, first = window.sizes[last], window.right_first[last]
    tap, step = window.right_taps[last] - first, window.right_steps[last] - first
    width, size = found.sizes[window.axes[last]], right.sizes[len(right.sizes) - 1]
    reach, before = tap * (taps - 1), max(-first, 0)
    pitch = max(min(width + reach, max(before + size, width + reach - before)), width)
    suits = taps > 1 and taps <= COOPERATIVE_TAPS and tap > 0 and step == 1 and reach <= COOPERATIVE_REACH
    suits = suits and op.factors.depth % 16 == 0 and 4 * pitch <= 5 * width
    if not suits:
        return single_tap()
    return Row(taps, reach, pitch)


def in_rows(found: Matrices, window: Window, row: Row) -> Matrices:
    """The matrices, with padded output rows if tiles hold several taps at once."""
    if row.taps == 1:
        return found
    axis, pitch = window.axes[len(window.sizes) - 1], row.pitch
    sizes: Eight = [pitch if d == axis else size for d, size in enumerate(found.sizes)]
    run = found.run if found.is_down else 1
    return found._replace(sizes=sizes, columns=found.columns // found.sizes[axis] * pitch, run=run)


def has_room(tile: Tile, row: Row) -> bool:
    """Whether tiles of both factors leave shared memory for other groups. Lines are padded by one vector."""
    left = tile.rows * (row.taps * tile.depth // 8 + 1)
    right = (tile.columns + row.reach) * (tile.depth // 8 + 1)
    return left + right < COOPERATIVE_MEMORY // 16


def candidates(found: Matrices, channels: int, is_gathered: bool) -> CooperativeTiles:
    """The tiles to choose from. With a window, their depth divides the `channels` of a tap if possible, so
    that a step reads a single tap; gathering elements one by one takes registers, and so smaller shares.

    Two tiles in shared memory, and so one barrier per step, make steps of 32 products 1.11 times as fast on
    an NVIDIA H200 (4096x4096x4096), but 48 KiB do not hold two of 64, which are 1.18 times as fast. Eight
    waves of 64x64 that split a step's k are at 0.81 to 1.05 of four where groups are few. For 16 to 32 rows
    or columns and a depth of 4096 or more, the best of 32x64, 64x16 and 16x64 is at 0.62 to 0.94 of 32x256
    and 256x32; with a depth of 512 or 1024, which take smaller tiles, at 1.15 to 1.62."""
    tiles: CooperativeTiles = []
    if found.column_axis != NONE:
        ahead = 1 if found.depth <= 64 else 2
        tiles.append(Tile(128, 128, 64, 64, 64, 1, 2, 80))
        tiles.append(Tile(64, 128, 64, 32, 32, ahead, 1, 89))
        tiles.append(Tile(64, 64, 64, 32, 32, ahead, 6, 100))
        tiles.append(Tile(32, 64, 64, 32, 16, ahead, 7, 100))
        tiles.append(Tile(32, 32, 64, 16, 16, ahead, 6, 100))
        tiles.append(Tile(64, 256, 64, 32, 64, ahead, 2, 80))
        tiles.append(Tile(32, 256, 64, 32, 32, ahead, 3, 100))
        tiles.append(Tile(256, 32, 64, 32, 32, ahead, 3, 100))
        return tiles
    depth = 32 if channels % 64 > 0 else 64
    if is_gathered:
        tiles.append(Tile(128, 128, 32, 64, 32, 1, 2, 26))
    else:
        tiles.append(Tile(128, 128, depth, 64, 64, 1, 2, 100))
        tiles.append(Tile(128, 128, depth, 64, 32, 1, 2, 26))
    tiles.append(Tile(64, 128, depth, 32, 32, 1, 3, 72))
    tiles.append(Tile(64, 128, depth, 32, 64, 1, 4, 14))
    tiles.append(Tile(64, 64, depth, 32, 32, 1, 1, 56))
    tiles.append(Tile(32, 64, depth, 32, 16, 1, 5, 100))
    tiles.append(Tile(32, 32, depth, 16, 16, 1, 5, 61))
    tiles.append(Tile(16, 64, depth, 16, 16, 1, 4, 98))
    return tiles


def row_candidates(channels: int, row: Row) -> CooperativeTiles:
    """The tiles that contain several taps, each with `depth` channels: those that shared memory has
    room for."""
    tiles: CooperativeTiles = []
    if row.taps == 1:
        return tiles
    deep = Tile(64, 128, gcd(32, channels), 32, 32, 1, 3, 100)
    if has_room(deep, row):
        tiles.append(deep)
    wide = Tile(64, 256, 16, 32, 64, 1, 1, 100)
    if has_room(wide, row):
        tiles.append(wide)
    tall = Tile(128, 256, 16, 64, 64, 1, 1, 61)
    if has_room(tall, row):
        tiles.append(tall)
    tiles.append(Tile(64, 128, 16, 32, 64, 1, 4, 100))
    return tiles


def cooperative_rates(found: Matrices, row: Row, is_gathered: bool) -> Rates:
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
    rates = cooperative_rates(found, row, is_gathered)
    best = CooperativeChoice(Tile(16, 64, 32, 16, 16, 1, 1, 1), SplitK(1, COUNT_LIMIT), row)
    for tile in tiles:
        split = split_k(found, shape_of(tile, row), rates, row.taps == 1)
        if split.time < best.split.time:
            best = CooperativeChoice(tile, split, row)
    return best


def suits_cooperative_matrix(
    out: Planning, op: Definition, shader: DefinitionShader, found: Matrices
) -> bool:
    """Whether the device has cooperative matrices, both factors are float16, and there is enough work."""
    contracted = shader.contracted
    are_float16 = is_float16(op.tensors[contracted.left]) and is_float16(op.tensors[contracted.right])
    least = COOPERATIVE_DIRECT_ROWS if found.column_axis == NONE else 2
    is_large = found.is_worth and found.rows >= least and found.columns > 1
    is_tiny = found.column_axis != NONE and max(found.rows, found.columns, found.depth) <= COOPERATIVE_TINY
    return out.has(Capability.COOPERATIVE_MATRIX) and are_float16 and is_large and not is_tiny


def cooperative_product(op: Definition, shader: DefinitionShader, given: Matrices) -> Product:
    """The tile, with one tap of a window or several, k split into parts, and the left factor packed by
    vectors along k."""
    window, output = op.factors.window, op.tensors[shader.contracted.output]
    is_windowed = given.column_axis == NONE
    right = right_of(op, shader, given)
    is_gathered = is_windowed and right.vector == 1
    single, several = single_tap(), row_of(op, shader, given)
    channels = op.factors.depth
    by_taps = choose_tile(given, candidates(given, channels, is_gathered), single, is_gathered)
    by_rows = choose_tile(
        in_rows(given, window, several), row_candidates(channels, several), several, is_gathered
    )
    chosen = by_rows if by_rows.split.time < by_taps.split.time else by_taps
    tile, row = chosen.tile, chosen.row
    found = in_rows(given, window, row)
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns - row.reach)
    split = split_into(chosen.split.parts, found.depth, tile.depth * row.taps, down, across)
    vector = side_vector(found.left, found.row_axis, found.rows, found.depth, 8)
    left = found.left._replace(vector=vector)
    items = 0
    if is_windowed and (vector < 8 or element_count(window.sizes) > 1 or is_divided(window)):
        eights = ceil_div(found.depth, 8)
        steps = axis_steps(output, found.row_axis, 8 * eights)
        left = Side(steps, 1, times(found.rows, 8 * eights), True, 8)
        items = times(times(found.rows, found.count), eights)
    return Product(
        chosen.tile,
        split,
        split.parts > 1,
        found,
        found._replace(left=left, right=right),
        channels,
        window_strides(op, shader),
        Packing(items, 8, 2),
        chosen.row,
        True,
    )
