"""The test of a tensor against the rules on all of them, in C, which is faster than their programs.

Integers are `int64_t`, booleans `int`. Reductions, which are no expressions in C, become statements. Since
every expression has a value for every tensor, it can be evaluated even if it is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS
from dmlgen.expr.printer import ATOM, COMPARISON
from dmlgen.outputs.c_program import TENSOR
from dmlgen.outputs.statements import StatementPrinter, indented
from dmlgen.registry import Check, Registry, Rule

_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "//": "divide", "%": "modulo"}
_NEUTRAL = {"all": "1", "any": "0", "sum": "0", "product": "1", "min": "INT64_MIN", "max": "INT64_MIN"}


def tensor_test(registry: Registry, rules: Sequence[Rule]) -> dict[str, list[str]]:
    """The statements of the test by rule; none if a rule computes an array, which only its program can."""
    nodes = (node for rule in rules for part in rule.expressions for node in ir.walk(part))
    if any(node.type == ir.INTS and not isinstance(node, ir.Field) for node in nodes):
        return {}
    printer = _Printer(registry)
    return {rule.id: [line for check in rule.checks for line in printer.test(rule, check)] for rule in rules}


class _Printer(StatementPrinter):
    """Prints conditions on the fields of `tensor`, with its `member` of the operator."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self.registry = registry
        self._fields = {member.name: member for member in registry.structs[TENSOR].members}

    def test(self, rule: Rule, check: Check) -> list[str]:
        """Statements that return 0 from a function if a check fails."""
        self.statements = []
        with ExitStack() as nested:
            for part in check.read:
                self._define(part)
            if guards := self._guards(rule, check):
                nested.enter_context(self._if(" && ".join(guards)))
            for loop in check.loops:
                nested.enter_context(self._loop(loop))
            with self._if(self.print(ir.opposite(check.condition))):
                self._add("return 0;")
        return self.statements

    def number(self, value: int | bool | float) -> str:
        return str(int(value)) if value >= 0 else f"(int64_t){value}"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        return f"member->{node.name}" if isinstance(node, ir.Member) else _local(node)

    def field(self, node: ir.Field) -> str:
        member, place = self._fields[node.name], f"tensor->{node.name}"
        if member.type in self.registry.enums:
            return f"dmlops_enum(&{place})"
        is_wide = self.registry.types[member.type].bits == 64
        return f"dmlops_unsigned({place})" if is_wide else f"(int64_t){place}"

    def present(self, node: ir.Present) -> str:
        assert isinstance(node.item, ir.Field)
        return f"tensor->{node.item.name} != NULL"

    def index(self, node: ir.Index) -> str:
        return f"dmlops_entry({self._array(node.sequence)}, {self.print(node.index)})"

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        left, right = self.print(node.left), self.print(node.right)
        if node.op in _ARITHMETIC:
            return f"dmlops_{_ARITHMETIC[node.op]}({left}, {right})", ATOM
        return f"(({left}) {node.op} ({right}))", ATOM

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        item = self._temporary("item", self.print(node.item))
        sign, glue = ("!=", " && ") if negated else ("==", " || ")
        return f"({glue.join(f'{item} {sign} {self.print(choice, ATOM)}' for choice in node.choices)})"

    def conditional(self, node: ir.Conditional) -> str:
        test = self.print(node.test)
        with self.block() as before_then:
            then = self.print(node.then, ATOM)
        with self.block() as before_otherwise:
            otherwise = self.print(node.otherwise, ATOM)
        if not before_then and not before_otherwise:
            return f"({test} ? (int64_t){then} : (int64_t){otherwise})"
        name = self._new("chosen")
        branches = ([*before_then, f"{name} = {then};"], [*before_otherwise, f"{name} = {otherwise};"])
        self._add(f"int64_t {name};", f"if ({test}) {{", *indented(branches[0]))
        self._add("} else {", *indented(branches[1]), "}")
        return name

    def reduce(self, node: ir.Reduce) -> str:
        name = self._temporary(node.kind, _NEUTRAL[node.kind], constant=False)
        with self._loop(node.loop):
            body = self.print(node.body, ATOM)
            match node.kind:
                case "all":
                    more = f"{name} && {body}"
                case "any":
                    more = f"{name} || {body}"
                case "sum" | "product":
                    more = f"dmlops_{'add' if node.kind == 'sum' else 'multiply'}({name}, {body})"
                case _:
                    more = f"{name} == INT64_MIN ? {body} : dmlops_{node.kind}({name}, {body})"
            self._add(f"{name} = {more};")
        return f"({name} == INT64_MIN ? 0 : {name})" if node.kind in ("min", "max") else name

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="len", arguments=(ir.Field(name=name),)):
                return f"(int64_t)tensor->{self._fields[name].count}"
            case ir.Call(function="product" | "sum" as function, arguments=(item,)):
                return f"dmlops_{function}({self._array(item)})"
        return f"dmlops_{node.function}({', '.join(self.print(item) for item in node.arguments)})"

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Negate(operand=operand):
                return f"dmlops_subtract(0, {self.print(operand)})", ATOM
            case ir.Compare(op=op, left=left, right=right) if left.type == ir.INTS:
                same = f"dmlops_same_arrays({self._array(left)}, {self._array(right)})"
                return (same, ATOM) if op == "==" else (f"!{same}", COMPARISON)
            case ir.Compare(left=left) if left.type == ir.INT and BOUNDS.holds(node) is not None:
                return str(int(bool(BOUNDS.holds(node)))), ATOM  # avoids compiler warnings
            case ir.Logic(op=op, operands=operands):
                texts = [self.print(item, COMPARISON) for item in operands]
                return f"({self.spelling.logic[op].join(texts)})", ATOM
            case ir.Conditional():
                return self.conditional(node), ATOM
            case ir.Present():
                return self.present(node), COMPARISON
        return super()._node(node)

    def _array(self, node: ir.Expr) -> str:
        """The address of an array's first entry, and the number of entries."""
        assert isinstance(node, ir.Field)
        return f"tensor->{node.name}, tensor->{self._fields[node.name].count}"

    def _define(self, node: ir.Expr) -> None:
        """Declares variables for the definitions that an expression uses, unless they exist already."""
        for part in ir.walk(node):
            if isinstance(part, ir.Definition) and part.name not in self._defined:
                self._define(part.value)
                self._defined.add(part.name)
                self._add(f"const int64_t {_local(part)} = {self.print(part.value)};")

    def _guards(self, rule: Rule, check: Check) -> list[str]:
        """The condition under which a check applies at all."""
        guards = [f"run->level >= {rule.since.value}"] if rule.since.ordinal else []
        if rule.until is not None:
            guards.append(f"run->level < {rule.until.value}")
        if check.guard is not None:
            guards.append(self.print(check.guard, COMPARISON))
        return guards

    # Statements.

    @contextmanager
    def _if(self, condition: str) -> Iterator[None]:
        with self.block() as body:
            yield
        self._add(f"if ({condition}) {{", *indented(body), "}")

    @contextmanager
    def _loop(self, loop: ir.Loop) -> Iterator[None]:
        """Everything printed inside is repeated for each value of the loop's variable."""
        lower, upper, variable = self.print(loop.lower), self.print(loop.upper), _local(loop.variable)
        with self.block() as body:
            if loop.condition is not None:
                with self._if(self.print(ir.opposite(loop.condition))):
                    self._add("continue;")
            yield
        self._add(f"for (int64_t {variable} = {lower}; {variable} < {upper}; ++{variable}) {{")
        self._add(*indented(body), "}")

    def _temporary(self, purpose: str, value: str, constant: bool = True) -> str:
        name = self._new(purpose)
        self._add(f"{'const ' * constant}int64_t {name} = {value};")
        return name


def _local(node: ir.Local | ir.Definition | ir.Tensors) -> str:
    """A name that is not a keyword, type or macro of C, made from the name in the spec."""
    return f"{'let' if isinstance(node, ir.Definition) else 'at'}_{node.name}"
