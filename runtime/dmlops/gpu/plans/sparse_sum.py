"""Sums of selected terms, passes of definitions: gradients of sampling.

Tables have a bit per term for each coordinate along each dimension tested, and a bit per 32 terms. Most terms
that do not reach an element are thus skipped 1024 at a time.
"""

from __future__ import annotations

from typing import NamedTuple

from .definition_types import Definition, DefinitionShader
from .loops import ceil_div, element_count, power_below, times
from .operands import NONE, Eight

SPARSE_SUM_ELEMENTS = 16  # NVIDIA H200: 4 at 0.84, 8 at 0.83, 32 at 0.81
"elements that share the search for their terms, at most"
SPARSE_SUM_ROOM = 33554432  # 128 MiB
"words of tables that mark the terms to add, at most; with more, each element tests all terms"


class TermTables(NamedTuple):
    """The tables: rows of bits of 32 terms each, rows of bits of 32 such rows each, and the entries of a row.
    No rows if terms are not selected by tables."""

    rows: int
    blocks: int
    coordinates: int


def term_tables(op: Definition, shader: DefinitionShader) -> TermTables:
    """The tables of the output that sums selected terms, if there is one and they have room."""
    sparse_sum = shader.sparse_sum
    if sparse_sum.number == NONE or not op.tensors[sparse_sum.output].is_present:
        return TermTables(0, 0, 0)
    coordinates = 0
    for d, size in enumerate(op.tensors[sparse_sum.output].sizes):
        coordinates += size * (sparse_sum.tested >> d & 1)
    rows = ceil_div(element_count(op.terms), 32)
    if times(rows + ceil_div(rows, 32), coordinates) > SPARSE_SUM_ROOM:
        return TermTables(0, 0, 0)
    return TermTables(rows, ceil_div(rows, 32), coordinates)


def words_of_tables(tables: TermTables) -> int:
    """The words of the tables."""
    return (tables.rows + tables.blocks) * tables.coordinates


def table_constants(tables: TermTables, first: int) -> Eight:
    """The constants that describe the tables to shaders; the tables start at word `first` of scratch."""
    words: Eight = [first, tables.rows, tables.blocks, tables.coordinates, 0, 0, 0, 0]
    return words


def elements_along(size: int) -> int:
    """The elements of a thread along a dimension of that size that no test depends on."""
    return power_below(size, SPARSE_SUM_ELEMENTS)
