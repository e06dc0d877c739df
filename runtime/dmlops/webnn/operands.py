"""The operands and arguments of a WebNN graph, read from JSON as W3C's conformance cases have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..counterparts import Signature
from ..counterparts.tensors import Impossible, Tensor, View
from ..elements import elements_of
from ..enums import TensorDataType
from ..safe_text import shown

MOST_ELEMENTS = 1 << 28  # of a tensor whose values are given as one number

_NUMBER = re.compile(r"[-+]?(NaN|Infinity|[0-9]+n?)")


class Unreadable(ValueError):
    """The value is not a graph; the message says why."""


def operand(name: Any, given: Any) -> tuple[Tensor, np.ndarray | None]:
    """An input or constant, from [data type, shape, values], and its array if there are values."""
    if not isinstance(name, str) or not isinstance(given, list | tuple) or len(given) < 2:
        raise Unreadable(f"the input {shown(name)} is not [data type, shape] or [data type, shape, values]")
    type_, shape = given[:2]
    if not isinstance(type_, str) or type_.upper() not in TensorDataType.__members__:
        raise Unreadable(f"{name}: there is no data type {shown(type_)}")
    if not isinstance(shape, list | tuple) or not all(type(size) is int and size > 0 for size in shape):
        raise Unreadable(f"{name}: the shape is not a list of positive integers")
    tensor = Tensor.of(name, type_.upper(), shape)
    return tensor, None if len(given) < 3 or given[2] is None else _array(tensor, tuple(shape), given[2])


def _array(tensor: Tensor, shape: tuple[int, ...], given: Any) -> np.ndarray:
    """The values of a tensor, from a list of all of them or from one number for all."""
    type_ = TensorDataType[tensor.decided_type]
    listed = given if isinstance(given, list | tuple) else [given]
    try:
        numbers = [number(one) for one in listed]
        if type_.kind != "float":
            numbers = [_wrapped(one, type_) for one in numbers]
        with np.errstate(all="ignore"):
            array = elements_of(numbers, type_)
    except (TypeError, ValueError, OverflowError) as error:
        raise Unreadable(f"{tensor.name}: not a list of values of its data type: {error}") from None
    if array.size == 1 and listed is not given and prod(shape) <= MOST_ELEMENTS:
        return np.full(shape, array[0])
    if array.size != prod(shape):
        raise Unreadable(f"{tensor.name} has {array.size} values; the shape {list(shape)} has {prod(shape)}")
    return array.reshape(shape)


def _wrapped(value: int, type_: TensorDataType) -> int:
    """An integer as JavaScript's typed arrays store it: its lowest bits."""
    low = value & ((1 << type_.bits) - 1)
    return low - (1 << type_.bits) if type_.kind == "signed" and low >> (type_.bits - 1) else low


def number(value: Any) -> Any:
    """A value in which strings that JavaScript reads as numbers (NaN, -Infinity, 12n) are numbers."""
    if isinstance(value, list | tuple):
        return [number(one) for one in value]
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if value[-1] in "Ny" else int(value.removesuffix("n"))
    return value


def arguments(signature: Signature, given: Any, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The values of a signature's names: views of operands, other arguments, None for what is absent.

    `given` has arguments by name, the options together as one of them. A positional argument with a name that
    the signature lacks, as before a parameter was renamed, is the first one that is missing. Raises
    Impossible.
    """
    positional: dict[str, Any] = {}
    for argument in given if isinstance(given, list | tuple) else ():
        if not isinstance(argument, Mapping):
            raise Unreadable(f"{shown(argument)} is not an argument by its name")
        positional |= argument
    options = positional.pop("options", None) or {}
    if not isinstance(options, Mapping):
        raise Unreadable(f"the options are not a mapping but {shown(options)}")
    operands = [name.rstrip("?*") for name in signature.inputs]
    required = [one for one in signature.inputs if not one.endswith("?")]
    required += [name for name, default in signature.attributes.items() if default is None]
    names = {*operands, *signature.attributes}
    found = {name: value for name, value in options.items() if name != "label"}
    found |= {name: value for name, value in positional.items() if name in names}
    for name in positional.keys() - names:
        missing = [one.rstrip("*") for one in required if one.rstrip("*") not in positional]
        found[missing[0] if missing else name] = positional[name]
    unknown = sorted(map(str, found.keys() - names))
    if unknown:
        raise Impossible(f"it has no argument {shown(unknown[0])}")
    values: dict[str, Any] = {name: number(found.get(name, of)) for name, of in signature.attributes.items()}
    for parameter in signature.inputs:
        name = parameter.rstrip("?*")
        if found.get(name) is None and not parameter.endswith("?"):
            raise Impossible(f"{name} is absent")
        value = found.get(name)
        if parameter.endswith("*") and isinstance(value, list | tuple):
            values[name] = [_view(one, tensors) for one in value]
        else:
            values[name] = _view(value, tensors)
    return values


def _view(name: Any, tensors: Mapping[str, Tensor]) -> View | None:
    if name is None:
        return None
    if not isinstance(name, str) or name not in tensors:
        raise Unreadable(f"there is no operand {shown(name)}")
    return View(tensors[name])
