"""Attention, a pass of definitions: rows of queries with all keys, tile by tile through group memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .capabilities import Capability
from .loops import Words, ceil_div, element_count, times
from .planning import Planning
from .told import NONE, Sizes, Tensor, Tensors
from .tuning import (
    ATTENTION_DEPTH,
    ATTENTION_FEW_ROWS,
    ATTENTION_FEW_WAVES,
    ATTENTION_GROUPS,
    ATTENTION_MANY_GROUPS,
    ATTENTION_MANY_ROWS,
    ATTENTION_MOST_WAVES,
    ATTENTION_WAVES,
    UNITS_GROUPS,
)

ATTENTION_THREADS = 128  # in a group
LANES = 16  # threads that share a row, four neighbouring columns of each tile to a thread
MAX_FOURS = 4

# By matrix units
UNIT_WAVE = 32  # threads
UNIT_ROWS = 16  # of a wave, or so many times two
NARROW = 64  # elements of a query or a value, at most, of which it has registers for twice as many rows
WIDE = 128  # elements of a query or a value, at most: a wave has registers for so long rows

Eight = Annotated[list[int], 8]


class AttentionPass(NamedTuple):
    """Pass `number` of the shader, or NONE, is attention. Queries, keys, values and `target`, which it
    writes, are intermediate tensors by number; `told` has a bit for each tensor on which scores depend, too.
    """

    number: int
    query: int
    key: int
    value: int
    target: int
    told: int


class View(NamedTuple):
    """Where the entries of an intermediate tensor are in another one, `tensor` by number, or NONE: the
    coordinate of the first one, and what is added to that for the next batch, head, row and element. It may
    be followed by numbers, which must be from 0 up to, without, `limits` for all entries."""

    tensor: int
    first: Sizes
    batch: Sizes
    head: Sizes
    row: Sizes
    element: Sizes
    limits: Sizes


class AttentionViews(NamedTuple):
    """What stands for queries, keys and values, and for what is made of them; for the first rows of keys and
    values alone, where others follow; and for outputs that are these keys and values. So many heads beside
    each other as `shared` says have the same ones, the next so many the next ones, if that is known, else it
    is 0."""

    query: View
    key: View
    value: View
    output: View
    key_before: View
    value_before: View
    key_stored: View
    value_stored: View
    shared: int


class Sources(NamedTuple):
    """Tensors of the description, by number, that the pass reads or writes in place of intermediate ones;
    NONE where it does not. Of keys and values, the rows before number `begin` are in tensors of their own,
    and `key` and `value` have the others; `key_stored` and `value_stored` are written with all of them."""

    query: int
    key: int
    value: int
    output: int
    key_before: int
    value_before: int
    begin: int
    key_stored: int
    value_stored: int


def no_sources() -> Sources:
    """Those of a pass that reads and writes intermediate tensors alone."""
    return Sources(NONE, NONE, NONE, NONE, NONE, NONE, 0, NONE, NONE)


class AttentionGroups(NamedTuple):
    """All threads of the pass, and those in a group."""

    threads: int
    in_group: int


def takes_units(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
) -> bool:
    """Whether matrix units work the pass out: the device has them, all floats are halves, and rows are whole
    vectors of these, few enough that a wave has its sums in registers. `sizes` are those of what is
    written."""
    if not out.has(Capability.MATRIX_UNITS):
        return False
    for tensor in tensors:
        if tensor.is_present and tensor.is_float and tensor.bits != 16:
            return False
    depth, width = kept_sizes[attention.query][3], sizes[3]
    return depth % 8 == 0 and width % 8 == 0 and max(depth, width) <= WIDE


def is_told(attention: AttentionPass, tensors: Tensors) -> bool:
    """Whether scores, or which of them count, depend on tensors that are there."""
    return any(attention.told >> place & 1 == 1 and one.is_present for place, one in enumerate(tensors))


def offset_of(place: Sizes, strides: Sizes) -> int:
    """How far a coordinate is from the first one, in elements; numbers that follow it do not count."""
    offset = 0
    for d, stride in enumerate(strides):
        offset += place[d] * stride
    return offset


def is_inside(view: View, tensor: Tensor, sizes: Sizes) -> bool:
    """Whether the view has a place for each entry of an intermediate tensor, within all limits."""
    limits: Words = []
    limits.extend(tensor.sizes)
    limits.extend(view.limits)
    steps: Annotated[list[Sizes], 4] = [view.batch, view.head, view.row, view.element]
    for d, limit in enumerate(limits):
        least, greatest = view.first[d], view.first[d]
        for size, step in zip(sizes, steps, strict=True):
            reach = (size - 1) * step[d]
            if reach > 0:
                greatest += reach
            else:
                least += reach
        if least < 0 or greatest >= limit:
            return False
    return True


def rows_in(view: View, tensor: Tensor, sizes: Sizes) -> Words:
    """The place of the first entry in a tensor, and how far apart batches, heads and rows are, in elements; 0
    where there is but one."""
    return [
        offset_of(view.first, tensor.strides),
        offset_of(view.batch, tensor.strides) if sizes[0] > 1 else 0,
        offset_of(view.head, tensor.strides) if sizes[1] > 1 else 0,
        offset_of(view.row, tensor.strides) if sizes[2] > 1 else 0,
    ]


def source_of(attention: AttentionPass, view: View, tensors: Tensors, sizes: Sizes, vector: int) -> int:
    """The tensor of a view, where rows are whole vectors in it, too, and nothing else reads it in the pass;
    NONE elsewhere. `sizes` are those of the intermediate tensor."""
    if view.tensor == NONE or attention.told >> view.tensor & 1 == 1:
        return NONE
    tensor = tensors[view.tensor]
    if not tensor.is_present or sizes[3] % vector != 0 or offset_of(view.element, tensor.strides) != 1:
        return NONE
    if not is_inside(view, tensor, sizes):
        return NONE
    for place in rows_in(view, tensor, sizes):
        if place % vector != 0:
            return NONE
    return view.tensor


def sources_of(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    vector: int,
) -> Sources:
    """What the pass reads directly, in vectors of so many elements, and writes in vectors of four."""
    sizes = kept_sizes[attention.target]
    if not is_whole(kept_sizes[attention.query], sizes):
        return no_sources()
    return no_sources()._replace(
        query=source_of(attention, views.query, tensors, kept_sizes[attention.query], vector),
        key=source_of(attention, views.key, tensors, kept_sizes[attention.key], vector),
        value=source_of(attention, views.value, tensors, kept_sizes[attention.value], vector),
        output=written_of(attention, views.output, tensors, sizes, 4),
    )


def written_of(attention: AttentionPass, view: View, tensors: Tensors, sizes: Sizes, vector: int) -> int:
    """The tensor of a view of an output, where it has a place for nothing else; NONE elsewhere."""
    output = source_of(attention, view, tensors, sizes, vector)
    if output != NONE and element_count(tensors[output].sizes) != element_count(sizes):
        return NONE
    return output


def rows_before(view: View, tensors: Tensors) -> int:
    """How many rows, at most, stand in the tensor of a view of the first ones."""
    if view.tensor == NONE or not tensors[view.tensor].is_present or len(view.limits) == 0:
        return 0
    return view.limits[0]


def settled(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
) -> AttentionViews:
    """The views of all keys and values, where those that are there before have all rows."""
    rows = kept_sizes[attention.key][2]
    before = min(rows_before(views.key_before, tensors), rows_before(views.value_before, tensors))
    if rows == 0 or before < rows:
        return views
    return views._replace(key=views.key_before, value=views.value_before)


def is_whole(query: Sizes, sizes: Sizes) -> bool:
    """Whether rows are whole vectors of four, of queries and of what is written."""
    return query[3] % 4 == 0 and sizes[3] % 4 == 0


def with_rows(sizes: Sizes, rows: int) -> Eight:
    """The sizes with so many rows."""
    return [sizes[0], sizes[1], rows, sizes[3]]


def from_row(view: View, begin: int) -> View:
    """The view of these rows."""
    first: Eight = []
    for place, step in zip(view.first, view.row, strict=True):
        first.append(place + begin * step)
    return view._replace(first=first)


def sources_split(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    plain: Sources,
    vector: int,
    is_split: bool,
    stores: bool,
) -> Sources:
    """What the pass reads and writes directly, where it would do no more than `plain` says if it knew of no
    rows before others: if `is_split`, keys and values that were there before are read where they are, and if
    it `stores`, all may be stored on the way."""
    if not is_whole(kept_sizes[attention.query], kept_sizes[attention.target]):
        return plain
    keys, values = kept_sizes[attention.key], kept_sizes[attention.value]
    stored = plain
    if stores and views.shared > 0:
        stored = plain._replace(
            key_stored=written_of(attention, views.key_stored, tensors, keys, vector),
            value_stored=written_of(attention, views.value_stored, tensors, values, vector),
        )
    begin = rows_before(views.key_before, tensors)
    if not is_split or not 0 < begin < keys[2] or begin != rows_before(views.value_before, tensors):
        return stored
    key_before = source_of(attention, views.key_before, tensors, with_rows(keys, begin), vector)
    value_before = source_of(attention, views.value_before, tensors, with_rows(values, begin), vector)
    if key_before == NONE or value_before == NONE:
        return stored
    rest = keys[2] - begin
    return stored._replace(
        key=source_of(attention, from_row(views.key, begin), tensors, with_rows(keys, rest), vector),
        value=source_of(attention, from_row(views.value, begin), tensors, with_rows(values, rest), vector),
        key_before=key_before,
        value_before=value_before,
        begin=begin,
    )


def place_of(view: View, source: int, tensors: Tensors, sizes: Sizes, first: int, begin: int) -> Words:
    """Where rows are, in four words: the place of the first entry in a buffer, and how far apart batches,
    heads and rows are, in elements. `first` is that place in scratch, which has the rows from number `begin`
    on."""
    row = sizes[3]
    head = times(row, sizes[2] - begin)
    found: Words = [first - begin * row, times(head, sizes[1]), head, row]
    if source != NONE:
        found = rows_in(view, tensors[source], sizes)
    return [place % 2**32 for place in found]


def places_of(
    attention: AttentionPass,
    views: AttentionViews,
    sources: Sources,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    firsts: Words,
    each: int,
    first_part: int,
) -> Words:
    """Where queries, keys, values and means are, in four words each. Four more follow: after queries, the
    number of the first row of those keys and values; after these, where the rows before it are; after means,
    where parts of them are, in vectors. At the end, where keys and values are stored.

    Intermediate tensors begin at the words `firsts` of scratch, parts at `first_part`; a word has `each`
    entries of what is read."""
    query, key, value = kept_sizes[attention.query], kept_sizes[attention.key], kept_sizes[attention.value]
    means, begin, none = kept_sizes[attention.target], sources.begin, 0
    places: Words = []
    places.extend(place_of(views.query, sources.query, tensors, query, each * firsts[attention.query], none))
    places.extend([begin, 0, 0, 0])
    places.extend(place_of(views.key, sources.key, tensors, key, each * firsts[attention.key], begin))
    places.extend(place_of(views.key_before, sources.key_before, tensors, key, 0, none))
    places.extend(place_of(views.value, sources.value, tensors, value, each * firsts[attention.value], begin))
    places.extend(place_of(views.value_before, sources.value_before, tensors, value, 0, none))
    places.extend(place_of(views.output, sources.output, tensors, means, firsts[attention.target], none))
    places.extend([first_part // 4, 0, 0, 0])
    places.extend(place_of(views.key_stored, sources.key_stored, tensors, key, 0, none))
    places.extend(place_of(views.value_stored, sources.value_stored, tensors, value, 0, none))
    return places


def define_attention_units(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
) -> AttentionGroups:
    """The macros of the pass by matrix units: a group for some rows of a head. Where these are many, waves
    have 32 each, which halves what they read of group memory; elsewhere 16, and fewer waves where that leaves
    few groups, or half of them has room for all rows. `sizes` are those of what is written."""
    heads, depth = times(sizes[0], sizes[1]), kept_sizes[attention.query][3]
    is_narrow = max(depth, sizes[3]) <= NARROW
    groups = times(heads, ceil_div(sizes[2], ATTENTION_MOST_WAVES * UNIT_ROWS))
    is_many = groups >= ATTENTION_MANY_GROUPS
    waves, rows = ATTENTION_WAVES, UNIT_ROWS
    if is_many and is_narrow and sizes[2] > UNIT_ROWS:
        rows = 2 * UNIT_ROWS
    elif is_many:
        waves = ATTENTION_MOST_WAVES
    groups = times(heads, ceil_div(sizes[2], waves * rows))
    least = ATTENTION_FEW_WAVES if groups < UNITS_GROUPS else waves
    while waves > 1 and (waves > least or waves // 2 * rows >= sizes[2]):  # waves halve
        waves = waves // 2
        groups = times(heads, ceil_div(sizes[2], waves * rows))
    out.define("MATRIX_UNITS", 1)
    out.define("QUERY_EIGHTS", depth // 8)
    out.define("VALUE_EIGHTS", sizes[3] // 8)
    out.define("WAVE_ROWS", rows)
    out.define("TILE_KEYS", 64 if is_narrow and (is_many or waves <= 2) else 32)
    out.define("SCRATCH_VECTOR", 4)
    out.define("SCORES_TOLD", int(is_told(attention, tensors)))
    return AttentionGroups(times(groups, waves * UNIT_WAVE), waves * UNIT_WAVE)


def define_sources(out: Planning, sources: Sources) -> None:
    """The macros of what is read and written directly."""
    out.define("QUERY_IN", sources.query + 1)
    out.define("KEY_IN", sources.key + 1)
    out.define("VALUE_IN", sources.value + 1)
    out.define("OUTPUT_IN", sources.output + 1)
    out.define("KEY_BEFORE_IN", sources.key_before + 1)
    out.define("VALUE_BEFORE_IN", sources.value_before + 1)
    out.define("KEY_STORED_IN", sources.key_stored + 1)
    out.define("VALUE_STORED_IN", sources.value_stored + 1)


def define_attention(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
    by_units: bool,
    sources: Sources,
) -> AttentionGroups:
    """The macros of the pass: a group for each block of rows and of columns of the values of a head. `sizes`
    are those of what is written."""
    define_sources(out, sources)
    if by_units:
        return define_attention_units(out, attention, tensors, kept_sizes, sizes)
    heads = times(sizes[0], sizes[1])
    fours = min(ceil_div(sizes[3], 4 * LANES), MAX_FOURS)
    across = ceil_div(sizes[3], 4 * LANES * fours)
    is_many = fours <= 2 and times(heads, ceil_div(sizes[2], ATTENTION_MANY_ROWS)) >= ATTENTION_GROUPS
    rows = ATTENTION_MANY_ROWS if is_many else ATTENTION_FEW_ROWS
    out.define("ROWS", rows)
    out.define("DEPTH", ATTENTION_DEPTH)
    out.define("VALUE_FOURS", fours)
    out.define("SCRATCH_VECTOR", 4 if is_whole(kept_sizes[attention.query], sizes) else 1)
    out.define("SCORES_TOLD", int(is_told(attention, tensors)))
    groups = times(times(heads, ceil_div(sizes[2], rows)), across)
    return AttentionGroups(groups * ATTENTION_THREADS, ATTENTION_THREADS)
