"""What a device can do beyond what all shaders need, in Python and C alike: plans take account of it."""

from __future__ import annotations

from enum import IntFlag


class Capability(IntFlag):
    """Each is a bit; a device of which nothing is known has none of them."""

    MATRIX_UNITS = 1


NO_CAPABILITIES = Capability(0)

TEXTS = {
    Capability.MATRIX_UNITS: "Vulkan's matrices of 16x16x16 halves, sums in single precision, of 32 threads",
}
"""What a device has to have for it."""
