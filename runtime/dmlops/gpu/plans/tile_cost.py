"""A cost model of products in tiles, which chooses a tile and the parts of k.

A group works through k in steps of a tile's depth. A multiprocessor is limited either by arithmetic, where
groups are many, or by the latency of each step, where they are few; all of them together by the rate at which
the cache delivers factors. Splitting k adds groups, and a pass that adds up partial sums in memory.

The numbers were fitted to the times of all candidates for about 220 products and convolutions on an H200.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .gemm_view import Matrices
from .loops import MULTIPROCESSORS, ceil_div, times
from .product import Row, Split, Tile, split_into

TILE_LEAST_PART = 64
"products in a part of k, at least"
TILE_MOST_PARTS = 128  # NVIDIA H200: 64 at 0.56 for float32, and at 1.16 for float16, with 64x65536x64
"parts of k, at most"
CACHE_RATE = 3563  # NVIDIA H200, fitted
"bytes of factors that all multiprocessors together load from the cache in a nanosecond"
MEMORY_RATE = 2333  # NVIDIA H200, fitted
"bytes of partial sums that are written or read in a nanosecond"
PARTS_START = 1926  # NVIDIA H200, fitted
"nanoseconds that another pass takes, for partial sums"


Tiles = Annotated[list[Tile], 12]


class Shape(NamedTuple):
    """The cost model's facts about a tile: its rows, its columns, the products per sum in a `step`, how many
    groups are `resident` on a multiprocessor, and the percentage of its arithmetic rate that they reach."""

    rows: int
    columns: int
    step: int
    resident: int
    efficiency: int


class Rates(NamedTuple):
    """Multiply-adds of a multiprocessor per nanosecond; how long a step takes beside its arithmetic, in
    nanoseconds; the percentage of the former that a group reaches alone; the bytes of an element."""

    arithmetic: int
    latency: int
    alone: int
    element: int


class SplitK(NamedTuple):
    """The number of parts that k is split into, and the nanoseconds that the product then takes."""

    parts: int
    time: int


class Choice(NamedTuple):
    """A tile, how k is split with it, and the taps that it holds."""

    tile: Tile
    split: SplitK
    row: Row


def shape_of(tile: Tile, row: Row) -> Shape:
    """That of a tile, which may hold several taps of a window."""
    return Shape(tile.rows, tile.columns - row.reach, tile.depth * row.taps, tile.resident, tile.efficiency)


def tile_count(found: Matrices, shape: Shape) -> int:
    """The tiles of all matrices."""
    return times(ceil_div(found.rows, shape.rows) * ceil_div(found.columns, shape.columns), found.count)


def tile_time(found: Matrices, shape: Shape, rates: Rates, parts: int) -> int:
    """Nanoseconds that the product takes, apart from what is the same for all tiles."""
    groups = times(tile_count(found, shape), parts)
    steps = ceil_div(ceil_div(found.depth, parts), shape.step)
    area = shape.rows * shape.columns
    alone = times(steps, rates.latency + area * shape.step * 100 // (rates.arithmetic * rates.alone))
    busy = area * steps * shape.step * 100 // (rates.arithmetic * shape.efficiency)
    traffic = (shape.rows + shape.columns) * steps * shape.step * rates.element // CACHE_RATE
    rounds = ceil_div(groups, MULTIPROCESSORS * shape.resident)
    time = max(times(rounds, alone), times(ceil_div(groups, MULTIPROCESSORS), busy))
    time = max(time, times(groups, traffic))
    if parts > 1:
        sums = times(times(found.rows, found.columns), found.count)
        time += PARTS_START + times(parts, 8 * sums // MEMORY_RATE)
    return time


def split_k(found: Matrices, shape: Shape, rates: Rates, may_split: bool) -> SplitK:
    """The parts of k that take the least time, among those that fill all multiprocessors once, twice, and so
    on, as far as k is deep enough; one unless it `may_split`."""
    best = SplitK(1, tile_time(found, shape, rates, 1))
    tiles = tile_count(found, shape)
    most = min(found.depth // max(2 * shape.step, TILE_LEAST_PART), TILE_MOST_PARTS) if may_split else 1
    for rounds in range(1, 2 * shape.resident + 1):
        parts = min(rounds * MULTIPROCESSORS // tiles, most)
        if parts > best.parts:
            time = tile_time(found, shape, rates, parts)
            if time < best.time:
                best = SplitK(parts, time)
    return best


def choose_tile(found: Matrices, tiles: Tiles, rates: Rates, row: Row) -> Choice:
    """The candidate that takes the least time, with its parts of k."""
    best = Choice(tiles[0], split_k(found, shape_of(tiles[0], row), rates, row.taps == 1), row)
    for tile in tiles:
        split = split_k(found, shape_of(tile, row), rates, row.taps == 1)
        if split.time < best.split.time:
            best = Choice(tile, split, row)
    return best


def split_of(found: Matrices, chosen: Choice) -> Split:
    """The division of work."""
    tile, row = chosen.tile, chosen.row
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns - row.reach)
    return split_into(chosen.split.parts, found.depth, tile.depth * row.taps, down, across)
