"""Generates the message of a broken rule: the value found, and what would be right.

A message only uses names that a user knows: members, fields of tensors, enumerators. Names from a `let` are
replaced by their definitions. Text that would be too long, or is a program, is left out, so that only the
value is shown. If not even the value found has a short name, the spec has to give the message with `message`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from dmlgen.expr import ir
from dmlgen.expr.functions import PREDICATES
from dmlgen.text import Message

Part = str | ir.Expr

SHOWN = ("int", "bool", "float", "ints", "enum")
"""Values that a message can show, by the kind of their type; programs in C number them in this order."""

_RELATIONS = {
    "==": "equal ",
    "!=": "not equal ",
    "<": "be less than ",
    "<=": "be at most ",
    ">": "be more than ",
    ">=": "be at least ",
}
_SPOKEN: dict[str, str] = {"+": "+", "-": "-", "*": "x"}
_OF_ARRAY = {"len": "length", "product": "product", "sum": "sum"}
_COUNTED: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_ONE = ir.Number(1, ir.INT)
_BINDING = {"+": 1, "-": 1, "*": 2}
_MOST_VALUES = 5  # a longer sum is harder to read than its value


def explain(condition: ir.Expr, case: Sequence[Part] = (), verb: str = "must") -> tuple[Part, ...]:
    """The message for a condition that does not hold: texts, with expressions between them as values.

    `case` says under which circumstances the condition applies ("with Direction FORWARD "). () if there are
    no words for the condition. The verb of advice is "should".
    """
    return joined(list(_sentence(condition, case, verb)))


def circumstance(test: ir.Expr) -> list[Part]:
    """The words for a test of one member, by its value; [] for any other test."""
    match test:
        case ir.Compare(op="==" | "!=", left=ir.Member() as member, right=ir.EnumValue()) | (
            ir.Member() as member
        ):
            return ["with ", member.name, " ", member, " "]
        case ir.Not(operand=operand):
            return circumstance(operand)
        case _:
            return []


def below(level: str) -> tuple[Part, ...]:
    """The words for a rule that a feature level lifts."""
    return (f"below feature level {level} ",)


def has_words(node: ir.Expr) -> bool:
    """Whether an expression can be described in a few words."""
    return _words(node) is not None


def settled(parts: Sequence[Part], read: Sequence[ir.Expr]) -> tuple[Part, ...]:
    """The parts without definitions that only the message uses, so that they are evaluated only for it."""
    kept = {part for node in read for part in ir.walk(node) if isinstance(part, ir.Definition)}

    def without(node: ir.Expr) -> ir.Expr:
        for part in ir.walk(node):
            if isinstance(part, ir.Definition) and part not in kept:
                return without(ir.substitute(node, {part: part.value}))
        return node

    return tuple(part if isinstance(part, str) else without(part) for part in parts)


class Place(NamedTuple):
    """A member or a tensor's field: its path, and the parts of the same path with indices."""

    member: str
    parts: tuple[Part, ...]


def place(node: ir.Expr, loops: Collection[str] = ()) -> Place | None:
    """The first member in an expression, with its indices, such as `IndicesTensor.Sizes[d]`.

    An index that uses a variable of another loop than these is left out.
    """
    for part in ir.walk(node):
        if isinstance(part, ir.Index):
            entry = _entry(part)
            if entry is not None:
                return place(entry, loops)
            array = _place(part.sequence, loops)
            if array is not None:
                at = ["[", part.index, "]"] if _is_known(part.index, loops) else []
                return Place(array.member, joined([*array.parts, *at]))
        elif found := _place(part, loops):
            return found
    return None


def _place(node: ir.Expr, loops: Collection[str]) -> Place | None:
    """The place that an expression is."""
    match node:
        case ir.Definition(value=value):
            return _place(value, loops)
        case ir.Field(tensor=ir.Tensor(name=name, index=index), name=field) if name:
            at = ["[", index, "]"] if index is not None and _is_known(index, loops) else []
            return Place(f"{name}.{field}", joined([name, *at, f".{field}"]))
        case ir.Field(name=name) | ir.Member(name=name) | ir.Tensors(name=name):
            return Place(name, (name,))
        case ir.Part(member=member, name=name):
            return Place(f"{member.name}.{name}", (f"{member.name}.{name}",))
        case ir.Present(item=ir.Tensor(name=name)):
            return Place(name, (name,))
    return None


def _is_known(index: ir.Expr, loops: Collection[str]) -> bool:
    return all(part.name in loops for part in ir.walk(index) if isinstance(part, ir.Local))


def filled(message: Message, values: Mapping[str, ir.Expr]) -> tuple[Part, ...]:
    """A message with names replaced by their values."""
    parts: list[Part] = []
    for piece in message:
        parts += [piece.text.plain, *([values[piece.name]] if piece.name is not None else [])]
    return joined(parts)


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Merges adjacent texts, writes out literal numbers, and drops empty texts."""
    result: list[Part] = []
    for part in parts:
        text = str(part.value) if isinstance(part, ir.Number) else part
        if isinstance(text, str) and result and isinstance(result[-1], str):
            result[-1] += text
        elif text != "":
            result.append(text)
    return tuple(result)


def _sentence(condition: ir.Expr, case: Sequence[Part], verb: str) -> Iterator[Part]:
    must = ["; ", *case, f"it {verb} "]
    match condition:
        case ir.Compare(op="==", left=ir.Present() | ir.Logic() as left, right=right):
            names = [*_tensors_asked_for(left), *_tensors_asked_for(right)]
            if len(names) == 2:
                yield f"only one of {names[0]} and {names[1]} is given; both {verb} be given, or neither"
        case ir.Compare(op="==", left=ir.Binary(op="%", left=left, right=right), right=ir.Number(value=0)):
            if (found := _found(left)) and has_words(right):
                yield from [*found, *must, "be a multiple of ", *_operand(right)]
        case ir.Compare(op="!=", left=left, right=ir.EnumValue() | ir.Number() as right):
            if words := _words(left):  # the value found is the one that is not allowed
                yield from [*words, f" {verb} not be ", *_operand(right)]
                yield from [" ", *case[:-1], str(case[-1]).rstrip()] if case else []
        case ir.Compare(op=op, left=ir.Call(function="len") as left, right=right):
            if path := _path(left.arguments[0]):
                yield from [*path, " has length ", left, "; ", *case, f"its length {verb} ", _RELATIONS[op]]
                yield from _operand(right)
        case ir.Compare(op=op, left=left, right=right):
            if found := _found(left):
                be = "be " if op == "==" and (not has_words(right) or named_sizes(right)) else _RELATIONS[op]
                yield from [*found, *must, be, *_operand(right)]
        case ir.OneOf(item=item, choices=choices):
            if found := _found(item):
                yield from [*found, *must, "be ", *_alternatives(choices)]
        case ir.Not(operand=ir.OneOf(item=item, choices=choices)):
            if found := _found(item):
                yield from [*found, *must, "not be ", *_alternatives(choices)]
        case ir.Call(function=name, arguments=(item,)) if name in PREDICATES:
            if found := _found(item):
                yield from [*found, *must, f"be {PREDICATES[name]}"]
        case ir.Present(item=given):
            yield from [*(_path(given) or []), " is absent", *must, "be given"]
        case ir.Not(operand=ir.Present(item=given)):
            yield from [*(_path(given) or []), " is given", *must, "be absent"]
        case ir.Logic(op="or"):
            if names := _tensors_asked_for(condition):
                yield f"{', '.join(names[:-1])} and {names[-1]} are absent; at least one of them "
                yield f"{verb} be given"


def _tensors_asked_for(node: ir.Expr) -> list[str]:
    """The tensors of which one must be given; [] if more is required."""
    match node:
        case ir.Present(item=ir.Tensor(name=name, index=None)):
            return [name]
        case ir.Logic(op="or", operands=operands):
            names = [_tensors_asked_for(operand) for operand in operands]
            return [name for some in names for name in some] if all(names) else []
    return []


def _found(node: ir.Expr) -> list[Part]:
    """The words and the value of what a condition checks; [] if there are no words."""
    words = _words(node)
    return [*words, " is ", node] if words is not None else []


def _operand(node: ir.Expr) -> list[Part]:
    words = _words(node)
    if words is None:
        return [node]
    if isinstance(node, ir.EnumValue) or (len(words) == 1 and isinstance(words[0], ir.Number)):
        return words
    if named_sizes(node):
        return [*words, ", that is ", node]
    return [*words, ", ", node]


def _alternatives(choices: tuple[ir.Expr, ...]) -> list[Part]:
    parts: list[Part] = []
    for number, choice in enumerate(choices):
        separator = "" if number == 0 else " or " if number == len(choices) - 1 else ", "
        parts += [separator, *_operand(choice)]
    return parts


def _words(node: ir.Expr) -> list[Part] | None:
    """A path, sizes by their names, or a sum or product of at most a few values, each with its name; None for
    anything else.
    """
    path = _path(node)
    if path is not None:
        return path
    if sizes := named_sizes(node):
        return [sizes]
    sum_ = _sum(node, 0)
    return (
        sum_
        if sum_ is not None and sum(isinstance(part, ir.Expr) for part in sum_) <= 2 * _MOST_VALUES
        else None
    )


def _sum(node: ir.Expr, outer: int) -> list[Part] | None:
    """Words for arithmetic, in parentheses if an operator of precedence `outer` binds tighter."""
    match node:
        case ir.Number():
            return [node]
        case ir.Definition(value=value):
            return _sum(value, outer)
        case ir.Binary(op=op, left=left, right=right) if op in _SPOKEN and node.type == ir.INT:
            inner = _BINDING[op]
            first, second = _sum(left, inner), _sum(right, inner + 1)
            if first is None or second is None:
                return None
            if first == [_ONE] and op == "*":
                return _sum(right, outer)
            if isinstance(left_value := _number(first), int) and isinstance(
                right_value := _number(second), int
            ):
                return [ir.Number(_COUNTED[op](left_value, right_value), ir.INT)]
            both = [*first, f" {_SPOKEN[op]} ", *second]
            return ["(", *both, ")"] if inner < outer else both
        case _:
            reduced = _entry(node)
            if reduced is not None:
                return _sum(reduced, outer)
            path = _path(node)
            return None if path is None else [*path, " (", node, ")"]


def named_sizes(node: ir.Expr) -> str:
    """Sizes by the names of a spec, such as "[1, direction count, 4 x hidden size]"; "" if they have none."""
    match node:
        case ir.Call(function="align", arguments=(ir.ListOf() as last, _, ir.Number(value=1))):
            sizes = named_sizes(last)
            return f"{sizes} after leading 1s" if sizes else ""
    items = node.items if isinstance(node, ir.ListOf) else ()
    texts = [_named_size(item, 0) for item in items]
    some = any(isinstance(part, ir.Definition) for item in items for part in ir.walk(item))
    return f"[{', '.join(texts)}]" if some and all(texts) else ""


def _named_size(node: ir.Expr, outer: int) -> str:
    """A size as a number, a name, or arithmetic with them; "" for anything else."""
    match node:
        case ir.Number(value=value) | ir.Definition(value=ir.Number(value=value)):
            return str(value)
        case ir.Definition(name=name) if len(name) > 1:
            return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
        case ir.Binary(op=op, left=left, right=right) if op in _SPOKEN:
            inner = _BINDING[op]
            first, second = _named_size(left, inner), _named_size(right, inner + 1)
            if first == "1" and op == "*":
                return _named_size(right, outer)
            if first.isdigit() and second.isdigit():
                return str(_COUNTED[op](int(first), int(second)))
            text = f"{first} {_SPOKEN[op]} {second}" if first and second else ""
            return f"({text})" if text and inner < outer else text
    match joined(_path(node) or []):
        case [str(path)]:
            return path
    return ""


def _number(words: list[Part]) -> int | None:
    """The number that is the whole text."""
    match words:
        case [ir.Number(value=int(value))]:
            return value
    return None


def _path(node: ir.Expr) -> list[Part] | None:
    """The user's name for a value; computed indices appear as values. None if it has no name."""
    match node:
        case ir.Number():
            return [node]
        case ir.EnumValue(name=name) | ir.Constant(name=name) | ir.Member(name=name) | ir.Tensors(name=name):
            return [name]
        case ir.Definition(value=value):
            return _path(value)
        case ir.Tensor(name=name, index=index):
            return [name or node] if index is None else [name, "[", index, "]"]
        case ir.Field(tensor=tensor, name=name):
            return [*(_path(tensor) or []), f".{name}"]
        case ir.Part(member=member, name=name):
            return [f"{member.name}.{name}"]
        case ir.Index(sequence=sequence, index=index):
            reduced, path = _entry(node), _path(sequence)
            if reduced is not None:
                return _path(reduced)
            return None if path is None else [*path, "[", index, "]"]
        case ir.Call(function="len", arguments=(ir.Tensors(name=name),)):
            return [f"the number of {name}"]
        case ir.Call(function="len" | "product" | "sum" as function, arguments=(item,)):
            path = _path(item)
            return None if path is None else [f"the {_OF_ARRAY[function]} of ", *path]
    return None


def _entry(node: ir.Expr) -> ir.Expr | None:
    """The entry of an array that is computed for each index: its expression at that index."""
    match node:
        case ir.Index(sequence=ir.Definition(value=value), index=index):
            return _entry(ir.Index(value, index))
        case ir.Index(
            sequence=ir.Reduce(kind="list", loop=ir.Loop(variable, ir.Number(value=0), _, None), body=body)
        ):
            return ir.substitute(body, {variable: node.index})
    return None
