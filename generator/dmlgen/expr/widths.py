"""How many bits the integers of a definition may need, so that those of 32 are used where they do.

What is made of sizes, members and coordinates counts: it has no more than 31 bits by agreement, a small
element that is added to it included. What is made of elements has as many as its operations may give.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.defined import is_told

Bits: TypeAlias = Mapping[str, int]
"""Of integers that are made of elements, the sign's bit among them, by name; what is not there counts."""

COUNT, _COUNTED, _ALL = 0, 31, 64
_NARROW = 17  # bits of elements that may be added to what counts


class Widths:
    """Which integers may need more than 32 bits. `tensors` are the bits of elements, of intermediate tensors
    too."""

    def __init__(self, tensors: Bits) -> None:
        self._tensors = tensors

    def is_wide(self, node: ir.Expr, locals_: Bits) -> bool:
        """Whether an integer may be wide where these locals are."""
        return self.bits(node, locals_) > 32

    def bits(self, node: ir.Expr, locals_: Bits) -> int:
        """The bits that an integer may need, COUNT of what counts; of what is none, COUNT, too."""
        if node.type != ir.INT:
            return COUNT
        if is_told(node):
            return _ALL if isinstance(node, ir.Number) and abs(node.value) >= 2**31 else COUNT
        return min(self._bits(node, locals_), _ALL)

    def _bits(self, node: ir.Expr, locals_: Bits) -> int:
        match node:
            case ir.Load(tensor=ir.Tensor(entry=name)) | ir.Entry(tensor=name):
                return self._tensors[name]
            case ir.Local(name=name):
                return locals_.get(name, COUNT)
            case ir.Index() | ir.Call(function="flat" | "product" | "sum" | "len"):
                return COUNT
            case ir.Fold(kind="sum" | "product" | "min" | "max", unrolled=False):
                return _ALL  # the least of nothing is the greatest integer
            case ir.Fold(kind="argmax" | "argmin"):
                return COUNT
            case ir.Fold(kind="min" | "max", body=body):
                return self.bits(body, locals_)
            case ir.Fold(body=body):
                return _ALL if self.bits(body, locals_) else COUNT
            case ir.Call(function="int"):
                return _ALL
            case ir.Call(function="min" | "max" as kind, arguments=arguments):
                return max(self.bits(_of_something(one, kind), locals_) for one in arguments)
            case ir.Call(function="wrap", arguments=(_, count)):
                return self.bits(count, locals_)
            case ir.Call(function="clamp", arguments=(_, low, high)):
                return max(self.bits(low, locals_), self.bits(high, locals_))
            case ir.Call(function="convert" | "quantize", arguments=(_, ir.Tensor(entry=name))):
                return self._tensors[name]
            case ir.Call(function="least" | "greatest", arguments=(ir.Tensor(entry=name),)):
                return self._tensors[name]
            case ir.Apply(function=function, arguments=arguments):
                return self.bits(function.body, self.parameters(function, arguments, locals_))
            case ir.Conditional(then=then, otherwise=otherwise):
                return max(self.bits(then, locals_), self.bits(otherwise, locals_))
            case ir.Binary(op="*" | "+" | "-" as op, left=left, right=right):
                return self._arithmetic(op, left, right, locals_)
            case ir.Binary(op="//", left=left, right=ir.Number(value=value)) if value > 0:
                return self.bits(left, locals_)
            case ir.Binary(op="%", left=left, right=right):
                return max(self.bits(left, locals_), self.bits(right, locals_))
            case _:  # one more where the least integer changes its sign
                found = max((self.bits(child, locals_) for child in ir.children(node)), default=COUNT)
                return found + 1 if found else COUNT

    def _arithmetic(self, op: str, left: ir.Expr, right: ir.Expr, locals_: Bits) -> int:
        a, b = self.bits(left, locals_), self.bits(right, locals_)
        if not a and not b:
            return COUNT
        small = max(a, b) <= _NARROW
        a, b = a or _counted(left), b or _counted(right)
        if op == "*":
            return a + b
        return COUNT if small and max(a, b) == _COUNTED else max(a, b) + 1

    def parameters(self, function: ir.Function, arguments: tuple[ir.Expr, ...], locals_: Bits) -> Bits:
        """The bits of a function's parameters in one use of it."""
        pairs = zip(function.parameters, arguments, strict=True)
        found = {parameter.name: self.bits(item, locals_) for parameter, item in pairs}
        return {name: bits for name, bits in found.items() if bits}


def _counted(node: ir.Expr) -> int:
    """The bits of what counts, of which a written number may have fewer."""
    return int(node.value).bit_length() + 1 if isinstance(node, ir.Number) else _COUNTED


def _of_something(node: ir.Expr, kind: str) -> ir.Expr:
    """An operand of `min` or `max`, as which the same fold of nothing changes nothing."""
    return node.body if isinstance(node, ir.Fold) and node.kind == kind else node
