"""The scratch buffer of definitions, which holds all intermediate tensors."""

from __future__ import annotations

from typing import NamedTuple

from .definition_types import Definition, DefinitionShader
from .loops import Words, ceil_div, element_count
from .tensors import is_double


class Space(NamedTuple):
    """The layout of intermediate tensors in the scratch buffer: the first word of each, and the total."""

    firsts: Words
    words: int


def space_of(op: Definition, shader: DefinitionShader, wanted: int, copied: int) -> Space:
    """The place of each intermediate tensor; those that are `copied`, as bits, are followed by copies as
    float16. Those that no output needs have none; their sizes may be meaningless."""
    firsts: Words = []
    words = 0
    for place, kept in enumerate(shader.kept):
        firsts.append(words)
        if wanted >> place & 1 == 1:
            wide = is_double(op.tensors) if kept.is_real else kept.is_wide
            own = element_count(op.kept_sizes[place]) * (2 if wide else 1)
            if copied >> place & 1 == 1:
                own = own + ceil_div(own, 2)
            words += ceil_div(own, 4) * 4  # all start at whole vectors
    return Space(firsts, words)
