"""Coordinates of nonzero elements on a GPU: counted in blocks, added up, written."""

from __future__ import annotations

import struct
from math import prod

from ..kernels.nonzero import Nonzero
from .lines import group_grid, packed
from .types import check_span, tensor_defines
from .work import Dispatch, Work

NUM_THREADS = 256
ITEMS = 4


def work(computation: Nonzero) -> Work:
    """Three dispatches, the second of one group."""
    desc = computation.desc
    members = (computation.input, computation.output, computation.coordinates)
    source, total, rows = tensors = [getattr(desc, member) for member in members]
    for member, tensor in zip(members, tensors, strict=True):
        check_span(member, tensor)
    count = prod(source.Sizes)
    blocks = -(-count // (ITEMS * NUM_THREADS))
    bits, kind = source.DataType.bits, source.DataType.numpy.kind
    magnitude = (1 << bits - (kind == "f")) - 1
    loops = [(size, (stride,)) for size, stride in zip(source.Sizes, source.element_strides, strict=True)]
    defines: dict[str, int | str] = {
        "MAGNITUDE": f"{magnitude:#x}",
        "RANK": len(loops),
        "ITEMS": ITEMS,
        "NUM_THREADS": NUM_THREADS,
        **tensor_defines("INPUT", source.DataType, moves=True),
        **tensor_defines("OUTPUT_COUNT", total.DataType),
        **tensor_defines("OUTPUT_COORDINATES", rows.DataType),
    }
    columns = rows.Sizes[-1]
    buffers = (computation.input, "starts", computation.output, computation.coordinates)

    def dispatch(stage: int, groups: tuple[int, int]) -> Dispatch:
        head = (count, groups[0], blocks, columns, *rows.element_strides[-2:], 0, 0)
        constants = struct.pack("<8I", *head) + packed(loops)
        return Dispatch({**defines, "STAGE": stage}, buffers, constants, groups)

    everywhere = group_grid(blocks)
    return Work(
        (
            dispatch(0, everywhere),
            dispatch(1, (1, 1)),
            dispatch(2, everywhere),
        ),
        {"starts": 4 * (blocks + 1)},
    )
