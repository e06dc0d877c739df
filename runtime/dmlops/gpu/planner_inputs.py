"""Plans of descriptions, by the planners of operators. The header has the same in C, generated from the same
expressions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from .. import planners
from ..description import Description
from ..enums import OperatorType, TensorDataType
from ..tensor import TensorDesc
from .memory import buffer_size
from .planner_helpers import Planner, arrays, member_indices
from .plans.capabilities import Capability
from .plans.operands import MAX_RANK, NO_MEMBER, NONE, Buffer
from .plans.planning import Planning
from .plans.reasons import Reason


@cache
def planner_of(operator: str) -> Planner:
    """The planner of an operator.

    Raises NotImplementedError if the registry does not define the operator's computation.
    """
    name = f"{planners.__name__}.{operator.lower()}"
    if find_spec(name) is None:
        raise NotImplementedError(f"the registry does not hold what {operator} computes")
    found: Planner = import_module(name).PLANNER
    return found


def plan(out: Planning, desc: Description) -> None:
    """Plans a valid description; if there is an array of tensors, all dispatches for each one. Raises Refused
    for what the shaders, or the device, cannot do."""
    planner = planner_of(desc.OPERATOR)
    if out.has(Capability.LACKS_64_BIT):
        out.refuse(Reason.LACKS_64_BIT, NO_MEMBER, 64)
    _refuse_long_arrays(out, desc)
    activation = getattr(desc, planner.fused) if planner.fused else None
    if planner.shader is None:
        planner.plan(out, planner.inputs(desc, 0))
    elif (
        isinstance(activation, Description)
        and OperatorType[activation.OPERATOR] not in planner.shader.activations
    ):
        _plan_apart(out, desc, planner.fused, activation)
    else:
        for number in range(len(getattr(desc, planner.each)) if planner.each else 1):
            planner.plan(out, planner.inputs(desc, number), planner.shader)


def _refuse_long_arrays(out: Planning, desc: Description) -> None:
    """Rejects arrays of more numbers than C reads, which only repeated axes need: plans depend on all of
    them."""
    for name, index in arrays(desc.OPERATOR).items():
        entries = getattr(desc, name)
        if entries is not None and len(entries) > MAX_RANK:
            out.refuse(Reason.ARRAY_TOO_LONG, index, len(entries))


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
    planner = planner_of(desc.OPERATOR)
    if planner.shader is None or planner.each:
        return None
    product = planner.shader.contraction
    if product.number == NONE:
        return None
    op, places = planner.inputs(desc, 0), (product.left, product.right, product.output)
    if op.window.sizes or max(places) >= len(op.tensors):
        return None
    left, right, output = (desc.MEMBERS[op.tensors[place].buffer.member].name for place in places)
    return Einsum(left, right, output, tuple(op.factors.left), tuple(op.factors.right))


def _plan_apart(out: Planning, desc: Any, fused: str, activation: Any) -> None:
    """Plans the operator without a fused activation that its shader does not support, then the activation's
    shader.

    Results in between are kept in scratch in the type they were computed in, so that they are rounded only
    once.
    """
    (output,) = (member.name for member in desc.MEMBERS if member.role == "output")
    target = getattr(desc, output)
    double = target.DataType == TensorDataType.FLOAT64
    between = TensorDesc(TensorDataType.FLOAT64 if double else TensorDataType.FLOAT32, target.Sizes)
    scratch = out.scratch(buffer_size(between))
    index = member_indices(desc.OPERATOR)[output]
    out.places = {Buffer(index, 0): scratch}
    plan(out, replace(desc, **{fused: None, output: between}))
    own = member_indices(activation.OPERATOR)
    moved = {Buffer(own["InputTensor"], 0): scratch, Buffer(own["OutputTensor"], 0): Buffer(index, 0)}
    out.follow(activation.OPERATOR, moved, index)
    plan(out, replace(activation, InputTensor=between, OutputTensor=target))
