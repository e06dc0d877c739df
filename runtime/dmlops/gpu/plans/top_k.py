"""Top-k: a group selects from a line, or sorted runs of tiles are merged until each line has only one."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .loops import (
    Dimensions,
    Loop,
    Loops,
    across,
    ceil_div,
    check_span,
    dimensions,
    grid,
    repeats,
    times,
)
from .planning import Planning
from .told import Read, Tensor, Written
from .tuning import (
    TOP_K_ABREAST,
    TOP_K_FEW,
    TOP_K_ITEMS,
    TOP_K_LARGE_TILE,
    TOP_K_LEAST_THREADS,
    TOP_K_MOST_THREADS,
    TOP_K_SMALL_TILE,
)
from .types import define_moved, define_tensor

SELECTION_BYTES = 15360  # of shared memory; every device has a little more


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
    places: Read
    output: Written
    indices: Written
    keptKeys: Written
    keptPlaces: Written


class TopKParams(NamedTuple):
    count: int  # type: ignore[assignment]  # shadows tuple.count
    "elements of tiles, or of runs to be merged, over all lines; or lines to select from"
    groupColumns: int
    "thread groups along x"
    length: int
    "of a line"
    kept: int
    "elements that are kept of each tile or pair of runs, at most"
    runs: int
    "to be merged, per line"
    runLength: int
    "elements that a run has room for"
    runSpan: int
    "elements of the line that a run comes from"
    inputStep: int
    "strides along the axis"
    outputValueStep: int
    outputIndexStep: int
    dimensions: Annotated[Dimensions, "RANK", "input", "outputValue", "outputIndex"]
    "outermost first"


def tile_of(number: int) -> int:
    """The least power of 2 that is not below `number`, 2 or more."""
    return max(2, 1 << (number - 1).bit_length())


def selecting_threads(length: int, wanted: int, entry: int) -> int:
    """Threads per line of a selecting group, or 0 if lines are sorted; `entry` is the bytes of a
    candidate."""
    if length <= TOP_K_SMALL_TILE or wanted > TOP_K_FEW:  # a small tile also takes one dispatch
        return 0
    threads = max(TOP_K_LEAST_THREADS, tile_of(wanted), tile_of(ceil_div(length, TOP_K_ITEMS)))
    while (
        threads <= TOP_K_MOST_THREADS
        and (threads + wanted * ceil_div(length, threads)) * entry > SELECTION_BYTES
    ):
        threads *= 2
    return threads if threads <= TOP_K_MOST_THREADS else 0


def lines_abreast(told: TopK, loops: Loops, threads: int, entry: int) -> int:
    """Lines per group, with `threads` threads each: several only if they are interleaved, span at most
    `TOP_K_ABREAST` bytes, and fit in shared memory."""
    if loops[-1].strides[0] != 1:
        return 1
    room = (threads + told.count * ceil_div(told.input.sizes[told.axis], threads)) * entry
    lines = 1
    while (
        2 * lines * told.input.bits <= 8 * TOP_K_ABREAST
        and 2 * lines * threads <= TOP_K_MOST_THREADS
        and 2 * lines * room <= SELECTION_BYTES
        and lines < loops[-1].size
    ):
        lines = 2 * lines
    return lines


def plan_top_k(out: Planning, told: TopK) -> None:
    """One dispatch that selects; or one that sorts, and one for each time that the number of runs halves."""
    bits = told.input.bits
    out.define("LARGEST", int(told.largest))
    out.define_text("KEY", "uint64_t" if bits == 64 else "uint")
    out.define("SIGN", 2 if told.input.is_float else 1 if told.input.is_signed else 0)
    define_moved(out, told.input)
    define_moved(out, told.output)
    define_tensor(out, told.indices)
    entry = 16 if bits == 64 else 8
    threads = selecting_threads(told.input.sizes[told.axis], told.count, entry)
    if threads > 0:
        select(out, told, threads, entry)
    else:
        sort(out, told)


def select(out: Planning, told: TopK, threads: int, entry: int) -> None:
    """One dispatch, with `threads` threads per line."""
    check_span(out, told.input)
    check_span(out, told.output)
    check_span(out, told.indices)
    axis, nothing = told.axis, told.input.buffer
    length = told.input.sizes[axis]
    loops = across([told.input, told.output, told.indices], axis)
    lines = repeats(loops)
    abreast = lines_abreast(told, loops, threads, entry)
    groups = grid(out, times(ceil_div(lines, abreast), abreast * threads), abreast * threads, 1)
    out.define("SELECTS", 1)
    out.define("MERGES", 0)
    out.define("LAST", 1)
    out.define("LINES", abreast)
    out.define("ITEMS", ceil_div(length, threads))
    out.define("CANDIDATES", told.count * ceil_div(length, threads))
    out.define("RANK", len(loops))
    out.define("NUM_THREADS", abreast * threads)
    out.bind(
        TopKResources(
            input=told.input.buffer,
            keys=nothing,
            places=nothing,
            output=told.output.buffer,
            indices=told.indices.buffer,
            keptKeys=nothing,
            keptPlaces=nothing,
        )
    )
    params = TopKParams(
        lines,
        groups.columns,
        length,
        told.count,
        0,
        0,
        0,
        told.input.strides[axis],
        told.output.strides[axis],
        told.indices.strides[axis],
        dimensions(loops),
    )
    out.dispatch(params, groups, False)


def sort(out: Planning, told: TopK) -> None:
    """A dispatch that sorts tiles, and one for each time that the number of runs halves."""
    check_span(out, told.input)
    check_span(out, told.output)
    check_span(out, told.indices)
    axis, wanted = told.axis, told.count
    length = told.input.sizes[axis]
    loops = across([told.input, told.output, told.indices], axis)
    line_count = repeats(loops)
    max_tile = TOP_K_SMALL_TILE if wanted <= TOP_K_FEW else TOP_K_LARGE_TILE
    tile, num_threads = min(tile_of(length), max_tile), max_tile // 2
    bits = told.input.bits
    step = told.input.strides[axis]
    out.define("SELECTS", 0)
    out.define("TILE", tile)
    out.define("RUN", tile_of(min(wanted, tile)))
    out.define("NUM_THREADS", num_threads)
    out.share()

    # Runs alternate between two pairs of buffers, each sized for the most that it ever holds.
    runs, kept, span, turn = ceil_div(length, tile), min(wanted, tile), tile, 0
    even, odd = 0, 0
    while runs > 1:
        room = line_count * runs * kept
        if turn == 0:
            even = max(even, room)
        else:
            odd = max(odd, room)
        runs, kept, span, turn = ceil_div(runs, 2), min(wanted, 2 * span), 2 * span, 1 - turn
    # The input stands in for buffers that a dispatch does not use.
    nothing = told.input.buffer
    keys_even, places_even, keys_odd, places_odd = nothing, nothing, nothing, nothing
    if even > 0:
        keys_even = out.scratch(even * (8 if bits == 64 else 4))
        places_even = out.scratch(even * 4)
    if odd > 0:
        keys_odd = out.scratch(odd * (8 if bits == 64 else 4))
        places_odd = out.scratch(odd * 4)

    runs, kept, span, turn = ceil_div(length, tile), min(wanted, tile), tile, 0
    tiles: Loops = list(loops)
    if runs > 1:
        tiles.append(Loop(runs, [tile * step, 0, 0]))
    line_dimensions, tile_dimensions = dimensions(loops), dimensions(tiles)
    source_runs, source_kept, source_span = 0, 0, 0
    read_keys, read_places = nothing, nothing
    is_merging, is_done = False, False
    while not is_done:
        is_last = runs == 1
        keys = read_keys if is_last else keys_even if turn == 0 else keys_odd
        places = read_places if is_last else places_even if turn == 0 else places_odd
        count = line_count * source_runs * source_kept if is_merging else line_count * runs * tile
        groups = grid(out, count, num_threads if is_merging else 2 * num_threads, 1)
        out.define("MERGES", int(is_merging))
        out.define("LAST", int(is_last))
        out.define("RANK", len(line_dimensions) if is_merging else len(tile_dimensions))
        out.bind(
            TopKResources(
                input=told.input.buffer,
                keys=read_keys,
                places=read_places,
                output=told.output.buffer,
                indices=told.indices.buffer,
                keptKeys=keys,
                keptPlaces=places,
            )
        )
        params = TopKParams(
            count,
            groups.columns,
            length,
            kept,
            source_runs,
            source_kept,
            source_span,
            step,
            told.output.strides[axis],
            told.indices.strides[axis],
            line_dimensions if is_merging else tile_dimensions,
        )
        out.dispatch(params, groups, is_merging)
        source_runs, source_kept, source_span = runs, kept, span
        read_keys, read_places, is_merging, is_done = keys, places, True, is_last
        runs, kept, span, turn = ceil_div(runs, 2), min(wanted, 2 * span), 2 * span, 1 - turn
