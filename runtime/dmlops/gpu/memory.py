"""Conversion between logical arrays and the bytes of tensors with any strides."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..tensor import TensorDesc

GAP = 0xA5
"""Fills the bytes of a buffer that belong to no element."""


def tensor_bytes(name: str, tensor: TensorDesc, array: np.ndarray) -> memoryview:
    """The buffer of an input tensor. Raises ValueError if elements that share memory differ."""
    buffer = np.full(buffer_size(tensor), GAP, np.uint8)
    unpacked = _unpacked(buffer, tensor)
    elements = _elements(unpacked, tensor)
    elements[...] = array
    if not _are_nested(tensor) and elements.tobytes() != array.tobytes():
        shared = [d for d, step in enumerate(tensor.element_strides) if tensor.Sizes[d] > 1 > step]
        raise ValueError(
            f"{name} has stride 0 in dimension {shared[0]}, so its values must not vary along it"
            if shared
            else f"{name} has elements that share memory, so they must have the same values"
        )
    if unpacked is not buffer:
        low, high = unpacked[::2] & 15, unpacked[1::2] & 15
        buffer[...] = low | high << 4
    return buffer.data


def array_of(tensor: TensorDesc, buffer: bytearray | memoryview) -> np.ndarray:
    """A copy of the logical array in the buffer of an output tensor."""
    return np.array(_elements(_unpacked(np.frombuffer(buffer, np.uint8), tensor), tensor))


def buffer_size(tensor: TensorDesc) -> int:
    """The bytes to allocate: whole words of 8, since shaders read bytes by the word."""
    return int(-(-tensor.size_in_bytes // 8) * 8)


def overlaps(tensor: TensorDesc) -> bool:
    """Whether elements share memory."""
    if _are_nested(tensor):
        return False
    steps = tensor.element_strides
    used = np.zeros(1 + sum((size - 1) * step for size, step in zip(tensor.Sizes, steps, strict=True)), bool)
    as_strided(used, tensor.Sizes, steps)[...] = True
    return bool(np.count_nonzero(used) < prod(tensor.Sizes))


def _are_nested(tensor: TensorDesc) -> bool:
    """Whether each stride leads beyond all elements along the dimensions of smaller strides, so that no
    elements share memory."""
    end = 1
    for stride, size in sorted(zip(tensor.element_strides, tensor.Sizes, strict=True)):
        if size > 1:
            if stride < end:
                return False
            end += (size - 1) * stride
    return True


def _unpacked(buffer: np.ndarray, tensor: TensorDesc) -> np.ndarray:
    """The buffer with a byte for each element of 4 bits, the lower half first; of other types itself."""
    if tensor.DataType.bits != 4:
        return buffer
    nibbles = np.stack([buffer & 15, buffer >> 4], axis=-1).reshape(-1)
    return (nibbles ^ 8) - 8 & 0xFF if tensor.DataType.kind == "signed" else nibbles


def _elements(buffer: np.ndarray, tensor: TensorDesc) -> np.ndarray:
    data_type = tensor.DataType.numpy
    strides = [stride * data_type.itemsize for stride in tensor.element_strides]
    return as_strided(buffer.view(data_type), tensor.Sizes, strides)
