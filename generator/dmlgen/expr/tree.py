"""Expressions of rules as JSON values: lists that begin with an operation, down to names and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from dmlgen.expr import ir

Tree: TypeAlias = "int | bool | float | list[object]"

LEAVES = {
    "enum": "a value of an enumeration: `[enum, TENSOR_DATA_TYPE, FLOAT32]`",
    "constant": "a constant of the header",
    "local": "a variable of a loop",
    "let": "what the operator's `let` calls by this name",
    "member": "a member that is no tensor",
    "part": "a field of a member that is a struct: `[part, PooledSize, Width]`",
    "tensor": "a tensor; with an index, one of an array. The name is empty for the tensor being checked",
    "tensors": "a member that is an array of tensors",
    "field": "a field of a tensor: `[field, [tensor, InputTensor], Sizes]`",
    "present": "whether an optional member, tensor or field is given",
}
OPERATIONS = {
    "at": "an entry of a list; 0 out of range",
    "slice": "a part of a list, from an index up to another; null is the list's own end",
    "list": "a list of integers",
    "concat": "two lists, one after the other",
    "+ - * // %": "arithmetic; integers saturate at 64 bits, division by 0 is 0. `-` of one operand negates",
    "& | ^ << >>": "operations on the bits of flags and integers",
    "== != < <= > >=": "comparisons",
    "in": "whether the first operand is one of the others",
    "and or not": "operations on truth values; `and` and `or` skip what no longer matters",
    "if": "the second operand if the first holds, otherwise the third",
    "all any sum product min max each": (
        "of a loop (see `loop`), the value of the second operand: `each` is the list of all, `sum` their sum"
    ),
    "call": "a function of the language of rules: `[call, align, ...]`",
}

_NAMES: Mapping[type, str] = {
    ir.Index: "at", ir.ListOf: "list", ir.Negate: "-", ir.Not: "not", ir.OneOf: "in", ir.Conditional: "if",
}  # fmt: skip


def tree(node: ir.Expr) -> Tree:
    """The expression as a JSON value. Raises TypeError for what only definitions contain."""
    match node:
        case ir.Number(value=value):
            return value
        case ir.EnumValue(name=name, type=type_):
            return ["enum", type_.name, name]
        case ir.Constant(name=name):
            return ["constant", name]
        case ir.Local(name=name):
            return ["local", name]
        case ir.Definition(name=name):
            return ["let", name]
        case ir.Member(name=name):
            return ["member", name]
        case ir.Part(member=member, name=name):
            return ["part", member.name, name]
        case ir.Tensor(name=name, index=index):
            return ["tensor", name] if index is None else ["tensor", name, tree(index)]
        case ir.Tensors(name=name):
            return ["tensors", name]
        case ir.Field(tensor=tensor, name=name):
            return ["field", tree(tensor), name]
        case ir.Present(item=item):
            return ["present", tree(item)]
        case ir.Slice(sequence=sequence, lower=lower, upper=upper):
            return ["slice", tree(sequence), *(None if end is None else tree(end) for end in (lower, upper))]
        case ir.Binary(op=op) | ir.Compare(op=op) | ir.Logic(op=op):
            return ["concat" if node.type == ir.INTS else op, *map(tree, ir.children(node))]
        case ir.Reduce(kind=kind, loop=loop, body=body):
            return ["each" if kind == "list" else kind, loop_tree(loop), tree(body)]
        case ir.Call(function=function, arguments=arguments):
            return ["call", function, *map(tree, arguments)]
        case _ if type(node) in _NAMES:
            return [_NAMES[type(node)], *map(tree, ir.children(node))]
    raise TypeError(f"{type(node).__name__} is not part of rules")


def loop_tree(loop: ir.Loop) -> dict[str, object]:
    """A loop as a JSON value: its variable goes from `from` to below `to`, where `if` holds."""
    found: dict[str, object] = {"for": loop.variable.name, "from": tree(loop.lower), "to": tree(loop.upper)}
    return found if loop.condition is None else {**found, "if": tree(loop.condition)}
