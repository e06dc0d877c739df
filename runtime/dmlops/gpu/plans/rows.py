"""Rows, a pass of definitions: outputs that follow element by element from statistics of rows."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .defined import Definition, DefinitionShader, RowsPass
from .definition import plan_definition
from .forms import begin_form
from .known import Lists
from .loops import (
    COUNT_LIMIT,
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
    vector_width,
)
from .planning import Planning
from .reduce import sets_of, shared
from .told import Sizes, Tensor
from .tuning import ROWS_PART


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
    """Loops from one row to the next, and over a row, and the elements of a vector along the innermost. Loops
    have the stride of the rows' tensor, that of each tensor, and the first one again."""

    kept: Loops
    reduced: Loops
    vector: int


def taking_part(rows: RowsPass) -> int:
    """The tensors that are read or written, as bits."""
    return rows.read | rows.each | rows.of_rows


def fits(told: Definition, shader: DefinitionShader) -> bool:
    """Whether all tensors that take part have the dimensions of the rows' one, each of its size or 1, and
    outputs all elements that they should have."""
    rows = shader.rows
    source = told.tensors[rows.source]
    for place, tensor in enumerate(told.tensors):
        takes_part = taking_part(rows) >> place & 1 == 1
        if takes_part and tensor.is_present:
            if len(tensor.sizes) != len(source.sizes):
                return False
            for d, size in enumerate(tensor.sizes):
                is_one = rows.of_rows >> place & 1 == 1 and told.reduced[d] == 1
                is_whole = size == (1 if is_one else source.sizes[d])
                if not is_whole and (size != 1 or rows.read >> place & 1 == 0):
                    return False
    return True


def stride_of(tensor: Tensor, axis: int) -> int:
    """How far apart neighbours along a dimension are, 0 where all are the same element."""
    return tensor.strides[axis] if tensor.is_present and tensor.sizes[axis] > 1 else 0


def loops_along(told: Definition, shader: DefinitionShader, axes: Sizes) -> Loops:
    """The dimensions of the rows' tensor, merged; the first and the last stride of a loop are that one's."""
    source = told.tensors[shader.rows.source]
    taking = taking_part(shader.rows)
    loops: Loops = []
    for axis in axes:
        strides: Row = [source.strides[axis]]
        for place, tensor in enumerate(told.tensors):
            strides.append(stride_of(tensor, axis) if taking >> place & 1 == 1 else 0)
        strides.append(source.strides[axis])
        loops.append(Loop(source.sizes[axis], strides))
    loops = merged(loops)
    if len(loops) == 0:
        loops.append(lone(len(told.tensors) + 2, 0))
    return loops


def others_of(kept: Loops, reduced: Loops, place: int) -> Words:
    """The strides of a tensor but for the innermost loop of a row."""
    others: Words = [loop.strides[place] for loop in kept]
    for loop in reduced[:-1]:
        others.append(loop.strides[place])
    return others


def vector_along(told: Definition, shader: DefinitionShader, kept: Loops, reduced: Loops) -> int:
    """The elements that make up a vector: neighbours in the rows' tensor and in outputs as large."""
    inner = reduced[-1]
    vector = 0
    for place, tensor in enumerate(told.tensors):
        is_whole = shader.rows.each >> place & 1 == 1 or place == shader.rows.source
        if is_whole and tensor.is_present:
            others = others_of(kept, reduced, place + 1)
            own = vector_width(tensor.bits, inner.size, inner.strides[place + 1], others)
            vector = gcd(vector, own)
    return vector


def layout_of(told: Definition, shader: DefinitionShader) -> Layout:
    """How rows lie in tensors. Without statistics, any loop makes a row, and the innermost is the best."""
    between: Annotated[list[int], 8] = []
    within: Annotated[list[int], 8] = []
    for axis in range(len(told.tensors[shader.rows.source].sizes)):
        if len(told.reduced) > 0 and told.reduced[axis] == 0:
            between.append(axis)
        else:
            within.append(axis)
    kept = loops_along(told, shader, between)
    reduced = loops_along(told, shader, within)
    if len(told.reduced) == 0:
        kept = reduced[:-1]
        reduced = reduced[-1:]
    if len(kept) == 0:
        kept.append(lone(len(told.tensors) + 2, 0))
    return Layout(kept, reduced, vector_along(told, shader, kept, reduced))


def tell_vectors(out: Planning, told: Definition, shader: DefinitionShader, found: Layout) -> None:
    """The macros that say how tensors are read and written along a row."""
    inner = found.reduced[-1]
    for place, tensor in enumerate(told.tensors):
        if taking_part(shader.rows) >> place & 1 == 1:
            others = others_of(found.kept, found.reduced, place + 1)
            own = vector_width(tensor.bits, inner.size, inner.strides[place + 1], others)
            is_packed = tensor.is_present and own >= found.vector
            out.define(f"{tensor.macro}_VECTOR", found.vector if is_packed else 1)
            if shader.rows.read >> place & 1 == 1:
                is_one = all(loop.strides[place + 1] == 0 for loop in found.reduced)
                out.define(f"{tensor.macro}_SINGLE", int(is_one))


def of_tensors(loops: Loops) -> Dimensions:
    """Loops as shaders take them, with one stride for each tensor."""
    return dimensions([Loop(loop.size, loop.strides[1:-1]) for loop in loops])


def plan_rows(out: Planning, told: Definition, shader: DefinitionShader) -> None:
    """One dispatch; the passes of the definition where tensors do not fit together."""
    if told.is_double or not fits(told, shader):
        plan_definition(out, told, shader)
        return
    output = told.tensors[shader.rows.output]
    known = begin_form(out, told, shader, output)
    found = layout_of(told, shader)
    tell_vectors(out, told, shader, found)
    vectors: Loops = found.reduced[:-1]
    vectors.append(in_steps(found.reduced[-1], found.vector))
    sets = sets_of(found.kept, vectors)
    sharing = shared(sets)
    block = sharing.lanes * sharing.unroll
    extent = sets.extent if len(told.reduced) > 0 else min(sets.extent, ROWS_PART * block)
    parts = ceil_div(sets.extent, extent)
    if len(shader.kept) > 0:
        out.write(out.scratch(8))
    all_parts = ceil_div(sets.number * sharing.lanes, sharing.threads) * parts
    groups = grid(out, all_parts * sharing.threads, sharing.threads, 1)
    out.define("PASS", shader.rows.number)
    out.define("NUM_THREADS", sharing.threads)
    out.define("LANES", sharing.lanes)
    out.define("ACROSS", int(sharing.is_across))
    out.define("UNROLL", sharing.unroll)
    out.define("WHOLE", int(sets.extent <= block))
    out.define("VECTOR", found.vector)
    out.define("KEPT_RANK", len(found.kept))
    out.define("REDUCED_RANK", len(vectors))
    params = RowsParams(
        known.lists,
        known.activations,
        told.elements,
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
    out.dispatch(params, groups, False)
