"""Expressions as functions: `Evaluator.function(node)(environment)` is their value for one description.

The search for test cases solves conditions with them, and the elements that an operator computes follow from
them; rules are judged by the generated validators. A description is a mapping from names to values: tensors
and structs are objects with their fields, arrays are tuples, absent members None. Fields of an absent tensor
are 0 or empty. An expression that computes elements also needs a function under LOAD, which takes a tensor's
name, its index in an array of tensors or None, and a coordinate. Its results must support Python's operators,
and the evaluator must be given the functions of elements.

Functions are compiled from Python source that we generate from typed nodes: every name in it is a key of the
environment, written as a quoted string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from dmlgen.expr import arithmetic, ir
from dmlgen.expr.arithmetic import LIMIT, replaced, saturate
from dmlgen.expr.bounds import BOUNDS

Environment: TypeAlias = dict[str, Any]
Compiled: TypeAlias = Callable[[Environment], Any]

LOAD = "load()"  # cannot clash with a name in a spec

_FIELDS = ("DataType", "Flags", "DimensionCount", "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment")


def compile_expression(node: ir.Expr, bits: Mapping[int, int], signed: frozenset[int]) -> Compiled:
    """The function of one expression; for `bits` and `signed` see Evaluator."""
    return Evaluator(bits, signed).function(node)


class _Absent:
    """Stands for an absent tensor when one of its fields is read."""

    Sizes = Strides = None

    def __init__(self) -> None:
        for field in _FIELDS:
            setattr(self, field, 0)


class Evaluator:
    """Creates functions for expressions, and caches them: many operators share their rules.

    `bits` gives the bits per element of each tensor data type and `signed` the signed integer types, both by
    enumeration value; `functions` are the functions of elements, by name.
    """

    def __init__(
        self,
        bits: Mapping[int, int],
        signed: frozenset[int],
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._names = {**_NAMES, "bits_": bits.get, "signed_": signed, "absent_": _Absent()}
        self._names |= {f"{name}_": function for name, function in (functions or {}).items()}
        self._functions: dict[object, Callable[..., Any]] = {}

    def function(self, node: ir.Expr) -> Compiled:
        """A function from an environment to the value of `node`."""
        found = self._functions.get(node)
        if found is None:
            found = self._functions[node] = eval(f"lambda e: {_source(node, frozenset())}", self._names)
        return found

    def iterations(
        self, loops: Sequence[ir.Loop], guard: ir.Expr | None
    ) -> Callable[[Environment], Iterator[Environment]]:
        """A function that returns the environments of all iterations; there are none if the guard fails."""
        key = (tuple(loops), guard)
        found = self._functions.get(key)
        if found is None:
            lines = ["def run(e):"]
            if guard is not None:
                lines.append(f" if not ({_source(guard, frozenset())}): return")
            bound: frozenset[str] = frozenset()
            indent = " "
            for loop in loops:
                lower, upper = _source(loop.lower, bound), _source(loop.upper, bound)
                bound |= {loop.variable.name}
                lines.append(f"{indent}for v_{loop.variable.name} in range({lower}, {upper}):")
                indent += " "
                if loop.condition is not None:
                    lines.append(f"{indent}if not ({_source(loop.condition, bound)}): continue")
            names = ", ".join(f"{name!r}: v_{name}" for name in sorted(bound))
            lines.append(f"{indent}yield {{**e, {names}}}" if names else f"{indent}yield e")
            space = dict(self._names)
            exec("\n".join(lines), space)
            found = self._functions[key] = space["run"]
        return found


def _source(node: ir.Expr, bound: frozenset[str]) -> str:
    """Python source of the value, reads first; `bound` are loop variables that are Python variables."""

    def of(part: ir.Expr) -> str:
        return _source(part, bound)

    match node:
        case ir.Number(value=value) | ir.EnumValue(value=value) | ir.Constant(value=value):
            return f"({value!r})"
        case ir.Local(name=name) if name in bound:
            return f"v_{name}"
        case ir.Member(name=name, type=type_) if type_ in (ir.INTS, ir.FLOATS):
            return f"(e[{name!r}] or ())"
        case ir.Tensors(name=name):
            return f"(e[{name!r}] or ())"
        case ir.Local(name=name) | ir.Member(name=name) | ir.Tensor(name=name, index=None):
            return f"e[{name!r}]"
        case ir.Definition(value=inner):
            return of(inner)
        case ir.Tensor(name=name, index=index) if index is not None:
            return f"entry_(e[{name!r}] or (), {of(index)}, None)"
        case ir.Field(tensor=owner, name=name, type=type_):
            value_of = f"({of(owner)} or absent_).{name}"
            return f"({value_of} or ())" if type_ == ir.INTS else value_of
        case ir.Part(member=owner, name=name):
            return f"part_({of(owner)}, {name!r})"
        case ir.Present(item=ir.Field(tensor=owner, name=name)):
            return f"(({of(owner)} or absent_).{name} is not None)"
        case ir.Present(item=ir.Member(name=name)):
            return f"(e[{name!r}] is not None)"
        case ir.Present(item=item):
            return f"({of(item)} is not None)"
        case ir.Index(sequence=sequence, index=index):
            return f"entry_({of(sequence)}, {of(index)}, 0)"
        case ir.Load(tensor=ir.Tensor(name=name, index=index), coordinate=coordinate):
            return f"e[{LOAD!r}]({name!r}, {of(index) if index is not None else None}, {of(coordinate)})"
    return _operation(node, bound)


def _operation(node: ir.Expr, bound: frozenset[str]) -> str:
    """Python source of a value that needs computation."""

    def of(part: ir.Expr) -> str:
        return _source(part, bound)

    match node:
        case ir.Slice(sequence=sequence, lower=lower, upper=upper):
            first = f"max({of(lower)}, 0)" if lower is not None else ""
            last = f"max({of(upper)}, 0)" if upper is not None else ""
            return f"{of(sequence)}[{first}:{last}]"
        case ir.ListOf(items=items):
            return f"({''.join(f'{of(item)}, ' for item in items)})"
        case ir.Negate(operand=operand):
            return f"(-{of(operand)})"
        case ir.Not(operand=operand):
            return f"(not {of(operand)})"
        case ir.Binary(op="//" | "%" as op, left=left, right=right):
            return f"{_DIVIDE[op]}({of(left)}, {of(right)})"
        case ir.Binary(op=op, left=left, right=right):
            exact = node.type != ir.INT or not _may_saturate(node)
            return f"({of(left)} {op} {of(right)})" if exact else f"saturate_({of(left)} {op} {of(right)})"
        case ir.Compare(op=op, left=left, right=right):
            return f"({of(left)} {op} {of(right)})"
        case ir.OneOf(item=item, choices=choices):
            return f"({of(item)} in ({''.join(f'{of(choice)}, ' for choice in choices)}))"
        case ir.Logic(op=op, operands=operands):
            return f"({f' {op} '.join(of(operand) for operand in operands)})"
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            return f"({of(then)} if {of(test)} else {of(otherwise)})"
        case ir.Reduce(kind=kind, loop=loop, body=body):
            name = loop.variable.name
            within = bound | {name}
            condition = f" if {_source(loop.condition, within)}" if loop.condition is not None else ""
            over = f"range({of(loop.lower)}, {of(loop.upper)})"
            return f"{_REDUCE[kind]}({_source(body, within)} for v_{name} in {over}{condition})"
        case ir.Call(function="bits", arguments=(item,)):
            return f"bits_({of(item)}, 0)"
        case ir.Call(function="signed", arguments=(item,)):
            return f"({of(item)} in signed_)"
        case ir.Call(function=function, arguments=arguments):
            return f"{function}_({', '.join(of(argument) for argument in arguments)})"
    raise TypeError(f"{type(node).__name__} has no value")


def _may_saturate(node: ir.Expr) -> bool:
    """Whether an integer can exceed 64 bits for some description, so that it must be clamped."""
    low, high = BOUNDS.exact(node)
    return low < -LIMIT or high > LIMIT


def _entry(array: Any, index: int, default: Any) -> Any:
    return array[index] if 0 <= index < len(array) else default


def _part(struct: Any, name: str) -> Any:
    return getattr(struct, name, 0)


def _smallest(values: Any) -> Any:
    return min(values, default=0)


def _largest(values: Any) -> Any:
    return max(values, default=0)


def _sum(values: Any) -> Any:
    return saturate(sum(values))


_DIVIDE = {"//": "quotient_", "%": "remainder_"}
_REDUCE = {
    "all": "all",
    "any": "any",
    "sum": "sum_",
    "product": "product_",
    "min": "smallest_",
    "max": "largest_",
    "list": "tuple",
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "product": lambda values: saturate(prod(values)),
    "sum": _sum,
    "len": len,
    "replace": replaced,
}
_NAMES: dict[str, Any] = {
    **{f"{name}_": function for name, function in (*vars(arithmetic).items(), *_FUNCTIONS.items())},
    "entry_": _entry,
    "part_": _part,
    "smallest_": _smallest,
    "largest_": _largest,
    "inf": float("inf"),
    "nan": float("nan"),
}
