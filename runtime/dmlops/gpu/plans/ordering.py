"""Packing the factors of a contraction: whether an earlier dispatch puts them into scratch as tiles read
them."""

from __future__ import annotations

from .defined import MAX_COUNT, Definition
from .known import padded
from .loops import ceil_div, element_count, times
from .matrices import Matrices, Side
from .phases import is_divided
from .told import NONE, Eight
from .tuning import TILE_COPIED, TILE_COPIED_LINES, TILE_ORDERED

ORDER_PASS = 3  # packs the left factor or copies both; relative to the contraction's number


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


def pays_to_copy(found: Matrices, has_gaps: bool) -> bool:
    """Whether both factors are copied first, without a window: if one of them cannot be loaded in whole
    vectors (it `has_gaps`), no two matrices share any of them, and each element is read often."""
    if not has_gaps or min(found.rows, found.columns) < TILE_COPIED_LINES:
        return False
    for d, size in enumerate(found.sizes):
        if size > 1 and (found.left.steps[d] == 0 or found.right.steps[d] == 0):
            return False
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    elements = times(times(found.rows + found.columns, found.depth), found.count)
    return products >= TILE_COPIED and elements < MAX_COUNT // 4


def copied(found: Matrices, vector: int) -> Matrices:
    """The same matrices with both factors copied, where `vector` elements take 16 bytes."""
    return found._replace(
        left=line_side(found, found.left, found.row_axis, found.rows, vector),
        right=line_side(found, found.right, found.column_axis, found.columns, vector),
    )


def line_side(found: Matrices, side: Side, axis: int, own: int, vector: int) -> Side:
    """The layout of a copied factor, whose `own` rows or columns run along `axis`: lines padded to whole
    vectors, matrix by matrix."""
    pitch = ceil_div(found.depth if side.is_along else own, vector) * vector
    matrix = times(pitch, own if side.is_along else found.depth)
    steps: Eight = []
    for d in range(len(found.sizes)):
        stride = matrix
        for later, size in enumerate(found.sizes):
            stride = times(stride, size) if later > d and size > 1 else stride
        if d == axis:
            stride = pitch if side.is_along else 1
        steps.append(stride)
    return Side(padded(steps), 1 if side.is_along else pitch, matrix, side.is_along, vector)


def copied_words(made: Matrices, vector: int) -> int:
    """The words of both copied factors."""
    return times(times(made.left.matrix + made.right.matrix, made.count), 4) // vector
