"""Fused activations, which operators apply to their results before storing them."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from .description import Description
from .enums import OperatorType
from .tensor import TensorDesc


def activated(value: Any, activation: Any, tensor: TensorDesc) -> Any:
    """Elements after the activation, computed like those of `tensor`; unchanged without an activation."""
    if activation is None:
        return value
    desc = replace(activation, InputTensor=tensor, OutputTensor=tensor)
    module = import_module(f"{__package__}.compute.{activation.OPERATOR.lower()}")
    return module.element(desc, (), lambda name, at: value)


def activation_type(activation: Description | None) -> int:
    """The type of the activation, as passed to shaders; 0 without one."""
    return 0 if activation is None else OperatorType[activation.OPERATOR]


def activation_parameter(activation: Description | None, place: int) -> float:
    """The activation's n-th member that is not a tensor; 0 if there is none."""
    members = [] if activation is None else [m.name for m in activation.MEMBERS if m.role == "attribute"]
    return float(getattr(activation, members[place])) if place < len(members) else 0.0
