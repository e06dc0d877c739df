"""Top-k: groups select from whole lines, or from parts of lines until each line is one part; or tiles are
sorted, and pairs of runs merged until each line is one run."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import (
    SATURATING_THREADS,
    Dimensions,
    Loops,
    across,
    ceil_div,
    dimensions,
    grid,
    power_of_two,
    repeats,
    times,
)
from .operands import PLACEHOLDER, Buffer, Groups, Read, Tensor, Written
from .planning import Planning
from .tensors import take_tensors

TOP_K_SHORTEST = 128  # NVIDIA H200: selecting from lines of 128 has 0.5 to 1.8, of 256 and 512 1.5 to 3.1
"elements of a line up to which it is sorted even if few are wanted"
TOP_K_SELECTED = 16  # NVIDIA H200: sorting is at 0.3 to 0.7 with 32 and 64, at 1.38 with 10 of float16
"elements of a line per element wanted from which selecting beats sorting the line at once"
TOP_K_REDUCED = 4  # NVIDIA H200: 1 at 1.00, 32 at 0.53 to 1.00
"the same where a line is too long for that"
TOP_K_ITEMS = 32  # NVIDIA H200: 8 at 0.20, 16 at 0.55, 64 at 0.70
"elements that a thread reads when selecting, at most"
TOP_K_PART_ITEMS = 16  # NVIDIA H200: 32 at 0.88 for a line of 2**24
"the same where a line is cut into parts"
TOP_K_LEAST_THREADS = 64  # NVIDIA H200: 32 at 1.02, 128 at 1.00, 256 at 0.51
"threads in a group, at least"
TOP_K_PART_THREADS = 256  # NVIDIA H200: 128 at 0.91 to 1.02, 512 at 0.95 to 1.02
"threads in a group that selects from a part of a line"
TOP_K_ABREAST = 32  # NVIDIA H200: 4 lines of float32, where there is room, are as fast as 2
"bytes of adjacent lines that a group selects from, at most"
TOP_K_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.19 to 1.00, 1024 at 1.00
"threads in a selecting group, at most; half as many for 64-bit elements, whose entries take twice the memory"
TOP_K_SORTED_ITEMS = 16  # NVIDIA H200: 8 at 0.95 for float32 and at 0.79 for float16, 4 at 0.72 and 0.56
"elements of a line per thread, where a group sorts it"
TILE_BYTES = 16384  # of shared memory, as much as every device has


class TopK(NamedTuple):
    """The planner's input."""

    input: Tensor
    output: Tensor
    indices: Tensor
    axis: int
    count: int  # type: ignore[assignment]  # shadows tuple.count
    largest: bool


class TopKResources(NamedTuple):
    input: Read
    entries: Read
    output: Written
    indices: Written
    keptEntries: Written


class TopKParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "lines to select from, tiles to sort, or blocks of merged runs to write"
    groupColumns: int
    "thread groups along x"
    length: int
    "of a line; after a selection, what is left of it"
    kept: int
    "elements that are kept of each part, tile or pair of runs, at most"
    parts: int
    "of each line: parts to select from, tiles, or runs to be merged"
    partLength: int
    "elements of a part, or for which a run has room"
    partSpan: int
    "elements of the line that a run comes from"
    inputStep: int
    "strides along the axis"
    outputValueStep: int
    outputIndexStep: int
    dimensions: Annotated[Dimensions, "RANK", "input", "outputValue", "outputIndex"]
    "outermost first"


class Division(NamedTuple):
    """The division of lines to select from: threads per part, parts of a line, and elements of a part."""

    threads: int
    parts: int
    length: int


def plan_top_k(out: Planning, op: TopK) -> None:
    """Selects where few elements of a line are wanted, else sorts."""
    take_tensors(out, [op.input, op.output, op.indices], 1)
    bits, length = op.input.bits, op.input.sizes[op.axis]
    out.define("LARGEST", int(op.largest))
    out.define_text("KEY", "uint64_t" if bits == 64 else "uint")
    out.define_text("ELEMENT_TYPE", op.input.type_name)
    loops = across([op.input, op.output, op.indices], op.axis)
    out.define("RANK", len(loops))
    tile = TILE_BYTES // key_bytes(op)
    reduced = TOP_K_SELECTED if length <= tile else TOP_K_REDUCED
    if length > TOP_K_SHORTEST and op.count * reduced <= length and op.count <= most_threads(op):
        select(out, op, loops)
    else:
        sort(out, op, loops, min(power_of_two(max(length, 2)), tile))


def key_bytes(op: TopK) -> int:
    return 8 if op.input.bits == 64 else 4


def most_threads(op: TopK) -> int:
    """The threads of a selecting group, at most."""
    return TOP_K_MOST_THREADS // 2 if op.input.bits == 64 else TOP_K_MOST_THREADS


def room_for(out: Planning, op: TopK, entries: int) -> Buffer:
    """Scratch for so many entries: keys with positions, padded to whole keys."""
    return out.scratch(2 * key_bytes(op) * entries)


def resources(op: TopK, source: Buffer, target: Buffer) -> TopKResources:
    """A dispatch's resources."""
    return TopKResources(
        input=op.input.buffer,
        entries=source,
        output=op.output.buffer,
        indices=op.indices.buffer,
        keptEntries=target,
    )


def params_of(
    op: TopK, loops: Loops, count: int, groups: Groups, kept: int, parts: int, part: int, span: int
) -> TopKParams:
    """A dispatch's constants, for whole lines."""
    return TopKParams(
        count,
        groups.columns,
        op.input.sizes[op.axis],
        kept,
        parts,
        part,
        span,
        op.input.strides[op.axis],
        op.output.strides[op.axis],
        op.indices.strides[op.axis],
        dimensions(loops),
    )


def divide(op: TopK, length: int, lines: int) -> Division:
    """The whole line if a group can take it, by more threads if lines are few; otherwise parts. There are
    more threads than elements wanted, so that few pass the bound."""
    wanted, most = op.count, most_threads(op)
    least = max(TOP_K_LEAST_THREADS, min(power_of_two(wanted + wanted // 2), most))
    if length <= most * TOP_K_ITEMS:
        sharing = power_of_two(ceil_div(length, TOP_K_ITEMS))
        if times(lines, sharing) < SATURATING_THREADS:
            sharing = 2 * sharing
        return Division(max(least, min(sharing, most)), 1, length)
    threads = max(least, TOP_K_PART_THREADS)
    parts = ceil_div(length, threads * TOP_K_PART_ITEMS)
    return Division(threads, parts, ceil_div(length, parts))


def lines_abreast(op: TopK, loops: Loops, threads: int) -> int:
    """Lines per group, with `threads` threads each: several only if they are interleaved, and span at most
    `TOP_K_ABREAST` bytes."""
    if loops[-1].strides[0] != 1:
        return 1
    lines = 1
    while (
        2 * lines * op.input.bits <= 8 * TOP_K_ABREAST
        and 2 * lines * threads <= most_threads(op)
        and lines < loops[-1].size
    ):
        lines = 2 * lines
    return lines


def select(out: Planning, op: TopK, loops: Loops) -> None:
    """Dispatches that select from lines or parts of them, then from what is left, until each line is one
    part."""
    wanted, count = op.count, repeats(loops)
    out.define("SELECTS", 1)
    out.share()
    nothing = Buffer(PLACEHOLDER, 0)
    source, length = nothing, op.input.sizes[op.axis]
    is_first, is_last = True, False
    while not is_last:
        division = divide(op, length, count)
        is_last = division.parts == 1
        abreast = lines_abreast(op, loops, division.threads) if is_first else 1
        threads = abreast * division.threads
        each = times(ceil_div(count, abreast), division.parts)
        groups = grid(out, times(each, threads), threads, 1)
        target = nothing
        if not is_last:
            target = room_for(out, op, times(times(count, division.parts), wanted))
        out.define("FIRST", int(is_first))
        out.define("LAST", int(is_last))
        out.define("LINES", abreast)
        out.define("ITEMS", ceil_div(division.length, division.threads))
        out.define("EACH", 1 if 2 * wanted <= division.threads else 2)
        out.define("NUM_THREADS", threads)
        out.bind(resources(op, source, target))
        params = params_of(op, loops, count, groups, wanted, division.parts, division.length, 0)
        out.dispatch(params._replace(length=length), groups, not is_first)
        source, length, is_first = target, division.parts * wanted, False


def sort(out: Planning, op: TopK, loops: Loops, tile: int) -> None:
    """A dispatch that sorts tiles, and one for each time that the number of runs is halved."""
    axis, wanted = op.axis, op.count
    length, count = op.input.sizes[axis], repeats(loops)
    items = min(TOP_K_SORTED_ITEMS, tile)
    threads = tile // items
    while items > 2 and 2 * threads <= TOP_K_MOST_THREADS and times(count, threads) < SATURATING_THREADS:
        items, threads = items // 2, 2 * threads
    threads = max(threads, TOP_K_LEAST_THREADS)
    out.define("SELECTS", 0)
    out.share()

    runs, kept = ceil_div(length, tile), min(wanted, tile)
    source, target = Buffer(PLACEHOLDER, 0), Buffer(PLACEHOLDER, 0)
    if runs > 1:  # room for the runs in either, however often they are merged
        room = times(count, times(power_of_two(runs), kept))
        source, target = room_for(out, op, room), room_for(out, op, room)
    out.define("FIRST", 1)
    out.define("LAST", int(runs == 1))
    out.define("ITEMS", items)
    out.define("TILE", tile)
    out.define("NUM_THREADS", threads)
    out.bind(resources(op, source, target))
    tiles = times(count, runs)
    groups = grid(out, times(tiles, tile // items), threads, 1)
    out.dispatch(params_of(op, loops, tiles, groups, kept, runs, 0, 0), groups, False)

    span, block = (
        tile,
        tile // 2,
    )  # elements of a line that a run comes from, and of a run that a group merges
    while runs > 1:
        previous = source
        source = target
        target = previous
        run = kept
        kept = min(wanted, 2 * span)
        blocks = times(times(count, ceil_div(runs, 2)), ceil_div(kept, block))
        groups = grid(out, times(blocks, block), block, 1)
        out.define("FIRST", 0)
        out.define("LAST", int(runs == 2))
        out.define("ITEMS", items)
        out.define("NUM_THREADS", block // items)
        out.bind(resources(op, source, target))
        out.dispatch(params_of(op, loops, blocks, groups, kept, runs, run, span), groups, True)
        runs, span = ceil_div(runs, 2), 2 * span
