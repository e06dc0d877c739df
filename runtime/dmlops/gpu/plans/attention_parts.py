"""Attention of few queries, as in decoding: bandwidth is the limit, so keys and values are read once, 16
bytes wide.

A group takes some queries of all heads that share keys, and one part of these keys. Its partial results, the
maximum score, the sum of weights and the weighted sum of values, are combined by a second dispatch, in a
fixed order, unless there is only one part. Cooperative matrices take parts of the keys, too, where there are
too few groups otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .definition_types import AttentionPass, AttentionViews
from .loops import ceil_div, power_below, times
from .operands import NONE, WAVE, Sizes, Tensors, Threads
from .planning import Planning

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

# Kernels
TILES = 0
FEW_QUERIES = 1
COOPERATIVE = 2

VECTOR_BITS = 128
MOST_LANES = 16
MOST_ELEMENTS = 512  # of a row: a thread has registers for eight vectors over all its queries
OWN = 8  # vectors of queries and weighted sums that a thread holds
FETCHED = 4  # vectors of keys, values or parts that a thread loads at once
COMBINE_THREADS = 256  # in a group that combines parts, at most


class KeySplit(NamedTuple):
    """How groups share attention, which a `kernel` computes: each takes `rows` queries of `shared` adjacent
    heads, which have the same keys, one head after another, and one of `number` parts of the keys, of `keys`
    each. `vector` elements are loaded at once."""

    kernel: int
    vector: int
    shared: int
    rows: int
    keys: int
    number: int


class Strand(NamedTuple):
    """Threads that share a key and its value, the vectors of either that each of them has, and the keys that
    they load at once."""

    threads: int
    key_vectors: int
    value_vectors: int
    fetches: int


def groups_of(query: Sizes, split: KeySplit) -> int:
    """The thread groups, for queries of these sizes."""
    heads, rows = times(query[0], query[1] // split.shared), times(query[2], split.shared)
    return times(times(heads, ceil_div(rows, split.rows)), split.number)


def strand_of(depth: int, width: int, vector: int) -> Strand:
    """The threads that share a key of `depth` elements and its value of `width`."""
    threads = power_below(max(depth, width) // vector, MOST_LANES)
    of_key, of_value = ceil_div(depth, vector * threads), ceil_div(width, vector * threads)
    return Strand(threads, of_key, of_value, max(FETCHED // max(of_key, of_value), 1))


def floats_at_once(tensors: Tensors) -> int:
    """Elements in 16 bytes, if all floats have one type; else 1."""
    bits = 0
    for tensor in tensors:
        if tensor.is_present and tensor.is_float:
            if bits != 0 and bits != tensor.bits:
                return 1
            bits = tensor.bits
    return VECTOR_BITS // bits if bits == 16 or bits == 32 else 1


def stores_keys(views: AttentionViews, tensors: Tensors) -> bool:
    """Whether an output stores all keys."""
    return views.key_stored.tensor != NONE and tensors[views.key_stored.tensor].is_present


def are_few(queries: int, keys: int, heads: int) -> bool:
    """Whether these queries of each head are so few that it pays more to read keys and values once than to
    multiply in tiles."""
    are_some = queries <= PARTS_MOST_QUERIES and times(heads, queries) <= PARTS_QUERIES
    return queries <= PARTS_FEW_QUERIES or (are_some and keys >= PARTS_LEAST_KEYS)


def suits_few_queries(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    is_cooperative: bool,
) -> bool:
    """Whether queries are few. `is_cooperative`: cooperative matrices could compute the pass instead. They do
    it faster unless there is a single query, and its keys are shared by few heads, or are also stored on the
    way."""
    query, sizes = kept_sizes[attention.query], kept_sizes[attention.target]
    vector = floats_at_once(tensors)
    depth, width = query[3], sizes[3]
    if vector == 1 or depth % vector != 0 or width % vector != 0 or max(depth, width) > MOST_ELEMENTS:
        return False
    if is_cooperative:
        return sizes[2] == 1 and (views.shared <= PARTS_COOPERATIVE_SHARED or stores_keys(views, tensors))
    return are_few(sizes[2], kept_sizes[attention.key][2], times(sizes[0], sizes[1]))


def few_queries_split(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
) -> KeySplit:
    """The split for few queries: enough parts to saturate a GPU, each a multiple of what all threads load at
    once."""
    query, keys = kept_sizes[attention.query], kept_sizes[attention.key][2]
    vector, shared = floats_at_once(tensors), max(views.shared, 1)
    strand = strand_of(query[3], kept_sizes[attention.target][3], vector)
    rows = min(times(shared, query[2]), OWN // max(strand.key_vectors, strand.value_vectors))
    whole = KeySplit(FEW_QUERIES, vector, shared, rows, keys, 1)
    groups = groups_of(query, whole)
    own = max(PARTS_THREADS // strand.threads * strand.fetches, PARTS_THREADS)
    while 2 * own <= PARTS_KEYS and times(groups, ceil_div(keys, 2 * own)) >= PARTS_GROUPS:
        own *= 2
    return whole._replace(keys=own, number=ceil_div(keys, own))


def words_of(split: KeySplit, sizes: Sizes) -> int:
    """Words of scratch for partial results that are to be combined: for each part of a query a row of values,
    and four words more."""
    if split.number == 1:
        return 0
    queries = times(times(sizes[0], sizes[1]), sizes[2])
    return times(times(queries, split.number), sizes[3] + 4)


def define_few_queries(out: Planning, query: Sizes, sizes: Sizes, split: KeySplit) -> Threads:
    """The macros of the kernel for few queries. `sizes` are those of the result."""
    strand = strand_of(query[3], sizes[3], split.vector)
    out.define("FEW_QUERIES", 1)
    out.define("KEY_THREADS", strand.threads)
    out.define("KEY_VECTORS", strand.key_vectors)
    out.define("VALUE_VECTORS", strand.value_vectors)
    out.define("KEY_FETCHES", strand.fetches)
    return Threads(times(groups_of(query, split), PARTS_THREADS), PARTS_THREADS)


def define_combine(out: Planning, sizes: Sizes, split: KeySplit) -> Threads:
    """The macros of the dispatch that combines the parts. `sizes` are those of the result. A group takes a
    query, and each thread no more parts than it loads at once, if there are enough threads."""
    threads = power_below(sizes[3] // 4, WAVE)
    strands = power_below(2 * ceil_div(split.number, FETCHED) - 1, COMBINE_THREADS // threads)
    in_group = threads * strands
    out.define("FEW_QUERIES", 1)
    out.define("COMBINE", 1)
    out.define("ROWS", 1)
    out.define("SHARED", 1)
    out.define("KEY_THREADS", threads)
    out.define("KEY_FETCHES", FETCHED)
    out.define("VALUE_VECTORS", ceil_div(sizes[3], 4 * threads))
    return Threads(times(times(times(sizes[0], sizes[1]), sizes[2]), in_group), in_group)
