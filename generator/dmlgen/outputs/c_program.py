"""Expressions as byte programs, which an interpreter in the C header runs.

A program is the expression in prefix order: a byte for the operation, followed by its operands. It is
preceded by the names that it needs, whose definitions fill slots: each name has one definition for all
programs of an operator, which runs when a rule that applies first needs it. The condition of a rule is
preceded by its guards and loops, and followed by the values that its message shows. Since every expression
has a value for every description (an absent tensor reads as one without dimensions), both branches of a
choice are evaluated. Members are identified by their offsets in words of 4 bytes, which the C compiler fills
in.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.expr.functions import FUNCTIONS
from dmlgen.expr.printer import SOURCE
from dmlgen.message import SHOWN
from dmlgen.registry import Check, Member, Operator, Registry, Rule

TENSOR = "BUFFER_TENSOR_DESC"
WORD = 4  # bytes; offsets of members count words

OF_TWO = ("min", "max")  # functions that are operations like those on two numbers
OF_VALUES = {name: one for name, one in FUNCTIONS.items() if one.of_values and name not in OF_TWO}

# The meaning of a program's bytes: below SMALL an index into this list, from there on a small number, then a
# slot. NEED and WHEN, with which rules begin, come first. Those from ADD to GREATER_OR_EQUAL combine two
# numbers. Those from HAS on are of planner inputs; see `c_inputs`.
OPERATIONS = (
    *("NEED", "WHEN", "FOR", "LET", "LET_LIST"),
    *("NUMBER", "LEVEL", "UINT", "INT", "BOOL", "UINT64", "GIVEN", "THROUGH", "INSIDE"),
    *("RANK", "TYPE", "SIZE", "ENTRY", "LENGTH", "COUNT", "PRODUCT", "SUM", "SAME", "GIVEN_ENTRY"),
    *("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MODULO", "MIN", "MAX", "BIT_AND", "BIT_OR"),
    *("EQUAL", "NOT_EQUAL", "LESS", "LESS_OR_EQUAL", "GREATER", "GREATER_OR_EQUAL"),
    *("NOT", "ALL", "ANY", "ONE_OF", "SELECT", "REDUCE"),
    *map(str.upper, OF_VALUES),
    *("FLOAT_LESS", "FLOAT_LESS_OR_EQUAL", "FLOAT_GREATER", "FLOAT_GREATER_OR_EQUAL"),
    *("FLOAT_EQUAL", "FLOAT_NOT_EQUAL"),
    *("FLOAT", "FLOAT_ENTRY"),
    *("SIZES", "STRIDES", "UINTS", "INTS", "LIST"),
    *("JOIN", "SLICE", "REST", "ITEMS", "EACH", "CHOOSE", "ALIGN", "REPLACE"),
    "DONE",
    *("SET_NUMBER", "SET_FLAG", "SET_LIST", "APPEND_NUMBER", "APPEND_FLOAT", "APPEND_LIST", "APPEND_FLOATS"),
    *("APPEND_CONVERTED", "APPEND_ELEMENT", "APPEND_ACTIVATIONS"),
)
SMALL, SLOT = 0x80, 0xC0
SLOTS, LOOP_SLOTS = 0x100 - SLOT, 16  # for integers; the first ones are for the variables of loops
REDUCTIONS = ("all", "any", "sum", "product", "min", "max")
ITSELF, ENTRY = 0xFE, 0xFF  # instead of a tensor's offset: the tensor being checked, or one of an array
AS_GIVEN = -(1 << 63)  # programs never compute it: their values end at -(2^63 - 1)
_WIDTH = 112  # columns of a line

_NUMBER = {"==": "EQUAL", "!=": "NOT_EQUAL", "<": "LESS", "<=": "LESS_OR_EQUAL", ">": "GREATER"} | {
    ">=": "GREATER_OR_EQUAL"
}
_ARITHMETIC = {"+": "ADD", "-": "SUBTRACT", "*": "MULTIPLY", "//": "DIVIDE", "%": "MODULO"} | {
    "&": "BIT_AND",
    "|": "BIT_OR",
}
_SCALARS = ("UINT", "INT", "BOOL", "UINT64", "FLOAT")


@dataclass(frozen=True)
class Name:
    """A name that programs of an operator use: its number, its slot, and where its definition starts."""

    number: int
    slot: int
    start: int


@dataclass(frozen=True)
class ProgramView:
    """A program: its description, as a comment, and the lines of its bytes."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class CheckView:
    """A line of a rule: the member or field that it reports, its message, the start of its program."""

    rule: Rule
    member: str
    format: str
    start: int


class Code:
    """The programs of an operator, or those for any tensor, concatenated; see `Program`.

    `fields` are those of a tensor, and `paths` the conversions for the paths of tensors in messages, if there
    is not only one. `variables` have the first slots: a program for a tensor gets whether the operator reads
    it.
    """

    def __init__(
        self,
        registry: Registry,
        operator: Operator | None,
        fields: Mapping[str, Member] | None = None,
        paths: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.registry = registry
        self.operator = operator
        self.fields = fields or {member.name: member for member in registry.structs[TENSOR].members}
        self.paths = paths
        self.variables: tuple[str, ...] = () if operator else ("is_input",)
        self.programs: list[ProgramView] = []
        self.lists = 0  # that names denote
        self._names: dict[ir.Definition, Name] = {}
        self._numbered = 0
        self._end = 0

    def check(self, rule: Rule, check: Check) -> CheckView:
        """The line of a check."""
        program = Program(self)
        format_ = program.check(rule, check)
        start = self.add(f"{rule.id}: {SOURCE.print(check.condition)}", program)
        return CheckView(rule, check.member, format_, start)

    def value(self, title: str, value: ir.Expr) -> int:
        """The start of an expression's program."""
        program = Program(self)
        program.value(value)
        return self.add(f"{title}: {SOURCE.print(value)}", program)

    def data(self, title: str, code: Sequence[str]) -> int:
        """The start of bytes that are not a program."""
        return self._append(ProgramView(title, tuple(filled(code))), len(code))

    def name(self, definition: ir.Definition) -> Name:
        """A name, which is compiled when it is first used."""
        if definition not in self._names:
            number = self._numbered
            self._numbered += 1
            slot = LOOP_SLOTS + number
            if definition.type == ir.INTS:
                slot = self.lists
                self.lists += 1
            program = Program(self)
            program.define(definition, slot)
            start = self.add(f"{definition.name}: {SOURCE.print(definition.value)}", program)
            self._names[definition] = Name(number, slot, start)
        return self._names[definition]

    def add(self, title: str, program: Program) -> int:
        """The start of a program."""
        return self._append(ProgramView(title, tuple(program.lines)), program.size)

    def _append(self, view: ProgramView, size: int) -> int:
        start = self._end
        self.programs.append(view)
        self._end += size
        return start


class Program:
    """Writes one of the programs of a code. `lines` are its text, `size` the number of its bytes."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.registry = code.registry
        self.operator = code.operator
        self.lines: list[str] = []
        self.size = 0
        self._line: list[str] = []
        self._depth = 0
        owner = code.operator or code.registry.tensor.rules[0]
        self._position = owner.position
        self._owner = "a tensor" if code.operator is None else code.operator.name
        self._variables: dict[str, int] = {}
        self._needed: set[int] = set()
        self._taken = 0  # slots for variables of loops
        for name in code.variables:
            self._variables[name] = self._slot()

    def check(self, rule: Rule, check: Check) -> str:
        """Compiles a check; returns the format of its message, in which %v is replaced by the next value.

        A place with indices precedes it, with %| between. The hint follows %?, at which the message ends
        unless the next value is true.
        """
        self._position, self._owner = rule.position, rule.id
        guards = [*_levels(rule), *([] if check.guard is None else [check.guard])]
        if guards:
            self._need(guards)
            self._when(guards[0] if len(guards) == 1 else ir.Logic("and", tuple(guards)))
        loops = [part for loop in check.loops for part in ir.children(loop)]
        self._need([*loops, check.condition, *check.shown])
        for self._depth, loop in enumerate(check.loops, 1):
            self._for("FOR", loop)
            self._end_line(self._depth - 1)
            if loop.condition is not None:
                self._when(loop.condition)
        self.integer(check.condition)
        self._end_line(self._depth)
        self._depth = 0
        place = "" if check.place == (check.member,) else f"{self._message(check.place)}%|"
        format_ = place + self._message(check.message)
        if check.hint is not None:
            self.integer(check.hint.when)
            self._end_line()
            format_ += "%?" + self._message(check.hint.message)
        return format_

    def define(self, definition: ir.Definition, slot: int) -> None:
        """Compiles the definition of a name."""
        value = definition.value
        self._need([value])
        self._op("LET_LIST" if value.type == ir.INTS else "LET")
        self._put(f"{slot} /* {definition.name} */")
        (self._list if value.type == ir.INTS else self.integer)(value)
        self._end_line()

    def value(self, node: ir.Expr) -> None:
        """Compiles an expression: a number, or the entries of an array."""
        self._need([node])
        (self._list if node.type == ir.INTS else self.integer)(node)
        self._end_line()

    def _when(self, condition: ir.Expr) -> None:
        self._op("WHEN")
        self.integer(condition)
        self._end_line(self._depth)

    def _message(self, parts: Iterable[str | ir.Expr]) -> str:
        format_ = ""
        for part in parts:
            if isinstance(part, str):
                format_ += part.replace("%", "%%")
            elif isinstance(part, ir.Tensor):
                format_ += self.code.paths.get(part.name, "%p")
            else:
                format_ += "%v"
                self._value(part)
                self._end_line()
        return format_

    def _value(self, node: ir.Expr) -> None:
        kind = node.type.kind
        if kind not in SHOWN or (kind == "enum" and node.type.name not in self.registry.enums):
            raise self._unsupported(f"a {node.type} in a message")
        self._put(f"DMLOPS_SHOW_{kind.upper()}")
        if kind == "enum":
            self._put(f"DMLOPS_ENUM_{node.type.name}")
        {"float": self._float, "ints": self._list}.get(kind, self.integer)(node)

    # Text: every operation, operand and byte is named.

    def _op(self, name: str, *operands: int) -> None:
        self._put(f"DMLOPS_{name}")
        for operand in operands:
            self._byte(operand)

    def _byte(self, value: int) -> None:
        if not 0 <= value <= 0xFF:
            raise self._unsupported("so large an expression")
        self._put(str(value))

    def _put(self, text: str, size: int = 1) -> None:
        self._line.append(text)
        self.size += size

    def _end_line(self, depth: int = 0) -> None:
        self.lines += filled(self._line, depth)
        self._line = []

    # Names and variables.

    def _need(self, parts: Iterable[ir.Expr]) -> None:
        """Makes sure that the names that expressions use are defined."""
        for definition in (one for part in parts for one in _definitions(part)):
            name = self.code.name(definition)
            if name.number >= SLOTS - LOOP_SLOTS:
                raise self._unsupported("so many names")
            if name.number not in self._needed:
                self._needed.add(name.number)
                self._op("NEED", name.number)
                self._put(f"DMLOPS_PLACE({name.start}) /* {definition.name} */", 2)
                self._end_line()

    def _slot(self) -> int:
        """A slot of a loop's variable."""
        self._taken += 1
        if self._taken > LOOP_SLOTS:
            raise self._unsupported("so many loops")
        return self._taken - 1

    def _for(self, operation: str, loop: ir.Loop, *operands: str) -> None:
        """A loop header, up to its bounds; what follows can use its variable."""
        slot, name = self._slot(), loop.variable.name
        self._op(operation)
        for operand in operands:
            self._put(operand)
        self._put(f"{slot} /* {name} */")
        self.integer(loop.lower)
        self.integer(loop.upper)
        self._variables[name] = slot

    def _turns(self, operation: str, loop: ir.Loop, body: ir.Expr, *operands: str) -> None:
        """A loop inside an expression: its body is preceded by the body's length."""
        outer = dict(self._variables)
        self._for(operation, loop, *operands)
        place, start = len(self._line), self.size
        if loop.condition is not None:
            self._op("WHEN")
            self.integer(loop.condition)
        self.integer(body)
        self._line.insert(place, f"DMLOPS_TURN({self.size - start})")
        self.size += 2
        self._variables = outer
        self._taken -= 1

    # Numbers.

    def integer(self, node: ir.Expr) -> None:
        """An integer, boolean or enumerator."""
        match node:
            case ir.Number(value=value):
                self._number(int(value))
            case ir.EnumValue(name=name, value=value) | ir.Constant(name=name, value=value):
                self._number(value, name)
            case ir.Local(name=""):
                self._op("LEVEL")
            case ir.Definition(name=name):
                self._put(f"DMLOPS_SLOT({self.code.name(node).slot}) /* {name} */")
            case ir.Local(name=name) | ir.Member(name=name) if name in self._variables:
                self._put(f"DMLOPS_SLOT({self._variables[name]}) /* {name} */")
            case ir.Member() | ir.Part() | ir.Field() | ir.Present() | ir.Index():
                self._read(node)
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
                if kind not in REDUCTIONS:
                    raise self._unsupported(SOURCE.print(node))
                self._turns("REDUCE", loop, body, f"DMLOPS_OVER_{kind.upper()}")
            case ir.Call():
                self._call(node)
            case _:
                raise self._unsupported(SOURCE.print(node))

    def _read(self, node: ir.Member | ir.Part | ir.Field | ir.Present | ir.Index) -> None:
        """A value from the description."""
        match node:
            case ir.Member(name=name):
                self._scalar(self._member(name))
            case ir.Part(member=owner, name=name):
                self._part(owner, name)
            case ir.Field(tensor=ir.Tensor(name=""), name=name):
                self._scalar(self.code.fields[name])
            case ir.Field(tensor=tensor, name="DimensionCount"):
                self._op("RANK")
                self._tensor(tensor)
            case ir.Field(tensor=tensor, name="DataType"):
                self._op("TYPE")
                self._tensor(tensor)
            case ir.Field(tensor=tensor, name=name):
                self._op("INSIDE")
                self._tensor(tensor)
                self._scalar(self.code.fields[name], f"DML_{TENSOR}")
            case ir.Present():
                self._present(node)
            case ir.Index(sequence=ir.Field(tensor=tensor, name="Sizes"), index=index):
                self._op("SIZE")
                self._tensor(tensor)
                self.integer(index)
            case ir.Index(sequence=ir.Member(name=name, type=ir.FLOATS), index=index):
                self._op("FLOAT_ENTRY")
                self._counted(name)
                self.integer(index)
            case ir.Index(sequence=sequence, index=index):
                self._op("ENTRY")
                self._list(sequence)
                self.integer(index)

    def _number(self, value: int, name: str = "") -> None:
        comment = f" /* {name} */" if name else ""
        if 0 <= value < SLOT - SMALL:
            self._put(f"DMLOPS_SMALL({value}){comment}")
        elif value == AS_GIVEN:  # C has no literal for it
            self._op("NUMBER")
            self._put(f"DMLOPS_BYTES({name})", 8)
        else:
            self._op("NUMBER")
            self._put(f"DMLOPS_BYTES({value}){comment}", 8)

    def _present(self, node: ir.Present) -> None:
        match node.item:
            case ir.Field(tensor=ir.Tensor(name=""), name=name):
                self._op("GIVEN")
                self._offset(name)
            case ir.Field(tensor=tensor, name=name):
                self._op("INSIDE")
                self._tensor(tensor)
                self._op("GIVEN")
                self._offset(name, f"DML_{TENSOR}")
            case ir.Tensor(index=index) if index is not None:
                self._op("GIVEN_ENTRY")
                self._tensor(node.item)
            case item:
                self._op("GIVEN")
                self._offset(item.name)

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
                self._scalar(self._member(self._member(name).count or ""))
            case ir.Call(function="len", arguments=(ir.Member(name=name),)):
                self._op("COUNT")
                self._offset(self._member(name).count or "")
            case ir.Call(function="len" | "product" | "sum" as function, arguments=(item,)):
                self._op({"len": "LENGTH"}.get(function, function.upper()))
                self._list(item)
            case ir.Call(function=function, arguments=arguments) if function in (*OF_TWO, *OF_VALUES):
                self._all(function.upper(), *arguments)
            case _:
                raise self._unsupported(SOURCE.print(node))

    def _all(self, operation: str, *operands: ir.Expr) -> None:
        self._op(operation)
        for operand in operands:
            self.integer(operand)

    # Fractions.

    def _float(self, node: ir.Expr) -> None:
        """A fraction, also for an integer: a number with the bits of a double."""
        match node:
            case ir.Number(value=value):
                self._op("NUMBER")
                (bits,) = struct.unpack("<Q", struct.pack("<d", value))
                self._put(f"DMLOPS_BYTES({bits:#x}) /* {value!r} */", 8)
            case ir.Definition(value=value):
                self._float(value)
            case ir.Conditional(test=test, then=then, otherwise=otherwise):
                self._all("SELECT", test)
                self._float(then)
                self._float(otherwise)
            case _:
                self.integer(node)

    # Arrays.

    def _list(self, node: ir.Expr) -> None:
        match node:
            case ir.Definition():
                self._op("LIST", self.code.name(node).slot)
            case ir.Field(tensor=tensor, name=name):
                self._op(name.upper())
                self._tensor(tensor)
            case ir.Member(name=name):
                self._op(f"{self._member(name).type}S")
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
                self._turns("EACH", loop, body)
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

    def _member(self, name: str) -> Member:
        if self.operator is None:
            raise self._unsupported(name)
        return self.operator.member[name]

    def _tensor(self, node: ir.Tensor) -> None:
        if not node.name:
            self._put("DMLOPS_ITSELF")
        elif node.index is None:
            self._offset(node.name)
        else:
            self._put("DMLOPS_ENTRY_OF")
            self._counted(node.name)
            self.integer(node.index)

    def _counted(self, name: str) -> None:
        """An array, and the number of its entries."""
        self._offset(name)
        self._offset(self._member(name).count or "")

    def _part(self, owner: ir.Member, name: str) -> None:
        member = self._member(owner.name)
        struct = self.registry.structs[member.type]
        part = next(one for one in struct.members if one.name == name)
        if member.pointer:
            self._op("THROUGH")
            self._offset(owner.name)
            self._scalar(part, struct.c_name)
        else:
            self._scalar(part, path=f"{owner.name}.{name}")

    def _scalar(self, member: Member, struct: str = "", path: str = "") -> None:
        """A member that is one number."""
        type_ = "UINT" if member.type in self.registry.enums else member.type
        if type_ not in _SCALARS:
            raise self._unsupported(f"{member.name}, a {type_}")
        self._op(type_)
        self._offset(path or member.name, struct)

    def _offset(self, path: str, struct: str = "") -> None:
        """The offset of a member in what the program checks, unless a struct is named."""
        self._put(f"DMLOPS_WORD({struct}, {path})" if struct else f"DMLOPS_AT({path})")

    def _unsupported(self, what: str) -> SpecError:
        """The C output does not support this operator yet."""
        return SpecError([Finding(self._position, "c-output", f"{self._owner}: {what} has no form in C yet")])


def filled(texts: Iterable[str], depth: int = 0) -> list[str]:
    """Bytes as lines of an initializer, broken as needed."""
    lines, line = list[str](), "    " * depth
    for text in texts:
        if line.strip() and len(line) + len(text) >= _WIDTH:
            lines.append(line.rstrip())
            line = "    " * (depth + 1)
        line += f"{text}, "
    return [*lines, line.rstrip()]


def _levels(rule: Rule) -> Iterator[ir.Expr]:
    """The feature levels at which a rule holds, as conditions."""
    level = ir.Local("", ir.INT)
    if rule.since.ordinal:
        yield ir.Compare(">=", level, ir.Number(rule.since.value, ir.INT))
    if rule.until is not None:
        yield ir.Compare("<", level, ir.Number(rule.until.value, ir.INT))


def _definitions(node: ir.Expr) -> Iterator[ir.Definition]:
    """The definitions that an expression uses itself; fractions are evaluated in place."""
    if isinstance(node, ir.Definition) and node.type != ir.FLOAT:
        yield node
    else:
        for child in ir.children(node):
            yield from _definitions(child)
