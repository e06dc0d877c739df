"""What the shaders that work along one axis share: loops over lines, and constants for them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from ..enums import TensorDataType
from .errors import Unsupported
from .map import merged
from .types import divisor, tensor_defines
from .work import grid

Loop = tuple[int, tuple[int, ...]]
"""The size of a dimension, and the stride of each tensor in it."""


def across(sizes: Sequence[int], axis: int, strides: Sequence[Sequence[int]]) -> list[Loop]:
    """Loops over all dimensions but the axis, merged; the last tensor's greatest stride is outermost."""

    def others(entries: Sequence[int]) -> list[int]:
        return [entry for dimension, entry in enumerate(entries) if dimension != axis]

    return merged(others(sizes), [others(each) for each in strides])


def packed(loops: Iterable[Loop]) -> bytes:
    """The shader's `dimensions`. Negative strides become what adds up to the same in 32 bits."""
    constants = b""
    for size, strides in loops:
        record = (size, *divisor(size), *(stride % 2**32 for stride in strides))
        padding = (0,) * (-len(record) % 4)
        constants += struct.pack(f"<{len(record) + len(padding)}I", *record, *padding)
    return constants


def group_grid(groups: int) -> tuple[int, int]:
    """Thread groups along x and y, at least that many."""
    return grid(groups, 1)


def scratch_defines(macro: str, data_type: TensorDataType) -> dict[str, int | str]:
    """The macros of a scratch buffer with elements as they are computed."""
    if data_type == TensorDataType.FLOAT16:
        return tensor_defines(macro, TensorDataType.FLOAT32)
    if data_type.bits < 32:
        raise Unsupported(f"there is no scratch buffer of {data_type.name}")
    return tensor_defines(macro, data_type)
