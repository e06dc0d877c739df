"""Planner inputs for tensors and numbers, as the modules in `planners` use them, and what these define."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..arithmetic import as_float
from ..description import Description
from ..enums import OperatorType, TensorDataType
from ..hlsl_types import HLSL_TYPES
from ..registry import NUMBERS
from ..registry import operator as described
from .plans.definition_types import Activation, DefinitionShader
from .plans.operands import MAX_RANK, NO_MEMBER, NONE, PLACEHOLDER, Buffer, Sizes, Tensor
from .plans.planning import Refused
from .plans.reasons import Reason

_FLOAT, _WORD = struct.Struct("<f"), struct.Struct("<i")


class Operand(NamedTuple):
    """A tensor for a planner: its member, the prefix of its macros, its index in an array of tensors, or NONE
    for the current one. `as_bits`: only the bits of its elements matter. `is_held`: its old content is
    read."""

    member: str
    macro: str
    entry: int = 0
    as_bits: bool = False
    is_held: bool = False


class Planner(NamedTuple):
    """The planner of an operator. `inputs` computes what it takes from a description and the index of the
    current tensor, if there is an array of them; `shader` is what it takes besides for a definition. `fused`
    is the member with activations, `each` the array of tensors each of which has its own dispatches; "" if
    none.

    The function of a map reads `constants`, in the order of `elements` and `numbers`, as declarations.
    `element` gives an element for symbols in place of elements; None if a map does more than add, subtract
    and multiply.
    """

    plan: Callable[..., None]
    inputs: Callable[[Any, int], Any]
    shader: DefinitionShader | None = None
    fused: str = ""
    each: str = ""
    constants: Sequence[str] = ()
    element: Callable[..., Any] | None = None

    @property
    def is_map(self) -> bool:
        """Whether it computes each element from a few others."""
        return self.shader is not None and self.shader.map.over != NONE


@cache
def member_indices(operator: str) -> dict[str, int]:
    """The indices of an operator's members, by name."""
    return {member.name: index for index, member in enumerate(described(operator).MEMBERS)}


@cache
def arrays(operator: str) -> Mapping[str, int]:
    """The indices of an operator's arrays of numbers, by name."""
    members = described(operator).MEMBERS
    return {one.name: index for index, one in enumerate(members) if one.count and one.type in NUMBERS}


def tensors_of(desc: Description, operands: Sequence[Operand], current: int) -> list[Tensor]:
    """Tensors as planners take them; `current` is the index of the current one in an array."""
    tensors: list[Tensor] = []
    for one in operands:
        given, entry = getattr(desc, one.member), current if one.entry == NONE else one.entry
        if isinstance(given, tuple):
            given = given[entry] if entry < len(given) else None
        if given is None:
            tensors.append(_absent(desc.OPERATOR, one, entry)._replace(buffer=Buffer(PLACEHOLDER, 0)))
        else:
            typed = _typed(desc.OPERATOR, one, entry, given.DataType)
            tensors.append(typed._replace(sizes=given.Sizes, strides=given.element_strides))
    return tensors


@cache
def _absent(operator: str, one: Operand, entry: int) -> Tensor:
    """The tensor of an absent member: of whole words, without dimensions."""
    index = member_indices(operator)[one.member]
    kinds = one.as_bits, described(operator).MEMBERS[index].role == "output", one.is_held
    return Tensor(one.macro, Buffer(index, entry), False, "UINT32", 32, False, False, True, *kinds, (), ())


@cache
def _typed(operator: str, one: Operand, entry: int, data_type: TensorDataType) -> Tensor:
    """A tensor of a type as planners take it, without sizes and strides."""
    return _absent(operator, one, entry)._replace(
        is_present=True,
        type_name=data_type.name,
        bits=data_type.bits,
        is_float=data_type.kind == "float",
        is_signed=data_type.kind == "signed",
        is_native=HLSL_TYPES[data_type.name].is_native,
    )


def bits(value: float) -> int:
    """The bits of a number in single precision, as a signed integer."""
    return int(_WORD.unpack(_FLOAT.pack(as_float(value)))[0])


def pair(element: Any) -> tuple[int, int]:
    """An element of a tensor's type as two words."""
    number = int.from_bytes(np.asarray(element).tobytes(), "little")
    return number % 2**32, number >> 32


def limited(entries: Sizes) -> Sizes:
    """The list, provided that it is no longer than shaders support."""
    if len(entries) > MAX_RANK:
        raise Refused(Reason.ARRAY_TOO_LONG, NO_MEMBER, len(entries))
    return entries


def activations(fused: Any, known: Sequence[int]) -> list[Activation]:
    """Fused activations, if any; for one that the shader does not know, only its operator."""
    several = () if fused is None else fused if isinstance(fused, tuple) else (fused,)
    return [_activation(one, known) for one in several]


def _activation(desc: Description, known: Sequence[int]) -> Activation:
    kind = OperatorType[desc.OPERATOR].value
    if kind not in known:
        return Activation(kind, 0, 0)
    parameters = [getattr(desc, one.name) for one in desc.MEMBERS if one.role == "attribute"]
    return Activation(kind, *(bits(one) % 2**32 for one in (*parameters, 0, 0)[:2]))
