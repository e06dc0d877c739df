"""Tensors that attention accesses in place: queries, keys and values that are views of tensors of the
description, keys and values of the past, and outputs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .definition_types import Definition, DefinitionShader, View
from .loops import Words, times
from .operands import NONE, Eight, Sizes, Tensor
from .planning import Planning

Four = Annotated[list[int], 4]

# Roles: queries and the result; keys and values, each followed by the rows of the past that precede them; and
# outputs to which all of these are stored as well
QUERY = 0
OUTPUT = 1
KEY = 2
KEY_BEFORE = 3
VALUE = 4
VALUE_BEFORE = 5
KEY_STORED = 6
VALUE_STORED = 7
ROLES = 8


class Source(NamedTuple):
    """A tensor of the description, by number, in place of an intermediate one, or NONE, and its layout, in
    words: the offset of the first entry, and the strides of batches, heads and rows, in elements."""

    tensor: int
    layout: Four


Sources = Annotated[list[Source], 8]
"""By role"""


def no_source() -> Source:
    """For an intermediate tensor that the pass accesses itself."""
    return Source(NONE, [0, 0, 0, 0])


def source_of(view: View, tensor: Tensor, sizes: Sizes, first: int, end: int, vector: int) -> Source:
    """The source that a view is, if its tensor has just the rows from number `first` up to `end` of an
    intermediate one of these sizes, and they are whole vectors. Its layout counts rows from the first of
    all."""
    rank, offset = len(tensor.sizes), 0
    if rank < view.batch:
        return no_source()
    fits = sizes[3] % vector == 0
    axes: Four = [1, view.head, view.row, view.batch]
    extents: Four = [sizes[3], sizes[1], end - first, sizes[0]]
    lengths: Eight = [1 for _ in range(rank)]
    steps: Four = []
    for place, axis in enumerate(axes):
        d = rank - axis
        step = tensor.strides[d] * lengths[d]
        fits = fits and (step == 1 if place == 0 else extents[place] == 1 or step % vector == 0)
        lengths[d] = lengths[d] * extents[place]
        steps.append(step)
    for d, size in enumerate(tensor.sizes):
        if d == rank - 2 and view.place != NONE:
            offset = view.place * tensor.strides[d]
            fits = fits and view.place < size and offset % vector == 0
        else:
            fits = fits and size == lengths[d]
    if not fits:
        return no_source()
    return Source(view.tensor, [(offset - first * steps[2]) % 2**32, steps[3], steps[1], steps[2]])


def kept_of(shader: DefinitionShader) -> Eight:
    """The intermediate tensors by role."""
    one = shader.attention
    return [one.query, one.target, one.key, one.key, one.value, one.value, one.key, one.value]


def sources_of(op: Definition, shader: DefinitionShader, there: int, vector: int, stores: bool) -> Sources:
    """The tensors that the pass reads directly, in vectors of `vector` elements, and writes, in vectors of
    four, of those that are `there`; none if floats have several types. Keys and values of the past are read
    in place if the new ones are, too, and if it `stores`, all may be stored on the way."""
    found: Sources = [no_source() for _ in range(ROLES)]
    kept, seen = kept_of(shader), 0
    keys = op.kept_sizes[kept[KEY]][2]
    past = min(op.past, keys)
    for view in shader.views:
        role, sizes = view.role, op.kept_sizes[kept[view.role]]
        if there >> view.tensor & 1 == 1 and seen >> role & 1 == 0:
            seen = seen | 1 << role
            if vector > 1 and view.without & there == 0 and (stores or role < KEY_STORED):
                has_past = KEY <= role < KEY_STORED
                first = past if has_past and role % 2 == 0 else 0
                end = past if has_past and role % 2 == 1 else sizes[2]
                width = 4 if role == OUTPUT else vector
                found[role] = source_of(view, op.tensors[view.tensor], sizes, first, end, width)
    if past == keys:
        found[KEY] = found[KEY_BEFORE]
        found[VALUE] = found[VALUE_BEFORE]
    some_lack = any(one.tensor == NONE for one in found[KEY:KEY_STORED])
    if past > 0 and some_lack:
        for role in range(KEY, KEY_STORED):
            found[role] = no_source()
    return found


def places_of(op: Definition, shader: DefinitionShader, sources: Sources, firsts: Words) -> Words:
    """The layouts by role, four words each: those of sources or, of what has none, in scratch, where
    intermediate tensors start at the words `firsts`."""
    kept = kept_of(shader)
    places: Words = []
    for role, place in enumerate(kept):
        sizes = op.kept_sizes[place]
        head = times(sizes[3], sizes[2])
        if sources[role].tensor != NONE:
            places.extend(sources[role].layout)
        else:
            places.extend([firsts[place], times(head, sizes[1]) % 2**32, head % 2**32, sizes[3]])
    return places


def define_access(out: Planning, sources: Sources) -> None:
    """The macros of what attention reads and writes, whether a dispatch computes it or combines its parts."""
    out.define("QUERY_IN", sources[QUERY].tensor + 1)
    out.define("KEY_IN", sources[KEY].tensor + 1)
    out.define("VALUE_IN", sources[VALUE].tensor + 1)
    out.define("OUTPUT_IN", sources[OUTPUT].tensor + 1)
    out.define("KEY_BEFORE_IN", sources[KEY_BEFORE].tensor + 1)
    out.define("VALUE_BEFORE_IN", sources[VALUE_BEFORE].tensor + 1)
    out.define("KEY_STORED_IN", sources[KEY_STORED].tensor + 1)
    out.define("VALUE_STORED_IN", sources[VALUE_STORED].tensor + 1)
