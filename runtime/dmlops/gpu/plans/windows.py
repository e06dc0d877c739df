"""Windows of convolutions and poolings.

With fractional steps, as in transposed convolutions, the output has phases, each with its own window: the
coordinate of a tap is a quotient, and taps that leave a remainder contribute nothing. Output elements
whose coordinates are congruent modulo the divisors form a phase: they meet the same taps, which are as far
apart as the divisor along each dimension.
"""

from __future__ import annotations

from typing import Annotated

from .common_bindings import eight
from .gemm_view import Factors, Window
from .loops import ceil_div, element_count, times
from .operands import Eight, Sizes, Tensor
from .planning import Planning

WindowWords = Annotated[list[int], 96]

MOST_PLACES = 16  # times a window's taps: scratch has room, for each phase, for the most that any meets


def is_divided(window: Window) -> bool:
    """Whether there is more than one phase."""
    return any(divisor > 1 for divisor in window.right_divisors)


def has_phases(window: Window, output: Tensor) -> bool:
    """Whether phases are worth it: neighbors within a phase, and the taps that it meets, are also neighbors
    on the right factor, no phase is empty, and few phases meet no tap at all."""
    places = times(element_count(window.right_divisors), most_places(window))
    found = places <= MOST_PLACES * element_count(window.sizes)
    for d, divisor in enumerate(window.right_divisors):
        is_next = window.right_steps[d] == 1 and window.right_taps[d] == 1
        found = found and (divisor == 1 or (is_next and divisor <= output.sizes[window.axes[d]]))
    return found


def is_pointwise(window: Window, d: int) -> bool:
    """Whether each output element meets exactly one tap along a dimension, at the coordinate on the right
    factor that the element has within its phase."""
    first = window.right_first[d]
    last = first + (window.sizes[d] - 1) * window.right_taps[d]
    is_single = window.sizes[d] == window.right_divisors[d]
    return is_single and max(first, last) == 0 and min(first, last) == 1 - window.sizes[d]


def most_places(window: Window) -> int:
    """The most taps that any phase meets."""
    places: Eight = [ceil_div(size, window.right_divisors[d]) for d, size in enumerate(window.sizes)]
    return element_count(places)


def row_dimension(factors: Factors, output: Tensor) -> int:
    """The left factor's dimension of rows, 0 or 1; the other one has the channels."""
    return 1 if factors.left[0] == len(output.sizes) else 0


def has_channels_first(factors: Factors, output: Tensor) -> bool:
    """Whether dimension 1 of the output has the rows, and the window moves over all those after it."""
    found = factors.left[row_dimension(factors, output)] == 1
    found = found and len(factors.window.sizes) == len(output.sizes) - 2
    for d, axis in enumerate(factors.window.axes):
        found = found and axis == d + 2
    return found


def first_of(window: Window, tensor: Tensor) -> int:
    """The left factor's offset at the first tap."""
    first = 0
    for d, coordinate in enumerate(window.left_first):
        first += coordinate * tensor.strides[len(tensor.strides) - len(window.sizes) + d]
    return first


def window_words(out: Planning, window: Window, left: Tensor, right: Tensor, strides: Sizes) -> WindowWords:
    """A window on the right factor, or on the tensor of a pooling, as lists of words: its sizes, first
    coordinates, steps, taps, limits, strides there, and divisors; then its strides on the left factor."""
    words: WindowWords = []
    left_steps: Eight = [tap * left.strides[2 + d] for d, tap in enumerate(window.left_taps)]
    lists: Annotated[list[Sizes], 16] = [
        window.sizes,
        window.right_first,
        window.right_steps,
        window.right_taps,
        right.sizes[2:],
        strides,
        window.right_divisors,
        left_steps,
    ]
    for entries in lists:
        words.extend(eight(out, entries))
    return words


def upright(window: Window) -> Window:
    """The window with its taps in the order of their positions on the right factor."""
    left_first: Eight = []
    left_taps: Eight = []
    first: Eight = []
    for d, tap in enumerate(window.right_taps):
        skipped = window.sizes[d] - 1 if tap < 0 else 0  # taps, so that the last one comes first
        first.append(window.right_first[d] + skipped * tap)
        left_first.append(window.left_first[d] + skipped * window.left_taps[d])
        left_taps.append(-window.left_taps[d] if tap < 0 else window.left_taps[d])
    taps: Eight = [abs(tap) for tap in window.right_taps]
    return window._replace(left_first=left_first, left_taps=left_taps, right_first=first, right_taps=taps)
