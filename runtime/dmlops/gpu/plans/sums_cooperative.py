"""Sums of products by cooperative matrices, where all factors are float16: the tiles of groups and waves.

A matrix's rows are the weights of all sums of the group's rows, its columns are the group's columns. If there
are few of these, waves split the products of each sum.
"""

from __future__ import annotations

from typing import NamedTuple

from .capabilities import Capability
from .loops import COOPERATIVE_GROUPS, ceil_div, times
from .operands import Tensor, Tensors, is_float16
from .planning import Planning

SUMS_COOPERATIVE_COLUMNS = 5  # NVIDIA H200: 2 at 0.97, 10 at 0.99
"columns from which cooperative matrices, which process 16, are faster"


class CooperativeSums(NamedTuple):
    """The rows and columns of a group's matrices, the `depth` of its k-loop, a wave's share, how many tiles
    are prefetched `ahead`, and the group's threads."""

    rows: int
    columns: int
    depth: int
    wave_rows: int
    wave_columns: int
    ahead: int
    threads: int


def no_units() -> CooperativeSums:
    """For ordinary arithmetic."""
    return CooperativeSums(0, 0, 0, 0, 0, 0, 0)


def is_of_eights(tensor: Tensor) -> bool:
    """Whether a tensor consists of float16 values in contiguous, aligned vectors of eight."""
    found = is_float16(tensor) and tensor.strides[-1] == 1 and tensor.sizes[-1] % 8 == 0
    for size, stride in zip(tensor.sizes[:-1], tensor.strides[:-1], strict=True):
        found = found and (size == 1 or stride % 8 == 0)
    return found


def suits_cooperative_sums(out: Planning, tensors: Tensors, read: int, columns: int, neighbors: int) -> bool:
    """Whether the device has cooperative matrices, there are columns enough to fill them, they can load all
    factors, which have bits in `read`, and the `neighbors` that are written are multiples of four."""
    for place, tensor in enumerate(tensors):
        if read >> place & 1 == 1 and not is_of_eights(tensor):
            return False
    return (
        out.has(Capability.COOPERATIVE_MATRIX) and columns >= SUMS_COOPERATIVE_COLUMNS and neighbors % 4 == 0
    )


def groups_of(rows: int, columns: int, others: int, tile_rows: int, tile_columns: int) -> int:
    """The number of groups, given the tile of each."""
    return times(times(ceil_div(rows, tile_rows), ceil_div(columns, tile_columns)), others)


def rows_of_each(tile_rows: int, sums: int) -> int:
    """The number of a tile's rows that belong to one sum: a multiple of 4, since neighbors are stored as
    float16, in whole words."""
    return tile_rows // sums // 4 * 4


def cooperative_sums_for(rows: int, columns: int, others: int, sums: int) -> CooperativeSums:
    """Tiles as large as leave enough groups."""
    largest = groups_of(rows, columns, others, rows_of_each(128, sums), 128)
    if columns >= 128 and largest >= COOPERATIVE_GROUPS:
        return CooperativeSums(128, 128, 64, 64, 64, 1, 128)
    if groups_of(rows, columns, others, rows_of_each(128, sums), 64) >= COOPERATIVE_GROUPS:
        return CooperativeSums(128, 64, 64, 32, 32, 1, 256)
    if groups_of(rows, columns, others, rows_of_each(64, sums), 64) >= COOPERATIVE_GROUPS:
        return CooperativeSums(64, 64, 64, 32, 32, 2, 256)
    if (
        columns > 16
        and groups_of(rows, columns, others, rows_of_each(32, sums), 32) >= COOPERATIVE_GROUPS * 3 // 4
    ):
        return CooperativeSums(32, 32, 128, 16, 32, 4, 256)
    if (
        columns > 16
        and groups_of(rows, columns, others, rows_of_each(16, sums), 32) >= COOPERATIVE_GROUPS // 2
    ):
        return CooperativeSums(16, 32, 256, 16, 32, 2, 256)
    return CooperativeSums(16, 16, 256, 16, 16, 2, 256)
