"""Numbers of bits that a definition's integers need, so that 32-bit integers are used where they suffice.

An integer made of sizes, members and coordinates is a count, and by convention needs at most 31 bits, even if
a small element is added to it. One made of elements needs as many bits as its operations can produce.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import is_host_computed

Bits: TypeAlias = Mapping[str, int]
"""Bits of integers made of elements, including the sign bit, by name; other integers are counts."""

COUNT, _COUNTED, _ALL = 0, 31, 64
_NARROW = 17  # most bits of elements that can be added to a count


class Widths:
    """Finds integers that may need more than 32 bits. `tensors` has the bits of elements."""

    def __init__(self, tensors: Bits) -> None:
        self._tensors = tensors

    def is_wide(self, node: ir.Expr, locals_: Bits) -> bool:
        """Whether an integer can be wide, given these locals."""
        return self.bits(node, locals_) > 32

    def bits(self, node: ir.Expr, locals_: Bits) -> int:
        """The bits that an integer can need; COUNT for counts, and for values that are not integers."""
        if node.type != ir.INT:
            return COUNT
        if is_host_computed(node):
            return _ALL if isinstance(node, ir.Number) and abs(node.value) >= 2**31 else COUNT
        return min(self._bits(node, locals_), _ALL)

    def _bits(self, node: ir.Expr, locals_: Bits) -> int:
        match node:
            case ir.Load(tensor=ir.Tensor(entry=name)) | ir.Entry(tensor=name):
                return self._tensors[name]
            case ir.Local(name=name):
                return locals_.get(name, COUNT)
            case ir.Index() | ir.Call(function="ravel_index" | "product" | "sum" | "len"):
                return COUNT
            case ir.Reduce(kind="sum" | "product" | "min" | "max", over_elements=True):
                return _ALL  # the minimum of an empty set is the greatest integer
            case ir.Reduce(kind="argmax" | "argmin"):
                return COUNT
            case ir.Reduce(kind="min" | "max", body=body):
                return self.bits(body, locals_)
            case ir.Reduce(body=body):
                return _ALL if self.bits(body, locals_) else COUNT
            case ir.Call(function="int"):
                return _ALL
            case ir.Call(function="min" | "max" as kind, arguments=arguments):
                return max(self.bits(_of_something(one, kind), locals_) for one in arguments)
            case ir.Call(function="normalize_index", arguments=(_, count)):
                return self.bits(count, locals_)
            case ir.Call(function="clamp", arguments=(_, low, high)):
                return max(self.bits(low, locals_), self.bits(high, locals_))
            case ir.Call(function="convert" | "quantize", arguments=(_, ir.Tensor(entry=name))):
                return self._tensors[name]
            case ir.Call(function="min_value" | "max_value", arguments=(ir.Tensor(entry=name),)):
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
            case _:  # one more, since the least integer can change its sign
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
        """The bits of a function's parameters in one use."""
        pairs = zip(function.parameters, arguments, strict=True)
        found = {parameter.name: self.bits(item, locals_) for parameter, item in pairs}
        return {name: bits for name, bits in found.items() if bits}


def _counted(node: ir.Expr) -> int:
    """The bits of a count; a literal can have fewer."""
    return int(node.value).bit_length() + 1 if isinstance(node, ir.Number) else _COUNTED


def _of_something(node: ir.Expr, kind: str) -> ir.Expr:
    """An operand of `min` or `max` that is the same fold over nothing, which has no effect."""
    return node.body if isinstance(node, ir.Reduce) and node.kind == kind else node
