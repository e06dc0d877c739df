"""Collects the operations of the WebNN specification into a table: tests/data/facts/webnn.tsv.

    python scripts/collect_webnn.py index.bs > tests/data/facts/webnn.tsv

A line `argument` has a method of MLGraphBuilder, an argument or option, its type in IDL, and its default
("required" for a positional argument, nothing for an option without a default). A line `limits` has a method,
an operand or output, the data types that the specification allows and those that it requires, and likewise
the ranks: data types separated by commas, ranks as a range; `any`, or the operand that has the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_DICTIONARY = re.compile(r"^dictionary (\w+)(?: : (\w+))? \{\n(.*?)\n\};", re.M | re.S)
_METHODS = re.compile(r"^partial interface MLGraphBuilder \{\n(.*?)\n\};", re.M | re.S)
_METHOD = re.compile(r"(?:MLOperand|sequence<MLOperand>) (\w+)\((.*?)\);", re.S)
_ARGUMENT = re.compile(
    r"(optional )?(?:\[EnforceRange\] )?(\w+(?:\s?\w+)*|[\w<>[\] ]+|\([^()]*\)) (\w+)(?: = (.*))?$"
)
_TABLE = re.compile(r'<table id=tensor-limits.*? link-for="(.*?)">(.*?)</table>', re.S)
_ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
_CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.S)
_TYPE = re.compile(r'MLOperandDataType/"(\w+)"')
_SAME = re.compile(r"same as=\]\s*(?:\{\{(?:\w+/)?(\w+)\}\}|\*(\w+)\*)")
_RANKS = re.compile(r"^(\d+)(?: to (\d+|\[=/any rank\|N=\]))?$")


def arguments(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Methods with their arguments and options."""
    options = {found[1]: found[3] for found in _DICTIONARY.finditer(text)}
    for block in _METHODS.findall(text):
        for method, listed in _METHOD.findall(block):
            for argument in _split(listed):
                optional, type_, name, _ = _argument(argument)
                if type_ in options:
                    for line in options[type_].splitlines():
                        _, of, option, value = _argument(line.strip().removesuffix(";"))
                        yield method, option, of, value
                elif not optional:
                    yield method, name, type_, "required"


def _split(listed: str) -> list[str]:
    """The arguments of a method; commas within brackets separate nothing."""
    return [" ".join(one.split()) for one in re.split(r",(?![^(<]*[)>])", listed)]


def _argument(text: str) -> tuple[bool, str, str, str]:
    found = _ARGUMENT.match(text)
    if not found:
        raise SystemExit(f"cannot read {text!r}")
    return bool(found[1]), found[2], found[3], (found[4] or "").strip('"')


def limits(text: str) -> Iterator[tuple[str, ...]]:
    """Methods and operands with what the specification allows and requires of them."""
    for methods, table in _TABLE.findall(text):
        for row in _ROW.findall(table):
            cells = [" ".join(cell.split()) for cell in _CELL.findall(row)]
            if cells:
                operand = re.sub(r"\{\{(?:\w+/)*(\w+)\}\}(?:'s .*)?|\*([\w\[\]]+)\*.*", r"\1\2", cells[0])
                for method in re.findall(r"MLGraphBuilder/(\w+)\(", methods):
                    yield (
                        method,
                        operand,
                        _types(cells[1]),
                        _types(cells[2]),
                        _ranks(cells[3]),
                        _ranks(cells[4]),
                    )


def _types(cell: str) -> str:
    return _same(cell) or ("any" if "any data type" in cell else ",".join(_TYPE.findall(cell)))


def _ranks(cell: str) -> str:
    if "any rank" in cell and not _RANKS.match(cell):
        return "any"
    if found := _RANKS.match(cell):
        last = found[2] or found[1]
        return f"{found[1]}..{last if last.isdigit() else ''}"
    return _same(cell) or cell


def _same(cell: str) -> str:
    found = _SAME.search(cell)
    return (found[1] or found[2]) if found else ""


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    for method, name, type_, default in arguments(text):
        if name != "label":  # of every operation, for messages
            print("argument", method, name, type_.replace("[EnforceRange] ", ""), default, sep="\t")
    for row in limits(text):
        print("limits", *row, sep="\t")


if __name__ == "__main__":
    main()
