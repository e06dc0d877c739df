"""Planner inputs of definitions, as expressions of the description, for any language. What they share is
computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals
from dmlgen.expr.host_expressions import inlined
from dmlgen.outputs.hlsl_definition import HlslDefinition
from dmlgen.registry import Operator

VARIABLES = ("d", "i", "j", "k", "l", "m")
"""Of loops, outermost first."""
Parts: TypeAlias = Callable[[ir.Expr], list[ir.Expr]]
"""The expressions of which another consists."""


def lists(operator: Operator, shader: HlslDefinition) -> dict[str, list[ir.Expr]]:
    """The entries of lists, by field of the planners' `Definition`."""
    assert operator.defines is not None
    sizes = {tensor.name: tensor.sizes for tensor in operator.defines.tensors}
    fields = {
        "lists": ("ints", "floats"),
        "elements": ("element",),
        "numbers": ("int", "float"),
        "bounds": ("bound",),
    }
    found = {"kept_sizes": [inlined(sizes[one.member]) for one in shader.kept]}
    for field, kinds in fields.items():
        known = shader.constants.known(*kinds)
        found[field] = [inlined(one.node) for one in known if one.node is not None]
    return found


def operands(shader: HlslDefinition) -> dict[str, ir.Expr]:
    """The operands of forms, by their paths in the planners' `Definition`."""
    return {path: inlined(node) for path, node in shader.operands.items()}


def plain(node: ir.Expr, depth: int = 0) -> ir.Expr:
    """An expression with names of definitions replaced by their values.

    Equal loops get the same loop variables, so that common subexpressions are equal.
    """
    match node:
        case ir.Definition(value=value):
            return plain(value, depth)
        case ir.Reduce(loop=loop):
            variable = ir.Local(VARIABLES[depth], loop.variable.type)
            renamed: dict[ir.Expr, ir.Expr] = {loop.variable: variable}
            condition = None
            if loop.condition is not None:
                condition = plain(ir.substitute(loop.condition, renamed), depth + 1)
            bounds = plain(loop.lower, depth), plain(loop.upper, depth)
            body = plain(ir.substitute(node.body, renamed), depth + 1)
            return replace(node, loops=(ir.Loop(variable, *bounds, condition),), body=body)
    inner = ir.outermost(node, ir.Definition, ir.Reduce)
    return ir.substitute(node, {part: plain(part, depth) for part in inner})


def membership(node: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
    """The item that some entry of an array must equal, and the array, if a condition is that."""
    match node:
        case ir.Reduce(
            kind="any",
            loops=(ir.Loop(variable, ir.Number(value=0), upper, None),),
            body=ir.Compare(op="==", left=ir.Index(sequence=sequence, index=index), right=item),
        ) if index == variable and upper == ir.Call("len", (sequence,), ir.INT):
            return item, sequence
    return None


def innermost_first(node: ir.Expr, parts: Parts = ir.children) -> Iterator[ir.Expr]:
    """An expression and all that it consists of."""
    for part in parts(node):
        yield from innermost_first(part, parts)
    yield node


def shared(whole: Collection[ir.Expr], parts: Parts = ir.children) -> set[ir.Expr]:
    """The common subexpressions that are worth a variable: those that are always evaluated, and sizes of
    tensors, whether present or not."""
    counts: Counter[ir.Expr] = Counter()
    certain: set[ir.Expr] = set()
    waiting = list(whole)
    while waiting:
        node = waiting.pop()
        counts[node] += 1
        if counts[node] == 1:
            waiting += parts(node)
            if isinstance(node, ir.Field) and node.tensor.index is None:
                certain.add(node)
    waiting = list(whole)
    while waiting:
        node = waiting.pop()
        if node not in certain:
            certain.add(node)
            waiting += _first(node, parts)
    return {
        node
        for node in certain
        if counts[node] > 1 and _is_worth_it(node) and free_locals(node).keys() <= {"index"}
    }


def _first(node: ir.Expr, parts: Parts) -> list[ir.Expr]:
    """The parts of an expression that are always evaluated."""
    match node:
        case ir.Conditional(test=test):
            return [test]
        case ir.Logic(operands=(first, *_)):
            return [first]
        case ir.Reduce(loop=loop):
            return [loop.lower, loop.upper]
    return parts(node)


def _is_worth_it(node: ir.Expr) -> bool:
    match node:
        case (
            ir.Number()
            | ir.EnumValue()
            | ir.Constant()
            | ir.Local()
            | ir.Tensor()
            | ir.Tensors()
            | ir.Member()
        ):
            return False
        case ir.Present():
            return False
        case ir.ListOf(items=items):
            return not all(isinstance(item, ir.Number) for item in items)
    return True
