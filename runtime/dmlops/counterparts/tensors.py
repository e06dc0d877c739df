"""Tensors of a node, and the views a description can take: other sizes, strides and bits, without copying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..elements import stored
from ..enums import TensorDataType
from ..tensor import TensorDesc

LARGEST = 1 << 16  # largest constant that expressions can read, in numbers


class Undecided(Exception):
    """Something is not known before the model runs, or needs more information."""


class Impossible(Exception):
    """DirectML has no form of this node, or the node does not conform to its operator set."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a graph. Each entry of `sizes` is a number, a symbolic name, or None if unknown.

    `type` is DirectML's name of the data type, or another standard's in lower case if DirectML has none; None
    if unknown. Booleans are UINT8. A `scalar` tensor has a single size of 1. An `inner` tensor connects two
    operators of one node. `array` has the values of a constant.
    """

    name: str
    type: str | None
    sizes: tuple[int | str | None, ...] | None
    array: np.ndarray | None = None
    truth: bool = False
    scalar: bool = False
    inner: bool = False

    @classmethod
    def of(cls, name: str, type_: str, shape: Iterable[int]) -> Tensor:
        """A tensor of known shape, () if it is a scalar."""
        sizes = tuple(shape)
        return cls(name, type_, sizes or (1,), scalar=not sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes as its interface has them: none if it is a scalar."""
        return () if self.scalar else self.decided_sizes

    @property
    def decided_type(self) -> str:
        if self.type is None:
            raise Undecided(f"the data type of {self.name} is not known")
        if self.type.islower():
            raise Impossible(f"{self.name} has elements of type {self.type}, which DirectML does not have")
        return self.type

    @property
    def decided_sizes(self) -> tuple[int, ...]:
        if self.sizes is None:
            raise Undecided(f"the shape of {self.name} is not known")
        for size in self.sizes:
            if not isinstance(size, int):
                what = f"the dimension {size}" if size else "a dimension"
                raise Undecided(f"{what} of {self.name} is not known")
            if size < 1:
                raise Impossible(f"{self.name} has no elements")
        return tuple(size for size in self.sizes if isinstance(size, int))


@dataclass(frozen=True, slots=True)
class View:
    """A tensor as a description sees it. `steps` turn the tensor's own array into the one that is seen."""

    tensor: Tensor
    steps: tuple[tuple[str, Any, Any], ...] = ()
    type_: str | None = None
    sizes_: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    @property
    def type(self) -> str:
        return self.type_ or self.tensor.decided_type

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.tensor.decided_sizes if self.sizes_ is None else self.sizes_

    @property
    def rank(self) -> int:
        if self.sizes_ is not None:
            return len(self.sizes_)
        if self.tensor.sizes is None:
            raise Undecided(f"the shape of {self.tensor.name} is not known")
        return len(self.tensor.sizes)

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides; packed if none are given."""
        return TensorDesc(TensorDataType.UNKNOWN, self.sizes, Strides=self.strides).element_strides

    def reshaped(self, sizes: Iterable[int]) -> View:
        """Its elements with other sizes; a view with strides can only gain or lose sizes of 1."""
        sizes, old = tuple(sizes), self.sizes
        if sizes == old:
            return self
        if prod(sizes) != prod(old) or min(sizes, default=0) < 1:
            raise Impossible(f"{self.tensor.name} of sizes {list(old)} cannot have the sizes {list(sizes)}")
        strides = self.strides
        if strides is not None:
            kept = [(size, stride) for size, stride in zip(old, strides, strict=True) if size != 1]
            if [size for size, _ in kept] != [size for size in sizes if size != 1]:
                raise Impossible(f"{self.tensor.name}, as it is seen, cannot have the sizes {list(sizes)}")
            rest = iter(kept)
            strides = tuple(0 if size == 1 else next(rest)[1] for size in sizes)
        return replace(self, steps=(*self.steps, ("reshape", old, sizes)), sizes_=sizes, strides=strides)

    def deep(self, rank: int) -> View:
        return self.reshaped((1,) * (rank - self.rank) + self.sizes)

    def wide(self, rank: int) -> View:
        return self.reshaped(self.sizes + (1,) * (rank - self.rank))

    def channels(self, rank: int, axis: int) -> View:
        """A one-dimensional array placed along one axis; a single element has only sizes of 1."""
        count = prod(self.sizes)
        return self.reshaped(count if d == axis else 1 for d in range(max(rank, 1)))

    def spread(self, sizes: Sequence[int]) -> View:
        """Broadcast to these sizes, by NumPy's rules."""
        sizes = tuple(sizes)
        if len(sizes) < self.rank:
            leading = self.sizes[: self.rank - len(sizes)]
            if any(size != 1 for size in leading):
                raise Impossible(
                    f"{self.tensor.name} of sizes {list(self.sizes)} cannot be broadcast to {list(sizes)}"
                )
            return self.reshaped(self.sizes[self.rank - len(sizes) :]).spread(sizes)
        raised = self.deep(len(sizes))
        if raised.sizes == sizes:
            return raised
        if any(have not in (1, want) for have, want in zip(raised.sizes, sizes, strict=True)):
            raise Impossible(
                f"{self.tensor.name} of sizes {list(self.sizes)} cannot be broadcast to {list(sizes)}"
            )
        pairs = zip(raised.sizes, sizes, raised.element_strides, strict=True)
        strides = tuple(0 if have == 1 else stride for have, want, stride in pairs)
        return replace(raised, steps=(*raised.steps, ("spread", None, sizes)), sizes_=sizes, strides=strides)

    def permuted(self, axes: Sequence[int]) -> View:
        axes = tuple(axes)
        if sorted(axes) != list(range(self.rank)):
            raise Impossible(f"{list(axes)} is not a permutation of {self.rank} dimensions")
        strides = self.element_strides
        return replace(
            self,
            steps=(*self.steps, ("permute", None, axes)),
            sizes_=tuple(self.sizes[axis] for axis in axes),
            strides=tuple(strides[axis] for axis in axes),
        )

    def retyped(self, type_: str) -> View:
        """Its bits reinterpreted as another data type of the same width."""
        old = TensorDataType[self.type].numpy
        new = TensorDataType[type_].numpy
        if old.itemsize != new.itemsize:
            raise Impossible(f"{self.tensor.name} holds {self.type}, which is not as wide as {type_}")
        return replace(self, steps=(*self.steps, ("retype", old, new)), type_=type_, sizes_=self.sizes)

    def nibbles(self) -> View:
        """The bytes as twice as many UINT4 along the last dimension, low bits first."""
        if self.type != "UINT8" or self.strides is not None:
            raise Impossible(f"{self.tensor.name} is not packed bytes")
        sizes = (*self.sizes[:-1], 2 * self.sizes[-1])
        return replace(self, steps=(*self.steps, ("nibbles", None, None)), type_="UINT4", sizes_=sizes)

    def desc(self) -> TensorDesc:
        """The description of the tensor, with strides only if it is not packed."""
        packed = TensorDesc(self.type, self.sizes)
        steps = zip(self.sizes, self.element_strides, packed.element_strides, strict=True)
        if all(size == 1 or one == other for size, one, other in steps):
            return packed
        return TensorDesc(self.type, self.sizes, Strides=self.strides)

    def read(self, array: np.ndarray) -> np.ndarray:
        """The view's array, given the tensor's own array."""
        for kind, _, what in self.steps:
            match kind:
                case "reshape":
                    array = array.reshape(what)
                case "spread":
                    array = np.broadcast_to(array, what)
                case "permute":
                    array = array.transpose(what)
                case "nibbles":
                    nibbles = np.stack([array & 15, array >> 4], axis=-1)
                    array = nibbles.reshape(*array.shape[:-1], -1)
                case _:
                    array = np.ascontiguousarray(array).view(what)
        return array

    def written(self, array: np.ndarray) -> np.ndarray:
        """The tensor's own array, given what an operator wrote; a broadcast view cannot be written."""
        for kind, before, what in reversed(self.steps):
            match kind:
                case "reshape":
                    array = array.reshape(before)
                case "permute":
                    array = array.transpose(np.argsort(what))
                case "retype":
                    array = np.ascontiguousarray(array).view(before)
                case _:
                    raise Impossible(f"{self.tensor.name} is broadcast or split, so nothing can write it")
        return array


def constant(values: Any, type_: str, sizes: Sequence[int]) -> View:
    """A new tensor with known values: one for all elements, or one each."""
    sizes = tuple(sizes)
    if type_ not in TensorDataType.__members__ or prod(sizes) > LARGEST:
        raise Impossible(f"no constant of type {type_} and sizes {list(sizes)}")
    array = stored(values, TensorDataType[type_])
    array = np.broadcast_to(array, sizes) if array.ndim == 0 else array.reshape(sizes)
    return View(Tensor("", type_, sizes, array, inner=True))
