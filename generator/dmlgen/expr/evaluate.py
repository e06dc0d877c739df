"""Expressions as functions: `compile_expression(node)(environment)` is their value for one description.

The generator itself uses this, to search for test cases; the generated validators do not. A description is
given as a mapping from names to values: tensors are objects with the fields of a tensor, an absent member is
None, an absent array empty. An expression that computes also needs a function under LOAD: of a tensor's name
and a coordinate, the element there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dmlgen.expr import ir

Environment: TypeAlias = dict[str, Any]
Compiled: TypeAlias = Callable[[Environment], Any]

LIMIT = (1 << 63) - 1
LOAD = "load()"  # no name that a spec can define

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def saturate(value: Any) -> Any:
    """Integers stay within 64 bits; other values are themselves."""
    if value.__class__ is int and not -LIMIT <= value <= LIMIT:
        return LIMIT if value > 0 else -LIMIT
    return value


def compile_expression(node: ir.Expr, bits: Mapping[int, int], signed: frozenset[int]) -> Compiled:
    """A function from an environment to the value of `node`.

    `bits` gives the bits of an element of each tensor data type and `signed` the signed integer types,
    both by enumeration value.
    """

    def build(node: ir.Expr) -> Compiled:
        match node:
            case ir.Number(value=value) | ir.EnumValue(value=value) | ir.Constant(value=value):
                return lambda env: value
            case ir.Local(name=name) | ir.Member(name=name) | ir.Tensors(name=name):
                return lambda env: env[name]
            case ir.Definition(value=inner):
                return build(inner)
            case ir.Tensor(name=name, index=None):
                return lambda env: env[name]
            case ir.Tensor(name=name, index=index) if index is not None:
                at = build(index)
                return lambda env: _entry(env[name], at(env), None)
            case ir.Field(tensor=owner, name=name, type=ir.INTS):
                tensor = build(owner)
                return lambda env: getattr(tensor(env), name) or ()
            case ir.Field(tensor=owner, name=name):
                tensor = build(owner)
                return lambda env: getattr(tensor(env), name)
            case ir.Part(member=owner, name=name):
                struct = build(owner)
                return lambda env: _part(struct(env), name)
            case ir.Present(item=ir.Field(tensor=owner, name=name)):
                tensor = build(owner)
                return lambda env: getattr(tensor(env), name) is not None
            case ir.Present(item=item):
                given = build(item)
                return lambda env: given(env) is not None
            case ir.Index(sequence=sequence, index=index):
                array, at = build(sequence), build(index)
                return lambda env: _entry(array(env), at(env), 0)
            case ir.Slice(sequence=sequence, lower=lower, upper=upper):
                array = build(sequence)
                first = build(lower) if lower is not None else lambda env: 0
                last = build(upper) if upper is not None else lambda env: LIMIT
                return lambda env: tuple(array(env)[max(first(env), 0) : max(last(env), 0)])
            case ir.ListOf(items=items):
                entries = [build(item) for item in items]
                return lambda env: tuple(entry(env) for entry in entries)
            case ir.Negate(operand=operand):
                value_of = build(operand)
                return lambda env: -value_of(env)
            case ir.Not(operand=operand):
                value_of = build(operand)
                return lambda env: not value_of(env)
            case ir.Binary(op=op, left=left, right=right):
                apply, a, b = _ARITHMETIC[op], build(left), build(right)
                return lambda env: saturate(apply(a(env), b(env)))
            case ir.Compare(op=op, left=left, right=right):
                holds, a, b = _COMPARE[op], build(left), build(right)
                return lambda env: holds(a(env), b(env))
            case ir.OneOf(item=item, choices=choices):
                value_of, values = build(item), [build(choice) for choice in choices]
                return lambda env: value_of(env) in [value(env) for value in values]
            case ir.Logic(op=op, operands=operands):
                parts, decisive = [build(operand) for operand in operands], op == "or"
                return lambda env: any(p(env) for p in parts) if decisive else all(p(env) for p in parts)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                condition, yes, no = build(test), build(then), build(otherwise)
                return lambda env: yes(env) if condition(env) else no(env)
            case ir.Reduce(kind=kind, body=body):
                loop, value_of, combine = iterate(node.loop), build(body), _REDUCE[kind]
                return lambda env: combine(value_of(inner) for inner in loop(env))
            case ir.Call(function="bits", arguments=(item,)):
                value_of = build(item)
                return lambda env: bits.get(value_of(env), 0)
            case ir.Call(function="signed", arguments=(item,)):
                value_of = build(item)
                return lambda env: value_of(env) in signed
            case ir.Call(function=function, arguments=arguments):
                apply_call, values = _FUNCTIONS[function], [build(argument) for argument in arguments]
                return lambda env: apply_call(*[value(env) for value in values])
            case ir.Load(tensor=ir.Tensor(name=name, index=None), coordinate=coordinate):
                at = build(coordinate)
                return lambda env: env[LOAD](name, at(env))
        raise TypeError(f"{type(node).__name__} has no value")

    def iterate(loop: ir.Loop) -> Callable[[Environment], Any]:
        lower, upper, name = build(loop.lower), build(loop.upper), loop.variable.name
        condition = build(loop.condition) if loop.condition is not None else None

        def run(env: Environment) -> Any:
            for value in range(lower(env), upper(env)):
                inner = {**env, name: value}
                if condition is None or condition(inner):
                    yield inner

        return run

    return build(node)


def _entry(array: Any, index: int, default: Any) -> Any:
    return array[index] if 0 <= index < len(array) else default


def _part(struct: Any, name: str) -> Any:
    return struct[name] if struct is not None else 0


def _product(values: Any) -> int:
    result = 1
    for value in values:
        result = saturate(result * value)
    return result


def _align(array: tuple[int, ...], length: int, fill: int) -> tuple[int, ...]:
    length = max(length, 0)
    return (fill,) * (length - len(array)) + tuple(array[max(len(array) - length, 0) :])


def _replace(array: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    return tuple(value if position == index else entry for position, entry in enumerate(array))


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b if not isinstance(a, tuple) else (*a, *b),
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "&": operator.and_,
    "|": operator.or_,
}
_REDUCE: dict[str, Callable[[Any], Any]] = {
    "all": all,
    "any": any,
    "sum": lambda values: saturate(sum(values)),
    "product": _product,
    "min": lambda values: min(values, default=0),
    "max": lambda values: max(values, default=0),
    "list": tuple,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "product": _product,
    "sum": lambda array: saturate(sum(array)),
    "len": len,
    "align": _align,
    "replace": _replace,
    "wrap": lambda index, size: min(max(index + size if index < 0 else index, 0), size - 1),
    "power_of_two": lambda value: value > 0 and value & (value - 1) == 0,
}
