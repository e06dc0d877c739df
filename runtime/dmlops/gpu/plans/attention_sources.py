"""Tensors that attention accesses in place: queries, keys and values that are views of tensors of the
description, keys and values of the past, and outputs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .definition_types import Definition, DefinitionShader, View
from .loops import Words, times
from .operands import NONE, Eight, Sizes, Tensor
from .planning import Planning

Four = Annotated[list[int], 4]

# Roles: four intermediate tensors, the rows of the past of keys and values, where others follow, and outputs
# that all of these are stored to, as well
QUERY = 0
KEY = 1
VALUE = 2
OUTPUT = 3
BEFORE = 4  # added to KEY and VALUE
STORED = 8
ROLES = 11

# Labels of dimensions
BATCHES = 8
HEADS = 9
ROWS = 10
ELEMENTS = 11
MERGED = 12


class Source(NamedTuple):
    """A tensor of the description, by number, in place of an intermediate one, or NONE, and its layout, in
    words: the offset of the first entry, and the strides of batches, heads and rows, in elements."""

    tensor: int
    layout: Four


Sources = Annotated[list[Source], 11]
"""By role"""


def no_source() -> Source:
    """For an intermediate tensor that the pass accesses itself."""
    return Source(NONE, [0, 0, 0, 0])


def source_of(view: View, tensor: Tensor, sizes: Sizes, first: int, end: int, vector: int) -> Source:
    """The source that a view is, if its tensor has just the rows from number `first` up to `end` of an
    intermediate one of these sizes, and they are whole vectors. Its layout counts rows from the first of
    all."""
    extents: Eight = [sizes[0], sizes[1], end - first, sizes[3], times(sizes[1], sizes[3])]  # by label
    steps: Eight = [0, 0, 0, 0, 0]
    offset = 0
    fits = sizes[3] % vector == 0
    for d, size in enumerate(tensor.sizes):
        stride, labels = tensor.strides[d], view.labels >> 4 * (len(tensor.sizes) - 1 - d)
        label = labels & 15
        if label >= BATCHES:
            steps[label - BATCHES] = steps[label - BATCHES] + stride
        else:
            offset += label * stride
        fits = fits and size == (extents[label - BATCHES] if label >= BATCHES else max(size, label + 1))
        fits = fits and (size == 1 or (labels > 0 and (label >= ELEMENTS or stride % vector == 0)))
    if not fits or steps[ELEMENTS - BATCHES] + steps[MERGED - BATCHES] != 1:
        return no_source()
    row = steps[ROWS - BATCHES]
    head = steps[HEADS - BATCHES] + steps[MERGED - BATCHES] * sizes[3]
    return Source(view.tensor, [(offset - first * row) % 2**32, steps[0], head, row])


def sources_of(op: Definition, shader: DefinitionShader, there: int, vector: int, stores: bool) -> Sources:
    """The tensors that the pass reads directly, in vectors of `vector` elements, and writes, in vectors of
    four, of those that are `there`; none if floats have several types. Keys and values of the past are read
    in place if the new ones are, too, and if it `stores`, all may be stored on the way."""
    found: Sources = [no_source() for _ in range(ROLES)]
    one, seen = shader.attention, 0
    kept: Four = [one.query, one.key, one.value, one.target]
    keys = op.kept_sizes[one.key][2]
    past = min(op.past, keys)
    for view in shader.views:
        role, kind, sizes = view.role, view.role % 4, op.kept_sizes[kept[view.role % 4]]
        if there >> view.tensor & 1 == 1 and seen >> role & 1 == 0:
            seen = seen | 1 << role
            if vector > 1 and view.without & there == 0 and (stores or role < STORED):
                first = past if KEY <= role <= VALUE else 0
                end = past if role == kind + BEFORE else sizes[2]
                width = 4 if role == OUTPUT else vector
                found[role] = source_of(view, op.tensors[view.tensor], sizes, first, end, width)
    for kind in range(KEY, OUTPUT):
        if past == keys:
            found[kind] = found[kind + BEFORE]
    current, old = min(found[KEY].tensor, found[VALUE].tensor), found[KEY + BEFORE].tensor
    for kind in range(KEY, OUTPUT):
        if past > 0 and min(current, old, found[VALUE + BEFORE].tensor) == NONE:
            found[kind] = no_source()
            found[kind + BEFORE] = no_source()
    return found


def places_of(
    op: Definition, shader: DefinitionShader, sources: Sources, firsts: Words, first_part: int
) -> Words:
    """The layouts of queries, keys, values and the result, four words each: those of their sources, or in
    scratch, where intermediate tensors start at the words `firsts`. Each is followed by four words more:
    after queries, the number of rows before the current keys and values; after these, the layouts of the
    rows before; after the result, the offset of partial results, `first_part`. At the end, the layouts of
    the stored keys and values."""
    one = shader.attention
    kept: Four = [one.query, one.key, one.value, one.target]
    places: Words = []
    for role, place in enumerate(kept):
        sizes = op.kept_sizes[place]
        head = times(sizes[3], sizes[2])
        if sources[role].tensor != NONE:
            places.extend(sources[role].layout)
        else:
            places.extend([firsts[place], times(head, sizes[1]) % 2**32, head % 2**32, sizes[3]])
        if KEY <= role <= VALUE:
            places.extend(sources[role + BEFORE].layout)
        else:
            places.extend([op.past if role == QUERY else first_part, 0, 0, 0])
    places.extend(sources[KEY + STORED].layout)
    places.extend(sources[VALUE + STORED].layout)
    return places


def define_access(out: Planning, sources: Sources) -> None:
    """The macros of what attention reads and writes, whether a dispatch computes it or combines its parts."""
    out.define("QUERY_IN", sources[QUERY].tensor + 1)
    out.define("KEY_IN", sources[KEY].tensor + 1)
    out.define("VALUE_IN", sources[VALUE].tensor + 1)
    out.define("OUTPUT_IN", sources[OUTPUT].tensor + 1)
    out.define("KEY_BEFORE_IN", sources[KEY + BEFORE].tensor + 1)
    out.define("VALUE_BEFORE_IN", sources[VALUE + BEFORE].tensor + 1)
    out.define("KEY_STORED_IN", sources[KEY + STORED].tensor + 1)
    out.define("VALUE_STORED_IN", sources[VALUE + STORED].tensor + 1)
