"""The text of LLVM's language, as DXC disassembles DXIL: lists, typed operands, constants, metadata."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from itertools import pairwise

NAME = r'[%@](?:"[^"]*"|[\w.$-]+)'  # a value, a label, a type; a function or a global
# Flags that allow more than an instruction needs; what a translation may make of floats, "fast" says.
FLAGS = re.compile(
    r"\b(nnan|ninf|nsz|arcp|nuw|nsw|exact|inbounds|tail|fastcc|volatile|zeroext|signext|noalias)\s+"
)
OPENED, CLOSED = "([{<", ")]}>"


class Untranslatable(ValueError):
    """The shader has something that the translation does not know; the message names it."""


def scanned(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside brackets and quotes, by position."""
    depth, quoted = 0, False
    for at, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif not quoted and char in OPENED:
            depth += 1
        elif not quoted and char in CLOSED:
            depth -= 1
        elif not quoted and not depth:
            yield at, char


def parts(text: str) -> list[str]:
    """Splits at commas outside brackets and quotes."""
    ends = [-1, *(at for at, char in scanned(text) if char == ","), len(text)]
    found = [text[start + 1 : end].strip() for start, end in pairwise(ends)]
    return found if found[-1] else found[:-1]


def typed(text: str) -> tuple[str, str]:
    """Splits "type value"; all pointers have the type "*"."""
    if " addrspace" in text:
        text = text.replace(" addrspace(3)", "")
    end = next((at for at, char in scanned(text) if char == " "), len(text))
    return pointer_or(text[:end]), text[end:].strip()


def pointer_or(kind: str) -> str:
    return "*" if kind.endswith("*") else kind


def number(text: str) -> int:
    """The value of a typed integer constant."""
    match = re.fullmatch(r"i\d+ (-?\d+)", text)
    if not match:
        raise Untranslatable(f"{text} where a number should be")
    return int(match[1])


def real(kind: str, text: str) -> str:
    """A constant in C, exactly. LLVM writes decimals only if they are exact, else the bits of a double."""
    if text.startswith("0xH"):
        (value,) = struct.unpack("<e", int(text[3:], 16).to_bytes(2, "little"))
    elif text.startswith("0x"):
        (value,) = struct.unpack("<d", int(text, 16).to_bytes(8, "little"))
    else:
        value = 0.0 if text == "zeroinitializer" else float(text)
    if math.isnan(value):
        return f"(({kind})NAN)"
    return f"(({kind}){value.hex().replace('inf', 'INFINITY')})"


class Metadata:
    """The metadata of a module, as lists of typed texts."""

    def __init__(self, text: str) -> None:
        self._records = dict(re.findall(r"^(!\d+) = (?:distinct )?!\{(.*)\}$", text, re.M))
        self._named = dict(re.findall(r"^!([\w.]+) = !\{(.*)\}$", text, re.M))

    def first(self, name: str) -> list[str]:
        """The first record of a named list."""
        return self.record(parts(self._named[name])[0])

    def record(self, reference: str) -> list[str]:
        """The parts of a record; of "null", none."""
        return [] if reference == "null" else parts(self._records[reference])
