"""The Vulkan bindings, loaded on first use, or one sentence on why they are missing.

The functions of the package check the type of every argument, and its structs are built from keywords: where
the driver takes a microsecond for a call, they take ten. So what is called for each operator goes through its
`vk.lib`, the plain C functions, with structs from `vk.ffi`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from .errors import GpuUnavailable


class _Bindings:
    """The names of the package `vulkan`. Raises GpuUnavailable when it or the Vulkan loader is missing."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(_loaded(), name)
        setattr(self, name, value)  # found without this method from now on
        return value


@cache
def _loaded() -> Any:
    try:
        import vulkan
    except ImportError as error:
        raise GpuUnavailable("The Python package for Vulkan is missing: pip install vulkan.") from error
    except OSError as error:
        raise GpuUnavailable(
            "No Vulkan loader found: install it (Debian: apt-get install libvulkan1 mesa-vulkan-drivers)."
        ) from error
    return vulkan


vk: Any = _Bindings()


def device_function(device: Any, name: str) -> Any:
    """A function of an extension as it is in C, for a VkDevice."""
    return vk.ffi.cast(f"PFN_{name}", vk.lib.vkGetDeviceProcAddr(device, name.encode()))


def check(result: int) -> None:
    """Raises the error of the package for a VkResult of `vk.lib` other than VK_SUCCESS."""
    if result:
        raise vk.exception_codes[result]
