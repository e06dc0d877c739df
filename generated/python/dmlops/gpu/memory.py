"""Between logical arrays and the bytes of tensors with any strides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

GAP = 0xA5
"""What fills the bytes of a buffer that belong to no element."""


def tensor_bytes(name: str, tensor: Any, arrays: Mapping[str, np.ndarray]) -> memoryview:
    """The buffer of an input tensor. Raises ValueError when its array is missing or does not fit `tensor`."""
    if name not in arrays:
        raise ValueError(f"{name} is missing from the inputs")
    array, sizes, data_type = arrays[name], tuple(tensor.Sizes), tensor.DataType.numpy
    if not isinstance(array, np.ndarray) or array.shape != sizes or array.dtype != data_type:
        found = (
            f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        )
        raise ValueError(f"{name} must be a NumPy array of {data_type}, shape {sizes}; it is {found}")
    buffer = np.full(buffer_size(tensor), GAP, np.uint8)
    elements = _elements(buffer, tensor)
    elements[...] = array
    shared = [
        d
        for d, (size, stride) in enumerate(zip(sizes, tensor.element_strides, strict=True))
        if size > 1 > stride
    ]
    if shared and elements.tobytes() != array.tobytes():
        raise ValueError(
            f"{name} has stride 0 in dimension {shared[0]}, so its values must not vary along it"
        )
    return buffer.data


def array_of(tensor: Any, buffer: bytearray) -> np.ndarray:
    """The logical array in the buffer of an output tensor."""
    return np.array(_elements(np.frombuffer(buffer, np.uint8), tensor))


def buffer_size(tensor: Any) -> int:
    """The bytes to allocate: whole words of 8, since shaders read bytes by the word."""
    return int(-(-tensor.size_in_bytes // 8) * 8)


def _elements(buffer: np.ndarray, tensor: Any) -> np.ndarray:
    data_type = tensor.DataType.numpy
    strides = [stride * data_type.itemsize for stride in tensor.element_strides]
    return as_strided(buffer.view(data_type), tensor.Sizes, strides)
