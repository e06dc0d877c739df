"""Fused activations as HLSL: what an operator's shader may apply to a result before it stores it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_functions import Calls
from dmlgen.outputs.hlsl_map import ACTIVATION_PARAMETERS, MapPrinter
from dmlgen.outputs.hlsl_names import camel
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import elementwise


@dataclass(frozen=True)
class Activation:
    """An activation of one element, `input`: `text` is its value, after `lines`.

    `parameters` are the names of its members, in their order; `value` is the operator's type.
    """

    operator: str
    value: int
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    text: str
    called: Calls


def activations_of(
    registry: Registry, operator: Operator, macro: str, values: Collection[str]
) -> tuple[Activation, ...]:
    """The activations that an operator's shader supports; their elements have the type `macro`_VALUE, which
    is one of `values`.

    They are those that work element by element and have few members: no SOFTMAX, no ELEMENT_WISE_CLIP.
    """
    others = map(registry.operator.__getitem__, registry.fusable(operator))
    computes = [
        (other, elementwise.of_elements(other.defines, other.member, other.defines.classes))
        for other in others
        if other.defines is not None and len(other.attributes) <= ACTIVATION_PARAMETERS
    ]
    return tuple(
        _activation(other, compute.value, _Printer(macro, values))
        for other, compute in computes
        if compute is not None and compute.value is not None
    )


def _activation(operator: Operator, value: ir.Expr, printer: _Printer) -> Activation:
    lines, text = printer.value(value)
    parameters = tuple(camel(member.name) for member in operator.attributes)
    return Activation(operator.name, operator.value, parameters, tuple(lines), text, printer.called)


class _Printer(MapPrinter):
    """Prints for elements of the tensor that the activation is fused into."""

    def __init__(self, macro: str, values: Collection[str]) -> None:
        super().__init__({}, aligned=True)
        self._macro = macro
        self._values = values

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        constant = self._constant(node)  # a parameter; all of them are floats
        return super().print(node, outer) if constant is None else constant.name

    def values(self, node: ir.Expr) -> Collection[str]:
        return self._values if node.type.kind == "element" else super().values(node)

    def element_type(self, type_: ir.Type) -> str:
        return f"{self._macro}_VALUE"
