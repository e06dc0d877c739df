"""The optional features of Direct3D 12 that DXIL requires, as its container states them."""

from __future__ import annotations

import struct

OPTIONS = {
    0x0001: "DoublePrecisionFloatShaderOps",
    0x4000: "WaveOps",
    0x8000: "Int64ShaderOps",
    0x40000: "Native16BitShaderOpsSupported",
}
"""Members of D3D12_FEATURE_DATA_D3D12_OPTIONS..., by the bit of the part SFI0 (ShaderFeatureInfo in DXC's
DxilConstants.h)."""

_COUNT, _FIRST = 28, 32  # where a container has the number of its parts, and the place of the first one


def required_options(container: bytes) -> tuple[str, ...]:
    """The options that a device must have to create a pipeline of this shader. Raises ValueError for a
    container that is cut off."""
    flags = 0
    try:
        (count,) = struct.unpack_from("<I", container, _COUNT)
        for at in struct.unpack_from(f"<{count}I", container, _FIRST):
            if container[at : at + 4] == b"SFI0":
                (flags,) = struct.unpack_from("<Q", container, at + 8)
    except struct.error:
        raise ValueError("The container is cut off.") from None
    return tuple(name for bit, name in OPTIONS.items() if flags & bit)
