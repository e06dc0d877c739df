"""The cases of `bench/gpu.py`: operators at realistic sizes, each with its equivalent in torch."""

from __future__ import annotations

from collections.abc import Iterator

from .attention import attentions
from .case import LARGE, MEDIUM, SMALL, Case
from .functions import functions
from .gathers import gathers
from .images import images
from .moves import moves
from .normalizations import normalizations
from .products import of_bytes, products
from .quantizing import quantizing
from .recurrents import recurrents
from .reductions import reductions
from .regions import regions
from .scatters import scatters
from .squares import squares
from .tops import tops

__all__ = ["LARGE", "SMALL", "Case", "cases", "squares"]


def cases() -> Iterator[Case]:
    yield from gathers()
    yield from squares()
    yield from squares(MEDIUM)
    yield from squares(SMALL)
    yield from products()
    yield from normalizations()
    yield from attentions()
    yield from of_bytes()
    yield from images()
    yield from recurrents()
    yield from moves()
    yield from functions()
    yield from quantizing()
    yield from regions()
    yield from scatters()
    yield from reductions()
    yield from tops()
