"""The parts of a documentation page in any form: blocks of text, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["Markdown", "Markdown with front matter", "machine translation", "plain text"]


@dataclass(frozen=True)
class Heading:
    """A heading; `level` counts from 1, the title."""

    line: int
    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text without markup.

    The lines of the file are joined by LF; `depth` is the indentation of a list item, None for a paragraph.
    `source` is the same with its markup.
    """

    line: int
    text: str
    source: str
    depth: int | None = None

    def line_at(self, offset: int) -> int:
        """The line of the file with the character at `offset`."""
        return self.line + self.text.count("\n", 0, offset)


@dataclass(frozen=True)
class Code:
    """A listing, from its first line, without markup."""

    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table; cells are without markup."""

    line: int
    header: tuple[str, ...]
    rows: tuple[Row, ...]


Block: TypeAlias = Heading | Paragraph | Code | Table


@dataclass(frozen=True)
class Fault:
    """A part of a page that cannot be read."""

    line: int
    message: str


@dataclass(frozen=True)
class Translation:
    """A translated text, with the English original that a machine-translated page includes."""

    line: int
    text: str
    english: str


@dataclass(frozen=True)
class Section:
    """The content below a heading up to the next one; `path` has the headings above it and its own."""

    path: tuple[Heading, ...]
    blocks: tuple[Block, ...]

    @property
    def title(self) -> str:
        return self.path[-1].text if self.path else ""


@dataclass(frozen=True)
class Page:
    """A page. `front` has the plain entries of its front matter, each with its line."""

    path: str
    form: Form
    front: Mapping[str, tuple[str, int]]
    blocks: tuple[Block, ...]
    translations: tuple[Translation, ...] = ()
    faults: tuple[Fault, ...] = ()

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The text above the first heading, then each heading's section."""
        path: tuple[Heading, ...] = ()
        blocks: list[Block] = []
        found: list[Section] = []
        for block in self.blocks:
            if isinstance(block, Heading):
                found.append(Section(path, tuple(blocks)))
                path = (*(one for one in path if one.level < block.level), block)
                blocks = []
            else:
                blocks.append(block)
        return (*found, Section(path, tuple(blocks)))

    @property
    def paragraphs(self) -> Iterator[Paragraph]:
        return (block for block in self.blocks if isinstance(block, Paragraph))

    @property
    def tables(self) -> Iterator[Table]:
        return (block for block in self.blocks if isinstance(block, Table))
