"""Sums of products by matrix units: what groups and waves work out, where all that is read are halves.

Rows of matrices are the weights of all sums of the group's rows, columns are its columns. Where there are few
of them, waves share sums, of which each adds up some products.
"""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .loops import ceil_div, times
from .planning import Planning
from .told import Tensor, Tensors
from .tuning import (
    SUMS_STAYING_DEPTH,
    SUMS_STAYING_GROUPS,
    SUMS_STAYING_THREADS,
    SUMS_UNITS_COLUMNS,
    UNITS_GROUPS,
)

SUMS_UNITS_THREADS = 256  # in a group, where weights do not stay
SUMS_STAYING_WEIGHTS = 65536  # of a group: 128 registers of each of its threads


class SumsUnits(NamedTuple):
    """The rows of a group's matrices, their columns, and how many products of these are multiplied at once;
    what a wave has of them; so many tiles are read `ahead`. `stays`: these have all products, and weights
    stay in registers from step to step of a recurrence."""

    rows: int
    columns: int
    depth: int
    wave_rows: int
    wave_columns: int
    ahead: int
    stays: bool


def no_units() -> SumsUnits:
    """What ordinary arithmetic has."""
    return SumsUnits(0, 0, 0, 0, 0, 0, False)


def is_of_eights(tensor: Tensor) -> bool:
    """Whether a tensor is of halves, of which vectors of eight lie side by side."""
    found = tensor.bits == 16 and tensor.is_float
    found = found and tensor.strides[-1] == 1 and tensor.sizes[-1] % 8 == 0
    for size, stride in zip(tensor.sizes[:-1], tensor.strides[:-1], strict=True):
        found = found and (size == 1 or stride % 8 == 0)
    return found


def suits_sums_units(out: Planning, tensors: Tensors, read: int, columns: int, neighbours: int) -> bool:
    """Whether the device has matrix units, enough columns fill them, they can read the tensors of which
    products are made, which have bits in `read`, and `neighbours` are written in fours."""
    for place, tensor in enumerate(tensors):
        if read >> place & 1 == 1 and not is_of_eights(tensor):
            return False
    return out.has(Capability.MATRIX_UNITS) and columns >= SUMS_UNITS_COLUMNS and neighbours % 4 == 0


def groups_of(rows: int, columns: int, others: int, tile_rows: int, tile_columns: int) -> int:
    """How many groups work out so many of each."""
    return times(times(ceil_div(rows, tile_rows), ceil_div(columns, tile_columns)), others)


def rows_of_each(tile_rows: int, sums: int) -> int:
    """How many of a tile's rows are of one sum: neighbours are kept as halves in whole words."""
    return tile_rows // sums // 4 * 4


def sums_units_for(rows: int, columns: int, others: int, sums: int) -> SumsUnits:
    """Matrices as large as leave enough groups."""
    if groups_of(rows, columns, others, rows_of_each(128, sums), 64) >= UNITS_GROUPS:
        return SumsUnits(128, 64, 64, 32, 32, 1, False)
    if groups_of(rows, columns, others, rows_of_each(64, sums), 64) >= UNITS_GROUPS:
        return SumsUnits(64, 64, 64, 32, 32, 2, False)
    if columns > 16 and groups_of(rows, columns, others, rows_of_each(32, sums), 32) >= UNITS_GROUPS * 3 // 4:
        return SumsUnits(32, 32, 128, 16, 32, 4, False)
    if columns > 16 and groups_of(rows, columns, others, rows_of_each(16, sums), 32) >= UNITS_GROUPS // 2:
        return SumsUnits(16, 32, 256, 16, 32, 2, False)
    return SumsUnits(16, 16, 256, 16, 16, 2, False)


def stays_with(rows: int, columns: int, others: int, sums: int, depth: int, tile_rows: int) -> bool:
    """Whether groups with so many rows of matrices hold all weights, and run all at once."""
    of_each = rows_of_each(tile_rows, sums)
    return (
        groups_of(rows, columns, others, of_each, 16) <= SUMS_STAYING_GROUPS
        and tile_rows * depth <= SUMS_STAYING_WEIGHTS
    )


def units_for_steps(rows: int, columns: int, others: int, sums: int, depth: int) -> SumsUnits:
    """The same in a recurrence whose groups can wait for one another, with weights that stay in registers
    where they fit. Then waves have all rows, and share the products of a tile."""
    tile_rows = 32 if stays_with(rows, columns, others, sums, depth, 32) else 64
    if not stays_with(rows, columns, others, sums, depth, tile_rows):
        return sums_units_for(rows, columns, others, sums)
    tile_depth = SUMS_STAYING_THREADS // 32 * 16
    while tile_depth < min(depth, SUMS_STAYING_DEPTH):
        tile_depth *= 2
    return SumsUnits(tile_rows, 16, tile_depth, tile_rows, 16, ceil_div(depth, tile_depth), True)
