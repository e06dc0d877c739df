"""Data types as shaders take them: macros that say how a tensor's elements are stored and computed."""

from __future__ import annotations

from .capabilities import Capability
from .operands import NO_MEMBER, Tensor
from .planning import Planning
from .reasons import Reason


def stored_type(bits: int, is_float: bool, is_signed: bool) -> str:
    """The type of an element in a buffer; a whole word if that packs several."""
    if is_float:
        return "double" if bits == 64 else "float" if bits == 32 else "float16_t"
    if bits < 16:
        return "uint"
    if is_signed:
        return "int64_t" if bits == 64 else "int" if bits == 32 else "int16_t"
    return "uint4" if bits == 128 else "uint64_t" if bits == 64 else "uint" if bits == 32 else "uint16_t"


def value_type(bits: int, is_float: bool, is_signed: bool) -> str:
    """The type in which an element is computed."""
    if is_float:
        return "double" if bits == 64 else "float"
    if is_signed:
        return "int64_t" if bits == 64 else "int"
    return "uint4" if bits == 128 else "uint64_t" if bits == 64 else "uint"


def check_type(out: Planning, bits: int, is_float: bool) -> None:
    """Rejects a type that shaders use as such, if the device lacks it. It has 64-bit integers, or no plan."""
    if bits == 16 and out.has(Capability.LACKS_16_BIT):
        out.refuse(Reason.LACKS_16_BIT, NO_MEMBER, bits)
    if bits == 64 and is_float and out.has(Capability.LACKS_DOUBLES):
        out.refuse(Reason.LACKS_DOUBLES, NO_MEMBER, bits)


def define_type(out: Planning, macro: str, bits: int, is_float: bool, is_signed: bool) -> None:
    """The macros of a type."""
    check_type(out, bits, is_float)
    out.define_text(f"{macro}_STORED", stored_type(bits, is_float, is_signed))
    out.define(f"{macro}_BITS", bits)
    out.define_text(f"{macro}_VALUE", value_type(bits, is_float, is_signed))


def define_tensor(out: Planning, tensor: Tensor) -> None:
    """The macros of a tensor's type; elements taken as bits are unsigned integers."""
    if tensor.as_bits:
        define_type(out, tensor.macro, tensor.bits, False, False)
    else:
        define_type(out, tensor.macro, tensor.bits, tensor.is_float, tensor.is_signed)


def define_moved(out: Planning, tensor: Tensor) -> None:
    """The macros of the type of a tensor whose elements are only moved, up to 128 bits each."""
    define_type(out, tensor.macro, tensor.bits, False, False)


def define_scratch(out: Planning, macro: str, tensor: Tensor) -> None:
    """The macros of a scratch buffer that holds the tensor's elements as computed, in 32 or 64 bits."""
    define_type(out, macro, max(tensor.bits, 32), tensor.is_float, tensor.is_signed)
