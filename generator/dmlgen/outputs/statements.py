"""Statements, as the C and HLSL printers share them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, Printer, Spelling


class NumberPrinter(Printer):
    """Prints header constants as numbers, so that the text works with any header."""

    spelling = Spelling(logic={"and": " && ", "or": " || "}, negation=("!{}", ATOM), truth=("false", "true"))

    def enum_value(self, node: ir.EnumValue) -> str:
        return f"{node.value} /* {node.name} */"

    def constant(self, node: ir.Constant) -> str:
        return f"{node.value} /* {node.name} */"


class StatementPrinter(NumberPrinter):
    """Prints expressions, preceded by statements if the language has no expression for something.

    `statements` collects what must come before the text printed last.
    """

    def __init__(self) -> None:
        self.statements: list[str] = []
        self._defined: set[str] = set()
        self._counts: dict[str, int] = {}

    def value(self, node: ir.Expr, outer: int = 0) -> tuple[list[str], str]:
        """Statements, and the text of the value after them."""
        with self.block() as lines:
            return lines, self.print(node, outer)

    @contextmanager
    def block(self) -> Iterator[list[str]]:
        """Collects the statements printed inside; definitions made there are only known there."""
        outer, defined = self.statements, set(self._defined)
        self.statements = []
        try:
            yield self.statements
        finally:
            self.statements, self._defined = outer, defined

    def _add(self, *lines: str) -> None:
        self.statements += lines

    def _new(self, word: str) -> str:
        """A name that no other variable has."""
        self._counts[word] = self._counts.get(word, 0) + 1
        return f"{word}{self._counts[word]}"


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def braced(lines: list[str]) -> list[str]:
    return ["{", *indented(lines), "}"]


def enclosed(lines: list[str]) -> list[str]:
    """The body of a loop or a branch: in braces unless it is a single line."""
    return indented(lines) if len(lines) == 1 else braced(lines)
