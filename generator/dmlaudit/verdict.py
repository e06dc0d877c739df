"""The verdict on a page's statement: it agrees with the specs, an erratum overrules it, or it is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dmlgen.diagnostics import Position
from dmlgen.registry import Erratum

Class: TypeAlias = Literal["agreement", "erratum", "difference"]


@dataclass(frozen=True)
class Verdict:
    """A statement on `line` of a page, in the words by which errata refer to it.

    `holds` is what the specs say instead, "" if they agree; `position` is where they do.
    """

    line: int
    says: str
    holds: str
    position: Position
    erratum: Erratum | None = None

    @property
    def kind(self) -> Class:
        if not self.holds:
            return "agreement"
        return "difference" if self.erratum is None else "erratum"
