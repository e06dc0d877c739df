"""Scatters on a GPU: which update an element gets, and then all elements."""

from __future__ import annotations

import struct
from math import prod

from ..coordinates import Coordinates
from ..kernels.scatter import Scatter
from ..tensor import TensorDesc
from .errors import Unsupported
from .map import merged_in_order
from .plan import Linear, Read, offset_of
from .types import check_span, divisor, tensor_defines
from .work import Dispatch, Work, grid

NUM_THREADS = 256


def work(computation: Scatter) -> Work:
    """Two dispatches. Raises Unsupported where `place` is more than strides and wrapped indices."""
    desc = computation.desc
    members = (computation.input, computation.indices, computation.updates, computation.output)
    source, indices, updates, target = tensors = [getattr(desc, member) for member in members]
    for member, tensor in zip(members, tensors, strict=True):
        check_span(member, tensor)
    destination = _destination(computation, updates, target)
    reads = [wrapped.index for wrapped in destination.lookups]
    steps = reads[0].offset.coordinates
    if destination.constant or any(r.offset.lookups or r.offset.coordinates != steps for r in reads):
        raise Unsupported(f"{desc.OPERATOR} writes at coordinates that the scatter shader cannot follow")

    outputs = merged_in_order(
        (size, (read, 0, 0, write))
        for size, read, write in zip(
            target.Sizes, source.element_strides, target.element_strides, strict=True
        )
    )
    numbered = merged_in_order(
        (size, (0, steps.get(d, 0), stride, destination.coordinates.get(d, 0)))
        for d, (size, stride) in enumerate(zip(updates.Sizes, updates.element_strides, strict=True))
    )
    single = (1, (0, 0, 0, 0))
    outputs, numbered = outputs or [single], numbered or [single]
    lookups = [
        (wrapped.size, stride, wrapped.index.offset.constant, 0)
        for wrapped, stride in destination.lookups.items()
    ]
    constants = b"".join(
        struct.pack("<8I", size, *divisor(size), *strides) for size, strides in (*outputs, *numbered)
    ) + b"".join(struct.pack("<4I", *lookup) for lookup in lookups)
    defines: dict[str, int | str] = {
        "RANK": len(outputs),
        "UPDATES_RANK": len(numbered),
        "LOOKUPS": len(lookups),
        "NUM_THREADS": NUM_THREADS,
        **tensor_defines("INPUT", source.DataType, moves=True),
        **tensor_defines("INDICES", indices.DataType),
        **tensor_defines("UPDATES", updates.DataType, moves=True),
        **tensor_defines("OUTPUT", target.DataType, moves=True),
    }

    buffers = (*members[:3], "winners", computation.output)

    def dispatch(writes: int, count: int) -> Dispatch:
        groups = grid(count, NUM_THREADS)
        head = struct.pack("<4I", count, groups[0], 0, 0)
        return Dispatch({**defines, "WRITES": writes}, buffers, head + constants, groups)

    winners = 1 + sum((size - 1) * strides[3] for size, strides in outputs)
    find, write = dispatch(0, prod(updates.Sizes)), dispatch(1, prod(target.Sizes))
    return Work((find, write), {"winners": 4 * winners}, ("winners",))


def _destination(computation: Scatter, updates: TensorDesc, target: TensorDesc) -> Linear:
    """The offset in the output that an update goes to, by the operator's own `place`, called with symbols."""

    def load(tensor: str, at: Coordinates) -> Read:
        return Read(tensor, offset_of(at, getattr(computation.desc, tensor).element_strides))

    at = tuple(Linear(coordinates={dimension: 1}) for dimension in range(len(updates.Sizes)))
    return offset_of(computation.place(computation.desc, at, load), target.element_strides)
