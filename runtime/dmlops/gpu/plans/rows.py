"""Rows: outputs whose elements depend on statistics of their row, such as normalizations, and reductions of
rows."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .capabilities import Capability
from .definition_types import Definition, DefinitionShader, RowsPass
from .loops import (
    COUNT_LIMIT,
    CommonConstants,
    Dimensions,
    Loop,
    Loops,
    Row,
    Words,
    ceil_div,
    dimensions,
    grid,
    in_steps,
    lone,
    merged,
    merged_in_order,
    repeats,
    vector_width,
)
from .operands import NO_MEMBER, PLACEHOLDER, Buffer
from .planning import Planning
from .reasons import Reason
from .row_sharing import RowShape, part_extent, shared


class RowsParams(NamedTuple):
    known: CommonConstants
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


def loops_along(op: Definition, rows: RowsPass, flag: int, in_order: bool) -> Loops:
    """The dimensions that rows run along (`flag` 1), or the others (0), merged; at least one loop. They are
    `in_order`, or sorted by the strides of the tensor that rows are of. Strides are those of all tensors, 0
    where all neighbors are the same element or if a tensor is not involved, and of that tensor again."""
    source, involved = op.tensors[rows.source], rows.read | rows.each | rows.of_rows
    loops: Loops = []
    for axis, reduced in enumerate(op.rows.reduced):
        if reduced == flag:
            strides: Row = []
            for place, tensor in enumerate(op.tensors):
                is_along = tensor.is_present and involved >> place & 1 == 1 and rows.single >> place & 1 == 0
                strides.append(tensor.strides[axis] if is_along and tensor.sizes[axis] > 1 else 0)
            strides.append(source.strides[axis])
            loops.append(Loop(source.sizes[axis], strides))
    loops.append(lone(len(op.tensors) + 1, 0))
    if in_order:
        return merged_in_order(loops)
    return merged(loops)


def of_tensors(loops: Loops) -> Dimensions:
    """Loops as shaders take them, with one stride per tensor."""
    return dimensions([Loop(loop.size, loop.strides[:-1]) for loop in loops])


def define_vectors(out: Planning, op: Definition, rows: RowsPass, kept: Loops, reduced: Loops) -> int:
    """The macros of how tensors are accessed along a row, and the elements of a vector: adjacent ones in the
    rows' tensor and in all outputs of its size."""
    vector = 0
    widths: Words = []
    for place, tensor in enumerate(op.tensors):
        others: Words = [loop.strides[place] for loop in kept]
        for loop in reduced[:-1]:
            others.append(loop.strides[place])
        widths.append(vector_width(tensor.bits, reduced[-1].size, reduced[-1].strides[place], others))
        if tensor.is_present and (rows.each >> place & 1 == 1 or place == rows.source):
            vector = gcd(vector, widths[place])
    for place, tensor in enumerate(op.tensors):
        if (rows.read | rows.each) >> place & 1 == 1:
            out.define(f"{tensor.macro}_VECTOR", vector if widths[place] >= vector else 1)
        if rows.read >> place & 1 == 1:
            out.define(f"{tensor.macro}_SINGLE", int(all(loop.strides[place] == 0 for loop in reduced)))
    out.define("VECTOR", vector)
    return vector


def plan_rows(out: Planning, op: Definition, shader: DefinitionShader, known: CommonConstants) -> None:
    """One dispatch, or two if rows are split: one for totals of parts, and one for the outputs."""
    rows, source = shader.rows, op.tensors[shader.rows.source]
    chooses = rows.choosing >> op.rows.function & 1 == 1
    if rows.cases > 1:
        out.define("FUNCTION", op.rows.function)
    has_totals, has_elements = rows.words > 0, rows.each != 0
    kept = loops_along(op, rows, 0, False)
    reduced = loops_along(op, rows, 1, chooses)
    if not has_totals and len(reduced) > 1:  # any loop can be a row, and the innermost is best
        kept = reduced[:-1]
        reduced = reduced[-1:]
    if repeats(reduced) >= COUNT_LIMIT // 2:
        out.refuse(Reason.REDUCTION_TOO_LARGE, NO_MEMBER, repeats(reduced))
    is_across = repeats(kept) > 1 and kept[-1].strides[-1] < reduced[-1].strides[-1]
    steps: Row = [stride % COUNT_LIMIT for stride in reduced[-1].strides[:-1]]
    reduced[-1] = in_steps(reduced[-1], define_vectors(out, op, rows, kept, reduced))
    shape = RowShape(repeats(kept), repeats(reduced), is_across, has_elements)
    extent = part_extent(shape)
    sharing = shared(shape, extent)
    parts = ceil_div(shape.extent, extent)
    is_split = has_totals and parts > 1
    if has_totals:
        partial = Buffer(PLACEHOLDER, 0)
        if is_split:
            bytes_ = (8 if source.bits == 64 else 4) * rows.words
            partial = out.scratch(bytes_ * shape.number * parts)
        out.write(partial)
    out.define("ADJACENT_ROWS", int(is_across))
    out.define("KEPT_RANK", len(kept))
    out.define("REDUCED_RANK", len(reduced))
    out.share()
    for place in range(2 if is_split else 1):
        if place > 0 and not has_elements:
            shape = shape._replace(extent=parts)
            sharing = shared(shape, parts)
        in_row = ceil_div(shape.extent, sharing.extent)
        count = ceil_div(shape.number * sharing.lanes, sharing.threads) * in_row
        groups = grid(out, count * sharing.threads, sharing.threads, 1)
        vectors = sharing.lanes * sharing.unroll
        out.define("NUM_THREADS", sharing.threads)
        out.define("REDUCTION_THREADS", sharing.lanes)
        out.define("UNROLL", sharing.unroll)
        out.define("EVEN", int(shape.extent % sharing.extent == 0 and sharing.extent % vectors == 0))
        if has_totals:
            out.define("WAVES", int(out.has(Capability.WAVE_OPERATIONS) and source.bits < 64))
            out.define("TURN", place + int(is_split))
            out.define("WHOLE", int(place == 0 and extent <= vectors))
        params = RowsParams(
            known,
            shape.number,
            shape.extent,
            extent,
            parts,
            groups.columns,
            steps,
            of_tensors(kept),
            of_tensors(reduced),
        )
        out.dispatch(params, groups, place > 0)
