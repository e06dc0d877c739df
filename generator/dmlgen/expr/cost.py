"""Upper limits on the work of an expression, so that an untrusted spec cannot make anything slow.

There are two measures, for two kinds of code. `size` counts nodes with definitions expanded, which is what
printers and analyses traverse. `cost` counts the nodes evaluated for the worst description: every loop has
its maximum number of iterations, and every array its maximum number of entries. Computing either takes time
in the nodes that are written down, not in those they expand to.
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
    """The nodes of an expression, counting a definition's value once per use."""
    return _size(node, {})


def cost(node: ir.Expr) -> int:
    """The greatest number of nodes visited when evaluating an expression."""
    return _cost(node, {})


def cost_of_check(loops: Iterable[ir.Loop], condition: ir.Expr) -> int:
    """The cost of a condition that is evaluated in every iteration of the loops."""
    return prod(_turns(loop) for loop in loops) * cost(condition)


def _turns(loop: ir.Loop) -> int:
    return max(BOUNDS.turns(loop)[1], 1)


def _size(node: ir.Expr, known: dict[int, int]) -> int:
    """`known` has the sizes of definitions seen before, by object identity."""
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
