"""What a device can do, in Python and C alike; plans take it into account."""

from __future__ import annotations

from enum import IntFlag


class Capability(IntFlag):
    """Each is a bit. The first ones make plans faster; a device that LACKS something that nearly all have
    gets no plan that needs it."""

    MATRIX_UNITS = 1
    BYTE_UNITS = 2
    DOT_PRODUCTS = 4
    LACKS_16_BIT = 8
    LACKS_64_BIT = 16
    LACKS_DOUBLES = 32


NO_CAPABILITIES = Capability(0)

FASTER = Capability.MATRIX_UNITS | Capability.BYTE_UNITS | Capability.DOT_PRODUCTS
"""All that make plans faster."""

TEXTS = {
    Capability.MATRIX_UNITS: "Vulkan's matrices of 16x16x16 halves, sums in single precision, of 32 threads",
    Capability.BYTE_UNITS: "the same of 16x16x32 signed bytes, sums in 32 bits",
    Capability.DOT_PRODUCTS: "sums of four products of signed bytes at once: shader model 6.4",
    Capability.LACKS_16_BIT: "no Native16BitShaderOpsSupported; in Vulkan no shaderFloat16",
    Capability.LACKS_64_BIT: "no Int64ShaderOps; in Vulkan no shaderInt64",
    Capability.LACKS_DOUBLES: "no DoublePrecisionFloatShaderOps; in Vulkan no shaderFloat64",
}
"""What a device needs for it, or is without."""
