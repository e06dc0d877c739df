"""The fast path for tensors: checks all rules at once, for tensors that break none.

The number of passes over Sizes and Strides determines the time, so there is only one: all sums and products
over the dimensions are computed in the same loop. Tensors with and without strides have a loop each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dmlgen.analysis.described import bound_of
from dmlgen.expr import ir
from dmlgen.expr.bounds import COUNT
from dmlgen.general_rules import IntegerRange
from dmlgen.names import field_local, python_variable
from dmlgen.outputs.python_printer import PythonPrinter, opposite
from dmlgen.registry import Check, Registry, Rule, Stage

COUNTABLE = 1 << 56  # a valid tensor spans at most so many elements, so sizes in bits fit 64 bits

SELF = ir.Tensor("")
RANK = ir.Field(SELF, "DimensionCount", ir.INT)
DATA_TYPE = ir.Field(SELF, "DataType", ir.Type("enum", "TENSOR_DATA_TYPE"))
BITS = ir.Call("bits", (DATA_TYPE,), ir.INT)
WITH_STRIDES = ir.Present(ir.Field(SELF, "Strides", ir.INTS))


@dataclass(frozen=True)
class TestView:
    """A condition under which the tensor is invalid, by these rules."""

    rules: tuple[str, ...]
    failure: str


@dataclass(frozen=True)
class StepView:
    """A variable and the value that is assigned, added or multiplied to it."""

    name: str
    operator: str
    value: str


@dataclass(frozen=True)
class LoopView:
    """One pass over arrays: tests before it, initial values, the steps for each entry, what follows."""

    before: tuple[TestView, ...]
    start: tuple[StepView, ...]
    arrays: tuple[str, ...]
    entries: tuple[str, ...]
    tests: tuple[TestView, ...]
    steps: tuple[StepView, ...]
    after: tuple[StepView, ...]


@dataclass(frozen=True)
class DefaultView:
    """A field that gets `value` if it is not given, and is tested otherwise."""

    name: str
    value: str
    test: TestView


@dataclass(frozen=True)
class SoundnessView:
    """`first` is tested for every tensor, then come a loop, variables, and `last`.

    `tables` have values that depend only on the bits of an element, so that they are computed once.
    """

    tables: tuple[StepView, ...]
    first: tuple[TestView, ...]
    packed: LoopView
    strided: LoopView
    countable: tuple[TestView, ...]
    steps: tuple[StepView, ...]
    defaults: tuple[DefaultView, ...]
    last: tuple[TestView, ...]


class _TablePrinter(PythonPrinter):
    """Prints entries of tables, which have one for every number of bits."""

    def index(self, node: ir.Index) -> str:
        if isinstance(node.sequence, ir.Local):
            return f"{node.sequence.name}[{self.print(node.index)}]"
        return super().index(node)


class Soundness:
    """Builds the view from the rules on tensors."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.fields = registry.structs["BUFFER_TENSOR_DESC"].members
        self.printer = _TablePrinter(registry, None, Stage.VALUES)
        self.tables: dict[str, ir.Expr] = {}
        self.totals: dict[ir.Expr, ir.Local] = {}
        self.integer_range = next(r.id for r in registry.operator_rules if r.slug == IntegerRange.slug)

    def view(self) -> SoundnessView:
        """The view of the fast path."""
        checks = [(r, c) for r in self.registry.tensor.rules for c in r.checks if bound_of(c) is None]
        definitions, kept = self._definitions()
        in_loop = {name: value for name, value in kept.items() if _depends_on_strides(value)}
        failures = [(rule, _failure(check, definitions)) for rule, check in checks]
        structure = [(rule, f) for rule, f in failures if rule.stage is Stage.STRUCTURE]
        values = [(rule, self._with_totals(f)) for rule, f in failures if rule.stage is Stage.VALUES]
        shared = set(self.totals.values())
        packed, strided = (self._loop(given, structure, in_loop, shared) for given in (False, True))
        for name in in_loop:
            self.printer.bounds.known[name] = (0, COUNTABLE)
        bits = ir.Local("bits", ir.INT)
        steps = [StepView(bits.name, "=", self.printer.print(BITS))]
        self.printer.bounds.known[bits.name] = (0, max(self.registry.bits.values()))
        for name, value in kept.items():
            if name not in in_loop:
                value = ir.substitute(value, {BITS: bits})
                steps.append(StepView(field_local("", name), "=", self.printer.print(value)))
                self.printer.bounds.known[name] = self.printer.bounds.value(value)
        last = [
            TestView((rule.id,), self.printer.print(ir.substitute(failure, {BITS: bits})))
            for rule, failure in values
        ]
        defaults = {
            name: value.name
            for name, value in self.registry.tensor.defaults.items()
            if isinstance(value, ir.Definition)
        }
        scalars = [self._bounds(n, field_local("", n)) for n in self._scalars() if n not in defaults]
        return SoundnessView(
            tables=tuple(
                StepView(name, "=", self.printer.print(value)) for name, value in self.tables.items()
            ),
            first=(self._bounds("DimensionCount", field_local("", "DimensionCount")),),
            packed=packed,
            strided=strided,
            countable=tuple(
                TestView(("more than any buffer holds",), f"{field_local('', name)} > {COUNTABLE}")
                for name in in_loop
            ),
            steps=tuple(steps),
            defaults=tuple(
                DefaultView(
                    field_local("", name), field_local("", value), self._bounds(name, field_local("", name))
                )
                for name, value in defaults.items()
            ),
            last=(*scalars, *last),
        )

    def _definitions(self) -> tuple[dict[ir.Expr, ir.Expr], dict[str, ir.Expr]]:
        """The values of definitions: a variable if strides or defaults need one, otherwise the value."""
        defaults = {v.name for v in self.registry.tensor.defaults.values() if isinstance(v, ir.Definition)}
        meaning: dict[ir.Expr, ir.Expr] = {}
        kept: dict[str, ir.Expr] = {}
        for definition in self.registry.tensor.definitions:
            value = ir.substitute(definition.value, meaning)
            if definition.name in defaults or _depends_on_strides(value):
                kept[definition.name] = value
                value = ir.Local(definition.name, value.type)
            elif BITS in ir.walk(value) and not any(_reads_more(node) for node in ir.walk(value)):
                table = python_variable(definition.name).upper()
                self.tables[table] = ir.substitute(value, {BITS: ir.Local("bits", ir.INT)})
                self.printer.bounds.known[table] = self.printer.bounds.value(value)
                value = ir.Index(ir.Local(table, ir.INTS), BITS)
            meaning[ir.Definition(definition.name, definition.value)] = value
        return meaning, kept

    def _loop(
        self,
        strided: bool,
        structure: Iterable[tuple[Rule, ir.Expr]],
        kept: dict[str, ir.Expr],
        shared: set[ir.Local],
    ) -> LoopView:
        """The pass over tensors with or without strides."""
        given = ir.Number(strided, ir.BOOL)
        values = {
            name: self._with_totals(_folded(ir.substitute(value, {WITH_STRIDES: given})))
            for name, value in kept.items()
        }
        tests = [(rule, _folded(ir.substitute(c, {WITH_STRIDES: given}))) for rule, c in structure]
        needed = shared | {n for v in values.values() for n in ir.walk(v) if isinstance(n, ir.Local)}
        totals = {node: local for node, local in self.totals.items() if local in needed}
        arrays = ["Sizes", "Strides"] if strided else ["Sizes"]
        steps = []
        for node, local in totals.items():
            kind, body = _total(node)
            steps.append(StepView(local.name, "*=" if kind == "product" else "+=", self._entry_text(body)))
        return LoopView(
            before=tuple(
                TestView((rule.id,), self.printer.print(failure))
                for rule, failure in tests
                if not isinstance(failure, ir.Number)
            ),
            start=tuple(
                StepView(local.name, "=", "1" if _total(node)[0] == "product" else "0")
                for node, local in totals.items()
            ),
            arrays=tuple(field_local("", name) for name in arrays),
            entries=tuple(_entry(name).name for name in arrays),
            tests=tuple(self._bounds(name, _entry(name).name) for name in arrays),
            steps=tuple(steps),
            after=tuple(
                StepView(field_local("", name), "=", self.printer.exact(value))
                for name, value in values.items()
            ),
        )

    def _bounds(self, field: str, text: str) -> TestView:
        """The test of an integer against its type and the rules that bound it."""
        rules = [
            rule.id
            for rule in self.registry.tensor.rules
            if any((bound := bound_of(check)) is not None and bound[0] == field for check in rule.checks)
        ]
        low, high = self.printer.bounds.fields[field]
        return TestView((self.integer_range, *rules), f"{text} < {low} or {text} > {high}")

    def _scalars(self) -> list[str]:
        counts = {field.count for field in self.fields}
        integers = [f for f in self.fields if f.type in self.registry.types and not f.count]
        return [field.name for field in integers if field.name not in counts]

    def _with_totals(self, node: ir.Expr) -> ir.Expr:
        """The expression with every sum and product over the dimensions replaced by a variable."""
        for part in ir.walk(node):
            if _is_total(part) and part not in self.totals:
                local = ir.Local(f"{_total(part)[0]}_{len(self.totals) + 1}", ir.INT)
                self.totals[part] = local
                self.printer.bounds.known[local.name] = COUNT
        return ir.substitute(node, dict(self.totals))

    def _entry_text(self, body: ir.Expr) -> str:
        indexed = [node for node in ir.walk(body) if isinstance(node, ir.Index)]
        fields = [node.sequence for node in indexed if isinstance(node.sequence, ir.Field)]
        for field in fields:
            self.printer.bounds.known[_entry(field.name).name] = self.printer.bounds.fields[field.name]
        entries: dict[ir.Expr, ir.Expr] = {
            node: _entry(field.name) for node, field in zip(indexed, fields, strict=True)
        }
        return self.printer.exact(ir.substitute(body, entries))


def _failure(check: Check, meaning: dict[ir.Expr, ir.Expr]) -> ir.Expr:
    """The condition under which a check fails."""
    failure = opposite(check.condition)
    for loop in reversed(check.loops):
        failure = ir.Reduce("any", loop, failure, ir.BOOL)
    if check.guard is not None:
        failure = ir.Logic("and", (check.guard, failure))
    return ir.substitute(failure, meaning)


def _reads_more(node: ir.Expr) -> bool:
    """Whether a part of an expression reads more than the data type."""
    return isinstance(node, ir.Field | ir.Member | ir.Present) and node != DATA_TYPE


def _depends_on_strides(node: ir.Expr) -> bool:
    return any(part == WITH_STRIDES for part in ir.walk(node))


def _folded(node: ir.Expr) -> ir.Expr:
    """The expression, simplified by what is known to be true or false."""
    match node:
        case ir.Not(operand=operand):
            inner = _folded(operand)
            return ir.Number(not inner.value, ir.BOOL) if isinstance(inner, ir.Number) else ir.Not(inner)
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            chosen = _folded(test)
            if isinstance(chosen, ir.Number):
                return _folded(then if chosen.value else otherwise)
            return node
        case ir.Logic(op=op, operands=operands):
            parts = [_folded(operand) for operand in operands]
            decisive = op == "or"
            if any(isinstance(part, ir.Number) and bool(part.value) is decisive for part in parts):
                return ir.Number(decisive, ir.BOOL)
            rest = tuple(part for part in parts if not isinstance(part, ir.Number))
            return rest[0] if len(rest) == 1 else ir.Logic(op, rest)
        case _:
            return node


def _is_total(node: ir.Expr) -> bool:
    match node:
        case ir.Call(function="product" | "sum", arguments=(ir.Field(),)):
            return True
        case ir.Reduce(kind="product" | "sum", loop=loop):
            return (loop.lower, loop.upper, loop.condition) == (ir.Number(0, ir.INT), RANK, None)
        case _:
            return False


def _total(node: ir.Expr) -> tuple[str, ir.Expr]:
    """ "product" or "sum", and the term for one dimension."""
    match node:
        case ir.Call(function=kind, arguments=(sequence,)):
            return kind, ir.Index(sequence, ir.Local("d", ir.INT))
        case ir.Reduce(kind=kind, body=body):
            return kind, body
    raise TypeError(type(node).__name__)


def _entry(field: str) -> ir.Local:
    """The variable for one entry of an array: for Sizes, size."""
    return ir.Local(field_local("", field).removesuffix("s"), ir.INT)
