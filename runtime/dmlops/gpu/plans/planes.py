"""Outputs as planes of two dimensions: tiles of columns and rows, and their constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .common_bindings import CommonConstants, Lists
from .definition_types import Definition
from .loops import Dimensions, Words, element_count, extents
from .operands import Groups, Sizes


class Extent(NamedTuple):
    """An output as elements of a row, rows of a plane, and planes."""

    columns: int
    rows: int
    planes: int


class PlanesParams(NamedTuple):
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
    """An output of these sizes by its last two dimensions; with one row if it has only one dimension."""
    columns = sizes[-1]
    rows = sizes[-2] if len(sizes) > 1 else 1
    return Extent(columns, rows, element_count(sizes) // (columns * rows))


def planes_params(
    op: Definition, sizes: Sizes, known: CommonConstants, down: int, across: int, groups: Groups
) -> PlanesParams:
    """The constants of a pass with that many tiles down and across each plane of an output of these sizes."""
    return PlanesParams(
        extents(sizes),
        known.lists,
        known.activations,
        op.elements,
        extents([down, across]),
        extent_of(sizes).planes,
        groups.columns,
        known.scalars,
    )
