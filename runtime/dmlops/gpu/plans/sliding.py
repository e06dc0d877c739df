"""Folds over a sliding window: poolings, and direct convolutions that are small or have few rows per channel
group.

A thread computes a block of adjacent elements, whose windows overlap, and loads what they share once. If a
window has too many taps for that, or stands alone, several threads share its taps.

With fractional steps, blocks start where all of them leave the same remainder, so that an element meets the
same taps as the corresponding one in any other block. Only blocks support fractional steps.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import Lists, begin_form, eight, padded
from .definition_types import Definition, DefinitionShader, Frame, Sliding
from .gemm_view import Matrices, is_of_bytes
from .loops import (
    Dimensions,
    Words,
    ceil_div,
    element_count,
    extents,
    grid,
    power_below,
    times,
)
from .operands import NONE, Eight, Sizes, Tensor
from .planning import Planning
from .polyphase import is_divided, row_dimension

BLOCK_ROWS = 4  # NVIDIA H200: 1 at 0.85, 2 at 0.91, 8 at 1.03
"rows of a thread's block of elements; half as many where windows do not overlap"
BLOCK_COLUMNS = 4  # NVIDIA H200: 2 at 0.95 with channels last; with a step of 2 there, 4 at 0.78 to 1.08
"its columns; half as many, with channels last, where windows do not overlap"
BLOCK_FLOAT16 = 2  # NVIDIA H200: 4 at 0.80 with a step of 1
"rows and columns of a block of float16 with channels last, at most: their loads are half as wide"
BLOCK_LONG = 16  # NVIDIA H200: 1.3 times as fast with 31
"taps along a line from which blocks have twice the columns"
BLOCK_MOST = 64  # NVIDIA H200: 16 at 0.76 to 1.08, 32 at 0.94 to 1.13, 128 at 1.00
"elements of a block, at most, so that shared memory has room for those of all threads sharing its channels"
BLOCK_REACH = 40  # NVIDIA H200: 20 at 0.14 to 0.88, 80 at 1.00
"elements of a row that all windows of a block cover, which a thread keeps in registers, at most"
BLOCK_PLACES = 81  # NVIDIA H200: 10 at 0.38 to 0.98
"taps of a window up to which loops over them are unrolled"
BLOCK_THREADS = 128  # NVIDIA H200: 64 at 0.98, 256 at 0.99
"threads in a group"
BLOCK_BUSY = 131072  # NVIDIA H200: 65536 at 0.62 to 1.08, 262144 at 0.77 to 1.13
"threads that saturate a GPU; with fewer, blocks have fewer rows"
BLOCK_FEW = 32768  # NVIDIA H200: 16384 at 0.99, 65536 at 1.01, 131072 at 0.97
"threads with one row each that saturate it; with fewer, blocks have fewer columns"
BLOCK_SPARE = 16  # NVIDIA H200: 1 at 0.73 to 1.1, 8 at 0.79 to 1.0 with 13 rows
"rows of the output per row that blocks have beyond it, at least; with more, blocks have fewer rows"
BLOCK_LAYERS = 2  # NVIDIA H200: 4 at 0.87
"channels of a block per thread, at least"
BLOCK_SHARES = 16  # NVIDIA H200: 8 at 0.6 to 1.0 with 32 channels or more, 32 at 0.5 to 1.5
"threads that share the channels of a block, at most: all threads of a wave have the same channels"
SLIDING_CHANNELS = 8  # NVIDIA H200: 2 to 7 times as fast as tiles with 4 and 8, with 16 at 0.41 to 0.56
"channels and rows per channel group, of several, up to which windows slide over the input"
SLIDING_PRODUCTS = 16777216  # NVIDIA H200: 1.1 to 3 times as fast as tiles, with 29 million 0.8 to 1.1
"products in total up to which a convolution slides windows although it has enough rows for tiles"
SLIDING_POINTS = 4194304  # NVIDIA H200: 1.0 to 2.4 times as fast, with 13 million 0.8 to 1.1
"the same for windows of a single tap"
SHARING_THREADS = 128  # NVIDIA H200: 64 at 0.96 to 1.03, 256 at 0.99
"threads in a group whose threads share windows"
SHARING_BUSY = 262144  # NVIDIA H200: 131072 at 1.01, 524288 at 0.75 to 0.96
"threads that saturate a GPU where they share windows"
SHARING_LANES = 4  # NVIDIA H200: 2 at 1.00, 8 at 0.79
"threads that share a window, at least"


class Line(NamedTuple):
    """A window along one dimension: its taps (`places`), the coordinate of the first one for element 0, how
    far the window moves per element (`step`), the distance between taps, the size of the tensor (`limit`),
    and the number of elements. Coordinates on the tensor are those of the window divided by `divisor`."""

    places: int
    first: int
    step: int
    tap: int
    limit: int
    elements: int
    divisor: int


class Adjacent(NamedTuple):
    """The dimension of the output that neighboring threads follow, and the tensor's that belongs to it. A
    thread can take up to `channels` channels: 1 if these are the window's last dimension."""

    axis: int
    place: int
    channels: int


class Block(NamedTuple):
    """A thread's block: rows, columns and channels of elements; no rows if threads share windows instead.

    `vector` elements of the tensor are loaded at once, and `stored` of the output stored at once. The first
    vector of a row has `lead` elements before those of the block.
    """

    rows: int
    columns: int
    channels: int
    vector: int
    stored: int
    lead: int


class Weights(NamedTuple):
    """The addressing of weights, in words of constants: `steps` are their strides along the window, followed
    by its divisors; `words` are the channels and the other strides."""

    steps: Annotated[list[int], 16]
    words: Words


class SlidingParams(NamedTuple):
    sizes: Annotated[Dimensions, "OUTPUT_RANK"]
    "of the output"
    planeSteps: Eight
    "strides of the tensor along the dimensions of the output; lists fill two vectors"
    window: Annotated[list[int], 64]
    counted: Annotated[list[int], 32]
    weightsSteps: Annotated[list[int], 16]
    "and divisors"
    lists: Lists
    activations: Annotated[list[int], 32]
    elements: Words
    "of two words each, which must not straddle vectors"
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of the output"
    layers: int
    "of a window: combinations of all but its last two dimensions"
    planes: int
    "of the output, likewise"
    blocks: Annotated[Dimensions, "3"]
    "of a plane, down and across, and of channels"
    groupColumns: int
    "thread groups along x"
    weights: Words
    scalars: Words


def sliding_of(op: Definition, shader: DefinitionShader) -> Sliding:
    """The window: the definition's own, or that of a contraction."""
    factors = op.factors
    if len(factors.window.sizes) == 0:
        return op.sliding
    window = factors.window
    tensor = op.tensors[shader.sliding.tensor]
    behind = len(tensor.sizes) - len(window.sizes)
    limits: Eight = [size for d, size in enumerate(tensor.sizes) if d >= behind]
    frame = Frame(window.right_first, window.right_steps, window.right_taps, limits)
    return Sliding(factors.right, window.sizes, window.axes, frame, op.sliding.counted)


def line_of(op: Definition, sliding: Sliding, output: Tensor, from_end: int) -> Line:
    """The window along one of its dimensions, counted from the last; a single tap beyond the first
    dimension."""
    d = len(sliding.sizes) - 1 - from_end
    if d < 0:
        return Line(1, 0, 1, 1, 1, 1, 1)
    frame, divisors = sliding.window, op.factors.window.right_divisors
    first = frame.first[d]
    return Line(
        sliding.sizes[d],
        first,
        frame.steps[d] - first,
        frame.taps[d] - first,
        frame.limits[d],
        output.sizes[sliding.axes[d]],
        divisors[d] if len(divisors) > 0 else 1,
    )


def is_slid(op: Definition, shader: DefinitionShader) -> bool:
    """Whether the shader can slide the window of this description."""
    sliding = sliding_of(op, shader)
    output = op.tensors[shader.sliding.output]
    is_straight = len(sliding.sizes) > 0 and not op.is_double
    for d, axis in enumerate(sliding.axes):
        is_straight = is_straight and axis == len(output.sizes) - len(sliding.sizes) + d
    counted = sliding.counted
    for first, tap in zip(counted.first, counted.taps, strict=True):
        is_straight = is_straight and tap > first
    return is_straight


def suits_sliding(op: Definition, shader: DefinitionShader, found: Matrices, least_rows: int) -> bool:
    """Whether a contraction has a window, and fewer rows than `least_rows`, from which tiles pay, such small
    channel groups that they make no tile, or so few products that tiles leave most of a GPU idle. Fractional
    steps require blocks, bytes what tiles do."""
    window = op.factors.window
    if not op.factors.applies or len(window.sizes) == 0:
        return False
    if is_of_bytes(op, shader) and not found.is_worth:
        return False
    is_few = found.rows < least_rows
    is_narrow = window.groups > 1 and max(found.rows, op.factors.depth) <= SLIDING_CHANNELS
    if (is_few or is_narrow) and not is_divided(window):
        return True
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    most = SLIDING_POINTS if element_count(window.sizes) == 1 else SLIDING_PRODUCTS
    return (is_few or products <= most) and in_blocks(op, shader)


def in_blocks(op: Definition, shader: DefinitionShader) -> bool:
    """Whether threads compute blocks."""
    sliding = sliding_of(op, shader)
    tensor, output = op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    down, across = line_of(op, sliding, output, 1), line_of(op, sliding, output, 0)
    adjacent = adjacent_of(op, sliding, tensor, output)
    most = most_shares(op, layers_of(op, sliding))
    return block_of(tensor, output, down, across, adjacent, most).rows > 0 and is_slid(op, shader)


def layers_of(op: Definition, sliding: Sliding) -> int:
    """The number of layers of a window: sets of taps, for one channel, that differ only in its last two
    dimensions."""
    layers = op.factors.depth if len(op.factors.window.sizes) > 0 else 1
    for size in sliding.sizes[:-2]:
        layers = times(layers, size)
    return layers


def rest(line: Line) -> int:
    """The remainder at the first tap of the window for element 0."""
    return line.first % line.divisor


def alike(line: Line) -> int:
    """The distance between elements that leave the same remainder."""
    return line.divisor // gcd(line.step, line.divisor)


def reach(line: Line, elements: int) -> int:
    """The extent that the windows of so many adjacent elements cover together."""
    return ((elements - 1) * line.step + (line.places - 1) * line.tap + rest(line)) // line.divisor + 1


def is_unrolled(down: Line, across: Line, rows: int, columns: int, channels: int) -> bool:
    """Whether a thread's registers can hold what a block of that size needs."""
    is_small = rows * columns * channels <= BLOCK_MOST and min(down.step, across.step) > 0
    is_small = is_small and down.places * across.places * channels <= BLOCK_PLACES
    is_small = is_small and min(down.tap, across.tap) > 0
    return is_small and max(reach(down, rows), channels * reach(across, columns)) <= BLOCK_REACH


def block_of(
    tensor: Tensor, output: Tensor, down: Line, across: Line, adjacent: Adjacent, shares: int
) -> Block:
    """The block of a thread: as large as leaves enough of them, if up to `shares` threads share each."""
    least_rows, least_columns = alike(down), alike(across)
    channels = adjacent.channels
    while channels > 1 and not is_unrolled(down, across, least_rows, least_columns, channels):
        channels = channels // 2
    most_rows = BLOCK_ROWS if down.step == 1 else BLOCK_ROWS // 2
    wide = BLOCK_COLUMNS if across.step == 1 or channels == 1 else BLOCK_COLUMNS // 2
    if channels > 1 and tensor.bits == 16:
        most_rows, wide = min(most_rows, BLOCK_FLOAT16), min(wide, BLOCK_FLOAT16)
    elif across.places >= BLOCK_LONG:
        wide = 2 * wide
    rows = power_below(ceil_div(down.elements, least_rows), most_rows // least_rows) * least_rows
    most_columns = ceil_div(2 * across.elements - 1, least_columns)
    columns = power_below(most_columns, wide // least_columns) * least_columns
    whole = times(element_count(output.sizes), shares)
    while rows > least_rows and (
        whole < rows * columns * BLOCK_BUSY
        or ceil_div(down.elements, rows) * rows * BLOCK_SPARE > down.elements * (BLOCK_SPARE + 1)
        or not is_unrolled(down, across, rows, columns, channels)
    ):
        rows = rows // 2
    while columns > least_columns and (
        whole < columns * BLOCK_FEW or not is_unrolled(down, across, rows, columns, channels)
    ):
        columns = columns // 2
    if down.elements * across.elements == 1 or not is_unrolled(down, across, rows, columns, channels):
        return Block(0, 1, 1, 1, 1, 0)
    vector, stored = whole_vectors(tensor, adjacent.place), whole_vectors(output, adjacent.axis)
    is_across = adjacent.axis == len(output.sizes) - 1
    stored = gcd(stored, gcd(across.elements, columns) if is_across else channels)
    if output.bits < 16 and stored < 4:
        stored = 1  # no two threads may write the same word at once
    if not is_across:
        return Block(rows, columns, channels, channels, stored, 0)
    vector = gcd(vector, gcd(across.limit, columns * across.step // across.divisor))
    return Block(rows, columns, 1, vector, stored, (across.first - rest(across)) // across.divisor % vector)


def most_shares(op: Definition, layers: int) -> int:
    """The number of threads that may share the layers of a block: more than one for sums only."""
    return power_below(layers // BLOCK_LAYERS, BLOCK_SHARES) if op.factors.applies else 1


def shares_of(blocks: int, most: int) -> int:
    """The number of threads that share a block: more if there are few blocks."""
    shares = 1
    while shares < most and times(blocks, shares) < BLOCK_BUSY:
        shares = 2 * shares
    return shares


def whole_vectors(tensor: Tensor, place: int) -> int:
    """The number of adjacent elements along a dimension that form aligned vectors."""
    vector = 4 if tensor.strides[place] == 1 and tensor.bits >= 8 else 1
    for d, stride in enumerate(tensor.strides):
        if d != place and tensor.sizes[d] > 1:
            vector = gcd(vector, stride)
    return vector


def adjacent_of(op: Definition, sliding: Sliding, tensor: Tensor, output: Tensor) -> Adjacent:
    """The last dimension, unless elements are closer along another one that the window does not move along:
    the channels of channels-last tensors."""
    last = len(output.sizes) - 1
    groups, rows, row_axis = 1, 1, NONE
    if op.factors.applies:
        row_axis = op.factors.left[row_dimension(op.factors, output)]
        groups = max(op.factors.window.groups, 1)
        rows = output.sizes[row_axis] // groups
    for place, axis in enumerate(sliding.places):
        is_group = axis == last + 1 and groups > 1  # channels are summed, but groups of them follow the rows
        d = row_axis if is_group else axis
        is_output = d <= last - len(sliding.sizes) and output.sizes[d] > 1 and output.strides[d] == 1
        if is_output and tensor.strides[place] < tensor.strides[-1]:
            is_own = not is_group or (rows == 1 and op.factors.depth == 1)
            return Adjacent(d, place, gcd(whole_vectors(tensor, place), output.sizes[d]) if is_own else 1)
    return Adjacent(last, len(tensor.sizes) - 1, 1)


def lanes_of(places: int, windows: int) -> int:
    """The number of threads that share a window, reading adjacent taps: more if there are few windows."""
    lanes = power_below(max(places // 2, 1), SHARING_LANES)
    while lanes < SHARING_THREADS and 4 * lanes <= places and times(windows, lanes) < SHARING_BUSY:
        lanes = 2 * lanes
    return lanes


def weights_of(op: Definition, shader: DefinitionShader) -> Weights:
    """The addressing of weights, in the order of the shader's constants; empty if there are none."""
    if shader.sliding.weights == NONE:
        return Weights([], [])
    window = op.factors.window
    weights, tensor = op.tensors[shader.sliding.weights], op.tensors[shader.sliding.tensor]
    output = op.tensors[shader.sliding.output]
    steps: Eight = []
    first = 0
    for d, place in enumerate(window.left_first):
        stride = weights.strides[len(weights.strides) - len(window.sizes) + d]
        first += place * stride
        steps.append((window.left_taps[d] - place) * stride % 2**32)
    groups, counts_rows = max(window.groups, 1), row_dimension(op.factors, output)
    rows = output.sizes[op.factors.left[counts_rows]] // groups
    words: Words = [op.factors.depth, tensor.strides[1], max(rows, 1)]
    words.append(first % 2**32)
    words.append(weights.strides[counts_rows])
    words.append(weights.strides[1 - counts_rows])
    words.append(weights.sizes[0] // groups * weights.strides[0])
    constants: Annotated[list[int], 16] = []
    constants.extend(padded(steps))
    constants.extend(padded(window.right_divisors))
    return Weights(constants, words)


def are_adjacent(weights: Weights, sizes: Sizes) -> bool:
    """Whether the taps of each group follow those of the group before, in the order of the window."""
    inner = element_count(sizes)
    found = weights.words[3] == 0 and weights.words[6] == inner
    for d, size in enumerate(sizes):
        inner = inner // size
        found = found and (size == 1 or weights.steps[d] == inner)
    return found


def plane_steps(sliding: Sliding, tensor: Tensor, output: Tensor) -> Eight:
    """The tensor's strides along the dimensions of the output, except those that the window moves along."""
    steps: Eight = []
    for d, size in enumerate(output.sizes):
        step = 0
        for number, place in enumerate(sliding.places):
            if place == d and size > 1:
                step += tensor.strides[number]
        steps.append(step)
    return padded(steps)


def frame_words(out: Planning, frame: Frame) -> Annotated[list[int], 32]:
    """The constants of a frame: first coordinates, steps, taps, limits."""
    steps: Eight = [step - first for step, first in zip(frame.steps, frame.first, strict=True)]
    taps: Eight = [tap - first for tap, first in zip(frame.taps, frame.first, strict=True)]
    words: Annotated[list[int], 32] = []
    lists: Annotated[list[Sizes], 4] = [frame.first, steps, taps, frame.limits]
    for entries in lists:
        words.extend(eight(out, entries))
    return words


def window_constants(out: Planning, sliding: Sliding, tensor: Tensor) -> Annotated[list[int], 64]:
    """The constants of a window on a tensor: sizes, frame, strides."""
    words: Annotated[list[int], 64] = []
    words.extend(eight(out, sliding.sizes))
    words.extend(frame_words(out, sliding.window))
    strides: Eight = [
        stride for d, stride in enumerate(tensor.strides) if d >= len(tensor.strides) - len(sliding.sizes)
    ]
    words.extend(eight(out, strides))
    return words


def define_block(out: Planning, block: Block, down: Line, across: Line) -> None:
    """The macros of a shader that works in blocks."""
    out.define("WINDOW_HEIGHT", down.places)
    out.define("WINDOW_WIDTH", across.places)
    out.define("STEP_Y", down.step)
    out.define("STEP_X", across.step)
    out.define("TAP_Y", down.tap)
    out.define("TAP_X", across.tap)
    out.define("DIVISOR_Y", down.divisor)
    out.define("DIVISOR_X", across.divisor)
    out.define("REST_Y", rest(down))
    out.define("REST_X", rest(across))
    out.define("LEAD", block.lead)


def has_others(op: Definition, shader: DefinitionShader) -> bool:
    """Whether other outputs are wanted, too, which only blocks can compute."""
    wanted = shader.sliding.output
    return any(place != wanted and one.is_output and one.is_present for place, one in enumerate(op.tensors))


def plan_sliding(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """One dispatch; False if windows do not fit."""
    sliding = sliding_of(op, shader)
    tensor, output = op.tensors[shader.sliding.tensor], op.tensors[shader.sliding.output]
    down, across = line_of(op, sliding, output, 1), line_of(op, sliding, output, 0)
    layers = layers_of(op, sliding)
    most = most_shares(op, layers)
    adjacent = adjacent_of(op, sliding, tensor, output)
    block = block_of(tensor, output, down, across, adjacent, most)
    if not is_slid(op, shader) or (block.rows == 0 and has_others(op, shader)):
        return False
    known = begin_form(out, op, shader, output)
    if shader.contracted.number != NONE:
        out.write(out.scratch(8))
    out.share()

    weights = weights_of(op, shader)
    whole = element_count(output.sizes)
    lanes = lanes_of(element_count(sliding.sizes), whole)
    blocks_down, blocks_across = (
        ceil_div(down.elements, max(block.rows, 1)),
        ceil_div(across.elements, block.columns),
    )
    planes, channels = whole // (down.elements * across.elements), 1
    if adjacent.axis < sliding.axes[0]:
        channels = output.sizes[adjacent.axis] // block.channels
        planes = planes // output.sizes[adjacent.axis]
    is_block = block.rows > 0
    in_group = BLOCK_THREADS if is_block else SHARING_THREADS
    blocks = times(times(planes * blocks_down, blocks_across), channels)
    shares = shares_of(blocks, most)
    threads = times(blocks, shares) if is_block else times(whole, lanes)
    groups = grid(out, threads, in_group, 1)
    out.define("PASS", shader.sliding.number)
    out.define("NUM_THREADS", in_group)
    out.define("OUTPUT_RANK", len(output.sizes))
    out.define("WINDOW_RANK", len(sliding.sizes))
    out.define("WINDOW_AXIS", sliding.axes[0])
    out.define("ADJACENT_AXIS", adjacent.axis)
    if shader.sliding.weights != NONE:
        row_axis = op.factors.left[row_dimension(op.factors, output)]
        out.define("ROW_AXIS", row_axis)
        out.define("DIVIDED", int(is_divided(op.factors.window)))
        by_channel = layers == 1 and adjacent.axis == row_axis and are_adjacent(weights, sliding.sizes)
        by_channel = by_channel and op.tensors[shader.sliding.weights].bits >= 16
        out.define("WEIGHTS_VECTOR", block.channels if by_channel else 1)
    out.define("WINDOW_VECTOR", block.vector)
    out.define("OUTPUT_VECTOR", block.stored)
    out.define("IN_BLOCKS", int(is_block))
    out.define("BLOCK_ROWS", max(block.rows, 1))
    out.define("BLOCK_COLUMNS", block.columns)
    out.define("BLOCK_CHANNELS", block.channels)
    if is_block:
        define_block(out, block, down, across)
        if shader.sliding.weights != NONE:
            out.define("SHARES", shares)
    else:
        out.define("REDUCTION_THREADS", lanes)
    counted: Annotated[list[int], 32] = []
    if len(sliding.counted.first) > 0:
        counted = frame_words(out, sliding.counted)
    params = SlidingParams(
        extents(output.sizes),
        plane_steps(sliding, tensor, output),
        window_constants(out, sliding, tensor),
        counted,
        weights.steps,
        known.lists,
        known.activations,
        op.elements,
        whole,
        layers,
        planes,
        extents([blocks_down, blocks_across, channels]),
        groups.columns,
        weights.words,
        known.scalars,
    )
    out.dispatch(params, groups, False)
    return True
