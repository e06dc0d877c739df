"""Attention, a pass of definitions: rows of queries with all keys, tile by tile through group memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .loops import ceil_div, times
from .planning import Planning
from .told import Sizes, Tensors

ATTENTION_THREADS = 128  # in a group
MANY_ROWS = 64  # of a group, where that leaves enough groups
MANY_DEPTH = 8
FEW_ROWS = 32
FEW_DEPTH = 16
MANY_GROUPS = 256  # which keep a large GPU busy
LANES = 16  # threads that share a row, four neighbouring columns of each tile to a thread
MAX_FOURS = 4


class AttentionPass(NamedTuple):
    """Pass `number` of the shader, or NONE, is attention. `query` is the intermediate tensor with the
    queries, by number; `told` has a bit for each tensor on which scores depend, too."""

    number: int
    query: int
    told: int


def define_attention(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
) -> int:
    """The macros of the pass, and its threads: a group for each block of rows and of columns of the values of
    a head. `sizes` are those of what is written."""
    heads = times(sizes[0], sizes[1])
    fours = min(ceil_div(sizes[3], 4 * LANES), MAX_FOURS)
    across = ceil_div(sizes[3], 4 * LANES * fours)
    is_many = fours <= 2 and times(heads, ceil_div(sizes[2], MANY_ROWS)) >= MANY_GROUPS
    rows = MANY_ROWS if is_many else FEW_ROWS
    is_whole = sizes[3] % 4 == 0 and kept_sizes[attention.query][3] % 4 == 0
    is_told = False
    for place, tensor in enumerate(tensors):
        if attention.told >> place & 1 == 1 and tensor.is_present:
            is_told = True
    out.define("ROWS", rows)
    out.define("DEPTH", MANY_DEPTH if is_many else FEW_DEPTH)
    out.define("VALUE_FOURS", fours)
    out.define("SCRATCH_VECTOR", 4 if is_whole else 1)
    out.define("SCORES_TOLD", int(is_told))
    return times(times(heads, ceil_div(sizes[2], rows)), across) * ATTENTION_THREADS
