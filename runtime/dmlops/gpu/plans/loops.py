"""Loops over dimensions, thread groups, and the form of both in constants of shaders."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Annotated, NamedTuple

from .operands import NO_MEMBER, Eight, Groups, Sizes, Tensor, Tensors
from .planning import Planning
from .reasons import Reason

MULTIPROCESSORS = 132  # NVIDIA H200: has that many
"multiprocessors, each with its own registers and shared memory, that work is shared among"
SATURATING_THREADS = 32768  # NVIDIA H200: for rows 16384 at 0.92 to 1.00
"threads that saturate a GPU; with fewer, each reduces or sorts less"
ELEMENTWISE_BUSY = 262144  # NVIDIA H200: 1 at 0.89, 16384 at 0.96, 65536 at 0.98
"threads that saturate a GPU; with fewer, each writes single bytes, not words of them, or a single vector"

COUNT_LIMIT = 2**32
"""Shaders count elements in 32 bits: every tensor spans fewer than this."""

MAX_COUNT = 2**31
"""Limit of a tensor's elements, and of the words of scratch: shaders number them with signed integers."""

MAX_GROUPS = 65535
"""Per dimension: the limit of Direct3D 12 and of many Vulkan drivers."""

Strides = Annotated[Sequence[int], 16]
Row = Annotated[list[int], 16]
Words = Annotated[list[int], 64]
Lists = Annotated[list[int], 512]
Activations = Annotated[list[int], 32]


class Loop(NamedTuple):
    """The size of a dimension, and each tensor's stride along it."""

    size: int
    strides: Strides


Loops = Annotated[list[Loop], 16]


class Dimension(NamedTuple):
    """A loop in a shader: its size, a number that divides by it, and strides."""

    size: int
    "elements, or vectors of them"
    reciprocal: int
    strides: Row


Dimensions = Annotated[list[Dimension], 16]


class CommonConstants(NamedTuple):
    """The constants that depend only on the description, as words: lists, fused activations, numbers of a
    tensor's type, and other numbers."""

    lists: Lists
    "which fill two vectors each"
    activations: Activations
    elements: Words
    "of two words each, which must not straddle vectors"
    scalars: Words


def ceil_div(number: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-number // divisor)


def power_below(number: int, limit: int) -> int:
    """The greatest power of 2 that is not above either."""
    power = 1
    while 2 * power <= min(number, limit):
        power = 2 * power
    return power


def power_of_two(number: int) -> int:
    """The least power of 2 that is not below a number."""
    power = 1
    while power < number:
        power = 2 * power
    return power


def has(entries: Sizes, item: int) -> bool:
    """Whether one of the entries is that item."""
    return any(entry == item for entry in entries)


def times(a: int, b: int) -> int:
    """The product of counts, saturating at COUNT_LIMIT."""
    product = a * b
    return product if product < COUNT_LIMIT else COUNT_LIMIT


def element_count(sizes: Sizes) -> int:
    """The product of sizes, saturating at COUNT_LIMIT."""
    count = 1
    for size in sizes:
        count *= size
    return min(count, COUNT_LIMIT)


def padded(entries: Sizes) -> Eight:
    """Words, zero-padded to eight."""
    words: Eight = []
    words.extend(entries)
    while len(words) < 8:
        words.append(0)
    return words


def repeats(loops: Loops) -> int:
    """The number of iterations of nested loops, saturating at COUNT_LIMIT."""
    count = 1
    for loop in loops:
        count *= loop.size
    return min(count, COUNT_LIMIT)


def continues(outer: Loop, inner: Loop) -> bool:
    """Whether one loop can replace the two."""
    return all(around == inner.size * step for around, step in zip(outer.strides, inner.strides, strict=True))


def merged_in_order(loops: Loops) -> Loops:
    """The loops in unchanged order, merged as far as possible. The last one is kept if there is only one
    coordinate."""
    found: Loops = []
    for loop in loops:
        if loop.size > 1:
            if len(found) > 0 and continues(found[-1], loop):
                found[-1] = Loop(times(found[-1].size, loop.size), loop.strides)
            else:
                found.append(loop)
    if len(found) == 0 and len(loops) > 0:
        found.append(loops[-1])
    return found


def outermost_first(sizes: Sizes, strides: Sizes) -> Sizes:
    """Dimensions in the memory order of a tensor: sorted by stride, greatest first, after those of size 1,
    whose strides mean nothing."""
    order: Eight = []
    single = 0
    for place, size in enumerate(sizes):
        begin, end = len(order), single
        order.append(place)
        if size == 1:
            single += 1
        while begin > end and (size == 1 or strides[order[begin - 1]] < strides[place]):
            order[begin] = order[begin - 1]
            begin -= 1
        order[begin] = place
    return order


def in_digits(order: Sizes) -> int:
    """An order of dimensions as shaders take it: 4 bits for each, the first one lowest."""
    number = 0
    for place, d in enumerate(order):
        number += d << 4 * place
    return number


def merged(loops: Loops) -> Loops:
    """The loops, merged as far as possible, sorted by the last tensor's stride, greatest outermost."""
    ordered: Loops = []
    for loop in loops:
        place = len(ordered)
        ordered.append(loop)
        while place > 0 and ordered[place - 1].strides[-1] < loop.strides[-1]:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = loop
    return merged_in_order(ordered)


def in_steps(loop: Loop, step: int) -> Loop:
    """A loop over every `step`-th element."""
    return Loop(loop.size // step, [step * stride for stride in loop.strides])


def reciprocal_of(size: int) -> int:
    """The number with which shaders divide by a size; by 1, if that is less."""
    return (2**32 - 1) // max(size, 1)


def dimension(size: int, strides: Row) -> Dimension:
    """A loop as shaders take it."""
    return Dimension(size, reciprocal_of(size), strides)


def dimensions(loops: Loops) -> Dimensions:
    """Loops as shaders take them. Negative strides become their 32-bit two's complement."""
    return [dimension(loop.size, [stride % 2**32 for stride in loop.strides]) for loop in loops]


def extents(sizes: Sizes) -> Dimensions:
    """Dimensions of these sizes, without strides."""
    return [dimension(size, []) for size in sizes]


def lone(tensors: int, stride: int) -> Loop:
    """The loop over a single coordinate."""
    return Loop(1, [stride for _ in range(tensors)])


def vector_width(bits: int, size: int, stride: int, others: Words) -> int:
    """Elements that one store can write: adjacent ones along a loop, at most 4 and at most 16 bytes."""
    if stride != 1 or bits < 8:
        return 1
    vector = gcd(min(4, 128 // bits), size)
    for other in others:
        vector = gcd(vector, other)
    return 1 if bits == 8 and vector < 4 else vector  # bytes are written as whole words


def aligned_vector(tensor: Tensor, axis: int) -> int:
    """Elements of a tensor, adjacent along an axis, that one load or store can have."""
    others: Words = []
    for d, stride in enumerate(tensor.strides):
        others.append(stride if d != axis and tensor.sizes[d] > 1 else 0)
    return vector_width(tensor.bits, tensor.sizes[axis], tensor.strides[axis], others)


def grid(out: Planning, threads: int, in_group: int, each: int) -> Groups:
    """Thread groups for that many threads, each of which counts `each` items."""
    groups = ceil_div(threads, in_group)
    rows = ceil_div(groups, MAX_GROUPS)
    columns = ceil_div(groups, rows)
    counted = rows * columns * in_group * each
    if threads >= COUNT_LIMIT or counted > COUNT_LIMIT:
        out.refuse(Reason.MANY_THREADS, NO_MEMBER, counted)
    return Groups(columns, rows)


def across(tensors: Tensors, axis: int) -> Loops:
    """Loops over all dimensions of the first tensor but the axis, merged; at least one."""
    return merged(
        [
            Loop(1 if place == axis else size, [tensor.strides[place] for tensor in tensors])
            for place, size in enumerate(tensors[0].sizes)
        ]
    )
