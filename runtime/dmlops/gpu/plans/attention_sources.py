"""Tensors that attention accesses in place: queries, keys and values that are views of tensors of the
description, keys and values of the past, and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .definition_types import AttentionPass, AttentionViews, View
from .loops import Row, Words, element_count, times
from .operands import NONE, Sizes, Tensor, Tensors
from .planning import Planning

Four = Annotated[list[int], 4]


class Source(NamedTuple):
    """A tensor of the description, by number, in place of an intermediate one, or NONE, and its layout, in
    words: the offset of the first entry, and the strides of batches, heads and rows, in elements."""

    tensor: int
    layout: Four


class Sources(NamedTuple):
    """The tensors that the pass accesses directly. Rows of keys and values before number `begin` are in
    separate tensors, and `key` and `value` have the rest; all of them are stored to `key_stored` and
    `value_stored`."""

    query: Source
    key: Source
    value: Source
    output: Source
    key_before: Source
    value_before: Source
    begin: int
    key_stored: Source
    value_stored: Source


def no_source() -> Source:
    """For an intermediate tensor that the pass accesses itself."""
    return Source(NONE, [0, 0, 0, 0])


def no_sources() -> Sources:
    """For a pass that accesses intermediate tensors only."""
    none = no_source()
    return Sources(none, none, none, none, none, none, 0, none, none)


def is_inside(view: View, tensor: Tensor, sizes: Sizes, begin: int, end: int) -> bool:
    """Whether every entry of an intermediate tensor, in rows from number `begin` up to `end`, is in the
    view's tensor, and within all limits."""
    limits: Row = []
    limits.extend(tensor.sizes)
    limits.extend(view.limits)
    starts: Four = [0, 0, begin, 0]
    ends: Four = [sizes[0], sizes[1], end, sizes[3]]
    for d, limit in enumerate(limits):
        low, high = view.first[d], view.first[d]
        steps: Four = [view.batch[d], view.head[d], view.row[d], view.element[d]]
        for start, stop, step in zip(starts, ends, steps, strict=True):
            low += min(start * step, (stop - 1) * step)
            high += max(start * step, (stop - 1) * step)
        if low < 0 or high >= limit:
            return False
    return True


def source_of(view: View, tensors: Tensors, sizes: Sizes, begin: int, end: int, vector: int) -> Source:
    """The tensor of a view, if it has all rows from number `begin` up to `end`, and these are whole vectors.
    `sizes` are those of the intermediate tensor; its layout counts rows from the first of all."""
    if view.tensor == NONE or sizes[3] % vector != 0:
        return no_source()
    tensor = tensors[view.tensor]
    if not tensor.is_present or not is_inside(view, tensor, sizes, begin, end):
        return no_source()
    first, batch, head, row, element = 0, 0, 0, 0, 0
    for d, stride in enumerate(tensor.strides):
        first += view.first[d] * stride
        batch += view.batch[d] * stride
        head += view.head[d] * stride
        row += view.row[d] * stride
        element += view.element[d] * stride
    starts: Four = [
        first + begin * row,
        batch if sizes[0] > 1 else 0,
        head if sizes[1] > 1 else 0,
        row if end - begin > 1 else 0,
    ]
    for start in starts:
        if element != 1 or start % vector != 0:
            return no_source()
    starts[0] = first % 2**32
    starts[3] = row if sizes[2] > 1 else 0
    return Source(view.tensor, starts)


def written_of(view: View, tensors: Tensors, sizes: Sizes, vector: int) -> Source:
    """The tensor of an output's view, if it holds nothing else."""
    output = source_of(view, tensors, sizes, 0, sizes[2], vector)
    if output.tensor != NONE and element_count(tensors[output.tensor].sizes) != element_count(sizes):
        return no_source()
    return output


def rows_before(view: View, tensors: Tensors) -> int:
    """The number of rows, at most, in the tensor of a view of the first rows."""
    if view.tensor == NONE or not tensors[view.tensor].is_present or len(view.limits) == 0:
        return 0
    return view.limits[0]


def sources_of(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    vector: int,
    stores: bool,
) -> Sources:
    """The tensors that the pass reads directly, in vectors of `vector` elements, and writes, in vectors of
    four; none if floats have several types. Keys and values of the past are read in place if the new ones
    are, too, and if it `stores`, all may be stored on the way."""
    query, target = kept_sizes[attention.query], kept_sizes[attention.target]
    keys, values = kept_sizes[attention.key], kept_sizes[attention.value]
    found, none, rows = no_sources(), no_source(), keys[2]
    if vector == 1:
        return found
    past = min(rows_before(views.key_before, tensors), rows_before(views.value_before, tensors), rows)
    key = source_of(views.key, tensors, keys, past, rows, vector)
    value = source_of(views.value, tensors, values, past, rows, vector)
    if past > 0:
        key_before = source_of(views.key_before, tensors, keys, 0, past, vector)
        value_before = source_of(views.value_before, tensors, values, 0, past, vector)
        if past == rows:
            key, value = key_before, value_before
        elif min(key.tensor, value.tensor, key_before.tensor, value_before.tensor) == NONE:
            key, value = none, none
        else:
            found = found._replace(key_before=key_before, value_before=value_before, begin=past)
    if stores and views.shared > 0:
        found = found._replace(
            key_stored=written_of(views.key_stored, tensors, keys, vector),
            value_stored=written_of(views.value_stored, tensors, values, vector),
        )
    return found._replace(
        query=source_of(views.query, tensors, query, 0, query[2], vector),
        key=key,
        value=value,
        output=written_of(views.output, tensors, target, 4),
    )


def place_of(source: Source, sizes: Sizes, first: int) -> Four:
    """A tensor's layout in four words: that of its source, or in scratch, where it starts at word `first`."""
    if source.tensor != NONE:
        return source.layout
    head = times(sizes[3], sizes[2])
    return [first, times(head, sizes[1]) % 2**32, head % 2**32, sizes[3]]


def places_of(
    attention: AttentionPass,
    sources: Sources,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    firsts: Words,
    first_part: int,
) -> Words:
    """The layouts of queries, keys, values and the result, four words each. Each is followed by four more:
    after queries, the number of the first row in the current keys and values; after these, the layouts of the
    rows before it; after the result, the offset of partial results. At the end, the layouts of
    the stored keys and values.

    Intermediate tensors start at the words `firsts` of scratch, partial results at `first_part`.
    """
    query, key, value = kept_sizes[attention.query], kept_sizes[attention.key], kept_sizes[attention.value]
    places: Words = []
    places.extend(place_of(sources.query, query, firsts[attention.query]))
    places.extend([sources.begin, 0, 0, 0])
    places.extend(place_of(sources.key, key, firsts[attention.key]))
    places.extend(sources.key_before.layout)
    places.extend(place_of(sources.value, value, firsts[attention.value]))
    places.extend(sources.value_before.layout)
    places.extend(place_of(sources.output, kept_sizes[attention.target], firsts[attention.target]))
    places.extend([first_part, 0, 0, 0])
    places.extend(sources.key_stored.layout)
    places.extend(sources.value_stored.layout)
    return places


def define_access(out: Planning, sources: Sources) -> None:
    """The macros of what attention reads and writes, whether a dispatch computes it or combines its parts."""
    out.define("QUERY_IN", sources.query.tensor + 1)
    out.define("KEY_IN", sources.key.tensor + 1)
    out.define("VALUE_IN", sources.value.tensor + 1)
    out.define("OUTPUT_IN", sources.output.tensor + 1)
    out.define("KEY_BEFORE_IN", sources.key_before.tensor + 1)
    out.define("VALUE_BEFORE_IN", sources.value_before.tensor + 1)
    out.define("KEY_STORED_IN", sources.key_stored.tensor + 1)
    out.define("VALUE_STORED_IN", sources.value_stored.tensor + 1)
