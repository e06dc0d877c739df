"""The Vulkan bindings, loaded when first needed, or one sentence saying why there are none."""

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
