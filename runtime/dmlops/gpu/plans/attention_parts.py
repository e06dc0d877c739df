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
from .operands import NONE, Sizes, Tensors, Threads
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

VECTOR_BITS = 128
MOST_LANES = 16
MOST_ELEMENTS = 512  # of a row: a thread has registers for eight vectors over all its queries
OWN = 8  # vectors of queries, partial results and products that a thread holds
COMBINE_FETCHES = 4  # parts that a thread loads at once to combine them
MOST_WEIGHTS = 2048  # of a group: 8 KiB, besides half as much for exchange between threads


class Parts(NamedTuple):
    """The split of keys into `number` parts of `keys` each; a group takes one.

    The rest is valid if this form `applies`; if cooperative matrices take the parts, only `vector` and
    `shared` are. A `vector` is that many elements; `shared` adjacent heads have the same keys. A group has
    `rows` queries of these heads, which take `blocks` groups. `lanes` threads share a key, `value_lanes` a
    value; of each, a thread has `key_vectors` or `value_vectors`, and loads those of `key_fetches` keys or
    `value_fetches` values at once."""

    applies: bool
    vector: int
    shared: int
    rows: int
    blocks: int
    lanes: int
    key_vectors: int
    key_fetches: int
    value_lanes: int
    value_vectors: int
    value_fetches: int
    keys: int
    number: int


def no_parts() -> Parts:
    return Parts(False, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)


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


def parts_of(
    attention: AttentionPass,
    views: AttentionViews,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    is_cooperative: bool,
) -> Parts:
    """The split for few queries: enough parts to saturate a GPU, each a multiple of what all threads load at
    once. `is_cooperative`: cooperative matrices could compute the pass instead. They do it faster unless
    there is a single query, and its keys are shared by few heads, or are also stored on the way."""
    query, sizes = kept_sizes[attention.query], kept_sizes[attention.target]
    vector = floats_at_once(tensors)
    depth, width = query[3], sizes[3]
    if vector == 1 or depth % vector != 0 or width % vector != 0 or max(depth, width) > MOST_ELEMENTS:
        return no_parts()
    keys = kept_sizes[attention.key][2]
    shared = max(views.shared, 1)
    is_single = sizes[2] == 1 and (shared <= PARTS_COOPERATIVE_SHARED or stores_keys(views, tensors))
    if not (is_single if is_cooperative else are_few(sizes[2], keys, times(sizes[0], sizes[1]))):
        return no_parts()
    lanes = power_below(depth // vector, MOST_LANES)
    value_lanes = power_below(width // vector, MOST_LANES)
    key_vectors, value_vectors = ceil_div(depth // vector, lanes), ceil_div(width // vector, value_lanes)
    wanted = times(shared, sizes[2])
    most = power_below(OWN // max(key_vectors, value_vectors), OWN)
    rows = 1
    while rows < min(wanted, most):
        rows *= 2
    blocks = ceil_div(wanted, rows)
    key_fetches = max(power_below(OWN // (rows * key_vectors), OWN), 1)
    value_fetches = min(max(power_below(OWN // value_vectors, OWN), 1), value_lanes)

    round_ = max(PARTS_THREADS // lanes * key_fetches, PARTS_THREADS)
    groups = times(times(sizes[0], sizes[1] // shared), blocks)
    most_keys = max(min(PARTS_KEYS, MOST_WEIGHTS // rows), round_)
    own = round_
    while 2 * own <= most_keys and times(groups, ceil_div(keys, 2 * own)) >= PARTS_GROUPS:
        own *= 2
    return Parts(
        applies=True,
        vector=vector,
        shared=shared,
        rows=rows,
        blocks=blocks,
        lanes=lanes,
        key_vectors=key_vectors,
        key_fetches=key_fetches,
        value_lanes=value_lanes,
        value_vectors=value_vectors,
        value_fetches=value_fetches,
        keys=own,
        number=ceil_div(keys, own),
    )


def words_of(parts: Parts, sizes: Sizes) -> int:
    """Words of scratch for partial results that are to be combined: for each part of a query a row of values,
    and four words more."""
    if parts.number == 1:
        return 0
    queries = times(times(sizes[0], sizes[1]), sizes[2])
    return times(times(queries, parts.number), sizes[3] + 4)


def define_parts(out: Planning, sizes: Sizes, parts: Parts) -> Threads:
    """The macros of the pass. `sizes` are those of the result."""
    define_few(out, parts)
    out.define("COMBINE", 0)
    out.define("SPLIT_KV", int(parts.number > 1))
    out.define("SHARED", parts.shared)
    out.define("ROWS", parts.rows)
    out.define("KEY_THREADS", parts.lanes)
    out.define("KEY_VECTORS", parts.key_vectors)
    out.define("KEY_FETCHES", parts.key_fetches)
    out.define("VALUE_THREADS", parts.value_lanes)
    out.define("VALUE_VECTORS", parts.value_vectors)
    out.define("VALUE_FETCHES", parts.value_fetches)
    heads = times(sizes[0], sizes[1])
    groups = times(times(heads // parts.shared, parts.blocks), parts.number)
    return Threads(times(groups, PARTS_THREADS), PARTS_THREADS)


def define_join(out: Planning, sizes: Sizes, parts: Parts) -> Threads:
    """The macros of the dispatch that combines the parts. `sizes` are those of the result. Each thread takes
    four columns of a query, from no more parts than it loads at once if a group has enough threads."""
    lanes = sizes[3] // 4
    strands = power_below(2 * ceil_div(parts.number, COMBINE_FETCHES) - 1, PARTS_THREADS // lanes)
    queries = PARTS_THREADS // (lanes * strands)
    define_few(out, parts)
    out.define("COMBINE", 1)
    out.define("COMBINE_QUERIES", queries)
    out.define("COMBINE_STRANDS", strands)
    out.define("COMBINE_FETCHES", COMBINE_FETCHES)
    groups = ceil_div(times(times(sizes[0], sizes[1]), sizes[2]), queries)
    return Threads(times(groups, PARTS_THREADS), PARTS_THREADS)


def define_few(out: Planning, parts: Parts) -> None:
    """The macros of both dispatches."""
    out.define("FEW_QUERIES", 1)
    out.define("KEYS_PER_SPLIT", parts.keys)
