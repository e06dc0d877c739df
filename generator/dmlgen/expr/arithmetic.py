"""The arithmetic of rules and definitions: every operation is defined for all operands.

Integers saturate at plus and minus 2**63 - 1, as they do in the C validator. The package gets a copy of this
module.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, TypeVar

Number = TypeVar("Number", int, float)

LIMIT = (1 << 63) - 1
_FLOAT = struct.Struct("f")


def saturate(value: int) -> int:
    """The integer, clamped to the range of the rules."""
    return value if -LIMIT <= value <= LIMIT else LIMIT if value > 0 else -LIMIT


def as_float(value: float) -> float:
    """The nearest FLOAT, which is what C stores; infinite beyond its range."""
    try:
        nearest: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return nearest


def entry(array: Sequence[Number], index: int) -> Number:
    """An entry of an array; 0 if the index is out of range."""
    return array[index] if 0 <= index < len(array) else 0


def align(array: tuple[Any, ...], length: int, fill: Any) -> tuple[Any, ...]:
    """The last `length` entries of an array, with `fill` for missing leading ones."""
    missing = length - len(array)
    return (fill,) * missing + array if missing > 0 else array[-missing:]


def replaced(array: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    """The array with one entry replaced; unchanged if the index is out of range."""
    return (*array[:index], value, *array[index + 1 :]) if 0 <= index < len(array) else array


def quotient(dividend: int, divisor: int) -> int:
    """Division rounded down; 0 if the divisor is 0."""
    return dividend // divisor if divisor else 0


def remainder(dividend: int, divisor: int) -> int:
    """The remainder of `quotient`; 0 if the divisor is 0."""
    return dividend % divisor if divisor else 0


def power_of_two(value: int) -> bool:
    """Whether the integer is a power of two."""
    return value > 0 and value & (value - 1) == 0
