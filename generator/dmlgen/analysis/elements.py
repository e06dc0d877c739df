"""Definitions in terms of elements: every number that comes from a tensor has the type of that tensor's
elements.

A definition computes with floats and integers if all data types of a tensor are floats, or integers, since
that reads best. Schedules compute in the data type of the description. What has no tensor's type yet, such as
a FLOAT member, takes that of the elements it is combined with.

Two functions exist only in schedules: `divide_exactly(x, y)` is x / y, correctly rounded, which / need not be
on a GPU; `difference(x, y, T)` is the exact x - y of integers, converted to the type of T's elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_LOOP, MAX_RANK
from dmlgen.expr.functions import ELEMENT_FUNCTIONS, FUNCTIONS
from dmlgen.registry import Definition

_ROUNDING = ("floor", "ceil", "trunc", "round_even", "round_away", "quantize")
_OF_NO_TYPE = ("float", "int")  # until they meet an element


class Unfit(Exception):
    """A definition does not have the form in question."""


def rebuilt(node: ir.Expr, write: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """The expression with each of its direct parts written again; it has no loops."""
    changes: dict[str, Any] = {}
    for name in ir.PARTS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            changes[name] = tuple(map(write, value))
        elif type(value) in ir.PARTS:
            changes[name] = write(value)
    return replace(node, **changes) if changes else node


class InElements:
    """Rewrites the expressions of one definition; `names` collects those of its `let`, each after those it
    uses.

    Raises Unfit for what schedules cannot compute: loops over elements, functions, intermediate tensors, and
    operations on elements of two types.
    """

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes
        self.names: dict[str, ir.Expr] = {}

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The names, in the form that schedules use."""
        return tuple(Definition(name, value) for name, value in self.names.items())

    def type(self, tensor: ir.Tensor) -> ir.Type:
        """The type of a tensor's elements."""
        return ir.element_of(self._classes.get(tensor.entry) or self._classes[tensor.name])

    def stored(self, output: ir.Tensor, value: ir.Expr) -> ir.Expr:
        """The value of an output: one of its elements, or a truth value."""
        found = self.of(value)
        stored = found if found.type == ir.BOOL else self._settled(found, self.type(output))
        if any(isinstance(node, ir.Call) and node.function in _OF_NO_TYPE for node in ir.walk(stored)):
            raise Unfit
        return stored

    def of(self, node: ir.Expr, rounded: bool = False) -> ir.Expr:
        """An expression in terms of elements. `rounded`: it becomes an integer, so quotients in it must be
        exact."""
        match node:
            case ir.Load(tensor=tensor, coordinate=coordinate):
                return ir.Load(tensor, self.of(coordinate), self.type(tensor))
            case ir.Apply(function=ir.Function(name=name, parameters=(), body=body)):
                return self._named(name, self.of(body, rounded))
            case ir.Apply() | ir.Entry():
                raise Unfit
            case ir.Definition():  # from the rules, without elements
                return node
            case ir.Reduce() if node.over_elements or node.type.kind in ("float", "element"):
                raise Unfit
            case ir.Compare(op=op, left=left, right=right):
                operands = self.of(left), self.of(right)
                numbers = [one for one in operands if one.type == ir.INT]
                if len(numbers) == 1 and BOUNDS.value(numbers[0])[0] < 0:
                    raise Unfit  # which no unsigned element is equal to or less than
                return ir.Compare(op, *self._alike(*operands))
            case ir.Negate(operand=operand) if node.type != ir.INT:
                return ir.Negate(self.of(operand, rounded))
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                branches = self._alike(self.of(then, rounded), self.of(otherwise, rounded))
                return ir.Conditional(self.of(test), *branches)
            case ir.Binary(op=op, left=left, right=right):
                a, b = self._alike(self.of(left, rounded), self.of(right, rounded))
                if node.type == ir.INT and a.type != ir.INT:
                    raise Unfit  # elements have fewer bits than integers
                if op == "/" and rounded:
                    return ir.Call("divide_exactly", (a, b), a.type)
                return ir.Binary(op, a, b, a.type)
            case ir.Call():
                return self._call(node, rounded)
            case ir.Reduce(loop=loop, body=body):
                last = _at_most(self._plain(loop.upper), MAX_RANK)
                condition = None if loop.condition is None else self.of(loop.condition)
                limited = ir.Loop(loop.variable, self._plain(loop.lower), last, condition)
                return replace(node, loops=(limited,), body=self._plain(body))
            case _:
                return rebuilt(node, self._plain)

    def _plain(self, node: ir.Expr) -> ir.Expr:
        """The node rewritten, provided it is not an element itself: elements have fewer bits than
        integers."""
        found = self.of(node)
        if found.type.kind == "element":
            raise Unfit
        return found

    def _named(self, name: str, value: ir.Expr) -> ir.Expr:
        if self.names.setdefault(name, value) != value:
            raise Unfit
        return ir.Definition(name, value)

    def _call(self, node: ir.Call, rounded: bool) -> ir.Expr:
        name, arguments = node.function, node.arguments
        match node:
            case ir.Call("float", (ir.Binary(op="-", left=left, right=right, type=ir.INT),)):
                a, b = self._alike(self.of(left), self.of(right))
                if a.type.kind == "element":
                    return ir.Call("difference", (a, b), ir.FLOAT)
            case ir.Call("element", (number,)):
                return self.of(number)  # becomes an element again beside what made it one
            case ir.Call("quantize") if node.type != ir.INT:
                raise Unfit  # the tensor may be one of floats, which are not rounded
            case ir.Call("convert" | "quantize", (number, ir.Tensor() as target)):
                value, type_ = self.of(number, name == "quantize" or rounded), self.type(target)
                if name == "convert" and value.type == type_:
                    return value
                return ir.Call(name, (value, target), type_)
            case ir.Call("normalize_index", (index, count)):
                element = self.of(index)
                if element.type.kind != "element":
                    raise Unfit
                return ir.Call(name, (element, self._plain(count)), ir.INT)
            case ir.Call("apply_activation", (value, activation)):
                element = self.of(value)
                return ir.Call(name, (element, activation), element.type)
            case ir.Call("align", (sequence, length, fill)):
                # Two coordinates are joined, and the indices have one entry more than they need.
                most = _at_most(self._plain(length), 2 * MAX_RANK - 1)
                return ir.Call(name, (self.of(sequence), most, self._plain(fill)), ir.INTS)
        given = [self.of(argument, rounded or name in _ROUNDING) for argument in arguments]
        if name in _OF_NO_TYPE:
            return ir.Call(name, tuple(given), node.type)
        if name in FUNCTIONS and node.type.kind not in ("float", "element"):
            if any(value.type.kind == "element" for value in given):
                raise Unfit
            return ir.Call(name, tuple(given), node.type)
        if name not in ELEMENT_FUNCTIONS:
            raise Unfit
        return self._function(ir.Call(name, tuple(given), node.type))

    def _function(self, node: ir.Call) -> ir.Expr:
        """A function of elements, of the type of an argument."""
        function = ELEMENT_FUNCTIONS[node.function]
        places = [place for place, kind in enumerate(function.arguments) if kind == "element"]
        given = list(node.arguments)
        types = {given[place].type for place in places if given[place].type.kind == "element"}
        if len(types) > 1:
            raise Unfit
        for element in types:
            for place, argument in enumerate(given):
                written = function.arguments[place] == "any" and isinstance(argument, ir.Number)
                if place in places or written:
                    given[place] = self._settled(argument, element)
            result = element if function.result == "element" else node.type
            return ir.Call(node.function, tuple(given), result)
        raise Unfit  # of no type, or of the description, whose floats no host computes

    def _alike(self, *nodes: ir.Expr) -> Sequence[ir.Expr]:
        """Operands: if one is an element, all are converted to its type."""
        types = {node.type for node in nodes if node.type.kind == "element"}
        if len(types) > 1:
            raise Unfit
        return [self._settled(node, type_) for node in nodes for type_ in types] or nodes

    def _settled(self, node: ir.Expr, type_: ir.Type) -> ir.Expr:
        """A number as an element: expressions that vary are computed as elements, others are converted."""
        assert type_.name is not None
        if node.type == type_:
            return node
        tensor = ir.Tensor(type_.name)
        match node:
            case ir.Number(value=value):
                whole = ir.Number(int(value), ir.INT) if value == int(value) else node
                return ir.Call("element", (whole,), type_)
            case ir.Call("int"):
                raise Unfit  # an element has fewer bits, and would saturate at its own limit
            case ir.Call("float", (number,)):
                return ir.Call("convert", (number, tensor), type_)
            case ir.Call("difference", arguments):
                return ir.Call("difference", (*arguments, tensor), type_)
            case _ if node.type not in (ir.INT, ir.FLOAT):
                raise Unfit
            case ir.Definition(name=name, value=value) if ir.varies(node):
                del self.names[name]
                return self._named(name, self._settled(value, type_))
            case ir.Conditional(test=test, then=then, otherwise=otherwise) if ir.varies(node):
                return ir.Conditional(test, self._settled(then, type_), self._settled(otherwise, type_))
            case _ if node.type == ir.INT:
                return ir.Call("convert", (node, tensor), type_)
            case ir.Binary(op=op, left=left, right=right) if ir.varies(node):
                return ir.Binary(op, self._settled(left, type_), self._settled(right, type_), type_)
        if ir.varies(node):
            raise Unfit
        return ir.Call("element", (node,), type_)


def _at_most(number: ir.Expr, limit: int) -> ir.Expr:
    """An integer clamped to a limit that descriptions of valid shape respect anyway."""
    if BOUNDS.value(number)[1] <= MAX_LOOP:
        return number
    return ir.Call("min", (number, ir.Number(limit, ir.INT)), ir.INT)
