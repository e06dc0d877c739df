"""Expressions as functions: `Evaluator.function(node)(environment)` is their value for one description.

The search for test cases solves conditions with them; rules are judged by the generated validators. A
description is a mapping from names to values: tensors and structs are objects with their fields, arrays are
tuples, absent members None. Fields of an absent tensor are 0 or empty.

Functions are compiled from Python source that we generate from typed nodes: every name in it is a key of the
environment, written as a quoted string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeAlias

from dmlgen.expr import arithmetic, ir
from dmlgen.expr.arithmetic import LIMIT, saturate
from dmlgen.expr.bounds import BOUNDS
from dmlgen.expr.printer import ATOM, COMPARISON, Printer, Spelling

Environment: TypeAlias = dict[str, Any]
Compiled: TypeAlias = Callable[[Environment], Any]


class _Absent:
    """Represents an absent tensor when one of its fields is read."""

    Sizes = Strides = None
    DataType = Flags = DimensionCount = TotalTensorSizeInBytes = GuaranteedBaseOffsetAlignment = 0


class Evaluator:
    """Creates functions for expressions, and caches them: many operators share their rules.

    `bits` gives the bits per element of each tensor data type and `signed` the signed integer types, both by
    enumeration value.
    """

    def __init__(self, bits: Mapping[int, int], signed: frozenset[int]) -> None:
        self._names = {**_NAMES, "bits": bits.get, "signed": signed, "absent": _Absent}
        self._functions: dict[object, Callable[..., Any]] = {}

    def function(self, node: ir.Expr) -> Compiled:
        """A function from an environment to the value of `node`."""
        found = self._functions.get(node)
        if found is None:
            found = self._functions[node] = eval(f"lambda e: {_Source().print(node)}", self._names)
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
                lines.append(f" if not ({_Source().print(guard)}): return")
            bound: frozenset[str] = frozenset()
            indent = " "
            for loop in loops:
                over = _Source(bound).range(loop)
                bound |= {loop.variable.name}
                lines.append(f"{indent}for v_{loop.variable.name} in {over}:")
                indent += " "
                if loop.condition is not None:
                    lines.append(f"{indent}if not ({_Source(bound).print(loop.condition)}): continue")
            names = ", ".join(f"{name!r}: v_{name}" for name in sorted(bound))
            lines.append(f"{indent}yield {{**e, {names}}}" if names else f"{indent}yield e")
            space = dict(self._names)
            exec("\n".join(lines), space)
            found = self._functions[key] = space["run"]
        return found


class _Source(Printer):
    """Prints Python source of values; `bound` are loop variables that are Python variables."""

    spelling = Spelling(
        functions={"bits": "bits({}, 0)", "signed": "({} in signed)", "replace": "replaced({}, {}, {})"},
        reductions={"list": "tuple({})", "min": "smallest({})", "max": "largest({})"},
    )

    def __init__(self, bound: frozenset[str] = frozenset()) -> None:
        self.bound = bound

    def enum_value(self, node: ir.EnumValue) -> str:
        return repr(node.value)

    def constant(self, node: ir.Constant) -> str:
        return repr(node.value)

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        if isinstance(node, ir.Definition):
            return f"({self.print(node.value)})"
        if isinstance(node, ir.Local) and node.name in self.bound:
            return f"v_{node.name}"
        is_list = isinstance(node, ir.Tensors) or node.type in (ir.INTS, ir.FLOATS)
        is_member = not isinstance(node, ir.Local)
        return f"(e[{node.name!r}] or ())" if is_list and is_member else f"e[{node.name!r}]"

    def tensor(self, node: ir.Tensor) -> str:
        if node.index is None:
            return f"e[{node.name!r}]"
        return f"tensor_at(e[{node.name!r}] or (), {self.print(node.index)})"

    def field(self, node: ir.Field) -> str:
        text = f"({self.tensor(node.tensor)} or absent).{node.name}"
        return f"({text} or ())" if node.type == ir.INTS else text

    def part(self, node: ir.Part) -> str:
        return f"part({self.name(node.member)}, {node.name!r})"

    def present(self, node: ir.Present) -> str:
        match node.item:
            case ir.Field(tensor=owner, name=name):
                return f"(({self.tensor(owner)} or absent).{name} is not None)"
            case ir.Member(name=name):
                return f"(e[{name!r}] is not None)"
            case item:
                return f"({self.print(item)} is not None)"

    def index(self, node: ir.Index) -> str:
        return f"entry({self.print(node.sequence)}, {self.print(node.index)})"

    def slice(self, node: ir.Slice) -> str:
        lower, upper = (
            "" if end is None else f"max({self.print(end)}, 0)" for end in (node.lower, node.upper)
        )
        return f"{self.print(node.sequence, ATOM)}[{lower}:{upper}]"

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        return f"({''.join(f'{self.print(item)}, ' for item in items)})"

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.op in ("//", "%"):
            function = "quotient" if node.op == "//" else "remainder"
            return f"{function}({self.print(node.left)}, {self.print(node.right)})", ATOM
        text, precedence = super().binary(node)
        low, high = BOUNDS.exact(node) if node.type == ir.INT else (0, 0)
        return (f"saturate({text})", ATOM) if low < -LIMIT or high > LIMIT else (text, precedence)

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        return f"{self.print(node.item, COMPARISON + 1)} {'not ' * negated}in {self.list_of(node.choices)}"

    def each_of(self, node: ir.Reduce) -> str:
        over, outer = self.range(node.loop), self.bound
        self.bound = outer | {node.loop.variable.name}
        condition = f" if {self.print(node.condition)}" if node.condition is not None else ""
        text = f"{self.print(node.body)} for v_{node.loop.variable.name} in {over}{condition}"
        self.bound = outer
        return text


def _tensor_at(array: Sequence[Any], index: int) -> Any:
    return array[index] if 0 <= index < len(array) else None


_NAMES: dict[str, Any] = {
    **vars(arithmetic),
    "product": lambda values: saturate(prod(values)),
    "sum": lambda values: saturate(sum(values)),
    "tensor_at": _tensor_at,
    "part": lambda struct, name: getattr(struct, name, 0),
    "smallest": partial(min, default=0),
    "largest": partial(max, default=0),
    "inf": float("inf"),
    "nan": float("nan"),
}
