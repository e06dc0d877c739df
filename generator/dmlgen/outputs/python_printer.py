"""Expressions as Python text: exact where that is enough, saturated and guarded where it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.bounds import lower_bound, upper_bound
from dmlgen.expr.evaluate import LIMIT
from dmlgen.expr.printer import ATOM, COMPARISON, PRODUCT, SUM, Printer
from dmlgen.names import field_local, pascal, python_variable
from dmlgen.registry import Check, Hint, Operator, Registry, Stage

Interval: TypeAlias = tuple[int, int]

_ENDLESS = 1 << 1024  # stands for no bound
_INVERSE: dict[str, ir.CompareOp] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def literal(text: str) -> str:
    """A text as the inside of a Python string in double quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class PythonPrinter(Printer):
    """Prints for locals: a member's value, a tensor's field and a definition each stand in a variable.

    `stage` says what may be relied on: from COUNTS on, integers fit their types and arrays have as many
    entries as their tensor has dimensions; from VALUES on, tensors whose rules say so have equal ranks.
    `used` collects the names that the text needs beside its locals.
    """

    def __init__(self, registry: Registry, operator: Operator | None, stage: Stage) -> None:
        self.registry = registry
        self.operator = operator
        self.stage = stage
        self.used: set[str] = set()
        self.enum_values: dict[str, ir.EnumValue] = {}
        self.known: dict[str, Interval] = {}  # bounds of locals
        self._loops: dict[str, ir.Loop] = {}
        self.field_bounds = {} if stage is Stage.STRUCTURE else field_bounds(registry)
        self._ranks = _rank_classes(operator) if operator is not None and stage >= Stage.VALUES else {}

    endless: Interval = (0, _ENDLESS)

    # Text.

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        if self._exceeds(node):
            return f"{self._use('saturate')}({self.exact(node)})"
        return self.exact(node, outer)

    def message(self, check: Check) -> str:
        """The message of a check, a literal; with its hint, which stands in a variable, if it has one."""
        return self._text(check.message, "" if check.hint is None else "{hint}")

    def hint(self, hint: Hint) -> str:
        """The text of a hint, or an empty one where it does not apply."""
        return f'{self._text(hint.message)} if {self.print(hint.when)} else ""'

    def _text(self, parts: Iterable[str | ir.Expr], rest: str = "") -> str:
        """A literal, an f-string where values are shown; `rest` is a variable in braces at its end."""
        parts = tuple(str(part.value) if isinstance(part, ir.Constant) else part for part in parts)
        if not rest and all(isinstance(part, str) for part in parts):
            return f'"{literal("".join(part for part in parts if isinstance(part, str)))}"'
        texts = (_braced(part) if isinstance(part, str) else f"{{{self._shown(part)}}}" for part in parts)
        return f'f"{"".join(texts)}{rest}"'

    def _shown(self, node: ir.Expr) -> str:
        if isinstance(node, ir.Tensor):
            return "path"
        text = self.print(node)
        match node.type.kind:
            case "enum":
                enum = pascal(node.type.name or "")
                return f"{self._use('name_of')}({self._use(enum)}, {text})"
            case "ints":
                return self._list(node, text)
            case "float":
                return f"{text}:g"
            case "bool":
                return f"str(bool({text})).lower()"
            case _:
                return text

    def _list(self, node: ir.Expr, text: str) -> str:
        """An array as a list, which is shown in brackets."""
        match node:
            case ir.Reduce():
                return f"[{text.removeprefix('tuple(')[:-1]}]"
            case ir.ListOf() | ir.Binary() if text.startswith("("):
                return f"[{text[1:-1].removesuffix(',')}]"
            case _:
                return f"list({text})"

    @contextmanager
    def inside(self, *loops: ir.Loop) -> Iterator[None]:
        """While a loop's body is printed, its variable's bounds are known."""
        before = dict(self._loops)
        self._loops.update({loop.variable.name: loop for loop in loops})
        yield
        self._loops = before

    def constant(self, node: ir.Constant) -> str:
        return str(node.value)

    def enum_value(self, node: ir.EnumValue) -> str:
        name = f"{node.type.name}_{node.name}"
        self.enum_values[name] = node
        return name

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        name = python_variable(node.name)
        is_float = isinstance(node, ir.Member) and node.type == ir.FLOAT
        return f"{self._use('as_float')}({name})" if is_float else name

    def tensor(self, node: ir.Tensor) -> str:
        if node.index is None:
            return python_variable(node.name)
        if self._within(node.index, ir.Tensors(node.name)):
            return f"{python_variable(node.name)}[{self.print(node.index)}]"
        return f"{self._use('tensor_at')}({python_variable(node.name)}, {self.print(node.index)})"

    def field(self, node: ir.Field) -> str:
        if node.tensor.index is not None:
            return f"{self.tensor(node.tensor)}.{node.name}"
        return field_local(node.tensor.name, node.name)

    def present(self, node: ir.Present) -> str:
        return f"{self.print(node.item, ATOM)} is not None"

    def not_(self, operand: ir.Expr) -> str:
        if isinstance(operand, ir.Present):
            return f"{self.print(operand.item, ATOM)} is None"
        return super().not_(operand)

    def index(self, node: ir.Index) -> str:
        sequence, index = node.sequence, node.index
        if self._within(index, sequence):
            text = f"{self.print(sequence, ATOM)}[{self.print(index)}]"
        else:
            text = f"{self._use('entry')}({self.print(sequence)}, {self.print(index)})"
        return f"{self._use('as_float')}({text})" if node.type == ir.FLOAT else text

    def slice(self, node: ir.Slice) -> str:
        def bound(end: ir.Expr | None) -> str:
            if end is None:
                return ""
            return self.print(end) if self.interval(end)[0] >= 0 else f"max({self.print(end)}, 0)"

        lower, upper = bound(node.lower), bound(node.upper)
        if all(re.fullmatch(r"\w*", text) for text in (lower, upper)):
            return f"{self.print(node.sequence, ATOM)}[{lower}:{upper}]"
        return f"{self.print(node.sequence, ATOM)}[{lower} : {upper}]".replace("[ :", "[:").replace(
            ": ]", ":]"
        )

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        return f"({', '.join(self.print(item) for item in items)}{',' * (len(items) == 1)})"

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.op in ("//", "%") and not self._positive(node.right):
            function = self._use("quotient" if node.op == "//" else "remainder")
            return f"{function}({self.print(node.left)}, {self.print(node.right)})", ATOM
        if node.type == ir.INTS:
            return self._joined(node)
        if not self._growing(node):
            return super().binary(node)
        precedence = SUM if node.op == "+" else PRODUCT
        return (
            f"{self.exact(node.left, precedence)} {node.op} {self.exact(node.right, precedence + 1)}",
            precedence,
        )

    def _joined(self, node: ir.Expr) -> tuple[str, int]:
        """Arrays put together: as a sum, or unpacked where single entries are among them."""
        parts = _operands(node)
        if not any(isinstance(part, ir.ListOf) for part in parts):
            return " + ".join(self.print(part, SUM) for part in parts), SUM
        texts: list[str] = []
        for part in parts:
            texts += map(self.print, part.items) if isinstance(part, ir.ListOf) else [f"*{self.print(part)}"]
        return f"({', '.join(texts)})", ATOM

    def compare(self, node: ir.Compare) -> tuple[str, int]:
        """A side need not saturate when the other cannot reach the limit."""
        left = self.exact if self._small(node.right) else self.print
        right = self.exact if self._small(node.left) else self.print
        inner = COMPARISON + 1
        return f"{left(node.left, inner)} {node.op} {right(node.right, inner)}", COMPARISON

    def reduce(self, node: ir.Reduce) -> str:
        with self.inside(node.loop):
            text = super().reduce(node)
        if node.kind == "list":
            return f"tuple({text[1:-1]})"
        if node.kind == "product":
            self._use("prod")
            return text.replace("product(", "prod(", 1)
        return f"{node.kind}(({text[4:-1]}), default=0)" if node.kind in ("min", "max") else text

    def call(self, node: ir.Call) -> str:
        text = [self.print(argument) for argument in node.arguments]
        match node.function:
            case "bits":
                return f"{self._use('BITS')}.get({text[0]}, 0)"
            case "signed":
                return f"{text[0]} in {self._use('SIGNED')}"
            case "product":
                return f"{self._use('prod')}({text[0]})"
            case "len" | "sum" | "abs" | "min" | "max":
                return f"{node.function}({', '.join(text)})"
            case "replace" if not self._within(node.arguments[1], node.arguments[0]):
                return f"{self._use('replaced')}({', '.join(text)})"
            case function:
                return f"{self._use(function)}({', '.join(text)})"

    def load(self, node: ir.Load) -> str:
        return f'load("{node.tensor.name}", {self.print(node.coordinate)})'

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Compare():
                return self.compare(node)
            case ir.Present():
                return self.present(node), COMPARISON
            case _:
                return super()._node(node)

    def exact(self, node: ir.Expr, outer: int = 0) -> str:
        """The text of the value before it saturates."""
        return super().print(node, outer)

    def _use(self, name: str) -> str:
        self.used.add(name)
        return name

    # Bounds.

    def interval(self, node: ir.Expr) -> Interval:
        """Bounds of an integer, or of an array's entries, as saturated."""
        low, high = self._interval(node)
        return max(low, -LIMIT), min(high, LIMIT)

    def _interval(self, node: ir.Expr) -> Interval:
        """Bounds before saturation."""
        match node:
            case ir.Number(value=int(value)) | ir.EnumValue(value=value) | ir.Constant(value=value):
                return value, value
            case ir.Local(name=name) if name in self.known:
                return self.known[name]
            case ir.Local(name=name) if name in self._loops:
                loop = self._loops[name]
                return self.interval(loop.lower)[0], self.interval(loop.upper)[1] - 1
            case ir.Definition(value=value):
                return self.interval(value)
            case ir.Member(name=name) if self.operator is not None and name in self.operator.member:
                return self._range_of(self.operator.member[name].type)
            case ir.Part(member=member, name=name):
                fields = self.registry.structs[member.type.name or ""].members
                return self._range_of(next(field.type for field in fields if field.name == name))
            case ir.Field(tensor=tensor, name=name):
                bounds = self.field_bounds.get(name, (0 if name == "DimensionCount" else -_ENDLESS, _ENDLESS))
                return bounds if self._certain(tensor) else _hull(bounds, (0, 0))
            case ir.Index(sequence=sequence, index=index) if not self._within(index, sequence):
                return _hull(self.interval(sequence), (0, 0))
            case ir.Index(sequence=sequence) | ir.Slice(sequence=sequence):
                return self.interval(sequence)
            case ir.ListOf(items=items):
                return _hull(*map(self.interval, items))
            case ir.Reduce(kind="list", loop=loop, body=body):
                with self.inside(loop):
                    return self.interval(body)
            case ir.Binary(op="+", left=left, right=right) if node.type.kind == "ints":
                return _hull(self.interval(left), self.interval(right))
            case ir.Binary(left=left, right=right):
                bounds_of = self._interval if self._growing(node) else self.interval
                return _arithmetic(node.op, bounds_of(left), bounds_of(right))
            case ir.Negate(operand=operand):
                low, high = self.interval(operand)
                return -high, -low
            case ir.Conditional(then=then, otherwise=otherwise):
                return _hull(self._interval(then), self._interval(otherwise))
            case ir.Call(function="min", arguments=(left, right)):
                (a, b), (c, d) = self.interval(left), self.interval(right)
                return min(a, c), min(b, d)
            case ir.Call(function="max", arguments=(left, right)):
                (a, b), (c, d) = self.interval(left), self.interval(right)
                return max(a, c), max(b, d)
            case ir.Call(function="align" | "replace", arguments=(sequence, *_, value)):
                return _hull(self.interval(sequence), self.interval(value))
            case ir.Call(function="bits"):
                return 0, max(self.registry.bits.values())
            case ir.Call(function="len"):
                return 0, upper_bound(node) or _ENDLESS
            case ir.Call(function="product" | "sum" | "abs" as function, arguments=(item,)):
                return (0 if self.interval(item)[0] >= 0 or function == "abs" else -_ENDLESS), _ENDLESS
            case ir.Reduce(kind="product" | "sum", loop=loop, body=body):
                with self.inside(loop):
                    return (0 if self.interval(body)[0] >= 0 else -_ENDLESS), _ENDLESS
            case ir.Reduce(kind="min" | "max", loop=loop, body=body):
                with self.inside(loop):
                    return _hull(self.interval(body), (0, 0))
            case _:
                return 0 if lower_bound(node) is not None else -_ENDLESS, _ENDLESS

    def _range_of(self, type_: str) -> Interval:
        if self.stage is Stage.STRUCTURE or type_ not in self.registry.types:
            return -_ENDLESS, _ENDLESS
        return self.registry.types[type_].range

    def _exceeds(self, node: ir.Expr) -> bool:
        if node.type != ir.INT or isinstance(node, ir.Definition):
            return False
        low, high = self._interval(node)
        return low < -LIMIT or high > LIMIT

    def _small(self, node: ir.Expr) -> bool:
        if node.type != ir.INT:
            return False
        low, high = self._interval(node)
        return low > -LIMIT and high < LIMIT

    def _positive(self, node: ir.Expr) -> bool:
        return self.interval(node)[0] > 0

    def _growing(self, node: ir.Binary) -> bool:
        """Whether saturating once, at the end, gives the same as saturating the operands too."""
        if node.op not in ("+", "*") or node.type != ir.INT:
            return False
        return self._interval(node.left)[0] >= 0 and self._interval(node.right)[0] >= 0

    def _within(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        """Whether the array certainly has an entry there."""
        if self.stage is Stage.STRUCTURE and not isinstance(index, ir.Local):
            return False
        match index:
            case ir.Local(name=name) if name in self._loops:
                loop = self._loops[name]
                return self.interval(loop.lower)[0] >= 0 and self._reaches(loop.upper, sequence)
            case ir.Binary(op="-", left=left, right=ir.Number(value=1)):
                return self.interval(left)[0] >= 1 and self._reaches(left, sequence)
            case ir.Number(value=0):
                return isinstance(sequence, ir.Field) and self._certain(sequence.tensor)
            case _:
                return False

    def _certain(self, tensor: ir.Tensor) -> bool:
        """Whether the tensor is there: one that is not has no dimensions."""
        if self.operator is None or tensor.index is not None:
            return tensor.index is None
        return not self.operator.member[tensor.name].optional

    def _reaches(self, bound: ir.Expr, sequence: ir.Expr) -> bool:
        """Whether `bound` is certainly no more than the array's length."""
        match bound, sequence:
            case ir.Field(tensor=a, name="DimensionCount"), ir.Field(tensor=b, name="Sizes" | "Strides"):
                return a == b or self._rank(a) == self._rank(b)
            case ir.Call(function="len", arguments=(counted,)), _ if counted == sequence:
                return True
            case ir.Member(name=count), ir.Member(name=array) if self.operator is not None:
                return self.operator.member[array].count == count
            case ir.Binary(op="-", left=left, right=right), _:
                return self.interval(right)[0] >= 0 and self._reaches(left, sequence)
            case ir.Call(function="max", arguments=(left, ir.Number(value=0))), _:
                return self._reaches(left, sequence)
            case ir.Call(function="min", arguments=arguments), _:
                return any(self._reaches(argument, sequence) for argument in arguments)
            case ir.Definition(value=value), _:
                return self._reaches(value, sequence)
            case _:
                return False

    def _rank(self, tensor: ir.Tensor) -> ir.Tensor:
        return self._ranks.get(tensor, tensor)


class InferencePrinter(PythonPrinter):
    """Prints for descriptions that no rule has seen: no entry of an array is certain."""

    def _within(self, index: ir.Expr, sequence: ir.Expr) -> bool:
        return False


def opposite(node: ir.Expr) -> ir.Expr:
    """The condition that holds where this one does not."""
    match node:
        case ir.Compare(op=op, left=left, right=right) if left.type != ir.FLOAT:  # of NaN no comparison holds
            return ir.Compare(_INVERSE[op], left, right)
        case ir.Not(operand=operand):
            return operand
        case _:
            return ir.Not(node)


def bound_of(check: Check) -> tuple[str, ir.CompareOp, int] | None:
    """The bound that a check sets to a tensor's integer or each entry of an array, if that is all."""
    match check.condition:
        case ir.Compare(
            op=op,
            left=ir.Field(name=name) | ir.Index(sequence=ir.Field(name=name)),
            right=ir.Number(value=int(value)) | ir.Constant(value=value),
        ) if op in ("<=", ">=") and check.guard is None:
            return name, op, value
        case _:
            return None


def field_bounds(registry: Registry) -> dict[str, Interval]:
    """Bounds of a tensor's integers, or of an array's entries, once STRUCTURE holds: by type, and by rule."""
    bounds: dict[str, Interval] = {}
    for field in registry.structs["BUFFER_TENSOR_DESC"].members:
        if field.type in registry.types:
            bounds[field.name] = registry.types[field.type].range
    for check in (c for r in registry.tensor.rules if r.stage is Stage.STRUCTURE for c in r.checks):
        bound = bound_of(check)
        if bound is not None:
            name, op, value = bound
            low, high = bounds[name]
            bounds[name] = (max(low, value), high) if op == ">=" else (low, min(high, value))
    return bounds


def _rank_classes(operator: Operator) -> Mapping[ir.Tensor, ir.Tensor]:
    """Tensors whose ranks are equal once COUNTS holds, each with one that stands for all of them."""
    first: dict[ir.Tensor, ir.Tensor] = {}
    for rule in operator.rules:
        if rule.stage is not Stage.COUNTS or rule.until or rule.since.ordinal > operator.since.ordinal:
            continue
        for check in rule.checks:
            if check.guard is not None or check.loops:
                continue
            match check.condition:
                case ir.Compare(
                    op="==",
                    left=ir.Field(tensor=a, name="DimensionCount"),
                    right=ir.Field(tensor=b, name="DimensionCount"),
                ):
                    old, new = first.get(a, a), first.get(b, b)
                    first = {tensor: new if one == old else one for tensor, one in first.items()}
                    first.update({a: new, b: new})
    return first


def _operands(node: ir.Expr) -> list[ir.Expr]:
    """The arrays that a concatenation puts together."""
    if isinstance(node, ir.Binary) and node.type == ir.INTS:
        return [*_operands(node.left), *_operands(node.right)]
    return [node]


def _braced(text: str) -> str:
    return literal(text).replace("{", "{{").replace("}", "}}")


def _hull(*intervals: Interval) -> Interval:
    return min((low for low, _ in intervals), default=0), max((high for _, high in intervals), default=0)


def _arithmetic(op: str, left: Interval, right: Interval) -> Interval:
    (a, b), (c, d) = left, right
    match op:
        case "+":
            bounds = [a + c, b + d]
        case "-":
            bounds = [a - d, b - c]
        case "*":
            bounds = [a * c, a * d, b * c, b * d]
        case "//" if c > 0:
            bounds = [a // c, a // d, b // c, b // d, 0]
        case "%" if c > 0:
            bounds = [0, d - 1]
        case "//":
            bounds = [-max(abs(a), abs(b)), max(abs(a), abs(b))]
        case "%":
            bounds = [min(c, 0), max(d, 0)]
        case _:
            bounds = [-_ENDLESS, _ENDLESS] if min(a, c) < 0 else [0, _ENDLESS]
    return max(min(bounds), -_ENDLESS), min(max(bounds), _ENDLESS)
