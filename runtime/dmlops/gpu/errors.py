"""Errors that keep a valid description from running on a GPU."""

from __future__ import annotations

from .plans.reasons import Reason


class GpuUnavailable(RuntimeError):
    """No usable GPU, driver, Vulkan loader or shader compiler, or a GPU that failed; the message says what to
    do."""


class OutOfMemory(RuntimeError):
    """The device has no room for a graph; the message says how many bytes it takes, and at which node
    most."""


class Unsupported(ValueError):
    """The shaders cannot run the operator, or tensors of this shape or size.

    `reason` is the planner's, or DEVICE if there is a plan; `member` names the member concerned, if any.
    """

    def __init__(self, message: str, reason: Reason = Reason.DEVICE, member: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.member = member
