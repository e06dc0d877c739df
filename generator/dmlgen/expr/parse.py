"""Parses the text of an expression to typed IR.

The text is parsed with Python's `ast` and never evaluated. Every error is a finding with the position of the
offending word in the YAML file, what was found and what is expected there.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from dmlgen.diagnostics import Position, SpecError, fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS, MAX_LOOP
from dmlgen.expr.cost import MAX_COST, MAX_SIZE, cost, size
from dmlgen.expr.functions import FUNCTIONS, SHORTHANDS

MAX_TEXT, MAX_DEPTH, MAX_LENGTH = 1000, 30, 48

COMPARE: dict[type[ast.cmpop], ir.CompareOp] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
ARITHMETIC: dict[type[ast.operator], ir.ArithmeticOp] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
BITS: dict[type[ast.operator], ir.BitOp] = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_REDUCTIONS = ("all", "any", "sum", "product", "min", "max")


@dataclass(frozen=True)
class Scope:
    """The names an expression can use.

    `names` maps a plain name to its meaning, `fields` has the type of every tensor field. `enums` maps an
    enumeration's name to its values, and `structs` a struct's name to the types of its members. `elements`
    gives, in computations, for every tensor the one that represents all of its data type. The name of an
    enumerator is resolved by the type it is compared with.
    """

    names: Mapping[str, ir.Expr]
    fields: Mapping[str, ir.Type]
    enums: Mapping[str, Mapping[str, int]]
    structs: Mapping[str, Mapping[str, ir.Type]]
    elements: Mapping[str, str] = field(default_factory=dict)

    def with_names(self, names: Mapping[str, ir.Expr]) -> Scope:
        """The scope with more names; inner names shadow outer ones."""
        return replace(self, names={**self.names, **names})

    def has(self, name: str) -> bool:
        """Whether a computation cannot give a name to something new. Shaders spell members with a lower-case
        first letter."""
        members = (one for one, node in self.names.items() if isinstance(node, ir.Member))
        return name in self.names or name in {one[0].lower() + one[1:] for one in members}

    def element(self, tensor: ir.Tensor) -> ir.Type:
        """The type of a tensor's elements."""
        found = self.elements.get(tensor.entry) or self.elements.get(tensor.name)
        return ir.element_of(found or tensor.name)


def syntax(text: str, at: Callable[[int], Position]) -> ast.expr:
    """The text parsed by Python, not yet checked; raises `SpecError` if it is not an expression."""
    if len(text) > MAX_TEXT:
        raise fault(at(0), "expression-size", f"expression of {len(text)} characters; at most {MAX_TEXT}")
    text = text.replace("\n", " ")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        offset = (error.offset or 1) - 1 if isinstance(error, SyntaxError) else 0
        reason = (
            error.msg
            if isinstance(error, SyntaxError)
            else "too deeply nested, or characters without a meaning"
        )
        raise fault(at(offset), "expression-syntax", f"not an expression: {reason}") from None
    for node in ast.walk(tree):
        for idle, reason in _idle(node):
            raise fault(at(idle.col_offset), "idle-expression", reason)
    return tree.body


def _idle(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Operands of an operation that repeat another operand."""
    match node:
        case ast.Compare(left=left, comparators=[right]) if ast.unparse(left) == ast.unparse(right):
            yield node, f"both sides are {ast.unparse(left)}"
        case ast.BoolOp(values=values):
            texts = [ast.unparse(value) for value in values]
            for place, value in enumerate(values):
                if texts[place] in texts[:place]:
                    yield value, f"{texts[place]} is among these twice"
        case ast.IfExp(test=test, orelse=rest):
            while isinstance(rest, ast.IfExp):
                if ast.unparse(rest.test) == ast.unparse(test):
                    yield (
                        rest.test,
                        f"{ast.unparse(test)} has been asked before, so that this choice is never taken",
                    )
                rest = rest.orelse


def parse(text: str, scope: Scope, at: Callable[[int], Position], expected: ir.Type | None = None) -> ir.Expr:
    """The typed form of `text`; `at` gives the position of its characters. `SpecError` on any error."""
    node = Parser(scope, at).expression(syntax(text, at), 0)
    if size(node) > MAX_SIZE:
        message = (
            f"with its definitions written out this has {size(node)} parts; at most {MAX_SIZE} are allowed"
        )
        raise fault(at(0), "expression-size", message)
    if cost(node) > MAX_COST:
        message = f"this can take {cost(node)} steps; at most {MAX_COST} are allowed (nested loops multiply)"
        raise fault(at(0), "expression-size", message)
    if expected is not None and node.type != expected:
        raise fault(at(0), "expression-type", _unexpected(repr(text), node, expected))
    return node


class Parser:
    """Parses one expression; `define` extends it for definitions."""

    ranges: ClassVar[str] = "a loop runs over range(n), range(a, b) or axes(tensor)"

    def __init__(self, scope: Scope, at: Callable[[int], Position]) -> None:
        self.scope = scope
        self.at = at

    def fail(self, node: ast.AST, code: str, message: str, suggestion: str | None = None) -> SpecError:
        where = self.at(getattr(node, "col_offset", 0))
        return fault(where, code, message, suggestion)

    def expression(self, node: ast.expr, depth: int, hint: ir.Type | None = None) -> ir.Expr:
        """One node; `hint` is the enumeration to which a bare enumerator may belong."""
        if depth > MAX_DEPTH:
            raise self.fail(node, "expression-size", f"expression nested more than {MAX_DEPTH} deep")
        deeper = depth + 1
        match node:
            case ast.Constant(value=bool(value)):
                return ir.Number(value, ir.BOOL)
            case ast.Constant(value=int(value)):
                if value.bit_length() > 63:
                    raise self.fail(node, "expression-size", f"{value} does not fit 64 bits")
                return ir.Number(value, ir.INT)
            case ast.Constant(value=float(value)):
                if not math.isfinite(value):
                    raise self.fail(node, "expression-size", "a number that is too large for a double")
                return ir.Number(value, ir.FLOAT)
            case ast.Name(id=name):
                return self.name(node, name, hint)
            case ast.Attribute(value=owner, attr=attribute):
                return self.attribute(node, self.expression(owner, deeper), attribute)
            case ast.Subscript(value=owner, slice=index):
                return self.subscript(node, self.expression(owner, deeper), index, deeper)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ir.Not(self.typed(operand, deeper, ir.BOOL))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                positive = self.expression(operand, deeper)
                if positive.type.kind != "element":
                    self.expect(operand, positive, ir.INT, ir.FLOAT)
                if isinstance(positive, ir.Number):
                    return ir.Number(-positive.value, positive.type)
                return ir.Negate(positive)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, left, right, deeper)
            case ast.BoolOp(op=op, values=values):
                operands = tuple(self.typed(value, deeper, ir.BOOL) for value in values)
                return ir.Logic("and" if isinstance(op, ast.And) else "or", operands)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                pairs = zip([left, *comparators[:-1]], ops, comparators, strict=True)
                compares = tuple(self.compare(node, a, op, b, deeper) for a, op, b in pairs)
                return compares[0] if len(compares) == 1 else ir.Logic("and", compares)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                then = self.expression(body, deeper, hint)
                otherwise = self.expression(orelse, deeper, hint)
                self.expect(orelse, otherwise, then.type)
                return ir.Conditional(self.typed(test, deeper, ir.BOOL), then, otherwise)
            case ast.List(elts=items):
                return ir.ListOf(tuple(self.typed(item, deeper, ir.INT) for item in items))
            case ast.ListComp():
                return self.reduce(node, "list", node, deeper)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(node, name, arguments, deeper)
        what = type(node).__name__
        raise self.fail(node, "expression-form", f"{what} has no meaning in the expression language")

    def typed(self, node: ast.expr, depth: int, *types: ir.Type) -> ir.Expr:
        result = self.expression(node, depth)
        self.expect(node, result, *types)
        return result

    def expect(self, node: ast.expr, found: ir.Expr, *types: ir.Type) -> None:
        if found.type not in types:
            raise self.fail(node, "expression-type", _unexpected(ast.unparse(node), found, *types))

    def name(self, node: ast.Name, name: str, hint: ir.Type | None) -> ir.Expr:
        values = self.scope.enums.get(hint.name or "", {}) if hint else {}
        if hint is not None and name in values:
            return ir.EnumValue(name, values[name], hint)
        if name in self.scope.names:
            return self.scope.names[name]
        candidates = [*values, *self.scope.names, *FUNCTIONS, *SHORTHANDS, *_REDUCTIONS, "True", "False"]
        what = f"no value of {hint}" if values else "no member, definition or loop variable"
        raise self.fail(node, "unknown-name", f"{name!r} is {what} here", nearest(name, candidates))

    def attribute(self, node: ast.Attribute, owner: ir.Expr, name: str) -> ir.Expr:
        if isinstance(owner, ir.Member) and owner.type.kind == "struct":
            parts = self.scope.structs[owner.type.name or ""]
            if name not in parts:
                message = f"{owner.type} has no member {name!r}"
                raise self.fail(_word_after_dot(node), "unknown-name", message, nearest(name, parts))
            return ir.Part(owner, name, parts[name])
        if not isinstance(owner, ir.Tensor):
            raise self.fail(
                node, "expression-type", f"{ast.unparse(node.value)} is not a tensor; only those have fields"
            )
        if name not in self.scope.fields:
            message = f"a tensor has no field {name!r}; it has {', '.join(self.scope.fields)}"
            raise self.fail(_word_after_dot(node), "unknown-name", message, nearest(name, self.scope.fields))
        return ir.Field(owner, name, self.scope.fields[name])

    def place(self, node: ast.expr, depth: int, owner: ir.Expr) -> ir.Expr:
        """The index of an array's entry; a negative number counts from the end of T.Sizes or T.Strides."""
        found = self.typed(node, depth, ir.INT)
        if not isinstance(found, ir.Number) or found.value >= 0:
            return found
        if not isinstance(owner, ir.Field):
            message = "entries are counted from 0; X[len(X) - 1] is the last one"
            raise self.fail(node, "expression-form", message)
        rank = ir.Field(owner.tensor, "DimensionCount", ir.INT)
        return ir.Binary("-", rank, ir.Number(-found.value, ir.INT), ir.INT)

    def subscript(self, node: ast.Subscript, owner: ir.Expr, index: ast.expr, depth: int) -> ir.Expr:
        if isinstance(index, ast.Slice):
            if owner.type not in (ir.INTS, ir.FLOATS) or index.step is not None:
                raise self.fail(node, "expression-type", "only arrays have parts, [lower:upper]")
            lower = self.place(index.lower, depth, owner) if index.lower else None
            upper = self.place(index.upper, depth, owner) if index.upper else None
            return ir.Slice(owner, lower, upper)
        if not isinstance(owner, ir.Tensors):
            self.expect(node.value, owner, ir.INTS, ir.FLOATS)
        value = self.place(index, depth, owner)
        (lowest, highest), most = BOUNDS.value(value), BOUNDS.length(owner)[1]
        if lowest >= most or highest < 0:
            message = f"{ast.unparse(node.value)} has {most} entries at most, counted from 0"
            raise self.fail(index, "expression-form", message)
        return ir.Tensor(owner.name, value) if isinstance(owner, ir.Tensors) else ir.Index(owner, value)

    def binary(
        self, node: ast.BinOp, op: ast.operator, left: ast.expr, right: ast.expr, depth: int
    ) -> ir.Expr:
        a = self.expression(left, depth)
        if type(op) in BITS:
            b = self.expression(right, depth, a.type)
            if a.type.kind != "enum" or a.type != b.type:
                raise self.fail(node, "expression-type", "& and | are for flags of one kind")
            if not isinstance(op, ast.BitAnd | ast.BitOr):
                raise self.fail(node, "expression-type", "^, << and >> are for elements")
            return ir.Binary(BITS[type(op)], a, b, a.type)
        symbol = ARITHMETIC.get(type(op))
        if symbol is None:
            raise self.fail(node, "expression-form", "operators are + - * / // % & | ^ << >>")
        b = self.expression(right, depth)
        if symbol == "/" and ir.FLOAT not in (a.type, b.type):
            raise self.fail(node, "expression-type", "integers have no /; write //")
        if isinstance(op, ast.Add) and a.type == ir.INTS:
            self.expect(right, b, ir.INTS)
            result = ir.Binary("+", a, b, ir.INTS)
            if (most := BOUNDS.length(result)[1]) > MAX_LENGTH:
                raise self.fail(node, "unbounded", f"an array of up to {most} entries; at most {MAX_LENGTH}")
            return result
        self.expect(left, a, ir.INT, ir.FLOAT)
        self.expect(right, b, a.type)
        return ir.Binary(symbol, a, b, a.type)

    def compare(
        self, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr, depth: int
    ) -> ir.Expr:
        a = self.expression(left, depth)
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
                raise self.fail(
                    right,
                    "expression-form",
                    "after `in` a written-out set is expected, as in (FLOAT32, FLOAT16)",
                )
            choices = tuple(self.expression(item, depth, a.type) for item in right.elts)
            for item, choice in zip(right.elts, choices, strict=True):
                self.expect(item, choice, a.type)
            member = ir.OneOf(a, choices)
            return member if isinstance(op, ast.In) else ir.Not(member)
        if type(op) not in COMPARE:
            raise self.fail(node, "expression-form", "comparisons are == != < <= > >= in")
        b = self.expression(right, depth, a.type)
        if isinstance(b, ir.Number) and a.type == ir.FLOAT and b.type == ir.INT:
            b = ir.Number(float(b.value), ir.FLOAT)
        self.expect(right, b, a.type)
        if a.type.kind not in ("int", "float") and not isinstance(op, ast.Eq | ast.NotEq):
            raise self.fail(node, "expression-type", f"values of type {a.type} cannot be ordered")
        if a.type.kind in ("tensor", "tensors"):
            raise self.fail(node, "expression-type", f"values of type {a.type} cannot be compared")
        return ir.Compare(COMPARE[type(op)], a, b)

    def call(self, node: ast.Call, name: str, arguments: list[ast.expr], depth: int) -> ir.Expr:
        if name in _REDUCTIONS and len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
            return self.reduce(node, cast(ir.Reduction, name), arguments[0], depth)
        if name == "present" and len(arguments) == 1:
            item = self.expression(arguments[0], depth)
            if not isinstance(item, ir.Tensor | ir.Field | ir.Member):
                raise self.fail(node, "expression-type", "present() takes a member or a field of a tensor")
            return ir.Present(item)
        if name in SHORTHANDS:
            return self.written_out(node, name, arguments, depth)
        function = FUNCTIONS.get(name)
        if function is None:
            known = [*FUNCTIONS, *SHORTHANDS, *_REDUCTIONS]
            raise self.fail(node, "unknown-name", f"there is no function {name!r}", nearest(name, known))
        values = self.arguments(node, name, arguments, function.arguments, depth)
        result = ir.Call(name, values, function.result)
        if name == "align" and BOUNDS.length(result)[1] > MAX_LENGTH:
            raise self.fail(node, "unbounded", "the length has no bound; write min(..., 8)")
        return result

    def arguments(
        self,
        node: ast.Call,
        name: str,
        arguments: list[ast.expr],
        wanted: Sequence[tuple[ir.Type, ...]],
        depth: int,
    ) -> tuple[ir.Expr, ...]:
        """The arguments of a call, each of one of the types expected there."""
        if len(arguments) != len(wanted):
            message = f"{name}() takes {len(wanted)} arguments; {len(arguments)} given"
            raise self.fail(node, "expression-form", message)
        pairs = zip(arguments, wanted, strict=True)
        return tuple(self.typed(argument, depth, *types) for argument, types in pairs)

    def written_out(self, node: ast.Call, name: str, arguments: list[ast.expr], depth: int) -> ir.Expr:
        """The expansion of a shorthand, with its parameters replaced by the arguments."""
        shorthand = SHORTHANDS[name]
        wanted = [(type_,) for type_ in shorthand.parameters.values()]
        values = self.arguments(node, name, arguments, wanted, depth)
        taken = {part.name for value in values for part in ir.walk(value) if isinstance(part, ir.Local)}
        variable = next(letter for letter in "defghijk" if letter not in taken)
        text = re.sub(r"\bd\b", variable, shorthand.text)
        names = dict(zip(shorthand.parameters, values, strict=True))
        inner = Parser(replace(self.scope, names=names), lambda _: self.at(node.col_offset))
        try:
            return inner.expression(syntax(text, inner.at), depth)
        except SpecError as error:
            (finding,) = error.findings
            message = f"{name}({', '.join(names)}) stands for {text}, and there {finding.message}"
            raise self.fail(node, finding.code, message) from None

    def reduce(
        self, node: ast.expr, kind: ir.Reduction, loop: ast.ListComp | ast.GeneratorExp, depth: int
    ) -> ir.Expr:
        generator = loop.generators[0]
        if len(loop.generators) != 1 or not isinstance(generator.target, ast.Name) or len(generator.ifs) > 1:
            message = "a loop has one variable, one range and at most one condition"
            raise self.fail(node, "expression-form", message)
        variable = self.variable(generator.target, ir.INT)
        each = self.each(variable, generator.iter, depth)
        self.check_bounds(generator.iter, each)
        inner = self.within([variable])
        condition = inner.typed(generator.ifs[0], depth, ir.BOOL) if generator.ifs else None
        wanted = ir.BOOL if kind in ("all", "any") else ir.INT
        value = inner.typed(loop.elt, depth, wanted)
        result = ir.INTS if kind == "list" else wanted
        return ir.Reduce(kind, (replace(each, condition=condition),), value, result)

    def variable(self, node: ast.Name, type_: ir.Type) -> ir.Local:
        """The variable of a loop."""
        if node.id in self.scope.names:
            raise self.fail(node, "name-clash", f"loop variable {node.id!r} hides another name")
        if not re.fullmatch(r"[a-z][A-Za-z0-9]{0,40}", node.id):
            message = "a loop variable begins with a lower-case letter and has letters and digits only"
            raise self.fail(node, "expression-form", message)
        return ir.Local(node.id, type_)

    def within(self, variables: list[ir.Local]) -> Parser:
        """The parser for the body of loops."""
        return Parser(self.scope.with_names({one.name: one for one in variables}), self.at)

    def each(self, variable: ir.Local, node: ast.expr, depth: int) -> ir.Loop:
        """The range of a loop: `range(n)`, `range(a, b)` or `axes(tensor)`; of coordinates, `ndindex`."""
        word = "ndindex" if variable.type == ir.INTS else "range"
        match node:
            case ast.Call(func=ast.Name(id="axes"), args=[tensor], keywords=[]):
                owner = self.typed(tensor, depth, ir.TENSOR)
                assert isinstance(owner, ir.Tensor)
                return ir.Loop(variable, ir.ZERO, ir.Field(owner, "DimensionCount", ir.INT))
            case ast.Call(func=ast.Name(id=name), args=[last], keywords=[]) if name == word:
                return ir.Loop(variable, ir.ZERO, self.typed(last, depth, variable.type))
            case ast.Call(func=ast.Name(id=name), args=[first, last], keywords=[]) if name == word:
                lower = self.typed(first, depth, variable.type)
                return ir.Loop(variable, lower, self.typed(last, depth, variable.type))
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        raise self.fail(node, "expression-form", self.ranges, nearest(name, ("range", "axes")))

    def check_bounds(self, node: ast.expr, loop: ir.Loop) -> None:
        """Raises SpecError for a loop that may be too long, or start below 0."""
        if BOUNDS.value(loop.upper)[1] > MAX_LOOP:
            message = f"{ast.unparse(node)} has no bound of at most {MAX_LOOP}; write min(..., 8)"
            raise self.fail(node, "unbounded", message)
        if BOUNDS.value(loop.lower)[0] < 0:
            raise self.fail(node, "unbounded", f"{ast.unparse(node)} may start below 0; write max(..., 0)")


def _unexpected(text: str, found: ir.Expr, *types: ir.Type) -> str:
    """The message for a value of an unexpected type."""
    message = f"{text} is of type {found.type}; {' or '.join(map(str, types))} is expected"
    if ir.BOOL in types and isinstance(found, ir.Tensor):
        message += "; present() says whether a tensor is given"
    return message


def _word_after_dot(node: ast.Attribute) -> ast.expr:
    """The attribute's name, to point at."""
    assert node.end_col_offset is not None
    return ast.Name(node.attr, col_offset=node.end_col_offset - len(node.attr))
