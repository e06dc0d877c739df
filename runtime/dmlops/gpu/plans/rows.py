"""Rows, a pass of definitions: outputs whose elements depend on statistics of their row, such as
normalizations."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import Lists, begin_form
from .definition_types import Definition, DefinitionShader, RowsPass
from .loops import (
    COUNT_LIMIT,
    Dimensions,
    Loops,
    Row,
    Words,
    ceil_div,
    in_steps,
    repeats,
)
from .operands import Eight
from .planning import Planning
from .sets import (
    Sets,
    are_across,
    axes_of,
    define_sharing,
    loops_along,
    of_tensors,
    part_extent,
    shared,
    widths_along,
)

ROWS_PART = 4  # NVIDIA H200: 2 at 1.00, 8 at 1.00, 16 at 1.00
"blocks of a row per group where rows have no statistics"


class RowsParams(NamedTuple):
    lists: Lists
    activations: Annotated[list[int], 32]
    elements: Words
    scalars: Words
    rowCount: int
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


class Layout(NamedTuple):
    """Loops from row to row, and over a row, and the elements of a vector along the innermost loop, for each
    tensor and for all."""

    kept: Loops
    reduced: Loops
    widths: Words
    vector: int


def taking_part(rows: RowsPass) -> int:
    """The tensors that are read or written, as bits."""
    return rows.read | rows.each | rows.of_rows


def fits(op: Definition, shader: DefinitionShader) -> bool:
    """Whether all tensors involved have the dimensions of the rows' tensor, each of the same size or 1;
    single ones have size 1 throughout, and outputs have all elements that they should."""
    rows = shader.rows
    source = op.tensors[rows.source]
    taking = taking_part(rows)
    for place, tensor in enumerate(op.tensors):
        if taking >> place & 1 == 1 and tensor.is_present:
            if len(tensor.sizes) != len(source.sizes):
                return False
            for d, size in enumerate(tensor.sizes):
                if size != 1 and rows.single >> place & 1 == 1:
                    return False
                is_one = rows.of_rows >> place & 1 == 1 and op.reduced[d] == 1
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


def layout_of(op: Definition, shader: DefinitionShader) -> Layout:
    """The layout of rows in tensors. Without statistics any loop can be a row, and the innermost is best."""
    source = op.tensors[shader.rows.source]
    flags: Eight = []
    flags.extend(op.reduced)
    if len(flags) == 0:
        flags.extend([1] * len(source.sizes))
    taking = taking_part(shader.rows)
    kept = loops_along(source, op.tensors, taking, axes_of(flags, 0), source.strides)
    reduced = loops_along(source, op.tensors, taking, axes_of(flags, 1), source.strides)
    if len(op.reduced) == 0 and len(reduced) > 1:
        kept = reduced[:-1]
        reduced = reduced[-1:]
    outer: Loops = reduced[:-1]
    for loop in kept:
        outer.append(loop)
    widths = widths_along(op.tensors, reduced[-1], outer)
    return Layout(kept, reduced, widths, vector_along(op, shader.rows, widths))


def define_vectors(out: Planning, op: Definition, shader: DefinitionShader, found: Layout) -> None:
    """The macros of how tensors are accessed along a row."""
    in_vectors = shader.rows.read | shader.rows.each
    for place, tensor in enumerate(op.tensors):
        if in_vectors >> place & 1 == 1:
            is_packed = tensor.is_present and found.widths[place] >= found.vector
            out.define(f"{tensor.macro}_VECTOR", found.vector if is_packed else 1)
            if shader.rows.read >> place & 1 == 1:
                is_one = all(loop.strides[place + 1] == 0 for loop in found.reduced)
                out.define(f"{tensor.macro}_SINGLE", int(is_one))


def plan_rows(out: Planning, op: Definition, shader: DefinitionShader) -> bool:
    """One dispatch. If rows are split, one for each turn of partial totals and one for the outputs. False if
    tensors do not fit together."""
    if op.is_double or not fits(op, shader):
        return False
    output = op.tensors[shader.rows.output]
    known = begin_form(out, op, shader, output)
    found = layout_of(op, shader)
    define_vectors(out, op, shader, found)
    vectors: Loops = found.reduced[:-1]
    vectors.append(in_steps(found.reduced[-1], found.vector))
    is_across = are_across(found.kept, vectors)
    sets = Sets(found.kept, vectors, repeats(found.kept), repeats(vectors), is_across, True)
    has_statistics = shader.rows.turns > 0
    extent = part_extent(sets) if has_statistics else sets.extent
    sharing = shared(sets, extent)
    if not has_statistics:
        extent = min(extent, ROWS_PART * sharing.lanes * sharing.unroll)
        sharing = sharing._replace(extent=extent)
    parts = ceil_div(sets.extent, extent)
    is_split = has_statistics and parts > 1
    if len(shader.kept) > 0:
        out.write(out.scratch(4 * shader.rows.totals * sets.number * parts if is_split else 8))
    groups = define_sharing(out, sets, sharing, has_statistics)
    out.define("PASS", shader.rows.number)
    out.define("VECTOR", found.vector)
    out.share()
    params = RowsParams(
        known.lists,
        known.activations,
        op.elements,
        known.scalars,
        sets.number,
        sets.extent,
        extent,
        parts,
        groups.columns,
        [stride % COUNT_LIMIT for stride in found.reduced[-1].strides[1:-1]],
        of_tensors(found.kept),
        of_tensors(vectors),
    )
    for place in range(shader.rows.turns + 1 if is_split else 1):
        if has_statistics:
            out.define("TURN", place + int(is_split))
        out.dispatch(params, groups, place > 0)
    return True
