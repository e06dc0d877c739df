"""Rows: outputs whose elements depend on statistics of their row, such as normalizations, and reductions of
rows."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .definition_types import Definition, DefinitionShader, RowsPass
from .loops import (
    COUNT_LIMIT,
    SATURATING_THREADS,
    CommonConstants,
    Dimensions,
    Lists,
    Loops,
    Row,
    Words,
    ceil_div,
    repeats,
    times,
)
from .operands import NO_MEMBER, PLACEHOLDER, Buffer, Eight, Tensor
from .planning import Planning
from .reasons import Reason
from .row_sharing import (
    are_across,
    axes_of,
    define_sharing,
    is_even,
    loops_along,
    of_tensors,
    part_extent,
    row_loops_of,
    shared,
    vector_loop,
    widths_along,
)
from .tensors import is_double

ROWS_PART = 4  # NVIDIA H200: 2 at 1.00, 8 at 1.00, 16 at 1.00
"blocks of a row per group where rows have no statistics"


class RowsParams(NamedTuple):
    lists: Lists
    activations: Annotated[list[int], 32]
    elements: Words
    scalars: Words
    rowCount: int
    "or vectors of rows"
    rowVectors: int
    partVectors: int
    "of a part of a row"
    partCount: int
    "parts of a row"
    groupColumns: int
    "thread groups along x"
    steps: Row
    keptLoops: Annotated[Dimensions, "KEPT_RANK"]
    "outermost first"
    rowLoops: Annotated[Dimensions, "REDUCED_RANK"]


def taking_part(rows: RowsPass) -> int:
    """The tensors that are read or written, as bits."""
    return rows.read | rows.each | rows.of_rows


def fits(op: Definition, rows: RowsPass) -> bool:
    """Whether all tensors involved have the dimensions of the rows' tensor, each of the same size or 1;
    single ones have size 1 throughout, and outputs have all elements that they should. The rules of all
    operators see to it."""
    source = op.tensors[rows.source]
    for place, tensor in enumerate(op.tensors):
        if taking_part(rows) >> place & 1 == 1 and tensor.is_present:
            if len(tensor.sizes) != len(source.sizes):
                return False
            for d, size in enumerate(tensor.sizes):
                if size != 1 and rows.single >> place & 1 == 1:
                    return False
                is_one = rows.of_rows >> place & 1 == 1 and op.rows.reduced[d] == 1
                is_whole = size == (1 if is_one else source.sizes[d])
                if not is_whole and (size != 1 or rows.read >> place & 1 == 0):
                    return False
    return True


def vector_along(op: Definition, rows: RowsPass, widths: Words) -> int:
    """The elements of a vector: adjacent in the rows' tensor and in all outputs of its size."""
    vector = 0
    for place, tensor in enumerate(op.tensors):
        is_whole = rows.each >> place & 1 == 1 or place == rows.source
        if is_whole and tensor.is_present:
            vector = gcd(vector, widths[place])
    return vector


def define_vectors(
    out: Planning, op: Definition, rows: RowsPass, reduced: Loops, widths: Words, vector: int
) -> None:
    """The macros of how tensors are accessed."""
    for place, tensor in enumerate(op.tensors):
        if (rows.read | rows.each) >> place & 1 == 1:
            is_packed = tensor.is_present and widths[place] >= vector
            out.define(f"{tensor.macro}_VECTOR", vector if is_packed else 1)
            if rows.spread >> place & 1 == 1:
                is_one = all(loop.strides[place + 1] == 0 for loop in reduced)
                out.define(f"{tensor.macro}_SINGLE", int(is_one))


def order_within(op: Definition, source: Tensor, chooses: bool) -> Eight:
    """The strides by which dimensions within rows are sorted: those of their tensor or, if a reduction
    `chooses` an element, those with which the elements of a row are numbered."""
    strides: Eight = []
    stride = 1
    for place in range(len(source.sizes)):
        axis = len(source.sizes) - 1 - place
        strides.insert(0, stride if chooses else source.strides[axis])
        if chooses and op.rows.reduced[axis] == 1:
            stride = times(stride, source.sizes[axis])
    return strides


def plan_rows(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> None:
    """One dispatch. If rows are split, one for each turn of partial totals and one for the outputs."""
    rows, source = shader.rows, op.tensors[shader.rows.source]
    if is_double(op.tensors) or not fits(op, rows):
        out.refuse(Reason.UNSUPPORTED_INDEXING, NO_MEMBER, 0)
        return
    chooses = rows.choosing >> op.rows.function & 1 == 1
    if rows.functions > 1:
        out.define("FUNCTION", op.rows.function)
    if chooses:
        out.define("DECREASING", int(op.rows.decreasing))
    has_statistics, has_elements = rows.turns > 0, rows.each != 0
    order = order_within(op, source, chooses)
    kept = loops_along(source, op.tensors, taking_part(rows), axes_of(op.rows.reduced, 0), source.strides)
    reduced = loops_along(source, op.tensors, taking_part(rows), axes_of(op.rows.reduced, 1), order)
    if not has_statistics and len(reduced) > 1:  # any loop can be a row, and the innermost is best
        kept = reduced[:-1]
        reduced = reduced[-1:]
    if repeats(reduced) >= COUNT_LIMIT // 2:
        out.refuse(Reason.REDUCTION_TOO_LARGE, NO_MEMBER, repeats(reduced))
    is_across = are_across(kept, reduced)
    widths = widths_along(op.tensors, kept, reduced, is_across)
    vector = vector_along(op, rows, widths)
    if is_across and has_elements and repeats(kept) < SATURATING_THREADS:
        vector = 1
    steps = vector_loop(kept, reduced, is_across).strides
    define_vectors(out, op, rows, reduced, widths, vector)
    row_loops = row_loops_of(kept, reduced, vector, is_across, has_elements)
    extent = part_extent(row_loops) if has_statistics else row_loops.extent
    sharing = shared(row_loops, extent)
    if not has_statistics:
        extent = min(extent, ROWS_PART * sharing.lanes * sharing.unroll)
        sharing = sharing._replace(extent=extent)
    parts = ceil_div(row_loops.extent, extent)
    is_split = has_statistics and parts > 1
    if has_statistics:
        partial = Buffer(PLACEHOLDER, 0)
        if is_split:
            totals = rows.totals * row_loops.number * (vector if is_across else 1)
            partial = out.scratch((8 if source.bits == 64 else 4) * totals * parts)
        out.write(partial)
    out.define("VECTOR", vector)
    out.share()
    turns = rows.turns + 1 if is_split else 1
    for place in range(turns):
        if place > 0 and place == turns - 1 and not has_elements:
            row_loops = row_loops._replace(extent=parts)
            sharing = shared(row_loops, parts)
        groups = define_sharing(out, row_loops, sharing, has_statistics)
        out.define("EVEN", int(is_even(row_loops, sharing)))
        if has_statistics:
            out.define("TURN", place + int(is_split))
            if has_elements:
                out.define("WHOLE", int(extent <= sharing.lanes * sharing.unroll))
        params = RowsParams(
            known.lists,
            known.activations,
            known.elements,
            known.scalars,
            row_loops.number,
            row_loops.extent,
            extent,
            parts,
            groups.columns,
            [stride % COUNT_LIMIT for stride in steps[1:-1]],
            of_tensors(row_loops.kept),
            of_tensors(row_loops.reduced),
        )
        out.dispatch(params, groups, place > 0)
