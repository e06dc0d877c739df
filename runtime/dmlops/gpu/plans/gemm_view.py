"""The output of a contraction as matrices, and how the factors are read for them.

Rows run along the longest dimension that only the left factor has, columns along the longest that only the
right factor has; all other dimensions form the batch, along which a factor may have stride 0. With a window,
each channel group, or each phase of one, is a matrix, and its columns run along all dimensions but the
channels.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .common_bindings import padded
from .definition_types import Definition, DefinitionShader, Factors, Window
from .loops import Words, ceil_div, element_count, times
from .operands import NONE, Eight, Sizes, Tensor
from .polyphase import has_phases, is_divided, is_pointwise, most_places, phase_count, row_dimension
from .tuning import TILE_PRODUCTS

MOST_BYTES = 33025  # products of two differences of bytes, each at most 255 * 255, whose sum fits in 32 bits


class Side(NamedTuple):
    """The addressing of a factor: its strides along the output's dimensions (`steps`) and along k (`depth`).

    `vector` adjacent elements are loaded at once, along k if `is_along`, else across rows or columns. With a
    window, `matrix` is the left factor's stride from one channel group to the next.
    """

    steps: Eight
    depth: int
    matrix: int
    is_along: bool
    vector: int


class TapStep(NamedTuple):
    """The left factor's stride from one tap to the next in row-major order. `is_even`: it is the same for all
    of them."""

    is_even: bool
    step: int


class Matrices(NamedTuple):
    """The output as matrices. `is_worth`: tiles are faster than the definition.

    `sizes` are those of the output, with 1 along rows, and along columns unless there is a window. `run`
    elements of a row, or of a column if `is_down`, are contiguous in the output. With phases, `sizes`,
    `columns` and `depth` are those of the largest. `tap` is that of the left factor, if there is a window.
    """

    is_worth: bool
    sizes: Eight
    row_axis: int
    column_axis: int
    rows: int
    columns: int
    is_down: bool
    run: int
    depth: int
    count: int  # type: ignore[assignment]  # shadows tuple.count
    left: Side
    right: Side
    tap: TapStep


def no_matrices() -> Matrices:
    """For outputs that tiles do not speed up."""
    nothing = padded([])
    side = Side(nothing, 0, 0, False, 1)
    return Matrices(False, nothing, NONE, NONE, 1, 1, False, 1, 0, 1, side, side, TapStep(True, 0))


def own_axis(sizes: Sizes, places: Sizes, others: Sizes) -> int:
    """The longest dimension that only one factor has, or NONE."""
    found, longest = NONE, 0
    for axis, size in enumerate(sizes):
        if size > longest and axis in places and axis not in others:
            found, longest = axis, size
    return found


def side_of(tensor: Tensor, places: Sizes, sizes: Sizes, axis: int, depth: int) -> Side:
    """The addressing of a factor whose rows or columns run along `axis`. Its stride along a dimension of the
    output is the sum of its own strides over all dimensions indexed by that coordinate."""
    steps = padded([])
    step = 0
    for place, stride in zip(places, tensor.strides, strict=True):
        if place == len(sizes):
            step += stride
        elif place < len(sizes) and sizes[place] > 1:
            steps[place] = steps[place] + stride
    is_along = step == 1 or (steps[axis] != 1 and step < steps[axis])
    vector = side_vector(Side(steps, step, 0, is_along, 1), axis, sizes[axis], depth, 4)
    return Side(steps, step, 0, is_along, vector)


def side_vector(side: Side, axis: int, lines: int, depth: int, most: int) -> int:
    """The widest vector, up to `most`, that fits wherever sums or lines start; `axis` has that many rows or
    columns."""
    if (side.depth if side.is_along else side.steps[axis]) != 1:
        return 1
    vector = gcd(most, depth) if side.is_along else gcd(gcd(most, lines), side.depth)
    for d, step in enumerate(side.steps):
        if side.is_along or d != axis:
            vector = gcd(vector, step)
    return vector


def merged_last(output: Tensor, row_axis: int) -> int:
    """The number of the output's last dimensions that form one, since their elements are evenly spaced, as
    far apart as those of the last. That of rows does not matter."""
    run, count = output.strides[len(output.strides) - 1], 0
    for place in range(len(output.sizes)):
        axis = len(output.sizes) - 1 - place
        if axis != row_axis and output.sizes[axis] > 1 and output.strides[axis] != run:
            break
        run *= 1 if axis == row_axis else output.sizes[axis]
        count += 1
    return count


def side_by_side(output: Tensor, row_axis: int) -> int:
    """The number of contiguous elements in the output, as loops over its last dimensions visit them."""
    run = 1
    for place in range(len(output.sizes)):
        axis = len(output.sizes) - 1 - place
        if axis == row_axis or (output.sizes[axis] > 1 and output.strides[axis] != run):
            break
        run *= output.sizes[axis]
    return run


def boxed(output: Tensor, ones: Sizes, window: Window) -> Eight:
    """The sizes of the output, or of its largest phase, with 1 along some dimensions."""
    sizes: Eight = []
    sizes.extend(output.sizes)
    for axis in ones:
        sizes[axis] = 1
    for d, divisor in enumerate(window.right_divisors):
        axis = window.axes[d]
        sizes[axis] = ceil_div(sizes[axis], divisor)
    return sizes


def is_tiled(op: Definition, shader: DefinitionShader, products: int) -> bool:
    """Whether tiles support the types, and there is enough work for them."""
    contracted = shader.contracted
    is_whole = op.tensors[contracted.left].bits >= 16 and op.tensors[contracted.right].bits >= 16
    is_whole = is_whole and op.tensors[contracted.output].bits >= 16
    if is_of_bytes(op, shader):
        is_whole = sum_depth(op) <= MOST_BYTES
    return op.factors.applies and is_whole and not op.is_double and products >= TILE_PRODUCTS


def is_of_bytes(op: Definition, shader: DefinitionShader) -> bool:
    """Whether the factors are bytes with zero points."""
    return op.factors.applies and not op.tensors[shader.contracted.left].is_float


def sum_depth(op: Definition) -> int:
    """The number of products per sum."""
    return times(op.factors.depth, most_places(op.factors.window))


def matrices_of(op: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices."""
    if len(op.factors.window.sizes) > 0:
        return windowed(op, shader)
    factors, contracted = op.factors, shader.contracted
    left, right = op.tensors[contracted.left], op.tensors[contracted.right]
    output = op.tensors[contracted.output]
    row_axis = own_axis(output.sizes, factors.left, factors.right)
    column_axis = own_axis(output.sizes, factors.right, factors.left)
    if row_axis == NONE or column_axis == NONE:
        return no_matrices()
    if column_axis in factors.left_less or row_axis in factors.right_less:
        return no_matrices()
    rows, columns = output.sizes[row_axis], output.sizes[column_axis]
    if not is_tiled(op, shader, times(times(rows, columns), factors.depth)):
        return no_matrices()
    run = columns if output.strides[column_axis] == 1 else 1
    is_down = is_stored_down(op, shader, row_axis, rows, run)
    return Matrices(
        True,
        boxed(output, [row_axis, column_axis], factors.window),
        row_axis,
        column_axis,
        rows,
        columns,
        is_down,
        rows if is_down else run,
        factors.depth,
        element_count(output.sizes) // (rows * columns),
        side_of(left, factors.left, output.sizes, row_axis, factors.depth),
        side_of(right, factors.right, output.sizes, column_axis, factors.depth),
        TapStep(True, 0),
    )


def is_stored_down(op: Definition, shader: DefinitionShader, row_axis: int, rows: int, run: int) -> bool:
    """Whether the elements of a column are contiguous in the output, not those of a row, of which `run` are:
    channels are innermost in memory, or matrices are stored column by column. Bytes are never stored so."""
    output = op.tensors[shader.contracted.output]
    is_adjacent = output.strides[row_axis] == 1 and rows > 1
    return is_adjacent and run == 1 and not is_of_bytes(op, shader)


def tap_step(window: Window, tensor: Tensor) -> TapStep:
    """The left factor's stride from one tap to the next."""
    is_even, is_ordered = True, True
    step, following = 0, 0
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        if window.sizes[d] > 1:
            stride = tensor.strides[len(tensor.strides) - 1 - place]
            own = (window.left_taps[d] - window.left_first[d]) * stride
            is_even = is_even and (is_ordered or own == following)
            step = own if is_ordered else step
            is_ordered = False
            following = own * window.sizes[d]
    return TapStep(is_even, step)


def windowed(op: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices, with a window: one matrix per phase of each channel group."""
    factors, window, contracted = op.factors, op.factors.window, shader.contracted
    left, right = op.tensors[contracted.left], op.tensors[contracted.right]
    output = op.tensors[contracted.output]
    counts_rows = row_dimension(factors, output)
    row_axis, groups = factors.left[counts_rows], max(window.groups, 1)
    sizes = boxed(output, [row_axis], window)
    rows = output.sizes[row_axis] // groups
    columns = element_count(sizes)
    depth = sum_depth(op)
    is_straight = has_phases(window, output)
    if is_of_bytes(op, shader):
        is_straight = is_straight and not is_divided(window) and len(factors.right_less) == 0
    for axis in factors.left_less:
        is_straight = is_straight and axis == row_axis
    for d, axis in enumerate(window.axes):
        is_straight = is_straight and axis == window.axes[0] + d
    row_step, depth_step = left.strides[counts_rows], left.strides[1 - counts_rows]
    matrix_step = left.sizes[0] // groups * left.strides[0]
    tap = tap_step(window, left)
    others: Words = [row_step, tap.step, first_of(window, left), matrix_step]
    vector = gcd(4 if depth_step == 1 else 1, factors.depth)
    for other in others:
        vector = gcd(vector, other)
    count = times(groups, phase_count(window))
    run = 1 if is_divided(window) else side_by_side(output, row_axis)
    is_down = is_stored_down(op, shader, row_axis, rows, run)
    channels = 1 if is_of_bytes(op, shader) else channels_vector(factors, right, 4)
    return Matrices(
        is_straight and is_tiled(op, shader, times(times(rows, columns), depth * count)),
        sizes,
        row_axis,
        NONE,
        rows,
        columns,
        is_down,
        rows if is_down else run,
        depth,
        count,
        Side(axis_steps(output, row_axis, row_step), depth_step, matrix_step, True, vector),
        Side(
            axis_steps(output, factors.right[0], right.strides[0]),
            right.strides[1],
            0,
            channels > 1,
            channels if channels > 1 else columns_vector(window, right, output),
        ),
        tap,
    )


def is_bordered(window: Window, tensor: Tensor, output: Tensor) -> bool:
    """Whether any tap is outside of the tensor."""
    found = False
    behind = len(tensor.sizes) - len(window.sizes)
    for d, first in enumerate(window.right_first):
        last = first + (window.right_steps[d] - first) * (output.sizes[window.axes[d]] - 1)
        span = (window.right_taps[d] - first) * (window.sizes[d] - 1)
        least, greatest = min(first, last) + min(span, 0), max(first, last) + max(span, 0)
        divisor = window.right_divisors[d]
        found = found or ceil_div(least, divisor) < 0 or greatest // divisor >= tensor.sizes[behind + d]
    return found


def columns_vector(window: Window, tensor: Tensor, output: Tensor) -> int:
    """The number of adjacent columns that form a vector in the right factor, wherever they start: more than 1
    only if each element meets a single tap, and these are contiguous along all of the window's dimensions."""
    run = 1
    is_whole = True
    behind = len(tensor.sizes) - len(window.sizes)
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        size = tensor.sizes[behind + d]
        is_whole = is_whole and is_pointwise(window, d)
        is_whole = is_whole and window.right_steps[d] - window.right_first[d] == 1
        is_whole = is_whole and output.sizes[window.axes[d]] == size * window.right_divisors[d]
        is_whole = is_whole and (size == 1 or tensor.strides[behind + d] == run)
        run *= size
    vector = gcd(4, run) if is_whole else 1
    for d in range(behind):
        if tensor.sizes[d] > 1:
            vector = gcd(vector, tensor.strides[d])
    return vector


def channels_vector(factors: Factors, tensor: Tensor, most: int) -> int:
    """The number of adjacent channels, up to `most`, of a vector in the right factor, wherever they start."""
    if tensor.strides[1] != 1:
        return 1
    vector = gcd(most, factors.depth)
    for d, stride in enumerate(tensor.strides):
        if d != 1 and tensor.sizes[d] > 1:
            vector = gcd(vector, stride)
    return vector


def axis_steps(output: Tensor, axis: int, stride: int) -> Eight:
    """Strides along the dimensions of the output, for a factor that has only one of them."""
    return padded([stride if d == axis else 0 for d in range(len(output.sizes))])


def first_of(window: Window, tensor: Tensor) -> int:
    """The left factor's offset at the first tap."""
    first = 0
    for d, coordinate in enumerate(window.left_first):
        first += coordinate * tensor.strides[len(tensor.strides) - len(window.sizes) + d]
    return first


def tiles_of(found: Matrices, rows: int, columns: int) -> int:
    """The number of tiles of that size."""
    return times(ceil_div(found.rows, rows) * ceil_div(found.columns, columns), found.count)


def output_vector(found: Matrices, output: Tensor) -> int:
    """Adjacent elements of a row or column that a thread stores at once: 1 or 4."""
    vector = gcd(4, found.run)
    for axis, stride in enumerate(output.strides):
        if output.sizes[axis] > 1 and stride >= found.run:
            vector = gcd(vector, stride)
    return 4 if vector == 4 else 1
