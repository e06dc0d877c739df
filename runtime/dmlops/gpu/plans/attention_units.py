"""Attention of halves by matrix units: a group takes some rows of a head, and tiles of keys pass through
shared memory.

Where queries are few, the rows of a group are those of all heads that share keys, and if groups are few even
then, each takes a part of the keys, as in `attention_parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .attention import AttentionPass, Sources, define_sources
from .attention_parts import Parts, no_parts
from .capabilities import Capability
from .loops import ceil_div, times
from .planning import Planning
from .told import WAVE, Sizes, Tensors, Threads
from .tuning import (
    ATTENTION_LARGE_GROUPS,
    ATTENTION_LEAST_WAVES,
    ATTENTION_MANY_GROUPS,
    ATTENTION_MANY_KEYS,
    ATTENTION_MOST_WAVES,
    ATTENTION_WAVES,
    PARTS_UNITS_GROUPS,
    PARTS_UNITS_LEAST,
    PARTS_UNITS_WORTH,
)

UNIT_ROWS = 16  # of a wave, or twice as many
# Elements of a query or a value, at most, for which
SLIM = 48  # a wave with twice as many rows has registers for the scores of 32 keys at once, not only 16
NARROW = 64  # a wave has registers for twice as many rows
MIDDLING = 80  # shared memory has room for two tiles of 64 keys
WIDE = 128  # a wave has registers for whole rows, not only slices
WIDEST = 512  # shared memory has room for a tile of 16 keys


class UnitsTile(NamedTuple):
    """What a group with matrix units holds: `waves`, each with `rows` queries, or one of `slices` of their
    elements and of the columns of values; and `keys` in shared memory, of which waves take `step` at once."""

    waves: int
    rows: int
    slices: int
    keys: int
    step: int


def takes_units(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
) -> bool:
    """Whether matrix units compute the pass: the device has them, all floats are halves, and rows are whole
    vectors of eight, short enough for a tile of them. `sizes` are those of the result."""
    if not out.has(Capability.MATRIX_UNITS):
        return False
    for tensor in tensors:
        if tensor.is_present and tensor.is_float and tensor.bits != 16:
            return False
    depth, width = kept_sizes[attention.query][3], sizes[3]
    return depth % 8 == 0 and width % 8 == 0 and max(depth, width) <= WIDEST


def units_tile(heads: int, rows: int, keys: int, widest: int) -> UnitsTile:
    """The tile for so many heads, rows and keys of each, and elements of a query or a value at most.

    Wide rows are shared by two or four waves. Otherwise waves have 32 rows each if these are many and narrow,
    which halves the traffic of shared memory; else 16. Waves without rows help to load keys and values; if
    groups are many, one such wave is enough. Tiles are small where there is little to do per group, and large
    where few groups share a multiprocessor.
    """
    if widest > WIDE:
        slices = 2 if widest <= 2 * WIDE else 4
        at_once = 32 if widest <= 2 * WIDE else 16
        return UnitsTile(2 * slices, UNIT_ROWS, slices, at_once, at_once)
    groups = times(heads, ceil_div(rows, ATTENTION_MOST_WAVES * UNIT_ROWS))
    is_many, has_few_keys = groups >= ATTENTION_MANY_GROUPS, keys < ATTENTION_MANY_KEYS
    waves, own = ATTENTION_WAVES, UNIT_ROWS
    if is_many and not has_few_keys:
        if widest > NARROW:
            waves = ATTENTION_MOST_WAVES
        elif rows > ATTENTION_WAVES * UNIT_ROWS:
            own = 2 * UNIT_ROWS
    least = 1 if has_few_keys else ATTENTION_LEAST_WAVES
    while is_many and waves > least and waves // 2 * own >= rows:  # ends: waves halve
        waves = waves // 2
    if is_many and (has_few_keys or (rows <= UNIT_ROWS and widest > NARROW)):
        return UnitsTile(waves, own, 1, 16, 16)
    groups = times(heads, ceil_div(rows, waves * own))
    is_large = own > UNIT_ROWS or (groups <= ATTENTION_LARGE_GROUPS and widest <= MIDDLING)
    return UnitsTile(waves, own, 1, 64 if is_large else 32, 16 if own > UNIT_ROWS and widest > SLIM else 32)


def unit_groups(tile: UnitsTile, heads: int, rows: int) -> int:
    """Groups, if each takes all keys."""
    return times(heads, ceil_div(rows, tile.waves // tile.slices * tile.rows))


def unit_parts_of(attention: AttentionPass, shared: int, kept_sizes: Annotated[Sequence[Sizes], 16]) -> Parts:
    """Which heads share a group, and how the keys are split: all `shared` heads do unless each has many
    queries, and there are as many parts as occupy a GPU, or one if combining them would take longer than they
    save. A multiprocessor has room for two groups, or for one with wide rows."""
    query, keys = kept_sizes[attention.query], kept_sizes[attention.key][2]
    together = shared if shared > 0 and query[2] < ATTENTION_WAVES * UNIT_ROWS else 1
    heads, rows = times(query[0], query[1] // together), query[2] * together
    tile = units_tile(heads, rows, keys, max(query[3], kept_sizes[attention.value][3]))
    groups = times(unit_groups(tile, heads, rows), 1 if tile.slices == 1 else 2)
    own = PARTS_UNITS_LEAST
    while own < keys and times(groups, ceil_div(keys, own)) > PARTS_UNITS_GROUPS:  # ends: it doubles
        own *= 2
    number = ceil_div(keys, own)
    if times(number, keys) < PARTS_UNITS_WORTH:
        number = 1
    return no_parts()._replace(vector=8, shared=together, keys=own if number > 1 else 0, number=number)


def define_attention_units(
    out: Planning,
    attention: AttentionPass,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sources: Sources,
    parts: Parts,
) -> Threads:
    """The macros of the pass."""
    define_sources(out, sources)
    query, width = kept_sizes[attention.query], kept_sizes[attention.value][3]
    heads, rows = times(query[0], query[1] // parts.shared), query[2] * parts.shared
    tile = units_tile(heads, rows, kept_sizes[attention.key][2], max(query[3], width))
    groups = times(unit_groups(tile, heads, rows), parts.number)
    out.define("MATRIX_UNITS", 1)
    out.define("QUERY_EIGHTS", query[3] // 8)
    out.define("VALUE_EIGHTS", width // 8)
    out.define("WAVE_ROWS", tile.rows)
    out.define("SLICES", tile.slices)
    out.define("TILE_KEYS", tile.keys)
    out.define("STEP_KEYS", tile.step)
    out.define("SHARED", parts.shared)
    out.define("IN_PARTS", int(parts.number > 1))
    out.define("PART_KEYS", parts.keys)
    out.define("SCRATCH_VECTOR", 4)
    return Threads(times(groups, tile.waves * WAVE), tile.waves * WAVE)
