"""Separable taps, passes of definitions: each output element is made of a box of elements, by taps along each
axis.

A group computes a tile of three dimensions, those that are innermost in the output's memory: columns, rows
and planes. It starts by tabulating the taps of these.
"""

from __future__ import annotations

from typing import NamedTuple

from .definition_types import Definition, DefinitionShader, SeparablePass
from .loops import aligned_vector, ceil_div, element_count, outermost_first, times
from .operands import NONE, Tensor, Tensors, Threads
from .planning import Planning
from .tensors import are_native

SEPARABLE_THREADS = 256
"threads in a group"
SEPARABLE_GROUPS = 264
"groups that occupy a GPU; with fewer, each has fewer planes and rows"
SEPARABLE_TABLE = 6144
"words of shared memory, at most"
SEPARABLE_COLUMNS = 128
"columns of a tile, at most"
SEPARABLE_ROWS = 16
"rows of a tile, at most"

MOST_TAPS = 64
"""Taps along an axis for which tables may have room."""


class SeparableTile(NamedTuple):
    """A group's tile: its planes, rows and columns; the `vector` of adjacent columns that a thread stores at
    once; and the `taps` along an axis for which its tables have room."""

    planes: int
    rows: int
    columns: int
    vector: int
    taps: int


class Extent(NamedTuple):
    """An output as elements of a row, rows of a plane, planes of a volume, and volumes, in its order in
    memory."""

    columns: int
    rows: int
    planes: int
    volumes: int


def extent_of(output: Tensor) -> Extent:
    """The extent of an output of two dimensions or more."""
    order = outermost_first(output.sizes, output.strides)
    rank = len(order)
    columns, rows = output.sizes[order[rank - 1]], output.sizes[order[rank - 2]]
    planes = output.sizes[order[rank - 3]] if rank > 2 else 1
    return Extent(columns, rows, planes, element_count(output.sizes) // (columns * rows * planes))


def separable_place(op: Definition, shader: DefinitionShader) -> int:
    """The pass that applies, by its place; NONE if none does."""
    for place, one in enumerate(shader.separable):
        rank = op.separable.rank
        is_whole = rank == len(op.tensors[one.output].sizes) and rank == len(op.tensors[one.tensor].sizes)
        if op.separable.applies[place] == 1 and is_whole and rank > 1 and are_native(op.tensors):
            return place
    return NONE


def words_of_tile(tile: SeparableTile, rank: int) -> int:
    """The words of shared memory that a tile takes."""
    return times(tile.columns + tile.rows + tile.planes + rank, tile.taps + 3)


def tiles_of(tile: SeparableTile, extent: Extent) -> int:
    """The tiles of an output."""
    plane = times(ceil_div(extent.columns, tile.columns), ceil_div(extent.rows, tile.rows))
    return times(times(plane, ceil_div(extent.planes, tile.planes)), extent.volumes)


def separable_tile(one: SeparablePass, tensor: Tensor, output: Tensor) -> SeparableTile:
    """The largest tile for which there is room and that leaves enough groups."""
    order = outermost_first(output.sizes, output.strides)
    extent, rank, taps = extent_of(output), len(order), 1
    for d, size in enumerate(output.sizes):
        if one.is_sum and tensor.sizes[d] != size:  # weights depend on distance
            taps = max(taps, min(2 * ceil_div(tensor.sizes[d], size) + 2, MOST_TAPS))
    vector = aligned_vector(output, order[rank - 1]) if not one.is_sum or output.bits == 8 else 1
    parts = ceil_div(extent.columns, SEPARABLE_COLUMNS)
    columns = ceil_div(ceil_div(extent.columns, parts), vector) * vector
    planes = min(extent.planes, 8 if extent.planes % 8 == 0 and vector == 1 else 4)
    tile = SeparableTile(planes, 1, columns, vector, taps)
    while tile.planes > 1 and tiles_of(tile, extent) < SEPARABLE_GROUPS:
        tile = tile._replace(planes=tile.planes // 2)
    while tile.columns > vector and words_of_tile(tile, rank) > SEPARABLE_TABLE:
        tile = tile._replace(columns=tile.columns // (2 * vector) * vector)
    larger = tile._replace(rows=2)
    while (
        larger.rows <= SEPARABLE_ROWS
        and words_of_tile(larger, rank) <= SEPARABLE_TABLE
        and tiles_of(larger, extent) >= SEPARABLE_GROUPS
    ):
        tile = larger
        larger = tile._replace(rows=2 * tile.rows)
    return tile


def define_separable(out: Planning, one: SeparablePass, tensors: Tensors) -> Threads:
    """The macros of a pass, and its threads."""
    output = tensors[one.output]
    tile = separable_tile(one, tensors[one.tensor], output)
    out.define("PLANES", tile.planes)
    out.define("OUTPUT_VECTOR", tile.vector)
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TAPS", tile.taps)
    return Threads(times(tiles_of(tile, extent_of(output)), SEPARABLE_THREADS), SEPARABLE_THREADS)
