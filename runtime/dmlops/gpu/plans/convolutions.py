"""Convolutions: windows with few rows or few products slide over the input, others use tiles."""

from __future__ import annotations

from .capabilities import Capability
from .contraction import COOPERATIVE_DIRECT_ROWS, suits_cooperative_matrix
from .definition_types import Definition, DefinitionShader
from .gemm_view import Contraction, is_of_bytes
from .implicit_gemm import plan_window_tiles, windowed
from .int8_product import plan_int8_window
from .planning import Planning
from .sliding import plan_sliding, suits_sliding
from .windows import taps_of, window_axes

TILE_DIRECT_ROWS = 9  # NVIDIA H200: 4 at 0.4 to 1.2, 13 at 0.6 to 0.85
"rows from which tiles pay with a window of several taps; below, windows slide over the input"
TILE_POINT_ROWS = 4  # NVIDIA H200: 9 at 0.5 to 1.1
"the same with a single tap, or with bytes"
COOPERATIVE_LARGE_ROWS = 6  # NVIDIA H200: 3 at 0.56 to 0.77 with 4 rows, 9 at 0.64 to 1.3 with 8
"the same with windows of more taps than the next number"
COOPERATIVE_LARGE_TAPS = 9  # NVIDIA H200: 25 at 0.69 to 0.77 with 4 rows
"taps of a window up to which tiles pay from COOPERATIVE_DIRECT_ROWS rows"


def rows_for_tiles(taps: int, of_bytes: bool, is_cooperative: bool) -> int:
    """The rows from which tiles pay with a window of so many taps; with fewer, it slides over the input."""
    if is_cooperative and not of_bytes:
        return COOPERATIVE_DIRECT_ROWS if taps <= COOPERATIVE_LARGE_TAPS else COOPERATIVE_LARGE_ROWS
    return TILE_POINT_ROWS if of_bytes or taps == 1 else TILE_DIRECT_ROWS


def plan_convolutions(
    out: Planning, op: Definition, shader: DefinitionShader, contraction: Contraction
) -> bool:
    """Slides the window over the input, or uses tiles. False if the definition's own passes are as good."""
    axes = window_axes(out, op.window, contraction.left, contraction.right, contraction.output)
    found = windowed(contraction, axes, op.window.groups)
    of_bytes = is_of_bytes(contraction)
    if of_bytes and not found.is_worth:
        return False
    has_byte_matrices = out.has(Capability.COOPERATIVE_MATRIX_INT8) and found.rows >= TILE_POINT_ROWS
    is_cooperative = has_byte_matrices if of_bytes else suits_cooperative_matrix(out, contraction, found)
    taps = taps_of(axes)
    least_rows = rows_for_tiles(taps, of_bytes, is_cooperative)
    has_small_tiles = is_cooperative and taps == 1
    suits = suits_sliding(op, found, least_rows) and not has_small_tiles
    if suits and plan_sliding(out, op, shader, contraction.constants, axes, found):
        return True
    if of_bytes:
        return plan_int8_window(out, contraction, axes, found)
    return plan_window_tiles(out, contraction, axes, found)
