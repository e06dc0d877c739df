"""Free text in specs (summaries, reasons, messages), which only a language's filter can print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias


@dataclass(frozen=True, order=True)
class Text:
    """A free text of a spec.

    It is not a `str`, so that printing it verbatim has to be explicit: `plain` is the text, and
    outputs.render has the filters that quote it for each language.
    """

    plain: str = ""

    def __bool__(self) -> bool:
        return bool(self.plain)

    def __str__(self) -> NoReturn:
        raise TypeError("a free text of a spec is printed through a filter of the target language only")


NO_TEXT = Text()


def folded(part: str) -> str:
    """Part of a text with every run of white space, especially line ends, replaced by one space."""
    return re.sub(r"\s+", " ", part)


@dataclass(frozen=True)
class Piece:
    """A piece of a message: a text, then the value with a name, if any."""

    text: Text
    name: str | None = None


Message: TypeAlias = tuple[Piece, ...]
