"""The capabilities of a device, in Python and C alike; plans take it into account."""

from __future__ import annotations

from enum import IntFlag


class Capability(IntFlag):
    """Each is a bit. Most make plans faster; a device that LACKS something that nearly all have gets no plan
    that needs it."""

    COOPERATIVE_MATRIX = 1
    COOPERATIVE_MATRIX_INT8 = 2
    DOT_PRODUCTS = 4
    LACKS_16_BIT = 8
    LACKS_64_BIT = 16
    LACKS_DOUBLES = 32
    WAVE_OPERATIONS = 64


NO_CAPABILITIES = Capability(0)

FASTER = (
    Capability.COOPERATIVE_MATRIX
    | Capability.COOPERATIVE_MATRIX_INT8
    | Capability.DOT_PRODUCTS
    | Capability.WAVE_OPERATIONS
)
"""All that make plans faster."""

TEXTS = {
    Capability.COOPERATIVE_MATRIX: "16x16x16 float16, sums in single precision, in waves of 32: Vulkan",
    Capability.COOPERATIVE_MATRIX_INT8: "the same of 16x16x32 signed bytes, sums in 32 bits",
    Capability.DOT_PRODUCTS: "sums of four products of signed bytes at once: shader model 6.4",
    Capability.LACKS_16_BIT: "no Native16BitShaderOpsSupported; in Vulkan no shaderFloat16",
    Capability.LACKS_64_BIT: "no Int64ShaderOps; in Vulkan no shaderInt64",
    Capability.LACKS_DOUBLES: "no DoublePrecisionFloatShaderOps; in Vulkan no shaderFloat64",
    Capability.WAVE_OPERATIONS: "WaveOps, waves of 4 to 128 consecutive threads; in Vulkan subgroup shuffles",
}
"""The feature that a device needs for each, or lacks."""
