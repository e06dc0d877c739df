"""Fused activations as shaders take them: the type, and parameters."""

from __future__ import annotations

from ..description import Description
from ..enums import OperatorType


def activation_type(activation: Description | None) -> int:
    """The type of the activation, as passed to shaders; 0 without one."""
    return 0 if activation is None else OperatorType[activation.OPERATOR]


def activation_parameter(activation: Description | None, place: int) -> float:
    """The activation's n-th member that is not a tensor; 0 if there is none."""
    members = [] if activation is None else [m.name for m in activation.MEMBERS if m.role == "attribute"]
    return float(getattr(activation, members[place])) if place < len(members) else 0.0
