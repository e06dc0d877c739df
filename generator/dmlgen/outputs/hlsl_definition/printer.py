"""The expressions of a definition as HLSL."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeVar

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.expr.define import NUMBERS
from dmlgen.expr.definition_queries import is_known, may_be_written_zero
from dmlgen.expr.printer import ATOM, COMPARISON, PRODUCT, SUM
from dmlgen.names import pascal
from dmlgen.outputs.hlsl_constants import ShaderConstant
from dmlgen.outputs.hlsl_definition.constants import axes_in, bounds_of_lists, is_constant, truths_of
from dmlgen.outputs.hlsl_definition.functions import is_function
from dmlgen.outputs.hlsl_definition.loops import LoopPrinter
from dmlgen.outputs.hlsl_names import local
from dmlgen.outputs.reads import moved_as_bits
from dmlgen.registry import Operator, Registry
from dmlgen.schedules.attention import Attention
from dmlgen.schedules.contraction import Contraction
from dmlgen.schedules.elementwise import Elementwise
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.vector_axis import VectorAxis

F = TypeVar("F", bound=FastForm)
CHOICE, LOGIC = 0, 1
"""Precedences of `?`, `&&` and `||`. Operands of one of the latter that contain the other are put in
parentheses, since compilers warn about mixing them."""
_UNARY = ATOM - 1  # how tightly a sign binds


class ShaderPrinter(LoopPrinter):
    """Prints the expressions of one definition, and collects what they need.

    Compilers may assume that no float is NaN, so functions compare elements.
    """

    def __init__(
        self, registry: Registry, operator: Operator, forms: Sequence[FastForm], taken: frozenset[str]
    ) -> None:
        """`forms` are those that replace passes; `taken` are names that functions must not have."""
        defines = operator.defines
        assert defines is not None
        gathers = any(isinstance(one, Elementwise) and one.is_gathered for one in forms)
        super().__init__(registry, operator, moved_as_bits(operator, defines, forms), gathers, taken)
        self.forms = forms
        self.fused = ""
        whole, one = tuple(defines.whole), self.form(Elementwise)
        if one is not None:
            whole = () if one.is_gathered else (one.value,)
        self.longest = 2 * MAX_RANK if any(map(_is_long, whole)) else MAX_RANK
        attention, contraction = self.form(Attention), self.form(Contraction)
        printed = [*whole, *(() if attention is None else (attention.score, attention.counts))]
        axes = () if contraction is None else axes_in(contraction.value)
        for bound in dict.fromkeys((*bounds_of_lists(whole), *truths_of(printed), *axes)):
            self.constants.add(bound, "bound")
        vector = self.form(VectorAxis)
        self.vectorized = "" if vector is None else vector.tensor

    def form(self, kind: type[F]) -> F | None:
        """The form of a kind that replaces passes, if there is one."""
        return next((one for one in self.forms if isinstance(one, kind)), None)

    def value(self, node: ir.Expr, decides: bool, outer: int = 0) -> str:
        """The value of an intermediate tensor at `at`; `decides`: its floats do."""
        return self._in(node, decides, outer)

    def stored(self, name: str, node: ir.Expr) -> str:
        """The value of an output at `at`, in the type in which its elements are computed."""
        self.subject = self.tensors[name].function
        match node:
            case ir.Call("convert", (number, ir.Tensor(entry=entry))) if (
                entry == name and node.type != ir.FLOAT
            ):
                return self._in_value_type(number, name)
        type_ = self.tensors[name].value
        if node.type == ir.FLOAT and self.tensors[name].values == {"float"}:
            return self._in(node, False)
        if node.type == ir.FLOAT:
            return f"({type_}){self._rounded_once(node, name)}"
        if node.type.kind == "element":
            return self._in(node, False, 0)
        return f"({type_}){self._in(node, False, ATOM)}"

    def of_elements(self, name: str, node: ir.Expr, elements: Mapping[ir.Load, ir.Local]) -> str:
        """The value of an output as a function of elements, locals."""
        self._locals = {one.name: self.widths.bits(load, {}) for load, one in elements.items()}
        return self.stored(name, ir.substitute(node, dict(elements.items())))

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if is_constant(node):
            text, precedence = self._constant(node)
            return f"({text})" if precedence < outer else text
        return super().print(node.value if isinstance(node, ir.Definition) else node, outer)

    def _constant(self, node: ir.Expr) -> tuple[str, int]:
        constant = self.constants.of(node)
        name = constant.name
        if constant.kind == "bound":
            return f"{constant.macro}_BOUND", ATOM
        if constant.kind in ("ints", "floats"):
            return _whole_list(constant), ATOM
        if constant.kind == "element":
            return self.call_of("Unpack", self.values(node), name, f"({self.type_name(node.type)})0"), ATOM
        if node.type == ir.BOOL:
            return f"{name} != 0", COMPARISON
        return name if constant.kind == "int" else self._of_float(name), ATOM

    def number(self, value: int | bool | float) -> str:
        if isinstance(value, int):
            return super().number(value)
        exact = array("f", [value])[0] == value
        return self._of_float(f"{value!r}f") if exact else f"({self.real}){value!r}L"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Local(name=name):
                return local(name)
        raise TypeError(f"{node.name} is passed to no shader")

    def index(self, node: ir.Index) -> str:
        if is_constant(node.sequence):
            return self._entry_of(self.constants.of(node.sequence), node.index)
        text = f"Entry({self.deciding(node.sequence)}, {self._narrow(node.index)})"
        return self._of_float(f"asfloat({text})") if node.type == ir.FLOAT else text

    def _entry_of(self, listed: ShaderConstant, index: ir.Expr) -> str:
        """An entry of a constant list."""
        text = f"ENTRY_OF({listed.name}, {listed.length}, {self._narrow(index)})"
        return self._of_float(f"asfloat({text})") if listed.kind == "floats" else text

    def slice(self, node: ir.Slice) -> str:
        lower = "0" if node.lower is None else self._narrow(node.lower)
        upper = str(self.longest) if node.upper is None else self._narrow(node.upper)
        return f"Part({self.print(node.sequence)}, {lower}, {upper})"

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        texts = [self._narrow(item) for item in items]
        lists = [_eight(texts[first : first + MAX_RANK]) for first in range(0, len(texts), MAX_RANK)]
        return reduce(lambda left, right: f"Join({left}, {right})", lists) if lists else "(List)0"

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Entry():
                return self._entry(node), ATOM
            case ir.Apply():
                return self.apply(node), ATOM
            case ir.Negate(operand=operand) if node.type == ir.INT and self._is_wide(node):
                return f"(int64_t)0 - {self._widened(operand, PRODUCT)}", SUM
            case ir.Negate(operand=operand) if node.type == ir.INT:
                return f"0 - {self.print(operand, PRODUCT)}", SUM
            case ir.Negate(operand=operand):
                return f"-{self.print(operand, ATOM)}", _UNARY
            case ir.Conditional():
                return self._choice(node)
            case ir.Call(function="clamp"):
                return self._clamped(node)
            case ir.Logic(op=op, operands=operands):
                texts = [self.deciding(item, COMPARISON) for item in operands]
                return self.spelling.logic[op].join(texts), LOGIC
            case ir.Compare("!=", left, right) if left.type.kind in ("element", "float"):
                return f"!{self._compared('Equal', left, right)}", COMPARISON
            case ir.Compare("==", left, right) if left.type.kind in ("element", "float"):
                return self._compared("Equal", left, right), ATOM
            case ir.Compare(op, left, right) if left.type.kind in ("element", "float"):
                function = "LessOrEqual" if "=" in op else "Less"
                return self._compared(function, *((right, left) if ">" in op else (left, right))), ATOM
            case ir.Compare(op, left, right):
                inner = COMPARISON + 1
                return f"{self.deciding(left, inner)} {op} {self.deciding(right, inner)}", COMPARISON
            case ir.OneOf(item=one, choices=choices):
                item = self.deciding(one, COMPARISON + 1)
                tests = [f"{item} == {self.deciding(choice, COMPARISON + 1)}" for choice in choices]
                return " || ".join(tests), COMPARISON if len(tests) == 1 else LOGIC
            case ir.Not(operand=operand):
                return f"!{self.deciding(operand, ATOM)}", COMPARISON  # compared only in parentheses
        return super()._node(node)

    def applied(self, function: str, *arguments: ir.Expr) -> str:
        """A call of a function of the library for a number as its first argument."""
        return self.call_of(function, self.values(arguments[0]), *map(self.print, arguments))

    def _compared(self, function: str, left: ir.Expr, right: ir.Expr) -> str:
        return self.call_of(function, self.values(left), self.deciding(left), self.deciding(right))

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        op, left, right = node.op, node.left, node.right
        if node.type == ir.INTS:
            return f"Join({self.print(left)}, {self.print(right)})", ATOM
        is_wide = node.type == ir.INT and self._is_wide(node)
        if op in ("//", "%"):
            function = "FloorQuotient" if op == "//" else "FloorRemainder"
            if self._is_wide(left) or self._is_wide(right):
                text = f"Wide{function}({self._widened(left)}, {self._widened(right)})"
                return text if is_wide else f"(int){text}", ATOM
            given = f"{self.deciding(left)}, {self.deciding(right)}"
            if self.bounds.value(right)[0] < 1:
                return f"{function}({given})", ATOM
            if isinstance(right, ir.Index) and is_constant(right.sequence):
                reciprocal = self._entry_of(self.constants.reciprocals(right.sequence), right.index)
                return f"{function}By({given}, {reciprocal})", ATOM
            if is_constant(right):
                return f"{function}By({given}, 2 * {self.constants.reciprocal(right).name})", ATOM
            return f"{function}({given})", ATOM
        if op in ("<<", ">>"):
            return self.applied(f"Shift{'Left' if op == '<<' else 'Right'}", left, right), ATOM
        if op == "/" and node.type.kind == "element":
            return self.applied(
                "DivideExactly" if may_be_written_zero(left) else "Quotient", left, right
            ), ATOM
        if op == "/" and (self._single or may_be_written_zero(left)):
            return self.applied("Divide", left, right), ATOM
        if op == "/" and self.form(Elementwise) is not None:  # quotients of any numbers
            return self.applied("Quotient", left, right), ATOM
        if op not in ("+", "-", "*", "/"):
            return f"{self.print(left, ATOM)} {op} {self.print(right, ATOM)}", LOGIC
        own = SUM if op in ("+", "-") else PRODUCT
        write = self._widened if is_wide else self.print
        return f"{write(left, own)} {op} {write(right, own + 1)}", own

    def _choice(self, node: ir.Conditional) -> tuple[str, int]:
        if is_function(node):
            return self._lifted(node, "Choice", lambda: self._returned(node)), ATOM
        write = self._widened if node.type == ir.INT and self._is_wide(node) else self.print
        then, otherwise = (write(branch, LOGIC) for branch in (node.then, node.otherwise))
        return f"{self.deciding(node.test, LOGIC)} ? {then} : {otherwise}", CHOICE

    def call(self, node: ir.Call) -> str:
        name, arguments = node.function, node.arguments
        match node:
            case ir.Call("round_even", (ir.Binary("/", left, right, ir.FLOAT),)):
                return self.call_of("RoundedQuotient", self.reals, self.deciding(left), self.deciding(right))
            case ir.Call(
                "round_even", (ir.Binary("*", left, ir.Binary("/", ir.Number(value=1), right), ir.FLOAT),)
            ):
                given = self.deciding(left), self.deciding(right)
                return self.call_of("RoundedByReciprocal", self.reals, *given)
            case ir.Call("max", (ir.Call("min", (x, ir.Number(value=1))), ir.Number(value=0)), ir.FLOAT):
                return self.applied("Saturate", x)
        match name:
            case "element" if isinstance(arguments[0], ir.Number):
                return f"({self.type_name(node.type)}){self.print(arguments[0], ATOM)}"
            case "element":
                text, none = self.print(arguments[0]), f"({self.type_name(node.type)})0"
                return self.call_of("Convert", self.values(arguments[0]), text, none)
            case "normalize_index":
                index, count = arguments  # an element in its own type, which may be 64-bit and unsigned
                if isinstance(index, ir.Load):
                    text, values = self._element(index), self.tensors[index.tensor.entry].values
                    return self.call_of("NormalizeIndex", values, text, self._narrow(count))
                text = self._whole(index)
                return self.call_of("NormalizeIndex", self.values(index), text, self._narrow(count))
            case "apply_activation":
                return self._activated(*arguments)
            case "convert" | "quantize":
                return self._converted(node, *arguments)
            case "min_value" | "max_value":
                return self._limit(name, node, arguments[0])
            case "previous_contents":
                target = arguments[0]
                assert isinstance(target, ir.Tensor)
                self.held[target.name] = None
                tensor = self.tensors[target.name]  # it may have more dimensions than the result
                place = f"Align(at, {tensor.macro}_RANK, 0)"
                return f"({self.type_name(node.type)})Read{tensor.function}({place})"
            case "float":
                decides = arguments[0].type != ir.FLOAT
                value = self._whole(arguments[0]) if decides else self.print(arguments[0])
                return self.call_of("Convert", self.values(arguments[0]), value, f"({self.real})0")
            case "int":
                return self.call_of("ToInteger", self.values(arguments[0]), self.deciding(arguments[0]))
            case "len":
                return f"{self.print(arguments[0])}.length"
            case "ravel_index" | "in_bounds":
                return f"{pascal(name)}({', '.join(map(self.deciding, arguments))})"
            case "product" | "sum" if arguments[0].type == ir.INTS:
                return f"{'Multiplied' if name == 'product' else 'Added'}({self.deciding(arguments[0])})"
            case "unravel_index" | "align" | "replace":
                listed = [
                    self._narrow(item) if item.type == ir.INT else self.deciding(item) for item in arguments
                ]
                if name == "unravel_index" and is_constant(arguments[1]):
                    reciprocals = _whole_list(self.constants.reciprocals(arguments[1]))
                    return f"UnravelIndexBy({', '.join([*listed, reciprocals])})"
                return f"{pascal(name)}({', '.join(listed)})"
            case "min" | "max" | "abs" if node.type == ir.INT:
                return f"{name}({', '.join(self._alike(arguments, self._is_wide(node)))})"
            case "pow" if node.type != ir.FLOAT:
                return self.applied("PowerBy" if is_known(arguments[1]) else "Power", *arguments)
        assert name not in NUMBERS
        decides = name in ("floor", "ceil", "trunc", "round_even", "round_away")
        texts = [self.deciding(item) if decides else self.print(item) for item in arguments]
        return self.call_of(pascal(name), self.values(arguments[0]), *texts)

    def _alike(self, numbers: tuple[ir.Expr, ...], wide: bool) -> list[str]:
        """Integers as arguments of a function that takes all of them in one type, of 64 or of 32 bits."""
        return [self._widened(one) if wide else self.as_int(one) for one in numbers]

    def _clamped(self, node: ir.Call) -> tuple[str, int]:
        x, low, high = node.arguments
        if node.type == ir.FLOAT:
            upper = self.applied("Min", x, high)
            return self.call_of("Max", self.reals, upper, self.print(low)), ATOM
        wide = any(map(self._is_wide, node.arguments))
        a, b, c = self._alike((x, low, high), wide)
        text = f"max(min({a}, {c}), {b})"
        return text if self._is_wide(node) or not wide else f"(int){text}", ATOM

    def _activated(self, value: ir.Expr, activation: ir.Expr, number: ir.Expr | None = None) -> str:
        assert isinstance(activation, ir.Member)
        self.fused = activation.name
        which = "0" if number is None else self._narrow(number)
        return f"Activate({self.print(value)}, {which})"


def _eight(entries: Sequence[str]) -> str:
    """A list of up to eight integers."""
    fours = (entries[:4], entries[4:])
    vectors = (f"int4({', '.join([*four, *['0'] * (4 - len(four))])})" if four else "0" for four in fours)
    return f"ListOf({', '.join(vectors)}, {len(entries)})"


def _whole_list(listed: ShaderConstant) -> str:
    return f"ListOf({listed.name}[0], {listed.name}[1], {listed.length})"


def _is_long(node: ir.Expr) -> bool:
    """Whether lists may have more entries than tensors have dimensions."""
    return any(
        isinstance(part, ir.Call)
        and part.function == "align"
        and BOUNDS.value(part.arguments[1])[1] > MAX_RANK
        for part in ir.walk(node)
    )
