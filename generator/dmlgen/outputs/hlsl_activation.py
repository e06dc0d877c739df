"""Fused activations as HLSL: what an operator's shader may apply to a result before it stores it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from dmlgen.expr import ir
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_functions import Calls
from dmlgen.registry import Operator, Registry
from dmlgen.schedules.elementwise import Elementwise, elementwise_of

_PARAMETERS = 2
"""Parameters of an activation, at most, which shaders name by number."""


@dataclass(frozen=True)
class ActivationText:
    """An activation of one element, `input`: `line` returns its value.

    `parameters` are the names of its members, in their order; `value` is the operator's type.
    """

    operator: str
    value: int
    parameters: tuple[str, ...]
    line: str
    called: Calls


def activations_of(
    registry: Registry, operator: Operator, values: Collection[str]
) -> tuple[ActivationText, ...]:
    """The activations that an operator's shader supports, of floats, whose type is one of `values`.

    They are those that work element by element and have few members: no SOFTMAX, no ELEMENT_WISE_CLIP.
    """
    others = map(registry.operator.__getitem__, registry.fusable(operator))
    computes = [
        (other, elementwise_of(other.defines, other.member))
        for other in others
        if other.defines is not None and len(other.attributes) <= _PARAMETERS
    ]
    return tuple(
        _activation(registry, other, compute, values) for other, compute in computes if compute is not None
    )


def _activation(
    registry: Registry, operator: Operator, form: Elementwise, values: Collection[str]
) -> ActivationText:
    names = tuple(member.name for member in operator.attributes)
    printer = ShaderPrinter(registry, operator, (form,), frozenset())
    printer.reals = set(values)

    def of_floats(node: ir.Expr) -> ir.Expr:
        """The value of floats, whatever the types of the activation's own tensors."""
        match node:
            case ir.Load():
                return ir.Local("input", ir.FLOAT, varies=True)
            case ir.Member(name=name):
                return ir.Local(f"parameter{names.index(name)}", ir.FLOAT, varies=True)
            case ir.Call("element", (number,)):
                return of_floats(number)
            case ir.Number(value=number) if node.type == ir.INT:
                return ir.Number(float(number), ir.FLOAT)
        node = ir.rebuilt(node, of_floats)
        if isinstance(node, ir.Binary | ir.Call) and node.type.kind == "element":
            return replace(node, type=ir.FLOAT)
        return node

    text = printer.value(of_floats(form.value), False)
    return ActivationText(operator.name, operator.value, names, f"return {text};", printer.called)
