"""Random bits on a GPU: each thread makes the block of one counter."""

from __future__ import annotations

import struct
from itertools import accumulate
from math import prod
from operator import mul

from ..kernels.philox import WORDS, Philox
from ..tensor import TensorDesc
from .types import check_span, divisor
from .work import Dispatch, Work, grid

NUM_THREADS = 256


def work(computation: Philox) -> Work:
    """The one dispatch, which writes the next state, too."""
    desc = computation.desc
    output: TensorDesc = getattr(desc, computation.output)
    state: TensorDesc = getattr(desc, computation.state)
    following: TensorDesc | None = getattr(desc, computation.next_state)
    check_span(computation.output, output)
    count = prod(output.Sizes)
    sizes, strides = output.Sizes, output.element_strides
    packed = tuple(accumulate(sizes[:0:-1], mul, initial=1))[::-1]
    if all(size == 1 or found == wanted for size, found, wanted in zip(sizes, strides, packed, strict=True)):
        sizes, strides = (count,), (1,)
    vector = WORDS if len(sizes) == 1 and strides == (1,) and count % WORDS == 0 else 1
    groups = grid(computation.blocks, NUM_THREADS)
    constants = struct.pack(
        "<6I8x",
        count,
        groups[0],
        computation.blocks,
        state.element_strides[-1],
        following is not None,
        following.element_strides[-1] if following is not None else 0,
    )
    for size, stride in zip(sizes, strides, strict=True):
        constants += struct.pack("<5I12x", size, *divisor(size), stride)
    # Nothing writes a state that is absent; a resource stands in for it.
    target = computation.output if following is None else computation.next_state
    defines = {"RANK": len(sizes), "VECTOR": vector, "NUM_THREADS": NUM_THREADS}
    return Work((Dispatch(defines, (computation.state, computation.output, target), constants, groups),))
