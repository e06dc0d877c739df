"""Convolutions: windows with few rows or few products slide over the input, others use tiles."""

from __future__ import annotations

from .backend import TILE_LEAST_ROWS, backend_of
from .definition_types import Definition, DefinitionShader, Window
from .gemm_view import Contraction, Matrices, is_of_bytes
from .implicit_gemm import plan_window_tiles, suits_window_tiles, windowed
from .loops import element_count, times
from .planning import Planning
from .sliding import plan_sliding
from .windows import window_axes

COOPERATIVE_MOST_TAPS = 9  # NVIDIA H200: 25 at 0.69 to 0.77 with 4 rows
"taps of a window with fewer rows than tiles need otherwise for which cooperative matrices pay, at most"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which windows of several taps slide although there are enough rows for tiles"


def suits_sliding(found: Matrices, window: Window, is_cooperative: bool) -> bool:
    """Whether a convolution has too few rows for tiles, such small channel groups that they make no tile, or
    so few products that tiles leave most of a GPU idle."""
    taps = element_count(window.sizes)
    has_rows = found.rows >= TILE_LEAST_ROWS or (is_cooperative and taps <= COOPERATIVE_MOST_TAPS)
    is_narrow = window.groups > 1 and max(found.rows, found.channels) <= SLIDING_CHANNELS
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    is_small = products <= SLIDING_PRODUCTS and (taps > 1 or not is_cooperative)
    return not has_rows or is_narrow or is_small


def plan_convolutions(
    out: Planning, op: Definition, shader: DefinitionShader, contraction: Contraction
) -> bool:
    """Slides the window over the input, or uses tiles. False if the definition's own passes are as good."""
    axes = window_axes(out, op.window, contraction.left, contraction.right, contraction.output)
    found = windowed(contraction, axes, op.window.groups)
    backend, is_tiled = backend_of(out, contraction, found), suits_window_tiles(contraction, found)
    if is_of_bytes(contraction) and not is_tiled:
        return False
    suits = suits_sliding(found, op.window, is_tiled and backend.is_cooperative)
    if suits and plan_sliding(out, op, shader, contraction.constants, found):
        return True
    return is_tiled and plan_window_tiles(out, contraction, found, backend)
