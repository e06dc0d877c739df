"""What a broken rule says: the value found, and what would make it right."""

from __future__ import annotations

import re

from dmlgen.expr import ir
from dmlgen.expr.printer import Printer

Part = str | ir.Expr

_MUST = {
    "==": "equal ",
    "!=": "differ from ",
    "<": "be less than ",
    "<=": "be at most ",
    ">": "be more than ",
    ">=": "be at least ",
}


def explain(condition: ir.Expr, because: str | None) -> tuple[Part, ...]:
    """The message of a condition that does not hold: texts, and expressions whose values go between."""
    reason = f" ({because})" if because else ""
    match condition:
        case ir.Compare(op=op, left=left, right=right):
            return _join([*_text(left), " is ", left, f"; it must {_MUST[op]}", *_operand(right), reason])
        case ir.OneOf(item=item, choices=choices):
            return _join([*_text(item), " is ", item, "; it must be ", *_alternatives(choices), reason])
        case ir.Not(operand=ir.OneOf(item=item, choices=choices)):
            return _join([*_text(item), " is ", item, "; it must not be ", *_alternatives(choices), reason])
        case ir.Call(function="power_of_two", arguments=(item,)):
            return _join([*_text(item), " is ", item, "; it must be a power of two", reason])
        case ir.Present(item=given):
            return _join([*_text(given), " is absent; it must be given", reason])
        case ir.Not(operand=ir.Present(item=given)):
            return _join([*_text(given), " is given; it must be absent", reason])
        case _:
            return _join(["this must hold: ", *_text(condition), reason])


def softened(message: tuple[Part, ...]) -> tuple[Part, ...]:
    """The message of advice: what should be, where that of a rule says what must be."""
    return tuple(re.sub(r"\bmust\b", "should", part) if isinstance(part, str) else part for part in message)


def subject(node: ir.Expr) -> str | None:
    """The path of the member that an expression speaks of first: `IndicesTensor.Sizes`."""
    for part in ir.walk(node):
        match part:
            case ir.Field(tensor=tensor, name=name):
                return f"{tensor.name}.{name}" if tensor.name else name
            case ir.Member(name=name) | ir.Tensors(name=name):
                return name
            case ir.Part(member=member, name=name):
                return f"{member.name}.{name}"
            case ir.Present(item=ir.Tensor(name=name)):
                return name
    return None


def _operand(node: ir.Expr) -> list[Part]:
    if isinstance(node, ir.Number | ir.EnumValue):
        return [_Texts().print(node)]
    return [*_text(node), ", ", node]


def _alternatives(choices: tuple[ir.Expr, ...]) -> list[Part]:
    parts: list[Part] = []
    for number, choice in enumerate(choices):
        separator = "" if number == 0 else " or " if number == len(choices) - 1 else ", "
        parts += [separator, *_operand(choice)]
    return parts


class _Texts(Printer):
    """Prints an expression for a reader: loop variables and computed indices stand as their values."""

    def __init__(self) -> None:
        self.values: list[ir.Expr] = []

    def value(self, node: ir.Expr) -> str:
        self.values.append(node)
        return f"\0{len(self.values) - 1}\0"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        return self.value(node) if isinstance(node, ir.Local) else node.name

    def tensor(self, node: ir.Tensor) -> str:
        return node.name if node.index is None else f"{node.name}[{self.value(node.index)}]"

    def field(self, node: ir.Field) -> str:
        path = self.tensor(node.tensor) or self.value(node.tensor)  # the tensor under judgement: its path
        return f"{path}.{node.name}"

    def index(self, node: ir.Index) -> str:
        return f"{self.print(node.sequence)}[{self.value(node.index)}]"


def _text(node: ir.Expr) -> list[Part]:
    if _has_loop(node):  # its variable has no value outside of it
        return [Printer().print(node)]
    printer = _Texts()
    pieces = re.split("\0(\\d+)\0", printer.print(node))
    return [printer.values[int(piece)] if i % 2 else piece for i, piece in enumerate(pieces)]


def _has_loop(node: ir.Expr) -> bool:
    """Whether a loop is written in the expression itself; definitions stand by their names."""
    if isinstance(node, ir.Definition):
        return False
    return isinstance(node, ir.Reduce) or any(_has_loop(child) for child in ir.children(node))


def _join(parts: list[Part]) -> tuple[Part, ...]:
    """Neighbouring texts made one, literal numbers written out, empty texts dropped."""
    joined: list[Part] = []
    for part in parts:
        text = str(part.value) if isinstance(part, ir.Number) else part
        if isinstance(text, str) and joined and isinstance(joined[-1], str):
            joined[-1] += text
        elif text != "":
            joined.append(text)
    return tuple(joined)
