"""Patterns: expressions in the notation of specs, in which names match what may differ.

`match("sum(x * y for k in range(depth))", node)` finds x, y, k and depth. A name that occurs twice matches
the same expression, and `at` the coordinate of the element. `XTensor[i]` is an element of a tensor of the
description, `X[i]` an entry of an intermediate tensor, and `x[i]` one of a list. `if c` is any condition, or
none at all, where c is None, and `- (z or 0)` any integer that is subtracted, or 0 where none is. Operands
of + * == and != may be exchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeAlias

from dmlgen.expr import ir

_Found: TypeAlias = dict[str, Any]
_Pairs: TypeAlias = Sequence[tuple[ast.expr | None, ir.Expr | None]]

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip


class Unfit(Exception):
    """A definition does not have the form in question."""


def match(pattern: str, node: ir.Expr | None, **known: Any) -> SimpleNamespace | None:
    """The expressions that names match, besides those `known`; None if the pattern does not match."""
    found = next(_expr(_parsed(pattern), node, known), None)
    return None if found is None else SimpleNamespace(**found)


def fit(pattern: str, node: ir.Expr | None, **known: Any) -> SimpleNamespace:
    """The expressions that names match; raises Unfit if the pattern does not match."""
    found = match(pattern, node, **known)
    if found is None:
        raise Unfit
    return found


@cache
def _parsed(pattern: str) -> ast.expr:
    return ast.parse(pattern, mode="eval").body


def _expr(pattern: ast.expr | None, node: ir.Expr | None, known: _Found) -> Iterator[_Found]:
    """All ways to match, each with what names match."""
    if isinstance(pattern, ast.Name):
        yield from _named(pattern.id, node, known)
        return
    match node:
        case ir.Definition(value=named) | ir.Apply(function=ir.Function(body=named), arguments=()):
            yield from _expr(pattern, named, known)
            return
    match pattern, node:
        case None, None:
            yield known
        case ast.Constant(value=value), ir.Number(number):
            if value == number:
                yield known
        case ast.BinOp(left=a, op=ast.Sub(), right=ast.BoolOp(values=[b, ast.Constant(value=0)])), _:
            match node:
                case ir.Binary("-", whole, less, ir.INT):
                    yield from _all([(a, whole), (b, less)], known)
                case _:
                    yield from _all([(a, node), (b, ir.ZERO)], known)
        case (ast.BinOp(left=a, op=sign, right=b), ir.Binary(op, left, right)) | (
            ast.Compare(left=a, ops=[sign], comparators=[b]),
            ir.Compare(op, left, right),
        ) if op == _SIGNS[type(sign)]:
            yield from _all([(a, left), (b, right)], known)
            if op in ("+", "*", "==", "!=") and left.type != ir.INTS:
                yield from _all([(a, right), (b, left)], known)
        case ast.BoolOp(op=sign, values=parts), ir.Logic(op, operands) if op == _SIGNS[type(sign)]:
            yield from _each(parts, operands, known)
        case ast.IfExp(test=test, body=body, orelse=other), ir.Conditional():
            yield from _all([(test, node.test), (body, node.then), (other, node.otherwise)], known)
        case ast.List(elts=parts), ir.ListOf(items):
            yield from _each(parts, items, known)
        case ast.Attribute(value=value, attr=name), ir.Field(tensor) if name == node.name:
            yield from _expr(value, tensor, known)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)), ir.Slice(sequence):
            yield from _all([(value, sequence), (lower, node.lower), (upper, node.upper)], known)
        case ast.Subscript(value=ast.Name(id=name) as value, slice=index), ir.Load(tensor, place):
            if name.endswith("Tensor"):
                yield from _all([(value, tensor), (index, place)], known)
        case ast.Subscript(value=ast.Name(id=name) as value, slice=index), ir.Entry(tensor_name, place):
            if name[0].isupper() and not name.endswith("Tensor"):
                yield from _all([(value, ir.Tensor(tensor_name)), (index, place)], known)
        case ast.Subscript(value=value, slice=index), ir.Index(sequence, place):
            yield from _all([(value, sequence), (index, place)], known)
        case ast.ListComp(elt=body, generators=loops), ir.Reduce(kind="list"):
            yield from _loops(loops, body, node, known)
        case (
            ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp(elt=body, generators=loops)]),
            ir.Reduce(kind=kind),
        ) if kind == name:
            yield from _loops(loops, body, node, known)
        case ast.Call(func=ast.Name(id=name), args=parts), ir.Call(function=name_) if name == name_:
            yield from _each(parts, node.arguments, known)


def _named(name: str, node: ir.Expr | None, known: _Found) -> Iterator[_Found]:
    if name not in known and name != "at":
        yield {**known, name: node}
    elif node == (ir.AT if name == "at" else known[name]):
        yield known


def _each(parts: Sequence[ast.expr], nodes: Sequence[ir.Expr], known: _Found) -> Iterator[_Found]:
    if len(parts) == len(nodes):
        yield from _all(list(zip(parts, nodes, strict=True)), known)


def _all(pairs: _Pairs, known: _Found) -> Iterator[_Found]:
    if not pairs:
        yield known
        return
    for found in _expr(*pairs[0], known):
        yield from _all(pairs[1:], found)


def _loops(
    loops: Sequence[ast.comprehension], body: ast.expr, node: ir.Reduce, known: _Found
) -> Iterator[_Found]:
    """The loops `for i in range(n)`, of numbers, or `for i in ndindex(sizes)`, of coordinates."""
    if len(loops) != len(node.loops):
        return
    pairs: list[tuple[ast.expr | None, ir.Expr | None]] = []
    for loop, each in zip(loops, node.loops, strict=True):
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)
        *first, last = loop.iter.args
        kind = ir.INT if loop.iter.func.id == "range" else ir.INTS
        lower = None if each.lower == ir.ZERO else each.lower
        if each.variable.type != kind:
            return
        pairs += [(loop.target, each.variable), (first[0] if first else None, lower), (last, each.upper)]
    test = loops[-1].ifs[0] if loops[-1].ifs else None
    yield from _all([*pairs, (test, node.condition), (body, node.body)], known)
