"""Prints expressions: in the language's own syntax, and as the base of every target's printer.

What targets only spell differently is in their `Spelling`; they override what they write differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dmlgen.expr import ir

_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "not": 3,
    "==": 4,
    "!=": 4,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "in": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "//": 10,
    "%": 10,
    "negate": 11,
}
_CONDITIONAL = 0

COMPARISON, SUM, PRODUCT, ATOM = _PRECEDENCE["=="], _PRECEDENCE["+"], _PRECEDENCE["*"], 12


@dataclass(frozen=True)
class Spelling:
    """The words of a target, as formats of what they apply to.

    A function or a reduction without a row is called by its name. `negated` binds as tightly as `negation`.
    """

    functions: Mapping[str, str] = field(default_factory=dict)
    reductions: Mapping[str, str] = field(default_factory=dict)
    logic: Mapping[ir.LogicOp, str] = field(default_factory=lambda: {"and": " and ", "or": " or "})
    negation: tuple[str, int] = ("not {}", _PRECEDENCE["not"])
    truth: tuple[str, str] = ("False", "True")

    def call(self, function: str, arguments: list[str]) -> str:
        known = self.functions.get(function)
        return f"{function}({', '.join(arguments)})" if known is None else known.format(*arguments)

    def reduction(self, kind: str, each: str) -> str:
        return self.reductions.get(kind, f"{kind}({{}})").format(each)


class Printer:
    """Prints expressions in the syntax of specs."""

    spelling: ClassVar[Spelling] = Spelling(
        functions={"element": "{}"},  # inserted where the language converts implicitly
        reductions={"list": "[{}]"},
    )

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of `node`, in parentheses if an operator of precedence `outer` binds tighter."""
        text, precedence = self._node(node)
        return f"({text})" if precedence < outer else text

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Number(value=value):
                return self.number(value), ATOM
            case ir.EnumValue():
                return self.enum_value(node), ATOM
            case ir.Constant():
                return self.constant(node), ATOM
            case ir.Local() | ir.Definition() | ir.Member() | ir.Tensors():
                return self.name(node), ATOM
            case ir.Tensor():
                return self.tensor(node), ATOM
            case ir.Field():
                return self.field(node), ATOM
            case ir.Part():
                return self.part(node), ATOM
            case ir.Present():
                return self.present(node), ATOM
            case ir.Index():
                return self.index(node), ATOM
            case ir.Slice():
                return self.slice(node), ATOM
            case ir.ListOf(items=items):
                return self.list_of(items), ATOM
            case ir.Negate(operand=operand):
                return f"-{self.print(operand, _PRECEDENCE['negate'])}", _PRECEDENCE["negate"]
            case ir.Not(operand=ir.OneOf() as member):
                return self.one_of(member, negated=True), _PRECEDENCE["in"]
            case ir.Not(operand=operand):
                return self.not_(operand), _PRECEDENCE["not"]
            case ir.Binary():
                return self.binary(node)
            case ir.Compare(op=op, left=left, right=right):
                inner = _PRECEDENCE[op] + 1
                return f"{self.print(left, inner)} {op} {self.print(right, inner)}", _PRECEDENCE[op]
            case ir.OneOf():
                return self.one_of(node, negated=False), _PRECEDENCE["in"]
            case ir.Logic(op=op, operands=operands):
                inner = _PRECEDENCE[op] + 1
                texts = [self.print(item, inner) for item in operands]
                return self.spelling.logic[op].join(texts), _PRECEDENCE[op]
            case ir.Conditional():
                return self.conditional(node), _CONDITIONAL
            case ir.Reduce():
                return self.reduce(node), ATOM
            case ir.Call():
                return self.call(node), ATOM
            case ir.Load():
                return self.load(node), ATOM
            case ir.Entry(tensor=tensor, coordinate=coordinate):
                return f"{tensor}[{self.print(coordinate)}]", ATOM
            case ir.Apply(function=function, arguments=arguments):
                listed = ", ".join(self.print(argument) for argument in arguments)
                return f"{function.name}({listed})" if arguments else function.name, ATOM

    def number(self, value: int | bool | float) -> str:
        return self.spelling.truth[value] if isinstance(value, bool) else repr(value)

    def enum_value(self, node: ir.EnumValue) -> str:
        return node.name

    def constant(self, node: ir.Constant) -> str:
        return node.name

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        return node.name

    def tensor(self, node: ir.Tensor) -> str:
        return node.name if node.index is None else f"{node.name}[{self.print(node.index)}]"

    def field(self, node: ir.Field) -> str:
        return f"{self.tensor(node.tensor)}.{node.name}" if node.tensor.name else node.name

    def part(self, node: ir.Part) -> str:
        return f"{self.name(node.member)}.{node.name}"

    def present(self, node: ir.Present) -> str:
        return f"present({self.print(node.item)})"

    def index(self, node: ir.Index) -> str:
        return f"{self.print(node.sequence, ATOM)}[{self.print(node.index)}]"

    def slice(self, node: ir.Slice) -> str:
        lower = "" if node.lower is None else self.print(node.lower)
        upper = "" if node.upper is None else self.print(node.upper)
        return f"{self.print(node.sequence, ATOM)}[{lower}:{upper}]"

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        return f"[{', '.join(self.print(item) for item in items)}]"

    def not_(self, operand: ir.Expr) -> str:
        word, precedence = self.spelling.negation
        return word.format(self.print(operand, precedence))

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        precedence = _PRECEDENCE[node.op]
        left, right = self.print(node.left, precedence), self.print(node.right, precedence + 1)
        return f"{left} {node.op} {right}", precedence

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        choices = ", ".join(self.print(choice) for choice in node.choices)
        return f"{self.print(node.item, _PRECEDENCE['in'] + 1)} {'not ' * negated}in ({choices})"

    def conditional(self, node: ir.Conditional) -> str:
        then, test = self.print(node.then, 1), self.print(node.test, 1)
        return f"{then} if {test} else {self.print(node.otherwise)}"

    def range(self, loop: ir.Loop) -> str:
        bounds = (loop.upper,) if loop.lower == ir.ZERO else (loop.lower, loop.upper)
        name = "ndindex" if loop.variable.type == ir.INTS else "range"
        return f"{name}({', '.join(map(self.print, bounds))})"

    def reduce(self, node: ir.Reduce) -> str:
        return self.spelling.reduction(node.kind, self.each_of(node))

    def each_of(self, node: ir.Reduce) -> str:
        """The body of a reduction, and its loops."""
        loops = "".join(f" for {self.name(loop.variable)} in {self.range(loop)}" for loop in node.loops)
        condition = f" if {self.print(node.condition)}" if node.condition is not None else ""
        return f"{self.print(node.body)}{loops}{condition}"

    def call(self, node: ir.Call) -> str:
        return self.spelling.call(node.function, [self.print(item) for item in node.arguments])

    def load(self, node: ir.Load) -> str:
        return f"{self.tensor(node.tensor)}[{self.print(node.coordinate)}]"


class SpecPrinter(Printer):
    """Prints expressions as specs write them: with their shorthands, and a long choice on several lines."""

    longest: ClassVar[int] = 100

    def lines(self, node: ir.Expr) -> str:
        """The text of `node`; if that is long, each alternative of a conditional has its own line."""
        text = self.print(node)
        if len(text) <= self.longest:
            return text
        lines = []
        while isinstance(node, ir.Conditional):
            lines.append(f"{self.print(node.then, 1)} if {self.print(node.test, 1)}")
            node = node.otherwise
        return "\n    else ".join([*lines, self.print(node)])

    def index(self, node: ir.Index) -> str:
        match node:
            case ir.Index(
                sequence=ir.Field(tensor=tensor),
                index=ir.Binary(
                    op="-",
                    left=ir.Field(tensor=same, name="DimensionCount"),
                    right=ir.Number(value=int(back)),
                ),
            ) if tensor == same and back > 0:
                return f"{self.print(node.sequence, ATOM)}[-{back}]"
        return super().index(node)


SOURCE = SpecPrinter()
