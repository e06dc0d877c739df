"""Elements used as raw bits, by bit operations and by outputs of their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dmlgen.expr import ir

OPERATORS, FUNCTIONS = ("&", "|", "^", "<<", ">>"), ("bit_not", "bit_count")


def works_on_bits(node: ir.Expr) -> bool:
    """Whether an operation uses elements as raw bits."""
    match node:
        case ir.Binary(op=op):
            return op in OPERATORS and node.type.kind == "element"
        case ir.Call(function=function):
            return function in FUNCTIONS
        case _:
            return False


def choices(node: ir.Expr) -> Iterator[ir.Expr]:
    """The alternatives for a value, through names and conditionals."""
    match node:
        case ir.Conditional(then=then, otherwise=otherwise):
            yield from choices(then)
            yield from choices(otherwise)
        case ir.Apply(function=ir.Function(body=value)) | ir.Definition(value=value):
            yield from choices(value)
        case _:
            yield node


def has_bits(node: ir.Expr) -> bool:
    """Whether a value has raw bits: an element as it is read, or the result of an operation on such bits."""
    return all(
        works_on_bits(one) or (isinstance(one, ir.Load) and one.type.kind == "element")
        for one in choices(node)
    )


def is_made_of_bits(node: ir.Expr) -> bool:
    """Whether a value can be the result of an operation on bits."""
    return any(map(works_on_bits, choices(node)))


def taken(value: ir.Expr) -> Iterator[tuple[ir.Expr, bool]]:
    """The bit operations and elements below a stored value, each with whether it is used as raw bits.

    Otherwise it is used as a number; a count of bits is a number, too, if it is converted.
    """
    yield from _taken(value, is_made_of_bits(value), set())


def _taken(
    node: ir.Expr, as_bits: bool, seen: set[tuple[ir.Function, bool]]
) -> Iterator[tuple[ir.Expr, bool]]:
    inner: Iterable[tuple[ir.Expr, bool]]
    match node:
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            inner = (test, False), (then, as_bits), (otherwise, as_bits)
        case ir.Apply(function=function, arguments=arguments):
            key = function, as_bits
            inner = [(argument, False) for argument in arguments]
            inner += [(function.body, as_bits)] if key not in seen else []
            seen.add(key)
        case ir.Definition(value=value):
            inner = ((value, as_bits),)
        case ir.Call("convert", (ir.Call("bit_count", (item,)), _)):
            inner = ((item, True),)
        case _:
            if works_on_bits(node) or isinstance(node, ir.Load) or node.type.kind == "element" or as_bits:
                yield node, as_bits
            inner = ((child, works_on_bits(node)) for child in ir.children(node))
    for child, bits in inner:
        yield from _taken(child, bits, seen)


def tensors_of_bits(values: Iterable[ir.Expr]) -> frozenset[str]:
    """The tensors whose elements are used as raw bits, and those that represent their types."""
    loads = [
        node for value in values for node, as_bits in taken(value) if as_bits and isinstance(node, ir.Load)
    ]
    return frozenset(name for one in loads for name in (one.tensor.entry, one.type.name or ""))
