"""What can keep a valid description from running on a GPU."""


class GpuUnavailable(RuntimeError):
    """No usable GPU, driver, Vulkan loader or shader compiler; the message says what to install."""


class Unsupported(ValueError):
    """The operator, or tensors of this shape or size, cannot run through the shaders."""
