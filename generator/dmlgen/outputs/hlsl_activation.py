"""Fused activations as HLSL: what an operator's shader may apply to a result before it stores it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_elements import ElementPrinter
from dmlgen.outputs.hlsl_functions import Calls
from dmlgen.outputs.statements import enclosed
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import elementwise

ACTIVATION_PARAMETERS = 2
"""The most that an activation has."""


@dataclass(frozen=True)
class ActivationText:
    """An activation of one element, `input`: `lines` return its value.

    `parameters` are the names of its members, in their order; `value` is the operator's type.
    """

    operator: str
    value: int
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    called: Calls

    @property
    def block(self) -> list[str]:
        """Its lines where a condition decides whether they apply."""
        return enclosed(list(self.lines))


def activations_of(
    registry: Registry, operator: Operator, macro: str, values: Collection[str], parameter: str
) -> tuple[ActivationText, ...]:
    """The activations that an operator's shader supports; their elements have the type `macro`_VALUE, which
    is one of `values`. Parameters are named by number, after `parameter`.

    They are those that work element by element and have few members: no SOFTMAX, no ELEMENT_WISE_CLIP.
    """
    others = map(registry.operator.__getitem__, registry.fusable(operator))
    computes = [
        (other, elementwise.of_elements(other.defines, other.member, other.defines.classes))
        for other in others
        if other.defines is not None and len(other.attributes) <= ACTIVATION_PARAMETERS
    ]
    return tuple(
        _activation(other, compute.value, macro, values, parameter)
        for other, compute in computes
        if compute is not None and compute.value is not None
    )


def _activation(
    operator: Operator, value: ir.Expr, macro: str, values: Collection[str], parameter: str
) -> ActivationText:
    names = tuple(member.name for member in operator.attributes)
    printer = _Printer(macro, values, {name: f"{parameter}{place}" for place, name in enumerate(names)})
    lines, text = printer.value(value)
    return ActivationText(operator.name, operator.value, names, (*lines, f"return {text};"), printer.called)


class _Printer(ElementPrinter):
    """Prints for elements of the tensor that the activation is fused into; `parameters` are the texts of its
    members, which are floats."""

    def __init__(self, macro: str, values: Collection[str], parameters: Mapping[str, str]) -> None:
        super().__init__({})
        self._macro = macro
        self._values = values
        self._parameters = parameters

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        match node:
            case ir.Member(name=name) | ir.Call("element", (ir.Member(name=name),)):
                return self._parameters[name]
        return super().print(node, outer)

    def values(self, node: ir.Expr) -> Collection[str]:
        return self._values if node.type.kind == "element" else super().values(node)

    def element_type(self, type_: ir.Type) -> str:
        return f"{self._macro}_VALUE"
