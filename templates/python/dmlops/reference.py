"""What operators compute, in NumPy: slow, plain, exact in data types.

Arrays are logical: shaped as the tensor's Sizes, typed as its DataType, 4-bit types unpacked to 8 bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .coordinates import Coordinates
from .description import Description
from .enums import FeatureLevel
from .errors import InvalidDescription
from .judgement import tensors
from .tensor import TensorDesc

_CHUNK = 1 << 20  # output elements at a time; their coordinates take 8 bytes each, several times over


def run(desc: Description, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The output tensors of an operator, as new arrays; inputs are only read.

    Raises InvalidDescription, ValueError for arrays that do not fit the description, and NotImplementedError
    for operators whose computation the registry does not hold.
    """
    violations = desc.validate(max(FeatureLevel))
    if violations:
        raise InvalidDescription(desc, violations)
    element = getattr(sys.modules[type(desc).__module__], "element", None)
    if element is None:
        raise NotImplementedError(f"the registry does not hold what {desc.OPERATOR} computes")
    arrays = _arrays(desc, inputs)

    def load(name: str, at: Coordinates) -> Any:
        return arrays[name][at]

    outputs: dict[str, np.ndarray] = {}
    for _, member, tensor in tensors(desc):
        if member.role == "output":
            result = outputs[member.name] = np.empty(tensor.Sizes, tensor.DataType.numpy)
            for part, at in _chunks(tensor):
                result[part] = element(desc, at, load)
    return outputs


def _arrays(desc: Description, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs, after a look at names, shapes and types."""
    given = {member.name: tensor for _, member, tensor in tensors(desc) if member.role == "input"}
    unknown = [name for name in inputs if name not in given]
    if unknown:
        raise ValueError(f"{desc.OPERATOR} has no input {unknown[0]!r}; its inputs are {', '.join(given)}")
    for name, tensor in given.items():
        if name not in inputs:
            raise ValueError(f"{name} is missing from the inputs")
        array, data_type = inputs[name], tensor.DataType.numpy
        if not isinstance(array, np.ndarray) or array.shape != tensor.Sizes or array.dtype != data_type:
            found = (
                f"{array.dtype} of shape {array.shape}"
                if isinstance(array, np.ndarray)
                else type(array).__name__
            )
            raise ValueError(
                f"{name} must be a NumPy array of {data_type}, shape {tensor.Sizes}; it is {found}"
            )
    return dict(inputs)


def _chunks(tensor: TensorDesc) -> Iterator[tuple[tuple[slice, ...], Coordinates]]:
    """Parts of a tensor, each with its coordinates: one open grid for every dimension."""
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
