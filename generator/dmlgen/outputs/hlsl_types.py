"""The types of HLSL that represent data types, in buffers and in computations."""

from __future__ import annotations

from typing import NamedTuple

from dmlgen.registry import EnumEntry, Registry

_FLOATS = {(16, 11): "float16_t", (32, 24): "float", (64, 53): "double"}
"""The floats of HLSL, by their bits and those of the significand."""


class HlslType(NamedTuple):
    """A data type in shaders: the HLSL type of an element in a buffer, where words pack what is narrower than
    16 bits; its bits, and those of a float's significand, 0 for an integer; the HLSL type in which it is
    computed; and its least and greatest value there. `is_native`: casts convert between the two types."""

    name: str
    stored: str
    bits: int
    significand: int
    value: str
    lowest: str
    highest: str
    is_native: bool


_MOVED = HlslType("UINT128", "uint4", 128, 0, "uint4", "0", "0", True)
"""Two elements of 64 bits, which are only moved."""


def hlsl_types(registry: Registry) -> dict[str, HlslType]:
    """By name: data types, the unsigned ones among them also for raw bits of others, and UINT128."""
    entries = sorted(registry.data_types, key=lambda entry: (entry.kind, entry.bits))
    return {one.name: one for one in [*map(hlsl_type, entries), _MOVED]}


def hlsl_type(entry: EnumEntry) -> HlslType:
    """A float that HLSL lacks is stored as raw bits, and computed in single precision."""
    bits, sign = entry.bits, "" if entry.kind == "signed" else "u"
    raw = "uint" if bits < 16 else _integer(sign, bits)
    if entry.kind == "float":
        native = _FLOATS.get((bits, entry.significand))
        value, limits = "double" if bits == 64 else "float", ("asfloat(0xff800000u)", "asfloat(0x7f800000u)")
        return HlslType(
            entry.name, native or raw, bits, entry.significand, value, *limits, native is not None
        )
    return HlslType(entry.name, raw, bits, 0, _integer(sign, max(bits, 32)), *_limits(sign, bits), True)


def _integer(sign: str, bits: int) -> str:
    return f"{sign}int" if bits == 32 else f"{sign}int{bits}_t"


def _limits(sign: str, bits: int) -> tuple[str, str]:
    """The least and the greatest integer."""
    if sign:
        return "0", "(~(uint64_t)0)" if bits == 64 else f"{2**bits - 1}{'u' if bits == 32 else ''}"
    if bits == 64:
        return "((int64_t)1<<63)", "(~((int64_t)1<<63))"
    high = 2 ** (bits - 1) - 1
    return f"(-{high}-1)", str(high)
