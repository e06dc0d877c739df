"""Top-k: groups select from whole lines, or from parts of lines until each line is one part; or tiles are
sorted, and pairs of runs merged until each line is one run."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import SATURATING_THREADS, Dimensions, Loops, across, ceil_div, dimensions, grid, repeats, times
from .operands import PLACEHOLDER, Buffer, Read, Tensor, Written
from .planning import Planning
from .tensors import check_span, define_moved, define_tensor

TOP_K_SHORTEST = 128  # NVIDIA H200: selecting from lines of 128 has 0.5 to 1.8, of 256 and 512 1.5 to 3.1
"elements of a line up to which it is sorted even if few are wanted"
TOP_K_SELECTED = 16  # NVIDIA H200: sorting is at 0.3 to 0.7 with 32 and 64, at 1.38 with 10 of float16
"elements of a line per element wanted from which selecting beats sorting the line at once"
TOP_K_REDUCED = 4  # NVIDIA H200: 1 at 1.00, 32 at 0.53 to 1.00
"the same where a line is too long for that"
TOP_K_ITEMS = 32  # NVIDIA H200: 8 at 0.20, 16 at 0.55, 64 at 0.70
"elements that a thread reads when selecting, at most"
TOP_K_LEAST_ITEMS = 8  # NVIDIA H200: 4 at 1.04, 16 at 0.90 to 1.06
"the same, at least, where a line is cut into parts"
TOP_K_LEAST_THREADS = 64  # NVIDIA H200: 32 at 1.02, 128 at 1.00, 256 at 0.51
"threads in a group, at least"
TOP_K_PART_THREADS = 256  # NVIDIA H200: 128 at 0.91 to 1.02, 512 at 0.95 to 1.02
"threads in a group that selects from a part of a line"
TOP_K_GROUPS = 1024  # NVIDIA H200: 512 at 0.89, 2048 at 0.80
"groups that saturate a GPU; with fewer, lines are cut into shorter parts"
TOP_K_ABREAST = 32  # NVIDIA H200: 4 lines of float32, where there is room, are as fast as 2
"bytes of adjacent lines that a group selects from, at most"
TOP_K_MOST_THREADS = 512  # NVIDIA H200: 256 at 0.19 to 1.00, 1024 at 1.00
"threads in a selecting group, at most"
TOP_K_SORTED_ITEMS = 16  # NVIDIA H200: 8 at 0.95 for float32 and at 0.79 for float16, 4 at 0.72 and 0.56
"elements of a line per thread, where a group sorts it"
TOP_K_MERGED_ITEMS = 8  # NVIDIA H200: 16 at 0.92
"the same where tiles of it are sorted and merged"

SELECTION_BYTES = 15360  # of shared memory; every device has a little more
TILE_BYTES = 16384  # the same; a tile takes all of it


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
    keys: Read
    positions: Read
    output: Written
    indices: Written
    keptKeys: Written
    keptPositions: Written


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


class Runs(NamedTuple):
    """The output of a dispatch: keys and positions in the line, in order."""

    keys: Buffer
    positions: Buffer


class Selectors(NamedTuple):
    """The division of work: threads per part of a line, parts of a line, and elements of a part."""

    threads: int
    parts: int
    length: int


def tile_of(number: int) -> int:
    """The least power of 2 that is not below `number`, 2 or more."""
    return max(2, 1 << (number - 1).bit_length())


def plan_top_k(out: Planning, op: TopK) -> None:
    """Selects where few elements of a line are wanted, else sorts."""
    check_span(out, op.input)
    check_span(out, op.output)
    check_span(out, op.indices)
    bits, length = op.input.bits, op.input.sizes[op.axis]
    out.define("LARGEST", int(op.largest))
    out.define_text("KEY", "uint64_t" if bits == 64 else "uint")
    out.define_text("ELEMENT_TYPE", op.input.type_name)
    define_moved(out, op.input)
    define_moved(out, op.output)
    define_tensor(out, op.indices)
    loops = across([op.input, op.output, op.indices], op.axis)
    out.define("RANK", len(loops))
    most = TILE_BYTES // key_bytes(op)
    reduced = TOP_K_SELECTED if length <= most else TOP_K_REDUCED
    has_room = 2 * tile_of(op.count) * entry_bytes(op) <= SELECTION_BYTES
    if length > TOP_K_SHORTEST and op.count * reduced <= length and has_room:
        select(out, op, loops)
    else:
        sort(out, op, loops, min(tile_of(length), most))


def entry_bytes(op: TopK) -> int:
    """Of a key with its place."""
    return 16 if op.input.bits == 64 else 8


def key_bytes(op: TopK) -> int:
    return 8 if op.input.bits == 64 else 4


def new_runs(out: Planning, op: TopK, count: int) -> Runs:
    """Scratch for so many elements."""
    return Runs(out.scratch(count * key_bytes(op)), out.scratch(4 * count))


def no_runs() -> Runs:
    """For a dispatch that reads or passes on none."""
    return Runs(Buffer(PLACEHOLDER, 0), Buffer(PLACEHOLDER, 0))


def resources(op: TopK, source: Runs, target: Runs) -> TopKResources:
    """A dispatch's resources."""
    return TopKResources(
        input=op.input.buffer,
        keys=source.keys,
        positions=source.positions,
        output=op.output.buffer,
        indices=op.indices.buffer,
        keptKeys=target.keys,
        keptPositions=target.positions,
    )


def selectors_of(length: int, wanted: int, lines: int) -> Selectors:
    """The whole line if a group can take it, by more threads if lines are few. Otherwise parts that are
    short, so that there are more groups, unless these saturate a GPU, or leave too much for a single further
    dispatch."""
    most = TOP_K_MOST_THREADS * TOP_K_ITEMS
    if length <= most:
        threads = max(TOP_K_LEAST_THREADS, tile_of(ceil_div(length, TOP_K_ITEMS)))
        if 2 * threads <= TOP_K_MOST_THREADS and times(lines, threads) < SATURATING_THREADS:
            threads = max(threads, tile_of(ceil_div(length, TOP_K_ITEMS // 2)))
        return Selectors(threads, 1, length)
    threads = TOP_K_PART_THREADS
    items = TOP_K_LEAST_ITEMS
    while items < TOP_K_ITEMS:
        parts = ceil_div(length, threads * items)
        is_enough = wanted * TOP_K_REDUCED <= threads * items and wanted * parts <= most
        if is_enough and times(parts, lines) <= TOP_K_GROUPS:
            break
        items = 2 * items
    parts = ceil_div(length, threads * items)
    return Selectors(threads, parts, ceil_div(length, parts))


def lines_abreast(op: TopK, loops: Loops, threads: int, room: int) -> int:
    """Lines per group, with `threads` threads and `room` bytes each: several only if they are interleaved,
    span at most `TOP_K_ABREAST` bytes, and fit in shared memory."""
    if loops[-1].strides[0] != 1:
        return 1
    lines = 1
    while (
        2 * lines * op.input.bits <= 8 * TOP_K_ABREAST
        and 2 * lines * threads <= TOP_K_MOST_THREADS
        and 2 * lines * room <= SELECTION_BYTES
        and lines < loops[-1].size
    ):
        lines = 2 * lines
    return lines


def select(out: Planning, op: TopK, loops: Loops) -> None:
    """Dispatches that select from lines or parts of them, then from what is left, until each line is one
    part."""
    wanted, count = op.count, repeats(loops)
    nothing = no_runs()
    out.define("SELECTS", 1)
    out.share()
    source, length = nothing, op.input.sizes[op.axis]
    is_first, is_last = True, False
    while not is_last:
        selectors = selectors_of(length, wanted, count)
        is_last = selectors.parts == 1
        threads = selectors.threads
        shares = 1  # of each thread; half as many again as are wanted, so that few elements pass the bound
        while 2 * threads * shares < 3 * wanted:
            shares = 2 * shares
        room = max(2 * tile_of(wanted), threads * shares)
        abreast = lines_abreast(op, loops, threads, room * entry_bytes(op)) if is_first else 1
        each = ceil_div(count, abreast)
        groups = grid(out, times(times(each, selectors.parts), abreast * threads), abreast * threads, 1)
        target = nothing
        if not is_last:
            target = new_runs(out, op, times(times(count, selectors.parts), wanted))
        out.define("FIRST", int(is_first))
        out.define("LAST", int(is_last))
        out.define("LINES", abreast)
        out.define("ITEMS", max(shares, ceil_div(selectors.length, threads)))
        out.define("SHARES", shares)
        out.define("ROOM", room)
        out.define("NUM_THREADS", abreast * threads)
        out.bind(resources(op, source, target))
        params = TopKParams(
            count,
            groups.columns,
            length,
            wanted,
            selectors.parts,
            selectors.length,
            0,
            op.input.strides[op.axis],
            op.output.strides[op.axis],
            op.indices.strides[op.axis],
            dimensions(loops),
        )
        out.dispatch(params, groups, not is_first)
        source, length, is_first = target, selectors.parts * wanted, False


def sort(out: Planning, op: TopK, loops: Loops, tile: int) -> None:
    """A dispatch that sorts tiles, and one for each time that the number of runs is halved."""
    axis, wanted = op.axis, op.count
    length, count = op.input.sizes[axis], repeats(loops)
    most = TILE_BYTES // key_bytes(op)
    items = min(TOP_K_SORTED_ITEMS if length <= tile else TOP_K_MERGED_ITEMS, tile)
    threads = tile // items
    while items > 2 and 2 * threads <= TOP_K_MOST_THREADS and times(count, threads) < SATURATING_THREADS:
        items, threads = items // 2, 2 * threads
    nothing = no_runs()
    out.define("SELECTS", 0)
    out.share()

    # Runs alternate between two pairs of buffers, each sized for the most that it ever holds.
    runs, kept, span, turn = ceil_div(length, tile), min(wanted, tile), tile, 0
    even, odd = 0, 0
    while runs > 1:
        room = times(times(count, runs), kept)
        if turn == 0:
            even = max(even, room)
        else:
            odd = max(odd, room)
        runs, kept, span, turn = ceil_div(runs, 2), min(wanted, 2 * span), 2 * span, 1 - turn
    evens, odds = nothing, nothing
    if even > 0:
        evens = new_runs(out, op, even)
    if odd > 0:
        odds = new_runs(out, op, odd)

    runs, kept, span, turn = ceil_div(length, tile), min(wanted, tile), tile, 0
    block = max(tile, TOP_K_LEAST_THREADS * items)
    source, source_runs, source_kept, source_span = nothing, runs, 0, 0
    is_first, is_last = True, False
    while not is_last:
        is_last = runs == 1
        target = nothing if is_last else evens if turn == 0 else odds
        blocks = times(times(count, runs), ceil_div(kept, block))
        tiles = times(count, runs)
        groups = grid(out, times(ceil_div(tiles, block // tile) if is_first else blocks, block), block, 1)
        out.define("FIRST", int(is_first))
        out.define("LAST", int(is_last))
        out.define("ITEMS", items)
        out.define("TILE", tile)
        out.define("NUM_THREADS", block // items)
        out.bind(resources(op, source, target))
        params = TopKParams(
            tiles if is_first else blocks,
            groups.columns,
            length,
            kept,
            source_runs,
            source_kept,
            source_span,
            op.input.strides[axis],
            op.output.strides[axis],
            op.indices.strides[axis],
            dimensions(loops),
        )
        out.dispatch(params, groups, not is_first)
        source_runs, source_kept, source_span = runs, kept, span
        source, is_first, block = target, False, most // 2
        runs, kept, span, turn = ceil_div(runs, 2), min(wanted, 2 * span), 2 * span, 1 - turn
