"""Expressions as HLSL.

Integers are `int`, elements have the type in which their tensor is computed. What is not an expression in
HLSL (arrays, loops, guarded reads of a tensor) becomes statements before the expression's text. An array with
one entry per dimension is never built: its entries are computed where they are used.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from itertools import count

from dmlgen.analysis.functions import gelu_of, softplus_of
from dmlgen.expr import ir
from dmlgen.expr.bounds import Bounds
from dmlgen.expr.definition_queries import may_be_written_zero
from dmlgen.expr.printer import ATOM, COMPARISON, PRODUCT
from dmlgen.names import shader_variable
from dmlgen.outputs.statements import NumberPrinter, StatementPrinter, indented
from dmlgen.outputs.uniforms import Uniforms, camel, macro, plain, reciprocal_of

LARGEST = 2**31 - 1
CHOICE, LOGIC = 0, 1
"""Precedences of `?`, `&&` and `||`. Operands of one of the latter that contain the other are put in
parentheses, since compilers warn about mixing them."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_NEUTRAL = {"all": "true", "any": "false", "sum": "0", "product": "1"}
_COMBINED = {"all": "{0} && {1}", "any": "{0} || {1}", "sum": "{0} + {1}", "product": "{0} * {1}"}
_FLOORED = {"//": "FloorDivide", "%": "FloorModulo"}
_LIMITS = {"min": "2147483647", "max": "-2147483647 - 1"}


class HlslConditions(NumberPrinter):
    """Prints conditions. Compilers may assume that no float is NaN, so functions compare elements."""

    def deciding(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of a value that decides something."""
        return self.print(node, outer)

    def compared(self, function: str, left: ir.Expr, right: ir.Expr) -> str:
        """A call of a function that compares elements."""
        raise NotImplementedError

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Logic(op=op, operands=operands):
                texts = [self.deciding(item, COMPARISON) for item in operands]
                return self.spelling.logic[op].join(texts), LOGIC
            case ir.Compare("!=", left, right) if left.type.kind in ("element", "float"):
                return f"!{self.compared('Equal', left, right)}", COMPARISON
            case ir.Compare("==", left, right) if left.type.kind in ("element", "float"):
                return self.compared("Equal", left, right), ATOM
            case ir.Compare(op, left, right) if left.type.kind in ("element", "float"):
                function = "LessOrEqual" if "=" in op else "Less"
                return self.compared(function, *((right, left) if ">" in op else (left, right))), ATOM
            case ir.Compare(op, left, right):
                inner = COMPARISON + 1
                return f"{self.deciding(left, inner)} {op} {self.deciding(right, inner)}", COMPARISON
            case ir.Not(operand=ir.OneOf() as item):
                return self._among(item, "!=", " && ")
            case ir.OneOf():
                return self._among(node, "==", " || ")
            case ir.Not(operand=operand):
                return f"!{self.deciding(operand, ATOM)}", COMPARISON  # compared only in parentheses
        return super()._node(node)

    def _among(self, node: ir.OneOf, sign: str, glue: str) -> tuple[str, int]:
        """Whether an item is, or is not, one of several."""
        item = self.deciding(node.item, COMPARISON + 1)
        tests = [f"{item} {sign} {self.deciding(choice, COMPARISON + 1)}" for choice in node.choices]
        return glue.join(tests), COMPARISON if len(tests) == 1 else LOGIC


class HlslPrinter(HlslConditions, StatementPrinter):
    """Prints the computation of one element.

    `aligned`: all tensors are read in step, and the element of each is a variable named after it.
    """

    def __init__(self, uniforms: Uniforms, aligned: bool, bounds: Bounds | None = None) -> None:
        super().__init__()
        self.uniforms = uniforms
        self.bounds = bounds or Bounds()
        self.bounds.known["at"] = (0, LARGEST)
        self.aligned = aligned
        self.quantized: dict[str, None] = {}  # tensors whose limits are needed
        self.activates = False  # whether there may be a fused activation
        self._named_values: dict[str, str] = {}

    def offset(self, coordinate: ir.Expr, strides: str) -> tuple[list[str], str]:
        """Statements, and the name of a coordinate's offset in a tensor."""
        with self.block() as lines:
            return lines, self._offset(coordinate, strides)

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        name = self.uniforms.name(node)
        if name is None and isinstance(node, ir.Index):
            return self.entry(node.sequence, self.print(node.index), outer)
        if name is None:
            return super().print(node, outer)
        if name in self.uniforms.elements:
            return f"{self._use('Unpack')}({name}, ({self.type(node.type)})0)"
        return name

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
                    text = self.print(value)
                    self._add(f"const {self.type(node.type)} {camel(name)} = {text};")
                    self._defined.add(name)
                return camel(name)
            case ir.Local(name=name):
                return name if name in ("at", "index", *ir.STEP_NAMES) else shader_variable(name)
        raise TypeError(f"{node.name} is passed to no shader")

    def field(self, node: ir.Field) -> str:
        if node.name != "DimensionCount":
            raise TypeError(f"{node.tensor.name}.{node.name} is passed to no shader")
        return "RANK"

    def entry(self, sequence: ir.Expr, dimension: str, outer: int) -> str:
        """The entry of an array for a dimension, in parentheses if `outer` binds tighter."""
        name = self.uniforms.name(sequence)
        if name is not None:
            return f"dimensions[{dimension}].{name}"
        match sequence:
            case ir.Local(name="at"):
                return f"at[{dimension}]"
            case ir.Definition(value=value):
                return self.entry(value, dimension, outer)
            case ir.Call(function="replace", arguments=(original, index, value)):
                changed = self._named(value)
                entry = self.entry(original, dimension, LOGIC)
                text = f"{dimension} == {self.print(index, COMPARISON + 1)} ? {changed} : {entry}"
            case ir.Reduce(kind="list", loop=ir.Loop(variable=variable, condition=None), body=body):
                apart = self._apart(body, _NAME.findall(dimension))
                return self.print(ir.substitute(apart, {variable: ir.Local(dimension, ir.INT)}), outer)
            case ir.ListOf(items=items):
                *before, text = map(self._named, items)
                for number, item in reversed(list(enumerate(before))):
                    text = f"{dimension} == {number} ? {item} : {text}"
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                branches = [self.entry(branch, dimension, LOGIC) for branch in (then, otherwise)]
                text = f"{self.print(test, LOGIC)} ? {branches[0]} : {branches[1]}"
            case _:
                raise TypeError(f"{type(sequence).__name__} cannot be read by dimension in a shader")
        return f"({text})" if outer > CHOICE else text

    def _apart(self, node: ir.Expr, names: Collection[str]) -> ir.Expr:
        """The expression with other variables for loops whose own would hide these names; inner loops come
        first. Definitions are printed apart."""
        if isinstance(node, ir.Definition) or self.uniforms.name(node) is not None:
            return node
        node = ir.substitute(node, {part: self._apart(part, names) for part in ir.children(node)})
        if not isinstance(node, ir.Reduce) or node.loop.variable.name not in names:
            return node
        old = node.loop.variable
        taken = {*names, *(part.name for part in ir.walk(node) if isinstance(part, ir.Local))}
        variable = ir.Local(next(name for n in count(2) if (name := f"{old.name}{n}") not in taken), ir.INT)
        new: dict[ir.Expr, ir.Expr] = {old: variable}
        condition = None if node.loop.condition is None else ir.substitute(node.loop.condition, new)
        loop = replace(node.loop, variable=variable, condition=condition)
        return replace(node, loop=loop, body=ir.substitute(node.body, new))

    def load(self, node: ir.Load) -> str:
        tensor = plain(node.tensor.entry)
        if self.aligned:
            return camel(tensor)
        return f"Load{tensor}({self._offset(node.coordinate, f'{camel(tensor)}Stride')})"

    def _offset(self, coordinate: ir.Expr, stride: str) -> str:
        self._prepare(coordinate)
        offset = self._new("offset")
        with self.block() as body:
            self._add(f"{offset} += (uint){self.entry(coordinate, 'd', ATOM)} * dimensions[d].{stride};")
        self._add(f"uint {offset} = 0;", "[unroll]", "for (int d = 0; d < RANK; d++)", *_body(body))
        return offset

    def _prepare(self, coordinate: ir.Expr) -> None:
        """Computes what all dimensions of a coordinate share ahead of the loop over them."""
        match coordinate:
            case ir.Call(function="replace", arguments=(original, _, value)):
                self._named(value)
                self._prepare(original)
            case ir.ListOf(items=items):
                for item in items:
                    self._named(item)
            case ir.Definition(value=value):
                self._prepare(value)
            case ir.Reduce(body=body):
                for node in ir.walk(body):
                    if isinstance(node, ir.Definition) and node.type != ir.INTS and ir.varies(node):
                        self.print(node)
                    elif isinstance(node, ir.Index):
                        self._prepare(node.sequence)
            case ir.Conditional(then=then, otherwise=otherwise):
                self._prepare(then)
                self._prepare(otherwise)

    def _named(self, value: ir.Expr) -> str:
        """A number that is computed once: its name, or its text if that is a name."""
        if self.uniforms.name(value) is not None or isinstance(value, ir.Number | ir.Definition | ir.Local):
            return self.print(value)
        key = f"= {value!r}"
        if key not in self._defined:
            name = self._new("changed")
            self._add(f"const int {name} = {self.print(value)};")
            self._defined.add(key)
            self._named_values[key] = name
        return self._named_values[key]

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        x = softplus_of(node)
        if x is not None:
            return self._call("Softplus", x), ATOM
        if node.type.kind == "element" and node.op == "/":
            exactly = may_be_written_zero(node.left)
            return self._call("DivideExactly" if exactly else "Quotient", node.left, node.right), ATOM
        if node.op in ("<<", ">>"):
            return self._call("ShiftLeft" if node.op == "<<" else "ShiftRight", node.left, node.right), ATOM
        if node.op in ("//", "%") and node.type == ir.INT:
            reciprocal = self._reciprocal(node.right)
            if reciprocal is not None:
                texts = self.print(node.left), self.print(node.right), reciprocal
                return f"{self._use(_FLOORED[node.op] + 'By')}({', '.join(texts)})", ATOM
            if self.bounds.value(node.left)[0] < 0 or self.bounds.value(node.right)[0] < 0:
                return self._call(_FLOORED[node.op], node.left, node.right), ATOM
            left, right = self.print(node.left, PRODUCT), self.print(node.right, PRODUCT + 1)
            return f"{left} {node.op[0]} {right}", PRODUCT
        return super().binary(node)

    def _reciprocal(self, divisor: ir.Expr) -> str | None:
        """The reciprocal of a divisor from the description, if shaders have it."""
        match divisor:
            case ir.Index(sequence=sequence, index=index):
                name = self.uniforms.name(sequence)
                known, text = self.uniforms.arrays, f"dimensions[{self.print(index)}]."
            case _:
                name, known, text = self.uniforms.name(divisor), self.uniforms.scalars, ""
        return text + reciprocal_of(name) if name and reciprocal_of(name) in known else None

    def _choice(self, node: ir.Conditional) -> tuple[str, int]:
        x = gelu_of(node)
        if x is not None:
            return self._call("Gelu", x), ATOM
        test = self.print(node.test, LOGIC)
        found = self.choice(node, test, self.type(node.type), LOGIC)
        return (found, ATOM) if isinstance(found, str) else (f"{test} ? {found[0]} : {found[1]}", CHOICE)

    def chooses_apart(self, node: ir.Conditional) -> bool:
        """Whether a branch reads a tensor that must only be read if its condition holds."""
        parts = (part for branch in (node.then, node.otherwise) for part in ir.walk(branch))
        return not self.aligned and any(isinstance(part, ir.Load) for part in parts)

    def _branch(self, test: str, then: list[str], otherwise: list[str]) -> None:
        self._add(f"if ({test})", *_braces(then), "else", *_braces(otherwise))

    def reduce(self, node: ir.Reduce) -> str:
        name, variable = self._new(node.kind), self.print(node.loop.variable)
        over_rank = isinstance(node.loop.upper, ir.Field) and node.loop.upper.name == "DimensionCount"
        lower = self.print(node.loop.lower)
        upper = "RANK" if over_rank else self.print(node.loop.upper, COMPARISON + 1)
        with self.block() as lines:
            body = self.print(node.body, ATOM)
            if node.kind in _LIMITS:
                more = f"{node.kind}({name}, {body})"
            else:
                more = _COMBINED[node.kind].format(name, body)
            self._add(f"{name} = {more};")
        if node.loop.condition is not None:
            lines[:] = [f"if ({self.print(node.loop.condition)})", *_braces(lines)]
        type_ = "bool" if node.type == ir.BOOL else "int"
        self._add(f"{type_} {name} = {_NEUTRAL.get(node.kind) or _LIMITS[node.kind]};")
        if over_rank:
            self._add("[unroll]")
        self._add(f"for (int {variable} = {lower}; {variable} < {upper}; {variable}++)", *_body(lines))
        return name

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="element", arguments=(item,)):
                return f"({self.element_type(node.type)}){self.print(item, ATOM)}"
            case ir.Call(function="convert", arguments=(item, _)):
                type_, number = self.element_type(node.type), self._value(item)
                if item.type.kind == "element":
                    number = f"{self._use('RoundingOnce')}({number}, {type_.removesuffix('VALUE')}BITS)"
                return f"{self._use('Convert')}({number}, ({type_})0)"
            case ir.Call(function="quantize", arguments=(item, ir.Tensor(entry=name))):
                self.quantized[name] = None
                limits = f"{macro(plain(name))}_LOWEST, {macro(plain(name))}_HIGHEST"
                quantized = f"{self._use('Quantize')}({self._value(item)}, {limits})"
                return f"({self.element_type(node.type)}){quantized}"
            case ir.Call(function="of_rank", arguments=(rank,)):
                return f"{self._use('OfRank')}({self.print(rank)}, ({self.element_type(node.type)})0)"
            case ir.Call(function="difference", arguments=(left, right, _)):
                operands = f"{self.print(left)}, {self.print(right)}"
                return f"{self._use('Difference')}({operands}, ({self.element_type(node.type)})0)"
            case ir.Call(function="apply_activation", arguments=(item, _)):
                self.activates = True
                return f"Activate({self.print(item)})"
            case ir.Call(function="max", arguments=(item, ir.Number(value=0))) if (
                node.type == ir.INT
                and 0 <= self.bounds.value(item)[0] <= self.bounds.value(item)[1] <= LARGEST
            ):  # nor wraps around
                return self.print(item, ATOM)
            case ir.Call(
                "max",
                (
                    ir.Call("min", (item, ir.Call("element", (ir.Number(value=1),)))),
                    ir.Call("element", (ir.Number(value=0),)),
                ),
            ):
                return self._call("Saturate", item)
            case ir.Call(function="min" | "max" | "abs" as function) if node.type == ir.INT:
                return f"{function}({', '.join(map(self.print, node.arguments))})"
            case ir.Call("round_even", (ir.Call("divide_exactly", (left, right)),)):
                return self._call("RoundedQuotient", left, right)
            case ir.Call(
                "round_even",
                (
                    ir.Binary(
                        "*",
                        left,
                        ir.Call("divide_exactly", (ir.Call("element", (ir.Number(value=1),)), right)),
                    ),
                ),
            ):
                return self._call("RoundedByReciprocal", left, right)
            case ir.Call(function="pow", arguments=(_, exponent)):
                return self._call("Power" if ir.varies(exponent) else "PowerBy", *node.arguments)
        return self._call("".join(word.capitalize() for word in node.function.split("_")), *node.arguments)

    def _value(self, item: ir.Expr) -> str:
        return f"(int){self.print(item, ATOM)}" if item.type == ir.BOOL else self.print(item)

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        return self._choice(node) if isinstance(node, ir.Conditional) else super()._node(node)

    def compared(self, function: str, left: ir.Expr, right: ir.Expr) -> str:
        return self._call(function, left, right)

    def _call(self, function: str, *arguments: ir.Expr) -> str:
        return f"{self._use(function)}({', '.join(self.print(argument) for argument in arguments)})"

    def _use(self, function: str) -> str:
        self.functions.add(function)
        return function


def _body(lines: list[str]) -> list[str]:
    return indented(lines) if len(lines) == 1 else _braces(lines)


def _braces(lines: list[str]) -> list[str]:
    return ["{", *indented(lines), "}"]
