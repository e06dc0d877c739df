"""Reductions on a GPU: how threads share the work, and what the shader is told."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd, prod

from ..kernels.reduce import Reduce
from ..tensor import TensorDesc
from .errors import Unsupported
from .map import merged, vector_width
from .types import ELEMENT_LIMIT, check_span, divisor, tensor_defines
from .work import Dispatch, Work, grid

MIN_THREADS, MAX_THREADS = 128, 512  # in a group; measured, see bench/gpu.py
UNROLL, WHOLE_UNROLL = 4, 8  # vectors that one thread has under way; where that is all it has
NEIGHBOURS = 32  # sets side by side whose elements are loaded together
ENOUGH_GROUPS = 512  # to keep a large GPU busy
MAX_BLOCKS = 1024  # of UNROLL vectors that one thread adds up: bounds rounding errors
PARTIALS = "partials"

Loop = tuple[int, tuple[int, ...]]  # a size, and the strides of input and output


@dataclass(frozen=True)
class Sets:
    """Sets of elements: loops from one set to the next, and over the vectors of a set."""

    kept: list[Loop]
    reduced: list[Loop]

    @property
    def number(self) -> int:
        return prod(size for size, _ in self.kept)

    @property
    def extent(self) -> int:
        """The vectors of a set."""
        return prod(size for size, _ in self.reduced)

    @property
    def across(self) -> bool:
        """Whether neighbours in memory belong to different sets."""
        return self.number > 1 and self.kept[-1][1][0] < self.reduced[-1][1][0]

    @property
    def unroll(self) -> int:
        """The vectors that one thread has under way."""
        is_whole = not self.across and self.extent <= MAX_THREADS * WHOLE_UNROLL
        return WHOLE_UNROLL if is_whole else UNROLL

    @property
    def lanes(self) -> int:
        """The threads that share a set: as many as have `unroll` vectors to load."""
        side_by_side = min(NEIGHBOURS, _power_of_two(self.number)) if self.across else 1
        return min(MAX_THREADS // side_by_side, _power_of_two(-(-self.extent // self.unroll)))

    @property
    def threads(self) -> int:
        """The threads in a group: few where neighbouring sets need no more, as all wait for one another."""
        return MAX_THREADS if self.across else max(self.lanes, MIN_THREADS)

    @property
    def part_extent(self) -> int:
        """The vectors of a part of a set: the whole of it if there are enough sets to keep a GPU busy."""
        block = self.lanes * self.unroll
        blocks, groups = -(-self.extent // block), -(-self.number * self.lanes // self.threads)
        parts = max(min(-(-ENOUGH_GROUPS // groups), blocks // 2), -(-blocks // MAX_BLOCKS), 1)
        return -(-blocks // parts) * block


def work(computation: Reduce) -> Work:
    """One dispatch; two where sets are reduced in parts."""
    source, target = _tensors(computation)
    check_span(computation.input, source)
    check_span(computation.output, target)
    sets, vector = _sets(computation)
    count = sets.extent * vector
    if count >= ELEMENT_LIMIT // 2:
        raise Unsupported(f"sets of {count} elements are reduced; shaders count below 2**31")

    defines = tensor_defines("INPUT", source.DataType) | tensor_defines("OUTPUT", target.DataType)
    if computation.case.better is not None:
        defines["DECREASING"] = int(computation.direction)
    if computation.function is not None:
        defines["FUNCTION"] = int(computation.function)

    def dispatch(sets: Sets, part_extent: int, buffers: tuple[str, str], **macros: int) -> Dispatch:
        parts = -(-sets.extent // part_extent)
        groups = -(-sets.number * sets.lanes // sets.threads) * parts
        columns, rows = grid(groups * sets.threads, sets.threads)
        numbers = (sets.number, sets.extent, part_extent, parts, columns, count, 0, 0)
        loops = [(size, *divisor(size), *strides[:2], 0, 0) for size, strides in (*sets.kept, *sets.reduced)]
        layout = {
            "NUM_THREADS": sets.threads,
            "LANES": sets.lanes,
            "ACROSS": int(sets.across),
            "UNROLL": sets.unroll,
            "WHOLE": int(sets.extent <= sets.lanes * sets.unroll),
            "EVEN": int(sets.extent % (sets.lanes * sets.unroll) == 0),
            "KEPT_RANK": len(sets.kept),
            "REDUCED_RANK": len(sets.reduced),
        }
        constants = b"".join(struct.pack("<8I", *record) for record in (numbers, *loops))
        return Dispatch({**defines, **layout, **macros}, buffers, constants, (columns, rows))

    if computation.case.is_each:
        buffers = (computation.input, computation.output)
        return Work((dispatch(sets, sets.extent, buffers, VECTOR=vector),))
    parts = -(-sets.extent // sets.part_extent)
    if parts == 1:
        buffers = (computation.input, computation.output)
        return Work((dispatch(sets, sets.extent, buffers, VECTOR=vector, PASS=0),))
    packed = _packed([size for size, _ in sets.kept])
    places = [(size, (at, strides[1])) for (size, strides), at in zip(sets.kept, packed, strict=True)]
    partials = Sets([*places], [(parts, (sets.number, 0))])
    first = dispatch(sets, sets.part_extent, (computation.input, PARTIALS), VECTOR=vector, PASS=1)
    second = dispatch(partials, parts, (PARTIALS, computation.output), VECTOR=1, PASS=2)
    return Work((first, second), scratch={PARTIALS: sets.number * parts * _state_size(computation)})


def _tensors(computation: Reduce) -> tuple[TensorDesc, TensorDesc]:
    return getattr(computation.desc, computation.input), getattr(computation.desc, computation.output)


def _sets(computation: Reduce) -> tuple[Sets, int]:
    """The sets, and how many elements make up a vector."""
    steps, (source, target) = computation.case, _tensors(computation)
    kept_dimensions, reduced_dimensions = computation.dimensions

    def loops(dimensions: Sequence[int], output: TensorDesc, in_order: bool) -> list[Loop]:
        sizes = [source.Sizes[d] for d in dimensions]
        strides = [[tensor.element_strides[d] for d in dimensions] for tensor in (source, output)]
        return merged(sizes, [*strides, _packed(sizes) if in_order else strides[0]])

    kept = loops(kept_dimensions, target, in_order=False)
    # An output of one element a set does not constrain how the others are gone through.
    reduced = loops(reduced_dimensions, target if steps.is_each else source, steps.better is not None)

    *outer, (size, inner) = reduced
    others = [strides for _, strides in (*kept, *outer)]
    in_vectors = range(2 if steps.is_each else 1)  # the input, and the output if it has as many elements
    vector = gcd(
        *(
            vector_width(source.DataType.bits, size, inner[one], [strides[one] for strides in others])
            for one in in_vectors
        )
    )
    reduced[-1] = (size // vector, tuple(stride * vector for stride in inner))
    return Sets(kept, reduced), vector


def _packed(sizes: Sequence[int]) -> list[int]:
    """The strides of a packed array."""
    return list(accumulate(sizes[:0:-1], int.__mul__, initial=1))[::-1] if sizes else []


def _power_of_two(number: int) -> int:
    """The least power of 2 that is not below a number, 1 or more."""
    return 1 << (number - 1).bit_length()


def _state_size(computation: Reduce) -> int:
    """The bytes of a partial result in the shader."""
    word = 8 if _tensors(computation)[0].DataType.bits == 64 else 4
    has_two = computation.case.better is not None or computation.case.shift is not None
    return 2 * word if has_two else word
