"""Expressions of definitions in the rule language, for hosts to compute."""

from __future__ import annotations

from dataclasses import replace

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals

_ZERO, _ONE = ir.Number(0, ir.INT), ir.Number(1, ir.INT)


def inlined(node: ir.Expr) -> ir.Expr:
    """An expression of a definition in the rule language.

    Functions are expanded, and parts without effect are dropped, such as a product with a literal 0.
    """
    return _folded(_inlined(node, 0))


def _folded(node: ir.Expr) -> ir.Expr:
    node = ir.substitute(node, {part: _folded(part) for part in ir.children(node)})
    match node:
        case ir.Binary("*", left, right, ir.INT) if _ZERO in (left, right):
            return _ZERO
        case ir.Binary("*", left, right, ir.INT) if _ONE in (left, right):
            return right if left == _ONE else left
        case ir.Binary("+", left, right, ir.INT) if _ZERO in (left, right):
            return right if left == _ZERO else left
        case ir.Binary("-", left, right, ir.INT) if right == _ZERO:
            return left
        case ir.Conditional(test=ir.Number(value=test)):
            return node.then if test else node.otherwise
    return node


def _inlined(node: ir.Expr, depth: int) -> ir.Expr:
    """An expression with calls replaced by bodies, without dropping anything.

    A loop variable gets a name that none of the `depth` enclosing loops uses, so that arguments keep their
    meaning. Loops inside it are renamed first, because they may shadow its old name.
    """
    match node:
        case ir.Apply(function=function, arguments=arguments):
            used = free_locals(function.body)
            pairs = zip(function.parameters, arguments, strict=True)
            given: dict[ir.Expr, ir.Expr] = {
                one: _inlined(argument, depth) for one, argument in pairs if one.name in used
            }
            return ir.substitute(_inlined(function.body, depth), given)
        case ir.Reduce(loops=(ir.Loop(variable, lower, upper, condition),), body=body):
            fresh = ir.Local(f"{variable.name}{depth or ''}", variable.type)
            renamed: dict[ir.Expr, ir.Expr] = {variable: fresh}
            if condition is not None:
                condition = ir.substitute(_inlined(condition, depth + 1), renamed)
            loop = ir.Loop(fresh, _inlined(lower, depth), _inlined(upper, depth), condition)
            return replace(node, loops=(loop,), body=ir.substitute(_inlined(body, depth + 1), renamed))
    inner = ir.outermost(node, ir.Apply, ir.Reduce)
    return ir.substitute(node, {part: _inlined(part, depth) for part in inner})
