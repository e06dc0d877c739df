"""Which variant of an operator's shader runs a plan, and with which constants and thread groups.

Decided on the CPU from the plan alone. The macros are those in the head of each shader file, the constants
the shader's `Params`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import gcd

from ..kernels.map import Map
from .errors import Unsupported
from .plan import Dimension, Plan, plan_of
from .types import divisor
from .work import MAX_GROUPS, Dispatch, Work

NUM_THREADS = 512
BYTES_IN_FLIGHT = 32  # that one thread moves; measured, see bench/gpu.py
MAX_UNROLL = 4


@dataclass(frozen=True)
class Variant:
    """A shader's macros, the bytes of its `Params`, and the thread groups to dispatch."""

    defines: dict[str, int]
    constants: bytes
    groups: tuple[int, int, int]


def gather_work(computation: Map) -> Work:
    """The one dispatch that gathers."""
    movement = plan_of(computation)
    index_type = getattr(computation.desc, movement.indices).DataType.numpy
    variant = choose(movement, index_type.itemsize, index_type.kind == "i")
    buffers = (movement.input, movement.indices, computation.output)
    return Work((Dispatch(variant.defines, buffers, variant.constants, variant.groups[:2]),))


def choose(plan: Plan, index_size: int, index_signed: bool) -> Variant:
    """The fastest variant that can run `plan`; `index_size` is in bytes."""
    plan = plan.widened().striped()
    *outer, inner = plan.dimensions
    vector = _vector(plan)
    index_vector = _index_vector(plan, index_size, vector)
    unroll = max(1, min(MAX_UNROLL, BYTES_IN_FLIGHT // (plan.element_size * vector)))

    dimensions = [*outer, Dimension(inner.size // vector, *(vector * stride for stride in inner.strides))]
    count = 1
    for dimension in dimensions:
        count *= dimension.size
    groups = -(-count // (NUM_THREADS * unroll))
    rows = -(-groups // MAX_GROUPS)
    columns = -(-groups // rows)
    if rows * columns * NUM_THREADS * unroll > 2**32:
        raise Unsupported(
            f"OutputTensor has {count * vector} elements, more than one dispatch can count in 32 bits"
        )

    constants = struct.pack("<4I", count, columns, inner.input_stride, inner.index_stride)
    constants += b"".join(_pack(dimension) for dimension in dimensions)
    constants += b"".join(
        struct.pack("<4I", lookup.size, lookup.input_stride, lookup.index_offset, 0)
        for lookup in plan.lookups
    )
    defines = {
        "ELEMENT_SIZE": plan.element_size,
        "INDEX_SIZE": index_size,
        "INDEX_SIGNED": int(index_signed),
        "RANK": len(dimensions),
        "LOOKUPS": len(plan.lookups),
        "VECTOR": vector,
        "INDEX_VECTOR": index_vector,
        "UNROLL": unroll,
        "NUM_THREADS": NUM_THREADS,
    }
    return Variant(defines, constants, (columns, rows, 1))


def _vector(plan: Plan) -> int:
    """Elements that one store can write: neighbours in the output, at most 4 of them and 16 bytes."""
    *outer, inner = plan.dimensions
    if inner.output_stride != 1:
        return 1
    vector = gcd(min(4, 16 // plan.element_size), inner.size, *(d.output_stride for d in outer))
    return 1 if plan.element_size == 1 and vector < 4 else vector  # bytes are written by whole words


def _index_vector(plan: Plan, index_size: int, vector: int) -> int:
    """Indices that one load can read for a vector of output elements, at most 16 bytes."""
    *outer, inner = plan.dimensions
    if inner.index_stride != 1:
        return 1
    starts = [d.index_stride for d in outer] + [lookup.index_offset for lookup in plan.lookups]
    return gcd(vector, 16 // index_size, *starts)


def _pack(dimension: Dimension) -> bytes:
    return struct.pack("<8I", dimension.size, *divisor(dimension.size), *dimension.strides, 0)
