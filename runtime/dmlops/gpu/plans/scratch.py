"""The scratch buffer of definitions, in which all intermediate tensors lie."""

from __future__ import annotations

from typing import NamedTuple

from .attention import Sources, no_sources
from .defined import Definition, DefinitionShader
from .known import Eight
from .loops import Words, ceil_div, element_count
from .told import Sizes


class Space(NamedTuple):
    """Where intermediate tensors lie in the scratch buffer: the first word of each, and the words of all."""

    firsts: Words
    words: int


def space_of(told: Definition, shader: DefinitionShader, wanted: int) -> Space:
    """The place of each intermediate tensor. What no output needs has none; its sizes may make no sense."""
    return space_without(told, shader, wanted, no_sources(), 0)


def space_without(
    told: Definition, shader: DefinitionShader, wanted: int, sources: Sources, copied: int
) -> Space:
    """The same without the rows that attention reads elsewhere, and with copies in halves behind the tensors
    that are `copied`, as bits."""
    firsts: Words = []
    words = 4 if len(shader.sums) > 0 else 0
    for place, kept in enumerate(shader.kept):
        firsts.append(words)
        if wanted >> place & 1 == 1:
            wide = told.is_double if kept.is_real else kept.is_wide
            own = element_count(rows_left(shader, sources, place, told.kept_sizes[place]))
            own = own * (2 if wide else 1)
            if copied >> place & 1 == 1:
                own = own + ceil_div(own, 2)
            words += ceil_div(own, 4) * 4  # so that all begin at whole vectors
    return Space(firsts, words)


def rows_left(shader: DefinitionShader, sources: Sources, kept: int, sizes: Sizes) -> Eight:
    """The sizes of an intermediate tensor, by number, less the rows that attention reads elsewhere."""
    left: Eight = []
    left.extend(sizes)
    if sources.begin > 0 and (kept == shader.attention.key or kept == shader.attention.value):
        left[2] = sizes[2] - sources.begin
    return left
