"""Sums of selected terms, passes of definitions: gradients of sampling.

A table has a bit per term for each coordinate along each dimension tested, and a bit per 32 terms. Most terms
that do not reach an element are thus skipped 1024 at a time.
"""

from __future__ import annotations

from .definition_types import Definition, DefinitionShader
from .loops import ceil_div, element_count, times
from .operands import NONE, Eight

SPARSE_SUM_ELEMENTS = 16  # NVIDIA H200: 4 at 0.84, 8 at 0.83, 32 at 0.81
"elements that share the search for their terms, at most"
SPARSE_SUM_ROOM = 33554432  # 128 MiB
"words of the table that marks the terms to add, at most; with more, each element tests all terms"
BLOCK_WORDS = 33
"words of the table for 1024 terms and one coordinate"


def table_of_terms(op: Definition, shader: DefinitionShader) -> Eight:
    """The table of the output that sums selected terms: its blocks of 1024 terms, and the coordinates tested;
    these are none if there is no such output, or no room."""
    sparse_sum, blocks, coordinates = shader.sparse_sum, ceil_div(element_count(op.terms), 1024), 0
    if sparse_sum.number != NONE and op.tensors[sparse_sum.output].is_present:
        for d, size in enumerate(op.tensors[sparse_sum.output].sizes):
            coordinates += size * (sparse_sum.tested >> d & 1)
    if times(BLOCK_WORDS * blocks, coordinates) > SPARSE_SUM_ROOM:
        coordinates = 0
    table: Eight = [blocks, coordinates]
    return table
