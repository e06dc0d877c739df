"""Folds over a sliding window: poolings, and direct convolutions that are small or have few rows per channel
group.

A thread computes a block of adjacent elements, whose windows overlap, and loads what they share once. Loops
over the window's last dimensions are unrolled; several threads may share its other taps, and the channels of
sums. A cost rule chooses the block and the number of these threads.

With fractional steps, blocks start where all of them leave the same remainder, so that an element meets the
same taps as the corresponding one in any other block.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import counted
from .definition_types import Definition, DefinitionShader, Frame, Sliding
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
    times,
)
from .operands import NONE, Eight
from .planning import Planning
from .polyphase import is_divided, row_dimension

SLIDING_THREADS = 128  # NVIDIA H200: 64 at 0.98, 256 at 0.99
"threads in a group"
SLIDING_BUSY = 131072  # NVIDIA H200, fitted
"threads that saturate a GPU"
SLIDING_ELEMENTS = 16  # NVIDIA H200: 32 or 64 at 0.54 to 0.95
"elements of a block, at most, unless fractional steps require more"
SLIDING_UNROLLED = 128
"sums, taps and elements of a row that a thread has, at most: registers hold them, and loops are unrolled"
SLIDING_SHARES = 16  # NVIDIA H200: 8 at 0.6 to 1.0 with 32 channels or more, 32 at 0.5 to 1.5
"threads that share a block, at most"
BLOCK_COST = 64  # NVIDIA H200, fitted, like the costs that follow
"operations per block, beside those of its layers and stores"
LAYER_COST = 32
"operations per layer, beside its loads and folds"
LOAD_COST = 4
"operations per load or store, beside one for each element between those that neighboring threads load"
HALF_RESIDENT = 28  # NVIDIA H200: without, 0.5 to 1.0
"elements of a block whose registers halve the number of resident threads"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which a convolution slides windows although it has enough rows for tiles"

ROW_AXIS = 1
"""The output's dimension of the rows of weights."""


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
    of output elements. Threads may share windows unless other outputs want the place of an element
    (`is_shared`).

    Neighboring threads follow dimension `adjacent` of the output: the last one, if `is_across`, or one that
    the window does not move along, of which a thread takes up to `channels` elements. Along it, `vector`
    elements of the tensor form aligned vectors, and `stored` of the output, which `is_packed` if words hold
    several of its elements.
    """

    axes: Axes
    depth: int
    outputs: int
    is_shared: bool
    adjacent: int
    is_across: bool
    channels: int
    vector: int
    stored: int
    is_packed: bool


class Block(NamedTuple):
    """A thread's block: rows, columns and channels of elements. Loops over the last `unrolled` dimensions of
    the window are unrolled, and `shares` threads share its other dimensions. `vector` elements of the tensor
    are loaded at once, and `stored` of the output stored. `cost` is that of all threads."""

    unrolled: int
    rows: int
    columns: int
    channels: int
    shares: int
    vector: int
    stored: int
    cost: int


class SlidingParams(NamedTuple):
    windowAxes: Annotated[Axes, "WINDOW_RANK"]
    windowSizes: Annotated[Dimensions, "WINDOW_RANK"]
    blocks: Annotated[Dimensions, "RANK"]
    "along the dimensions of the output"
    lists: Lists
    "which fill two vectors each"
    activations: Annotated[list[int], 32]
    elements: Words
    "of two words each, which must not straddle vectors"
    groupColumns: int
    "thread groups along x"
    layers: int
    "of a window, for all channels"
    weights: Words
    scalars: Words


def sliding_of(op: Definition) -> Sliding:
    """The window: the definition's own, or that of a contraction."""
    window = op.factors.window
    if len(window.sizes) == 0:
        return op.sliding
    frame = Frame(window.right_first, window.right_steps, window.right_taps)
    return Sliding(window.sizes, frame, op.sliding.counted, op.sliding.box)


def window_axes(op: Definition, shader: DefinitionShader) -> Axes:
    """The window along each of its dimensions."""
    sliding, window = sliding_of(op), op.factors.window
    tensor, output = op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    frame = sliding.window
    is_weighted, is_counted = len(window.sizes) > 0, len(sliding.box) > 0
    axes: Axes = []
    for d, taps in enumerate(sliding.sizes):
        first = frame.first[d]
        axes.append(
            WindowAxis(
                taps=taps,
                first=first,
                step=frame.steps[d] - first,
                tap=frame.taps[d] - first,
                limit=tensor.sizes[d + 2],
                stride=tensor.strides[d + 2],
                divisor=window.right_divisors[d] if is_weighted else 1,
                elements=output.sizes[d + 2],
                weightsStep=weights_step(op, shader, d) if is_weighted else 0,
                countFirst=sliding.counted.first[d] if is_counted else 0,
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


def weights_step(op: Definition, shader: DefinitionShader, d: int) -> int:
    """The stride of weights along a dimension of the window."""
    window, weights = op.factors.window, op.tensors[shader.sliding.weights]
    stride = weights.strides[len(weights.strides) - len(window.sizes) + d]
    return (window.left_taps[d] - window.left_first[d]) * stride


def slide_of(op: Definition, shader: DefinitionShader) -> Slide:
    """The window of a description, and what else decides how threads work on it. Neighbors follow the last
    dimension unless elements are closer along another one that the window does not move along: the channels
    of channels-last tensors."""
    factors, tensor = op.factors, op.tensors[shader.sliding.tensor]
    output = op.tensors[shader.sliding.output]
    last = len(output.sizes) - 1
    groups = max(factors.window.groups, 1)
    adjacent, channels = last, 1
    vector = aligned_vector(tensor, last)
    for d in range(2):
        is_summed = factors.applies and d == 1  # channels are, but groups of them follow the rows
        is_output = output.sizes[d] > 1 and output.strides[d] == 1 and (groups > 1 or not is_summed)
        if adjacent == last and is_output and tensor.strides[d] < tensor.strides[-1]:
            is_own = not is_summed or (output.sizes[ROW_AXIS] == groups and factors.depth == 1)
            adjacent, vector = d, aligned_vector(tensor, d)
            channels = vector if is_own else 1
    return Slide(
        axes=window_axes(op, shader),
        depth=factors.depth if factors.applies else 0,
        outputs=element_count(output.sizes),
        is_shared=factors.applies or not has_others(op, shader),
        adjacent=adjacent,
        is_across=adjacent == last,
        channels=channels,
        vector=vector,
        stored=aligned_vector(output, adjacent),
        is_packed=output.bits < 16,
    )


def has_others(op: Definition, shader: DefinitionShader) -> bool:
    """Whether other outputs are wanted, too."""
    wanted = shader.sliding.output
    return any(place != wanted and one.is_output and one.is_present for place, one in enumerate(op.tensors))


def unrolled_axis(slide: Slide, from_end: int, unrolled: int) -> WindowAxis:
    """The window along one of its last dimensions, counted from 0; a single tap if that is not unrolled."""
    if from_end < unrolled:
        return slide.axes[len(slide.axes) - 1 - from_end]
    return WindowAxis(1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0)


def layers_of(slide: Slide, unrolled: int) -> int:
    """The number of layers of a window: sets of taps, for one channel, that differ only along the unrolled
    dimensions."""
    layers = max(slide.depth, 1)
    for axis in slide.axes[: len(slide.axes) - unrolled]:
        layers = times(layers, axis.taps)
    return layers


def rest(axis: WindowAxis) -> int:
    """The remainder at the first tap of the window for element 0."""
    return axis.first % axis.divisor


def alike(axis: WindowAxis) -> int:
    """The distance between elements that leave the same remainder."""
    return axis.divisor // gcd(axis.step, axis.divisor)


def reach(axis: WindowAxis, elements: int) -> int:
    """The extent that the windows of so many adjacent elements cover together."""
    return ((elements - 1) * axis.step + (axis.taps - 1) * axis.tap + rest(axis)) // axis.divisor + 1


def lead(axis: WindowAxis, vector: int) -> int:
    """The elements in a row's first vector that precede those of the first window."""
    return (axis.first - rest(axis)) // axis.divisor % vector


def block_of(slide: Slide) -> Block:
    """The block of a thread with which all threads together take the least time."""
    best = priced(slide, Block(0, 1, 1, 1, 1, 1, 1, 0))
    for unrolled in range(1 + min(len(slide.axes), 2)):
        down, across = unrolled_axis(slide, 1, unrolled), unrolled_axis(slide, 0, unrolled)
        for scale in range(24):  # to 4 times the rows, 8 times the columns
            rows, columns = alike(down) << (scale % 3), alike(across) << (scale // 3 % 4)
            channels = slide.channels if scale < 12 else 1
            is_useful = rows <= max(down.elements, alike(down))
            is_useful = is_useful and columns <= max(across.elements, alike(across))
            if is_useful and is_unrolled(slide, unrolled, rows, columns, channels):
                block = priced(slide, Block(unrolled, rows, columns, channels, 1, 1, 1, 0))
                if block.cost < best.cost:
                    best = block
    return best


def is_unrolled(slide: Slide, unrolled: int, rows: int, columns: int, channels: int) -> bool:
    """Whether registers can hold what a thread needs for such a block."""
    down, across = unrolled_axis(slide, 1, unrolled), unrolled_axis(slide, 0, unrolled)
    if min(min(down.step, down.tap), min(across.step, across.tap)) < 1:
        return False
    if rows * columns * channels > max(SLIDING_ELEMENTS, alike(down) * alike(across)):
        return False
    line = max(reach(across, columns), reach(down, rows))
    return channels * (rows * columns + down.taps * across.taps + line) <= SLIDING_UNROLLED


def priced(slide: Slide, block: Block) -> Block:
    """The block with its vectors, with threads to share it, and with its cost: the operations of a thread,
    times the threads, unless these are too few to keep a GPU busy."""
    down, across = unrolled_axis(slide, 1, block.unrolled), unrolled_axis(slide, 0, block.unrolled)
    apart = block.columns * across.step // across.divisor if block.unrolled > 0 else 1
    vector, stored = block.channels, gcd(slide.stored, block.channels)
    if slide.is_across:
        vector = gcd(slide.vector, gcd(across.limit, apart))
        stored = gcd(slide.stored, gcd(across.elements, block.columns))
    if slide.is_packed and stored < 4:
        stored = 1  # no two threads may write the same word at once
    blocks = slide.outputs // (down.elements * across.elements * block.channels)
    blocks = times(blocks, ceil_div(down.elements, block.rows) * ceil_div(across.elements, block.columns))
    layers, shares = layers_of(slide, block.unrolled), 1
    most = min(SLIDING_SHARES, layers // 2) if slide.is_shared else 1
    while 2 * shares <= most and times(blocks, shares) < SLIDING_BUSY:
        shares = 2 * shares
    elements = block.rows * block.columns
    taps = ceil_div(down.taps, down.divisor) * ceil_div(across.taps, across.divisor)
    line = reach(across, block.columns) + (lead(across, vector) if slide.is_across else 0)
    loads = reach(down, block.rows) * ceil_div(line * block.channels, vector)
    layer = LAYER_COST + loads * (LOAD_COST + max(apart, vector)) + elements * taps * block.channels
    work = BLOCK_COST + elements * block.channels // stored * LOAD_COST + ceil_div(layers, shares) * layer
    cost = work * (HALF_RESIDENT + elements) * max(times(blocks, shares), SLIDING_BUSY)
    return block._replace(shares=shares, vector=vector, stored=stored, cost=cost)


def is_slid(op: Definition, shader: DefinitionShader) -> bool:
    """Whether the shader can slide the window of this description."""
    sliding, factors = sliding_of(op), op.factors
    output = op.tensors[shader.sliding.output]
    is_straight = len(sliding.sizes) > 0 and not op.is_double and len(sliding.sizes) + 2 == len(output.sizes)
    if factors.applies:
        is_straight = is_straight and factors.left[row_dimension(factors, output)] == ROW_AXIS
        is_straight = is_straight and factors.right[0] == 0
        for d, axis in enumerate(factors.window.axes):
            is_straight = is_straight and axis == d + 2
    frame, counted = sliding.window, sliding.counted
    for d, first in enumerate(counted.first):  # taps move apart, alike in the box in which they are counted
        step, tap = frame.steps[d] - frame.first[d], frame.taps[d] - frame.first[d]
        is_straight = is_straight and tap > 0 and counted.taps[d] - first == tap
        is_straight = is_straight and counted.steps[d] - first == step
    return is_straight


def suits_sliding(op: Definition, shader: DefinitionShader, found: Matrices, least_rows: int) -> bool:
    """Whether a contraction has a window, and fewer rows than `least_rows`, from which tiles pay, such small
    channel groups that they make no tile, or so few products that tiles leave most of a GPU idle. Fractional
    steps require that all of the window is unrolled, bytes what tiles do."""
    window = op.factors.window
    if not op.factors.applies or len(window.sizes) == 0:
        return False
    is_few = found.rows < least_rows
    is_narrow = window.groups > 1 and max(found.rows, op.factors.depth) <= SLIDING_CHANNELS
    if (is_few or is_narrow) and not is_divided(window):
        return True
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    if not is_slid(op, shader) or (not is_few and products > SLIDING_PRODUCTS):
        return False
    slide, unrolled = slide_of(op, shader), min(len(window.sizes), 2)
    down, across = unrolled_axis(slide, 1, unrolled), unrolled_axis(slide, 0, unrolled)
    return is_unrolled(slide, unrolled, alike(down), alike(across), 1)


def weights_words(op: Definition, shader: DefinitionShader) -> Words:
    """The addressing of weights, apart from their steps along the window, in the order of the shader's
    constants; empty if there are none."""
    words: Words = []
    if shader.sliding.weights == NONE:
        return words
    factors, weights = op.factors, op.tensors[shader.sliding.weights]
    output = op.tensors[shader.sliding.output]
    groups, counts_rows = max(factors.window.groups, 1), row_dimension(factors, output)
    first = 0
    for d, place in enumerate(factors.window.left_first):
        first += place * weights.strides[len(weights.strides) - len(factors.window.sizes) + d]
    words.append(factors.depth)
    words.append(max(output.sizes[ROW_AXIS] // groups, 1))
    words.append(first % 2**32)
    words.append(weights.strides[counts_rows])
    words.append(weights.strides[1 - counts_rows])
    words.append(weights.sizes[0] // groups * weights.strides[0])
    return words


def are_adjacent(op: Definition, shader: DefinitionShader, axes: Axes) -> bool:
    """Whether the taps of each group follow those of the group before, in the order of the window."""
    weights, inner = op.tensors[shader.sliding.weights], 1
    found = weights.bits >= 16
    for first in op.factors.window.left_first:
        found = found and first == 0
    for from_end in range(len(axes)):
        axis = axes[len(axes) - 1 - from_end]
        found = found and axis.weightsStep == inner
        inner = inner * axis.taps
    return found and weights.strides[0] == inner


def define_axes(out: Planning, down: WindowAxis, across: WindowAxis) -> None:
    """The macros of the unrolled dimensions."""
    out.define("WINDOW_HEIGHT", down.taps)
    out.define("WINDOW_WIDTH", across.taps)
    out.define("STEP_Y", down.step)
    out.define("STEP_X", across.step)
    out.define("TAP_Y", down.tap)
    out.define("TAP_X", across.tap)
    out.define("DIVISOR_Y", down.divisor)
    out.define("DIVISOR_X", across.divisor)
    out.define("REST_Y", rest(down))
    out.define("REST_X", rest(across))


def plan_sliding(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> bool:
    """One dispatch; False if windows do not fit."""
    if not is_slid(op, shader):
        return False
    slide, output = slide_of(op, shader), op.tensors[shader.sliding.output]
    block = block_of(slide)
    layers = layers_of(slide, block.unrolled)
    if layers >= COUNT_LIMIT // 2:
        return False
    if shader.contraction.number != NONE:
        out.write(out.scratch(8))
    out.share()

    axes = slide.axes
    down, across = unrolled_axis(slide, 1, block.unrolled), unrolled_axis(slide, 0, block.unrolled)
    counts: Eight = []
    for d, size in enumerate(output.sizes):
        rows = block.rows if d == len(axes) and d > 1 else 1
        columns = block.columns if d == len(axes) + 1 else 1
        channels = block.channels if d == slide.adjacent else 1
        counts.append(ceil_div(size, rows * columns * channels))
    groups = grid(out, times(element_count(counts), block.shares), SLIDING_THREADS, 1)
    out.define("PASS", shader.sliding.number)
    out.define("NUM_THREADS", SLIDING_THREADS)
    out.define("ADJACENT_AXIS", slide.adjacent)
    if slide.depth > 0:
        out.define("DIVIDED", int(any(axis.divisor > 1 for axis in axes[: len(axes) - block.unrolled])))
        by_channel = layers == 1 and slide.adjacent == ROW_AXIS and are_adjacent(op, shader, axes)
        out.define("WEIGHTS_VECTOR", block.channels if by_channel else 1)  # NVIDIA H200: 1 at 0.83
    out.define("WINDOW_VECTOR", block.vector)
    out.define("OUTPUT_VECTOR", block.stored)
    out.define("UNROLLED", block.unrolled)
    out.define("BLOCK_ROWS", block.rows)
    out.define("BLOCK_COLUMNS", block.columns)
    out.define("BLOCK_CHANNELS", block.channels)
    out.define("SHARES", block.shares)
    define_axes(out, down, across)
    out.define("LEAD", lead(across, block.vector) if slide.is_across else 0)
    params = SlidingParams(
        [axis_words(out, axis) for axis in axes],
        extents([axis.taps for axis in axes]),
        extents(counts),
        known.lists,
        known.activations,
        known.elements,
        groups.columns,
        layers,
        weights_words(op, shader),
        known.scalars,
    )
    out.dispatch(params, groups, False)
    return True
