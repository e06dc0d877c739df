"""Errors that callers can handle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .description import Description
    from .violation import Violation


class InvalidDescription(ValueError):
    """A description breaks rules: `violations` has at least one."""

    def __init__(self, desc: Description, violations: Sequence[Violation]) -> None:
        self.desc = desc
        self.violations = tuple(violations)
        super().__init__(f"invalid {desc.OPERATOR}: " + "; ".join(str(violation) for violation in violations))


class JsonError(ValueError):
    """A JSON value is not a description: `path` is the place in it, `reason` says what was found and
    expected.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}" if path else reason)
