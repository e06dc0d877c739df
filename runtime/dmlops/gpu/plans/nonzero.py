"""Coordinates of nonzero elements, by stream compaction: count per block, scan, write."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import Dimensions, Loop, Loops, ceil_div, check_span, dimensions, element_count, grid
from .planning import Planning
from .told import Read, Tensor, Written
from .tuning import NONZERO_ITEMS, NONZERO_THREADS
from .types import define_moved, define_tensor


class Nonzero(NamedTuple):
    """The planner's input."""

    input: Tensor
    output: Tensor
    coordinates: Tensor


class NonzeroResources(NamedTuple):
    input: Read
    starts: Written
    "one more than there are blocks"
    output: Written
    coordinates: Written


class NonzeroParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of the input"
    groupColumns: int
    "thread groups along x"
    blocks: int
    rowStride: int
    columnStride: int
    dimensions: Annotated[Dimensions, "RANK", "input"]
    "outermost first"


def magnitude(bits: int, is_float: bool) -> str:
    """A mask of the bits that make an element nonzero: all but the sign of a float, else all."""
    if is_float:
        return "0x7fff" if bits == 16 else "0x7fffffff" if bits == 32 else "0x7fffffffffffffff"
    if bits < 16:
        return "0xf" if bits == 4 else "0xff"
    return "0xffff" if bits == 16 else "0xffffffff" if bits == 32 else "0xffffffffffffffff"


def plan_nonzero(out: Planning, told: Nonzero) -> None:
    """Three dispatches, the second with one group."""
    check_span(out, told.input)
    check_span(out, told.output)
    check_span(out, told.coordinates)
    count = element_count(told.input.sizes)
    blocks = ceil_div(count, NONZERO_ITEMS * NONZERO_THREADS)
    loops: Loops = [
        Loop(size, [stride]) for size, stride in zip(told.input.sizes, told.input.strides, strict=True)
    ]
    out.define_text("MAGNITUDE", magnitude(told.input.bits, told.input.is_float))
    out.define("RANK", len(loops))
    out.define("COLUMNS", told.coordinates.sizes[-1])
    out.define("ITEMS", NONZERO_ITEMS)
    out.define("NUM_THREADS", NONZERO_THREADS)
    define_moved(out, told.input)
    define_tensor(out, told.output)
    define_tensor(out, told.coordinates)
    out.bind(
        NonzeroResources(
            input=told.input.buffer,
            starts=out.scratch(4 * (blocks + 1)),
            output=told.output.buffer,
            coordinates=told.coordinates.buffer,
        )
    )
    out.share()
    for stage in range(3):
        groups = grid(out, 1 if stage == 1 else blocks, 1, 1)
        out.define("STAGE", stage)
        params = NonzeroParams(
            count,
            groups.columns,
            blocks,
            told.coordinates.strides[-2],
            told.coordinates.strides[-1],
            dimensions(loops),
        )
        out.dispatch(params, groups, stage > 0)
