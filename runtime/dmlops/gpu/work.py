"""The work of a device: dispatches of an operator's shader over named buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from ..description import Description
from ..enums import OperatorType
from ..registry import operator as described
from ..tensor import TensorDesc
from ..validation import tensors
from .errors import Unsupported
from .planner_inputs import plan
from .plans.capabilities import NO_CAPABILITIES, Capability
from .plans.operands import NO_MEMBER, SCRATCH, Buffer
from .plans.planning import Planning, Refused
from .plans.reasons import TEXTS, Reason


class Dispatch(NamedTuple):
    """One dispatch of the operator's shader, or, if `shader` names another operator, of its shader.

    `buffers` are the names of its resources, in the order of their bindings: tensors by member, such as
    "InputTensor" or "InputTensors[1]", or scratch buffers; the first `reads` are read, the others written.
    `defines` are the shader's macros, `constants` the bytes of its `Params`, `groups` the thread groups along
    x and y. `needs_barrier`: it uses what earlier dispatches wrote.
    """

    defines: Mapping[str, int | str]
    buffers: tuple[str, ...]
    reads: int
    constants: bytes
    groups: tuple[int, int]
    needs_barrier: bool = False
    shader: str | None = None


class Work(NamedTuple):
    """Dispatches; one that needs a barrier uses what those before it wrote.

    `scratch` has the sizes in bytes of buffers that are not tensors. Buffers in `zero_initialize` are
    zero-initialized; the contents of other scratch buffers and of outputs are undefined.
    """

    dispatches: tuple[Dispatch, ...]
    scratch: Mapping[str, int] = MappingProxyType({})
    zero_initialize: tuple[str, ...] = ()


def work_of(desc: Description, capabilities: Capability = NO_CAPABILITIES) -> Work:
    """The work of a valid description on a GPU with these capabilities.

    Raises Unsupported for what the shaders cannot do.
    """
    planning = Planning(capabilities)
    try:
        plan(planning, desc)
    except Refused as refused:
        raise unsupported(desc.OPERATOR, refused, desc) from None
    operator = desc.OPERATOR
    dispatches = [
        Dispatch(step.defines, _names(operator, step.buffers), *step[2:]) for step in planning.steps
    ]
    scratch = {_scratch(place): buffer.size for place, buffer in enumerate(planning.scratches)}
    zero_initialize = [
        _scratch(place) for place, buffer in enumerate(planning.scratches) if buffer.zero_initialize
    ]
    return Work(
        tuple(dispatches),
        scratch,
        (*zero_initialize, *(_name(operator, buffer) for buffer in planning.read_write_outputs)),
    )


def unsupported(operator: str, refused: Refused, desc: Description) -> Unsupported:
    """The error for a planner's refusal."""
    member = None if refused.member == NO_MEMBER else desc.MEMBERS[refused.member].name
    activation = ""
    if refused.reason == Reason.ACTIVATION:
        activation = OperatorType(refused.number).name
    text = TEXTS[refused.reason].format(
        operator=operator, member=member, number=refused.number, activation=activation
    )
    return Unsupported(text, refused.reason, member)


@cache
def _names(operator: str, buffers: tuple[Buffer, ...]) -> tuple[str, ...]:
    return tuple(_name(operator, buffer) for buffer in buffers)


def _name(operator: str, buffer: Buffer) -> str:
    if buffer.member == SCRATCH:
        return _scratch(buffer.entry)
    member = described(operator).MEMBERS[buffer.member]
    return f"{member.name}[{buffer.entry}]" if member.count else member.name


def _scratch(place: int) -> str:
    return f"scratch{place}"


def tensor_names(desc: Description, role: str) -> Iterator[tuple[str, TensorDesc]]:
    """The tensors of a role that are present, with the names of their buffers."""
    for name, member, tensor in tensors(desc):
        if member.role == role:
            yield name, tensor
