"""Tiles of products, and a cost model that chooses one and the parts of k.

A group works through k in steps of a tile's depth, and loads the rows and columns that it multiplies. A
multiprocessor is limited either by arithmetic and loads, where groups are many, or by the latency of each
step, where they are few; all of them together by the rate at which the cache delivers factors. Splitting k
adds groups, and a pass that adds up partial sums in memory.

The numbers were fitted to the times of all candidates for about 220 products and convolutions on an H200.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .gemm_view import Matrices
from .loops import MULTIPROCESSORS, ceil_div, times

TILE_MOST_PARTS = 128  # NVIDIA H200: 64 at 0.56 for float32, and at 1.16 for float16, with 64x65536x64
"parts of k, at most"
CACHE_RATE = 3563  # NVIDIA H200, fitted
"bytes of factors that all multiprocessors together load from the cache in a nanosecond"
MEMORY_RATE = 2333  # NVIDIA H200, fitted
"bytes of partial sums that are written or read in a nanosecond"
PARTS_START = 1926  # NVIDIA H200, fitted
"nanoseconds that another pass takes, for partial sums"

LINES = 576  # NVIDIA H200, fitted
"rows and columns of the tiles that a multiprocessor holds at once, in all"

MOST_TIME = 2**62  # nanoseconds: more than any product takes


class Tile(NamedTuple):
    """A group's tile of the output, the `depth` of its k-loop, and each wave's share."""

    rows: int
    columns: int
    depth: int
    wave_rows: int
    wave_columns: int


Tiles = Annotated[list[Tile], 12]


class Split(NamedTuple):
    """The division of work: tiles down and across a matrix, parts of k, and the products in a part."""

    down: int
    across: int
    parts: int
    products: int


class Rates(NamedTuple):
    """Multiply-adds of a multiprocessor per nanosecond, and how many of them loading an element takes; how
    long a step waits, in nanoseconds; the percentage of the rate that a group reaches alone; the bytes of an
    element."""

    arithmetic: int
    load: int
    latency: int
    alone: int
    element: int


class Choice(NamedTuple):
    """A tile, the division of work, and the nanoseconds that the product then takes."""

    tile: Tile
    split: Split
    time: int


def resident_groups(found: Matrices, tile: Tile) -> int:
    """The groups that are on a multiprocessor at once."""
    return max(LINES // (tile.rows + tile.columns + found.reach), 1)


def tile_time(found: Matrices, tile: Tile, rates: Rates, split: Split) -> int:
    """Nanoseconds that the product takes, apart from what is the same for all tiles. Columns are loaded once
    for all taps that a tile holds."""
    groups = times(times(split.down * split.across, found.count), split.parts)
    depth, lines = tile.depth * found.taps, tile.rows + tile.columns // found.taps
    steps = ceil_div(split.products, depth)
    work = (tile.rows * tile.columns + rates.load * lines) * depth  # in multiply-adds, of a step
    alone = times(steps, rates.latency + work * 100 // (rates.arithmetic * rates.alone))
    traffic = lines * steps * depth * rates.element // CACHE_RATE
    rounds = ceil_div(groups, MULTIPROCESSORS * resident_groups(found, tile))
    busy = times(ceil_div(groups, MULTIPROCESSORS), work * steps // rates.arithmetic)
    time = max(max(times(rounds, alone), busy), times(groups, traffic))
    if split.parts > 1:
        sums = times(times(found.rows, found.columns), found.count)
        time += PARTS_START + times(split.parts, 8 * sums // MEMORY_RATE) + time // 64
    return time


def split_into(parts: int, depth: int, step: int, down: int, across: int) -> Split:
    """Splits k, of `depth` products, into at most so many parts, all but the last of which are multiples of
    `step`."""
    products = ceil_div(ceil_div(depth, parts), step) * step
    return Split(down, across, ceil_div(depth, products), products)


def choose_tile(found: Matrices, tiles: Tiles, rates: Rates, may_split: bool) -> Choice:
    """The tile and the number of parts of k that take the least time. The numbers tried fill all
    multiprocessors once, twice, and so on, as far as k is deep enough; there is one part unless it
    `may_split`."""
    best = Choice(tiles[0], Split(1, 1, 1, 1), MOST_TIME)
    for tile in tiles:
        down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns - found.reach)
        groups, depth = times(down * across, found.count), tile.depth * found.taps
        most = min(found.depth // (2 * depth), TILE_MOST_PARTS) if may_split else 1
        for rounds in range(2 * resident_groups(found, tile) + 1):
            parts = max(min(rounds * MULTIPROCESSORS // groups, most), 1)
            split = split_into(parts, found.depth, depth, down, across)
            time = tile_time(found, tile, rates, split)
            if time < best.time:
                best = Choice(tile, split, time)
    return best
