"""How `dmlops.make` turns its arguments into a description."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .description import Description, Support
from .enums import NEWEST, TensorDataType
from .member import Member
from .registry import operator
from .tensor import TensorDesc

if TYPE_CHECKING:
    import numpy as np

    Tensor: TypeAlias = TensorDesc | np.ndarray[Any, Any] | Sequence[int]
    Output: TypeAlias = TensorDesc | TensorDataType | str | Sequence[int]

MOST_ENTRIES = 8  # most entries of arrays with one entry per dimension


def made(name: str, **given: Any) -> Any:
    """A description of the operator, with defaults, counts and outputs filled in.

    Raises InvalidDescription if it is not valid, ValueError if an output is neither given nor can be
    inferred, and TypeError for anything that is not a tensor.
    """
    described = operator(name)
    inputs = [member for member in described.MEMBERS if member.role == "input"]
    values = {**given, **_inputs(described, inputs, given)}
    for member in described.MEMBERS:
        if member.role == "output":
            tensors = [values[one.name] for one in inputs]
            values[member.name] = _outputs(member, given[member.name], tensors)
    needed = [member.name for member in inputs if not member.optional]
    if needed and all(values[one] is None for one in needed):
        return described(**values)  # an activation to fuse
    return _completed(described, values)


def _completed(described: type[Description], values: dict[str, Any]) -> Description:
    """The description with the defaults of arrays, as long as the other arrays with the same count.

    Without such arrays, the length is the first for which the description is valid.
    """
    missing = [
        member
        for member in described.MEMBERS
        if member.count and member.default is not None and values[member.name] is None
    ]
    lengths: Iterable[int] = range(1, MOST_ENTRIES + 1)
    for member in described.MEMBERS:
        if missing and member.count == missing[0].count and values[member.name] is not None:
            values[member.name] = tuple(values[member.name])
            lengths = (len(values[member.name]),)
    failed: ValueError | None = None
    for length in lengths if missing else (0,):
        filled = {member.name: (member.default,) * length for member in missing}
        try:
            return described(**{**values, **filled}).infer()
        except ValueError as error:
            failed = failed or error
    assert failed is not None, "there is at least one length"
    raise failed


def _inputs(described: type[Description], inputs: Sequence[Member], given: dict[str, Any]) -> dict[str, Any]:
    """The input tensors by name; a shape gets the data type of the preceding tensor, if it supports that."""
    table = described.SUPPORT[NEWEST]
    type_: TensorDataType | None = None
    values: dict[str, Any] = {}
    for member in inputs:
        value = given[member.name]
        if member.count and value is not None:
            values[member.name] = tuple(_input(member.name, one, table[member.name], type_) for one in value)
            tensors = values[member.name]
        else:
            values[member.name] = _input(member.name, value, table[member.name], type_)
            tensors = (values[member.name],)
        type_ = type_ or next((one.DataType for one in tensors if one is not None), None)
    return values


def _input(name: str, value: Any, row: Support, type_: TensorDataType | None) -> TensorDesc | None:
    if value is None or isinstance(value, TensorDesc):
        return value
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return TensorDesc.of(value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} is a TensorDesc, an array or a shape, not of type {type(value).__name__}")
    wanted = (type_, TensorDataType.FLOAT32, row.types[0])
    return TensorDesc(next(one for one in wanted if one in row.types), value)


def _outputs(member: Member, given: Any, inputs: Iterable[Any]) -> Any:
    """One output or several; shapes get the data type of the first input."""
    if member.count and given is not None:
        types = [one.DataType for one in inputs if isinstance(one, TensorDesc)] or [TensorDataType.UNKNOWN]
        return tuple(_output(member.name, one, types[0]) for one in given)
    type_ = member.default if isinstance(member.default, str) else TensorDataType.UNKNOWN
    if given is None and member.default is not None:
        return TensorDesc(type_, ())
    return _output(member.name, given, type_)


def _output(name: str, value: Any, type_: TensorDataType | str) -> TensorDesc | None:
    """An output with the part that is a choice: its data type, or its shape."""
    if value is None or isinstance(value, TensorDesc):
        return value
    if isinstance(value, str | TensorDataType):
        return TensorDesc(value, ())
    if not isinstance(value, Sequence):
        wrong = type(value).__name__
        raise TypeError(f"{name} is a TensorDesc, a data type or a shape, not of type {wrong}")
    return TensorDesc(type_, value)
