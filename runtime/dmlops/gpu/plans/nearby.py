"""Sums of an intermediate tensor over a box around each element, a pass of definitions: gradients of
poolings.

A group computes a tile of the last two dimensions, and the entries that it needs itself.
"""

from __future__ import annotations

from typing import NamedTuple

from .defined import MAX_COUNT, Definition, DefinitionShader
from .definition import plan_definition
from .forms import begin_form
from .loops import ceil_div, element_count, grid, times
from .planes import extent_of, planes_params
from .planning import Planning
from .reasons import Reason
from .told import NO_MEMBER, Tensor
from .tuning import NEARBY_COLUMNS, NEARBY_ROOM, NEARBY_ROWS, NEARBY_THREADS


class NearbyTile(NamedTuple):
    """The columns and rows of a group's tile; no rows if there is no room for the entries."""

    across: int
    rows: int


def entries_needed(told: Definition, output: Tensor, across: int, rows: int) -> int:
    """The entries that most tiles need: the box of one element, and what the other elements add to it."""
    count = 1
    sizes, covering = told.kept_sizes[0], told.covering
    for d, size in enumerate(covering):
        from_end = len(covering) - 1 - d
        others = across - 1 if from_end == 0 else rows - 1 if from_end == 1 else 0
        of = len(sizes) - 1 - from_end
        count = times(count, max(size, 1) + ceil_div(others * sizes[of], output.sizes[of]) + 1)
    return count


def nearby_tile(told: Definition, shader: DefinitionShader) -> NearbyTile:
    """A group's tile."""
    output = told.tensors[shader.nearby.output]
    rank = len(output.sizes)
    if told.is_double or len(told.covering) < 2 or len(told.covering) + shader.nearby.head != rank:
        return NearbyTile(0, 0)
    extent = extent_of(output.sizes)
    across = ceil_div(extent.columns, ceil_div(extent.columns, NEARBY_COLUMNS))
    rows = ceil_div(extent.rows, ceil_div(extent.rows, NEARBY_ROWS))
    while rows > 0 and entries_needed(told, output, across, rows) > NEARBY_ROOM:
        rows = rows // 2
    return NearbyTile(across, rows)


def plan_nearby(out: Planning, told: Definition, shader: DefinitionShader) -> None:
    """One dispatch; the definition's own passes if groups have no room."""
    tile = nearby_tile(told, shader)
    if tile.rows == 0:
        plan_definition(out, told, shader)
        return
    output = told.tensors[shader.nearby.output]
    kept = element_count(told.kept_sizes[0])
    if kept >= MAX_COUNT:
        out.refuse(Reason.MANY_ELEMENTS, NO_MEMBER, kept)
    known = begin_form(out, told, shader, output)
    out.write(out.scratch(8))

    extent = extent_of(output.sizes)
    down, across = ceil_div(extent.rows, tile.rows), ceil_div(extent.columns, tile.across)
    threads = tile.across * min(NEARBY_THREADS // tile.across, tile.rows)
    groups = grid(out, times(times(times(down, across), extent.planes), threads), threads, 1)
    out.define("PASS", shader.nearby.number)
    out.define("NUM_THREADS", threads)
    out.define("RANK", len(output.sizes))
    out.define("ACROSS", tile.across)
    out.define("TILE_ROWS", tile.rows)
    out.define("ROOM", NEARBY_ROOM)
    out.dispatch(planes_params(told, output.sizes, known, down, across, groups), groups, False)
