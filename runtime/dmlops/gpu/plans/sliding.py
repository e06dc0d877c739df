"""Folds over a sliding window: poolings, and direct convolutions that are small or have few rows per channel
group.

A thread computes a block of elements, whose windows overlap, and loads what they share once. Loops over the
window's last dimensions are unrolled; several threads may share its other taps, and the channels of sums.
Rows of weights that take the same elements share their loads, too. Blocks are large, unless there would be
too few threads.

With fractional steps, as in transposed convolutions, the output has phases, each with its own window: the
coordinate of a tap is a quotient, and taps that leave a remainder contribute nothing. Output elements whose
coordinates are congruent modulo the divisors form a phase: they meet the same taps, which are as far apart as
the divisor along each dimension. The elements of a block belong to one phase.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import counted
from .definition_types import Definition, DefinitionShader, Window
from .gemm_view import Matrices, WindowAxes, WindowAxis, no_matrices
from .loops import (
    COUNT_LIMIT,
    CommonConstants,
    Dimensions,
    aligned_vector,
    ceil_div,
    element_count,
    extents,
    grid,
    in_digits,
    power_below,
    times,
)
from .operands import NONE, Eight, Sizes, Tensor
from .planning import Planning
from .tensors import is_double

SLIDING_THREADS = 128  # NVIDIA H200: 64 at 0.98, 256 at 0.99
"threads in a group"
SLIDING_BUSY = 98304
"threads that saturate a GPU; with fewer, blocks are smaller, or shared"
SLIDING_SHARES = 16  # NVIDIA H200: 8 at 0.6 to 1.0 with 32 channels or more, 32 at 0.5 to 1.5
"threads that share a block, at most"
SLIDING_ROWS = 4
"rows of a block, at most; with more than two channels, half as many"
SLIDING_COLUMNS = 2  # NVIDIA H200: 4 at 0.6 without vectors
"columns of a block, if the vectors that are loaded do not have more; of a single row, twice as many"
SLIDING_UNROLLED = 128
"sums, taps and elements of a row that a thread has, at most: registers hold them, and loops are unrolled"


class Slide(NamedTuple):
    """The window along its dimensions, with the taps that an element meets; the channels of sums (`depth`, 1
    if there is none), and the images, channels and elements of the output.

    Neighboring threads follow the output's last dimension if `is_across`, else its channels, each of which
    has its own elements. Along it, `vector` elements of the tensor form aligned vectors. A block has up to so
    many `channels`: those of a vector, or the rows of weights for the same elements.
    """

    axes: WindowAxes
    depth: int
    sizes: Sizes
    is_across: bool
    channels: int
    vector: int


class Block(NamedTuple):
    """A thread's block: rows, columns and channels of elements, of which there are `counts` along the
    dimensions of the output. Loops over the last `unrolled` dimensions of the window, `down` and `across`,
    are unrolled, and `shares` threads share its `layers`: sets of taps, for one channel, that differ only
    along these. `threads` are busy in all."""

    unrolled: int
    down: WindowAxis
    across: WindowAxis
    layers: int
    rows: int
    columns: int
    channels: int
    counts: Eight
    shares: int
    threads: int


class SlidingParams(NamedTuple):
    layerSizes: Annotated[Dimensions, "WINDOW_RANK + 1"]
    "taps that an element meets; the last one has the rows of a channel group"
    sizes: Annotated[Dimensions, "RANK"]
    "of the output, in blocks"
    windowAxes: Annotated[WindowAxes, "WINDOW_RANK"]
    known: CommonConstants
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "blocks"
    groupColumns: int
    "thread groups along x"
    layers: int
    "of a window, for all channels"
    channels: int
    "of a group; none without weights"
    weightsRowStep: int
    weightsChannelStep: int
    weightsGroupStep: int


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


def slide_of(op: Definition, shader: DefinitionShader, axes: WindowAxes, rows: int) -> Slide:
    """The window of a description, and what else decides how threads work on it. Neighbors follow the last
    dimension unless channels are closer, of which each has its own elements: those of channels-last tensors.
    A channel group has `rows` rows of weights. Bytes come with zero points, of which a block has one."""
    factors, tensor, output = op.factors, op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    is_weighted = shader.contraction.number != NONE
    is_own = not is_weighted or (op.window.groups > 1 and max(rows, factors.depth) == 1)
    is_adjacent = output.sizes[1] > 1 and output.strides[1] == 1
    is_across = not is_own or not is_adjacent or tensor.strides[1] >= tensor.strides[-1]
    vector = aligned_vector(tensor, len(output.sizes) - 1 if is_across else 1)
    channels = max(gcd(rows, 3), gcd(rows, 4)) if is_across else vector
    return Slide(
        [axis._replace(taps=ceil_div(axis.taps, axis.divisor)) for axis in axes],
        depth=max(factors.depth, 1),
        sizes=output.sizes,
        is_across=is_across,
        channels=channels if tensor.bits >= 16 else 1,
        vector=vector,
    )


def is_held(block: Block) -> bool:
    """Whether registers can hold what a thread needs for a block: sums, taps, and elements of a row."""
    down, across = block.down, block.across
    columns = (block.columns - 1) * across.step + (across.taps - 1) * across.tap
    rows = (block.rows - 1) * down.step + (down.taps - 1) * down.tap
    places = block.channels * (block.rows * block.columns + down.taps * across.taps)
    return min(down.tap, across.tap) > 0 and places + max(rows, columns) < SLIDING_UNROLLED


def unrolled_axis(slide: Slide, from_end: int, unrolled: int) -> WindowAxis:
    """The window along one of its last dimensions, counted from 0; a single tap if that is not unrolled."""
    if from_end < unrolled:
        return slide.axes[len(slide.axes) - 1 - from_end]
    return WindowAxis(1, 0, 1, 1, 1, 1, 0, 0, 0, 1)


def block_at(slide: Slide, unrolled: int) -> Block:
    """The largest block of which there are enough, with threads to share it."""
    down, across = unrolled_axis(slide, 1, unrolled), unrolled_axis(slide, 0, unrolled)
    layers, channels = slide.depth, slide.channels
    for axis in slide.axes[: len(slide.axes) - unrolled]:
        layers = times(layers, axis.taps)
    most = max(min(SLIDING_SHARES, layers // 2), 1)
    each = times(element_count(slide.sizes), most) // SLIDING_BUSY  # elements of a thread

    columns = SLIDING_COLUMNS
    if slide.is_across and across.divisor == 1:  # NVIDIA H200: vectors in phases at 0.76
        columns = max(slide.vector, SLIDING_COLUMNS) // across.step
    columns = columns if down.elements > 1 else 2 * columns
    columns = power_below(min(each, across.elements // across.divisor), max(columns, 1))
    if slide.is_across and each < columns * channels:
        channels = 1
    rows = 2 * SLIDING_ROWS // max(channels, 2)
    if not slide.is_across:  # NVIDIA H200: with steps of 2, two rows at 0.93
        rows = max(rows // down.step, 1)
    rows = power_below(min(each // (columns * channels), down.elements // down.divisor), rows)
    counts: Eight = [slide.sizes[0], ceil_div(slide.sizes[1], channels)]
    for d, axis in enumerate(slide.axes):
        from_end = len(slide.axes) - 1 - d
        elements = columns if from_end == 0 else rows if from_end == 1 else 1
        counts.append(ceil_div(ceil_div(axis.elements, axis.divisor), elements) * axis.divisor)
    blocks = element_count(counts)
    shares = power_below(2 * ceil_div(SLIDING_BUSY, blocks) - 1, most)
    threads = min(times(blocks, shares), SLIDING_BUSY)
    return Block(unrolled, down, across, layers, rows, columns, channels, counts, shares, threads)


def block_of(slide: Slide) -> Block:
    """The block with which most threads are busy, and of these the one with the most loops unrolled."""
    best = block_at(slide, 0)
    for unrolled in range(1, 1 + min(len(slide.axes), 2)):
        block = block_at(slide, unrolled)
        if block.threads >= best.threads and is_held(block):
            best = block
    return best


def is_slid(op: Definition, shader: DefinitionShader, axes: WindowAxes) -> bool:
    """Whether the shader can slide the window of this description, which wants no other output. Phases are
    along Y and X, and their taps neighbors on the tensor."""
    found = not is_double(op.tensors)
    for place, one in enumerate(op.tensors):
        found = found and (place == shader.sliding.output or not one.is_output or not one.is_present)
    for d, axis in enumerate(axes):
        is_next = max(axis.step, axis.tap) == 1 and d + 2 >= len(axes)
        found = found and (axis.divisor == 1 or is_next)
    return found


def weights_vector(slide: Slide, block: Block, axes: WindowAxes, bits: int, row_step: int) -> int:
    """The weights, of so many bits, to load at once: as many as a block has channels if those of all are
    adjacent."""
    run = 1
    is_whole = block.layers == 1 and not slide.is_across and bits >= 16
    for place in range(len(axes)):
        axis = axes[len(axes) - 1 - place]
        is_whole = is_whole and axis.weightsFirst == 0 and (axis.taps == 1 or axis.weightsStep == run)
        run *= axis.taps
    return block.channels if is_whole and row_step == run else 1  # NVIDIA H200: 1 at 0.83


def plan_pooling(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> bool:
    """One dispatch; False if the window does not slide."""
    tensor, output = op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    axes = window_axes(out, op.window, tensor, tensor, output)
    return plan_sliding(out, op, shader, known, no_matrices(axes))


def plan_sliding(
    out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants, found: Matrices
) -> bool:
    """One dispatch; False if the window does not slide. A contraction is `found` to be these matrices."""
    axes = found.axes
    if not is_slid(op, shader, axes):
        return False
    tensor, output = op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    slide = slide_of(op, shader, axes, found.rows)
    block = block_of(slide)
    down, across = block.down, block.across
    is_weighted = shader.contraction.number != NONE
    if block.layers >= COUNT_LIMIT // 2:
        return False
    if is_weighted:
        out.write(out.scratch(8))
    out.share()

    adjacent = len(axes) + 1 if slide.is_across else 1
    vector, stored, lead = block.channels, gcd(aligned_vector(output, adjacent), block.channels), 0
    if slide.is_across:
        columns = block.columns if across.divisor == 1 else 1  # of a phase, they are apart
        vector = gcd(slide.vector, columns * across.step) if tensor.bits >= 16 else 1
        stored = gcd(aligned_vector(output, adjacent), columns)
        lead = axes[-1].first % vector
    if output.bits < 16 and stored < 4:
        stored = 1  # no two threads may write the same word at once
    order: Eight = [d for d in range(len(axes) + 2) if d != adjacent]
    order.append(adjacent)
    blocks = element_count(block.counts)
    groups = grid(out, times(blocks, block.shares), SLIDING_THREADS, 1)
    out.define("PASS", shader.sliding.number)
    out.define("NUM_THREADS", SLIDING_THREADS)
    out.define("DIMENSION_ORDER", in_digits(order))
    side = found.left
    row_step = side.steps[1] if found.rows > 1 else side.matrix  # that of a block's channels
    if is_weighted:
        bits = op.tensors[shader.sliding.weights].bits
        out.define("WEIGHTS_VECTOR", weights_vector(slide, block, axes, bits, row_step))
        out.define("PHASES_Y", axes[max(len(axes) - 2, 0)].divisor)
        out.define("PHASES_X", axes[-1].divisor)
    out.define("WINDOW_VECTOR", vector)
    out.define("OUTPUT_VECTOR", stored)
    out.define("UNROLLED", block.unrolled)
    out.define("BLOCK_ROWS", block.rows)
    out.define("BLOCK_COLUMNS", block.columns)
    out.define("BLOCK_CHANNELS", block.channels)
    out.define("SHARES", block.shares)
    out.define("WINDOW_HEIGHT", down.taps)
    out.define("WINDOW_WIDTH", across.taps)
    out.define("STEP_Y", down.step)
    out.define("STEP_X", across.step)
    out.define("TAP_Y", down.tap)
    out.define("TAP_X", across.tap)
    out.define("LEAD", lead)
    sizes: Eight = [axis.taps for axis in slide.axes]
    sizes.append(max(found.rows, 1))
    params = SlidingParams(
        extents(sizes),
        extents(block.counts),
        in_words(out, axes),
        known,
        blocks,
        groups.columns,
        block.layers,
        op.factors.depth,
        row_step,
        side.depth,
        side.matrix,
    )
    out.dispatch(params, groups, False)
    return True
