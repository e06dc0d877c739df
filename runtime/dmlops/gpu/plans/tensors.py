"""Tensors of dispatches: resources, macros of types, and what shaders cannot address."""

from __future__ import annotations

from .capabilities import Capability
from .loops import COUNT_LIMIT, MAX_COUNT
from .operands import NO_MEMBER, Tensor, Tensors
from .planning import Planning
from .reasons import Reason


def bind(out: Planning, tensor: Tensor) -> None:
    """Binds a tensor to the next resource of the next dispatch."""
    if tensor.is_output:
        out.write(tensor.buffer)
    else:
        out.read(tensor.buffer)


def check_offsets(out: Planning, tensor: Tensor) -> None:
    """Rejects a tensor that spans more elements, gaps included, than 32 bits count."""
    span = 1
    for size, stride in zip(tensor.sizes, tensor.strides, strict=True):
        span += (size - 1) * stride
    if span >= COUNT_LIMIT:
        out.refuse(Reason.TOO_LARGE, tensor.buffer.member, span)


def check_span(out: Planning, tensor: Tensor) -> None:
    """Rejects a tensor that spans more elements, gaps included, or has more coordinates along a dimension,
    than shaders count."""
    check_offsets(out, tensor)
    for size in tensor.sizes:
        if size >= MAX_COUNT:
            out.refuse(Reason.TOO_LARGE, tensor.buffer.member, size)


def check_type(out: Planning, bits: int, is_float: bool) -> None:
    """Rejects a type that shaders use as such, if the device lacks it. It has 64-bit integers, or no plan."""
    if bits == 16 and out.has(Capability.LACKS_16_BIT):
        out.refuse(Reason.LACKS_16_BIT, NO_MEMBER, bits)
    if bits == 64 and is_float and out.has(Capability.LACKS_DOUBLES):
        out.refuse(Reason.LACKS_DOUBLES, NO_MEMBER, bits)


def define_tensor(out: Planning, tensor: Tensor) -> None:
    """The macro of a tensor's type; elements taken as bits are unsigned integers of up to 128 bits."""
    check_type(out, tensor.bits, tensor.is_float and not tensor.as_bits)
    type_name = unsigned_name(tensor.bits) if tensor.as_bits else tensor.type_name
    out.define_text(f"{tensor.macro}_TYPE", type_name)


def take_tensors(out: Planning, tensors: Tensors) -> None:
    """Binds tensors, inputs first, and defines their types. Rejects those that shaders cannot address."""
    for tensor in tensors:
        check_span(out, tensor)
        define_tensor(out, tensor)
        bind(out, tensor)


def unsigned_name(bits: int) -> str:
    """The name of an unsigned type."""
    if bits < 16:
        return "UINT4" if bits == 4 else "UINT8"
    if bits > 32:
        return "UINT128" if bits == 128 else "UINT64"
    return "UINT32" if bits == 32 else "UINT16"


def are_native(tensors: Tensors) -> bool:
    """Whether casts convert the elements of all tensors, as fast passes do."""
    return all(tensor.is_native for tensor in tensors)


def is_double(tensors: Tensors) -> bool:
    """Whether an output has double precision, in which floats are then computed."""
    return any(
        tensor.is_output and tensor.is_float and tensor.bits == 64 and not tensor.as_bits
        for tensor in tensors
    )
