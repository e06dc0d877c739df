"""Packing the left factor of a contraction: whether an earlier dispatch puts it into scratch as tiles read
it."""

from __future__ import annotations

from .defined import Definition
from .loops import ceil_div, element_count, times
from .matrices import Matrices
from .phases import is_divided
from .told import NONE
from .tuning import TILE_ORDERED

ORDER_PASS = 3  # packs the left factor; relative to the contraction's number


def is_put_in_order(told: Definition, found: Matrices) -> bool:
    """Whether the left factor is packed first: where its strides require that, or where there are enough
    products."""
    window = told.factors.window
    if found.column_axis != NONE:
        return False
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    is_scattered = element_count(window.sizes) > 1 or found.left.depth != 1
    is_direct = found.tap.is_even and not is_divided(window)
    return not is_direct or (is_scattered and products >= TILE_ORDERED)


def row_pitch(found: Matrices) -> int:
    """Words per product in a packed left factor: all its rows, padded to vectors."""
    return ceil_div(found.rows, 4) * 4
