"""Gathers: maps one operand of which has offsets that an index tensor selects."""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .loops import (
    Dimensions,
    Loop,
    Loops,
    Words,
    dimensions,
    grid,
    in_steps,
    merged,
    repeats,
    vector_width,
)
from .map import vectors_ahead
from .operands import MAX_RANK, NO_MEMBER, Lookup, Lookups, Movement, Read, Tensor, Written
from .planning import Planning
from .reasons import Reason
from .tensors import check_offsets, check_span, define_moved, define_tensor

GATHER_THREADS = 512  # NVIDIA H200: 128 at 0.82, 256 at 0.95, 1024 at 0.94
"threads in a group"
STRIP_BYTES = 128  # NVIDIA H200: 32 at 0.82, 64 at 0.98, 256 at 0.90
"bytes of the strips that neighboring threads walk down row by row: a cache line"

INPUT = 0  # the strides of a loop, in the order of the tensors
INDICES = 1
OUTPUT = 2


class Gather(NamedTuple):
    """The planner's input."""

    input: Tensor
    indices: Tensor
    output: Tensor
    movement: Movement


class GatherResources(NamedTuple):
    input: Read
    indices: Read
    output: Written


class GatherLookup(NamedTuple):
    size: int
    inputStride: int
    indicesOffset: int


class GatherParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "vectors in OutputTensor"
    groupColumns: int
    "thread groups along x"
    inputStep: int
    "input stride between the elements of a vector"
    indicesStep: int
    "index stride between the elements of a vector"
    dimensions: Annotated[Dimensions, "RANK", "input", "indices", "output"]
    "outermost first"
    lookups: Annotated[list[GatherLookup], 8, "LOOKUPS"]


class Moved(NamedTuple):
    """`output[o] = input[i + sum(normalize(index[x + l.offset], l.size) * l.stride)]`, in elements of `bytes`
    bytes.

    `o`, `i` and `x` are sums of coordinate times stride over the loops, outermost first.
    """

    bytes: int
    loops: Loops
    lookups: Lookups


def widened(moved: Moved) -> Moved:
    """The movement in wider elements, up to 16 bytes, if it copies contiguous runs."""
    inner = moved.loops[-1]
    if inner.strides[INPUT] != 1 or inner.strides[INDICES] != 0 or inner.strides[OUTPUT] != 1:
        return moved
    factor = gcd(16 // moved.bytes, inner.size)
    for loop in moved.loops[:-1]:
        factor = gcd(factor, gcd(loop.strides[INPUT], loop.strides[OUTPUT]))
    for lookup in moved.lookups:
        factor = gcd(factor, lookup.stride)
    loops: Loops = [
        Loop(
            loop.size,
            [loop.strides[INPUT] // factor, loop.strides[INDICES], loop.strides[OUTPUT] // factor],
        )
        for loop in moved.loops[:-1]
    ]
    loops.append(Loop(inner.size // factor, [1, 0, 1]))
    return Moved(
        moved.bytes * factor,
        merged(loops),
        [Lookup(lookup.size, lookup.stride // factor, lookup.offset) for lookup in moved.lookups],
    )


def striped(moved: Moved) -> Moved:
    """The movement down strips as wide as a cache line, if indices select the row to read from.

    Row by row, each element of a row may come from another row of the input, and by the time its neighbors
    in memory are needed, the cache has evicted them. The rows of a strip fit.
    """
    rank = len(moved.loops)
    if rank < 2 or rank >= MAX_RANK:
        return moved
    inner = moved.loops[-1]
    width = STRIP_BYTES // moved.bytes
    chosen = inner.strides[INPUT] == 1 and inner.strides[OUTPUT] == 1 and inner.strides[INDICES] > 0
    if not chosen or inner.size % width != 0 or inner.size == width:
        return moved
    loops: Loops = moved.loops[: rank - 2]
    loops.append(in_steps(inner, width))
    loops.append(moved.loops[-2])
    loops.append(Loop(width, inner.strides))
    return Moved(moved.bytes, loops, moved.lookups)


def moved_of(out: Planning, op: Gather) -> Moved:
    """The movement as described, in as few loops as possible."""
    movement = op.movement
    if not movement.is_followed or len(movement.lookups) == 0:
        out.refuse(Reason.UNSUPPORTED_INDEXING, NO_MEMBER, 0)
    loops: Loops = [
        Loop(size, [movement.strides[place], movement.steps[place], op.output.strides[place]])
        for place, size in enumerate(op.output.sizes)
    ]
    return Moved(op.output.bits // 8, merged(loops), movement.lookups)


def plan_gather(out: Planning, op: Gather) -> None:
    """The one dispatch that gathers, with the fastest variant of the shader."""
    check_span(out, op.input)
    check_offsets(out, op.indices)
    check_offsets(out, op.output)
    moved = striped(widened(moved_of(out, op)))
    loops, inner = moved.loops, moved.loops[-1]
    bits = moved.bytes * 8
    outer: Words = [loop.strides[OUTPUT] for loop in loops[:-1]]
    vector = vector_width(bits, inner.size, inner.strides[OUTPUT], outer)
    by_tuples = len(moved.lookups) > 1 and inner.strides[INDICES] > 1
    if by_tuples and bits > 8:  # bytes are written in fours
        vector = 1
    vectors: Loops = loops[:-1]
    vectors.append(in_steps(inner, vector))
    count = repeats(vectors)
    ahead = 1 if by_tuples else vectors_ahead(count, bits * vector, GATHER_THREADS)
    groups = grid(out, count // ahead, GATHER_THREADS, ahead)
    define_moved(out, op.input._replace(bits=bits))
    define_tensor(out, op.indices)
    define_moved(out, op.output._replace(bits=bits))
    out.bind(GatherResources(op.input.buffer, op.indices.buffer, op.output.buffer))
    out.define("LOOKUPS", len(moved.lookups))
    out.define("RANK", len(vectors))
    out.define("VECTOR", vector)
    out.define("VECTORS", ahead)
    out.define("NUM_THREADS", GATHER_THREADS)
    out.dispatch(
        GatherParams(
            count,
            groups.columns,
            inner.strides[INPUT],
            inner.strides[INDICES],
            dimensions(vectors),
            [GatherLookup(lookup.size, lookup.stride, lookup.offset) for lookup in moved.lookups],
        ),
        groups,
        False,
    )
