"""Windows of convolutions and poolings.

With fractional steps, as in transposed convolutions, the output has phases, each with its own window: the
coordinate of a tap is a quotient, and taps that leave a remainder contribute nothing. Output elements
whose coordinates are congruent modulo the divisors form a phase: they meet the same taps, which are as far
apart as the divisor along each dimension.
"""

from __future__ import annotations

from .common_bindings import counted
from .definition_types import Window
from .gemm_view import WindowAxes, WindowAxis
from .operands import Tensor
from .planning import Planning


def window_axes(out: Planning, window: Window, weights: Tensor, tensor: Tensor, output: Tensor) -> WindowAxes:
    """The window with its taps in the order of their positions on the tensor: a backward convolution with
    steps of 1 becomes a forward one. Poolings have no divisors, and no weights."""
    axes: WindowAxes = []
    for d, taps in enumerate(window.sizes):
        tap, divisor, weights_first, weights_step = window.right_taps[d], 1, 0, 0
        skipped = taps - 1 if tap < 0 else 0  # so that the last one comes first
        if len(window.right_divisors) > 0:
            divisor = window.right_divisors[d]
            weights_step = window.left_taps[d] * weights.strides[2 + d]
            weights_first = window.left_first[d] * weights.strides[2 + d] + skipped * weights_step
        axes.append(
            WindowAxis(
                counted(out, taps),
                window.right_first[d] + skipped * tap,
                counted(out, window.right_steps[d]),
                counted(out, abs(tap)),
                divisor,
                tensor.sizes[2 + d],
                tensor.strides[2 + d],
                weights_first % 2**32,
                (-weights_step if tap < 0 else weights_step) % 2**32,
                output.sizes[2 + d],
            )
        )
    return axes


def in_words(out: Planning, axes: WindowAxes) -> WindowAxes:
    """The axes as shaders take them."""
    return [axis._replace(first=counted(out, axis.first)) for axis in axes]
