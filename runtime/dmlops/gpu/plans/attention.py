"""Attention, a pass of definitions: blocks of queries against all keys, tiled through shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .loops import Words, ceil_div, element_count, times
from .planning import Planning
from .told import NONE, Eight, Sizes, Tensor, Tensors, Threads
from .tuning import (
    ATTENTION_DEPTH,
    ATTENTION_FEW_ROWS,
    ATTENTION_GROUPS,
    ATTENTION_MANY_ROWS,
)

ATTENTION_THREADS = 128  # in a group
LANES = 16  # threads that share a row
MAX_COLUMNS = 16  # of the values, that a thread accumulates for each of its rows


class AttentionPass(NamedTuple):
    """Pass `number` of the shader is attention; NONE if none is. Queries, keys, values and `target`, the
    result, are intermediate tensors by number; `told` has a bit for each tensor that scores also depend
    on."""

    number: int
    query: int
    key: int
    value: int
    target: int
    told: int


class View(NamedTuple):
    """Where the entries of an intermediate tensor lie in another one, `tensor` by number, or NONE: the
    coordinate of the first entry, and the steps from it along batch, head, row and element. Further numbers
    may follow the coordinate, which must lie in [0, `limits`) for all entries."""

    tensor: int
    first: Sizes
    batch: Sizes
    head: Sizes
    row: Sizes
    element: Sizes
    limits: Sizes


class AttentionViews(NamedTuple):
    """The tensors that stand for queries, keys, values and the result; for the first rows of keys and values
    alone, where others follow (`key_before`, `value_before`); and for outputs that store all keys and values.
    `shared` adjacent heads have the same keys and values, if that is known; else it is 0."""

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
    """Tensors of the description, by number, that the pass accesses directly in place of intermediate ones;
    NONE where it does not. Rows of keys and values before number `begin` are in tensors of their own, and
    `key` and `value` have the rest; all of them are stored to `key_stored` and `value_stored`."""

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
    """For a pass that accesses intermediate tensors only."""
    return Sources(NONE, NONE, NONE, NONE, NONE, NONE, 0, NONE, NONE)


def is_told(attention: AttentionPass, tensors: Tensors) -> bool:
    """Whether scores, or which keys are masked, depend on tensors that are present."""
    return any(attention.told >> place & 1 == 1 and one.is_present for place, one in enumerate(tensors))


def offset_of(place: Sizes, strides: Sizes) -> int:
    """The offset of a coordinate, in elements; numbers that follow it are ignored."""
    offset = 0
    for d, stride in enumerate(strides):
        offset += place[d] * stride
    return offset


def is_inside(view: View, tensor: Tensor, sizes: Sizes) -> bool:
    """Whether every entry of an intermediate tensor lies in the view's tensor, and within all limits."""
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
    """The offset of the first entry in a tensor, and the strides of batches, heads and rows, in elements; 0
    where there is only one."""
    return [
        offset_of(view.first, tensor.strides),
        offset_of(view.batch, tensor.strides) if sizes[0] > 1 else 0,
        offset_of(view.head, tensor.strides) if sizes[1] > 1 else 0,
        offset_of(view.row, tensor.strides) if sizes[2] > 1 else 0,
    ]


def source_of(attention: AttentionPass, view: View, tensors: Tensors, sizes: Sizes, vector: int) -> int:
    """The tensor of a view, if its rows are whole vectors as well and nothing else in the pass reads it;
    else NONE. `sizes` are those of the intermediate tensor."""
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
    """What the pass reads directly, in vectors of `vector` elements, and writes, in vectors of four."""
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
    """The tensor of an output's view, if it holds nothing else; else NONE."""
    output = source_of(attention, view, tensors, sizes, vector)
    if output != NONE and element_count(tensors[output].sizes) != element_count(sizes):
        return NONE
    return output


def rows_before(view: View, tensors: Tensors) -> int:
    """The number of rows, at most, in the tensor of a view of the first rows."""
    if view.tensor == NONE or not tensors[view.tensor].is_present or len(view.limits) == 0:
        return 0
    return view.limits[0]


def settled(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
) -> AttentionViews:
    """The views, with keys and values in the tensors of the past if these hold all rows."""
    rows = kept_sizes[attention.key][2]
    before = min(rows_before(views.key_before, tensors), rows_before(views.value_before, tensors))
    if rows == 0 or before < rows:
        return views
    return views._replace(key=views.key_before, value=views.value_before)


def is_whole(query: Sizes, sizes: Sizes) -> bool:
    """Whether rows of queries and of the result are whole vectors of four."""
    return query[3] % 4 == 0 and sizes[3] % 4 == 0


def with_rows(sizes: Sizes, rows: int) -> Eight:
    """The same sizes with another number of rows."""
    return [sizes[0], sizes[1], rows, sizes[3]]


def from_row(view: View, begin: int) -> View:
    """The view from row `begin` on."""
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
    """What the pass accesses directly, given what `plain` says without regard to past rows: if `is_split`,
    keys and values of the past are read in place, and if it `stores`, all may be stored on the way."""
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
    """A tensor's layout in four words: the offset of the first entry in its buffer, and the strides of
    batches, heads and rows, in elements. `first` is that offset in scratch, which holds the rows from number
    `begin` on."""
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
    """The layouts of queries, keys, values and the result, four words each. Each is followed by four more:
    after queries, the number of the first row in the current keys and values; after these, the layouts of the
    rows before it; after the result, the offset of partial results, in vectors. At the end, the layouts of
    the stored keys and values.

    Intermediate tensors start at the words `firsts` of scratch, partial results at `first_part`; a word holds
    `each` entries of what is read.
    """
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


def define_sources(out: Planning, sources: Sources) -> None:
    """The macros of what is accessed directly."""
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
    sources: Sources,
) -> Threads:
    """The macros of the pass: each group takes a block of rows of a head, and a block of columns of its
    values. `sizes` are those of the result."""
    define_sources(out, sources)
    heads = times(sizes[0], sizes[1])
    across = ceil_div(sizes[3], LANES * MAX_COLUMNS)
    columns = ceil_div(sizes[3], LANES * across)
    vector = 4 if columns % 4 == 0 else 2 if columns % 2 == 0 else 1
    is_many = (
        2 * columns <= MAX_COLUMNS
        and times(heads, ceil_div(sizes[2], ATTENTION_MANY_ROWS)) >= ATTENTION_GROUPS
    )
    rows = ATTENTION_MANY_ROWS if is_many else ATTENTION_FEW_ROWS
    out.define("ROWS", rows)
    out.define("DEPTH", ATTENTION_DEPTH)
    out.define("VALUE_VECTOR", vector)
    out.define("VALUE_VECTORS", columns // vector)
    out.define("SCRATCH_VECTOR", 4 if is_whole(kept_sizes[attention.query], sizes) else 1)
    out.define("SCORES_TOLD", int(is_told(attention, tensors)))
    groups = times(times(heads, ceil_div(sizes[2], rows)), across)
    return Threads(groups * ATTENTION_THREADS, ATTENTION_THREADS)
