"""Names in shaders of definitions: which are taken, and what functions and constants are called."""

from __future__ import annotations

from collections.abc import Container

from dmlgen.names import HLSL_WORDS, words

WORDS = HLSL_WORDS | words(
    """activations best column count first found group groupColumns item lower position rank result row
    scratch sizes thread value"""
)
"""Words of HLSL, its functions that shaders call, and names in the text around an expression."""

HELPERS = words(
    """List Reals ListOf RealsOf Listed Zeros Join Part Entry Align Replace RavelIndex UnravelIndex
    InBounds Total Multiplied FloorQuotient FloorRemainder Divided Narrow IsBox
    RowOf RowEnd AdvanceRow Activate Activation Dimension DivideBySize Numbered CSMain"""
)
"""Names in the text around functions."""


def local(name: str) -> str:
    """A parameter or a loop variable in HLSL."""
    return f"{name}_" if name in WORDS else name


def pascal(name: str) -> str:
    """A name of a spec in Pascal case: strided_position, StridedPosition."""
    return "".join(part[0].upper() + part[1:] for part in name.split("_") if part)


def free(base: str, *taken: Container[str]) -> str:
    """The first of base, base2, base3 and so on that is in none of `taken`."""
    number, name = 2, base
    while any(name in names for names in taken):
        number, name = number + 1, f"{base}{number}"
    return name
