"""Computation element by element on a GPU: variants of the shader, and what each is told.

`aligned` shaders go through all tensors in step: dimensions are merged as far as every tensor allows, and
vectors of neighbours are computed at once where the layouts have them. Others find each element from its
coordinate.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np

from ..elements import stored
from ..kernels.map import Map, Uniforms
from ..tensor import TensorDesc
from .errors import Unsupported
from .types import MAX_RANK, check_span, divisor, limit_defines, tensor_defines
from .work import Dispatch, Work, grid

NUM_THREADS = 256
BYTES_IN_FLIGHT = 32  # that one thread writes; measured, see bench/gpu.py
MAX_UNROLL = 4
PATCH = 16, 8  # blocks of neighbouring threads along both dimensions of a block; measured, too

Loop = tuple[int, tuple[int, ...]]  # a size, and the stride of every tensor


@dataclass(frozen=True)
class Bound:
    """A tensor of a dispatch: its buffer, the macro its names begin with, its description."""

    buffer: str
    macro: str
    tensor: TensorDesc


def work(computation: Map) -> Work:
    """A dispatch; one for each tensor where there is an array of them."""
    if computation.kernel == "gather":
        from .gather import gather_work

        return gather_work(computation)
    desc = computation.desc
    over = getattr(desc, computation.over)
    numbers: Sequence[int | None] = range(len(over)) if isinstance(over, tuple) else [None]
    return Work(tuple(_dispatch(computation, number) for number in numbers))


def _dispatch(computation: Map, number: int | None) -> Dispatch:
    desc, shader = computation.desc, computation.shader
    uniforms = computation.uniforms(desc, *(() if number is None else (number,)))

    def bound(name: str, macro: str) -> Bound | None:
        """A tensor, one of an array by its place there or as the one under way; None where it is absent."""
        member, _, place = name.partition("[")
        tensor = getattr(desc, member)
        if isinstance(tensor, tuple):
            which = int(place.rstrip("]")) if place else number or 0
            name, tensor = f"{member}[{which}]", tensor[which] if which < len(tensor) else None
        return None if tensor is None else Bound(name, macro, tensor)

    output = bound(computation.output, shader.output)
    assert output is not None
    # Nothing reads a tensor that is absent; a resource stands in for it.
    inputs = [
        bound(name, macro) or Bound(output.buffer, macro, output.tensor)
        for name, macro in shader.inputs.items()
    ]
    for one in (*inputs, output):
        check_span(one.buffer, one.tensor)
    defines: dict[str, int | str] = {name: int(value) for name, value in uniforms.switches.items()}
    for one in (*inputs, output):
        as_bits = one.buffer.partition("[")[0] in (*computation.moves, *computation.bits)
        defines |= tensor_defines(one.macro, one.tensor.DataType, as_bits)
    for member, macro in shader.limited.items():
        limits = bound(member, macro)
        defines |= {} if limits is None else limit_defines(macro, limits.tensor.DataType)
    buffers = tuple(one.buffer for one in (*inputs, output))
    if shader.aligned:
        return _aligned(computation, inputs, output, uniforms, defines, buffers)
    return _coordinates(computation, inputs, output, uniforms, defines, buffers, number)


def _coordinates(
    computation: Map,
    inputs: list[Bound],
    output: Bound,
    uniforms: Uniforms,
    defines: dict[str, int | str],
    buffers: tuple[str, ...],
    number: int | None,
) -> Dispatch:
    over = getattr(computation.desc, computation.over)
    sizes = (over[number or 0] if isinstance(over, tuple) else over).Sizes
    strides = [one.tensor.element_strides for one in (*inputs, output)]
    if any(len(each) != len(sizes) for each in strides):
        raise Unsupported(f"{computation.desc.OPERATOR} has tensors of different dimension counts")
    groups = grid(prod(sizes), NUM_THREADS)
    constants = _constants(computation, prod(sizes), groups[0], uniforms, ())
    for d, size in enumerate(sizes):
        record = struct.pack(f"<{4 + len(strides)}I", size, *divisor(size), *(each[d] for each in strides))
        constants += _padded(record + _packed([array[d] for array in uniforms.arrays.values()]))
    return Dispatch({**defines, "RANK": len(sizes), "NUM_THREADS": NUM_THREADS}, buffers, constants, groups)


def _aligned(
    computation: Map,
    inputs: list[Bound],
    output: Bound,
    uniforms: Uniforms,
    defines: dict[str, int | str],
    buffers: tuple[str, ...],
) -> Dispatch:
    loops = merged(output.tensor.Sizes, [one.tensor.element_strides for one in (*inputs, output)])
    *outer, (inner_size, inner) = loops
    bits = output.tensor.DataType.bits
    vector = vector_width(bits, inner_size, inner[-1], [strides[-1] for _, strides in outer])

    def has_vectors(place: int, loop: Loop) -> bool:
        """Whether vectors of an input are neighbours along a loop."""
        bits = inputs[place].tensor.DataType.bits
        others = [one[1][place] for one in loops if one is not loop]
        fits = bits >= 8 and bits * vector in (32, 64, 128)
        return fits and loop[1][place] == 1 and gcd(vector, *others) == vector

    def is_other(loop: Loop) -> bool:
        """Whether an input is better read along this loop, in blocks."""
        return loop[0] % vector == 0 and any(has_vectors(place, loop) for place in range(len(inputs)))

    # The other dimension of blocks, if they are any use.
    blocked = vector > 1 and len(loops) <= MAX_RANK - 2
    other = next(filter(is_other, outer), None) if blocked else None
    for place, one in enumerate(inputs):
        turned = other is not None and has_vectors(place, other)
        defines[f"{one.macro}_TURNED"] = int(turned)
        defines[f"{one.macro}_VECTOR"] = vector if turned or has_vectors(place, loops[-1]) else 1
    if other is None:
        unroll = max(1, min(MAX_UNROLL, BYTES_IN_FLIGHT * 8 // (max(bits, 8) * vector)))
        apart, vectors = unroll, [*outer, _in_steps(loops[-1], vector)]
    else:
        apart, unroll = 1, vector
        outer.remove(other)
        vectors = [*outer, *_patches(other, loops[-1], vector)]
    count = prod(size for size, _ in vectors)
    groups = grid(-(-count // apart), NUM_THREADS)
    if groups[0] * groups[1] * NUM_THREADS * apart > 2**32:
        raise Unsupported(f"{output.buffer} has more elements than one dispatch can count in 32 bits")
    constants = _constants(computation, count, groups[0], uniforms, inner[:-1])
    for size, strides in vectors:
        constants += _padded(struct.pack(f"<{4 + len(strides)}I", size, *divisor(size), *strides))
    defines |= {"RANK": len(vectors), "VECTOR": vector, "UNROLL": unroll, "NUM_THREADS": NUM_THREADS}
    defines["BLOCKS"] = int(other is not None)
    return Dispatch(defines, buffers, constants, groups)


def _in_steps(loop: Loop, step: int) -> Loop:
    """A loop over every so many elements."""
    size, strides = loop
    return size // step, tuple(step * stride for stride in strides)


def _patches(other: Loop, inner: Loop, vector: int) -> list[Loop]:
    """Loops over square blocks, neighbours along both dimensions one after the other."""
    high, wide = (gcd(most, loop[0] // vector) for most, loop in zip(PATCH, (other, inner), strict=True))
    far = [_in_steps(other, vector * high), _in_steps(inner, vector * wide)]
    near = [(high, _in_steps(other, vector)[1]), (wide, _in_steps(inner, vector)[1])]
    return [*(loop for loop in far if loop[0] > 1), *near]


def merged(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> list[Loop]:
    """Loops over the dimensions, as few as possible: the size of each, and the stride of every tensor.

    The last tensor's greatest stride is outermost; there is at least one loop.
    """
    dimensions = [(size, tuple(each[d] for each in strides)) for d, size in enumerate(sizes)]
    dimensions.sort(key=lambda loop: -loop[1][-1])
    return merged_in_order(dimensions) or [(1, (1,) * len(strides))]


def merged_in_order(dimensions: Iterable[Loop]) -> list[Loop]:
    """The same loops in the same order, as few as possible: none where there is one coordinate alone."""
    loops: list[Loop] = []
    for size, steps in dimensions:
        if size == 1:
            continue
        if loops and loops[-1][1] == tuple(size * step for step in steps):
            loops[-1] = (loops[-1][0] * size, steps)
        else:
            loops.append((size, steps))
    return loops


def vector_width(bits: int, size: int, stride: int, outer: Sequence[int]) -> int:
    """Elements that one store can write: neighbours in the output, at most 4 of them and 16 bytes."""
    if stride != 1 or bits < 8:
        return 1
    vector = gcd(min(4, 128 // bits), size, *outer)
    return 1 if bits == 8 and vector < 4 else vector  # bytes are written by whole words


def _constants(computation: Map, count: int, columns: int, uniforms: Uniforms, steps: Sequence[int]) -> bytes:
    data_type = next(iter(_tensors(computation))).DataType
    constants = struct.pack("<2I", count, columns)
    for value in uniforms.elements.values():
        number = stored(value, data_type) if computation.moves else np.asarray(value)
        constants += number.tobytes().ljust(8, b"\0")
    return _padded(constants + struct.pack(f"<{len(steps)}I", *steps) + _packed(uniforms.scalars.values()))


def _tensors(computation: Map) -> list[TensorDesc]:
    output = getattr(computation.desc, computation.output)
    return list(output) if isinstance(output, tuple) else [output]


def _packed(values: Any) -> bytes:
    """Numbers as words: floats in single precision, integers that must fit 32 bits with a sign."""
    packed = b""
    for value in values:
        if isinstance(value, float | np.floating):
            packed += struct.pack("<f", value)
        elif not -(2**31) <= value < 2**31:
            raise Unsupported(f"{value} is beyond the 31 bits in which shaders count")
        else:
            packed += struct.pack("<i", int(value))
    return packed


def _padded(data: bytes) -> bytes:
    """Up to whole vectors of 16 bytes, as structs in constant buffers are laid out."""
    return data.ljust(-(-len(data) // 16) * 16, b"\0")
