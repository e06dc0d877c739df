"""Attention, a pass of definitions: rows of queries with all keys, tile by tile through group memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from .capabilities import Capability
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

# By matrix units
UNIT_WAVE = 32  # threads
UNIT_ROWS = 16  # of a block; a wave has one or two
MOST_WAVES = 4  # in a group; H200, reads of tiles apart: 8 at 0.91, with one block each 0.79, 8 of these 0.81
UNIT_GROUPS = 128  # which keep a large GPU busy
NARROW = 64  # elements of a query or a value: a wave has registers for two blocks of so long rows
WIDE = 128  # and for one of such


class AttentionPass(NamedTuple):
    """Pass `number` of the shader, or NONE, is attention. `query` is the intermediate tensor with the
    queries, by number; `told` has a bit for each tensor on which scores depend, too."""

    number: int
    query: int
    told: int


class AttentionGroups(NamedTuple):
    """All threads of the pass, and those in a group."""

    threads: int
    in_group: int


def takes_units(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
) -> bool:
    """Whether matrix units work the pass out: the device has them, all floats are halves, and rows are whole
    vectors of these, few enough that a wave has its sums in registers. `sizes` are those of what is
    written."""
    if not out.has(Capability.MATRIX_UNITS):
        return False
    for tensor in tensors:
        if tensor.is_present and tensor.is_float and tensor.bits != 16:
            return False
    depth, width = kept_sizes[attention.query][3], sizes[3]
    return depth % 8 == 0 and width % 8 == 0 and max(depth, width) <= WIDE


def is_told(attention: AttentionPass, tensors: Tensors) -> bool:
    """Whether scores, or which of them count, depend on tensors that are there."""
    return any(attention.told >> place & 1 == 1 and one.is_present for place, one in enumerate(tensors))


def define_attention_units(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
) -> AttentionGroups:
    """The macros of the pass by matrix units: a group for some rows of a head, for fewer where that leaves
    few groups, or half of them has room for all rows. `sizes` are those of what is written."""
    heads, depth = times(sizes[0], sizes[1]), kept_sizes[attention.query][3]
    blocks = 2 if max(depth, sizes[3]) <= NARROW else 1  # of a wave
    waves = MOST_WAVES
    rows = waves * blocks * UNIT_ROWS
    groups = times(heads, ceil_div(sizes[2], rows))
    while rows > UNIT_ROWS and (groups < UNIT_GROUPS or rows // 2 >= sizes[2]):  # rows halve
        waves = waves // 2 if blocks == 1 else waves
        blocks = 1
        rows = waves * blocks * UNIT_ROWS
        groups = times(heads, ceil_div(sizes[2], rows))
    out.define("MATRIX_UNITS", 1)
    out.define("BLOCKS", blocks)
    out.define("QUERY_SIXTEENS", ceil_div(depth, 16))
    out.define("VALUE_SIXTEENS", ceil_div(sizes[3], 16))
    out.define("SCRATCH_VECTOR", 4)
    out.define("SCORES_TOLD", int(is_told(attention, tensors)))
    return AttentionGroups(times(groups, waves * UNIT_WAVE), waves * UNIT_WAVE)


def define_attention(
    out: Planning,
    attention: AttentionPass,
    tensors: Tensors,
    kept_sizes: Annotated[Sequence[Sizes], 16],
    sizes: Sizes,
    by_units: bool,
) -> AttentionGroups:
    """The macros of the pass: a group for each block of rows and of columns of the values of a head. `sizes`
    are those of what is written."""
    if by_units:
        return define_attention_units(out, attention, tensors, kept_sizes, sizes)
    heads = times(sizes[0], sizes[1])
    fours = min(ceil_div(sizes[3], 4 * LANES), MAX_FOURS)
    across = ceil_div(sizes[3], 4 * LANES * fours)
    is_many = fours <= 2 and times(heads, ceil_div(sizes[2], MANY_ROWS)) >= MANY_GROUPS
    rows = MANY_ROWS if is_many else FEW_ROWS
    is_whole = sizes[3] % 4 == 0 and kept_sizes[attention.query][3] % 4 == 0
    out.define("ROWS", rows)
    out.define("DEPTH", MANY_DEPTH if is_many else FEW_DEPTH)
    out.define("VALUE_FOURS", fours)
    out.define("SCRATCH_VECTOR", 4 if is_whole else 1)
    out.define("SCORES_TOLD", int(is_told(attention, tensors)))
    groups = times(times(heads, ceil_div(sizes[2], rows)), across)
    return AttentionGroups(groups * ATTENTION_THREADS, ATTENTION_THREADS)
