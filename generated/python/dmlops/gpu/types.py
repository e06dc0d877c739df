"""Data types as shaders take them: macros that say how a tensor's elements are stored and computed."""

from __future__ import annotations

from ..enums import TensorDataType
from ..tensor import TensorDesc
from .errors import Unsupported

ELEMENT_LIMIT = 2**32
"""Shaders count elements in 32 bits: every tensor spans fewer elements than this."""

MAX_RANK = 8
"""Dimensions that a shader can loop over."""


def tensor_defines(macro: str, data_type: TensorDataType, moves: bool = False) -> dict[str, int | str]:
    """The macros of one tensor; `moves` where its elements are only copied, whatever their type."""
    bits, kind = data_type.bits, data_type.numpy.kind
    if moves:
        stored = {64: "uint64_t", 16: "uint16_t"}.get(bits, "uint")
        value = "uint64_t" if bits == 64 else "uint"
    elif kind == "f":
        stored = {64: "double", 32: "float", 16: "float16_t"}[bits]
        value = "double" if bits == 64 else "float"
    else:
        sign = "u" if kind == "u" else ""
        stored = "uint" if bits < 16 else f"{sign}int" if bits == 32 else f"{sign}int{bits}_t"
        value = f"{sign}int64_t" if bits == 64 else f"{sign}int"
    return {f"{macro}_STORED": stored, f"{macro}_BITS": bits, f"{macro}_VALUE": value}


def limit_defines(macro: str, data_type: TensorDataType) -> dict[str, int | str]:
    """The least and greatest value of an integer type of few bits; none of other types."""
    if data_type.numpy.kind == "f" or data_type.bits > 16:
        return {}
    signed = data_type.numpy.kind == "i"
    low = -(1 << data_type.bits - 1) if signed else 0
    return {f"{macro}_LOWEST": low, f"{macro}_HIGHEST": low + (1 << data_type.bits) - 1}


def check_span(name: str, tensor: TensorDesc) -> None:
    """Raises Unsupported for a tensor with more elements, gaps included, than shaders count to."""
    strides = tensor.element_strides
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.Sizes, strides, strict=True))
    if span >= ELEMENT_LIMIT or max(tensor.Sizes) >= ELEMENT_LIMIT // 2:
        raise Unsupported(f"{name} spans {span} elements; shaders address fewer than 2**32")


def divisor(size: int) -> tuple[int, int, int]:
    """`multiplier, halving, shift` for a shader's division by `size`, 1 or more.

    With q = multiplier * n >> 32, n // size is (q + (n - q >> halving)) >> shift for every n below 2**32:
    figure 4.1 of Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994).
    """
    bits = (size - 1).bit_length()
    multiplier = 2**32 * (2**bits - size) // size + 1
    return multiplier, min(bits, 1), max(bits - 1, 0)
