"""Parses a definition's expressions to typed IR.

Beyond what `parse.py` handles, these are functions, loops over elements, coordinates and intermediate
tensors. There are finitely many kinds of numbers. An element is a `float` if its tensor's support tables list
only floating-point types, an `int` if they list only integers, otherwise an element of that tensor. An
integer literal next to a float is a float; anything else has to be converted by a function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from dmlgen.diagnostics import Position, fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.bits import FUNCTIONS as OF_BITS
from dmlgen.expr.bits import has_bits, is_made_of_bits
from dmlgen.expr.functions import CONVERSIONS, ELEMENT_FUNCTIONS, FUNCTIONS, OPERATOR, PREDEFINED
from dmlgen.expr.parse import ARITHMETIC, BITS, COMPARE, Parser, Scope, syntax

_NO_BITS = "bits are those of an element as it is read, or of what operations on bits make of such"
MAX_CHAIN, MAX_FUNCTIONS = 40, 400
"""Functions of one definition, each counted once for each combination of types that it is used with."""

FOLDS: Mapping[str, str] = {
    "sum": "the sum; 0 for an empty set",
    "product": "the product; 1 for an empty set",
    "min": "the least, NaN if any is; for an empty set, the greatest value of the type",
    "max": "the greatest, NaN if any is; for an empty set, the least value of the type",
    "any": "whether any is true; false for an empty set",
    "all": "whether all are true; true for an empty set",
    "argmax": "the loop variable at the first greatest, or first NaN; for an empty set, its first value",
    "argmin": "the loop variable at the first least, or first NaN; for an empty set, its first value",
}
"""Reductions, `sum(body for v in range(a, b) for w in ndindex(sizes) if condition)`, with their meaning."""

PLACES: Mapping[str, tuple[tuple[ir.Type, ...], ir.Type, str]] = {
    "in_bounds": ((ir.INTS, ir.INTS), ir.BOOL, "whether 0 <= c[d] < sizes[d] in every dimension"),
    "ravel_index": (
        (ir.INTS, ir.INTS),
        ir.INT,
        "the row-major index of a coordinate in a box of these sizes",
    ),
    "unravel_index": (
        (ir.INT, ir.INTS),
        ir.INTS,
        "the coordinate with that row-major index in a box of these sizes",
    ),
}
"""Functions of coordinates: arguments, result, meaning."""

NUMBERS: Mapping[str, tuple[str, str]] = {
    "clamp": ("x, low, high", "x limited to low and high; low if high < low"),
    "float": ("x", "an integer or an element as a float"),
    "int": ("x", "a float truncated toward 0, at most 2**62; 0 for NaN; an integer element as an integer"),
    "min_value": ("T", "the least value of a tensor's data type; for floats, minus infinity"),
    "max_value": ("T", "the greatest value of a tensor's data type; for floats, infinity"),
    "previous_contents": ("T", "what output T contained before, at `at`"),
    "normalize_index": (
        "i, n",
        "an index into n entries: a negative one counts from the end, then it is clamped",
    ),
    "concat": (
        "Ts, d",
        "the element at `at` of an array of tensors concatenated along dimension d; always the whole value "
        "of an output",
    ),
    "apply_activation": (
        "x, A",
        "the fused activation A applied to x; x itself if A is absent. A can be an entry of an array of "
        "activations",
    ),
}
"""Functions of numbers, beside those of elements (`ELEMENT_FUNCTIONS`, which take floats too): parameters,
meaning."""


@dataclass(frozen=True)
class Formula:
    """A name in a definition's `let`, not yet typed: its parameters, its text and the text's position."""

    name: str
    parameters: tuple[str, ...]
    text: str
    at: Callable[[int], Position]


def signature(text: str) -> tuple[str, tuple[str, ...]]:
    """A key of `let`: "place(o, w)" has the name "place" and its parameters."""
    name, _, rest = text.partition("(")
    return name.strip(), tuple(part.strip() for part in rest.rstrip(") ").split(",") if part.strip())


class Definer:
    """Types the expressions of one definition. `kinds` gives tensors whose elements are floats or ints."""

    def __init__(
        self, scope: Scope, kinds: Mapping[str, ir.Type], formulas: Iterable[Formula], prelude_at: Position
    ) -> None:
        self.scope = scope
        self.kinds = kinds
        self.kept: dict[str, ir.Type] = {}
        self.formulas = {
            name: Formula(name, tuple(one.parameters), one.text, lambda _: prelude_at)
            for name, one in PREDEFINED.items()
        }
        self.formulas |= {formula.name: formula for formula in formulas}
        self.used: set[str] = set()
        self._places: dict[int, tuple[ir.Expr, Position]] = {}
        self._functions: dict[tuple[object, ...], ir.Function] = {}
        self._of_bits: dict[ir.Function, ir.Function] = {}
        self._open: list[str] = []

    def parse(self, text: str, at: Callable[[int], Position], *expected: ir.Type) -> ir.Expr:
        """The typed form of an expression that can use `at`, `let` and intermediate tensors."""
        parser = _Definition(self, self.scope, at)
        tree = syntax(text, at)
        node = parser.expression(tree, 0)
        if ir.FLOAT in expected:
            node = _as_float(node)
        if expected and node.type not in expected:
            wanted = " or ".join(map(str, expected))
            message = f"this is of type {node.type}; {wanted} is expected here"
            raise fault(at(0), "expression-type", message)
        return node

    def note(self, node: ir.Expr, where: Position) -> None:
        """Records where a read or a choice is in the text, which nodes do not."""
        if isinstance(node, ir.Load | ir.Entry | ir.Conditional):
            self._places.setdefault(id(node), (node, where))

    def place(self, node: ir.Expr) -> Position:
        """The position of a read or a choice in the text."""
        return self._places[id(node)][1]

    def element(self, tensor: ir.Tensor) -> ir.Type:
        """The type of a tensor's elements."""
        element = self.scope.element(tensor)
        return self.kinds.get(tensor.name) or self.kinds.get(element.name or "") or element

    def of_bits(self, function: ir.Function, as_bits: Callable[[ir.Expr], ir.Expr]) -> ir.Function:
        """The variant of a `let` function that returns raw bits, created once."""
        if function not in self._of_bits:
            body = as_bits(function.body)
            self._of_bits[function] = function if body is function.body else replace(function, body=body)
        return self._of_bits[function]

    def function(self, parser: _Definition, node: ast.expr, name: str, arguments: list[ir.Expr]) -> ir.Expr:
        """A use of a `let` name: its text, typed for the types of the arguments."""
        formula = self.formulas[name]
        self.used.add(name)
        if len(arguments) != len(formula.parameters):
            wanted = f"{len(formula.parameters)} arguments" if formula.parameters else "no arguments"
            raise parser.fail(node, "expression-form", f"{name} takes {wanted}; {len(arguments)} given")
        if name in self._open:
            chain = " -> ".join([*self._open[self._open.index(name) :], name])
            raise parser.fail(node, "recursion", f"{name} is defined by itself: {chain}")
        bound: dict[str, ir.Expr] = {}
        for parameter, argument in zip(formula.parameters, arguments, strict=True):
            given = isinstance(argument, ir.Tensor | ir.Tensors) or argument.type.kind == "struct"
            bound[parameter] = argument if given else ir.Local(parameter, argument.type, varies(argument))
        key = (name, *bound.values())
        if key not in self._functions:
            if len(self._functions) >= MAX_FUNCTIONS:
                raise parser.fail(node, "expression-size", f"more than {MAX_FUNCTIONS} functions")
            if len(self._open) >= MAX_CHAIN:
                message = f"names of `let` use each other in a chain of more than {MAX_CHAIN}"
                raise parser.fail(node, "expression-size", message)
            self._open.append(name)
            try:
                inner = _Definition(self, self.scope.with_names(bound), formula.at)
                body = inner.expression(syntax(formula.text, formula.at), 0)
            finally:
                self._open.pop()
            parameters = tuple(local for local in bound.values() if isinstance(local, ir.Local))
            names = frozenset(local.name for local in parameters)
            self._functions[key] = ir.Function(name, parameters, body, structural(body) & names, varies(body))
        function = self._functions[key]
        passed = [a for a, b in zip(arguments, bound.values(), strict=True) if isinstance(b, ir.Local)]
        return ir.Apply(function, tuple(passed))


def varies(node: ir.Expr) -> bool:
    """Whether a value can differ between elements, so that it depends on more than the description."""
    match node:
        case ir.Load() | ir.Entry():
            return True
        case ir.Local(name=name):
            return name == "at" or node.varies
        case ir.Reduce(over_elements=True):
            return True
        case ir.Apply(function=function):
            return function.varies
        case ir.Call(function="previous_contents" | "concat"):
            return True
        case _:
            return any(map(varies, ir.children(node)))


def structural(node: ir.Expr) -> frozenset[str]:
    """The names of locals that index dimensions: they are known before any element is computed."""
    found: set[str] = set()
    for part in ir.walk(node):
        match part:
            case ir.Index(index=index):
                found |= _locals(index)
            case ir.Slice(lower=lower, upper=upper):
                found |= _locals(lower) | _locals(upper)
            case ir.Reduce(kind="list", loop=loop):
                found |= _locals(loop.lower) | _locals(loop.upper)
            case ir.Call(function="align", arguments=(_, length, _)):
                found |= _locals(length)
            case ir.Tensor(index=index):
                found |= _locals(index)
            case ir.Apply(function=function, arguments=arguments):
                for parameter, argument in zip(function.parameters, arguments, strict=True):
                    if parameter.name in function.structural:
                        found |= _locals(argument)
    return frozenset(found)


def _locals(node: ir.Expr | None) -> set[str]:
    if node is None:
        return set()
    return {part.name for part in ir.walk(node) if isinstance(part, ir.Local) and part.type == ir.INT}


def _as_float(node: ir.Expr) -> ir.Expr:
    """An integer literal, or a choice of several, as a float; anything else unchanged."""
    match node:
        case ir.Number(value=value, type=ir.INT):
            return ir.Number(float(value), ir.FLOAT)
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            a, b = _as_float(then), _as_float(otherwise)
            return ir.Conditional(test, a, b) if a.type == b.type == ir.FLOAT else node
        case _:
            return node


class _Definition(Parser):
    """Parses one expression of a definition."""

    ranges = "a loop runs over range(n), range(a, b), axes(tensor), ndindex(sizes) or ndindex(first, last)"

    def __init__(self, definer: Definer, scope: Scope, at: Callable[[int], Position]) -> None:
        super().__init__(scope, at)
        self.definer = definer

    def name(self, node: ast.Name, name: str, hint: ir.Type | None) -> ir.Expr:
        values = self.scope.enums.get(hint.name or "", {}) if hint else {}
        if name not in values and name not in self.scope.names:
            if name in self.definer.formulas:
                return self.definer.function(self, node, name, [])
            if name in self.definer.kept:
                return ir.Tensor(name)
            known = [*values, *self.scope.names, *self.definer.formulas, *self.definer.kept, "True", "False"]
            what = f"value of {hint}" if values else "member, definition, tensor or loop variable"
            raise self.fail(node, "unknown-name", f"there is no {what} {name!r} here", nearest(name, known))
        return super().name(node, name, hint)

    def attribute(self, node: ast.Attribute, owner: ir.Expr, name: str) -> ir.Expr:
        if isinstance(owner, ir.Tensor) and owner.name in self.definer.kept:
            raise self.fail(
                node, "expression-type", f"{owner.name} is an intermediate tensor; it has no fields"
            )
        if (
            name in self.scope.fields
            and name not in ("Sizes", "DimensionCount")
            and isinstance(owner, ir.Tensor)
        ):
            message = "a definition reads elements, Sizes and DimensionCount of a tensor, and nothing else"
            raise self.fail(node, "expression-type", message)
        return super().attribute(node, owner, name)

    def expression(self, node: ast.expr, depth: int, hint: ir.Type | None = None) -> ir.Expr:
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                then = self.expression(body, depth + 1, hint)
                otherwise = self.expression(orelse, depth + 1, hint or then.type)
                then, otherwise = self.alike(body, then, orelse, otherwise)
                found: ir.Expr = ir.Conditional(self.typed(test, depth + 1, ir.BOOL), then, otherwise)
            case _:
                found = super().expression(node, depth, hint)
        self.definer.note(found, self.at(node.col_offset))
        return found

    def alike(self, left: ast.expr, a: ir.Expr, right: ast.expr, b: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """Two values with a common type: a literal takes the type of the other."""
        if ir.FLOAT in (a.type, b.type):
            a, b = _as_float(a), _as_float(b)
        if is_made_of_bits(a) or is_made_of_bits(b):
            a, b = self.as_bits(a), self.as_bits(b)
        if "element" in (a.type.kind, b.type.kind):
            type_ = a.type if a.type.kind == "element" else b.type
            a, b = self.as_element(left, a, type_), self.as_element(right, b, type_)
        self.expect(right, b, a.type)
        return a, b

    def subscript(self, node: ast.Subscript, owner: ir.Expr, index: ast.expr, depth: int) -> ir.Expr:
        if isinstance(owner, ir.Tensor):
            if isinstance(index, ast.Slice):
                raise self.fail(
                    node, "expression-type", "a tensor has no parts; write its sizes, T.Sizes[a:b]"
                )
            coordinate = self.expression(index, depth)
            if coordinate.type != ir.INTS:
                message = (
                    f"{ast.unparse(index)} is of type {coordinate.type}; a coordinate is expected, "
                    "a list of int with one for each dimension, such as at"
                )
                raise self.fail(index, "expression-type", message)
            if owner.name in self.definer.kept:
                return ir.Entry(owner.name, coordinate, self.definer.kept[owner.name])
            return ir.Load(owner, coordinate, self.definer.element(owner))
        return super().subscript(node, owner, index, depth)

    def binary(
        self, node: ast.BinOp, op: ast.operator, left: ast.expr, right: ast.expr, depth: int
    ) -> ir.Expr:
        if type(op) in BITS:
            a = self.as_bits(self.expression(left, depth))
            if has_bits(a):
                b = self.as_bits(self.expression(right, depth))
                self.expect(right, b, a.type)
                if not has_bits(b):
                    raise self.fail(right, "expression-type", _NO_BITS)
                if BITS[type(op)] in ("<<", ">>") and self.definer.kinds.get(a.type.name or "") != ir.INT:
                    message = f"only integers have {BITS[type(op)]}, and an element may be a float"
                    raise self.fail(node, "expression-type", message)
                return ir.Binary(BITS[type(op)], a, b, a.type)
            if a.type.kind in ("int", "float", "element"):
                raise self.fail(left, "expression-type", _NO_BITS)
        if type(op) not in ARITHMETIC:
            return super().binary(node, op, left, right, depth)
        symbol = ARITHMETIC[type(op)]
        a, b = self.expression(left, depth), self.expression(right, depth)
        if a.type == ir.INTS and symbol == "+":
            self.expect(right, b, ir.INTS)
            return ir.Binary("+", a, b, ir.INTS)
        if not {a.type.kind, b.type.kind} <= {"int", "float", "element"}:
            self.expect(left, a, ir.INT, ir.FLOAT)
            self.expect(right, b, ir.INT, ir.FLOAT)
        if "element" not in (a.type.kind, b.type.kind) and {a.type, b.type} == {ir.INT, ir.FLOAT}:
            a, b = _as_float(a), _as_float(b)
            if a.type != b.type:
                whole = ast.unparse(left if a.type == ir.INT else right)
                message = f"{whole} is an int beside a float; write float({whole})"
                raise self.fail(node, "expression-type", message)
        else:
            a, b = self.alike(left, a, right, b)
        if symbol == "/" and a.type == ir.INT:
            raise self.fail(node, "expression-type", "integers have no /; write //, or convert by float()")
        if symbol in ("//", "%") and a.type != ir.INT:
            raise self.fail(node, "expression-type", f"only integers have {symbol}")
        return ir.Binary(symbol, a, b, a.type)

    def compare(
        self, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr, depth: int
    ) -> ir.Expr:
        if type(op) not in COMPARE:
            return super().compare(node, left, op, right, depth)
        a = self.expression(left, depth)
        b = self.expression(right, depth, a.type)
        a, b = self.alike(left, a, right, b)
        if a.type.kind in ("tensor", "tensors", "struct"):
            raise self.fail(node, "expression-type", f"values of type {a.type} cannot be compared")
        if a.type.kind not in ("int", "float", "element") and COMPARE[type(op)] not in ("==", "!="):
            raise self.fail(node, "expression-type", f"values of type {a.type} have no order")
        return ir.Compare(COMPARE[type(op)], a, b)

    def call(self, node: ast.Call, name: str, arguments: list[ast.expr], depth: int) -> ir.Expr:
        if name in FOLDS and len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
            return self.fold(node, name, arguments[0], depth)
        if name in self.definer.formulas:
            values = [self.expression(argument, depth) for argument in arguments]
            return self.definer.function(self, node, name, values)
        if name in ("present", "len"):
            return super().call(node, name, arguments, depth)
        if name == "apply_activation":
            return self.activated(node, arguments, depth)
        if name == "ndindex":
            raise self.fail(node, "expression-form", "ndindex() stands after `in`, as what a loop runs over")
        known = [
            *FOLDS,
            *self.definer.formulas,
            *PLACES,
            *NUMBERS,
            *FUNCTIONS,
            *ELEMENT_FUNCTIONS,
            *CONVERSIONS,
        ]
        if name not in known:
            raise self.fail(node, "unknown-name", f"there is no function {name!r}", nearest(name, known))
        values = [self.expression(argument, depth) for argument in arguments]
        if name in PLACES:
            wanted, result, _ = PLACES[name]
            return self.checked(node, name, arguments, values, wanted, result)
        if name in NUMBERS:
            return self.of_number(node, name, arguments, values)
        if name in CONVERSIONS:
            return self.converted(node, name, arguments, values)
        if name in OF_BITS:
            values = [self.as_bits(value) for value in values]
            if len(values) != 1 or not has_bits(values[0]):
                raise self.fail(node, "expression-type", _NO_BITS)
            return ir.Call(name, tuple(values), values[0].type)
        kinds = {value.type.kind for value in values}
        if name in FUNCTIONS and not kinds & {"float", "element"}:
            function = FUNCTIONS[name]
            one = tuple(types[0] for types in function.arguments)
            return self.checked(node, name, arguments, values, one, function.result)
        if name not in ELEMENT_FUNCTIONS:
            message = (
                f"{name}() is not a function of these; a reduction has a loop: {name}(x for k in range(n))"
            )
            raise self.fail(node, "expression-type", message)
        of = ELEMENT_FUNCTIONS[name]
        if "element" not in kinds:
            values = [_as_float(value) for value in values]
            result = ir.FLOAT if of.result == "element" else ir.BOOL
            return self.checked(node, name, arguments, values, (ir.FLOAT,) * len(of.arguments), result)
        if not of.of_integers:
            message = (
                f"{name}() is a function of floats, and an element may be an integer; write float() of it"
            )
            raise self.fail(node, "expression-type", message)
        return self.of_elements(node, name, arguments, values)

    def of_elements(
        self, node: ast.Call, name: str, arguments: list[ast.expr], values: list[ir.Expr]
    ) -> ir.Expr:
        """A call of a function of elements, of which there is one at least."""
        function = ELEMENT_FUNCTIONS[name]
        element = next(value.type for value in values if value.type.kind == "element")
        if len(values) != len(function.arguments):
            wanted = " and ".join(function.arguments)
            raise self.fail(node, "expression-form", f"{name}() takes {wanted}")
        for place, (argument, kind) in enumerate(zip(arguments, function.arguments, strict=True)):
            if kind == "element" or (kind == "any" and values[place].type.kind not in ("element", "float")):
                values[place] = self.as_element(argument, values[place], element)
            elif kind == "float":
                self.expect(argument, values[place], ir.FLOAT)
        return ir.Call(name, tuple(values), element if function.result == "element" else ir.BOOL)

    def as_element(self, node: ast.expr, found: ir.Expr, type_: ir.Type) -> ir.Expr:
        """An operand in an element's type: FLOAT members and literals are converted."""
        if found.type == ir.FLOAT or isinstance(found, ir.Number):
            return ir.Call("element", (found,), type_)
        self.expect(node, found, type_)
        return found

    def as_bits(self, node: ir.Expr) -> ir.Expr:
        """An operand used as raw bits: an element of a tensor of any kind, through names and choices."""
        if node.type not in (ir.INT, ir.FLOAT):
            return node
        match node:
            case ir.Load(tensor=tensor):
                found: ir.Expr = replace(node, type=self.scope.element(tensor))
            case ir.Conditional(then=then, otherwise=otherwise):
                found = replace(node, then=self.as_bits(then), otherwise=self.as_bits(otherwise))
            case ir.Apply(function=function):
                return replace(node, function=self.definer.of_bits(function, self.as_bits))
            case _:
                return node
        self.definer.note(found, self.definer.place(node))
        return found

    def checked(
        self,
        node: ast.Call,
        name: str,
        arguments: list[ast.expr],
        values: list[ir.Expr],
        wanted: tuple[ir.Type, ...],
        result: ir.Type,
    ) -> ir.Expr:
        """A call whose arguments have these types."""
        if len(values) != len(wanted):
            message = f"{name}() takes {len(wanted)} arguments; {len(values)} given"
            raise self.fail(node, "expression-form", message)
        for argument, value, type_ in zip(arguments, values, wanted, strict=True):
            self.expect(argument, value, type_)
        return ir.Call(name, tuple(values), result)

    def of_number(
        self, node: ast.Call, name: str, arguments: list[ast.expr], values: list[ir.Expr]
    ) -> ir.Expr:
        if name == "clamp":
            if any(value.type == ir.FLOAT for value in values):
                values = [_as_float(value) for value in values]
            type_ = values[0].type if values else ir.INT
            if type_ not in (ir.INT, ir.FLOAT):
                self.expect(arguments[0], values[0], ir.INT, ir.FLOAT)
            return self.checked(node, name, arguments, values, (type_,) * 3, type_)
        if name == "normalize_index":
            return self.checked(node, name, arguments, values, (ir.INT, ir.INT), ir.INT)
        if name == "concat":
            self.checked(node, name, arguments, values, (ir.TENSORS, ir.INT), ir.INT)
            assert isinstance(values[0], ir.Tensors)
            entry = ir.Tensor(values[0].name, ir.Local("index", ir.INT))
            return ir.Call(name, tuple(values), self.definer.element(entry))
        if len(values) != 1:
            raise self.fail(node, "expression-form", f"{name}() takes 1 argument; {len(values)} given")
        value = values[0]
        if name in ("float", "int"):
            if value.type.kind != "element":
                self.expect(arguments[0], value, ir.INT, ir.FLOAT)
            if name == "int" and isinstance(value, ir.Number):
                return ir.Number(max(min(int(value.value), ir.LIMIT), -ir.LIMIT), ir.INT)
            result = ir.FLOAT if name == "float" else ir.INT
            return value if value.type == result else ir.Call(name, (value,), result)
        if not isinstance(value, ir.Tensor) or value.name in self.definer.kept:
            raise self.fail(node, "expression-type", f"{name}() takes a tensor of the description")
        return ir.Call(name, (value,), self.definer.element(value))

    def converted(
        self, node: ast.Call, name: str, arguments: list[ast.expr], values: list[ir.Expr]
    ) -> ir.Expr:
        if len(values) != 2 or not isinstance(values[1], ir.Tensor) or values[1].name in self.definer.kept:
            raise self.fail(node, "expression-form", f"{name}() takes a number and a tensor")
        if name == "quantize":
            self.expect(arguments[0], values[0], ir.FLOAT)
        elif values[0].type.kind not in ("int", "bool", "float", "element"):
            self.expect(arguments[0], values[0], ir.INT, ir.BOOL, ir.FLOAT)
        type_ = self.definer.element(values[1])
        if name == "convert" and values[0].type == type_ and type_.kind == "element":
            return values[0]
        return ir.Call(name, tuple(values), type_)

    def activated(self, node: ast.Call, arguments: list[ast.expr], depth: int) -> ir.Expr:
        if len(arguments) != 2:
            raise self.fail(
                node, "expression-form", "apply_activation() takes a float and a fused activation"
            )
        value = _as_float(self.typed(arguments[0], depth, ir.FLOAT))
        numbers: tuple[ir.Expr, ...] = ()
        match arguments[1]:
            case ast.Subscript(value=array, slice=ast.expr() as index) if not isinstance(index, ast.Slice):
                numbers = (self.typed(index, depth, ir.INT),)
                activation = self.typed(array, depth, OPERATOR)
            case alone:
                activation = self.typed(alone, depth, OPERATOR)
        return ir.Call("apply_activation", (value, activation, *numbers), ir.FLOAT)

    def reduce(
        self, node: ast.expr, kind: ir.Reduction, loop: ast.ListComp | ast.GeneratorExp, depth: int
    ) -> ir.Expr:
        """A list comprehension: one entry per dimension."""
        if len(loop.generators) != 1 or loop.generators[0].ifs:
            raise self.fail(node, "expression-form", "a list has one loop, `for d in range(n)`")
        return super().reduce(node, kind, loop, depth)

    def check_bounds(self, node: ast.expr, loop: ir.Loop) -> None:
        """A definition's loops can depend on what only elements or parameters say."""

    def fold(self, node: ast.Call, name: str, generator: ast.GeneratorExp, depth: int) -> ir.Expr:
        """A reduction over elements, or over the few dimensions of a coordinate."""
        loops: list[ir.Loop] = []
        conditions: list[ast.expr] = []
        for one in generator.generators:
            if not isinstance(one.target, ast.Name):
                raise self.fail(one.target, "expression-form", "a loop has one variable")
            boxed = isinstance(one.iter, ast.Call) and ast.unparse(one.iter.func) == "ndindex"
            variable = replace(self.variable(one.target, ir.INTS if boxed else ir.INT), varies=True)
            if variable.name in (each.variable.name for each in loops):
                raise self.fail(one.target, "name-clash", f"loop variable {variable.name!r} is used twice")
            loops.append(self.each(variable, one.iter, depth))
            conditions += one.ifs
        last = generator.generators[-1]
        if len(conditions) > 1 or conditions != last.ifs:
            raise self.fail(
                node, "expression-form", "one condition, after the last loop, holds for all loops"
            )
        inner = self.within([each.variable for each in loops])
        condition = inner.typed(conditions[0], depth, ir.BOOL) if conditions else None
        value = inner.expression(generator.elt, depth)
        if name in ("all", "any"):
            self.expect(generator.elt, value, ir.BOOL)
        elif value.type.kind not in ("int", "float", "element"):
            self.expect(generator.elt, value, ir.INT, ir.FLOAT)
        names = {each.variable.name for each in loops}
        numbered = (structural(value) | (structural(condition) if condition else frozenset())) & names
        result = value.type
        if name in ("argmax", "argmin"):
            if len(loops) != 1:
                raise self.fail(node, "expression-form", f"{name}() has one loop; a box has all dimensions")
            result = loops[0].variable.type
        kind = cast(ir.Reduction, name)
        if not numbered:
            whole = (*loops[:-1], replace(loops[-1], condition=condition))
            return ir.Reduce(kind, whole, value, result, over_elements=True)
        if (
            len(loops) != 1
            or name in ("argmax", "argmin")
            or any(map(varies, (loops[0].lower, loops[0].upper)))
        ):
            what = ", ".join(sorted(numbered))
            message = f"{what} numbers dimensions here; it needs a loop of its own over range(n)"
            raise self.fail(node, "expression-form", message)
        # Parse again, with a variable that is known before any element is computed.
        fixed = replace(loops[0], variable=replace(loops[0].variable, varies=False))
        inner = self.within([fixed.variable])
        condition = inner.typed(conditions[0], depth, ir.BOOL) if conditions else None
        if condition is not None and varies(condition):
            raise self.fail(
                conditions[0], "expression-form", "this condition depends on the element; put it inside"
            )
        value = inner.expression(generator.elt, depth)
        return ir.Reduce(kind, (replace(fixed, condition=condition),), value, result)

    def variable(self, node: ast.Name, type_: ir.Type) -> ir.Local:
        if self.scope.has(node.id):
            raise self.fail(node, "name-clash", f"loop variable {node.id!r} hides another name")
        return ir.Local(node.id, type_)

    def within(self, variables: list[ir.Local]) -> _Definition:
        names = {variable.name: variable for variable in variables}
        return _Definition(self.definer, self.scope.with_names(names), self.at)
