"""Color, on terminals that support it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Style:
    """The display of emphasis: in color, or not at all."""

    color: bool = False

    def good(self, text: str) -> str:
        return self._in("32", text)

    def bad(self, text: str) -> str:
        return self._in("31", text)

    def strong(self, text: str) -> str:
        return self._in("1", text)

    def faint(self, text: str) -> str:
        return self._in("2", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


PLAIN = Style()
BAR = 30  # characters


def progress_for(stream: TextIO, what: str) -> Callable[[int, int], None] | None:
    """A function that draws a bar of the work done, and removes it at the end; None if the stream is no
    terminal."""
    if not stream.isatty():
        return None

    def draw(done: int, count: int) -> None:
        full = BAR * done // count
        text = f"{what} [{'#' * full}{'.' * (BAR - full)}] {done}/{count}"
        stream.write(f"\r{text}" if done < count else f"\r{' ' * len(text)}\r")
        stream.flush()

    return draw


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def style_for(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Style:
    """Color if the stream is a terminal other than "dumb" and NO_COLOR is not set."""
    wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Style(wanted and stream.isatty())
