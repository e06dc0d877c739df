"""Attention of float16 tensors by cooperative matrices: a group takes some rows of a head, and tiles of keys
pass through shared memory.

Where queries are few, the rows of a group are those of all heads that share keys, and if groups are few even
then, each takes a part of the keys, as in `attention_parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .attention_parts import COOPERATIVE, KeySplit, groups_of
from .capabilities import Capability
from .definition_types import AttentionPass, AttentionViews
from .loops import ceil_div, times
from .operands import WAVE, Sizes, Tensors, Threads, is_float16
from .planning import Planning

ATTENTION_WAVES = 4  # NVIDIA H200: 2 at 0.58, 8 at 0.86 with 384 groups
"waves in a group with cooperative matrices"
ATTENTION_FEW_GROUPS = 264  # NVIDIA H200: 1.05 to 1.13 times as fast with 24 to 192, 0.7 with 384
"groups up to which those of narrow rows have tiles of 64 keys"
ATTENTION_MANY_GROUPS = 512  # NVIDIA H200: 1.05 times as fast, with fewer 0.67 to 0.76
"groups of twice as many waves from which wider rows have these"
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
NARROW = 64  # a wave has registers for the scores of 64 keys
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


def cooperative_attention_tile(query: Sizes, width: int) -> AttentionTile:
    """The tile for queries, and values of that width. Wide rows are shared by two or four waves. Of those
    that are narrower, a few groups have registers for more keys, and many have more waves that share keys."""
    widest, heads = max(query[3], width), times(query[0], query[1])
    rows = ATTENTION_WAVES * MATRIX_ROWS
    if widest <= NARROW:
        is_few = times(heads, ceil_div(query[2], rows)) <= ATTENTION_FEW_GROUPS
        return AttentionTile(ATTENTION_WAVES, 1, 64 if is_few else 32)
    if widest <= WIDE:
        is_many = times(heads, query[2] // (2 * rows)) >= ATTENTION_MANY_GROUPS
        return AttentionTile(2 * ATTENTION_WAVES if is_many else ATTENTION_WAVES, 1, 32)
    slices = 2 if widest <= 2 * WIDE else 4
    return AttentionTile(2 * slices, slices, 32 if widest <= 2 * WIDE else 16)


def cooperative_split(
    attention: AttentionPass, views: AttentionViews, kept_sizes: Annotated[Sequence[Sizes], 16]
) -> KeySplit:
    """The heads that share a group, and the split of the keys: all heads with the same keys do unless each
    has many queries, and there are as many parts as occupy a GPU, or one if combining them would take longer
    than they save. A multiprocessor has room for two groups, or for one with wide rows."""
    query, keys = kept_sizes[attention.query], kept_sizes[attention.key][2]
    shared = views.shared if views.shared > 0 and query[2] < ATTENTION_WAVES * MATRIX_ROWS else 1
    tile = cooperative_attention_tile(query, kept_sizes[attention.value][3])
    rows = tile.waves // tile.slices * MATRIX_ROWS
    whole = KeySplit(COOPERATIVE, 8, shared, rows, 0, 1)
    groups = times(groups_of(query, whole), 1 if tile.slices == 1 else 2)
    own = PARTS_COOPERATIVE_LEAST
    while own < keys and times(groups, ceil_div(keys, own)) > PARTS_COOPERATIVE_GROUPS:  # ends: it doubles
        own *= 2
    number = ceil_div(keys, own)
    if number == 1 or times(number, keys) < PARTS_COOPERATIVE_WORTH:
        return whole
    return whole._replace(keys=own, number=number)


def define_attention_cooperative(out: Planning, query: Sizes, width: int, split: KeySplit) -> Threads:
    """The macros of the kernel, for values of that width."""
    tile = cooperative_attention_tile(query, width)
    out.define("COOPERATIVE_MATRIX", 1)
    out.define("QUERY_EIGHTS", query[3] // 8)
    out.define("VALUE_EIGHTS", width // 8)
    out.define("SLICES", tile.slices)
    out.define("TILE_KEYS", tile.keys)
    return Threads(times(groups_of(query, split), tile.waves * WAVE), tile.waves * WAVE)
