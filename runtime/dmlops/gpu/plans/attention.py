"""Attention, a pass of definitions: what computes it, and how groups share it.

Blocks of queries meet all keys in tiles, in float32 or in cooperative matrices. Where queries are few, as in
decoding, bandwidth is the limit: threads read keys and values once, 16 bytes wide, for all queries and heads
that share them. If groups would be too few, each takes a part of the keys, and a second dispatch combines
their maxima, sums of weights and weighted sums, in a fixed order.
"""

from __future__ import annotations

from typing import NamedTuple

from .attention_sources import KEY_STORED, Sources, define_access
from .capabilities import Capability
from .definition_types import Definition, DefinitionShader
from .loops import ceil_div, power_below, times
from .operands import WAVE, Sizes, Tensors, Threads
from .planning import Planning

ATTENTION_MANY_ROWS = 64  # NVIDIA H200: 32 at 0.82
"queries per group, if that leaves enough groups"
ATTENTION_FEW_ROWS = 32  # NVIDIA H200: 64 at 0.64 to 0.91
"queries per group otherwise"
ATTENTION_GROUPS = 264  # NVIDIA H200: 128 at 0.85 to 1.00, 512 at 0.79 to 1.00
"groups that occupy a GPU"
ROW_BLOCKS = 8  # of adjacent rows in a group, each shared by
ROW_THREADS = 16  # threads
MAX_BLOCKS = 4  # of four columns of values, that a thread accumulates for each of its rows

ATTENTION_WAVES = 4  # NVIDIA H200: 2 at 0.58, 8 at 0.86 with 384 groups
"waves in a group with cooperative matrices"
ATTENTION_MANY_GROUPS = 512  # NVIDIA H200: 1.1 times as fast, with fewer 0.67 to 0.76
"groups of twice as many waves from which wider rows have these"
SHORTEST_PART = 64  # NVIDIA H200: 128 at 0.91 to 1.00, 256 at 0.77 to 0.97
"keys per part, at least"
PARTS_COOPERATIVE_WORTH = 4096  # NVIDIA H200: 1.1 to 7 times as fast, with 256 to 2048 at 0.70 to 0.95
"parts times keys from which parts pay with cooperative matrices"
PARTS_TILES_WORTH = 512  # NVIDIA H200: 160 wide keys as fast as with twice the threads in a group
"the same in float32"
MATRIX_ROWS = 16  # of a wave
# Elements of a query or a value, at most, for which
NARROW = 64  # a wave has registers for the scores of 64 keys
WIDE = 128  # a wave has registers for whole rows, not only slices

PARTS_FEW_QUERIES = 4  # NVIDIA H200: 1.03 to 15 times as fast
"queries up to which keys are split into parts, and read once for all queries and heads that share them"
PARTS_MOST_QUERIES = 64  # NVIDIA H200: 1.4 to 2.8 times as fast with 64
"the same if there are few in all heads together, but many keys"
PARTS_QUERIES = 2560  # NVIDIA H200: 1.1 to 12 times as fast with fewer, with 3072 and more 0.6 to 1.2
"queries in all heads together up to which these are few"
PARTS_LEAST_KEYS = 256  # NVIDIA H200: 0.95 to 1.09 times as fast with that many, with 64 and 128 0.63 to 0.78
"keys from which on there are many"
PARTS_COOPERATIVE_SHARED = 2  # NVIDIA H200: 1 at 0.94, 4 at 0.76 to 0.87, 8 at 0.32 to 0.58
"heads that share keys up to which that beats cooperative matrices for single queries"
PARTS_THREADS = 128  # NVIDIA H200: 64 at 0.87 to 1.00, 256 at 0.99
"threads in a group of that form"
PARTS_GROUPS = 1024  # NVIDIA H200: 512 at 1.01
"groups that saturate a GPU's memory bandwidth"
PARTS_KEYS = 512  # NVIDIA H200: 256 at 0.98, 1024 at 0.99
"keys per part, at most"
MOST_KEY_THREADS = 16  # threads that share a key and its value
OWN = 8  # vectors of queries and weighted sums that a thread holds
FETCHED = 4  # keys and their values, or parts, that threads load at once
COMBINE_THREADS = 256  # in a group that combines parts, at most

WIDEST = 512  # elements of a row: registers have room for it, and shared memory for 16 of them
VECTOR_BITS = 128

# Kernels
TILES = 0
FEW_QUERIES = 1
COOPERATIVE = 2


class AttentionTile(NamedTuple):
    """The parts of a group with cooperative matrices: `waves`, each with 16 queries, or one of `slices` of
    their elements and of the columns of values; and `keys` in shared memory, whose scores waves hold at
    once."""

    waves: int
    slices: int
    keys: int


class AttentionSplit(NamedTuple):
    """How groups of `threads` share attention, which a `kernel` computes, `vector` elements at once. Each
    takes `rows` queries of `shared` adjacent heads, which have the same keys, one head after another, and one
    of `parts`: of the keys, `keys` each, or, if that is 0, of the columns of values. Where queries are few,
    `sharers` threads share a key; with cooperative matrices, that many waves share a row, and tiles have
    `tile_keys`."""

    kernel: int
    vector: int
    shared: int
    rows: int
    keys: int
    parts: int
    sharers: int
    tile_keys: int
    threads: int


def no_split() -> AttentionSplit:
    """Of descriptions without attention."""
    return AttentionSplit(TILES, 4, 1, 1, 0, 1, 1, 0, 1)


def groups_of(query: Sizes, shared: int, rows: int) -> int:
    """The groups, for queries of these sizes, each of which takes `rows` of heads that share keys."""
    heads = times(query[0], query[1] // shared)
    return times(heads, ceil_div(times(query[2], shared), rows))


def floats_at_once(tensors: Tensors) -> int:
    """Elements in 16 bytes, if all floats have one type, which casts convert; else 1."""
    found = 0
    for tensor in tensors:
        if tensor.is_present and tensor.is_float:
            each = VECTOR_BITS // tensor.bits if tensor.is_native else 1
            found = each if found == 0 or found == each else 1
    return found if found >= 4 else 1


def split_attention(out: Planning, op: Definition, shader: DefinitionShader, there: int) -> AttentionSplit:
    """The kernel that computes the pass, and how groups share it; `there` has a bit for each tensor that is
    present."""
    attention, vector = shader.attention, floats_at_once(op.tensors)
    query, keys = op.kept_sizes[attention.query], op.kept_sizes[attention.key][2]
    shared = query[1] // op.kept_sizes[attention.key][1]
    depth, width = query[3], op.kept_sizes[attention.target][3]
    is_whole = vector > 1 and depth % vector == 0 and width % vector == 0 and max(depth, width) <= WIDEST
    if is_whole:
        is_cooperative = out.has(Capability.COOPERATIVE_MATRIX) and vector == 8
        is_stored = any(view.role == KEY_STORED and there >> view.tensor & 1 == 1 for view in shader.views)
        if suits_few_queries(query, keys, shared, is_cooperative, is_stored):
            return few_queries_split(query, keys, width, shared, vector)
        if is_cooperative:
            return cooperative_split(query, keys, width, shared)
    blocks = ceil_div(width, 4 * ROW_THREADS)
    is_busy = groups_of(query, 1, ATTENTION_MANY_ROWS) >= ATTENTION_GROUPS
    rows = ATTENTION_MANY_ROWS if is_busy and 2 * blocks <= MAX_BLOCKS else ATTENTION_FEW_ROWS
    parts, own = ceil_div(blocks, MAX_BLOCKS), 0
    if is_whole and parts == 1:
        own = keys_of_part(groups_of(query, 1, rows), keys, PARTS_TILES_WORTH)
        parts = ceil_div(keys, own) if own > 0 else 1
    return AttentionSplit(TILES, vector, 1, rows, own, parts, 1, 0, ROW_BLOCKS * ROW_THREADS)


def suits_few_queries(query: Sizes, keys: int, shared: int, is_cooperative: bool, is_stored: bool) -> bool:
    """Whether queries are so few that it pays more to read keys and values once than to multiply in tiles.
    `is_cooperative`: cooperative matrices could compute the pass instead. They do it faster unless there is a
    single query, and its keys are shared by few heads, or `is_stored`: they are also stored on the way."""
    queries = query[2]
    if is_cooperative:
        return queries == 1 and (shared <= PARTS_COOPERATIVE_SHARED or is_stored)
    are_some = queries <= PARTS_MOST_QUERIES and times(times(query[0], query[1]), queries) <= PARTS_QUERIES
    return queries <= PARTS_FEW_QUERIES or (are_some and keys >= PARTS_LEAST_KEYS)


def few_queries_split(query: Sizes, keys: int, width: int, shared: int, vector: int) -> AttentionSplit:
    """The split for few queries: enough parts to saturate a GPU, each a multiple of what all threads load at
    once."""
    widest = max(query[3], width) // vector
    threads = power_below(widest, MOST_KEY_THREADS)
    vectors = ceil_div(widest, threads)
    rows = min(times(shared, query[2]), OWN // vectors)
    groups = groups_of(query, shared, rows)
    own = max(PARTS_THREADS // threads * max(FETCHED // vectors, 1), PARTS_THREADS)
    while 2 * own <= PARTS_KEYS and times(groups, ceil_div(keys, 2 * own)) >= PARTS_GROUPS:
        own *= 2
    parts = ceil_div(keys, own)
    own = own if parts > 1 else 0
    return AttentionSplit(FEW_QUERIES, vector, shared, rows, own, parts, threads, 0, PARTS_THREADS)


def keys_of_part(groups: int, keys: int, worth: int) -> int:
    """The keys of a part, if there are enough parts to occupy a GPU; 0 if parts times keys are fewer than
    `worth`: combining parts would then take longer than they save."""
    own = SHORTEST_PART
    while own < keys and times(groups, ceil_div(keys, own)) > ATTENTION_GROUPS:  # ends: it doubles
        own *= 2
    parts = ceil_div(keys, own)
    return own if parts > 1 and times(parts, keys) >= worth else 0


def attention_tile(query: Sizes, width: int) -> AttentionTile:
    """The tile for queries, and values of that width. Wide rows are shared by two or four waves. Of those
    that are narrower, a few groups have registers for more keys, and many have more waves that share keys."""
    widest, rows = max(query[3], width), ATTENTION_WAVES * MATRIX_ROWS
    if widest <= NARROW:
        is_few = groups_of(query, 1, rows) <= ATTENTION_GROUPS
        return AttentionTile(ATTENTION_WAVES, 1, 64 if is_few else 32)
    if widest <= WIDE:
        whole = query[2] // (2 * rows)  # groups of a head without idle waves
        is_many = times(times(query[0], query[1]), whole) >= ATTENTION_MANY_GROUPS
        return AttentionTile(2 * ATTENTION_WAVES if is_many else ATTENTION_WAVES, 1, 32)
    slices = 2 if widest <= 2 * WIDE else 4
    return AttentionTile(2 * slices, slices, 64 // slices)


def cooperative_split(query: Sizes, keys: int, width: int, shared: int) -> AttentionSplit:
    """The heads that share a group, and the split of the keys: all heads with the same keys do unless each
    has many queries, and there are as many parts as occupy a GPU, or one if combining them would take longer
    than they save. A multiprocessor has room for two groups, or for one with wide rows."""
    shared = shared if query[2] < ATTENTION_WAVES * MATRIX_ROWS else 1
    tile = attention_tile(query, width)
    rows = tile.waves // tile.slices * MATRIX_ROWS
    groups = times(groups_of(query, shared, rows), 1 if tile.slices == 1 else 2)
    own = keys_of_part(groups, keys, PARTS_COOPERATIVE_WORTH)
    parts = ceil_div(keys, own) if own > 0 else 1
    return AttentionSplit(COOPERATIVE, 8, shared, rows, own, parts, tile.slices, tile.keys, tile.waves * WAVE)


def combining_split(width: int, split: AttentionSplit) -> AttentionSplit:
    """The dispatch that combines parts, for values of that width. A group takes a query, and each thread no
    more parts than it loads at once, if there are enough threads."""
    threads = power_below(width // 4, WAVE)
    strands = power_below(2 * ceil_div(split.parts, FETCHED) - 1, COMBINE_THREADS // threads)
    return AttentionSplit(FEW_QUERIES, 4, 1, 1, split.keys, 1, threads, 0, threads * strands)


def words_of_parts(split: AttentionSplit, sizes: Sizes) -> int:
    """Words of scratch for partial results that are to be combined: for each part of a query a row of values,
    and four words more."""
    if split.keys == 0:
        return 0
    queries = times(times(sizes[0], sizes[1]), sizes[2])
    return times(times(queries, split.parts), sizes[3] + 4)


def define_attention(
    out: Planning, query: Sizes, width: int, split: AttentionSplit, sources: Sources
) -> Threads:
    """The macros of the kernel, for values of that width, and of what it reads and writes."""
    define_access(out, sources)
    out.define("ROWS", split.rows)
    out.define("SHARED", split.shared)
    out.define("KEYS_PER_SPLIT", split.keys)
    out.define("VECTOR", max(split.vector, 4))
    out.define("QUERY_FOURS", ceil_div(query[3], 4))
    out.define("VALUE_FOURS", ceil_div(width, 4))
    if split.kernel == FEW_QUERIES:
        out.define("FEW_QUERIES", 1)
        out.define("KEY_THREADS", split.sharers)
    elif split.kernel == COOPERATIVE:
        out.define("COOPERATIVE_MATRIX", 1)
        out.define("SLICES", split.sharers)
        out.define("TILE_KEYS", split.tile_keys)
    groups = times(groups_of(query, split.shared, split.rows), split.parts)
    return Threads(times(groups, split.threads), split.threads)
