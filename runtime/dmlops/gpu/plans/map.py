"""Element-wise computation, by stepping through all tensors together: dimensions are merged as far as all
tensors allow, and vectors of adjacent elements are computed at once where layouts permit."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import bind_common, define_numbers
from .definition_types import Definition, DefinitionShader, MapPass
from .loops import (
    ELEMENTWISE_BUSY,
    MULTIPROCESSORS,
    CommonConstants,
    Dimensions,
    Loop,
    Loops,
    Row,
    Words,
    dimensions,
    grid,
    in_steps,
    merged,
    power_below,
    repeats,
    vector_width,
)
from .operands import MAX_RANK, NO_MEMBER, NONE, Lookups, Sizes, Tensor, Tensors
from .planning import Planning
from .reasons import Reason
from .runs import GATHERED, INDICES, in_runs, lookups_in_runs, lookups_of, run_of, stride_of
from .tensors import check_offsets, check_span, check_type

ELEMENTWISE_THREADS = 256  # NVIDIA H200: 64 at 1.00, 128 at 1.00, 512 at 0.99
"threads in a group"
VECTORS_BITS = 256  # NVIDIA H200: 128 at 0.92 to 1.03, and at 1.05 to 1.12 with 2**20 elements
"bits that a thread loads before it computes, at most, to load several vectors of each input"
VECTORS_MOST = 4  # NVIDIA H200: 2 at 0.91 to 1.02 for gathers, and at 0.95 to 1.02 for others
"vectors of each input that it loads before it computes, at most"
PATCH_HEIGHT = 16  # NVIDIA H200: 4 at 0.98, 8 at 1.00, 32 at 1.00
"height of a patch, in blocks: neighboring threads walk patches for locality along both dimensions"
PATCH_WIDTH = 4  # NVIDIA H200: 8 at 0.89, 16 at 0.71, 32 at 0.65
"its width, along the innermost dimension"
GATHER_THREADS = 512  # NVIDIA H200: 128 at 0.82, 256 at 0.95, 1024 at 0.94
"threads in a group whose elements are where indices point"
STRIP_BYTES = 128  # NVIDIA H200: 32 at 0.82, 64 at 0.98, 256 at 0.90
"bytes of the strips that these threads walk down row by row: a cache line"


class MapParams(NamedTuple):
    known: CommonConstants
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "items"
    groupColumns: int
    "thread groups along x"
    steps: Sizes
    dimensions: Annotated[Dimensions, "RANK"]
    "outermost first"
    lookups: Annotated[Lookups, "LOOKUPS"]


def typed_tensors(out: Planning, op: Definition, one: MapPass, run: int) -> Tensors:
    """Tensors as shaders have them: runs of raw bits are moved as one, and what is absent, and so never read,
    has the type of the output."""
    tensors: Annotated[list[Tensor], 16] = []
    for place, tensor in enumerate(op.tensors):
        if one.is_gathered and place != GATHERED:
            check_offsets(out, tensor)
        else:
            check_span(out, tensor)
        typed = tensor._replace(bits=run * tensor.bits if tensor.as_bits else tensor.bits)
        if not tensor.is_present:
            last = op.tensors[-1]
            typed = last._replace(macro=tensor.macro, buffer=tensor.buffer, is_present=False, is_output=False)
        if op.widened >> place & 1 == 1 and not typed.is_float:
            check_type(out, 64, True)
        tensors.append(typed)
    return tensors


def has_dimensions(op: Definition, one: MapPass, place: int) -> bool:
    """Whether a tensor is present and read at more than its first element."""
    return op.tensors[place].is_present and one.single >> place & 1 == 0


def check_ranks(out: Planning, op: Definition, one: MapPass) -> None:
    """Rejects tensors with other dimensions than the one visited."""
    for place, tensor in enumerate(op.tensors):
        if has_dimensions(op, one, place) and len(tensor.strides) != len(op.tensors[one.over].sizes):
            out.refuse(Reason.RANK_MISMATCH, NO_MEMBER, len(tensor.strides))


def is_one_each(elements: int) -> bool:
    """Whether threads compute one element each: they fill no more than a group on each multiprocessor."""
    return elements <= MULTIPROCESSORS * ELEMENTWISE_THREADS


def loops_in_step(out: Planning, op: Definition, one: MapPass) -> Loops:
    """The dimensions of the tensor visited, merged."""
    check_ranks(out, op, one)
    loops: Loops = []
    for axis, size in enumerate(op.tensors[one.over].sizes):
        strides: Row = []
        for place, tensor in enumerate(op.tensors):
            strides.append(tensor.strides[axis] if has_dimensions(op, one, place) else 0)
        loops.append(Loop(size, strides))
    return merged(loops)


def loaded_at_once(bits: int, loops: Loops, place: int, along: int, vector: int) -> int:
    """The elements of a tensor, of a vector of them along a loop, that are loaded at once, from a single word
    or vector."""
    if loops[along].strides[place] != 1:
        return 1
    width = min(vector, 128 // bits)
    for number, loop in enumerate(loops):
        if number != along:
            width = gcd(width, loop.strides[place])
    return width


def other_loop(op: Definition, loops: Loops, vector: int) -> int:
    """The other dimension of blocks, along which an input is contiguous; NONE if blocks are of no use."""
    if vector > 1 and len(loops) <= MAX_RANK - 2:
        for along in range(len(loops) - 1):
            if loops[along].size % vector == 0:
                for place in range(len(op.tensors) - 1):
                    is_repeated = loops[len(loops) - 1].strides[place] == 0  # and so it stays in caches
                    bits = op.tensors[place].bits
                    if not is_repeated and loaded_at_once(bits, loops, place, along, vector) == vector:
                        return along
    return NONE


def patches(other: Loop, inner: Loop, height: int, width: int) -> Loops:
    """Loops over patches of at most this height and width, so that neighboring threads stay close along both
    dimensions."""
    high, wide = gcd(height, other.size), gcd(width, inner.size)
    found: Loops = [in_steps(other, high), in_steps(inner, wide)]
    found = [loop for loop in found if loop.size > 1]
    found.append(Loop(high, other.strides))
    found.append(Loop(wide, inner.strides))
    return found


def vectors_ahead(count: int, moved: int, threads: int) -> int:
    """The vectors, of `count`, that each of `threads` in a group loads before it computes any, given the bits
    that it loads for one, or stores if that is more: those that fit in VECTORS_BITS, if enough threads are
    left. All have the same number, since drivers postpone loads that are not always needed."""
    ahead = power_below(VECTORS_BITS // moved, VECTORS_MOST)
    while ahead > 1:
        least = ELEMENTWISE_BUSY if 2 * ahead * moved <= VECTORS_BITS else 4 * ELEMENTWISE_BUSY
        if count >= least and count % (ahead * threads) == 0:
            return ahead
        ahead = ahead // 2
    return 1


def striped(loops: Loops, width: int) -> Loops:
    """Loops down strips of this width, if indices select the row to read from.

    Row by row, each element of a row may come from another row of the input, and by the time its neighbors
    in memory are needed, the cache has evicted them. The rows of a strip fit.
    """
    inner = loops[-1]
    is_chosen = inner.strides[GATHERED] == 1 and inner.strides[INDICES] > 0 and inner.strides[-1] == 1
    if not is_chosen or len(loops) < 2 or len(loops) >= MAX_RANK or inner.size % width != 0:
        return loops
    found: Loops = loops[:-2]
    for loop in patches(loops[-2], inner, loops[-2].size, width):
        found.append(loop)
    return found


def plan_gather(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """All elements of the output in step with their indices; runs of them are copied as one."""
    moved, indices, output = op.tensors[GATHERED], op.tensors[INDICES], op.tensors[-1]
    loops = merged(
        [
            Loop(
                size,
                [
                    stride_of(op.movement.moved, moved.strides, place + 1),
                    stride_of(op.movement.picked, indices.strides, place + 1),
                    output.strides[place],
                ],
            )
            for place, size in enumerate(output.sizes)
        ]
    )
    lookups = lookups_of(op.movement, moved, indices)
    run = run_of(128 // output.bits, loops, lookups)
    loops = striped(in_runs(loops, run), 8 * STRIP_BYTES // (run * output.bits))
    plan_loops(out, op, shader, loops, lookups_in_runs(lookups, run), run, 0)


def plan_loops(
    out: Planning,
    op: Definition,
    shader: DefinitionShader,
    loops: Loops,
    lookups: Lookups,
    run: int,
    begin: int,
) -> None:
    """The dispatch over runs of elements, from an offset in the output on."""
    one = shader.map
    known = bind_common(out, op, typed_tensors(out, op, one, run), shader)
    define_numbers(out, op, shader, False)
    scalars: Words = list(known.scalars)
    if one.is_placed:
        scalars.append(begin)
    bits, inner = run * op.tensors[-1].bits, loops[-1]
    gathers = one.is_gathered
    threads = GATHER_THREADS if gathers else ELEMENTWISE_THREADS
    by_tuples = len(lookups) > 1 and inner.strides[INDICES] > 1
    outer: Words = [loop.strides[-1] for loop in loops[:-1]]
    outer.append(begin)
    vector = vector_width(bits, inner.size, inner.strides[-1], outer)
    if (by_tuples and bits > 8) or (bits >= 32 and is_one_each(repeats(loops))):  # bytes are written in fours
        vector = 1
    other, loaded = NONE if gathers else other_loop(op, loops, vector), 0
    for place, tensor in enumerate(op.tensors[:-1]):
        along = len(loops) - 1
        if other != NONE and loaded_at_once(tensor.bits, loops, place, other, vector) == vector:
            along = other
        width = loaded_at_once(tensor.bits, loops, place, along, vector)
        for lookup in lookups:
            width = gcd(width, lookup.offset)
        if not gathers or place == INDICES:
            out.define(f"{tensor.macro}_SINGLE", int(inner.strides[place] == 0))
            out.define(f"{tensor.macro}_VECTOR", width)
        if not gathers:
            out.define(f"{tensor.macro}_TRANSPOSED", int(along == other))
            if has_dimensions(op, one, place):
                loaded += tensor.bits * vector
    vectors: Loops = [loop for place, loop in enumerate(loops[:-1]) if place != other]
    if other == NONE:
        vectors.append(in_steps(inner, vector))
    else:
        high, wide = in_steps(loops[other], vector), in_steps(inner, vector)
        for loop in patches(high, wide, PATCH_HEIGHT, PATCH_WIDTH):
            vectors.append(loop)
    count, moved = repeats(vectors), max(loaded, bits * vector)
    ahead = 1 if other != NONE or by_tuples else vectors_ahead(count, moved, threads)
    groups = grid(out, count // ahead, threads, ahead)
    out.define("RANK", len(vectors))
    out.define("VECTOR", vector)
    out.define("VECTORS", ahead if other == NONE else vector)
    out.define("NUM_THREADS", threads)
    if gathers:
        out.define("LOOKUPS", len(lookups))
    else:
        out.define("BLOCKS", int(other != NONE))
    steps: Sizes = list(inner.strides[:-1])
    params = MapParams(
        known._replace(scalars=scalars),
        count,
        groups.columns,
        steps,
        dimensions(vectors),
        lookups,
    )
    out.dispatch(params, groups, False)


def plan_map(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """One dispatch: of what is gathered, or of all tensors in step, since they have the sizes of the one
    visited, which may be stored from a coordinate in the output on."""
    if shader.map.is_gathered:
        plan_gather(out, op, shader)
        return
    lookups: Lookups = []
    begin = 0
    if shader.map.is_placed:
        for place, entry in enumerate(op.begin):
            begin += entry * op.tensors[-1].strides[place]
    plan_loops(out, op, shader, loops_in_step(out, op, shader.map), lookups, 1, begin)
