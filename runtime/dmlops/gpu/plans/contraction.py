"""Contractions: an output from sums of products of two factors, tile by tile through group memory.

The output is seen as matrices. Another dispatch may come first, which puts the left factor into scratch in
the order in which tiles read it, or without a window both factors, where neither their rows nor their columns
are whole vectors.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .contraction_params import Split, contraction_params, window_words
from .definition import (
    MAX_COUNT,
    Definition,
    DefinitionShader,
    Known,
    plan_definition,
    space_of,
    tell_known,
)
from .loops import ceil_div, check_span, grid, times
from .matrices import (
    Matrices,
    Side,
    axis_steps,
    first_of,
    is_bordered,
    is_of_bytes,
    is_small,
    stored_at_once,
)
from .ordering import ORDERING, copied, copied_words, is_put_in_order, pays_to_copy, row_pitch
from .phases import is_divided
from .planning import Planning
from .reasons import Reason
from .sliding import in_blocks, plan_sliding
from .told import NO_MEMBER, NONE
from .tuning import (
    SINGLE_THREADS,
    TILE_DIRECT_ROWS,
    TILE_FEW,
    TILE_FEW_PHASES,
    TILE_FEW_ROWS,
    TILE_GATHERED_PART,
    TILE_GROUPS,
    TILE_MANY,
    TILE_PART,
    TILE_RESIDENT,
    TILE_ROUNDS,
    TILE_WALK,
)


class Tile(NamedTuple):
    """What a group works out: elements of a matrix; each of its threads has so many of them."""

    rows: int
    columns: int
    threadRows: int
    threadColumns: int


class Share(NamedTuple):
    """The same, and the tiles."""

    tile: Tile
    split: Split


def tile_for(found: Matrices, is_phased: bool) -> Tile:
    """The tile that suits the matrices: as large as leaves enough of them. Of phases, parts cost more than
    small tiles."""
    if found.rows <= TILE_FEW_ROWS:
        return Tile(16, 128, 4, 4)
    if found.column_axis == NONE:  # what is gathered is worth more of it, and few tiles come in parts
        tiles = times(ceil_div(found.rows, 64) * ceil_div(found.columns, 128), found.count)
        is_tail = tiles > TILE_RESIDENT and tiles < TILE_ROUNDS  # a few would come last, alone
        is_few = tiles <= (TILE_FEW_PHASES if is_phased else TILE_FEW) or is_tail
        return Tile(32 if is_few else 64, 128, 4 if is_few else 8, 8)
    if is_small(found.rows, found.columns, found.depth, found.count):
        return Tile(32, 32, 4, 4)
    if times(ceil_div(found.rows, 128) * ceil_div(found.columns, 128), found.count) >= TILE_MANY:
        return Tile(128, 128, 8, 8)
    return Tile(64, 64, 8, 4)


def share_of(found: Matrices, is_phased: bool) -> Share:
    """How groups share the work. Sums are worked out in parts where there are few tiles."""
    tile = tile_for(found, is_phased)
    down, across = ceil_div(found.rows, tile.rows), ceil_div(found.columns, tile.columns)
    groups = times(down * across, found.count)
    wanted = 1
    if found.column_axis == NONE:
        wanted = TILE_ROUNDS // groups  # these are long, and one too many waits for all others
    elif 2 * groups < TILE_GROUPS and tile.columns > 32:
        wanted = ceil_div(TILE_GROUPS, groups)
    least = TILE_GATHERED_PART if found.column_axis == NONE else TILE_PART
    parts = max(min(wanted, found.depth // least), 1)
    products = max(ceil_div(ceil_div(found.depth, parts), found.tile_depth), 1) * found.tile_depth
    parts = max(ceil_div(found.depth, products), 1)
    return Share(tile, Split(down, across, parts, products))


def plan_contraction(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """One dispatch; one before it where the left factor is put in order, one after it where sums are worked
    out in parts. The passes of the definition where those are as good."""
    window = told.factors.window
    is_windowed = told.factors.applies and len(window.sizes) > 0
    is_few = is_windowed and not is_of_bytes(told, shader) and found.rows < TILE_DIRECT_ROWS
    if is_few and (not is_divided(window) or in_blocks(told, shader)):
        plan_sliding(out, told, shader)
        return
    if is_of_bytes(told, shader) or not found.is_worth:
        plan_definition(out, told, shader)
        return
    share = share_of(found, is_divided(window))
    split = share.split
    output = told.tensors[shader.contracted.output]
    whole = times(times(found.rows, found.columns), found.count)
    part_words = ceil_div(whole * split.parts, 4) * 4 if split.parts > 1 else 0
    is_ordered = is_put_in_order(told, shader, found)
    left, right = told.tensors[shader.contracted.left], told.tensors[shader.contracted.right]
    is_copied = found.column_axis != NONE and left.bits == 32 and right.bits == 32
    is_copied = is_copied and pays_to_copy(found, min(found.left.vector, found.right.vector) <= 2)
    factors = found
    if is_copied:
        factors = copied(found, 4)
    ordered_words = copied_words(factors, 4) if is_copied else 0
    if is_ordered:
        ordered_words = times(times(found.depth, row_pitch(found)), found.count)
    words = max(part_words + ordered_words, times(whole, split.parts))
    if words >= MAX_COUNT:
        out.refuse(Reason.LARGE_SCRATCH, NO_MEMBER, 4 * words)
    out.begin()
    for tensor in told.tensors:
        if tensor.is_present:
            check_span(out, tensor)
    known = tell_known(out, told, shader, 0, space_of(told, shader, 0), output.buffer)
    define_matrices(out, told, shader, found)
    define_shares(out, found, share)
    out.write(out.scratch(max(4 * (part_words + ordered_words), 16)))
    out.share()

    number = shader.contracted.number
    first = first_of(window, told.tensors[shader.contracted.left]) if is_windowed else 0
    places = window_words(out, told, shader)
    if is_ordered or is_copied:
        items = ordered_words // 4
        dispatch_contraction(out, told, shader, found, first, share, places, known, number + ORDERING, items)
    if is_ordered:
        pitch = row_pitch(found)
        steps = axis_steps(output, found.row_axis, 1)
        factors = found._replace(left=Side(steps, pitch, times(found.depth, pitch), False, 4))
        first = part_words
    threads = split.down * split.across * found.count * split.parts * threads_of(share.tile)
    dispatch_contraction(out, told, shader, factors, first, share, places, known, number, threads)
    if split.parts > 1:
        dispatch_contraction(out, told, shader, factors, first, share, places, known, number + 1, whole)


def define_matrices(out: Planning, told: Definition, shader: DefinitionShader, found: Matrices) -> None:
    """The macros that say how the output counts as matrices."""
    window, output = told.factors.window, told.tensors[shader.contracted.output]
    out.define("ROW_AXIS", found.row_axis)
    if found.column_axis != NONE:
        out.define("COLUMN_AXIS", found.column_axis)
        return
    out.define("WINDOW_RANK", len(window.sizes))
    out.define("WINDOW_AXIS", window.axes[0])
    out.define("WHOLE_TAPS", int(told.factors.depth % found.tile_depth == 0))
    out.define("BORDERED", int(is_bordered(window, told.tensors[shader.contracted.right], output)))
    out.define("PHASED", int(is_divided(window)))
    out.define("TAPS_AT_ONCE", 1)


def define_shares(out: Planning, found: Matrices, share: Share) -> None:
    """The macros of tiles."""
    tile = share.tile
    out.define("RIGHT_ALONG", int(found.right.is_along))
    out.define("TILE_ROWS", tile.rows)
    out.define("TILE_COLUMNS", tile.columns)
    out.define("TILE_DEPTH", found.tile_depth)
    out.define("TILES_WALKED", TILE_WALK)
    out.define("THREAD_ROWS", tile.threadRows)
    out.define("THREAD_COLUMNS", tile.threadColumns)
    out.define("IN_PARTS", int(share.split.parts > 1))


def threads_of(tile: Tile) -> int:
    """Threads in a group that works out a tile."""
    return tile.rows * tile.columns // (tile.threadRows * tile.threadColumns)


def dispatch_contraction(
    out: Planning,
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    first: int,
    share: Share,
    window: Annotated[list[int], 96],
    known: Known,
    number: int,
    threads: int,
) -> None:
    """Pass `number`, by so many threads; `first` is where the left factor begins. It waits for one before."""
    contracted, split = shader.contracted, share.split
    output = told.tensors[contracted.output]
    is_tiled_pass = number == contracted.number
    is_windowed = found.column_axis == NONE
    is_first = number == contracted.number + ORDERING
    # Under a window products are side by side unless they are in order; otherwise only matrices in order are.
    is_ordered = found.left.matrix > 0
    if is_windowed:
        is_ordered = not found.left.is_along
    in_group = threads_of(share.tile) if is_tiled_pass else SINGLE_THREADS
    stores_all = is_tiled_pass and split.parts == 1
    groups = grid(out, threads, in_group, 1)
    out.define("PASS", number)
    out.define("NUM_THREADS", in_group)
    out.define("LEFT_VECTOR", found.left.vector if is_tiled_pass else 1)
    out.define("LEFT_ALONG", int(found.left.is_along))
    out.define("RIGHT_VECTOR", 1 if is_first else found.right.vector)
    if is_tiled_pass or (is_first and not is_windowed):
        out.define("ORDERED", int(is_ordered or is_first))
    out.define("OUTPUT_VECTOR", stored_at_once(found, output) if stores_all else 1)
    if number == contracted.number + 1:
        out.define("PART_VECTOR", 1)
    params = contraction_params(told, shader, found, first, split, window, known, groups)
    out.dispatch(params, groups, is_ordered or number == contracted.number + 1)
