"""Contractions: an output from sums of products of two factors, tile by tile through group memory.

The output is seen as matrices. Of the dimensions that only the left factor has, the longest counts their
rows, of those that only the right one has, the longest counts their columns; all other dimensions count
matrices, along which a factor may have a step of 0.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .definition import (
    MAX_COUNT,
    NONE,
    Definition,
    DefinitionShader,
    Eight,
    Known,
    Lists,
    plan_definition,
    space_of,
    tell_known,
)
from .loops import Words, ceil_div, check_span, element_count, grid, times
from .planning import Planning
from .told import Signed, Sizes, Tensor

LEAST_PRODUCTS = 4096  # of all sums of a matrix; below, the definition itself is as good
DEPTH = 16  # of a tile
WALK = 8  # rows of tiles that are walked together, so that what they read stays in the cache
FEW_ROWS = 32
MANY_TILES = 256  # of the large kind, which keep a large GPU busy
ENOUGH_GROUPS = 512  # where sums have to be worked out in parts for that
LEAST_PART = 256  # products in a part of a sum
SUM_THREADS = 256


class Tile(NamedTuple):
    """What a group works out: elements of a matrix; each of its threads has so many of them."""

    rows: int
    columns: int
    threadRows: int
    threadColumns: int


class Side(NamedTuple):
    """How a factor is read: its steps along the dimensions of the output, and from one product to the next.

    `vector` neighbours in memory are read at once: of one sum if `is_along`, else of as many rows or columns.
    """

    steps: Eight
    depth: int
    is_along: bool
    vector: int


class Matrices(NamedTuple):
    """The output as matrices. `is_worth`: tiles are faster than the definition."""

    is_worth: bool
    sizes: Sizes
    row_axis: int
    column_axis: int
    rows: int
    columns: int
    depth: int
    count: int  # type: ignore[assignment]  # it hides a method of tuples
    left: Side
    right: Side


class Share(NamedTuple):
    """How groups share the work: tiles along a matrix, parts of each sum, and the products in a part."""

    tile: Tile
    down: int
    across: int
    parts: int
    products: int


class ContractionParams(NamedTuple):
    sizes: Eight
    "of the output, 1 along rows and columns: what is left counts matrices"
    leftSteps: Eight
    "from one element of the output to the next; lists fill two vectors"
    rightSteps: Eight
    lists: Lists
    activations: Annotated[list[int], 32]
    rank: Signed
    "entries of sizes"
    matrices: int
    matrixRows: int
    matrixColumns: int
    matrixDepth: int
    "products of a sum"
    leftDepthStep: int
    "from one product to the next"
    rightDepthStep: int
    partDepth: int
    "products of a part of a sum"
    parts: int
    tilesDown: int
    "of a matrix"
    tilesAcross: int
    groupColumns: int
    "thread groups along x"
    elements: Words
    scalars: Words


def is_read(places: Sizes, axis: int) -> bool:
    """Whether a factor is read at the coordinate of that dimension."""
    return any(place == axis for place in places)


def own_axis(sizes: Sizes, places: Sizes, others: Sizes) -> int:
    """The longest dimension that only one factor has; NONE where there is none."""
    found, longest = NONE, 0
    for axis, size in enumerate(sizes):
        if is_read(places, axis) and not is_read(others, axis) and size > longest:
            found, longest = axis, size
    return found


def step_of(tensor: Tensor, places: Sizes, axis: int) -> int:
    """How far apart the elements are that belong to neighbours along a dimension of the output."""
    step = 0
    for place, stride in zip(places, tensor.strides, strict=True):
        if place == axis:
            step += stride
    return step


def side_of(tensor: Tensor, places: Sizes, sizes: Sizes, axis: int, depth: int) -> Side:
    """How a factor is read, of which `axis` counts rows or columns."""
    steps: Eight = [step_of(tensor, places, d) if size > 1 else 0 for d, size in enumerate(sizes)]
    step = step_of(tensor, places, len(sizes))
    is_along = step == 1 or (steps[axis] != 1 and step < steps[axis])
    vector = 4 if step == 1 or steps[axis] == 1 else 1
    vector = gcd(vector, depth if is_along else sizes[axis])
    for d, other in enumerate(steps):
        if is_along or d != axis:
            vector = gcd(vector, other)
    if not is_along:
        vector = gcd(vector, step)
    while len(steps) < 8:
        steps.append(0)
    return Side(steps, step, is_along, vector)


def matrices_of(told: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices."""
    factors, contracted = told.factors, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    row_axis = own_axis(output.sizes, factors.left, factors.right)
    column_axis = own_axis(output.sizes, factors.right, factors.left)
    is_there = row_axis != NONE and column_axis != NONE
    rows = output.sizes[row_axis] if is_there else 1
    columns = output.sizes[column_axis] if is_there else 1
    products = times(times(rows, columns), factors.depth)
    is_whole = output.bits >= 16 and left.bits >= 16 and right.bits >= 16
    is_worth = is_there and is_whole and not told.is_double and products >= LEAST_PRODUCTS
    return Matrices(
        is_worth,
        output.sizes,
        row_axis,
        column_axis,
        rows,
        columns,
        factors.depth,
        element_count(output.sizes) // (rows * columns),
        side_of(left, factors.left, output.sizes, row_axis, factors.depth),
        side_of(right, factors.right, output.sizes, column_axis, factors.depth),
    )


def tile_for(found: Matrices) -> Tile:
    """The tile that suits the matrices: as large as leaves enough of them."""
    if found.rows <= FEW_ROWS:
        return Tile(16, 128, 4, 4)
    if times(ceil_div(found.rows, 128) * ceil_div(found.columns, 128), found.count) >= MANY_TILES:
        return Tile(128, 128, 8, 8)
    return Tile(64, 64, 8, 4)


def share_of(found: Matrices) -> Share:
    """How groups share the work. Sums are worked out in parts where there are few tiles."""
    tile = tile_for(found)
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    groups = times(down * across, found.count)
    is_busy = 2 * groups >= ENOUGH_GROUPS
    parts = 1 if is_busy else max(min(ceil_div(ENOUGH_GROUPS, groups), found.depth // LEAST_PART), 1)
    products = max(ceil_div(ceil_div(found.depth, parts), DEPTH), 1) * DEPTH
    parts = max(ceil_div(found.depth, products), 1)
    return Share(tile, down, across, parts, products)


def stored_at_once(found: Matrices, output: Tensor) -> int:
    """Neighbours along a row that a thread stores at once."""
    if output.strides[found.column_axis] != 1:
        return 1
    vector = gcd(4, found.columns)
    for axis, stride in enumerate(output.strides):
        if axis != found.column_axis and output.sizes[axis] > 1:
            vector = gcd(vector, stride)
    return 4 if vector == 4 else 1


def plan_contraction(out: Planning, told: Definition, shader: DefinitionShader) -> None:
    """One dispatch, two where sums are worked out in parts; the passes of the definition where those are as
    good."""
    found = matrices_of(told, shader)
    share = share_of(found)
    output = told.tensors[shader.contracted.output]
    whole = element_count(output.sizes)
    if not found.is_worth or times(whole, share.parts) >= MAX_COUNT:
        plan_definition(out, told, shader)
        return
    out.begin()
    for tensor in told.tensors:
        if tensor.is_present:
            check_span(out, tensor)
    tile = share.tile
    known = tell_known(out, told, shader, 0, space_of(told, shader, 0), output.buffer)
    out.define("ROW_AXIS", found.row_axis)
    out.define("COLUMN_AXIS", found.column_axis)
    out.define("LEFT_VECTOR", found.left.vector)
    out.define("LEFT_ALONG", int(found.left.is_along))
    out.define("RIGHT_VECTOR", found.right.vector)
    out.define("RIGHT_ALONG", int(found.right.is_along))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", DEPTH)
    out.define("TILES_WALKED", WALK)
    out.define("THREAD_ROWS", tile.threadRows)
    out.define("THREAD_COLUMNS", tile.threadColumns)
    out.define("IN_PARTS", int(share.parts > 1))
    out.bind(out.scratch(4 * whole * share.parts if share.parts > 1 else 8))
    out.share()

    threads = tile.rows * tile.columns // (tile.threadRows * tile.threadColumns)
    groups = share.down * share.across * found.count * share.parts
    out.define("OUTPUT_VECTOR", 1 if share.parts > 1 else stored_at_once(found, output))
    out.define("PASS", shader.contracted.number)
    dispatch_contraction(out, told, found, share, known, groups * threads, threads)
    if share.parts > 1:
        out.define("OUTPUT_VECTOR", 1)
        out.define("PASS", shader.contracted.number + 1)
        dispatch_contraction(out, told, found, share, known, whole, SUM_THREADS)


def dispatch_contraction(
    out: Planning,
    told: Definition,
    found: Matrices,
    share: Share,
    known: Known,
    threads: int,
    in_group: int,
) -> None:
    """A dispatch of so many threads; a second one waits for the first."""
    sizes: Eight = []
    for axis, size in enumerate(found.sizes):
        sizes.append(size if axis != found.row_axis and axis != found.column_axis else 1)
    rank = len(sizes)
    while len(sizes) < 8:
        sizes.append(0)
    groups = grid(out, threads, in_group, 1)
    out.define("NUM_THREADS", in_group)
    params = ContractionParams(
        sizes,
        [step % 2**32 for step in found.left.steps],
        [step % 2**32 for step in found.right.steps],
        known.lists,
        known.activations,
        rank,
        found.count,
        found.rows,
        found.columns,
        found.depth,
        found.left.depth % 2**32,
        found.right.depth % 2**32,
        share.products,
        share.parts,
        share.down,
        share.across,
        groups.columns,
        told.elements,
        known.scalars,
    )
    out.dispatch(params, groups, share.parts > 1)
