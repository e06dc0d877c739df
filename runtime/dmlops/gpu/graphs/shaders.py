"""Shaders that programs need, before they are compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .. import shader
from ..work import Dispatch


class Shader(NamedTuple):
    """A shader to compile: the operator whose HLSL it is, its macros, and how many buffers it has. One that
    is no operator's own has a text."""

    operator: str
    defines: tuple[tuple[str, int | str], ...]
    buffers: int
    text: str = ""

    @property
    def source(self) -> str:
        """The HLSL."""
        return self.text or shader(self.operator)


Compile = Callable[[Sequence[Shader]], Sequence[bytes]]
"""Returns the SPIR-V of shaders."""


def shader_of(operator: str, dispatch: Dispatch) -> Shader:
    """The shader of a dispatch of an operator."""
    return Shader(dispatch.shader or operator, tuple(dispatch.defines.items()), len(dispatch.buffers))
