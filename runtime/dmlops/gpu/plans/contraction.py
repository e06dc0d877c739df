"""Contractions: an output from sums of products of two factors, tile by tile through group memory.

The output is seen as matrices. Of the dimensions that only the left factor has, the longest counts their
rows, of those that only the right one has, the longest counts their columns; all other dimensions count
matrices, along which a factor may have a step of 0. With a window, each group of channels is a matrix, or
each phase of one, and all dimensions but that of the channels count columns. Another dispatch may come first,
which puts the left factor into scratch in the order in which tiles read it, or without a window both factors,
where neither their rows nor their columns are whole vectors.
"""

from __future__ import annotations

from math import gcd
from typing import Annotated, NamedTuple

from .definition import (
    MAX_COUNT,
    Definition,
    DefinitionShader,
    Eight,
    Known,
    Lists,
    Window,
    eight,
    padded,
    plan_definition,
    space_of,
    tell_known,
)
from .loops import Words, ceil_div, check_span, element_count, grid, times
from .phases import has_phases, is_divided, is_pointwise, most_places, period, phase_count, row_dimension
from .planning import Planning
from .reasons import Reason
from .sliding import in_blocks, plan_sliding
from .told import NO_MEMBER, NONE, Groups, Signed, Sizes, Tensor
from .tuning import (
    SINGLE_THREADS,
    TILE_COPIED,
    TILE_COPIED_LINES,
    TILE_DEPTH,
    TILE_DIRECT_ROWS,
    TILE_FEW,
    TILE_FEW_PHASES,
    TILE_FEW_ROWS,
    TILE_GATHERED_DEPTH,
    TILE_GATHERED_PART,
    TILE_GROUPS,
    TILE_MANY,
    TILE_ORDERED,
    TILE_PART,
    TILE_PRODUCTS,
    TILE_RESIDENT,
    TILE_ROUNDS,
    TILE_SHALLOW,
    TILE_SHALLOW_DEPTH,
    TILE_SMALL,
    TILE_WALK,
)

ORDERING = 3  # the number of the pass that puts the left factor in order, or both, from the contraction's
MOST_BYTES = 33025  # products of differences of bytes, whose sum is an integer of 32 bits


class Tile(NamedTuple):
    """What a group works out: elements of a matrix; each of its threads has so many of them."""

    rows: int
    columns: int
    threadRows: int
    threadColumns: int


class Side(NamedTuple):
    """How a factor is read: its steps along the dimensions of the output, and from one product to the next.

    `vector` neighbours in memory are read at once: of one sum if `is_along`, else of as many rows or columns.
    With a window, `matrix` is the step from one group of channels to the next, of the left factor.
    """

    steps: Eight
    depth: int
    matrix: int
    is_along: bool
    vector: int


class Matrices(NamedTuple):
    """The output as matrices. `is_worth`: tiles are faster than the definition.

    `sizes` are those of the output, 1 along rows, and along columns unless there is a window. `run` are the
    neighbours along a row that lie side by side in the output. A tile takes `tile_depth` products at once.
    Where there are phases, `sizes` and `columns` are those of the largest, and so is `depth`.
    """

    is_worth: bool
    sizes: Eight
    row_axis: int
    column_axis: int
    rows: int
    columns: int
    run: int
    depth: int
    tile_depth: int
    count: int  # type: ignore[assignment]  # it hides a method of tuples
    left: Side
    right: Side


class TapStep(NamedTuple):
    """How far apart elements of the left factor are at neighbouring places of the window, counted row by row.
    `is_even`: that is always the same."""

    is_even: bool
    step: int


class Split(NamedTuple):
    """How groups share the work: tiles along a matrix, parts of each sum, and the products in a part."""

    down: int
    across: int
    parts: int
    products: int


class Share(NamedTuple):
    """The same, and the tiles."""

    tile: Tile
    split: Split


class ContractionParams(NamedTuple):
    sizes: Eight
    "of the output, 1 along rows, and along columns without a window; lists fill two vectors"
    leftSteps: Eight
    "from one element of the output to the next"
    rightSteps: Eight
    window: Annotated[list[int], 96]
    lists: Lists
    activations: Annotated[list[int], 32]
    rank: Signed
    "entries of sizes"
    matrices: int
    matrixRows: int
    matrixColumns: int
    matrixDepth: int
    "products of a sum"
    leftDepthStep: int
    "from one product to the next"
    rightDepthStep: int
    partDepth: int
    "products of a part of a sum"
    parts: int
    tilesDown: int
    "of a matrix"
    tilesAcross: int
    groupColumns: int
    "thread groups along x"
    elements: Words
    scalars: Words
    tap: Words


def is_read(places: Sizes, axis: int) -> bool:
    """Whether a factor is read at the coordinate of that dimension."""
    return axis in places


def own_axis(sizes: Sizes, places: Sizes, others: Sizes) -> int:
    """The longest dimension that only one factor has; NONE where there is none."""
    found, longest = NONE, 0
    for axis, size in enumerate(sizes):
        if is_read(places, axis) and not is_read(others, axis) and size > longest:
            found, longest = axis, size
    return found


def step_of(tensor: Tensor, places: Sizes, axis: int) -> int:
    """How far apart the elements are that belong to neighbours along a dimension of the output."""
    step = 0
    for place, stride in zip(places, tensor.strides, strict=True):
        if place == axis:
            step += stride
    return step


def side_of(tensor: Tensor, places: Sizes, sizes: Sizes, axis: int, depth: int) -> Side:
    """How a factor is read, of which `axis` counts rows or columns."""
    steps: Eight = [step_of(tensor, places, d) if size > 1 else 0 for d, size in enumerate(sizes)]
    step = step_of(tensor, places, len(sizes))
    is_along = step == 1 or (steps[axis] != 1 and step < steps[axis])
    side = Side(padded(steps), step, 0, is_along, 1)
    return Side(side.steps, step, 0, is_along, side_vector(side, axis, sizes[axis], depth, 4))


def side_vector(side: Side, axis: int, lines: int, depth: int, most: int) -> int:
    """How many neighbours of a factor are vectors wherever sums or lines begin, up to `most`; `axis` counts
    that many rows or columns."""
    vector = gcd(most, depth if side.is_along else lines)
    for d, step in enumerate(side.steps):
        if side.is_along or d != axis:
            vector = gcd(vector, step)
    if not side.is_along:
        vector = gcd(vector, side.depth)
    is_dense = (side.depth if side.is_along else side.steps[axis]) == 1
    return vector if is_dense else 1


def merged_last(output: Tensor, row_axis: int) -> int:
    """How many of the last dimensions lie side by side in the output, behind that of rows."""
    run, count = 1, 0
    for place in range(len(output.sizes)):
        axis = len(output.sizes) - 1 - place
        if axis == row_axis or (output.sizes[axis] > 1 and output.strides[axis] != run):
            break
        run *= output.sizes[axis]
        count += 1
    return count


def side_by_side(output: Tensor, row_axis: int) -> int:
    """How many elements lie side by side in the output, as loops over its last dimensions reach them."""
    run = 1
    for size in output.sizes[len(output.sizes) - merged_last(output, row_axis) :]:
        run *= size
    return run


def boxed(output: Tensor, ones: Sizes, window: Window) -> Eight:
    """The sizes of the output, or of its largest phase, 1 along some dimensions."""
    sizes: Eight = []
    for axis, size in enumerate(output.sizes):
        own = 1 if is_read(ones, axis) else size
        for d, divisor in enumerate(window.right_divisors):
            own = ceil_div(own, divisor) if axis == window.axes[d] else own
        sizes.append(own)
    return padded(sizes)


def is_tiled(told: Definition, shader: DefinitionShader, products: int) -> bool:
    """Whether tiles take the types, and there is enough to do for them."""
    contracted = shader.contracted
    is_whole = told.tensors[contracted.left].bits >= 16 and told.tensors[contracted.right].bits >= 16
    is_whole = is_whole and told.tensors[contracted.output].bits >= 16
    if is_of_bytes(told, shader):
        is_whole = sum_of(told) <= MOST_BYTES
    return told.factors.applies and is_whole and not told.is_double and products >= TILE_PRODUCTS


def is_of_bytes(told: Definition, shader: DefinitionShader) -> bool:
    return told.factors.applies and not told.tensors[shader.contracted.left].is_float


def sum_of(told: Definition) -> int:
    """How many products are in a sum."""
    return times(told.factors.depth, most_places(told.factors.window))


def matrices_of(told: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices."""
    if len(told.factors.window.sizes) > 0:
        return windowed(told, shader)
    factors, contracted = told.factors, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    row_axis = own_axis(output.sizes, factors.left, factors.right)
    column_axis = own_axis(output.sizes, factors.right, factors.left)
    is_there = row_axis != NONE and column_axis != NONE
    is_there = is_there and not is_read(factors.left_less, column_axis)
    is_there = is_there and not is_read(factors.right_less, row_axis)
    rows = output.sizes[row_axis] if is_there else 1
    columns = output.sizes[column_axis] if is_there else 1
    count = element_count(output.sizes) // (rows * columns)
    is_shallow = is_small(rows, columns, factors.depth, count)
    return Matrices(
        is_there and is_tiled(told, shader, times(times(rows, columns), factors.depth)),
        boxed(output, [row_axis, column_axis], factors.window),
        row_axis,
        column_axis,
        rows,
        columns,
        columns if output.strides[column_axis] == 1 else 1,
        factors.depth,
        TILE_SHALLOW_DEPTH if is_shallow else TILE_DEPTH,
        count,
        side_of(left, factors.left, output.sizes, row_axis, factors.depth),
        side_of(right, factors.right, output.sizes, column_axis, factors.depth),
    )


def tap_step(window: Window, tensor: Tensor) -> TapStep:
    """The step of the left factor from one place of the window to the next."""
    is_even, is_ordered = True, True
    step, following = 0, 0
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        if window.sizes[d] > 1:
            stride = tensor.strides[len(tensor.strides) - 1 - place]
            own = (window.left_taps[d] - window.left_first[d]) * stride
            is_even = is_even and (is_ordered or own == following)
            step = own if is_ordered else step
            is_ordered = False
            following = own * window.sizes[d]
    return TapStep(is_even, step)


def is_direct(window: Window, tensor: Tensor) -> bool:
    """Whether tiles can read the left factor where it is."""
    step = tap_step(window, tensor)
    return step.is_even and not is_divided(window)


def windowed(told: Definition, shader: DefinitionShader) -> Matrices:
    """The output as matrices, with a window: one for each phase of each group."""
    factors, window, contracted = told.factors, told.factors.window, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    output = told.tensors[contracted.output]
    counts_rows = row_dimension(factors, output)
    row_axis, groups = factors.left[counts_rows], max(window.groups, 1)
    sizes = boxed(output, [row_axis], window)
    rows = output.sizes[row_axis] // groups
    columns = 1
    for size in sizes:
        columns = times(columns, max(size, 1))  # 0 stands behind the last dimension
    depth = sum_of(told)
    is_straight = has_phases(window, output)
    if is_of_bytes(told, shader):
        is_straight = is_straight and not is_divided(window) and len(factors.right_less) == 0
    for axis in factors.left_less:
        is_straight = is_straight and axis == row_axis
    for d, axis in enumerate(window.axes):
        is_straight = is_straight and axis == window.axes[0] + d
    row_step, depth_step = left.strides[counts_rows], left.strides[1 - counts_rows]
    matrix_step = left.sizes[0] // groups * left.strides[0]
    others: Words = [row_step, tap_step(window, left).step, first_of(window, left), matrix_step]
    vector = gcd(4 if depth_step == 1 else 1, factors.depth)
    for other in others:
        vector = gcd(vector, other)
    count = times(groups, phase_count(window))
    return Matrices(
        is_straight and is_tiled(told, shader, times(times(rows, columns), depth * count)),
        sizes,
        row_axis,
        NONE,
        rows,
        columns,
        1 if is_divided(window) else side_by_side(output, row_axis),
        depth,
        TILE_DEPTH if factors.depth % TILE_DEPTH == 0 else TILE_GATHERED_DEPTH,
        count,
        Side(axis_steps(output, row_axis, row_step), depth_step, matrix_step, True, vector),
        Side(
            axis_steps(output, factors.right[0], right.strides[0]),
            right.strides[1],
            0,
            False,
            neighbours(window, right, output),
        ),
    )


def is_put_in_order(told: Definition, shader: DefinitionShader, found: Matrices) -> bool:
    """Whether the left factor is put in order first: where it must be, or where there are enough products."""
    window, left = told.factors.window, told.tensors[shader.contracted.left]
    if found.column_axis != NONE:
        return False
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    is_scattered = element_count(window.sizes) > 1 or found.left.depth != 1
    return not is_direct(window, left) or (is_scattered and products >= TILE_ORDERED)


def row_pitch(found: Matrices) -> int:
    """Words from one product to the next of a left factor in order: its rows, side by side."""
    return ceil_div(found.rows, 4) * 4


def with_left(found: Matrices, left: Side) -> Matrices:
    """The same with another left factor."""
    return Matrices(
        found.is_worth,
        found.sizes,
        found.row_axis,
        found.column_axis,
        found.rows,
        found.columns,
        found.run,
        found.depth,
        found.tile_depth,
        found.count,
        left,
        found.right,
    )


def pays_to_copy(found: Matrices, has_gaps: bool) -> bool:
    """Whether both factors are put in order first where no window is: where one of them has no whole vectors,
    and each element is read often."""
    products = times(times(found.rows, found.columns), times(found.depth, found.count))
    elements = times(times(found.rows + found.columns, found.depth), found.count)
    is_own = min(found.rows, found.columns) >= TILE_COPIED_LINES and elements < MAX_COUNT // 4
    for d, size in enumerate(found.sizes):
        is_shared = found.left.steps[d] == 0 or found.right.steps[d] == 0
        is_own = is_own and (size <= 1 or not is_shared)
    return is_own and has_gaps and products >= TILE_COPIED


def copied(found: Matrices, at_once: int) -> Matrices:
    """The same with both factors in order, of which `at_once` elements take 16 bytes."""
    left = line_side(found, found.left, found.row_axis, found.rows, at_once)
    right = line_side(found, found.right, found.column_axis, found.columns, at_once)
    return Matrices(
        found.is_worth,
        found.sizes,
        found.row_axis,
        found.column_axis,
        found.rows,
        found.columns,
        found.run,
        found.depth,
        found.tile_depth,
        found.count,
        left,
        right,
    )


def line_side(found: Matrices, side: Side, axis: int, own: int, at_once: int) -> Side:
    """How a factor in order is read, of which `axis` counts `own` rows or columns: lines of whole vectors,
    and matrices, one after the other."""
    pitch = ceil_div(found.depth if side.is_along else own, at_once) * at_once
    matrix = times(pitch, own if side.is_along else found.depth)
    steps: Eight = []
    for d in range(len(found.sizes)):
        stride = matrix
        for later, size in enumerate(found.sizes):
            stride = times(stride, size) if later > d and size > 1 else stride
        if d == axis:
            stride = pitch if side.is_along else 1
        steps.append(stride)
    return Side(steps, 1 if side.is_along else pitch, matrix, side.is_along, at_once)


def copied_words(made: Matrices, at_once: int) -> int:
    """The words of both factors in order."""
    return times(times(made.left.matrix + made.right.matrix, made.count), 4) // at_once


def is_bordered(window: Window, tensor: Tensor, output: Tensor) -> bool:
    """Whether places of the window are outside of the tensor."""
    found = False
    behind = len(tensor.sizes) - len(window.sizes)
    for d, first in enumerate(window.right_first):
        last = first + (window.right_steps[d] - first) * (output.sizes[window.axes[d]] - 1)
        span = (window.right_taps[d] - first) * (window.sizes[d] - 1)
        least, greatest = min(first, last) + min(span, 0), max(first, last) + max(span, 0)
        divisor = window.right_divisors[d]
        found = found or ceil_div(least, divisor) < 0 or greatest // divisor >= tensor.sizes[behind + d]
    return found


def neighbours(window: Window, tensor: Tensor, output: Tensor) -> int:
    """How many neighbouring columns lie side by side in a tensor of which each element meets one place of the
    window, which goes over all of its last dimensions, as vectors are read."""
    run = 1
    is_whole = True
    behind = len(tensor.sizes) - len(window.sizes)
    for place in range(len(window.sizes)):
        d = len(window.sizes) - 1 - place
        size = tensor.sizes[behind + d]
        is_whole = is_whole and is_pointwise(window, d)
        is_whole = is_whole and window.right_steps[d] - window.right_first[d] == 1
        is_whole = is_whole and output.sizes[window.axes[d]] == size * window.right_divisors[d]
        is_whole = is_whole and (size == 1 or tensor.strides[behind + d] == run)
        run *= size
    vector = gcd(4, run) if is_whole else 1
    for d in range(behind):
        if tensor.sizes[d] > 1:
            vector = gcd(vector, tensor.strides[d])
    return vector


def axis_steps(output: Tensor, axis: int, stride: int) -> Eight:
    """Steps along the dimensions of the output, of which a factor has one."""
    return padded([stride if d == axis else 0 for d in range(len(output.sizes))])


def first_of(window: Window, tensor: Tensor) -> int:
    """Where the left factor is read at the first place of the window."""
    first = 0
    for d, coordinate in enumerate(window.left_first):
        first += coordinate * tensor.strides[len(tensor.strides) - len(window.sizes) + d]
    return first


def window_words(out: Planning, told: Definition, shader: DefinitionShader) -> Annotated[list[int], 96]:
    """The constants of a window on the right factor, where that is; none where there is no window."""
    window, right = told.factors.window, told.tensors[shader.contracted.right]
    behind = len(right.sizes) - len(window.sizes)
    strides: Eight = [stride for d, stride in enumerate(right.strides) if d >= behind]
    words: Annotated[list[int], 96] = []
    if len(window.sizes) > 0:
        words.extend(strided_words(out, told, shader, strides))
    return words


def strided_words(
    out: Planning, told: Definition, shader: DefinitionShader, strides: Sizes
) -> Annotated[list[int], 96]:
    """The constants of a window on the right factor: sizes, first coordinates, steps, taps, limits, strides,
    divisors, periods; and its steps on the left one. Taps are those from one place to the next of a phase."""
    window, contracted = told.factors.window, shader.contracted
    left, right = told.tensors[contracted.left], told.tensors[contracted.right]
    behind = len(right.sizes) - len(window.sizes)
    steps: Eight = []
    taps: Eight = []
    periods: Eight = []
    left_steps: Eight = []
    for d, first in enumerate(window.right_first):
        steps.append(window.right_steps[d] - first)
        periods.append(period(window, d))
        taps.append((window.right_taps[d] - first) * periods[d] // window.right_divisors[d])
        left_steps.append((window.left_taps[d] - window.left_first[d]) * left.strides[behind + d])
    limits: Eight = [size for d, size in enumerate(right.sizes) if d >= behind]
    words: Annotated[list[int], 96] = []
    lists: Annotated[list[Sizes], 16] = [
        window.sizes,
        window.right_first,
        steps,
        taps,
        limits,
        strides,
        window.right_divisors,
        periods,
        left_steps,
    ]
    for entries in lists:
        words.extend(eight(out, entries))
    return words


def is_small(rows: int, columns: int, depth: int, count: int) -> bool:
    """Whether matrices have so few products that a GPU waits for each group, not for all of them."""
    tiles = times(ceil_div(rows, 32) * ceil_div(columns, 32), count)
    return rows > TILE_FEW_ROWS and depth <= TILE_SHALLOW and tiles < TILE_SMALL


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


def stored_at_once(found: Matrices, output: Tensor) -> int:
    """Neighbours along a row that a thread stores at once."""
    vector = gcd(4, found.run)
    for axis, stride in enumerate(output.strides):
        if output.sizes[axis] > 1 and stride >= found.run:
            vector = gcd(vector, stride)
    return 4 if vector == 4 else 1


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
        factors = with_left(found, Side(steps, pitch, times(found.depth, pitch), False, 4))
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


def contraction_params(
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    first: int,
    split: Split,
    window: Annotated[list[int], 96],
    known: Known,
    groups: Groups,
) -> ContractionParams:
    """The constants of a pass; `first` is where the left factor begins at the first place of a window."""
    factors = told.factors
    tap: Words = []
    if len(factors.window.sizes) > 0:
        step = tap_step(factors.window, told.tensors[shader.contracted.left]).step
        tap = [factors.depth, element_count(factors.window.sizes), first % 2**32, step % 2**32]
        tap.append(found.left.matrix % 2**32)
    return tapped_params(told, shader, found, split, window, known, groups, tap)


def tapped_params(
    told: Definition,
    shader: DefinitionShader,
    found: Matrices,
    split: Split,
    window: Annotated[list[int], 96],
    known: Known,
    groups: Groups,
    tap: Words,
) -> ContractionParams:
    """The same; `tap` are the constants of a place of the window."""
    return ContractionParams(
        found.sizes,
        [step % 2**32 for step in found.left.steps],
        [step % 2**32 for step in found.right.steps],
        window,
        known.lists,
        known.activations,
        len(told.tensors[shader.contracted.output].sizes),
        found.count,
        found.rows,
        found.columns,
        found.depth,
        found.left.depth % 2**32,
        found.right.depth % 2**32,
        split.products,
        split.parts,
        split.down,
        split.across,
        groups.columns,
        told.elements,
        known.scalars,
        tap,
    )
