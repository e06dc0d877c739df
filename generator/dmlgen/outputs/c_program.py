"""Expressions as programs of bytes, which an interpreter in the C header runs.

A program is the expression itself, outermost first: a byte for what it does, then its operands, one after the
other. What the definitions of a rule give stands in slots, which are filled first. As every expression has a
value for every description (an absent tensor reads as one without dimensions), both sides of a choice are
worked out. Members are named by their offsets in words of 4 bytes, which the C compiler fills in.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dmlgen.diagnostics import Finding, Position, SpecError
from dmlgen.expr import ir
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Check, Member, Operator, Registry, Rule

TENSOR = "BUFFER_TENSOR_DESC"
WORD = 4  # bytes; offsets of members count words

# What a byte of a program does. Below SMALL: by its position here; from there on: a number, then a slot.
# Those from ADD to GREATER_OR_EQUAL make a number of two numbers.
OPERATIONS = (
    *("NUMBER", "LEVEL", "UINT", "INT", "BOOL", "UINT64", "GIVEN", "THROUGH", "INSIDE"),
    *("RANK", "TYPE", "SIZE", "ENTRY", "LENGTH", "COUNT", "PRODUCT", "SUM", "SAME", "GIVEN_ENTRY"),
    *("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MODULO", "MIN", "MAX", "BIT_AND", "BIT_OR"),
    *("EQUAL", "NOT_EQUAL", "LESS", "LESS_OR_EQUAL", "GREATER", "GREATER_OR_EQUAL"),
    *("NOT", "ALL", "ANY", "ONE_OF", "SELECT", "REDUCE", "ABS", "BITS", "SIGNED", "POWER_OF_TWO"),
    *("FLOAT_LESS", "FLOAT_LESS_OR_EQUAL", "FLOAT_GREATER", "FLOAT_GREATER_OR_EQUAL"),
    *("FLOAT_EQUAL", "FLOAT_NOT_EQUAL"),
    *("FLOAT", "FLOAT_NUMBER", "FLOAT_ENTRY", "FLOAT_SELECT"),
    *("SIZES", "STRIDES", "UINTS", "INTS", "LIST"),
    *("JOIN", "SLICE", "REST", "ITEMS", "EACH", "CHOOSE", "ALIGN", "REPLACE"),
)
SMALL, SLOT = 0x80, 0xC0
REDUCTIONS = ("all", "any", "sum", "product", "min", "max")
VALUES = ("int", "bool", "float", "ints", "enum")  # what a message can show, by the kind of its type
ENTRY = 0xFF  # in place of a tensor's offset: one of an array

_TRUE = ir.Number(True, ir.BOOL)
_NUMBER = {"==": "EQUAL", "!=": "NOT_EQUAL", "<": "LESS", "<=": "LESS_OR_EQUAL", ">": "GREATER"} | {
    ">=": "GREATER_OR_EQUAL"
}
_ARITHMETIC = {"+": "ADD", "-": "SUBTRACT", "*": "MULTIPLY", "//": "DIVIDE", "%": "MODULO"} | {
    "&": "BIT_AND",
    "|": "BIT_OR",
}
_FUNCTIONS = {"min": "MIN", "max": "MAX", "abs": "ABS", "bits": "BITS", "signed": "SIGNED"} | {
    "power_of_two": "POWER_OF_TWO"
}
_BY_TYPE = {"UINT": "UINT", "INT": "INT", "BOOL": "BOOL", "UINT64": "UINT64", "FLOAT": "FLOAT"}


@dataclass(frozen=True)
class Slots:
    """How many integers and lists the programs keep at most."""

    integers: int
    lists: int


class Program:
    """Writes one program of an operator. Each text of `code` is one byte."""

    def __init__(self, registry: Registry, operator: Operator) -> None:
        self.registry = registry
        self.operator = operator
        self.code: list[str] = []
        self.position: Position = operator.position
        self.owner = operator.name
        self._integers: dict[str, int] = {}
        self._variables: dict[str, int] = {}
        self._lists: dict[str, int] = {}
        self._taken = self._most = 0  # slots of integers
        self._fields = {member.name: member for member in registry.structs[TENSOR].members}
        self._enums = {name: number for number, name in enumerate(registry.enums)}

    @property
    def slots(self) -> Slots:
        return Slots(self._most, len(self._lists))

    def check(self, rule: Rule, check: Check, parts: Iterable[ir.Expr]) -> str:
        """Judge a check; gives the format of its message, in which %v stands for the next value.

        What follows %? is the hint, which the message ends before unless the next value is true.
        """
        self.position, self.owner = rule.position, rule.id
        self._define(parts)
        self._guard(rule, check)
        self._byte(len(check.loops))
        for loop in check.loops:
            slot = self._slot()
            self._byte(slot)
            self.integer(loop.lower)
            self.integer(loop.upper)
            self._variables[loop.variable.name] = slot
            self.integer(_TRUE if loop.condition is None else loop.condition)
        self.integer(check.condition)
        format_ = self._message(check.message)
        if check.hint is not None:
            self.integer(check.hint.when)
            format_ += "%?" + self._message(check.hint.message)
        return format_

    def _message(self, parts: Iterable[str | ir.Expr]) -> str:
        format_ = ""
        for part in parts:
            if isinstance(part, str):
                format_ += part.replace("%", "%%")
            else:
                format_ += "%v"
                self._value(part)
        return format_

    def number(self, node: ir.Expr) -> None:
        """The value of an expression that is no array."""
        self._define([node])
        self.integer(node)

    def array(self, node: ir.Expr) -> None:
        """The entries of an array."""
        self._define([node])
        self._list(node)

    def _guard(self, rule: Rule, check: Check) -> None:
        guards: list[ir.Expr] = []
        level = ir.Local("", ir.INT)
        if rule.since.ordinal:
            guards.append(ir.Compare(">=", level, ir.Number(rule.since.value, ir.INT)))
        if rule.until is not None:
            guards.append(ir.Compare("<", level, ir.Number(rule.until.value, ir.INT)))
        if check.guard is not None:
            guards.append(check.guard)
        if len(guards) > 1:
            guards = [ir.Logic("and", tuple(guards))]
        self.integer(guards[0] if guards else _TRUE)

    def _value(self, node: ir.Expr) -> None:
        kind = node.type.kind
        if kind not in VALUES or (kind == "enum" and node.type.name not in self._enums):
            raise self._unsupported(f"a {node.type} in a message")
        self._byte(VALUES.index(kind))
        if kind == "enum":
            self._byte(self._enums[node.type.name or ""])
        {"float": self._float, "ints": self._list}.get(kind, self.integer)(node)

    # Slots.

    def _define(self, parts: Iterable[ir.Expr]) -> None:
        """Fill the slots of definitions that expressions use; fractions are worked out where they stand."""
        definitions: dict[str, ir.Definition] = {}
        for part in parts:
            _definitions(part, definitions)
        self._byte(len(definitions))
        for name, definition in definitions.items():
            if definition.type == ir.INTS:
                self._byte(SLOT + len(self._lists))
                self._list(definition.value)
                self._lists[name] = len(self._lists)
            else:
                slot = self._slot()
                self._byte(slot)
                self.integer(definition.value)
                self._integers[name] = slot

    def _slot(self) -> int:
        """A slot of an integer."""
        self._taken += 1
        self._most = max(self._most, self._taken)
        if self._taken > 0x100 - SLOT:
            raise self._unsupported("so many names")
        return self._taken - 1

    @contextmanager
    def _body(self) -> Iterator[None]:
        """What is written inside has its length before it."""
        start = len(self.code)
        yield
        length = len(self.code) - start
        self.code[start:start] = [str(length % 256), str(length // 256)]

    # Numbers.

    def integer(self, node: ir.Expr) -> None:
        """An integer, truth value or value of an enumeration."""
        match node:
            case ir.Number(value=value) | ir.EnumValue(value=value) | ir.Constant(value=value):
                self._number(int(value))
            case ir.Local(name=""):
                self._op("LEVEL")
            case ir.Local(name=name):
                self._byte(SLOT + self._variables[name])
            case ir.Definition(name=name):
                self._byte(SLOT + self._integers[name])
            case ir.Member(name=name):
                self._scalar(self.operator.member[name], self.operator.c_name)
            case ir.Part(member=owner, name=name):
                self._part(owner, name)
            case ir.Field(tensor=tensor, name="DimensionCount"):
                self._op("RANK")
                self._tensor(tensor)
            case ir.Field(tensor=tensor, name="DataType"):
                self._op("TYPE")
                self._tensor(tensor)
            case ir.Field(tensor=tensor, name=name):
                self._op("INSIDE")
                self._tensor(tensor)
                self._scalar(self._fields[name], f"DML_{TENSOR}")
            case ir.Present():
                self._present(node)
            case ir.Index(sequence=ir.Field(tensor=tensor, name="Sizes"), index=index):
                self._op("SIZE")
                self._tensor(tensor)
                self.integer(index)
            case ir.Index(sequence=sequence, index=index):
                self._op("ENTRY")
                self._list(sequence)
                self.integer(index)
            case ir.Not(operand=operand):
                self._all("NOT", operand)
            case ir.Negate(operand=operand):
                self._all("SUBTRACT", ir.Number(0, ir.INT), operand)
            case ir.Binary(op=op, left=left, right=right):
                self._all(_ARITHMETIC[op], left, right)
            case ir.Compare():
                self._compare(node)
            case ir.OneOf(item=item, choices=choices):
                self._op("ONE_OF", len(choices))
                for part in (item, *choices):
                    self.integer(part)
            case ir.Logic(op=op, operands=operands):
                self._op({"and": "ALL", "or": "ANY"}[op], len(operands))
                for part in operands:
                    self.integer(part)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                self._all("SELECT", test, then, otherwise)
            case ir.Reduce(kind=kind, loop=loop, body=body):
                self._op("REDUCE", REDUCTIONS.index(kind))
                self._loop(loop, body)
            case ir.Call():
                self._call(node)
            case _:
                raise self._unsupported(SOURCE.print(node))

    def _number(self, value: int) -> None:
        if 0 <= value < SLOT - SMALL:
            self._byte(SMALL + value)
        else:
            self._op("NUMBER", *value.to_bytes(8, "little", signed=True))

    def _present(self, node: ir.Present) -> None:
        match node.item:
            case ir.Field(tensor=tensor, name=name):
                self._op("INSIDE")
                self._tensor(tensor)
                self._op("GIVEN")
                self._offset(f"DML_{TENSOR}", name)
            case ir.Tensor(index=index) if index is not None:
                self._op("GIVEN_ENTRY")
                self._tensor(node.item)
            case item:
                self._op("GIVEN")
                self._offset(self.operator.c_name, item.name)

    def _compare(self, node: ir.Compare) -> None:
        op, left, right = node.op, node.left, node.right
        if left.type == ir.INTS:
            if op == "!=":
                self._op("NOT")
            self._op("SAME")
            self._list(left)
            self._list(right)
        elif ir.FLOAT in (left.type, right.type):
            self._op(f"FLOAT_{_NUMBER[op]}")
            self._float(left)
            self._float(right)
        else:
            self._all(_NUMBER[op], left, right)

    def _call(self, node: ir.Call) -> None:
        match node:
            case ir.Call(function="len", arguments=(ir.Tensors(name=name),)):
                counted = self.operator.member[name].count
                self._scalar(self.operator.member[counted or ""], self.operator.c_name)
            case ir.Call(function="len", arguments=(ir.Member(name=name),)):
                self._op("COUNT")
                self._offset(self.operator.c_name, self.operator.member[name].count or "")
            case ir.Call(function="len" | "product" | "sum" as function, arguments=(item,)):
                self._op({"len": "LENGTH"}.get(function, function.upper()))
                self._list(item)
            case ir.Call(function=function, arguments=arguments) if function in _FUNCTIONS:
                self._all(_FUNCTIONS[function], *arguments)
            case _:
                raise self._unsupported(SOURCE.print(node))

    def _loop(self, loop: ir.Loop, body: ir.Expr) -> None:
        slot = self._slot()
        self._byte(slot)
        self.integer(loop.lower)
        self.integer(loop.upper)
        outer = dict(self._variables)
        self._variables[loop.variable.name] = slot
        with self._body():
            self.integer(_TRUE if loop.condition is None else loop.condition)
            self.integer(body)
        self._variables = outer
        self._taken -= 1

    def _all(self, operation: str, *operands: ir.Expr) -> None:
        self._op(operation)
        for operand in operands:
            self.integer(operand)

    # Fractions.

    def _float(self, node: ir.Expr) -> None:
        match node:
            case ir.Number(value=value):
                self._op("FLOAT_NUMBER", *struct.pack("<d", value))
            case ir.Definition(value=value):
                self._float(value)
            case ir.Member(name=name):
                self._scalar(self.operator.member[name], self.operator.c_name)
            case ir.Part(member=owner, name=name):
                self._part(owner, name)
            case ir.Index(sequence=ir.Member(name=name), index=index):
                self._op("FLOAT_ENTRY")
                self._counted(name)
                self.integer(index)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                self._op("FLOAT_SELECT")
                self.integer(test)
                self._float(then)
                self._float(otherwise)
            case _:
                raise self._unsupported(SOURCE.print(node))

    # Arrays.

    def _list(self, node: ir.Expr) -> None:
        match node:
            case ir.Definition(name=name):
                self._op("LIST", self._lists[name])
            case ir.Field(tensor=tensor, name=name):
                self._op(name.upper())
                self._tensor(tensor)
            case ir.Member(name=name):
                self._op(f"{self.operator.member[name].type}S")
                self._counted(name)
            case ir.Binary(op="+", left=left, right=right):
                self._op("JOIN")
                self._list(left)
                self._list(right)
            case ir.Slice(sequence=sequence, lower=lower, upper=upper):
                self._op("REST" if upper is None else "SLICE")
                self._list(sequence)
                self.integer(ir.Number(0, ir.INT) if lower is None else lower)
                if upper is not None:
                    self.integer(upper)
            case ir.ListOf(items=items):
                self._op("ITEMS", len(items))
                for item in items:
                    self.integer(item)
            case ir.Reduce(kind="list", loop=loop, body=body):
                self._op("EACH")
                self._loop(loop, body)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                self._op("CHOOSE")
                self.integer(test)
                self._list(then)
                self._list(otherwise)
            case ir.Call(function="align" | "replace" as function, arguments=(item, *others)):
                self._op(function.upper())
                self._list(item)
                for other in others:
                    self.integer(other)
            case _:
                raise self._unsupported(SOURCE.print(node))

    # Members.

    def _tensor(self, node: ir.Tensor) -> None:
        if node.index is None:
            self._offset(self.operator.c_name, node.name)
        else:
            self._byte(ENTRY)
            self._counted(node.name)
            self.integer(node.index)

    def _counted(self, name: str) -> None:
        """An array, and how many entries it has."""
        self._offset(self.operator.c_name, name)
        self._offset(self.operator.c_name, self.operator.member[name].count or "")

    def _part(self, owner: ir.Member, name: str) -> None:
        member = self.operator.member[owner.name]
        struct = self.registry.structs[member.type]
        part = next(one for one in struct.members if one.name == name)
        if member.pointer:
            self._op("THROUGH")
            self._offset(self.operator.c_name, owner.name)
            self._scalar(part, struct.c_name)
        else:
            self._scalar(part, self.operator.c_name, f"{owner.name}.{name}")

    def _scalar(self, member: Member, struct: str, path: str = "") -> None:
        """A member that is one number."""
        type_ = "UINT" if member.type in self.registry.enums else member.type
        if type_ not in _BY_TYPE:
            raise self._unsupported(f"{member.name}, a {type_}")
        self._op(_BY_TYPE[type_])
        self._offset(struct, path or member.name)

    def _offset(self, struct: str, path: str) -> None:
        self.code.append(f"DMLOPS_WORD({struct}, {path})")

    def _op(self, name: str, *operands: int) -> None:
        self._byte(OPERATIONS.index(name))
        for operand in operands:
            self._byte(operand)

    def _byte(self, value: int) -> None:
        if not 0 <= value <= 0xFF:
            raise self._unsupported("so large an expression")
        self.code.append(str(value))

    def _unsupported(self, what: str) -> SpecError:
        """The C output grows with the operators; this one is ahead of it."""
        return SpecError([Finding(self.position, "c-output", f"{self.owner}: {what} has no form in C yet")])


def _definitions(node: ir.Expr, found: dict[str, ir.Definition]) -> None:
    """The definitions that an expression uses, each after those that it uses itself."""
    if isinstance(node, ir.Definition):
        if node.name not in found:
            _definitions(node.value, found)
            if node.type != ir.FLOAT:
                found[node.name] = node
    else:
        for child in ir.children(node):
            _definitions(child, found)
