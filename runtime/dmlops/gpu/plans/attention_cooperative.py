"""Attention of float16 tensors by cooperative matrices: a group takes some rows of a head, and tiles of keys
pass through shared memory.

Where queries are few, the rows of a group are those of all heads that share keys, and if groups are few even
then, each takes a part of the keys, as in `attention_parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .attention_parts import Parts, no_parts
from .capabilities import Capability
from .definition_types import AttentionPass
from .loops import ceil_div, times
from .operands import WAVE, Sizes, Tensors, Threads, is_float16
from .planning import Planning

ATTENTION_WAVES = 4  # NVIDIA H200: 2 at 0.58, 8 at 0.86 with 384 groups
"waves in a group with cooperative matrices"
PARTS_COOPERATIVE_GROUPS = 264  # NVIDIA H200: 132 at 0.80 to 1.10
"groups that occupy a GPU with cooperative matrices, which take parts of the keys only if there are fewer"
PARTS_COOPERATIVE_LEAST = 64  # NVIDIA H200: 128 at 0.91 to 1.00, 256 at 0.77 to 0.97
"keys per part then, at least"
PARTS_COOPERATIVE_WORTH = (
    4096  # NVIDIA H200: 1.1 to 7 times as fast with that many, with 256 to 2048 0.70 to 0.95
)
"parts times keys from which that pays"

MATRIX_ROWS = 16  # of a wave
# Elements of a query or a value, at most, for which
WIDE = 128  # a wave has registers for whole rows, not only slices
WIDEST = 512  # shared memory has room for a tile of 16 keys


class AttentionTile(NamedTuple):
    """The parts of a group with cooperative matrices: `waves`, each with 16 queries, or one of `slices` of
    their elements and of the columns of values; and `keys` in shared memory, whose scores waves hold at
    once."""

    waves: int
    slices: int
    keys: int


def suits_cooperative_attention(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
) -> bool:
    """Whether cooperative matrices compute the pass: the device has them, all floats are float16, and rows
    are whole vectors of eight, short enough for a tile of them."""
    if not out.has(Capability.COOPERATIVE_MATRIX):
        return False
    for tensor in tensors:
        if tensor.is_present and tensor.is_float and not is_float16(tensor):
            return False
    depth, width = kept_sizes[attention.query][3], kept_sizes[attention.target][3]
    return depth % 8 == 0 and width % 8 == 0 and max(depth, width) <= WIDEST


def cooperative_attention_tile(widest: int) -> AttentionTile:
    """The tile for elements of a query or a value: wide rows are shared by two or four waves."""
    if widest <= WIDE:
        return AttentionTile(ATTENTION_WAVES, 1, 32)
    slices = 2 if widest <= 2 * WIDE else 4
    return AttentionTile(2 * slices, slices, 32 if widest <= 2 * WIDE else 16)


def cooperative_groups(tile: AttentionTile, heads: int, rows: int) -> int:
    """Groups, if each takes all keys."""
    return times(heads, ceil_div(rows, tile.waves // tile.slices * MATRIX_ROWS))


def cooperative_parts(
    attention: AttentionPass, shared: int, kept_sizes: Annotated[Sequence[Sizes], 16]
) -> Parts:
    """The heads that share a group, and the split of the keys: all `shared` heads do unless each has many
    queries, and there are as many parts as occupy a GPU, or one if combining them would take longer than they
    save. A multiprocessor has room for two groups, or for one with wide rows."""
    query, keys = kept_sizes[attention.query], kept_sizes[attention.key][2]
    together = shared if shared > 0 and query[2] < ATTENTION_WAVES * MATRIX_ROWS else 1
    heads, rows = times(query[0], query[1] // together), query[2] * together
    tile = cooperative_attention_tile(max(query[3], kept_sizes[attention.value][3]))
    groups = times(cooperative_groups(tile, heads, rows), 1 if tile.slices == 1 else 2)
    own = PARTS_COOPERATIVE_LEAST
    while own < keys and times(groups, ceil_div(keys, own)) > PARTS_COOPERATIVE_GROUPS:  # ends: it doubles
        own *= 2
    number = ceil_div(keys, own)
    if times(number, keys) < PARTS_COOPERATIVE_WORTH:
        number = 1
    return no_parts()._replace(vector=8, shared=together, keys=own if number > 1 else 0, number=number)


def define_attention_cooperative(
    out: Planning,
    attention: AttentionPass,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    parts: Parts,
) -> Threads:
    """The macros of the pass."""
    query, width = kept_sizes[attention.query], kept_sizes[attention.value][3]
    heads, rows = times(query[0], query[1] // parts.shared), query[2] * parts.shared
    tile = cooperative_attention_tile(max(query[3], width))
    groups = times(cooperative_groups(tile, heads, rows), parts.number)
    out.define("COOPERATIVE_MATRIX", 1)
    out.define("QUERY_EIGHTS", query[3] // 8)
    out.define("VALUE_EIGHTS", width // 8)
    out.define("ROWS", tile.waves // tile.slices * MATRIX_ROWS)
    out.define("SLICES", tile.slices)
    out.define("TILE_KEYS", tile.keys)
    out.define("SHARED", parts.shared)
    out.define("SPLIT_KV", int(parts.number > 1))
    out.define("KEYS_PER_SPLIT", parts.keys)
    return Threads(times(groups, tile.waves * WAVE), tile.waves * WAVE)
