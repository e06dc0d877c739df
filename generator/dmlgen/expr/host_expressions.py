"""Expressions of definitions in the rule language, for hosts to compute."""

from __future__ import annotations

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals

_ZERO, _ONE = ir.Number(0, ir.INT), ir.Number(1, ir.INT)


def inlined(node: ir.Expr) -> ir.Expr:
    """An expression of a definition in the rule language.

    Functions are expanded, reductions become those of rules, and parts without effect are dropped, such as a
    product with a literal 0.
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
        case ir.Reduce(kind=kind, loop=loop, body=body, type=type_):
            return _reduce(kind, loop, body, type_, depth)
        case ir.Fold(
            kind="all" | "any" | "sum" | "product" | "min" | "max" as kind,
            loops=(each,),
            condition=condition,
            body=body,
            type=type_,
        ):
            first = ir.Number(0, ir.INT) if each.first is None else each.first
            return _reduce(kind, ir.Loop(each.variable, first, each.last, condition), body, type_, depth)
    inner = ir.outermost(node, ir.Apply, ir.Fold, ir.Reduce)
    return ir.substitute(node, {part: _inlined(part, depth) for part in inner})


def _reduce(kind: ir.Reduction, loop: ir.Loop, body: ir.Expr, type_: ir.Type, depth: int) -> ir.Expr:
    fresh = ir.Local(f"{loop.variable.name}{depth or ''}", loop.variable.type)
    inner: dict[ir.Expr, ir.Expr] = {loop.variable: fresh}
    condition = None
    if loop.condition is not None:
        condition = ir.substitute(_inlined(loop.condition, depth + 1), inner)
    whole = ir.Loop(fresh, _inlined(loop.lower, depth), _inlined(loop.upper, depth), condition)
    return ir.Reduce(kind, whole, ir.substitute(_inlined(body, depth + 1), inner), type_)
