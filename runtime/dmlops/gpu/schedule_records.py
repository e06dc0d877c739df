"""Schedules as planners take them: element-wise maps and gathers, and scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ..coordinates import Coordinates
from ..description import Description

_NONE: Mapping[str, Any] = MappingProxyType({})


class Uniforms(NamedTuple):
    """A shader's inputs from a description, by the names used in the shader.

    Switches become macros; elements are numbers of a tensor's type, scalars are integers and floats, and
    arrays have one entry per dimension. `widened` has a bit for each input whose integers the shader computes
    in double precision.
    """

    switches: Mapping[str, int] = _NONE
    elements: Mapping[str, Any] = _NONE
    scalars: Mapping[str, int | float] = _NONE
    arrays: Mapping[str, tuple[int, ...]] = _NONE
    widened: int = 0


@dataclass(frozen=True)
class Shader:
    """The tensors of a shader: by buffer, the macros of those it reads and of those whose limits it needs.

    `aligned`: it reads every tensor at the coordinate it writes, except that tensors may be `single`, of
    which it only reads the first element, or `blocked`, with one element for each block of the output.
    """

    aligned: bool
    inputs: Mapping[str, str]
    output: str
    single: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class Map(NamedTuple):
    """Stores an element in `output` for each coordinate of `over`; `target` says where, if it differs.

    If `over` is an array of tensors, they are processed in turn. `moves` are the tensors whose elements are
    copied unchanged, `bits` those whose elements are read as raw bits. `element` gives the element for
    symbols in place of a coordinate and of elements; None if it does more than add, subtract and multiply.
    """

    desc: Description
    form: str
    output: str
    over: str
    moves: tuple[str, ...]
    bits: tuple[str, ...]
    shader: Shader
    uniforms: Callable[..., Uniforms]
    element: Callable[..., Any] | None = None
    target: Callable[..., Coordinates] | None = None


@dataclass(frozen=True)
class Scan:
    """For each element, the combination of those up to it along `axis`, itself excluded if `exclusive`.

    `decreasing`: from the last element to the first.
    """

    desc: Description
    output: str
    input: str
    axis: int
    decreasing: bool
    exclusive: bool
