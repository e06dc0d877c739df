"""Values as HLSL, as far as all shaders print them alike."""

from __future__ import annotations

from collections.abc import Collection

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, COMPARISON
from dmlgen.outputs.statements import NumberPrinter

CHOICE, LOGIC = 0, 1
"""Precedences of `?`, `&&` and `||`. Operands of one of the latter that contain the other are put in
parentheses, since compilers warn about mixing them."""
START = {
    "sum": "0",
    "product": "1",
    "any": "false",
    "all": "true",
    "min": "2147483647",
    "max": "-2147483647 - 1",
}
"""The values that reductions of truth values and of integers start from."""
_TURN = {
    "sum": "{0} += {1};",
    "product": "{0} *= {1};",
    "any": "{0} = {0} || {1};",
    "all": "{0} = {0} && {1};",
    "min": "{0} = Min({0}, {1});",
    "max": "{0} = Max({0}, {1});",
}


class HlslPrinter(NumberPrinter):
    """Prints values, and collects the functions of the library that their texts call.

    Compilers may assume that no float is NaN, so functions compare elements.
    """

    def __init__(self) -> None:
        self.called: dict[str, set[str]] = {}
        """Functions of the library, each with the types that the first element given to it may have."""

    def values(self, node: ir.Expr) -> Collection[str]:
        """The HLSL types that a number may have."""
        raise NotImplementedError

    def deciding(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of a value that decides something."""
        return self.print(node, outer)

    def use(self, function: str, types: Collection[str]) -> str:
        """The name of a function of the library, which is then called; for `types` see `called`."""
        self.called.setdefault(function, set()).update(types)
        return function

    def call_of(self, function: str, types: Collection[str], *texts: str) -> str:
        """A call of a function of the library."""
        return f"{self.use(function, types)}({', '.join(texts)})"

    def applied(self, function: str, *arguments: ir.Expr) -> str:
        """A call of a function of the library for a number as its first argument."""
        return self.call_of(function, self.values(arguments[0]), *map(self.print, arguments))

    def turn(self, node: ir.Reduce, result: str, term: str) -> str:
        """The statement that adds a term to the result of a reduction."""
        if node.kind in ("min", "max"):
            self.use(node.kind.capitalize(), self.values(node))
        return _TURN[node.kind].format(result, term)

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
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

    def _compared(self, function: str, left: ir.Expr, right: ir.Expr) -> str:
        return self.call_of(function, self.values(left), self.deciding(left), self.deciding(right))
