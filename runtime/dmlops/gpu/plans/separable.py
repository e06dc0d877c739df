"""Separable taps, passes of definitions: each output element is made of a box of elements, by taps along each
axis.

A group computes a tile of two dimensions at several coordinates of the others (planes). It starts by
tabulating the taps of all its columns, rows and planes. Columns run along the last dimension, or along that
whose elements are adjacent: the channels of channels-last tensors.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .definition_types import Definition, DefinitionShader, SeparablePass
from .loops import (
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
from .operands import NONE, Eight, Sizes, Tensor
from .planning import Planning

SEPARABLE_THREADS = 256  # NVIDIA H200: 128 at 0.89 to 1.00, 512 at 0.98
"threads in a group, at most"
SEPARABLE_GROUPS = 1056  # NVIDIA H200: 264 at 1.00, 4224 at 0.90
"groups that leave no idle tail; with fewer, threads compute fewer planes at once, with more, more rows"
SEPARABLE_TABLE = 7168  # NVIDIA H200: 896 at less than 0.01 to 1.08
"words of tables in shared memory, at most"
SEPARABLE_FEW = 8192
"elements of an output from which threads compute several columns"
SEPARABLE_SMALLER = 3  # NVIDIA H200: 1 at 0.31 to 0.53, 6 at 1.00
"ratio of the tensor's width to the output's from which taps along rows are combined first"
SEPARABLE_COLUMNS = 64  # NVIDIA H200: 32 at 0.93, 128 at 1.00
"columns of the output that a group then has, at most"
SEPARABLE_ROWS = 8  # NVIDIA H200: 4 at 0.82, 16 at 0.73
"its rows"
SEPARABLE_SPAN = 512  # NVIDIA H200: 256 at 0.87, 1024 at 1.00
"columns of the tensor that a group then reads, at most, apart from the taps of one more element"

COLUMNS = 4
"""Adjacent elements of a thread, if there are many."""
SPAN_COLUMNS = 2  # NVIDIA H200: 1 at 0.74, 4 at 0.86, 8 at 0.67
"""Columns of a thread where taps along rows are combined first."""
MOST_TAPS = 64
"""Taps along an axis for which tables may have room."""


class Extent(NamedTuple):
    """An output as elements of a row, rows of a plane, and planes."""

    columns: int
    rows: int
    planes: int


class SeparableParams(NamedTuple):
    sizes: Annotated[Dimensions, "RANK"]
    "of the output: planes, rows, columns"
    lists: Lists
    "which fill two vectors each"
    activations: Annotated[list[int], 32]
    elements: Words
    "of two words each, which must not straddle vectors"
    tiles: Annotated[Dimensions, "2"]
    "of a plane, down and across"
    planeCount: int
    groupColumns: int
    "thread groups along x"
    scalars: Words


def extent_of(sizes: Sizes) -> Extent:
    """An output of these sizes, of two dimensions or more, by its last two."""
    return Extent(sizes[-1], sizes[-2], element_count(sizes) // (sizes[-1] * sizes[-2]))


class SeparableTile(NamedTuple):
    """A group's tile: its threads, those side by side with `columns` columns each, rows and planes; and the
    taps along an axis that its tables have room for. With a `span`, in columns of the tensor, taps along rows
    are combined first."""

    threads: int
    across: int
    columns: int
    rows: int
    planes: int
    taps: int
    span: int


def power_above(number: int, limit: int) -> int:
    """The least power of 2 that is not below `number`, but no more than `limit`, itself a power of 2."""
    power = 1
    while power < number and power < limit:
        power = 2 * power
    return power


def usual_taps(tensor: Tensor, output: Tensor) -> int:
    """The taps that most elements have along an axis if their weights depend on distance."""
    ratio = 1
    for size, of in zip(tensor.sizes, output.sizes, strict=True):
        ratio = max(ratio, ceil_div(size, of))
    return min(2 * ratio + 2, MOST_TAPS)


def threads_across(vectors: int) -> int:
    """Threads side by side for a row of that many vectors: fewer than 32 if that cuts the total by more than
    an eighth."""
    best = power_above(vectors, 32)
    across = best
    while across > 8:
        across = across // 2
        if 8 * across * ceil_div(vectors, across) < 7 * best * ceil_div(vectors, best):
            best = across
    return best


def column_axis(tensor: Tensor, output: Tensor) -> int:
    """The dimension of columns: the last, unless elements of both tensors are adjacent along another one
    that is not resampled."""
    last = len(output.sizes) - 1
    for axis, size in enumerate(output.sizes):
        is_adjacent = tensor.strides[axis] == 1 and output.strides[axis] == 1
        is_closest = tensor.strides[last] > 1 and output.strides[last] > 1
        if size > 1 and tensor.sizes[axis] == size and is_adjacent and is_closest:
            return axis
    return last


def with_last(values: Sizes, axis: int) -> Eight:
    """The values of all dimensions, that of the axis behind the others, of which there is one at least."""
    others: Eight = [value for d, value in enumerate(values) if d != axis]
    if len(others) == 0:
        others.append(1)
    others.append(values[axis])
    return others


def spanning_tile(extent: Extent, width: int, taps: int) -> SeparableTile:
    """A tile of an output that is narrower than the tensor, whose `width` is given: taps along columns are
    combined last, so that those before are loaded from adjacent elements."""
    columns = min(SEPARABLE_COLUMNS, max(SEPARABLE_SPAN * extent.columns // width, 1))
    across = ceil_div(ceil_div(extent.columns, ceil_div(extent.columns, columns)), SPAN_COLUMNS)
    reached = ceil_div(SPAN_COLUMNS * across * width, extent.columns) + taps
    span = SPAN_COLUMNS * ceil_div(reached, SPAN_COLUMNS)
    rows = min(extent.rows, SEPARABLE_ROWS)
    return SeparableTile(SEPARABLE_THREADS, across, SPAN_COLUMNS, rows, 1, taps, span)


def taps_kept(entries: int, taps: int) -> int:
    """The taps along an axis that tables of that many entries have room for."""
    while taps > 1 and entries * (taps + 3) > SEPARABLE_TABLE:
        taps = taps // 2
    return taps


def separable_tile(
    one: SeparablePass, tensor: Tensor, output: Tensor, sizes: Sizes, width: int
) -> SeparableTile:
    """A tile for an output of these sizes, planes before rows and columns, with enough groups left to occupy
    the GPU. `width`: the tensor's size along columns."""
    extent = extent_of(sizes)
    taps = usual_taps(tensor, output) if one.is_sum else 1
    entries = SEPARABLE_COLUMNS + SEPARABLE_ROWS + len(sizes)
    has_room = taps_kept(2 * entries, taps) == taps  # sums need as much room again
    is_narrower = width >= SEPARABLE_SMALLER * extent.columns
    if one.by_axis and output.is_float and is_narrower and has_room:
        return spanning_tile(extent, width, taps)
    columns = COLUMNS if element_count(sizes) >= SEPARABLE_FEW else 1
    across = threads_across(ceil_div(extent.columns, columns))
    rows = power_above(extent.rows, SEPARABLE_THREADS // across)
    threads = across * rows
    tiles_across = ceil_div(extent.columns, columns * across)
    tiles = times(tiles_across, ceil_div(extent.rows, rows))
    planes = 3 if extent.planes == 3 else power_above(extent.planes, 4)
    while planes > 1 and times(tiles, ceil_div(extent.planes, planes)) < SEPARABLE_GROUPS:
        planes = planes // 2
    layers = times(tiles_across, ceil_div(extent.planes, planes))
    most = min(extent.rows, 64) if one.is_sum else rows  # without weights, NVIDIA H200: 64 at 0.9 to 1.0
    while rows < most and times(layers, ceil_div(extent.rows, 2 * rows)) >= SEPARABLE_GROUPS:
        rows = 2 * rows
    taps = taps_kept(columns * across + rows + (len(sizes) - 2) * planes, taps)
    return SeparableTile(threads, across, columns, rows, planes, taps, 0)


def way_that_applies(op: Definition, shader: DefinitionShader) -> int:
    """The pass that applies, by its place; NONE if none does."""
    for place, one in enumerate(shader.separable):
        rank = op.separable.rank
        is_whole = rank == len(op.tensors[one.output].sizes) and rank == len(op.tensors[one.tensor].sizes)
        if op.separable.applies[place] == 1 and is_whole:
            return place
    return NONE


def plan_separable(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> bool:
    """One dispatch; False if no separable pass applies."""
    place = way_that_applies(op, shader)
    if place == NONE:
        return False
    one = shader.separable[place]
    tensor, output = op.tensors[one.tensor], op.tensors[one.output]
    if len(shader.kept) > 0:
        out.write(out.scratch(8))

    axis = column_axis(tensor, output)
    sizes = with_last(output.sizes, axis)
    extent = extent_of(sizes)
    tile = separable_tile(one, tensor, output, sizes, tensor.sizes[axis])
    across = ceil_div(extent.columns, tile.columns * tile.across)
    down = ceil_div(extent.rows, tile.rows)
    tiles = times(times(across, down), ceil_div(extent.planes, tile.planes))
    groups = grid(out, times(tiles, tile.threads), tile.threads, 1)
    out.define("PASS", one.number)
    out.define("NUM_THREADS", tile.threads)
    out.define("RANK", len(sizes))
    out.define("THREADS_ACROSS", tile.across)
    out.define("COLUMNS", tile.columns)
    out.define("TILE_ROWS", tile.rows)
    out.define("PLANES", tile.planes)
    out.define("TAPS", tile.taps)
    out.define("SPAN", tile.span)
    # Where the taps of adjacent outputs are apart, a thread's columns are spaced instead, so that neighboring
    # threads load adjacent elements (NVIDIA H200: 0.55 to 0.9 otherwise).
    is_narrower = tensor.sizes[axis] > extent.columns
    is_apart = tile.span > 0 or (one.is_sum and tile.columns > 1 and output.bits >= 16 and is_narrower)
    is_whole = tensor.sizes[axis] == extent.columns and tensor.bits >= 16 and tile.columns > 1
    out.define("COLUMN_STEP", tile.across if is_apart else 1)
    out.define("COLUMN_AXIS", axis)
    out.define("SOURCE_VECTOR", aligned_vector(tensor, axis) if is_whole else 1)
    out.define("OUTPUT_VECTOR", 1 if is_apart or tile.columns == 1 else aligned_vector(output, axis))
    params = SeparableParams(
        extents(sizes),
        known.lists,
        known.activations,
        known.elements,
        extents([down, across]),
        extent.planes,
        groups.columns,
        known.scalars,
    )
    out.dispatch(params, groups, False)
    return True
