"""What a device can do beyond what all shaders need, in Python and C alike; plans take it into account."""

from __future__ import annotations

from enum import IntFlag


class Capability(IntFlag):
    """Each is a bit; an unknown device has none."""

    MATRIX_UNITS = 1
    BYTE_UNITS = 2
    DOT_PRODUCTS = 4


NO_CAPABILITIES = Capability(0)

TEXTS = {
    Capability.MATRIX_UNITS: "Vulkan's matrices of 16x16x16 halves, sums in single precision, of 32 threads",
    Capability.BYTE_UNITS: "the same of 16x16x32 signed bytes, sums in 32 bits",
    Capability.DOT_PRODUCTS: "sums of four products of signed bytes at once: shader model 6.4",
}
"""What a device needs for it."""
