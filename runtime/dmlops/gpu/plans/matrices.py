"""The output of a contraction as matrices, and how the factors are read for their elements.

Of the dimensions that only the left factor has, the longest counts their rows, of those that only the right
one has, the longest counts their columns; all other dimensions count matrices, along which a factor may have
a step of 0. With a window, each group of channels is a matrix, or each phase of one, and all dimensions but
that of the channels count columns.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from .defined import Definition, DefinitionShader, Window
from .known import Eight, padded
from .loops import Words, ceil_div, element_count, times
from .phases import has_phases, is_divided, is_pointwise, most_places, phase_count, row_dimension
from .told import NONE, Sizes, Tensor
from .tuning import TILE_PRODUCTS

MOST_BYTES = 33025  # products of two differences of bytes, up to 255 * 255, whose sum has 32 bits


class Side(NamedTuple):
    """How a factor is read: its steps along the dimensions of the output, and from one product to the next.

    `vector` neighbours in memory are read at once: of one sum if `is_along`, else of as many rows or columns.
    With a window, `matrix` is the step from one group of channels to the next, of the left factor.
    """

    steps: Eight
    depth: int
    matrix: int
    is_along: bool
    vector: int


class TapStep(NamedTuple):
    """How far apart elements of the left factor are at neighbouring places of the window, counted row by row.
    `is_even`: that is always the same."""

    is_even: bool
    step: int


class Matrices(NamedTuple):
    """The output as matrices. `is_worth`: tiles are faster than the definition.

    `sizes` are those of the output, 1 along rows, and along columns unless there is a window. `run` are the
    neighbours along a row that lie side by side in the output. Where there are phases, `sizes` and `columns`
    are those of the largest, and so is `depth`. `tap` is that of the left factor, where there is a window.
    """

    is_worth: bool
    sizes: Eight
    row_axis: int
    column_axis: int
    rows: int
    columns: int
    run: int
    depth: int
    count: int  # type: ignore[assignment]  # it hides a method of tuples
    left: Side
    right: Side
    tap: TapStep


def no_matrices() -> Matrices:
    """Those of an output for which tiles are no faster."""
    nothing = padded([])
    side = Side(nothing, 0, 0, False, 1)
    return Matrices(False, nothing, NONE, NONE, 1, 1, 1, 0, 1, side, side, TapStep(True, 0))


def own_axis(sizes: Sizes, places: Sizes, others: Sizes) -> int:
    """The longest dimension that only one factor has; NONE where there is none."""
    found, longest = NONE, 0
    for axis, size in enumerate(sizes):
        if size > longest and axis in places and axis not in others:
            found, longest = axis, size
    return found


def side_of(tensor: Tensor, places: Sizes, sizes: Sizes, axis: int, depth: int) -> Side:
    """How a factor is read, of which `axis` counts rows or columns. Along a dimension of the output it goes
    as far as along all of its own in which that coordinate is taken."""
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
    """How many neighbours of a factor are vectors wherever sums or lines begin, up to `most`; `axis` counts
    that many rows or columns."""
    if (side.depth if side.is_along else side.steps[axis]) != 1:
        return 1
    vector = gcd(most, depth) if side.is_along else gcd(gcd(most, lines), side.depth)
    for d, step in enumerate(side.steps):
        if side.is_along or d != axis:
            vector = gcd(vector, step)
    return vector


def merged_last(output: Tensor, row_axis: int) -> int:
    """How many of the last dimensions lie side by side in the output, behind that of rows."""
    run, count = 1, 0
    for place in range(len(output.sizes)):
        axis = len(output.sizes) - 1 - place
        if axis == row_axis or (output.sizes[axis] > 1 and output.strides[axis] != run):
            break
        run *= output.sizes[axis]
        count += 1
    return count


def side_by_side(output: Tensor, row_axis: int) -> int:
    """How many elements lie side by side in the output, as loops over its last dimensions reach them."""
    run = 1
    for size in output.sizes[len(output.sizes) - merged_last(output, row_axis) :]:
        run *= size
    return run


def boxed(output: Tensor, ones: Sizes, window: Window) -> Eight:
    """The sizes of the output, or of its largest phase, 1 along some dimensions."""
    sizes: Eight = []
    sizes.extend(output.sizes)
    for axis in ones:
        sizes[axis] = 1
    for d, divisor in enumerate(window.right_divisors):
        axis = window.axes[d]
        sizes[axis] = ceil_div(sizes[axis], divisor)
    sizes.extend([0] * (8 - len(output.sizes)))
    return sizes


def is_tiled(told: Definition, shader: DefinitionShader, products: int) -> bool:
    """Whether tiles take the types, and there is enough to do for them."""
    contracted = shader.contracted
    is_whole = told.tensors[contracted.left].bits >= 16 and told.tensors[contracted.right].bits >= 16
    is_whole = is_whole and told.tensors[contracted.output].bits >= 16
    if is_of_bytes(told, shader):
        is_whole = sum_depth(told) <= MOST_BYTES
    return told.factors.applies and is_whole and not told.is_double and products >= TILE_PRODUCTS


def is_of_bytes(told: Definition, shader: DefinitionShader) -> bool:
    """Whether the factors are bytes less zero points."""
    return told.factors.applies and not told.tensors[shader.contracted.left].is_float


def sum_depth(told: Definition) -> int:
    """How many products are in a sum."""
    return times(told.factors.depth, most_places(told.factors.window))


def matrices_of(told: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices."""
    if len(told.factors.window.sizes) > 0:
        return windowed(told, shader)
    factors, contracted = told.factors, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    row_axis = own_axis(output.sizes, factors.left, factors.right)
    column_axis = own_axis(output.sizes, factors.right, factors.left)
    if row_axis == NONE or column_axis == NONE:
        return no_matrices()
    if column_axis in factors.left_less or row_axis in factors.right_less:
        return no_matrices()
    rows, columns = output.sizes[row_axis], output.sizes[column_axis]
    if not is_tiled(told, shader, times(times(rows, columns), factors.depth)):
        return no_matrices()
    return Matrices(
        True,
        boxed(output, [row_axis, column_axis], factors.window),
        row_axis,
        column_axis,
        rows,
        columns,
        columns if output.strides[column_axis] == 1 else 1,
        factors.depth,
        element_count(output.sizes) // (rows * columns),
        side_of(left, factors.left, output.sizes, row_axis, factors.depth),
        side_of(right, factors.right, output.sizes, column_axis, factors.depth),
        TapStep(True, 0),
    )


def tap_step(window: Window, tensor: Tensor) -> TapStep:
    """The step of the left factor from one place of the window to the next."""
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


def windowed(told: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices, with a window: one for each phase of each group."""
    factors, window, contracted = told.factors, told.factors.window, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    counts_rows = row_dimension(factors, output)
    row_axis, groups = factors.left[counts_rows], max(window.groups, 1)
    sizes = boxed(output, [row_axis], window)
    rows = output.sizes[row_axis] // groups
    columns = 1
    for size in sizes:
        columns = times(columns, max(size, 1))  # 0 stands behind the last dimension
    depth = sum_depth(told)
    is_straight = has_phases(window, output)
    if is_of_bytes(told, shader):
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
    return Matrices(
        is_straight and is_tiled(told, shader, times(times(rows, columns), depth * count)),
        sizes,
        row_axis,
        NONE,
        rows,
        columns,
        1 if is_divided(window) else side_by_side(output, row_axis),
        depth,
        count,
        Side(axis_steps(output, row_axis, row_step), depth_step, matrix_step, True, vector),
        Side(
            axis_steps(output, factors.right[0], right.strides[0]),
            right.strides[1],
            0,
            False,
            columns_vector(window, right, output),
        ),
        tap,
    )


def is_bordered(window: Window, tensor: Tensor, output: Tensor) -> bool:
    """Whether places of the window are outside of the tensor."""
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
    """How many neighbouring columns are vectors in the right factor, wherever they begin: more than 1 where
    each element meets one place of the window, and these lie side by side along all of its dimensions."""
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


def axis_steps(output: Tensor, axis: int, stride: int) -> Eight:
    """Steps along the dimensions of the output, of which a factor has one."""
    return padded([stride if d == axis else 0 for d in range(len(output.sizes))])


def first_of(window: Window, tensor: Tensor) -> int:
    """Where the left factor is read at the first place of the window."""
    first = 0
    for d, coordinate in enumerate(window.left_first):
        first += coordinate * tensor.strides[len(tensor.strides) - len(window.sizes) + d]
    return first


def tiles_of(found: Matrices, rows: int, columns: int) -> int:
    """How many tiles of that size there are."""
    return times(ceil_div(found.rows, rows) * ceil_div(found.columns, columns), found.count)


def output_vector(found: Matrices, output: Tensor) -> int:
    """Neighbours along a row that a thread stores at once."""
    vector = gcd(4, found.run)
    for axis, stride in enumerate(output.strides):
        if output.sizes[axis] > 1 and stride >= found.run:
            vector = gcd(vector, stride)
    return 4 if vector == 4 else 1
