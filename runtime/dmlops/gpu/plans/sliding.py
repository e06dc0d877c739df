"""Folds over a sliding window: poolings, and direct convolutions that are small or have few rows per channel
group.

A thread computes a block of adjacent elements, whose windows overlap, and loads what they share once. Loops
over the window's last dimensions are unrolled; several threads may share its other taps, and the channels of
sums. Rows of weights that take the same elements share their loads, too. A cost rule chooses the block and
the number of these threads.

With fractional steps, blocks start where all of them leave the same remainder, so that an element meets the
same taps as the corresponding one in any other block.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import counted
from .definition_types import Definition, DefinitionShader, Frame
from .gemm_view import Matrices
from .loops import (
    COUNT_LIMIT,
    CommonConstants,
    Dimensions,
    Lists,
    Words,
    aligned_vector,
    ceil_div,
    element_count,
    extents,
    grid,
    in_digits,
    times,
)
from .operands import NONE, Eight
from .planning import Planning
from .polyphase import first_of, has_channels_first, is_divided
from .tensors import is_double

SLIDING_THREADS = 128  # NVIDIA H200: 64 at 0.98, 256 at 0.99
"threads in a group"
SLIDING_BUSY = 131072  # NVIDIA H200, fitted
"threads that saturate a GPU"
SLIDING_ELEMENTS = 16  # NVIDIA H200: 32 or 64 at 0.54 to 0.95
"rows times columns of a block, times channels loaded at once, at most, unless fractional steps require more"
SLIDING_UNROLLED = 128
"sums, taps and elements of a row that a thread has, at most: registers hold them, and loops are unrolled"
SLIDING_SHARES = 16  # NVIDIA H200: 8 at 0.6 to 1.0 with 32 channels or more, 32 at 0.5 to 1.5
"threads that share a block, at most"
BLOCK_COST = 64  # NVIDIA H200, fitted, like the costs that follow
"operations per block, beside those of its layers and stores"
LAYER_COST = 32
"operations per layer, beside its loads and folds"
WEIGHT_COST = 4
"operations per weight"
LOAD_COST = 4
"operations per load or store, beside one for each element between those that neighboring threads load"
HALF_RESIDENT = 20  # NVIDIA H200: without, 0.5 to 1.0
"elements of a block's channel whose registers halve the number of resident threads"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which a convolution slides windows although it has enough rows for tiles"


class WindowAxis(NamedTuple):
    """A window along one of its dimensions: its taps, the coordinate of the first one for element 0, how far
    the window moves per element (`step`), the distance between taps, the size of the tensor (`limit`) and its
    stride, and the number of elements. Coordinates on the tensor are those of the window divided by
    `divisor`."""

    taps: int
    first: int
    step: int
    tap: int
    limit: int
    stride: int
    divisor: int
    elements: int
    weightsStep: int
    countFirst: int
    "first and limit in the box whose taps are counted"
    countLimit: int


Axes = Annotated[list[WindowAxis], 8]


class Slide(NamedTuple):
    """The window along its dimensions, the `depth` of sums over channels, 0 if there are none, and the number
    of output elements.

    Neighboring threads follow the output's last dimension if `is_across`, else its channels, each of which
    has its own elements. Along it, `vector` elements of the tensor form aligned vectors, and `stored` of the
    output, which `is_packed` if words hold several of its elements. The channels of a block divide
    `channels`: those of a vector, or the rows of weights for the same elements.
    """

    axes: Axes
    depth: int
    outputs: int
    is_across: bool
    channels: int
    vector: int
    stored: int
    is_packed: bool


class Block(NamedTuple):
    """A thread's block: rows, columns and channels of elements, for which `loaded` channels of the tensor are
    loaded at once. Loops over the last `unrolled` dimensions of the window, `down` and `across`, are
    unrolled, and `shares` threads share its `layers`: sets of taps, for one channel, that differ only along
    these. `vector` elements of the tensor are loaded at once, after `lead` elements that precede those of the
    first window, and `stored` of the output stored. `cost` is that of all threads."""

    unrolled: int
    down: WindowAxis
    across: WindowAxis
    layers: int
    rows: int
    columns: int
    channels: int
    loaded: int
    shares: int
    vector: int
    lead: int
    stored: int
    cost: int


class SlidingParams(NamedTuple):
    windowAxes: Annotated[Axes, "WINDOW_RANK"]
    windowSizes: Annotated[Dimensions, "WINDOW_RANK + 1"]
    "the last one has the rows of a channel group"
    sizes: Annotated[Dimensions, "RANK"]
    "of the output, in blocks"
    lists: Lists
    "which fill two vectors each"
    activations: Annotated[list[int], 32]
    elements: Words
    "of two words each, which must not straddle vectors"
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "blocks"
    groupColumns: int
    "thread groups along x"
    layers: int
    "of a window, for all channels"
    weights: Words
    scalars: Words


def window_axes(op: Definition, shader: DefinitionShader) -> Axes:
    """The window along each of its dimensions: the definition's own, or that of a contraction."""
    window, sliding = op.factors.window, op.sliding
    sizes, frame = sliding.sizes, sliding.window
    if op.factors.applies:
        sizes, frame = window.sizes, Frame(window.right_first, window.right_steps, window.right_taps)
    tensor, output = op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    weights, is_counted = op.tensors[shader.sliding.weights], len(sliding.box) > 0
    axes: Axes = []
    for d, taps in enumerate(sizes):
        axes.append(
            WindowAxis(
                taps=taps,
                first=frame.first[d],
                step=frame.steps[d],
                tap=frame.taps[d],
                limit=tensor.sizes[d + 2],
                stride=tensor.strides[d + 2],
                divisor=window.right_divisors[d] if op.factors.applies else 1,
                elements=output.sizes[d + 2],
                weightsStep=window.left_taps[d] * weights.strides[d + 2] if op.factors.applies else 0,
                countFirst=sliding.counted[d] if is_counted else 0,
                countLimit=sliding.box[d] if is_counted else 0,
            )
        )
    return axes


def axis_words(out: Planning, axis: WindowAxis) -> WindowAxis:
    """The numbers as shaders take them, in 32 bits."""
    return axis._replace(
        taps=counted(out, axis.taps),
        first=counted(out, axis.first),
        step=counted(out, axis.step),
        tap=counted(out, axis.tap),
        weightsStep=axis.weightsStep % 2**32,
        countFirst=counted(out, axis.countFirst),
        countLimit=counted(out, axis.countLimit),
    )


def slide_of(op: Definition, shader: DefinitionShader, rows: int) -> Slide:
    """The window of a description, and what else decides how threads work on it. Neighbors follow the last
    dimension unless channels are closer, of which each has its own elements: those of channels-last tensors.
    A channel group has so many `rows` of weights, or there are none."""
    factors, tensor, output = op.factors, op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    is_own = not factors.applies or (factors.window.groups > 1 and max(rows, factors.depth) == 1)
    is_adjacent = output.sizes[1] > 1 and output.strides[1] == 1
    is_across = not is_own or not is_adjacent or tensor.strides[1] >= tensor.strides[-1]
    adjacent = len(output.sizes) - 1 if is_across else 1
    vector = aligned_vector(tensor, adjacent)
    return Slide(
        axes=window_axes(op, shader),
        depth=factors.depth if factors.applies else 0,
        outputs=element_count(output.sizes),
        is_across=is_across,
        channels=max(rows, 1) if is_across else vector,
        vector=vector,
        stored=aligned_vector(output, adjacent),
        is_packed=output.bits < 16,
    )


def rest(axis: WindowAxis) -> int:
    """The remainder at the first tap of the window for element 0."""
    return axis.first % axis.divisor


def alike(axis: WindowAxis) -> int:
    """The distance between elements that leave the same remainder."""
    return axis.divisor // gcd(axis.step, axis.divisor)


def reach(axis: WindowAxis, elements: int) -> int:
    """The extent that the windows of so many adjacent elements cover together."""
    return ((elements - 1) * axis.step + (axis.taps - 1) * axis.tap + rest(axis)) // axis.divisor + 1


def unrolled_axis(slide: Slide, from_end: int, unrolled: int) -> WindowAxis:
    """The window along one of its last dimensions, counted from 0; a single tap if that is not unrolled."""
    if from_end < unrolled:
        return slide.axes[len(slide.axes) - 1 - from_end]
    return WindowAxis(1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0)


def block_at(slide: Slide, unrolled: int, rows: int, columns: int, channels: int) -> Block:
    """A block of so many rows and columns that leave the same remainders."""
    down, across = unrolled_axis(slide, 1, unrolled), unrolled_axis(slide, 0, unrolled)
    layers = max(slide.depth, 1)
    for axis in slide.axes[: len(slide.axes) - unrolled]:
        layers = times(layers, axis.taps)
    rows, columns, loaded = rows * alike(down), columns * alike(across), 1 if slide.is_across else channels
    return Block(unrolled, down, across, layers, rows, columns, channels, loaded, 1, 1, 0, 1, 0)


def is_held(slide: Slide, block: Block) -> bool:
    """Whether registers can hold what a thread needs for a block: sums, taps, and elements of a row."""
    down, across, channels = block.down, block.across, block.channels
    if min(min(down.step, down.tap), min(across.step, across.tap)) < 1:
        return False
    if slide.channels % channels > 0 or (not slide.is_across and 1 < channels < slide.channels):
        return False
    if block.rows > max(down.elements, alike(down)) or block.columns > max(across.elements, alike(across)):
        return False
    if block.rows * block.columns * block.loaded > max(SLIDING_ELEMENTS, alike(down) * alike(across)):
        return False
    line = max(reach(across, block.columns), reach(down, block.rows))
    places = block.rows * block.columns + down.taps * across.taps
    return channels * places + block.loaded * line <= SLIDING_UNROLLED


def block_of(slide: Slide) -> Block:
    """The block of a thread with which all threads together take the least time."""
    most = min(len(slide.axes), 2)
    least = most if any(axis.divisor > 1 for axis in slide.axes) else 0
    best = priced(slide, block_at(slide, least, 1, 1, 1))
    for unrolled in range(least, 1 + most):
        for scale in range(48):  # to 4 times the rows, 8 times the columns, 4 channels
            block = block_at(slide, unrolled, 1 << scale % 3, 1 << scale // 3 % 4, 1 + scale // 12)
            if is_held(slide, block):
                block = priced(slide, block)
                if block.cost < best.cost:
                    best = block
    return best


def priced(slide: Slide, block: Block) -> Block:
    """The block with its vectors, with threads to share it, and with its cost: the operations of a thread,
    times the threads, unless these are too few to keep a GPU busy."""
    down, across, layers = block.down, block.across, block.layers
    vector, apart, stored, lead = block.loaded, block.loaded, gcd(slide.stored, block.channels), 0
    if slide.is_across:
        apart = block.columns * across.step // across.divisor if block.unrolled > 0 else 1
        vector = gcd(slide.vector, gcd(across.limit, apart))
        lead = (across.first - rest(across)) // across.divisor % vector
        stored = gcd(slide.stored, gcd(across.elements, block.columns))
    if slide.is_packed and stored < 4:
        stored = 1  # no two threads may write the same word at once
    blocks = slide.outputs // (down.elements * across.elements * block.channels)
    blocks = times(blocks, ceil_div(down.elements, block.rows) * ceil_div(across.elements, block.columns))
    shares = 1
    while 2 * shares <= min(SLIDING_SHARES, layers // 2) and times(blocks, shares) < SLIDING_BUSY:
        shares = 2 * shares
    elements = block.rows * block.columns * block.channels
    taps = ceil_div(down.taps, down.divisor) * ceil_div(across.taps, across.divisor)
    loads = reach(down, block.rows) * ceil_div((reach(across, block.columns) + lead) * block.loaded, vector)
    weights = WEIGHT_COST * block.channels * down.taps * across.taps if slide.depth > 0 else 0
    layer = LAYER_COST + weights + loads * (LOAD_COST + max(apart, vector)) + elements * taps
    work = BLOCK_COST + elements // stored * LOAD_COST + ceil_div(layers, shares) * layer
    cost = work * (HALF_RESIDENT + block.rows * block.columns) * max(times(blocks, shares), SLIDING_BUSY)
    return block._replace(shares=shares, vector=vector, lead=lead, stored=stored, cost=cost)


def is_slid(op: Definition, shader: DefinitionShader, axes: Axes) -> bool:
    """Whether the shader can slide the window of this description, which wants no other output."""
    factors, output = op.factors, op.tensors[shader.sliding.output]
    is_straight = len(axes) > 0 and not is_double(op.tensors) and len(axes) + 2 == len(output.sizes)
    for place, one in enumerate(op.tensors):
        is_other = place != shader.sliding.output and one.is_output and one.is_present
        is_straight = is_straight and not is_other
    if factors.applies:
        is_straight = is_straight and has_channels_first(factors, output) and factors.right[0] == 0
    return is_straight


def suits_sliding(op: Definition, shader: DefinitionShader, found: Matrices, least_rows: int) -> bool:
    """Whether a contraction has a window, and fewer rows than `least_rows`, from which tiles pay, such small
    channel groups that they make no tile, or so few products that tiles leave most of a GPU idle. Fractional
    steps require that all of the window is unrolled."""
    window = op.factors.window
    if not op.factors.applies or len(window.sizes) == 0:
        return False
    is_few = found.rows < least_rows
    is_narrow = window.groups > 1 and max(found.rows, op.factors.depth) <= SLIDING_CHANNELS
    if (is_few or is_narrow) and not is_divided(window):
        return True
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    axes = window_axes(op, shader)
    if not is_slid(op, shader, axes) or (not is_few and products > SLIDING_PRODUCTS):
        return False
    if any(axis.divisor > 1 for axis in axes[: max(len(axes) - 2, 0)]):
        return False
    slide = slide_of(op, shader, found.rows)
    return is_held(slide, block_at(slide, min(len(axes), 2), 1, 1, 1))


def weights_vector(slide: Slide, block: Block, words: Words, bits: int) -> int:
    """The weights to load at once: as many as a block has channels if those of all are adjacent."""
    down, across, taps = block.down, block.across, block.down.taps * block.across.taps
    are_adjacent = across.weightsStep == 1 and (down.taps == 1 or down.weightsStep == across.taps)
    are_adjacent = are_adjacent and words[1] == 0 and words[2] == taps and bits >= 16
    is_whole = block.layers == 1 and not slide.is_across
    return block.channels if are_adjacent and is_whole else 1  # NVIDIA H200: 1 at 0.83


def plan_sliding(
    out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants, found: Matrices
) -> bool:
    """One dispatch; False if windows do not fit. A contraction is `found` to be these matrices."""
    axes = window_axes(op, shader)
    if not is_slid(op, shader, axes):
        return False
    slide, output = slide_of(op, shader, found.rows), op.tensors[shader.sliding.output]
    block = block_of(slide)
    if block.layers >= COUNT_LIMIT // 2:
        return False
    if shader.contraction.number != NONE:
        out.write(out.scratch(8))
    out.share()

    counts: Eight = []
    for d, size in enumerate(output.sizes):
        rows = block.rows if d == len(axes) and d > 1 else 1
        columns = block.columns if d == len(axes) + 1 else 1
        counts.append(ceil_div(size, rows * columns * (block.channels if d == 1 else 1)))
    adjacent = len(axes) + 1 if slide.is_across else 1
    order: Eight = [d for d in range(len(counts)) if d != adjacent]
    order.append(adjacent)
    groups = grid(out, times(element_count(counts), block.shares), SLIDING_THREADS, 1)
    out.define("PASS", shader.sliding.number)
    out.define("NUM_THREADS", SLIDING_THREADS)
    out.define("DIMENSION_ORDER", in_digits(order))
    weights: Words = []
    if op.factors.applies:
        tensor, side = op.tensors[shader.sliding.weights], found.left
        row_step = side.steps[1] if found.rows > 1 else side.matrix  # that of a block's channels
        first = first_of(op.factors.window, tensor) % 2**32
        weights.extend([op.factors.depth, first, row_step, side.depth, side.matrix])
        out.define("WEIGHTS_VECTOR", weights_vector(slide, block, weights, tensor.bits))
    out.define("WINDOW_VECTOR", block.vector)
    out.define("OUTPUT_VECTOR", block.stored)
    out.define("UNROLLED", block.unrolled)
    out.define("BLOCK_ROWS", block.rows)
    out.define("BLOCK_COLUMNS", block.columns)
    out.define("BLOCK_CHANNELS", block.channels)
    out.define("SHARES", block.shares)
    out.define("WINDOW_HEIGHT", block.down.taps)
    out.define("WINDOW_WIDTH", block.across.taps)
    out.define("STEP_Y", block.down.step)
    out.define("STEP_X", block.across.step)
    out.define("TAP_Y", block.down.tap)
    out.define("TAP_X", block.across.tap)
    out.define("DIVISOR_Y", block.down.divisor)
    out.define("DIVISOR_X", block.across.divisor)
    out.define("REST_Y", rest(block.down))
    out.define("REST_X", rest(block.across))
    out.define("LEAD", block.lead)
    sizes: Eight = [axis.taps for axis in axes]
    sizes.append(max(found.rows, 1))
    params = SlidingParams(
        [axis_words(out, axis) for axis in axes],
        extents(sizes),
        extents(counts),
        known.lists,
        known.activations,
        known.elements,
        element_count(counts),
        groups.columns,
        block.layers,
        weights,
        known.scalars,
    )
    out.dispatch(params, groups, False)
    return True
