"""The Vulkan bindings, or one sentence saying why there are none."""

from .errors import GpuUnavailable

try:
    import vulkan as vk
except ImportError as error:
    raise GpuUnavailable("The Python package for Vulkan is missing: pip install vulkan.") from error
except OSError as error:
    raise GpuUnavailable(
        "No Vulkan loader found: install it (Debian: apt-get install libvulkan1 mesa-vulkan-drivers)."
    ) from error

__all__ = ["vk"]
