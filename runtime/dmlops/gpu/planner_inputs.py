"""Planner inputs, built from a computation. The header has the same in C, generated from the same
expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from .. import compute
from ..computations.scatter import Scatter as ScatterComputation
from ..definition import Defined
from ..description import Description
from ..elements import stored
from ..enums import OperatorType, TensorDataType
from ..planners import computation as computation_of
from ..planners import scheduled
from ..tensor import TensorDesc
from . import movement
from .definition_inputs import DefinitionPlanner, absent, arrays, bits, member_indices, pair, tensor_of
from .memory import buffer_size
from .plans.capabilities import Capability
from .plans.definition import plan_definition
from .plans.gather import Gather, plan_gather
from .plans.map import Map, Number, Switch, plan_map
from .plans.nonzero import Nonzero, plan_nonzero
from .plans.operands import MAX_RANK, NO_MEMBER, NONE, Buffer, Movement, Tensor
from .plans.philox import Philox, plan_philox
from .plans.planning import Planning
from .plans.reasons import Reason
from .plans.scan import Scan, plan_scan
from .plans.scatter import Scatter, plan_scatter
from .plans.top_k import TopK, plan_top_k
from .schedule_records import Gather as GatherComputation
from .schedule_records import Map as MapComputation

KINDS: Mapping[str, tuple[Callable[..., Any], Callable[[Planning, Any], None]]] = {
    "Gather": (Gather, plan_gather),
    "Scan": (Scan, plan_scan),
    "Scatter": (Scatter, plan_scatter),
    "TopK": (TopK, plan_top_k),
    "Nonzero": (Nonzero, plan_nonzero),
    "Philox": (Philox, plan_philox),
}
"""By a computation's class: the record that its planner takes, whose fields are roles, and the planner."""


def plan(out: Planning, computation: Any) -> None:
    """Plans a computation. Raises Refused for what the shaders, or the device, cannot do."""
    if out.has(Capability.LACKS_64_BIT):
        out.refuse(Reason.LACKS_64_BIT, NO_MEMBER, 64)
    _refuse_long_arrays(out, computation.desc)
    if isinstance(computation, Defined):
        _plan_definitions(out, computation)
    elif isinstance(computation, MapComputation):
        _plan_maps(out, computation)
    else:
        record, planner = KINDS[type(computation).__name__]
        planner(out, roles_of(computation, record))


def _refuse_long_arrays(out: Planning, desc: Description) -> None:
    """Rejects arrays of more numbers than C reads, which only repeated axes need: plans depend on all of
    them."""
    for name, index in arrays(desc.OPERATOR).items():
        entries = getattr(desc, name)
        if entries is not None and len(entries) > MAX_RANK:
            out.refuse(Reason.ARRAY_TOO_LONG, index, len(entries))


get_hints = cache(get_type_hints)


def roles_of(computation: Any, record: Callable[..., Any]) -> Any:
    """A planner's input whose fields are roles of a computation."""
    return record(**{name: _role(computation, name, type_) for name, type_ in get_hints(record).items()})


def _role(computation: Any, name: str, type_: Any) -> Any:
    """A planner's input of a name: a tensor, a movement, a number or a choice."""
    if type_ is Movement:
        return movement_of(computation)
    value = getattr(computation, name)
    if type_ is Tensor:
        desc = computation.desc
        return tensor_of(absent(desc.OPERATOR, value, _macros(desc.OPERATOR)[value]), getattr(desc, value))
    return bool(value) if type_ is bool else value  # a BOOL may be any integer


@cache
def _macros(operator: str) -> Mapping[str, str]:
    """The prefix of each tensor's macros in an operator's shader, by member."""
    computing: Any = scheduled(operator) or import_module(f"{compute.__name__}.{operator.lower()}")
    macros: Mapping[str, str] = computing.MACROS
    return macros


def movement_of(computation: GatherComputation | ScatterComputation) -> Movement:
    """The sources of the elements of a gather, or the destinations of updates: the operator's own `target`,
    called with symbols."""
    desc: Any = computation.desc
    if isinstance(computation, ScatterComputation):
        visited, moved = computation.updates, computation.output
    else:
        visited, moved = computation.output, computation.input
    rank = len(getattr(desc, visited).Sizes)
    try:
        target = computation.target(desc, movement.coordinates(rank), partial(movement.reads, desc))
        found = movement.offset_of(target, getattr(desc, moved).element_strides)
    except (AttributeError, TypeError):  # from an operation that symbols do not support
        return movement.NO_MOVEMENT
    return movement.movement(found, rank)


def _plan_maps(out: Planning, computation: MapComputation) -> None:
    """A dispatch; one per tensor if there is an array of them."""
    over = getattr(computation.desc, computation.over)
    if isinstance(over, tuple):
        for number in range(len(over)):
            plan_map(out, map_inputs(computation, number))
    else:
        plan_map(out, map_inputs(computation))


@np.errstate(all="ignore")  # a constant may be too large for the data type
def map_inputs(computation: MapComputation, number: int | None = None) -> Map:
    """The input for the planner of element-wise operators; `number` is that of the current entry if there is
    an array of tensors."""
    desc, operands = computation.desc, computation.operands
    uniforms = computation.uniforms(desc) if number is None else computation.uniforms(desc, number)
    tensors: list[Tensor] = []
    for place, (member, entry, macro) in enumerate(operands.tensors):
        tensor, index = getattr(desc, member), 0
        if isinstance(tensor, tuple):
            index = number or 0 if entry is None else entry
            tensor = tensor[index] if index < len(tensor) else None
        as_bits = bool(operands.as_bits >> place & 1)
        tensors.append(tensor_of(absent(desc.OPERATOR, member, macro, index, as_bits), tensor))
    output = tensors[-1]
    for place, tensor in enumerate(tensors):
        if not tensor.is_present:  # never read; its macros are those of the output
            tensors[place] = output._replace(
                macro=tensor.macro, buffer=tensor.buffer, is_present=False, is_output=False
            )
    elements: list[int] = []
    if uniforms.elements:
        target = getattr(desc, computation.output)
        data_type = (target[0] if isinstance(target, tuple) else target).DataType
        for value in uniforms.elements.values():
            elements += pair(stored(value, data_type) if computation.moves else np.asarray(value))
    return Map(
        operands.is_aligned,
        operands.over,
        operands.single,
        operands.blocked,
        uniforms.widened,
        tensors,
        [Switch(name, int(value)) for name, value in uniforms.switches.items()],
        elements,
        [_number(value) for value in uniforms.scalars.values()],
        list(uniforms.arrays.values()),
    )


def _number(value: float) -> Number:
    if isinstance(value, float | np.floating):
        return Number(bits(value) % 2**32, True)
    return Number(int(value), False)


def _plan_definitions(out: Planning, computation: Defined) -> None:
    """The passes of a definition; if there is an array of tensors, all of them for each one."""
    desc = computation.desc
    shader, inputs, fused, each = _planner_of(desc.OPERATOR)
    activation = getattr(desc, fused) if fused else None
    if isinstance(activation, Description) and OperatorType[activation.OPERATOR] not in shader.activations:
        _plan_apart(out, computation, fused, activation)
        return
    for number in range(len(getattr(desc, each)) if each else 1):
        plan_definition(out, inputs(desc, number), shader)


@cache
def _planner_of(operator: str) -> DefinitionPlanner:
    found: DefinitionPlanner = import_module(f"..planners.{operator.lower()}", __package__).PLANNER
    return found


class Einsum(NamedTuple):
    """An output that is a sum of products of two tensors, by the names of members: for each dimension of a
    factor, the dimension of the output that indexes it; that after the last of these is of the sum."""

    left: str
    right: str
    output: str
    left_axes: tuple[int, ...]
    right_axes: tuple[int, ...]


def einsum(desc: Description) -> Einsum | None:
    """The sum of products, without a window, that an operator computes; None if it computes anything else."""
    if not isinstance(computation_of(desc), Defined):
        return None
    shader, inputs, _, each = _planner_of(desc.OPERATOR)
    number, *places = shader.contraction
    if number == NONE or each:
        return None
    op = inputs(desc, 0)
    if not op.factors.applies or op.factors.window.sizes or max(places) >= len(op.tensors):
        return None
    left, right, output = (desc.MEMBERS[op.tensors[place].buffer.member].name for place in places)
    return Einsum(left, right, output, tuple(op.factors.left), tuple(op.factors.right))


def _plan_apart(out: Planning, computation: Defined, fused: str, activation: Description) -> None:
    """Plans the operator without a fused activation that its shader does not support, then the activation's
    shader.

    Results in between are kept in scratch in the type they were computed in, so that they are rounded only
    once.
    """
    desc: Any = computation.desc
    (output,) = (member.name for member in desc.MEMBERS if member.role == "output")
    target = getattr(desc, output)
    double = target.DataType == TensorDataType.FLOAT64
    between = TensorDesc(TensorDataType.FLOAT64 if double else TensorDataType.FLOAT32, target.Sizes)
    scratch = out.scratch(buffer_size(between))
    index = member_indices(desc.OPERATOR)[output]
    out.places = {Buffer(index, 0): scratch}
    without = replace(desc, **{fused: None, output: between})
    _plan_definitions(out, computation._replace(desc=without))
    own = member_indices(activation.OPERATOR)
    moved = {Buffer(own["InputTensor"], 0): scratch, Buffer(own["OutputTensor"], 0): Buffer(index, 0)}
    out.follow(activation.OPERATOR, moved, index)
    alone: Any = activation
    plan(out, computation_of(replace(alone, InputTensor=between, OutputTensor=target)))
