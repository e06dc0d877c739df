"""Floats that decide: those that reach an index, a condition, a bound or a rounding to integers.

Reference and shader both compute them in single precision, in the written order, with every operation
correctly rounded. All other floats are free, and so is every float sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from dmlgen.expr import ir
from dmlgen.expr.printer import Printer
from dmlgen.registry import Intermediate

_ROUNDING = ("floor", "ceil", "trunc", "round_even", "round_away", "int")


def parts(node: ir.Expr, deciding: bool) -> Iterator[tuple[ir.Expr, bool]]:
    """The direct sub-expressions, each with whether its floats decide, given whether those of `node` do."""
    match node:
        case ir.Load(coordinate=coordinate) | ir.Entry(coordinate=coordinate):
            yield coordinate, True
        case ir.Compare(left=left, right=right):
            yield left, True
            yield right, True
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            yield test, True
            yield then, deciding
            yield otherwise, deciding
        case ir.Reduce(kind=kind, loops=loops, body=body) if kind != "list":
            for loop in loops:
                yield from ((part, True) for part in ir.children(loop)[1:])
            yield body, (deciding and kind != "sum") or kind in ("argmax", "argmin", "any", "all")
        case ir.Call(function=function, arguments=arguments):
            rounds = function in _ROUNDING or (function in ("convert", "quantize") and node.type != ir.FLOAT)
            for argument in arguments:
                yield argument, deciding or rounds
        case ir.Apply(function=function, arguments=arguments):
            needed = deciding_parameters(function)
            for parameter, argument in zip(function.parameters, arguments, strict=True):
                yield argument, deciding or parameter.name in needed or argument.type != ir.FLOAT
            yield function.body, deciding
        case _:
            for child in ir.children(node):
                yield child, deciding


@cache
def deciding_parameters(function: ir.Function) -> frozenset[str]:
    """The parameters that decide something inside a function, whether or not its result does."""
    names = {parameter.name for parameter in function.parameters}
    found: set[str] = set()
    todo: list[tuple[ir.Expr, bool]] = [(function.body, False)]
    while todo:
        node, deciding = todo.pop()
        if isinstance(node, ir.Local) and deciding and node.name in names:
            found.add(node.name)
        below = list(parts(node, deciding))
        todo += below[:-1] if isinstance(node, ir.Apply) else below  # its body does not know these names
    return frozenset(found)


class DecidingPrinter(Printer):
    """Prints values whose floats decide, and others; `_single` is set for the former."""

    _single = False

    def deciding(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of a value whose floats decide."""
        return self._in(node, True, outer)

    def _in(self, node: ir.Expr, single: bool, outer: int = 0) -> str:
        before, self._single = self._single, single
        text = self.print(node, outer)
        self._single = before
        return text

    def _given(self, node: ir.Apply) -> list[str]:
        """The arguments of a function."""
        needed = deciding_parameters(node.function)
        return [
            self.deciding(argument)
            if parameter.name in needed or argument.type.kind not in ("float", "element")
            else self.print(argument)
            for parameter, argument in zip(node.function.parameters, node.arguments, strict=True)
        ]


def deciding_tensors(tensors: Iterable[Intermediate], values: Iterable[ir.Expr]) -> frozenset[str]:
    """The names of the intermediate tensors that are read in order to decide something."""
    kept = {tensor.name: tensor for tensor in tensors}
    found: set[str] = set()
    seen: set[tuple[ir.Function, bool]] = set()
    todo: list[tuple[ir.Expr, bool]] = [(value, False) for value in values]
    todo += [(tensor.value, False) for tensor in kept.values()]
    while todo:  # visits each function and each tensor's value at most twice
        node, deciding = todo.pop()
        if isinstance(node, ir.Apply):
            if (node.function, deciding) in seen:
                todo += [(argument, deciding) for argument in node.arguments]
                continue
            seen.add((node.function, deciding))
        if isinstance(node, ir.Entry) and deciding and node.tensor not in found:
            found.add(node.tensor)
            todo.append((kept[node.tensor].value, True))
        todo += parts(node, deciding)
    return frozenset(found)
