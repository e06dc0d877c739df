"""Buffers as DxDispatch models declare them and as results contain them."""

from __future__ import annotations

from ..enums import TensorDataType

BLOCK = 16  # buffer sizes are multiples of this: the bytes of the largest structure that a shader reads


def buffer_length(size: int) -> int:
    """The size in bytes of the buffer for a tensor or scratch memory of so many bytes."""
    return -(-max(size, 1) // BLOCK) * BLOCK


def buffer_type(data_type: TensorDataType) -> TensorDataType:
    """The type in which a buffer is written: the tensor's own, or bytes for 4-bit elements."""
    return data_type if data_type.bits >= 8 else TensorDataType.UINT8
