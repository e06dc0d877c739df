"""Evaluates counterpart expressions for a node; dmlgen has checked the expressions, but not the node."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from ..elements import extremes
from ..enums import TensorDataType
from . import data
from .einsum import dimensions
from .tensors import LARGEST, Impossible, Undecided, View, constant

_FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Evaluator:
    """The names available to a node's expressions, and the definitions that they use.

    `values` are views (lists of views for inputs with several tensors), attributes, and None for what is
    absent. `evaluate` raises only Undecided and Impossible.
    """

    def __init__(self, values: Mapping[str, Any], let: Mapping[str, str]) -> None:
        self.values = dict(values)
        self.let = let

    def evaluate(self, text: str) -> Any:
        try:
            return self._value(_parsed(text), {})
        except (Undecided, Impossible):
            raise
        except _FAULTS as error:
            raise Impossible(f"the node is not well formed: {text} has no value ({error})") from None

    def _value(self, node: ast.expr, loop: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return loop[name] if name in loop else self._named(name)
            case ast.Attribute(value=owner, attr=field):
                return _field(self._value(owner, loop), field)
            case ast.Subscript(value=owner, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                bounds = (None if one is None else self._value(one, loop) for one in (lower, upper, step))
                return self._value(owner, loop)[slice(*bounds)]
            case ast.Subscript(value=ast.Dict(keys=keys, values=values), slice=index):
                wanted = self._value(index, loop)
                for key, entry in zip(keys, values, strict=True):
                    if key is not None and self._value(key, loop) == wanted:
                        return self._value(entry, loop)
                raise Impossible(f"{ast.unparse(index)} is {wanted!r:.60}, for which there is nothing")
            case ast.Subscript(value=owner, slice=index):
                place = self._value(index, loop)
                whole = self._value(owner, loop)
                if place < 0 or place >= len(whole):
                    raise Impossible(f"{ast.unparse(owner)} has no entry {place}")
                return whole[place]
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._value(body if self._value(test, loop) else otherwise, loop)
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self._value(one, loop) for one in values)
            case ast.BoolOp(values=values):
                return any(self._value(one, loop) for one in values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand, loop)
            case ast.UnaryOp(operand=operand):
                return -self._value(operand, loop)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self._value(left, loop), self._value(right, loop))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._value(one, loop) for one in (left, *others)]
                pairs = zip(sides, ops, sides[1:], strict=False)
                return all(_COMPARISONS[type(op)](a, b) for a, op, b in pairs)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._value(one, loop) for one in items]
            case ast.Dict(keys=keys, values=values):
                pairs_ = zip(keys, values, strict=True)
                return {self._value(key, loop): self._value(value, loop) for key, value in pairs_ if key}
            case ast.ListComp(elt=item, generators=[each]) | ast.GeneratorExp(elt=item, generators=[each]):
                return self._list(item, each, loop)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _FUNCTIONS[name](*(self._value(one, loop) for one in arguments))
        raise TypeError(type(node).__name__)

    def _named(self, name: str) -> Any:
        if name not in self.values:
            self.values[name] = self._value(_parsed(self.let[name]), {})
        return self.values[name]

    def _list(self, item: ast.expr, each: ast.comprehension, loop: Mapping[str, Any]) -> list[Any]:
        assert isinstance(each.target, ast.Name)
        entries = []
        for value in self._value(each.iter, loop):
            inner = {**loop, each.target.id: value}
            if all(self._value(condition, inner) for condition in each.ifs):
                entries.append(self._value(item, inner))
        return entries


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _field(owner: Any, field: str) -> Any:
    if owner is None:
        raise Impossible(f"an input whose {field} matters is absent")
    match field:
        case "Sizes":
            return list(owner.sizes)
        case "DataType":
            return owner.type
        case _:
            return owner.rank


def _values(view: View | None) -> list[Any]:
    if view is None:
        raise Impossible("an input whose values matter is absent")
    array = view.tensor.array
    if array is None:
        raise Undecided(f"the values of {view.tensor.name} are not known before the model runs")
    if array.size > LARGEST:
        raise Impossible(f"{view.tensor.name} has too many values for what it means")
    numbers: list[Any] = array.ravel().tolist()
    return numbers


def _value(view: View | None) -> Any:
    numbers = _values(view)
    if len(numbers) != 1:
        raise Impossible(f"{view and view.tensor.name} has {len(numbers)} values where one is expected")
    return numbers[0]


def _range(*bounds: int) -> range:
    chosen = range(*bounds)
    if len(chosen) > LARGEST:
        raise Impossible("a loop of more turns than anything in a description has entries")
    return chosen


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Impossible(f"axis {axis} is not one of {rank} dimensions")
    return axis % rank


def _broadcast(a: list[int], b: list[int]) -> list[int]:
    return list(np.broadcast_shapes(tuple(a), tuple(b)))


def _clipped(bounds: list[int], size: int, part: str) -> int:
    """The bounds of a Python slice of an array of that length: its first index, its end or its count."""
    start, end, step = bounds
    chosen = range(size)[slice(start, end, step)]
    if not chosen:
        raise Impossible("a slice has no elements")
    return {
        "low": min(chosen[0], chosen[-1]),
        "extent": abs(chosen[-1] - chosen[0]) + 1,
        "count": len(chosen),
    }[part]


def _data_type(number: int) -> str:
    names = data()["data_types"]
    if str(number) not in names:
        raise Impossible(f"DirectML has no data type for ONNX's number {number}")
    return str(names[str(number)])


def _activations(
    names: list[str], alphas: list[float] | None, betas: list[float] | None, count: int
) -> list[Any]:
    """Fused activations of recurrent networks; they take their alphas and betas from the lists in turn."""
    if len(names) != count:
        raise Impossible(f"{len(names)} activations where {count} are expected")
    left = {"alpha": list(alphas or ()), "beta": list(betas or ())}
    known = {name.lower(): value for name, value in data()["activations"].items()}
    found = []
    for name in names:
        if name.lower() not in known:
            raise Impossible(f"no operator can be fused for the activation {name!r:.60}")
        entry = known[name.lower()]
        members = dict(entry["fixed"])
        for member, (source, default) in entry["members"].items():
            value = left[source].pop(0) if left[source] else default
            if value is None:
                raise Impossible(f"the activation {name} lacks its {source}")
            members[member] = value
        found.append({"type": f"DML_OPERATOR_{entry['operator']}", "desc": members})
    return found


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "reshape": lambda view, sizes: view.reshaped(sizes),
    "deep": lambda view, rank: view.deep(rank),
    "wide": lambda view, rank: view.wide(rank),
    "channels": lambda view, rank, axis: view.channels(rank, axis),
    "expand": lambda view, sizes: view.spread(sizes),
    "permute": lambda view, axes: view.permuted(axes),
    "retyped": lambda view, type_: view.retyped(type_),
    "nibbles": lambda view: view.nibbles(),
    "filled": constant,
    "table": constant,
    "present": lambda one: one is not None,
    "known": lambda view: view is None or view.tensor.array is not None,
    "truth": lambda view: view.tensor.truth,
    "scalar": lambda view: view.tensor.scalar,
    "shape": lambda view: list(view.tensor.shape),
    "values": _values,
    "value": _value,
    "axis": _axis,
    "len": len,
    "range": _range,
    "sum": sum,
    "product": math.prod,
    "min": lambda *given: min(given[0] if len(given) == 1 else given, default=0),
    "max": lambda *given: max(given[0] if len(given) == 1 else given, default=0),
    "all": all,
    "any": any,
    "abs": abs,
    "float": float,
    "int": int,
    "ceil": math.ceil,
    "sorted": sorted,
    "broadcast": _broadcast,
    "sqrt": math.sqrt,
    "min_value": lambda type_: extremes(TensorDataType[type_])[0],
    "max_value": lambda type_: extremes(TensorDataType[type_])[1],
    "bits": lambda type_: max(TensorDataType[type_].bits, 8),
    "is_float": lambda type_: TensorDataType[type_].kind == "float",
    "data_type": _data_type,
    "activations": _activations,
    "clipped": _clipped,
    "einsum": dimensions,
}
