"""How much work an expression can be, at most: what keeps an untrusted spec from making anything slow.

There are two measures, as two kinds of code look at expressions. `size` counts nodes with definitions
written out, which is what printers and analyses walk through. `cost` counts nodes evaluated for the worst
description: a loop has as many turns as it ever can, an array as many entries. Both take time in the nodes
that are written down, not in what these come to.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS

# The largest of DirectML's 177 operators have an expression of size 805, one of cost 280,396, and rules that
# together cost 50,923.
MAX_SIZE = 4_000
MAX_COST = 500_000
MAX_RULES_COST = 500_000  # of all rules of one operator; some tens of milliseconds in Python


def size(node: ir.Expr) -> int:
    """The nodes of an expression, those of a definition's value once for each use."""
    return _size(node, {})


def cost(node: ir.Expr) -> int:
    """The nodes that evaluating an expression visits, at most."""
    return _cost(node, {})


def cost_of_check(loops: Iterable[ir.Loop], condition: ir.Expr) -> int:
    """The cost of a condition that is judged in every turn of the loops."""
    return prod(_turns(loop) for loop in loops) * cost(condition)


def _turns(loop: ir.Loop) -> int:
    return max(BOUNDS.turns(loop)[1], 1)


def _size(node: ir.Expr, known: dict[int, int]) -> int:
    """`known` has the sizes of definitions met before, by the identity of the object."""
    if not isinstance(node, ir.Definition):
        return 1 + sum(_size(child, known) for child in ir.children(node))
    if id(node) not in known:
        known[id(node)] = 1 + _size(node.value, known)
    return known[id(node)]


def _cost(node: ir.Expr, known: dict[int, int]) -> int:
    match node:
        case ir.Definition(value=value):
            if id(node) not in known:
                known[id(node)] = 1 + _cost(value, known)
            return known[id(node)]
        case ir.Reduce(loop=loop, body=body):
            turn = 1 + _cost(body, known) + (_cost(loop.condition, known) if loop.condition else 0)
            return _cost(loop.lower, known) + _cost(loop.upper, known) + _turns(loop) * turn
    entries = max(BOUNDS.length(node)[1], 1) if node.type in (ir.INTS, ir.FLOATS) else 1
    return entries + sum(_cost(child, known) for child in ir.children(node))
