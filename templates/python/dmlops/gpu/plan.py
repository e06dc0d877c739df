"""The memory movement behind an operator's description: which element goes where, as strides.

The planner calls the operator's own `element` function with symbols in place of coordinates, and reads the
strides off the result. Nothing here needs a GPU. Offsets, strides and sizes are in elements, not bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

from ..coordinates import Coordinates, wrap
from ..kernels.map import Map
from .errors import Unsupported
from .types import ELEMENT_LIMIT, MAX_RANK

STRIP_BYTES = 128  # a cache line of current GPUs; measured, see bench/gpu.py


@dataclass(frozen=True)
class Linear:
    """A weighted sum of output coordinates and looked-up coordinates, plus a constant."""

    constant: int = 0
    coordinates: dict[int, int] = field(default_factory=dict)  # output dimension -> factor
    lookups: dict[Wrapped, int] = field(default_factory=dict)  # looked-up coordinate -> factor

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.coordinates, self.lookups)
        return Linear(
            self.constant + other.constant,
            _sum(self.coordinates, other.coordinates),
            _sum(self.lookups, other.lookups),
        )

    def __mul__(self, factor: int) -> Linear:
        if not isinstance(factor, int):
            return NotImplemented
        return Linear(
            self.constant * factor,
            {key: value * factor for key, value in self.coordinates.items()},
            {key: value * factor for key, value in self.lookups.items()},
        )

    __radd__ = __add__
    __rmul__ = __mul__


def _sum(left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}


@dataclass(frozen=True)
class Read:
    """The value of one tensor element, as the result of an operator or as an index."""

    tensor: str
    offset: Linear


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A coordinate that an index tensor supplies at run time."""

    index: Read
    size: int


@wrap.register
def _(index: Read, size: int) -> Linear:
    return Linear(lookups={Wrapped(index, size): 1})


@dataclass(frozen=True)
class Dimension:
    """One loop over the output: its length, and the step each tensor takes with it."""

    size: int
    input_stride: int
    index_stride: int
    output_stride: int

    @property
    def strides(self) -> tuple[int, int, int]:
        return self.input_stride, self.index_stride, self.output_stride


@dataclass(frozen=True)
class Lookup:
    """An index to read and follow: the input moves by `input_stride` for each unit of its wrapped value."""

    size: int
    input_stride: int
    index_offset: int


@dataclass(frozen=True)
class Plan:
    """`output[o] = input[i + sum(wrap(index[x + l.index_offset], l.size) * l.input_stride)]`.

    `o`, `i` and `x` are the sums of coordinate times stride over `dimensions`, outermost loop first.
    A fresh plan has the largest output stride outermost, and as few dimensions as it can, at least one.
    """

    input: str  # member names of the two tensors read
    indices: str
    element_size: int  # bytes
    dimensions: tuple[Dimension, ...]
    lookups: tuple[Lookup, ...]

    def widened(self) -> Plan:
        """The same movement in elements of up to 16 bytes, where it copies runs of them."""
        *outer, inner = self.dimensions
        if inner.strides != (1, 0, 1):
            return self
        steps = [stride for d in outer for stride in (d.input_stride, d.output_stride)]
        steps += [lookup.input_stride for lookup in self.lookups]
        factor = gcd(16 // self.element_size, inner.size, *steps)
        dimensions = [
            Dimension(d.size, d.input_stride // factor, d.index_stride, d.output_stride // factor)
            for d in outer
        ]
        lookups = tuple(Lookup(k.size, k.input_stride // factor, k.index_offset) for k in self.lookups)
        run = Dimension(inner.size // factor, 1, 0, 1)
        return replace(
            self,
            element_size=self.element_size * factor,
            dimensions=_merged([*dimensions, run]),
            lookups=lookups,
        )

    def striped(self) -> Plan:
        """The same movement down strips of 128 bytes, where the index chooses the row to read from.

        Row by row, every element of a row may come from another row; by the time its neighbours in memory are
        wanted, the cache has lost them. The rows of a strip fit.
        """
        if not 1 < len(self.dimensions) < MAX_RANK:
            return self
        *outer, rows, inner = self.dimensions
        width = STRIP_BYTES // self.element_size
        chosen = inner.input_stride == inner.output_stride == 1 and inner.index_stride > 0
        if not chosen or inner.size % width or inner.size == width:
            return self
        strips = Dimension(inner.size // width, *(width * stride for stride in inner.strides))
        strip = Dimension(width, *inner.strides)
        return replace(self, dimensions=(*outer, strips, rows, strip))


def plan_of(computation: Map) -> Plan:
    """The plan of a computation.

    Raises Unsupported when the operator is not a movement of elements that one index tensor directs,
    or a tensor has 2**32 elements' span or more.
    """
    desc: Any = computation.desc
    element = computation.element

    def load(tensor: str, at: Coordinates) -> Read:
        return Read(tensor, offset_of(at, getattr(desc, tensor).element_strides))

    sizes: Sequence[int] = desc.OutputTensor.Sizes
    at = tuple(Linear(coordinates={dimension: 1}) for dimension in range(len(sizes)))
    try:
        result = element(desc, at, load)
    except (AttributeError, TypeError) as error:  # from an operation that the symbols do not have
        raise Unsupported(f"{desc.OPERATOR} is more than a movement of elements: {error}") from error
    if not isinstance(result, Read) or not result.offset.lookups:
        raise Unsupported(f"{desc.OPERATOR} does not move elements as an index tensor directs")
    movement, followed = result.offset.coordinates, result.offset.lookups
    reads = [wrapped.index for wrapped in followed]
    steps = reads[0].offset.coordinates
    if result.offset.constant or any(r.offset.lookups or r.offset.coordinates != steps for r in reads):
        raise Unsupported(
            f"{desc.OPERATOR} reads its tensors at coordinates that the gather shader cannot follow"
        )

    output = desc.OutputTensor
    dimensions = [
        Dimension(size, movement.get(d, 0), steps.get(d, 0), stride)
        for d, (size, stride) in enumerate(zip(sizes, output.element_strides, strict=True))
    ]
    lookups = tuple(Lookup(w.size, stride, w.index.offset.constant) for w, stride in followed.items())
    moved = [(d.size, d.input_stride) for d in dimensions] + [(k.size, k.input_stride) for k in lookups]
    _check_span(desc, "OutputTensor", _span((d.size, d.output_stride) for d in dimensions))
    _check_span(desc, result.tensor, _span(moved))
    last = max(lookup.index_offset for lookup in lookups)
    _check_span(desc, reads[0].tensor, last + _span((d.size, d.index_stride) for d in dimensions))
    return Plan(result.tensor, reads[0].tensor, output.DataType.bits // 8, _merged(dimensions), lookups)


def offset_of(at: Coordinates, strides: Iterable[int]) -> Linear:
    terms = (coordinate * stride for coordinate, stride in zip(at, strides, strict=True))
    return sum(terms, start=Linear())


def _span(loops: Iterable[tuple[int, int]]) -> int:
    """The elements from the first to the last that loops of these sizes and strides touch."""
    return 1 + sum((size - 1) * stride for size, stride in loops)


def _check_span(desc: Any, name: str, span: int) -> None:
    """Shaders do not check bounds, so nothing may reach beyond a tensor or count past 32 bits."""
    tensor = getattr(desc, name)
    if span * tensor.DataType.bits > tensor.size_in_bytes * 8:
        raise Unsupported(f"{desc.OPERATOR} would reach element {span - 1} of {name}, beyond its end")
    if span >= ELEMENT_LIMIT:
        raise Unsupported(f"{name} spans {span} elements; shaders address fewer than 2**32")


def _merged(dimensions: list[Dimension]) -> tuple[Dimension, ...]:
    """The same loops, as few as possible, the output's fastest one last."""
    merged: list[Dimension] = []
    for inner in sorted(dimensions, key=lambda d: -d.output_stride):
        if inner.size == 1:
            continue
        if merged and merged[-1].strides == tuple(inner.size * stride for stride in inner.strides):
            merged[-1] = Dimension(merged[-1].size * inner.size, *inner.strides)
        else:
            merged.append(inner)
    return tuple(merged) or (Dimension(1, 0, 0, 1),)
