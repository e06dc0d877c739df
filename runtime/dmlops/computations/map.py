"""Element-wise computation: from a coordinate to the element there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..coordinates import Coordinates
from ..description import Description
from ..elements import bits_of, computed, from_bits, stored
from ..tensor import TensorDesc

_CHUNK = 1 << 20  # elements per chunk; their coordinates take several times 8 bytes each
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
    limited: Mapping[str, str] = field(default_factory=dict)


class Map(NamedTuple):
    """Stores an element in `output` for each coordinate of `over`; `target` says where, if it differs.

    If `over` is an array of tensors, they are processed in turn. `moves` are the tensors whose elements are
    copied unchanged, `bits` those whose elements are read as raw bits.
    """

    desc: Description
    form: str
    output: str
    over: str
    moves: tuple[str, ...]
    bits: tuple[str, ...]
    shader: Shader
    element: Callable[..., Any]
    uniforms: Callable[..., Uniforms]
    target: Callable[..., Coordinates] | None = None

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The output, shaped as its Sizes."""

        def load(name: str, at: Coordinates, number: int | None = None) -> Any:
            array, tensor = arrays[name], getattr(self.desc, name)
            if number is not None:
                array, tensor = array[number], tensor[number]
            # A coordinate may be out of bounds if a condition selects another value.
            inside = tuple(np.clip(c, 0, size - 1) for c, size in zip(at, tensor.Sizes, strict=True))
            return bits_of(array[inside]) if name in self.bits else computed(array[inside], tensor.DataType)

        over, output = getattr(self.desc, self.over), getattr(self.desc, self.output)
        tensors = over if isinstance(over, tuple) else (over,)
        outputs = output if isinstance(output, tuple) else (output,) * len(tensors)
        results: list[np.ndarray] = []
        store = from_bits if self.output in self.bits else stored
        for number, (tensor, target) in enumerate(zip(tensors, outputs, strict=True)):
            if number == 0 or isinstance(output, tuple):
                results.append(np.zeros(target.Sizes, target.DataType.numpy))
            which = (number,) if isinstance(over, tuple) else ()
            for part, at in _chunks(tensor):
                where = part if self.target is None else self.target(self.desc, at, load, *which)
                results[-1][where] = store(self.element(self.desc, at, load, *which), target.DataType)
        return {self.output: results if isinstance(output, tuple) else results[0]}


def _chunks(tensor: TensorDesc) -> Iterator[tuple[tuple[slice, ...], Coordinates]]:
    """Chunks of a tensor, each with its coordinates as an open grid, one array per dimension."""
    sizes = tensor.Sizes
    longest = sizes.index(max(sizes))
    others = int(np.prod(sizes, dtype=object)) // sizes[longest]
    step = max(_CHUNK // others, 1)
    for start in range(0, sizes[longest], step):
        part = tuple(
            slice(start, min(start + step, size)) if dimension == longest else slice(0, size)
            for dimension, size in enumerate(sizes)
        )
        yield part, tuple(np.ogrid[part])
