"""Convolutions: windows with few rows or few products slide over the input, others use tiles."""

from __future__ import annotations

from .capabilities import Capability
from .contraction import suits_cooperative_matrix
from .definition_types import Definition, DefinitionShader
from .gemm_view import Contraction, Matrices, is_of_bytes
from .implicit_gemm import plan_window_tiles, windowed
from .int8_product import plan_int8_window
from .loops import times
from .planning import Planning
from .sliding import plan_sliding
from .windows import taps_of, window_axes

TILE_LEAST_ROWS = 6  # NVIDIA H200: 4 at 0.4 to 1.2; of cooperative matrices 0.57 to 0.86 without them
"rows from which tiles pay; with fewer, windows slide over the input unless cooperative matrices suit"
COOPERATIVE_MOST_TAPS = 9  # NVIDIA H200: 25 at 0.69 to 0.77 with 4 rows
"taps of a window with so few rows for which these do, at most"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which windows of several taps slide although there are enough rows for tiles"


def suits_sliding(found: Matrices, channels: int, groups: int, taps: int, is_cooperative: bool) -> bool:
    """Whether a convolution, of so many channels per group, has too few rows for tiles, such small groups
    that they make no tile, or so few products that tiles leave most of a GPU idle."""
    has_rows = found.rows >= TILE_LEAST_ROWS or (is_cooperative and taps <= COOPERATIVE_MOST_TAPS)
    is_narrow = groups > 1 and max(found.rows, channels) <= SLIDING_CHANNELS
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    is_small = products <= SLIDING_PRODUCTS and (taps > 1 or not is_cooperative)
    return not has_rows or is_narrow or is_small


def plan_convolutions(
    out: Planning, op: Definition, shader: DefinitionShader, contraction: Contraction
) -> bool:
    """Slides the window over the input, or uses tiles. False if the definition's own passes are as good."""
    axes = window_axes(out, op.window, contraction.left, contraction.right, contraction.output)
    found = windowed(contraction, axes, op.window.groups)
    of_bytes, is_cooperative = is_of_bytes(contraction), suits_cooperative_matrix(out, contraction, found)
    if of_bytes:
        if not found.is_worth:
            return False
        is_cooperative = out.has(Capability.COOPERATIVE_MATRIX_INT8) and found.rows >= TILE_LEAST_ROWS
    suits = suits_sliding(found, op.factors.depth, op.window.groups, taps_of(axes), is_cooperative)
    if suits and plan_sliding(out, op, shader, contraction.constants, axes, found):
        return True
    if of_bytes:
        return plan_int8_window(out, contraction, axes, found)
    return plan_window_tiles(out, contraction, axes, found)
