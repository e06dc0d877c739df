"""The arrays that go with a description, with their names, shapes and types checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .description import Description
from .elements import extremes
from .paths import member_of
from .safe_text import shown
from .tensor import TensorDesc


def fitting(name: str, tensor: TensorDesc, given: Any) -> np.ndarray:
    """The array for a tensor; raises ValueError if what was passed is not one."""
    data_type = tensor.DataType.numpy
    if isinstance(given, np.ndarray):
        array = np.asarray(given)
        if array.shape == tensor.Sizes and array.dtype == data_type:
            if tensor.DataType.bits < 8:
                _check_range(name, tensor, array)
            return np.asarray(array, order="C")
        found = f"{array.dtype} of shape {array.shape}"
    else:
        found = shown(given)
    raise ValueError(f"{name} must be a NumPy array of {data_type}, shape {tensor.Sizes}; it is {found}")


def _check_range(name: str, tensor: TensorDesc, array: np.ndarray) -> None:
    """Raises ValueError if an element, which has its own byte, does not fit the data type's bits."""
    least, greatest = extremes(tensor.DataType)
    for extreme in (array.min(), array.max()):
        if not least <= extreme <= greatest:
            raise ValueError(f"{name} has elements of {tensor.DataType.name}; {extreme} does not fit")


def checked(
    desc: Description, inputs: Mapping[str, Any], fitting: Callable[[str, TensorDesc, Any], Any] = fitting
) -> dict[str, Any]:
    """The inputs of a valid description as plain NumPy arrays in C order, arrays of tensors as lists.

    `fitting` converts what was passed for a tensor, given its name, to an array. Raises ValueError for an
    array that is missing, unknown, or does not fit its tensor.
    """
    named = _read(dict, inputs, Mapping, "the inputs must be a mapping from names to arrays")
    tensors = {member.name: getattr(desc, member.name) for member in desc.MEMBERS if member.role == "input"}
    wanted = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    for name, array in named.items():
        if name not in wanted and array is not None:
            raise ValueError(
                f"{desc.OPERATOR} has no input {shown(name)}; its inputs are {', '.join(wanted)}"
            )
    arrays: dict[str, Any] = {}
    for name, tensor in wanted.items():
        if name not in named:
            raise ValueError(f"{name} is missing from the inputs")
        if isinstance(tensor, TensorDesc):
            arrays[name] = fitting(name, tensor, named[name])
            continue
        expected = f"{name} must be a list of {len(tensor)} arrays"
        parts = _read(list, named[name], Sequence, expected)
        if len(parts) != len(tensor):
            raise ValueError(f"{expected}; it has {len(parts)}")
        arrays[name] = [fitting(f"{name}[{i}]", one, parts[i]) for i, one in enumerate(tensor)]
    return arrays


def of_tensor(values: Mapping[str, Any], name: str) -> Any:
    """The value for a tensor, named like "InputTensor" or "InputTensors[1]", among values by member, which
    are lists for arrays of tensors."""
    member, index = member_of(name)
    return values[member] if index is None else values[member][index]


def _read(made: type[Any], value: Any, kind: type[Any], expected: str) -> Any:
    """Copies a list or dict; raises ValueError if the value is neither."""
    if isinstance(value, kind):
        return made(value)
    raise ValueError(f"{expected}; found {shown(value)}")
