"""Violations of rules by descriptions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a description breaks.

    `rule` is its stable identifier, such as DML-GATHER-axis-range; `member` the path of the member to fix,
    such as OutputTensor.Sizes; `message` gives the value found and says what would be right.
    """

    rule: str
    member: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"
