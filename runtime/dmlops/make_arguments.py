"""The conversion of the arguments of `dmlops.make` to a description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .description import Description
from .enums import NEWEST, TensorDataType
from .errors import InvalidDescription
from .facts import Support
from .member import Member
from .paths import path_of
from .registry import operator
from .tensor import TensorDesc

if TYPE_CHECKING:
    import numpy as np

    Tensor: TypeAlias = TensorDesc | np.ndarray[Any, Any] | Sequence[int]
    Output: TypeAlias = TensorDesc | TensorDataType | str | Sequence[int]

Described = TypeVar("Described", bound=Description)

MOST_ENTRIES = 8  # most entries of arrays with one entry per dimension


def made(name: str, given: Mapping[str, Any]) -> Described:  # type: ignore[type-var]  # the caller knows its class
    """A description of the operator from the arguments given, with defaults, counts and outputs filled in.

    Raises InvalidDescription if it is not valid, ValueError if an output is neither given nor can be
    inferred, and TypeError for anything that is not a tensor.
    """
    described: type[Described] = operator(name)  # type: ignore[assignment]
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


def _completed(described: type[Described], values: dict[str, Any]) -> Described:
    """The description with the defaults of arrays, whose length is the first for which it is valid.

    If there is none, the error is what is wrong with the arguments: of the lengths that are tried, with the
    one that breaks no rule about what nobody gave.
    """
    missing = [
        member
        for member in described.MEMBERS
        if member.count and member.default is not None and values[member.name] is None
    ]
    arrays = missing or [one for one in described.MEMBERS if one.count and one.type != "tensor"]
    count = arrays[0].count if arrays else None
    if count is None:
        return described(**values).infer()
    given = [one.name for one in described.MEMBERS if one.count == count and values[one.name] is not None]
    lengths = dict.fromkeys([*(len(_entries(name, values)) for name in given), *range(1, MOST_ENTRIES + 1)])
    ours = {count, *(member.name for member in missing)}
    failures: list[ValueError] = []
    for length in lengths if missing or given else ():
        filled: dict[str, Any] = {member.name: (member.default,) * length for member in missing}
        try:
            return described(**{**values, **filled, count: length}).infer()
        except ValueError as error:
            failures.append(error)
    raise next((one for one in failures if not _concerns(one, ours)), failures[0])


def _entries(name: str, values: dict[str, Any]) -> tuple[Any, ...]:
    """The entries of an argument that is an array; they replace it."""
    try:
        values[name] = tuple(values[name])
    except TypeError:
        wrong = type(values[name]).__name__
        raise TypeError(f"{name} is a list with an entry for each dimension, not of type {wrong}") from None
    return values[name]  # type: ignore[no-any-return]


def _concerns(error: ValueError, members: set[str]) -> bool:
    """Whether an error is about one of these members."""
    return isinstance(error, InvalidDescription) and any(
        path_of(one.member)[:1] and path_of(one.member)[0] in members for one in error.violations
    )


def _inputs(
    described: type[Description], inputs: Sequence[Member], given: Mapping[str, Any]
) -> dict[str, Any]:
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
