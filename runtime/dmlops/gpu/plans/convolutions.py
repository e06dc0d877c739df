"""Convolutions: windows with few rows or few products slide over the input, others use tiles."""

from __future__ import annotations

from .capabilities import Capability
from .cooperative_matrix import suits_cooperative_matrix
from .definition_types import Definition, DefinitionShader
from .gemm_view import is_of_bytes, matrices_of
from .loops import element_count
from .planning import Planning
from .polyphase import is_upright, upright
from .products import plan_tiles
from .sliding import plan_sliding, suits_sliding
from .tuning import (
    BYTES_DIRECT_ROWS,
    COOPERATIVE_DIRECT_ROWS,
    COOPERATIVE_LARGE_ROWS,
    COOPERATIVE_LARGE_TAPS,
    TILE_DIRECT_ROWS,
    TILE_POINT_ROWS,
)


def plan_convolutions(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """Plans the products with the window's taps in the order of their positions on the right factor: a
    backward convolution with steps of 1 becomes a forward one. False if the definition's own passes are as
    good."""
    window = op.factors.window
    if is_upright(window):
        return plan_in_order(out, op, shader)
    return plan_in_order(out, op._replace(factors=op.factors._replace(window=upright(window))), shader)


def rows_for_tiles(taps: int, of_bytes: bool, is_cooperative: bool) -> int:
    """The rows from which tiles pay with a window of so many taps; with fewer, it slides over the input."""
    if of_bytes:
        return BYTES_DIRECT_ROWS
    if is_cooperative:
        return COOPERATIVE_DIRECT_ROWS if taps <= COOPERATIVE_LARGE_TAPS else COOPERATIVE_LARGE_ROWS
    return TILE_POINT_ROWS if taps == 1 else TILE_DIRECT_ROWS


def plan_in_order(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """Slides the window over the input, or uses tiles."""
    found = matrices_of(op, shader)
    of_bytes = is_of_bytes(op, shader)
    has_byte_matrices = out.has(Capability.COOPERATIVE_MATRIX_INT8) and found.rows >= BYTES_DIRECT_ROWS
    is_cooperative = has_byte_matrices if of_bytes else suits_cooperative_matrix(out, op, shader, found)
    taps = element_count(op.factors.window.sizes)
    least_rows = rows_for_tiles(taps, of_bytes, is_cooperative)
    has_small_tiles = is_cooperative and taps == 1
    if suits_sliding(op, shader, found, least_rows) and not has_small_tiles:
        return plan_sliding(out, op, shader)
    return plan_tiles(out, op, shader, found)
