"""Expressions as C, for plans and for the test of a tensor. Rules are programs; see `c_program`.

Integers are `int64_t`, booleans `int`, fractions `double`. What C has no expression for (reductions, arrays)
becomes statements before the expression. Since every expression has a value for every description (an absent
tensor reads as one without dimensions), it can be evaluated even if it is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dmlgen.diagnostics import SpecError, fault
from dmlgen.expr import ir
from dmlgen.expr.bounds import ANY, Bounds, Interval
from dmlgen.expr.printer import ATOM, COMPARISON, SOURCE
from dmlgen.outputs.statements import StatementPrinter, indented
from dmlgen.registry import Check, Member, Operator, Registry, Rule

TENSOR = "BUFFER_TENSOR_DESC"
_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "//": "divide", "%": "modulo"}
_NEUTRAL = {"all": "1", "any": "0", "sum": "0", "product": "1", "min": "INT64_MIN", "max": "INT64_MIN"}
_ARRAYS = {"UINT": "", "INT": "signed_", "FLOAT": "float_"}  # number types, as prefixes of helpers
_LIST = "list_"
_NEEDS = {"product": "multiply", "sum": "add"}


class _OfTypes(Bounds):
    """Facts that the types of members imply, whether a description is valid or not."""

    def __init__(self, registry: Registry, operator: Operator | None) -> None:
        super().__init__()
        self._ranges = {name: one.range for name, one in registry.types.items()}
        self._types = {} if operator is None else {one.name: one.type for one in operator.members}

    def member(self, node: ir.Member) -> Interval:
        return self._ranges.get(self._types.get(node.name, ""), ANY)


class CPrinter(StatementPrinter):
    """Prints the expressions of one C function.

    `operator` is None in a function that checks one tensor. `functions` collects helpers without their
    prefix, `tensors` the tensor members that texts read, except arrays.
    """

    def __init__(self, registry: Registry, operator: Operator | None) -> None:
        super().__init__()
        self.registry = registry
        self.operator = operator
        self.tensors: dict[str, None] = {}
        self.rule: Rule | None = None
        self._fields = {member.name: member for member in registry.structs[TENSOR].members}
        self._bounds = _OfTypes(registry, operator)

    def _define(self, node: ir.Expr) -> None:
        """Declares variables for the definitions that an expression uses, unless they exist already."""
        for part in ir.walk(node):
            if isinstance(part, ir.Definition) and part.name not in self._defined:
                self._define(part.value)
                self._defined.add(part.name)
                if part.type == ir.INTS:
                    self._build(part.value, _local(part))
                else:
                    self._add(f"const {_c_type(part)} {_local(part)} = {self.print(part.value)};")

    def test(self, rule: Rule, check: Check) -> list[str]:
        """Statements that return 0 from a function if a check fails."""
        self.rule, self.statements = rule, []
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
        if isinstance(value, float):
            return repr(value)
        return str(int(value)) if value >= 0 else f"(int64_t){value}"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        match node:
            case ir.Local() | ir.Definition():
                return _local(node)
            case ir.Member(name=name) if self.operator is None:
                return f"member->{name}"
            case ir.Member(name=name) if self.operator is not None:
                return self._scalar(self.operator.member[name], f"desc->{name}")
        raise self._unsupported(f"{node.name}, an array of tensors")

    def tensor(self, node: ir.Tensor) -> str:
        if not node.name:
            return "tensor"
        if node.index is not None:
            return self._call("tensor_at", *self._tensors(node.name), self.print(node.index))
        self.tensors[node.name] = None
        return node.name

    def field(self, node: ir.Field) -> str:
        return self._scalar(self._fields[node.name], f"{self.tensor(node.tensor)}->{node.name}")

    def part(self, node: ir.Part) -> str:
        assert self.operator is not None
        owner = self.operator.member[node.member.name]
        part = next(m for m in self.registry.structs[owner.type].members if m.name == node.name)
        if owner.pointer:
            value = self._scalar(part, f"desc->{owner.name}->{part.name}")
            return f"(desc->{owner.name} == NULL ? 0 : {value})"
        return self._scalar(part, f"desc->{owner.name}.{part.name}")

    def present(self, node: ir.Present) -> str:
        match node.item:
            case ir.Field():
                return f"{self._array(node.item)[0]} != NULL"
            case ir.Tensor(index=index) if index is not None:
                return f"{self.tensor(node.item)} != &dmlops_absent"
            case item:
                return f"desc->{item.name} != NULL"

    def index(self, node: ir.Index) -> str:
        function, *array = self._array_function("entry", node.sequence)
        return self._call(function, *array, self.print(node.index))

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        left, right = self.print(node.left), self.print(node.right)
        if node.op in _ARITHMETIC and node.type == ir.INT:
            return self._call(_ARITHMETIC[node.op], left, right), ATOM
        return f"(({left}) {node.op} ({right}))", ATOM

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        item = self._temporary("item", self.print(node.item))
        sign, glue = ("!=", " && ") if negated else ("==", " || ")
        return f"({glue.join(f'{item} {sign} {self.print(choice, ATOM)}' for choice in node.choices)})"

    def conditional(self, node: ir.Conditional) -> str:
        type_ = _c_type(node)
        test = self.print(node.test)
        found = self.choice(node, test, type_, ATOM)
        if isinstance(found, str):
            return found
        then, otherwise = found
        return f"({test} ? ({type_}){then} : ({type_}){otherwise})"

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
                    more = self._call({"sum": "add", "product": "multiply"}[node.kind], name, body)
                case _:
                    more = f"{name} == INT64_MIN ? {body} : {self._call(node.kind, name, body)}"
            self._add(f"{name} = {more};")
        return f"({name} == INT64_MIN ? 0 : {name})" if node.kind in ("min", "max") else name

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="len", arguments=(ir.Tensors(name=name),)):
                return f"(int64_t){self._tensors(name)[1]}"
            case ir.Call(function="len", arguments=(item,)):
                return f"(int64_t){self._array(item)[1]}"
            case ir.Call(function="product" | "sum" as function, arguments=(item,)):
                return self._call(*self._array_function(function, item))
        return self._call(node.function, *(self.print(item) for item in node.arguments))

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Negate(operand=operand):
                return self._call("subtract", "0", self.print(operand)), ATOM
            case ir.Compare(op=op, left=left, right=right) if left.type == ir.INTS:
                same = self._same(left, right)
                return (same, ATOM) if op == "==" else (f"!{same}", COMPARISON)
            case ir.Compare(left=left) if left.type == ir.INT and self._bounds.holds(node) is not None:
                return str(int(bool(self._bounds.holds(node)))), ATOM  # avoids compiler warnings
            case ir.Logic(op=op, operands=operands):
                texts = [self.print(item, COMPARISON) for item in operands]
                return f"({self.spelling.logic[op].join(texts)})", ATOM
            case ir.Conditional():
                return self.conditional(node), ATOM
            case ir.Present():
                return self.present(node), COMPARISON
        return super()._node(node)

    # Arrays: those of a description are read in place, all others are built as lists.

    def _same(self, left: ir.Expr, right: ir.Expr) -> str:
        if isinstance(left, ir.Field) and isinstance(right, ir.Field):
            return self._call("same_arrays", *self._array(left), *self._array(right))
        if isinstance(left, ir.Field):
            return self._call("list_is", f"&{self._list(right)}", *self._array(left))
        return self._call("same_lists", f"&{self._list(left)}", f"&{self._list(right)}")

    def _array(self, node: ir.Expr) -> tuple[str, str]:
        """The address of an array's first entry, and the number of entries."""
        match node:
            case ir.Field(tensor=owner, name=name):
                tensor = self.tensor(owner)
                return f"{tensor}->{name}", f"{tensor}->{self._fields[name].count}"
            case ir.Member(name=name) if self.operator is not None:
                return f"desc->{name}", f"desc->{self.operator.member[name].count}"
        name = self._list(node)
        return f"{name}.values", f"{name}.count"

    def _array_function(self, function: str, node: ir.Expr) -> tuple[str, str, str]:
        """A function on arrays in the variant for this one, and the array's two arguments."""
        match node:
            case ir.Field():
                prefix = _ARRAYS[self._fields[node.name].type]
            case ir.Member(name=name) if self.operator is not None:
                prefix = _ARRAYS[self.operator.member[name].type]
            case _:
                prefix = _LIST
        return (prefix + function, *self._array(node))

    def _tensors(self, name: str) -> tuple[str, str]:
        """The address of an array of tensors, and the number of entries."""
        assert self.operator is not None
        return f"desc->{name}", f"desc->{self.operator.member[name].count}"

    def _list(self, node: ir.Expr) -> str:
        """The name of a list with the value of an expression."""
        return _local(node) if isinstance(node, ir.Definition) else self._build(node, self._new("list"))

    def _build(self, node: ir.Expr, name: str) -> str:
        """Declare a list and fill it."""
        self._add(f"dmlops_list {name};", f"{name}.count = 0;")
        match node:
            case ir.Call(function="align" | "replace" as function, arguments=(item, *others)):
                self._append(item, name)
                self._add(self._call(function, f"&{name}", *(self.print(other) for other in others)) + ";")
            case _:
                self._append(node, name)
        return name

    def _append(self, node: ir.Expr, target: str) -> None:
        match node:
            case ir.Binary(op="+", left=left, right=right):
                self._append(left, target)
                self._append(right, target)
            case ir.Slice(sequence=sequence, lower=lower, upper=upper):
                self._append_slice(sequence, lower, upper, target)
            case ir.ListOf(items=items):
                for item in items:
                    self._add(self._call("push", f"&{target}", self.print(item)) + ";")
            case ir.Reduce(kind="list", loop=loop, body=body):
                with self._loop(loop):
                    self._add(self._call("push", f"&{target}", self.print(body)) + ";")
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                condition = self.print(test)
                with self.block() as if_true:
                    self._append(then, target)
                with self.block() as if_false:
                    self._append(otherwise, target)
                self._branch(condition, if_true, if_false)
            case ir.Field() | ir.Member() | ir.Definition() | ir.Call(function="align" | "replace"):
                self._append_slice(node, None, None, target)
            case _:
                raise self._unsupported(SOURCE.print(node))

    def _append_slice(
        self, sequence: ir.Expr, lower: ir.Expr | None, upper: ir.Expr | None, target: str
    ) -> None:
        function, array, count = self._array_function("append", sequence)
        first = "0" if lower is None else self.print(lower)
        end = count if upper is None else self.print(upper)
        self._add(self._call(function, f"&{target}", array, count, first, end) + ";")

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

    def _branch(self, test: str, then: list[str], otherwise: list[str]) -> None:
        self._add(f"if ({test}) {{", *indented(then), "} else {", *indented(otherwise), "}")

    def _temporary(self, purpose: str, value: str, constant: bool = True) -> str:
        name = self._new(purpose)
        self._add(f"{'const ' * constant}int64_t {name} = {value};")
        return name

    def _scalar(self, member: Member, place: str) -> str:
        """The value of a member that is a single number."""
        if member.type in self.registry.enums:
            return self._call("enum", f"&{place}")
        number = self.registry.types[member.type]
        if number.kind == "float":
            return f"(double){place}"
        if member.type == "BOOL":
            return f"({place} != 0)"
        if number.kind == "unsigned" and number.bits == 64:
            return self._call("unsigned", place)
        return f"(int64_t){place}"

    def _call(self, function: str, *arguments: str) -> str:
        plain = function.removeprefix(_LIST).removeprefix(_ARRAYS["INT"])
        self.functions |= {function, _NEEDS.get(plain, function)}
        return f"dmlops_{function}({', '.join(arguments)})"

    def _unsupported(self, what: str) -> SpecError:
        """The C output does not support this operator yet."""
        assert self.operator is not None
        position = self.operator.position if self.rule is None else self.rule.position
        owner = self.operator.name if self.rule is None else self.rule.id
        return fault(position, "c-output", f"{owner}: {what} has no form in C yet")


def _c_type(node: ir.Expr) -> str:
    """The type of a variable that holds the value of an expression that is no array."""
    return "double" if node.type == ir.FLOAT else "int64_t"


def _local(node: ir.Local | ir.Definition) -> str:
    """A name that is not a keyword, type or macro of C, made from the name in the spec."""
    return f"{'at' if isinstance(node, ir.Local) else 'let'}_{node.name}"
