"""Contractions, which are sums of products of two factors, and their outputs as matrices.

Rows run along the last dimension but one, which only the left factor has, columns along the last, which only
the right factor has; the others form the batch, along which a factor may have stride 0. With a window
(`implicit_gemm`), rows are channels, and columns run along all other dimensions.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .loops import CommonConstants, ceil_div, element_count, padded, times
from .operands import NONE, Eight, Sizes, Tensor

TILE_PRODUCTS = 96  # NVIDIA H200: 512 at 0.31 to 0.86
"products of a matrix, or with a window of all matrices; below, the definition is as good"

MOST_BYTES = 33025  # products of two differences of bytes, each at most 255 * 255, whose sum fits in 32 bits


class WindowAxis(NamedTuple):
    """A window along one of its dimensions: on the right factor of a contraction, or on the tensor of a
    pooling, and on the weights, the left factor."""

    taps: int
    first: Annotated[int, "int"]
    "coordinate of the first tap for element 0"
    step: Annotated[int, "int"]
    "from the coordinates of an element to those of the next one"
    tap: Annotated[int, "int"]
    "from a tap to the next one"
    divisor: Annotated[int, "int"]
    "of coordinates: those that leave a remainder are none"
    limit: int
    "size of the tensor"
    stride: int
    weightsFirst: int
    "offset of the first tap"
    weightsStep: int
    "stride from a tap to the next one"
    elements: int
    "of the output"


WindowAxes = Annotated[list[WindowAxis], 8]


def is_divided(axes: WindowAxes) -> bool:
    """Whether there is more than one phase."""
    return any(axis.divisor > 1 for axis in axes)


class Factors(NamedTuple):
    """The sources of a contraction's products, of floats or integers; each sum has `depth` of them, or that
    many per tap.

    For each dimension of a factor apart from the window's: the dimension of the output that indexes it, or
    the rank of the output if k does. The zero points of bytes, if there are any (`lessens_left`,
    `lessens_right`), depend on the output coordinates in `left_less` and `right_less`.
    """

    left: Sizes = ()
    right: Sizes = ()
    left_less: Sizes = ()
    right_less: Sizes = ()
    lessens_left: bool = False
    lessens_right: bool = False
    depth: int = 0


class Contraction(NamedTuple):
    """Passes from `number` on, which compute an output from sums of products of two factors; with the
    constants that they have in common."""

    number: int
    left: Tensor
    right: Tensor
    output: Tensor
    factors: Factors
    constants: CommonConstants


class Side(NamedTuple):
    """The addressing of a factor: the offset of its first element, and its strides along the output's
    dimensions (`steps`), along k (`depth`), and from one matrix under a window to the next (`matrix`).

    `vector` adjacent elements are loaded at once, along k if `is_along`, else across rows or columns.
    """

    first: int
    steps: Eight
    depth: int
    matrix: int
    is_along: bool
    vector: int


class Matrices(NamedTuple):
    """The output as matrices, `count` of them.

    `sizes` are those of the output, with 1 along rows, and along columns unless there is a window. A sum has
    `depth` products, `channels` for each tap of the window. With phases, `sizes`, `columns` and `depth` are
    those of the largest. Tiles hold the products of `taps` adjacent taps at once, and overlap by the `reach`
    of these: columns that the last one is behind the first.
    """

    sizes: Eight
    row_axis: int
    column_axis: int
    rows: int
    columns: int
    depth: int
    channels: int
    count: int  # type: ignore[assignment]  # shadows tuple.count
    axes: WindowAxes
    taps: int
    reach: int
    left: Side
    right: Side


def no_matrices(axes: WindowAxes) -> Matrices:
    """For a window without weights, and for sums that are no contraction."""
    nothing = padded([])
    side = Side(0, nothing, 0, 0, False, 1)
    return Matrices(nothing, NONE, NONE, 1, 1, 0, 0, 1, axes, 1, 0, side, side)


def matrices_of(op: Contraction, axes: WindowAxes, groups: int) -> Matrices:
    """The output as matrices, one for each coordinate of the batch; with a window, one for each phase of each
    channel group, whose rows are channels, dimension 1, and whose columns run along all other dimensions."""
    factors, output, is_windowed = op.factors, op.output, len(axes) > 0
    row_axis = 1 if is_windowed else len(output.sizes) - 2
    column_axis = NONE if is_windowed else row_axis + 1
    sizes: Eight = list(output.sizes)
    sizes[row_axis] = 1
    columns, depth, count = sizes[-1], factors.depth, groups
    for d, axis in enumerate(axes):
        sizes[2 + d] = ceil_div(axis.elements, axis.divisor)  # those of the largest phase
        depth = times(depth, ceil_div(axis.taps, axis.divisor))
        count = times(count, axis.divisor)
    if is_windowed:
        columns = element_count(sizes)
    else:
        sizes[column_axis] = 1
        count = element_count(sizes)
    left = side_of(op.left, factors.left, output.sizes, row_axis)
    if is_windowed:
        left = left._replace(matrix=op.left.sizes[0] // groups * op.left.strides[0])
    return Matrices(
        sizes,
        row_axis,
        column_axis,
        output.sizes[row_axis] // groups,
        columns,
        depth,
        factors.depth,
        count,
        axes,
        1,
        0,
        left,
        side_of(op.right, factors.right, output.sizes, max(column_axis, 0)),
    )


def side_of(tensor: Tensor, places: Sizes, sizes: Sizes, axis: int) -> Side:
    """The addressing of a factor whose rows or columns run along `axis`, one element at a time. Its stride
    along a dimension of the output is the sum of its own strides over all dimensions indexed by that
    coordinate."""
    steps = padded([])
    step = 0
    for d, place in enumerate(places):
        if place == len(sizes):
            step += tensor.strides[d]
        elif sizes[place] > 1:
            steps[place] = steps[place] + tensor.strides[d]
    return Side(0, steps, step, 0, step == 1 or (steps[axis] != 1 and step < steps[axis]), 1)


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


def side_by_side(tensor: Tensor, axis: int) -> int:
    """The contiguous elements of a tensor, as loops over the dimensions after that one visit them."""
    run, last = 1, len(tensor.sizes) - 1
    while last > axis and (tensor.sizes[last] == 1 or tensor.strides[last] == run):
        run *= tensor.sizes[last]
        last -= 1
    return run


def run_of_row(op: Contraction, found: Matrices) -> int:
    """The contiguous elements of a row in the output; with phases, or padding for several taps, they are
    apart."""
    is_whole = found.taps == 1 and not is_divided(found.axes)
    return side_by_side(op.output, found.row_axis) if is_whole else 1


def is_stored_down(op: Contraction, found: Matrices) -> bool:
    """Whether the elements of a column are contiguous in the output, not those of a row: channels are
    innermost in memory, or matrices are stored column by column. Bytes are never stored so."""
    is_adjacent = op.output.strides[found.row_axis] == 1 and found.rows > 1
    return is_adjacent and run_of_row(op, found) == 1 and not is_of_bytes(op)


def is_of_bytes(op: Contraction) -> bool:
    """Whether the factors are bytes with zero points; larger integers have no tiles."""
    return not op.left.is_float


def suits_tiles(op: Contraction, found: Matrices) -> bool:
    """Whether tiles support the types, and there is enough work for them: in a matrix, or with a window in
    all matrices."""
    is_whole = op.left.bits >= 16 and op.right.bits >= 16 and op.output.bits >= 16
    if is_of_bytes(op):
        is_whole = op.left.bits == 8 and op.right.bits == 8 and found.depth <= MOST_BYTES
    count = found.count if len(found.axes) > 0 else 1
    return is_whole and times(times(found.rows, found.columns), found.depth * count) >= TILE_PRODUCTS


def output_vector(op: Contraction, found: Matrices, is_down: bool) -> int:
    """Adjacent elements of a row, or of a column if `is_down`, that a thread stores at once: 1 or 4."""
    run = found.rows if is_down else run_of_row(op, found)
    vector = gcd(4, run)
    for axis, stride in enumerate(op.output.strides):
        if op.output.sizes[axis] > 1 and stride >= run:
            vector = gcd(vector, stride)
    return 4 if vector == 4 else 1
