"""The parts of definitions that depend only on the description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_RANK
from dmlgen.expr.definition_queries import asks_presence, is_host_computed, walk_through


def is_constant(node: ir.Expr) -> bool:
    """Whether a part of an expression is passed to the shader as a constant."""
    if isinstance(node, ir.Number | ir.EnumValue | ir.Constant | ir.Tensor | ir.Tensors):
        return False
    if is_of_ranks(node):  # the shader knows how many sizes there are
        return False
    if node.type.kind == "element":
        match node:
            case ir.Call("convert", (item, _)):
                return item.type != ir.INT and is_host_computed(item)
        return isinstance(node, ir.Member)
    if node.type.kind not in ("int", "bool", "enum", "ints", "float", "floats") or not is_host_computed(node):
        return False
    if node.type == ir.BOOL:
        return not asks_presence(node)
    if node.type == ir.FLOAT:  # shaders do arithmetic on floats themselves, in their own precision
        return isinstance(node, ir.Member | ir.Part | ir.Index)
    return True


def is_of_ranks(node: ir.Expr) -> bool:
    """Whether an integer is made only of numbers of dimensions, such as the place of a matrix's rows."""
    match node:
        case ir.Number(type=ir.INT):
            return True
        case ir.Binary("+" | "-", left, right, ir.INT):
            return is_of_ranks(left) and is_of_ranks(right)
        case ir.Call("min" | "max", arguments) if node.type == ir.INT:
            return all(map(is_of_ranks, arguments))
    return is_dimension_count(node)


def is_dimension_count(node: ir.Expr) -> bool:
    return isinstance(node, ir.Field) and node.name == "DimensionCount"


def bounds_of_lists(whole: Iterable[ir.Expr]) -> Iterator[ir.Expr]:
    """The constants that bound lists written entry by entry: they are as small as ranks."""
    for value in whole:
        for node in ir.walk(value):
            if isinstance(node, ir.Reduce) and node.kind == "list":
                yield from filter(is_constant, (node.loop.lower, node.loop.upper))


def axes_in(value: ir.Expr) -> Iterator[ir.Expr]:
    """The axes and ranks of the description that functions in a value return, by which lists are indexed."""
    for node in walk_through(value):
        is_short = isinstance(node, ir.Apply) and node.type == ir.INT and BOUNDS.value(node)[1] <= MAX_RANK
        if is_short and is_constant(node):
            yield node


def truths_of(whole: Iterable[ir.Expr | None]) -> Iterator[ir.Expr]:
    """The truth values that select code: a shader has none for what is not selected."""
    for value in whole:
        yield from () if value is None else _truths(value, set())


def _truths(node: ir.Expr, seen: set[ir.Function]) -> Iterator[ir.Expr]:
    if is_constant(node):
        yield from [node] if node.type == ir.BOOL else []
        return
    for part in ir.children(node):
        yield from _truths(part, seen)
    if isinstance(node, ir.Apply) and node.function not in seen:
        seen.add(node.function)
        yield from _truths(node.function.body, seen)
