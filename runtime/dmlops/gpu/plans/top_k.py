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
from .operands import PLACEHOLDER, Buffer, Groups, Tensor
from .planning import Planning
from .tensors import take_tensors

TOP_K_SHORTEST = 128  # NVIDIA H200: selecting from lines of 128 has 0.5 to 1.8, of 256 and 512 1.5 to 3.1
"elements of a line up to which it is sorted even if few are wanted"
TOP_K_SELECTED = 16  # NVIDIA H200: sorting is at 0.3 to 0.7 with 32 and 64, at 1.38 with 10 of float16
"elements of a line per element wanted from which selecting beats sorting"
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
TOP_K_MERGED_THREADS = 256
"threads in a group that merges runs"
TILE_BYTES = 32768  # NVIDIA H200: half as many at 0.94; every device has as many
"bytes of shared memory for a tile's keys, at most"


class TopK(NamedTuple):
    """The planner's input."""

    input: Tensor
    output: Tensor
    indices: Tensor
    axis: int
    count: int  # type: ignore[assignment]  # shadows tuple.count
    largest: bool


class TopKParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "lines to select from, tiles to sort, or entries of runs to be merged"
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


def plan_top_k(out: Planning, op: TopK) -> None:
    """Selects where few elements of a line are wanted, else sorts."""
    take_tensors(out, [op.input, op.output, op.indices])
    length, key_words = op.input.sizes[op.axis], 2 if op.input.bits == 64 else 1
    loops = across([op.input, op.output, op.indices], op.axis)
    params = TopKParams(
        repeats(loops),
        0,
        length,
        op.count,
        1,
        length,
        0,
        op.input.strides[op.axis],
        op.output.strides[op.axis],
        op.indices.strides[op.axis],
        dimensions(loops),
    )
    most = TOP_K_MOST_THREADS // key_words
    selects = length > TOP_K_SHORTEST and op.count * TOP_K_SELECTED <= length and op.count <= most
    out.define("LARGEST", int(op.largest))
    out.define_text("KEY", "uint64_t" if key_words == 2 else "uint")
    out.define_text("ELEMENT_TYPE", op.input.type_name)
    out.define("RANK", len(loops))
    out.define("SELECTS", int(selects))
    out.share()
    if selects:
        select(out, op, loops, params, most)
    else:
        sort(out, op, params, min(power_of_two(max(length, 2)), TILE_BYTES // (4 * key_words)))


def room_for(out: Planning, op: TopK, entries: int) -> Buffer:
    """Scratch for so many entries: keys with positions, padded to whole keys."""
    return out.scratch((16 if op.input.bits == 64 else 8) * entries)


def dispatch_top_k(
    out: Planning, params: TopKParams, source: Buffer, target: Buffer, groups: Groups, threads: int
) -> None:
    """A dispatch that reads elements, unless it has a source, and writes outputs, unless it has a target."""
    is_first, is_last = source.member == PLACEHOLDER, target.member == PLACEHOLDER
    out.define("FIRST", int(is_first))
    out.define("LAST", int(is_last))
    out.define("NUM_THREADS", threads)
    out.write(source)
    out.write(target)
    out.dispatch(params._replace(groupColumns=groups.columns), groups, not is_first)


def selecting_threads(wanted: int, length: int, lines: int, most: int) -> int:
    """The threads of a line, more if lines are few, or of a part, if a group cannot take the whole line. They
    are more than elements wanted, so that few pass the bound."""
    least = max(TOP_K_LEAST_THREADS, min(power_of_two(wanted + wanted // 2), most))
    if length > most * TOP_K_ITEMS:
        return max(least, TOP_K_PART_THREADS)
    sharing = power_of_two(ceil_div(length, TOP_K_ITEMS))
    if times(lines, sharing) < SATURATING_THREADS:
        sharing = 2 * sharing
    return max(least, min(sharing, most))


def select(out: Planning, op: TopK, loops: Loops, params: TopKParams, most: int) -> None:
    """Dispatches of at most that many threads in a group, which select from lines or parts of them, then from
    what is left, until each line is one part. Of interleaved lines, a group selects from several."""
    nothing = Buffer(PLACEHOLDER, 0)
    target, count, length, parts = nothing, params.count, params.length, 2
    bytes_abreast = TOP_K_ABREAST if loops[-1].strides[0] == 1 else 0
    while parts > 1:
        own = selecting_threads(op.count, length, count, most)
        parts = ceil_div(length, own * TOP_K_PART_ITEMS) if length > most * TOP_K_ITEMS else 1
        part, abreast = ceil_div(length, parts), 1
        while (
            2 * abreast * op.input.bits <= 8 * bytes_abreast
            and 2 * abreast * own <= most
            and abreast < loops[-1].size
        ):
            abreast = 2 * abreast
        threads, source = abreast * own, target
        groups = grid(out, times(times(ceil_div(count, abreast), parts), threads), threads, 1)
        target = nothing
        if parts > 1:
            target = room_for(out, op, times(times(count, parts), op.count))
        out.define("LINES", abreast)
        out.define("ITEMS", ceil_div(part, own))
        out.define("EACH", 1 if 2 * op.count <= own else 2)
        step = params._replace(length=length, parts=parts, partLength=part)
        dispatch_top_k(out, step, source, target, groups, threads)
        length, bytes_abreast = parts * op.count, 0


def sort(out: Planning, op: TopK, params: TopKParams, tile: int) -> None:
    """A dispatch that sorts tiles, and one for each time that the number of runs is halved."""
    count, runs, kept = params.count, ceil_div(params.length, tile), min(op.count, tile)
    items = min(TOP_K_SORTED_ITEMS, tile)
    threads = tile // items
    while items > 2 and 2 * threads <= TOP_K_MOST_THREADS and times(count, threads) < SATURATING_THREADS:
        items, threads = items // 2, 2 * threads
    threads = max(threads, TOP_K_LEAST_THREADS)
    nothing = Buffer(PLACEHOLDER, 0)
    target, spare = nothing, nothing
    if runs > 1:  # room for the runs in either, however often they are merged
        room = times(count, times(power_of_two(runs), kept))
        target, spare = room_for(out, op, room), room_for(out, op, room)
    out.define("ITEMS", items)
    out.define("TILE", tile)
    tiles, span = times(count, runs), tile
    groups = grid(out, times(tiles, tile // items), threads, 1)
    sorting = params._replace(count=tiles, kept=kept, parts=runs)
    dispatch_top_k(out, sorting, nothing, target, groups, threads)

    while runs > 1:
        run, pairs, source = kept, ceil_div(runs, 2), target
        kept = min(op.count, 2 * span)
        entries = times(times(count, runs), run)
        groups = grid(out, entries, TOP_K_MERGED_THREADS, 1)
        target = spare
        if pairs == 1:
            target = nothing
        merging = params._replace(count=entries, kept=kept, parts=runs, partLength=run, partSpan=span)
        dispatch_top_k(out, merging, source, target, groups, TOP_K_MERGED_THREADS)
        spare = source
        runs, span = pairs, 2 * span
