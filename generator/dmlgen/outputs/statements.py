"""Statements of HLSL, and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, Printer, Spelling


class NumberPrinter(Printer):
    """Prints header constants as numbers, so that the text works with any header."""

    spelling = Spelling(logic={"and": " && ", "or": " || "}, negation=("!{}", ATOM), truth=("false", "true"))

    def enum_value(self, node: ir.EnumValue) -> str:
        return f"{node.value} /* {node.name} */"

    def constant(self, node: ir.Constant) -> str:
        return f"{node.value} /* {node.name} */"


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def braced(lines: list[str]) -> list[str]:
    return ["{", *indented(lines), "}"]


def enclosed(lines: list[str]) -> list[str]:
    """The body of a loop or a branch: in braces unless it is a single line."""
    return indented(lines) if len(lines) == 1 else braced(lines)
