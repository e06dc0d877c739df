"""Queries on a definition's expressions that every target needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from dmlgen.expr import ir
from dmlgen.expr.define import varies
from dmlgen.expr.functions import FUNCTIONS


def walk_through(node: ir.Expr) -> Iterator[ir.Expr]:
    """All parts of a value, including those of the functions that it calls, each function once."""
    seen: set[ir.Function] = set()
    todo = [node]
    while todo:
        for part in ir.walk(todo.pop()):
            yield part
            if isinstance(part, ir.Apply) and part.function not in seen:
                seen.add(part.function)
                todo.append(part.function.body)


def local_names(values: Iterable[ir.Expr]) -> Iterator[str]:
    """The names of parameters and loop variables in values, and `at`."""
    for value in values:
        for part in ir.walk(value):
            match part:
                case ir.Local(name=name):
                    yield name
                case ir.Reduce(loops=loops):
                    yield from (loop.variable.name for loop in loops)
                case ir.Apply(function=function):
                    yield from (parameter.name for parameter in function.parameters)


def entries_of(node: ir.Expr) -> list[ir.Entry]:
    """The reads of intermediate tensors in a value, including those in functions."""
    return [part for part in walk_through(node) if isinstance(part, ir.Entry)]


def factors_of(node: ir.Expr) -> list[ir.Expr]:
    """The factors of a product of floats, from left to right; the value itself if it is none."""
    match node:
        case ir.Binary("*", left, right, ir.FLOAT):
            return [*factors_of(left), *factors_of(right)]
    return [node]


@cache
def _function_uses_at(function: ir.Function) -> bool:
    return uses_at(function.body)


def uses_at(node: ir.Expr) -> bool:
    """Whether a value depends on the coordinate being defined, functions included."""
    for part in ir.walk(node):
        match part:
            case ir.Local(name="at") | ir.Call(function="previous_contents" | "concat"):
                return True
            case ir.Apply(function=function) if _function_uses_at(function):
                return True
    return False


def free_locals(node: ir.Expr) -> dict[str, ir.Local]:
    """The loop variables and parameters that a value needs from outside, including `at`, by name."""
    found: dict[str, ir.Local] = {}
    for child in ir.children(node):
        found |= free_locals(child)
    match node:
        case ir.Local(name=name):
            found[name] = node
        case ir.Call(function="previous_contents" | "concat"):
            found["at"] = ir.Local("at", ir.INTS)
        case ir.Apply(function=function) if _function_uses_at(function):
            found["at"] = ir.Local("at", ir.INTS)
        case ir.Reduce(loops=loops):
            inner = {loop.variable.name for loop in loops}
            bounds = (bound for loop in loops for bound in (loop.lower, loop.upper))
            outer = {name for bound in bounds for name in free_locals(bound)}
            found = {name: local for name, local in found.items() if name not in inner - outer}
    return found


def is_known(node: ir.Expr) -> bool:
    """Whether a value depends only on the description, so that a host can compute it for a shader.

    The index of the current output, in an array of outputs, is treated as known.
    """
    return not varies(node) and free_locals(node).keys() <= {"index"}


def is_host_computed(node: ir.Expr) -> bool:
    """Whether a host computes a value for the shader: it is known, and expressible in the rule language.

    Float arithmetic is left to the shader, in its own precision, and so are functions that rules lack.
    """
    return is_known(node) and _is_plain(node)


def _is_plain(node: ir.Expr) -> bool:
    match node:
        case ir.Apply(function=function, arguments=arguments):
            used = free_locals(function.body)
            pairs = zip(function.parameters, arguments, strict=True)
            return _is_plain(function.body) and all(
                _is_plain(argument) for parameter, argument in pairs if parameter.name in used
            )
        case ir.Call(function=function) if function not in FUNCTIONS:
            return False
        case ir.Compare(left=left) if left.type in (ir.FLOAT, ir.FLOATS):
            return False
        case ir.Negate() | ir.Binary() | ir.Conditional() if node.type == ir.FLOAT:
            return False
    return all(map(_is_plain, ir.children(node)))


def may_be_written_zero(node: ir.Expr) -> bool:
    """Whether a float consists of literals only and could be 0.

    Shader compilers fold 0 / x to 0, even where x is 0 or NaN.
    """
    match node:
        case ir.Number(value=value):
            return value == 0
        case ir.Call("element", (number,)) | ir.Negate(operand=number):
            return may_be_written_zero(number)
    leaves = (part for part in walk_through(node) if not ir.children(part) and not isinstance(part, ir.Apply))
    return all(isinstance(part, ir.Number) for part in leaves)


def asks_presence(node: ir.Expr) -> bool:
    """Whether a value depends on optional tensors being present, functions included."""
    for part in ir.walk(node):
        match part:
            case ir.Present(item=ir.Tensor()):
                return True
            case ir.Apply(function=function) if asks_presence(function.body):
                return True
            case ir.Definition(value=value) if asks_presence(value):
                return True
    return False
