"""Elements that are computed from others as HLSL.

Integers are `int`, elements have the type in which their tensor is computed, and that of each tensor is a
variable named after it. Names become statements before the expression's text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM
from dmlgen.outputs.hlsl_constants import Constants, ShaderConstant
from dmlgen.outputs.hlsl_names import camel, macro, plain
from dmlgen.outputs.hlsl_printer import CHOICE, LOGIC, HlslPrinter
from dmlgen.outputs.statements import StatementPrinter

_ONE, _ZERO = (ir.Number(value, ir.INT) for value in (1, 0))


class ElementPrinter(HlslPrinter, StatementPrinter):
    """Prints the computation of one element; `elements` are the types in which those of tensors are
    computed."""

    def __init__(self, elements: Mapping[str, Collection[str]]) -> None:
        HlslPrinter.__init__(self)
        StatementPrinter.__init__(self)
        self.constants = Constants()
        self.elements = elements
        self.fused = ""  # the member with an activation

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if (constant := self._constant(node)) is not None:
            if constant.kind == "element":
                return self.call_of("Unpack", self.values(node), constant.name, f"({self.type(node.type)})0")
            return constant.name
        return super().print(node, outer)

    def _constant(self, node: ir.Expr) -> ShaderConstant | None:
        """The constant that a value of the description is passed as; None for what shaders compute."""
        if ir.varies(node) or not _is_named(node):
            return None
        return self.constants.of(node, "switch" if node.type.kind in ("bool", "enum") else node.type.kind)

    def values(self, node: ir.Expr) -> Collection[str]:
        if node.type.kind == "element":
            return self.elements[node.type.name or ""]
        return {"float"} if node.type == ir.FLOAT else {"int"}

    def type(self, type_: ir.Type) -> str:
        """The HLSL type of a value."""
        if type_.kind == "element":
            return self.element_type(type_)
        return {"bool": "bool", "float": "float"}.get(type_.kind, "int")

    def element_type(self, type_: ir.Type) -> str:
        """The macro of the type in which a tensor's elements are computed."""
        assert type_.name is not None
        return f"{macro(plain(type_.name))}_VALUE"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Definition(name=name, value=value):
                if name not in self._defined:
                    before = len(self.statements)
                    text = self.print(value)
                    if text.isidentifier() and len(self.statements) == before:  # a variable anyway
                        return text
                    self._add(f"const {self.type(node.type)} {camel(name)} = {text};")
                    self._defined.add(name)
                return camel(name)
        raise TypeError(f"{node.name} is passed to no shader")

    def load(self, node: ir.Load) -> str:
        return camel(plain(node.tensor.entry))

    def _choice(self, node: ir.Conditional) -> tuple[str, int]:
        test, then, otherwise = (self.print(one, LOGIC) for one in (node.test, node.then, node.otherwise))
        return f"{test} ? {then} : {otherwise}", CHOICE

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="element", arguments=(item,)):
                return f"({self.element_type(node.type)}){self.print(item, ATOM)}"
            case ir.Call(function="convert", arguments=(item, _)):
                type_, number = self.element_type(node.type), self._value(item)
                if item.type.kind == "element":
                    significand = f"{type_.removesuffix('VALUE')}SIGNIFICAND"
                    number = self.call_of("RoundingOnce", self.values(item), number, significand)
                return self.call_of("Convert", self.values(item), number, f"({type_})0")
            case ir.Call(function="quantize", arguments=(item, ir.Tensor(entry=name))):
                limits = (f"{macro(plain(name))}_{end}" for end in ("LOWEST", "HIGHEST"))
                quantized = self.call_of("Quantize", self.values(item), self._value(item), *limits)
                return f"({self.element_type(node.type)}){quantized}"
            case ir.Call(function="difference", arguments=(left, right, _)):
                operands = self.print(left), self.print(right)
                type_ = self.element_type(node.type)
                return self.call_of("Difference", self.values(left), *operands, f"({type_})0")
            case ir.Call(function="apply_activation", arguments=(item, activation)):
                assert isinstance(activation, ir.Member)
                self.fused = activation.name
                return f"Activate({self.print(item)})"
            case ir.Call(
                "max", (ir.Call("min", (item, ir.Call("element", (one,)))), ir.Call("element", (zero,)))
            ) if (one, zero) == (_ONE, _ZERO):
                return self.applied("Saturate", item)
            case ir.Call("round_even", (ir.Call("divide_exactly", (left, right)),)):
                return self.applied("RoundedQuotient", left, right)
            case ir.Call(
                "round_even",
                (ir.Binary("*", left, ir.Call("divide_exactly", (ir.Call("element", (one,)), right))),),
            ) if one == _ONE:
                return self.applied("RoundedByReciprocal", left, right)
            case ir.Call(function="pow", arguments=(_, exponent)):
                return self.applied("Power" if ir.varies(exponent) else "PowerBy", *node.arguments)
        return super().call(node)

    def _value(self, item: ir.Expr) -> str:
        return f"(int){self.print(item, ATOM)}" if item.type == ir.BOOL else self.print(item)

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        return self._choice(node) if isinstance(node, ir.Conditional) else super()._node(node)


def _is_named(node: ir.Expr) -> bool:
    match node:
        case ir.Call(function="convert" | "element", arguments=(item, *_)):
            # An integer is passed as such, and converted to an element in the shader.
            return node.type.kind == "element" and item.type != ir.INT and _is_named(item)
        case _:
            return isinstance(node, ir.Definition | ir.Member | ir.Part | ir.Field | ir.Present)
