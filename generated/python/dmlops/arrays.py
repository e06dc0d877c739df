"""The arrays that go with a description, after a look at names, shapes and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .description import Description
from .tensor import TensorDesc


def checked(desc: Description, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a valid description, lists of them as lists, in C order and of no class of their own.

    Raises ValueError for an array that is missing, unknown, or does not fit its tensor.
    """
    tensors = {member.name: getattr(desc, member.name) for member in desc.MEMBERS if member.role == "input"}
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    unknown = [name for name in inputs if name not in given and inputs[name] is not None]
    if unknown:
        raise ValueError(f"{desc.OPERATOR} has no input {unknown[0]!r}; its inputs are {', '.join(given)}")
    arrays: dict[str, Any] = {}
    for name, tensor in given.items():
        if name not in inputs:
            raise ValueError(f"{name} is missing from the inputs")
        array = inputs[name]
        if isinstance(tensor, TensorDesc):
            _check(name, tensor, array)
            arrays[name] = np.asarray(array, order="C")
            continue
        if not isinstance(array, Sequence) or len(array) != len(tensor):
            raise ValueError(f"{name} must be a list of {len(tensor)} NumPy arrays")
        for number, (one, part) in enumerate(zip(tensor, array, strict=True)):
            _check(f"{name}[{number}]", one, part)
        arrays[name] = [np.asarray(part, order="C") for part in array]
    return arrays


def _check(name: str, tensor: TensorDesc, array: Any) -> None:
    data_type = tensor.DataType.numpy
    if isinstance(array, np.ndarray) and array.shape == tensor.Sizes and array.dtype == data_type:
        return
    found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
    raise ValueError(f"{name} must be a NumPy array of {data_type}, shape {tensor.Sizes}; it is {found}")
