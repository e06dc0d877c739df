"""Element-wise computation: variants of the shader, and their constants.

Aligned shaders step through all tensors together: dimensions are merged as far as all tensors allow, and
vectors of adjacent elements are computed at once where layouts permit. Others locate each element by its
coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Annotated, NamedTuple

from .common_bindings import define_activations
from .definition_types import Definition, DefinitionShader
from .loops import (
    ELEMENTWISE_BUSY,
    MULTIPROCESSORS,
    Dimensions,
    Loop,
    Loops,
    Row,
    Words,
    dimension,
    dimensions,
    element_count,
    grid,
    in_digits,
    in_steps,
    merged,
    outermost_first,
    power_below,
    repeats,
    vector_width,
)
from .operands import MAX_RANK, NO_MEMBER, NONE, Sizes, Tensor, Tensors
from .planning import Planning
from .reasons import Reason
from .tensors import bind, check_span, check_type, define_tensor

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


class Map(NamedTuple):
    """A map as its pass and its description say: `tensors` are its inputs, followed by its output. `arrays`
    have a number for each dimension; in an aligned shader, these are the coordinate in the output at which
    the visited tensor starts."""

    is_aligned: bool
    over: int
    single: int
    blocked: int
    tensors: Tensors
    elements: Annotated[Sequence[int], 64]
    scalars: Words
    arrays: Annotated[Sequence[Sizes], 16]


class MapParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "items"
    groupColumns: int
    "thread groups along x"
    elements: Annotated[Sequence[int], 64]
    steps: Sizes
    scalars: Words
    dimensions: Annotated[Dimensions, "RANK"]
    "outermost first"


def integer(out: Planning, value: int) -> int:
    """An integer as 32 bits; it must fit as a signed one."""
    if not -(2**31) <= value < 2**31:
        out.refuse(Reason.LARGE_NUMBER, NO_MEMBER, value)
    return value % 2**32


def plan_map(out: Planning, op: Definition, shader: DefinitionShader) -> None:
    """One dispatch."""
    one, output = shader.map, op.tensors[-1]
    tensors: Annotated[list[Tensor], 16] = []
    for tensor in op.tensors:
        if tensor.is_present:
            check_span(out, tensor)
            tensors.append(tensor)
        else:  # never read; its macros are those of the output
            absent = output._replace(macro=tensor.macro, buffer=tensor.buffer, is_present=False)
            tensors.append(absent._replace(is_output=False))
    for place, bound in enumerate(op.bounds):
        out.define(shader.bounds[place], bound)
    scalars: Words = [integer(out, number) for number in op.numbers]
    if shader.is_fused:
        fused = define_activations(out, op, shader)
        out.define("ACTIVATION", fused.words[0])
        scalars.extend(fused.words[1:3])
    for place, tensor in enumerate(tensors):
        if op.widened >> place & 1 == 1 and not tensor.is_float:
            check_type(out, 64, True)
        define_tensor(out, tensor)
        bind(out, tensor)
    found = Map(one.is_aligned, one.over, one.single, one.blocked, tensors, op.elements, scalars, op.lists)
    if one.is_aligned:
        plan_aligned(out, found)
    else:
        plan_coordinates(out, found)


def check_ranks(out: Planning, op: Map) -> None:
    """Rejects tensors with other dimensions than the one visited; single ones may have any."""
    for place, tensor in enumerate(op.tensors):
        if op.single >> place & 1 == 0 and len(tensor.strides) != len(op.tensors[op.over].sizes):
            out.refuse(Reason.RANK_MISMATCH, NO_MEMBER, len(tensor.strides))


def plan_coordinates(out: Planning, op: Map) -> None:
    """By coordinates, in the memory order of the tensor visited: in vectors if that is the output."""
    output, is_own = op.tensors[-1], op.over == len(op.tensors) - 1
    sizes = op.tensors[op.over].sizes
    check_ranks(out, op)
    order = outermost_first(sizes, op.tensors[op.over].strides)
    inner = order[-1]
    outer: Words = [output.strides[place] for place in order[:-1] if sizes[place] > 1]
    vector = vector_width(output.bits, sizes[inner], output.strides[inner], outer) if is_own else 1
    if is_one_each(output, element_count(sizes)):
        vector = 1
    count = element_count(sizes) // vector
    groups = grid(out, count, ELEMENTWISE_THREADS, 1)
    found: Dimensions = []
    for place, size in enumerate(sizes):
        row: Row = [tensor.strides[place] for tensor in op.tensors]
        for array in op.arrays:
            row.append(integer(out, array[place]))
        found.append(dimension(size // vector if place == inner else size, row))
    out.define("VECTOR", vector)
    out.define("RANK", len(sizes))
    out.define("DIMENSION_ORDER", in_digits(order))
    out.define("NUM_THREADS", ELEMENTWISE_THREADS)
    out.dispatch(MapParams(count, groups.columns, op.elements, [], op.scalars, found), groups, False)


def is_one_each(output: Tensor, elements: int) -> bool:
    """Whether threads compute one element each, of 32 bits or more: the elements fill no more than a group on
    each multiprocessor."""
    return output.bits >= 32 and elements <= MULTIPROCESSORS * ELEMENTWISE_THREADS


def blocks_along(out: Planning, op: Map, axis: int) -> int:
    """The size along an axis of the blocks that blocked tensors have an element for; 1 without such
    tensors."""
    size, block = op.tensors[op.over].sizes[axis], 1
    for place, tensor in enumerate(op.tensors):
        if op.blocked >> place & 1 == 1 and tensor.is_present:
            block = size // tensor.sizes[axis]
    for place, tensor in enumerate(op.tensors):
        if op.blocked >> place & 1 == 1 and tensor.is_present and tensor.sizes[axis] * block != size:
            out.refuse(Reason.UNSUPPORTED_INDEXING, NO_MEMBER, axis)
    return block


def loops_in_step(out: Planning, op: Map) -> Loops:
    """The dimensions of the tensor visited, from block to block and over a block, merged."""
    check_ranks(out, op)
    loops: Loops = []
    for axis, size in enumerate(op.tensors[op.over].sizes):
        block = blocks_along(out, op, axis)
        between: Row = []
        within: Row = []
        for place, tensor in enumerate(op.tensors):
            is_single, is_blocked = op.single >> place & 1 == 1, op.blocked >> place & 1 == 1
            stride = tensor.strides[axis] if tensor.is_present and not is_single else 0
            between.append(stride if is_blocked else block * stride)
            within.append(0 if is_blocked else stride)
        loops.append(Loop(size // block, between))
        if block > 1:
            loops.append(Loop(block, within))
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


def other_loop(op: Map, loops: Loops, vector: int) -> int:
    """The other dimension of blocks, along which an input is contiguous; NONE if blocks are of no use."""
    if vector > 1 and len(loops) <= MAX_RANK - 2:
        for along in range(len(loops) - 1):
            if loops[along].size % vector == 0:
                for place in range(len(op.tensors) - 1):
                    is_repeated = loops[len(loops) - 1].strides[place] == 0
                    is_small = is_repeated or op.blocked >> place & 1 == 1  # and so it stays in caches
                    bits = op.tensors[place].bits
                    if not is_small and loaded_at_once(bits, loops, place, along, vector) == vector:
                        return along
    return NONE


def patches(other: Loop, inner: Loop, vector: int) -> Loops:
    """Loops over patches of square blocks, so that neighboring threads stay close along both dimensions.
    Without, a transposed copy has 0.72 of the speed on an H200."""
    high = gcd(PATCH_HEIGHT, other.size // vector)
    wide = gcd(PATCH_WIDTH, inner.size // vector)
    found: Loops = []
    down = in_steps(other, vector * high)
    if down.size > 1:
        found.append(down)
    across = in_steps(inner, vector * wide)
    if across.size > 1:
        found.append(across)
    found.append(Loop(high, in_steps(other, vector).strides))
    found.append(Loop(wide, in_steps(inner, vector).strides))
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


def plan_aligned(out: Planning, op: Map) -> None:
    """All tensors in step, since they have the sizes of the one visited."""
    output = op.tensors[-1]
    begins: Words = []
    for array in op.arrays:
        begin = 0
        for place, entry in enumerate(array):
            begin += entry * output.strides[place]
        begins.append(begin)
    loops = loops_in_step(out, op)
    inner = loops[-1]
    outer: Words = [loop.strides[-1] for loop in loops[:-1]]
    outer.extend(begins)
    vector = vector_width(output.bits, inner.size, inner.strides[-1], outer)
    if is_one_each(output, repeats(loops)):
        vector = 1
    other = other_loop(op, loops, vector)
    for place, tensor in enumerate(op.tensors[:-1]):
        along = len(loops) - 1
        if other != NONE and loaded_at_once(tensor.bits, loops, place, other, vector) == vector:
            along = other
        out.define(f"{tensor.macro}_SINGLE", int(inner.strides[place] == 0))
        out.define(f"{tensor.macro}_TRANSPOSED", int(along == other))
        out.define(f"{tensor.macro}_VECTOR", loaded_at_once(tensor.bits, loops, place, along, vector))
    vectors: Loops = [loop for place, loop in enumerate(loops[:-1]) if place != other]
    if other == NONE:
        vectors.append(in_steps(inner, vector))
    else:
        for loop in patches(loops[other], inner, vector):
            vectors.append(loop)
    count, loaded = repeats(vectors), 0
    for place, tensor in enumerate(op.tensors[:-1]):
        if tensor.is_present and op.single >> place & 1 == 0:
            loaded += tensor.bits * vector
    moved = max(loaded, output.bits * vector)
    ahead = vectors_ahead(count, moved, ELEMENTWISE_THREADS) if other == NONE else 1
    groups = grid(out, count // ahead, ELEMENTWISE_THREADS, ahead)
    out.define("RANK", len(vectors))
    out.define("VECTOR", vector)
    out.define("VECTORS", ahead if other == NONE else vector)
    out.define("NUM_THREADS", ELEMENTWISE_THREADS)
    out.define("BLOCKS", int(other != NONE))
    steps: Sizes = list(inner.strides[:-1])
    scalars: Words = list(op.scalars)
    scalars.extend(begins)
    params = MapParams(count, groups.columns, op.elements, steps, scalars, dimensions(vectors))
    out.dispatch(params, groups, False)
