"""The expressions of a definition as HLSL."""

from __future__ import annotations

from array import array

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.expr.define import NUMBERS
from dmlgen.expr.defined import may_be_written_zero
from dmlgen.expr.printer import ATOM, COMPARISON
from dmlgen.outputs.hlsl_definition.constants import Constant, Constants, bounds_of_lists, is_constant
from dmlgen.outputs.hlsl_definition.functions import REAL, type_name
from dmlgen.outputs.hlsl_definition.loops import LoopPrinter
from dmlgen.outputs.hlsl_definition.names import local, variables
from dmlgen.outputs.hlsl_printer import COMPARISONS
from dmlgen.registry import Operator, Registry


class ShaderPrinter(LoopPrinter):
    """Prints the expressions of one definition, and collects what they need."""

    def __init__(self, registry: Registry, operator: Operator, taken: frozenset[str]) -> None:
        """`taken` are names that functions must not have."""
        super().__init__(registry, operator, taken)
        defines = operator.defines
        assert defines is not None
        self.constants = Constants({local(name) for name in variables(defines.whole)})
        self.fused = ""
        self.most_listed = 1
        self.longest = 2 * MAX_RANK if any(map(_is_long, defines.whole)) else MAX_RANK
        for bound in dict.fromkeys(bounds_of_lists(defines.whole)):
            self.constants.add_bound(bound)
        for name, tensor in self.tensors.items():
            self.constants.add_list(tensor.local, tensor.macro, "Sizes")
            self.constants.add_list(tensor.local, tensor.macro, "Strides")
            member, _, place = name.partition("[")
            number = ir.Number(int(place.rstrip("]")), ir.INT) if place else None
            field = ir.Field(ir.Tensor(member, number), "Sizes", ir.INTS)
            self.constants.stands_for(f"{tensor.local}Sizes", field)
        for kept in self.kept.values():
            self.constants.add_list(kept.name, kept.macro, "Sizes")
            self.constants.add_first(kept.name)

    def value(self, node: ir.Expr, decides: bool) -> str:
        """The value of an intermediate tensor at `at`; `decides`: its floats do."""
        return self._in(node, decides, ATOM)

    def stored(self, name: str, node: ir.Expr) -> str:
        """The value of an output at `at`, in the type in which its elements are computed."""
        match node:
            case ir.Call("convert", (number, ir.Tensor(entry=entry))) if (
                entry == name and node.type != ir.FLOAT
            ):
                return self._in_value_type(number, name)
        text, type_ = self._in(node, False, ATOM), f"{self.tensors[name].macro}_VALUE"
        if node.type == ir.FLOAT:
            return f"({type_}){self._call('RoundingOnce', text, f'{self.tensors[name].macro}_BITS')}"
        return text if node.type.kind == "element" else f"({type_}){text}"

    def made(self, name: str, node: ir.Expr) -> str:
        """The same of what is made of a fold, for many elements at once: whether something is so anywhere is
        a macro, so that shaders have no code for what is so nowhere, and so is what bounds lists."""
        for bound in dict.fromkeys(bounds_of_lists([node])):
            self.constants.add_bound(bound)
        for part in ir.walk(node):
            if isinstance(part, ir.Reduce) and part.type == ir.BOOL and is_constant(part):
                self.constants.add_bound(part)
        return self.stored(name, node)

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if is_constant(node):
            return self._constant(node)
        return super().print(node, outer)

    def _constant(self, node: ir.Expr) -> str:
        constant = self.constants.of(node)
        name = constant.name
        if constant.kind == "bound":
            return f"{constant.macro}_BOUND"
        if constant.kind in ("ints", "floats"):
            of = "ListOf" if constant.kind == "ints" else "RealsOf"
            return f"{of}({name}[0], {name}[1], {constant.macro}_LENGTH)"
        if constant.kind == "element":
            return self._call("Unpack", name, f"({type_name(node.type)})0")
        if node.type == ir.BOOL:
            return f"({name} != 0)"
        return name if constant.kind == "int" else f"({REAL}){name}"

    def number(self, value: int | bool | float) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        exact = array("f", [value])[0] == value
        return f"({REAL}){value!r}{'f' if exact else 'L'}"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Local(name=name):
                return local(name)
            case ir.Definition(value=value):
                return self.print(value, ATOM)
        raise TypeError(f"{node.name} is told to no shader")

    def index(self, node: ir.Index) -> str:
        if isinstance(node.index, ir.Local) and node.index.varies and is_constant(node.sequence):
            return self._read_in_place(self.constants.of(node.sequence), local(node.index.name))
        text = f"Entry({self.deciding(node.sequence)}, {self._narrow(node.index)})"
        return f"({REAL}){text}" if node.type == ir.FLOAT else text

    def _read_in_place(self, listed: Constant, d: str) -> str:
        """An entry of a constant list where threads differ in which: no list in registers has a number."""
        zero = f"({REAL})0" if listed.kind == "floats" else "0"
        return f"((uint){d} < {listed.macro}_LENGTH ? {listed.name}[(uint){d} / 4][(uint){d} % 4] : {zero})"

    def slice(self, node: ir.Slice) -> str:
        lower = "0" if node.lower is None else self._narrow(node.lower)
        upper = str(self.longest) if node.upper is None else self._narrow(node.upper)
        return f"Part({self.print(node.sequence)}, {lower}, {upper})"

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        if not items:
            return "(List)0"
        self.most_listed = max(self.most_listed, len(items))
        return f"Listed({', '.join(map(self._narrow, items))})"

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Entry():
                return self._entry(node), ATOM
            case ir.Apply():
                return self.apply(node), ATOM
            case ir.Logic(op=op, operands=operands):
                glue = " && " if op == "and" else " || "
                return f"({glue.join(self.deciding(item, ATOM) for item in operands)})", ATOM
            case ir.Compare(op=op, left=left, right=right):
                a, b = self.deciding(left, ATOM), self.deciding(right, ATOM)
                if left.type.kind in ("element", "float"):
                    text = COMPARISONS[op]
                    self.called.add(text.lstrip("!").partition("(")[0])
                    return text.format(a, b), ATOM
                return f"{a} {op} {b}", COMPARISON
            case ir.Negate(operand=operand) if node.type == ir.INT:
                return f"(0 - {self.print(operand, ATOM)})", ATOM
            case ir.Negate(operand=operand):
                return f"(-{self.print(operand, ATOM)})", ATOM
        return super()._node(node)

    def not_(self, operand: ir.Expr) -> str:
        return f"!{self.deciding(operand, ATOM)}"

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        item = self.deciding(node.item, ATOM)
        sign, glue = ("!=", " && ") if negated else ("==", " || ")
        return f"({glue.join(f'{item} {sign} {self.deciding(choice, ATOM)}' for choice in node.choices)})"

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.type == ir.INTS:
            return f"Join({self.print(node.left)}, {self.print(node.right)})", ATOM
        left, right = self.print(node.left, ATOM), self.print(node.right, ATOM)
        if node.type == ir.INT and self._is_wide(node):
            left, right = f"(int64_t){left}", f"(int64_t){right}"
        elif node.op in ("//", "%") and _is_written(node.left):
            left = f"(int){left}"
        if node.op in ("//", "%"):
            return f"{'FloorQuotient' if node.op == '//' else 'FloorRemainder'}({left}, {right})", ATOM
        if node.op == "/" and node.type.kind == "element":
            exactly = may_be_written_zero(node.left)
            return self._call("DivideExactly" if exactly else "Quotient", left, right), ATOM
        if node.op in ("<<", ">>"):
            return self._call("ShiftLeft" if node.op == "<<" else "ShiftRight", left, right), ATOM
        if node.op == "/" and (self._single or may_be_written_zero(node.left)):
            return self._call("Divide", left, right), ATOM
        return f"({left} {node.op} {right})", ATOM

    def conditional(self, node: ir.Conditional) -> str:
        branches = (node.then, node.otherwise)
        if node.type.kind in ("ints", "floats") or any(map(_is_work, branches)):
            return self._lifted(node, "Chosen", lambda: self._returned(node))
        then, otherwise = (self.print(branch, ATOM) for branch in branches)
        if node.type == ir.INT and self._is_wide(node):
            then, otherwise = f"(int64_t){then}", f"(int64_t){otherwise}"
        return f"({self.deciding(node.test, ATOM)} ? {then} : {otherwise})"

    def call(self, node: ir.Call) -> str:
        name, arguments = node.function, node.arguments
        match name:
            case "element" if isinstance(arguments[0], ir.Number):
                return f"({type_name(node.type)}){self.print(arguments[0], ATOM)}"
            case "element":
                return self._call("Convert", self.print(arguments[0]), f"({type_name(node.type)})0")
            case "wrap":
                index, count = arguments  # an element in its own type, which may have 64 bits and no sign
                text = self._element(index) if isinstance(index, ir.Load) else self._whole(index)
                return self._call("Wrap", text, self._narrow(count))
            case "activated":
                return self._activated(*arguments)
            case "convert" | "quantize":
                return self._converted(node, *arguments)
            case "least" | "greatest":
                return self._limit(name, node, arguments[0])
            case "held":
                target = arguments[0]
                assert isinstance(target, ir.Tensor)
                self.held[target.name] = None
                tensor = self.tensors[target.name]  # it may have more dimensions than what is computed
                place = f"Align(at, {tensor.macro}_SIZES_LENGTH, 0)"
                return f"({type_name(node.type)})Read{tensor.function}({place})"
            case "float":
                decides = arguments[0].type != ir.FLOAT
                value = self._whole(arguments[0]) if decides else self.print(arguments[0])
                return self._call("Convert", value, f"({REAL})0")
            case "int":
                if arguments[0].type.kind == "element":
                    return self._call("ToInteger", self.deciding(arguments[0]))
                return self._call("Convert", self.deciding(arguments[0]), "(int64_t)0")
            case "clamp":
                return self._clamped(node)
            case "len":
                return f"{self.print(arguments[0])}.length"
            case "flat" | "inside":
                return f"{name.capitalize()}({', '.join(map(self.deciding, arguments))})"
            case "product" | "sum" if arguments[0].type == ir.INTS:
                return f"{'Multiplied' if name == 'product' else 'Total'}({self.deciding(arguments[0])})"
            case "unflat" | "align" | "replace":
                listed = (
                    self._narrow(item) if item.type == ir.INT else self.deciding(item) for item in arguments
                )
                return f"{name.capitalize()}({', '.join(listed)})"
            case "min" | "max" | "abs" if node.type == ir.INT:
                cast = f"({self._type_of(node)})"
                return f"{name}({', '.join(cast + self.deciding(item, ATOM) for item in arguments)})"
            case "pow" if node.type != ir.FLOAT:
                return self._call("Power", *map(self.print, arguments))
        assert name not in NUMBERS
        decides = name in ("floor", "ceil", "trunc", "round_even", "round_away")
        texts = [self.deciding(item) if decides else self.print(item) for item in arguments]
        return self._call("".join(word.capitalize() for word in name.split("_")), *texts)

    def _whole(self, node: ir.Expr) -> str:
        """An argument of a function that other types have, too; HLSL gives a written integer none."""
        return (
            f"({self._type_of(node)}){self.deciding(node, ATOM)}"
            if _is_written(node)
            else self.deciding(node)
        )

    def _clamped(self, node: ir.Call) -> str:
        x, low, high = node.arguments
        if node.type == ir.FLOAT:
            upper = self._call("Min", self.print(x), self.print(high))
            return self._call("Max", upper, self.print(low))
        if narrow := self._cut(x, low, high):
            return narrow
        wide = any(map(self._is_wide, node.arguments))
        cast = "(int64_t)" if wide else "(int)"
        a, b, c = (cast + self.deciding(item, ATOM) for item in (x, low, high))
        text = f"max(min({a}, {c}), {b})"
        return text if self._is_wide(node) or not wide else f"(int){text}"

    def _cut(self, x: ir.Expr, low: ir.Expr, high: ir.Expr) -> str:
        """A float cut to an integer, perhaps plus a written one, within limits of 32 bits: less that number,
        they limit what is cut, and no integer of 64 bits is needed. Nothing where it is something else."""
        match x:
            case ir.Call("int", (number,)):
                added = 0
            case ir.Binary("+", ir.Call("int", (number,)), ir.Number(value=int(added)), ir.INT) if added > 0:
                pass
            case _:
                return ""
        if number.type != ir.FLOAT or self._is_wide(low) or self._is_wide(high):
            return ""
        less = f" - {added}" if added else ""
        least, most = (f"(int){self.deciding(limit, ATOM)}{less}" for limit in (low, high))
        cut = f"max(min({self._call('Convert', self.deciding(number), '(int)0')}, {most}), {least})"
        return f"({cut} + {added})" if added else cut

    def _activated(self, value: ir.Expr, activation: ir.Expr, number: ir.Expr | None = None) -> str:
        assert isinstance(activation, ir.Member)
        self.fused = activation.name
        which = "0" if number is None else self._narrow(number)
        return f"Activate({self.print(value)}, {which})"


def _is_written(node: ir.Expr) -> bool:
    """Whether an integer is made of written ones alone."""
    if node.type != ir.INT or is_constant(node):
        return False
    match node:
        case ir.Number():
            return True
        case ir.Conditional(then=then, otherwise=otherwise):
            return _is_written(then) and _is_written(otherwise)
        case ir.Negate(operand=operand):
            return _is_written(operand)
        case ir.Binary(left=left, right=right):
            return _is_written(left) and _is_written(right)
    return False


def _is_work(node: ir.Expr) -> bool:
    """Whether a value takes more than a few instructions."""
    return any(
        isinstance(part, ir.Apply | ir.Fold | ir.Load | ir.Entry | ir.Reduce) for part in ir.walk(node)
    )


def _is_long(node: ir.Expr) -> bool:
    """Whether lists may have more entries than a tensor has dimensions."""
    return any(
        isinstance(part, ir.Call)
        and part.function == "align"
        and BOUNDS.value(part.arguments[1])[1] > MAX_RANK
        for part in ir.walk(node)
    )
