"""Integer arithmetic of the rules: every operation has a value for every operand.

Integers saturate at plus and minus 2**63 - 1, as they do in the C validator.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TypeVar

from .quoting import shown

Number = TypeVar("Number", int, float)

LIMIT = (1 << 63) - 1
_FLOAT = struct.Struct("f")


def saturate(value: int) -> int:
    """The nearest integer that the rules can count to."""
    return value if -LIMIT <= value <= LIMIT else LIMIT if value > 0 else -LIMIT


def as_float(value: float) -> float:
    """The nearest FLOAT, which is what C holds; infinite beyond its range."""
    try:
        nearest: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return nearest


def entry(array: Sequence[Number], index: int) -> Number:
    """An entry of an array; 0 where it has none."""
    return array[index] if 0 <= index < len(array) else 0


def replaced(array: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    """The array with another entry at an index; as it is where it has none."""
    return (*array[:index], value, *array[index + 1 :]) if 0 <= index < len(array) else array


def quotient(dividend: int, divisor: int) -> int:
    """Division rounded down; 0 by zero."""
    return dividend // divisor if divisor else 0


def remainder(dividend: int, divisor: int) -> int:
    """What `quotient` leaves; 0 by zero."""
    return dividend % divisor if divisor else 0


def power_of_two(value: int) -> bool:
    """Whether the integer is a power of two."""
    return value > 0 and value & (value - 1) == 0


def decimal(value: int) -> str:
    """An integer as messages show it, where it is beyond all types of C no longer in full."""
    return str(int(value)) if -LIMIT <= value >> 1 <= LIMIT else shown(int(value))
