"""Scans: one group for a line, or for several short or interleaved ones, or several groups per line in two
dispatches."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import Dimensions, Loop, Words, across, ceil_div, dimensions, grid, repeats, vector_width
from .operands import PLACEHOLDER, Buffer, Tensor
from .planning import Planning
from .tensors import take_tensors

SCAN_THREADS = 128  # NVIDIA H200: 64 at 0.79 to 1.02, 256 at 0.75 to 1.10
"threads in a group"
SCAN_FEW_THREADS = 64  # NVIDIA H200: 128 at 0.65 to 0.94
"threads in a group whose lines have SCAN_FEW_BYTES or less"
SCAN_FEW_BYTES = 256  # NVIDIA H200: 512 at 0.92
"bytes of a line up to which groups have fewer threads"
SCAN_ITEMS = 4  # NVIDIA H200: 2 at 0.81, 8 at 0.58, 16 at 0.37 for single elements; 8 at 0.81 for vectors
"elements per thread, at least"
SCAN_VECTOR_BITS = 128  # NVIDIA H200: 64 at 0.86 for float16
"bits per thread, at least, where elements are loaded in vectors"
SCAN_SIDE_BYTES = 32  # NVIDIA H200: 64 at 0.94 for float32 and at 0.63 for float16
"bytes of interleaved lines that a group scans together, at least"
SCAN_SIDE_ITEMS = 8  # NVIDIA H200: 4 at 0.71
"elements per thread in such a group"
SCAN_SIDE_THREADS = 512  # NVIDIA H200: 1024 with 64 bytes at 1.13 for float32 and at 0.90 for float16
"threads in such a group"
SCAN_FEW_LINES = 256  # NVIDIA H200: 32 at 0.46 to 0.60, 2048 at 1.00
"lines below which long ones are cut into segments"
SCAN_BLOCKS = 16  # NVIDIA H200: 8 at 1.01, 32 at 0.79
"length of a segment, at least, in blocks of a group's threads times items"

MAX_SEGMENTS = 1024


class Scan(NamedTuple):
    """The planner's input, for a scan along an axis."""

    input: Tensor
    output: Tensor
    axis: int
    decreasing: bool
    exclusive: bool


class ScanParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "segments of all lines"
    groupColumns: int
    "thread groups along x"
    length: int
    "of a line"
    segmentLength: int
    inputStart: int
    "offset of the first element of the first line"
    inputStep: int
    "stride along the axis"
    outputStart: int
    outputStep: int
    exclusive: int
    "1 if results exclude the element at their own place, else 0"
    dimensions: Annotated[Dimensions, "RANK", "input", "output"]
    "outermost first"


def plan_scan(out: Planning, op: Scan) -> None:
    """One dispatch, or two if lines are cut into segments: the first computes the totals of segments."""
    take_tensors(out, [op.input, op.output])
    sign = -1 if op.decreasing else 1
    source, target = sign * op.input.strides[op.axis], sign * op.output.strides[op.axis]
    length = op.input.sizes[op.axis]
    loops = across([op.input, op.output], op.axis)
    count = repeats(loops)
    least = SCAN_BLOCKS * SCAN_THREADS * SCAN_ITEMS  # elements that deserve their own group
    segments = 1 if count >= SCAN_FEW_LINES else min(max(length // least, 1), MAX_SEGMENTS)
    segment = length if segments == 1 else ceil_div(ceil_div(length, segments), SCAN_ITEMS) * SCAN_ITEMS
    others: Words = [segment]
    for loop in loops:
        if loop.size > 1:
            others.extend(loop.strides)
    vector = vector_width(op.input.bits, length, source, others) if target == 1 else 1
    items = SCAN_ITEMS if vector == 1 else max(SCAN_ITEMS, SCAN_VECTOR_BITS // op.input.bits)
    segments = ceil_div(length, segment)
    threads, each = SCAN_THREADS, 1
    totals = Buffer(PLACEHOLDER, 0)
    if segments > 1:
        totals = out.scratch(count * segments * (8 if op.input.bits == 64 else 4))
    else:
        if length * op.input.bits <= 8 * SCAN_FEW_BYTES:
            threads = SCAN_FEW_THREADS
        if count >= SCAN_FEW_LINES and loops[-1].strides[-1] < abs(target):
            threads, each, items = SCAN_SIDE_THREADS, SCAN_SIDE_BYTES * 8 // op.input.bits, SCAN_SIDE_ITEMS
        while each < threads and 2 * each * length <= threads * items:
            each = 2 * each
    loops.append(Loop(segments, [segment * source, segment * target]))
    groups = grid(out, count * segments, each, 1)
    params = ScanParams(
        count * segments,
        groups.columns,
        length,
        segment,
        max(-source, 0) * (length - 1),
        source % 2**32,
        max(-target, 0) * (length - 1),
        target % 2**32,
        int(op.exclusive),
        dimensions(loops),
    )
    out.define("LINES", each)
    out.define("RANK", len(loops))
    out.define("ITEMS", items)
    out.define("VECTOR", vector)
    out.define("NUM_THREADS", threads)
    out.write(totals)
    out.share()
    for place in range(min(segments, 2)):
        out.define("TOTALS", int(segments > 1 and place == 0))
        out.define("STARTED", place)
        out.dispatch(params, groups, place > 0)
