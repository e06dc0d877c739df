"""Schedules as planners take them: element-wise maps, gathers, and scans."""

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


class Operand(NamedTuple):
    """A tensor of a shader: its member, its index if that is an array, None for the current one, and the
    prefix of its macros."""

    member: str
    entry: int | None
    macro: str


@dataclass(frozen=True)
class MapOperands:
    """The tensors of a shader: those that it reads, then the output. It computes an element for each
    coordinate of the one numbered `over`.

    `is_aligned`: it reads every tensor at the coordinate it writes, except that tensors may be `single`, of
    which it only reads the first element, or `blocked`, with one element for each block of the output. These
    are bit masks, as is `as_bits`: the tensors whose elements are raw bits.
    """

    tensors: tuple[Operand, ...]
    over: int
    is_aligned: bool
    single: int = 0
    blocked: int = 0
    as_bits: int = 0


class Map(NamedTuple):
    """Stores an element in `output` for each coordinate of `over`; `target` says where, if it differs.

    If `over` is an array of tensors, they are processed in turn. `moves` are the tensors whose elements are
    copied unchanged. `element` gives the element for symbols in place of a coordinate and of elements; None
    if it does more than add, subtract and multiply.
    """

    desc: Description
    output: str
    over: str
    moves: tuple[str, ...]
    operands: MapOperands
    uniforms: Callable[..., Uniforms]
    element: Callable[..., Any] | None = None
    target: Callable[..., Coordinates] | None = None


@dataclass(frozen=True)
class Gather:
    """For each coordinate of `output`, the element of `input` at `target`, which elements of `indices`
    select."""

    desc: Description
    output: str
    input: str
    indices: str
    target: Callable[..., Coordinates]


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
