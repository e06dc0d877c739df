"""Buffers as models of DxDispatch have them and results give them back."""

from __future__ import annotations

from ..enums import TensorDataType

BLOCK = 16  # bytes, of which each buffer is a whole number: the largest structure that a shader reads


def buffer_length(size: int) -> int:
    """The bytes of the buffer for a tensor, or for scratch, of so many."""
    return -(-max(size, 1) // BLOCK) * BLOCK


def buffer_type(data_type: TensorDataType) -> TensorDataType:
    """The type that a buffer is written in: the tensor's own, bytes for elements of 4 bits."""
    return data_type if data_type.bits >= 8 else TensorDataType.UINT8
