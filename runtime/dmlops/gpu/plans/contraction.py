"""Products of floats, by fused multiply-add."""

from __future__ import annotations

from typing import Annotated

from .definition_types import Definition, DefinitionShader
from .gemm_view import Matrices, Side, axis_steps
from .loops import ceil_div, element_count, times
from .operands import NONE
from .polyphase import is_divided
from .product import Packing, Product, Tile, single_tap, split_into, window_strides
from .tile_cost import Rates, shape_of, split_k
from .tuning import (
    FLOAT_ALONE,
    FLOAT_LATENCY,
    FLOAT_RATE,
    FLOAT_WINDOW_ALONE,
    FLOAT_WINDOW_LATENCY,
    TILE_PACKED,
)

Tiles = Annotated[list[Tile], 8]


def tiles_for(found: Matrices, channels: int) -> Tiles:
    """The candidates. With a window, their depth divides the `channels` of a tap if possible, so that a step
    reads a single tap. A thread accumulates a quarter of its wave's rows and an eighth of its columns."""
    tiles: Tiles = []
    if found.column_axis != NONE:
        shallow = 8 if found.depth < 32 else 16
        tiles.append(Tile(128, 128, 16, 32, 64, 1, 2, 100))
        tiles.append(Tile(64, 128, 16, 32, 64, 1, 4, 85))
        tiles.append(Tile(64, 64, 16, 32, 32, 1, 4, 70))
        tiles.append(Tile(32, 128, 16, 16, 64, 1, 5, 100))
        tiles.append(Tile(128, 32, 32, 32, 32, 1, 3, 60))
        tiles.append(Tile(32, 64, 32, 16, 32, 1, 7, 55))
        tiles.append(Tile(32, 32, shallow, 16, 32, 1, 7, 80))
        tiles.append(Tile(16, 32, shallow, 16, 32, 1, 8, 100))
        return tiles
    depth = 16 if channels % 16 == 0 else 8
    tiles.append(Tile(64, 128, depth, 32, 64, 1, 3, 76))
    tiles.append(Tile(32, 128, depth, 16, 64, 1, 6, 66))
    tiles.append(Tile(32, 64, 32 if channels % 32 == 0 else depth, 16, 32, 1, 3, 100))
    tiles.append(Tile(16, 128, depth, 16, 32, 1, 6, 100))
    return tiles


def tile_for(found: Matrices, channels: int) -> Tile:
    """The candidate that takes the least time."""
    tiles = tiles_for(found, channels)
    best, least = 0, -1
    for place, tile in enumerate(tiles):
        time = split_k(found, shape_of(tile, single_tap()), rates_of(found), True).time
        if least < 0 or time < least:
            best, least = place, time
    return tiles[best]


def rates_of(found: Matrices) -> Rates:
    """The rates of single-precision arithmetic, with or without a window."""
    if found.column_axis != NONE:
        return Rates(FLOAT_RATE, FLOAT_LATENCY, FLOAT_ALONE, 4)
    return Rates(FLOAT_RATE, FLOAT_WINDOW_LATENCY, FLOAT_WINDOW_ALONE, 4)


def packs_left(op: Definition, found: Matrices) -> bool:
    """Whether the left factor is packed first: where its strides require that, or where there are enough
    products."""
    window = op.factors.window
    if found.column_axis != NONE:
        return False
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    is_scattered = element_count(window.sizes) > 1 or found.left.depth != 1
    is_direct = found.tap.is_even and not is_divided(window)
    return not is_direct or (is_scattered and products >= TILE_PACKED)


def fma_product(op: Definition, shader: DefinitionShader, found: Matrices) -> Product:
    """The tile, k split into parts, and the left factor packed by vectors of rows."""
    channels = op.factors.depth
    tile = tile_for(found, channels)
    parts = split_k(found, shape_of(tile, single_tap()), rates_of(found), True).parts
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    split = split_into(parts, found.depth, tile.depth, down, across)
    factors = found
    items = 0
    if packs_left(op, found):
        vectors = ceil_div(found.rows, 4)
        steps = axis_steps(op.tensors[shader.contracted.output], found.row_axis, 1)
        pitch, whole = 4 * vectors, times(found.depth, 4 * vectors)
        factors = found._replace(left=Side(steps, pitch, whole, False, 4))
        items = times(times(found.depth, vectors), found.count)
    return Product(
        tile,
        split,
        split.parts > 1,
        found,
        factors,
        channels,
        window_strides(op, shader),
        Packing(items, 4, 1),
        single_tap(),
        False,
    )
