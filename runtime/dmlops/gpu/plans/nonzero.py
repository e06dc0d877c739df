"""Coordinates of nonzero elements, by stream compaction: count per block, write."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import Dimensions, Loop, Loops, ceil_div, dimensions, element_count, grid
from .operands import Tensor
from .planning import Planning
from .tensors import take_tensors

NONZERO_THREADS = 256  # NVIDIA H200: 512 at 0.97 to 1.01, and 0.88 where the tensor is small
"threads in a group"
NONZERO_ITEMS = 8  # NVIDIA H200: 4 at 0.74 to 0.92, 16 at 0.87 to 1.16
"elements that a thread takes at a time"
NONZERO_BLOCKS = 1024
"blocks, at most; each group sums the counts of all"


class Nonzero(NamedTuple):
    """The planner's input."""

    input: Tensor
    output: Tensor
    coordinates: Tensor


class NonzeroParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of the input"
    groupColumns: int
    "thread groups along x"
    blocks: int
    blockLength: int
    rowStride: int
    columnStride: int
    dimensions: Annotated[Dimensions, "RANK", "input"]
    "outermost first"


def plan_nonzero(out: Planning, op: Nonzero) -> None:
    """One dispatch that counts, and one that writes."""
    take_tensors(out, [op.input, op.output, op.coordinates])
    count = element_count(op.input.sizes)
    length = NONZERO_ITEMS * NONZERO_THREADS
    length *= ceil_div(count, length * NONZERO_BLOCKS)
    blocks = ceil_div(count, length)
    loops: Loops = [
        Loop(size, [stride]) for size, stride in zip(op.input.sizes, op.input.strides, strict=True)
    ]
    out.define("FLOATS", int(op.input.is_float))
    out.define("RANK", len(loops))
    out.define("COLUMNS", op.coordinates.sizes[-1])
    out.define("ITEMS", NONZERO_ITEMS)
    out.define("NUM_THREADS", NONZERO_THREADS)
    out.write(out.scratch(4 * blocks))
    out.share()
    groups = grid(out, blocks, 1, 1)
    for writes in range(2):
        out.define("WRITES", writes)
        params = NonzeroParams(
            count,
            groups.columns,
            blocks,
            length,
            op.coordinates.strides[-2],
            op.coordinates.strides[-1],
            dimensions(loops),
        )
        out.dispatch(params, groups, writes == 1)
