"""Tiles of products by cooperative matrices, and how products of bytes occupy the multiprocessors."""

from __future__ import annotations

from typing import NamedTuple

from .loops import ceil_div, times
from .matrices import Matrices, tiles_of
from .told import NONE, WAVE
from .tuning import COOPERATIVE_MOST_PARTS, COOPERATIVE_PART, COOPERATIVE_WINDOW_PART, MULTIPROCESSORS


class CooperativeTile(NamedTuple):
    """A group's tile of the output, the `depth` of its k-loop, each wave's share, how many tiles are
    prefetched `ahead`, how many groups should be `resident` on a multiprocessor at once, and the percentage
    of its arithmetic rate that these reach."""

    rows: int
    columns: int
    depth: int
    wave_rows: int
    wave_columns: int
    ahead: int
    resident: int
    efficiency: int


def unit_threads(tile: CooperativeTile) -> int:
    """Threads in a group, given its tile."""
    return tile.rows // tile.wave_rows * (tile.columns // tile.wave_columns) * WAVE


def unit_parts(found: Matrices, tile: CooperativeTile) -> int:
    """The parts of k: as many as fill the multiprocessors, if it is deep enough for four."""
    is_windowed = found.column_axis == NONE
    least = COOPERATIVE_WINDOW_PART if is_windowed else COOPERATIVE_PART
    if found.depth < 4 * least:
        return 1
    wanted = tile.resident * MULTIPROCESSORS // tiles_of(found, tile.rows, tile.columns)
    most = COOPERATIVE_MOST_PARTS if is_windowed else found.depth // least
    return max(min(wanted, found.depth // least, most), 1)


def occupies_most(found: Matrices, tile: CooperativeTile) -> bool:
    """Whether groups with this tile, each with a part of k, occupy at least three fifths of the
    multiprocessors."""
    return 5 * times(tiles_of(found, tile.rows, tile.columns), unit_parts(found, tile)) >= 3 * MULTIPROCESSORS


def is_for_pairs(found: Matrices, tile: CooperativeTile) -> bool:
    """Whether large tiles are best taken by groups of which two are resident. A round of pairs takes five
    thirds of the time of a round of single groups, and is worth three parts of k, but not two."""
    tiles = tiles_of(found, tile.rows, tile.columns)
    if tiles > MULTIPROCESSORS:
        return 5 * ceil_div(tiles, 2 * MULTIPROCESSORS) < 3 * ceil_div(tiles, MULTIPROCESSORS)
    return 2 * tiles > MULTIPROCESSORS and unit_parts(found, tile) == 3
