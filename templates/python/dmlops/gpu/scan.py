"""Scans on a GPU: a thread or a thread group for each line, or several groups a line in three dispatches."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ..kernels.scan import Scan
from ..tensor import TensorDesc
from .lines import Loop, across, group_grid, packed, scratch_defines
from .types import check_span, tensor_defines
from .work import Dispatch, Work, grid

NUM_THREADS = 256
ITEMS = 4
SHORT_LINE = 64  # elements of lines that a thread scans alone
MANY_LINES = 4096  # enough for a thread each, where they lie side by side
FEW_LINES = 256  # so few that long ones are cut
SEGMENT = 16 * NUM_THREADS * ITEMS  # the least elements worth a group of their own
MAX_SEGMENTS = 1024


@dataclass(frozen=True)
class Lines:
    """How lines lie in a buffer: macros of its elements, first offset, and stride along the axis."""

    macros: Mapping[str, int | str]
    start: int
    step: int


def work(computation: Scan) -> Work:
    """One dispatch, or three where lines are cut into segments."""
    desc, axis = computation.desc, computation.axis
    members = (computation.input, computation.output)
    tensors: list[TensorDesc] = [getattr(desc, member) for member in members]
    for member, tensor in zip(members, tensors, strict=True):
        check_span(member, tensor)
    source, target = (
        _lines(macro, tensor, axis, computation.decreasing)
        for macro, tensor in zip(("INPUT", "OUTPUT"), tensors, strict=True)
    )
    length, data_type = tensors[0].Sizes[axis], tensors[0].DataType
    loops = across(tensors[0].Sizes, axis, [tensor.element_strides for tensor in tensors])
    count = prod(size for size, _ in loops)
    segments = 1 if count >= FEW_LINES else min(max(length // SEGMENT, 1), MAX_SEGMENTS)
    segment = -(-length // segments)
    segments = -(-length // segment)
    exclusive = computation.exclusive
    if segments == 1:
        side_by_side = count >= MANY_LINES and loops[-1][1][-1] < abs(target.step)
        alone = length <= SHORT_LINE or side_by_side
        buffers = (computation.input, computation.input, computation.output)  # nothing reads `starts`
        whole = [*loops, (1, (0, 0))]
        return Work(
            (_dispatch(buffers, whole, (length, length), source, target, exclusive, grouped=not alone),)
        )

    # Totals and starts lie one after the other.
    scratch = {macro: Lines(scratch_defines(macro, data_type), 0, 1) for macro in ("INPUT", "OUTPUT")}
    dense: list[Loop] = []
    following = segments
    for size, strides in reversed(loops):
        dense.insert(0, (size, (strides[0], following)))
        following *= size
    totals = _dispatch(
        (computation.input, computation.input, "totals"),
        [*dense, (segments, (segment * source.step, 1))],
        (length, segment),
        source,
        scratch["OUTPUT"],
        totals=1,
    )
    starts = _dispatch(
        ("totals", "totals", "starts"),
        [(count, (segments, segments)), (1, (0, 0))],
        (segments, segments),
        scratch["INPUT"],
        scratch["OUTPUT"],
        exclusive=True,
    )
    results = _dispatch(
        (computation.input, "starts", computation.output),
        [*loops, (segments, (segment * source.step, segment * target.step))],
        (length, segment),
        source,
        target,
        exclusive,
        started=1,
    )
    size = count * segments * (8 if data_type.bits == 64 else 4)
    return Work((totals, starts, results), {"totals": size, "starts": size})


def _lines(macro: str, tensor: TensorDesc, axis: int, decreasing: bool) -> Lines:
    stride, last = tensor.element_strides[axis], tensor.Sizes[axis] - 1
    start, step = (last * stride, -stride) if decreasing else (0, stride)
    return Lines(tensor_defines(macro, tensor.DataType), start, step)


def _dispatch(
    buffers: tuple[str, ...],
    loops: list[Loop],
    lengths: tuple[int, int],
    source: Lines,
    target: Lines,
    exclusive: bool = False,
    *,
    grouped: bool = True,
    totals: int = 0,
    started: int = 0,
) -> Dispatch:
    """A dispatch over the segments that `loops` go through; `lengths`: of a line, of a segment."""
    count = prod(size for size, _ in loops)
    groups = group_grid(count) if grouped else grid(count, NUM_THREADS)
    steps = (number % 2**32 for number in (source.start, source.step, target.start, target.step))
    constants = struct.pack("<12I", count, groups[0], *lengths, *steps, exclusive, 0, 0, 0)
    defines = {
        **source.macros,
        **target.macros,
        "TOTALS": totals,
        "STARTED": started,
        "GROUP_PER_LINE": int(grouped),
        "RANK": len(loops),
        "ITEMS": ITEMS,
        "NUM_THREADS": NUM_THREADS,
    }
    return Dispatch(defines, buffers, constants + packed(loops), groups)
