"""Planner inputs as byte programs: statements that set fields of a planner's record, or append to its lists.

A statement is an operation, the offset of a field in the record, and expressions; see `c_program`. The record
starts empty, so zeros and empty lists need no statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from dmlgen.expr import ir
from dmlgen.names import free
from dmlgen.outputs.c_program import Name, Program
from dmlgen.outputs.c_rules import Code
from dmlgen.outputs.definition_inputs import Decision, Values, innermost_first, membership, plain, shared
from dmlgen.outputs.hlsl_names import word
from dmlgen.outputs.statements import indented
from dmlgen.plans.model import BOOL, ListOf, Record, Type
from dmlgen.registry import Member, Operator, Registry

_COORDINATE = 0  # the list with the coordinate whose target is wanted
_STEPS = 5  # nodes of an expression that is worth a name
_SKIP = 3  # bytes: the operation, and how many bytes it skips


class InputCode(Code):
    """The programs of an operator for a planner's record, and the names of the macros that they set."""

    def __init__(self, registry: Registry, operator: Operator, record: Record) -> None:
        super().__init__(registry, operator)
        self.record = record
        self.switches: list[str] = []
        self.shared: dict[ir.Expr, ir.Expr] = {}
        self.lists = _COORDINATE + 1

    def share(self, values: Iterable[ir.Expr]) -> None:
        """Names what values have in common that takes several steps."""
        whole = list(map(plain, values))
        common = shared(whole, whole)
        taken: set[str] = set()
        for part in (part for node in whole for part in innermost_first(node)):
            if part in common and part not in self.shared and _takes_steps(part):
                name = free(word(part), taken)
                taken.add(name)
                self.shared[part] = ir.Definition(name, ir.substitute(part, self.shared))

    def statements(self, write: Callable[[InputProgram], None]) -> int:
        """The start of a program of statements."""
        program = self._program()
        write(program)
        program.done()
        return self._add("", program)

    def _program(self) -> InputProgram:
        return InputProgram(self._registry, self.operator, self._name, self._fields, self._paths, self)


class InputProgram(Program):
    """Writes one of these programs. The first slot has the index of the current tensor, if there is an array
    of them."""

    def __init__(
        self,
        registry: Registry,
        operator: Operator | None,
        names: Callable[[ir.Definition], Name],
        fields: Mapping[str, Member],
        paths: Mapping[str, str],
        code: InputCode,
    ) -> None:
        super().__init__(registry, operator, names, fields, paths)
        self._code = code
        self._variables["index"] = self._slot()

    def set(self, path: str, node: ir.Expr) -> None:
        """Sets a field to a number, or to a list of numbers."""
        if node == ir.ListOf(()) or (isinstance(node, ir.Number) and node.value == 0):
            return
        if isinstance(node, ir.Conditional):
            then, otherwise = node.then, node.otherwise
            self.choose(node.test, lambda: self.set(path, then), lambda: self.set(path, otherwise))
            return
        type_ = _at(self._code.record, path)
        kind = "LIST" if isinstance(type_, ListOf) else "FLAG" if type_ == BOOL else "NUMBER"
        self.statement(f"SET_{kind}", path, node)

    def set_all(self, values: Values | Decision) -> None:
        """Sets fields, by their paths."""
        if isinstance(values, Decision):
            then, otherwise = values.then, values.otherwise
            self.choose(values.test, lambda: self.set_all(then), lambda: self.set_all(otherwise))
            return
        for path, node in values.items():
            self.set(path, node)

    def append_switch(self, name: str, node: ir.Expr) -> None:
        """Appends a macro; for an activation, one with its type."""
        if name not in self._code.switches:
            self._code.switches.append(name)
        place = self._code.switches.index(name)
        match node:
            case ir.Call(function="activation_type", arguments=(activation,)):
                self.statement("APPEND_ACTIVATION", "switches", activation, place)
            case _:
                self.statement("APPEND_SWITCH", "switches", node, place)

    def append_scalar(self, node: ir.Expr) -> None:
        """Appends an integer or a float; of an activation, one of its parameters."""
        match node:
            case ir.Call(function="activation_parameter", arguments=(activation, ir.Number(value=place))):
                self.statement("APPEND_PARAMETER", "scalars", activation, int(place))
            case _:
                operation = "APPEND_FLOAT" if node.type == ir.FLOAT else "APPEND_INTEGER"
                self.statement(operation, "scalars", node)

    def append_element(self, node: ir.Expr, stored: bool) -> None:
        """Appends a number of a tensor's type: as it is computed, or as it is `stored`."""
        item = node.arguments[0] if isinstance(node, ir.Call) else node
        if item.type not in (ir.FLOAT, node.type):
            raise self._unsupported(f"a {item.type} as {node.type}")
        operation = "APPEND_CONVERTED" if item.type == ir.FLOAT else "APPEND_ELEMENT"
        member = self._member(node.type.name or "")
        tensor = ir.Tensor(member.name)
        type_ = ir.Field(tensor, "DataType", ir.INT) if member.is_tensor else ir.Member(member.name, ir.INT)
        self.statement(operation, "elements", item, int(stored), type_)

    def statement(self, operation: str, path: str, value: ir.Expr, *operands: int | ir.Expr) -> None:
        """A statement about a field: its operands are bytes and numbers, followed by a value."""
        value = self._named(value)
        self._need([value, *(one for one in operands if not isinstance(one, int))])
        self._op(operation)
        self._put(f"DMLOPS_FIELD({self._code.record.name}, {path})", 2)
        for operand in operands:
            if isinstance(operand, int):
                self._byte(operand)
            else:
                self.integer(operand)
        match value.type.kind, value:
            case "ints", _:
                self._list(value)
            case "float", _:
                self._float(value)
            case "floats", ir.Member(name=name):
                self._counted(name)
            case (("element" | "struct"), ir.Member(name=name)):
                self._offset(name)
            case _:
                self.integer(value)
        self._end_line()

    def choose(
        self, test: ir.Expr, then: Callable[[], None], otherwise: Callable[[], None] = lambda: None
    ) -> None:
        """Statements that run if a test holds, and others that run if it does not."""
        test = self._named(test)
        self._need([test])
        if_true, true_size = self._block(then)
        if_false, false_size = self._block(otherwise)
        self._op("IF")
        self.integer(test)
        self._put(f"DMLOPS_TURN({true_size + (_SKIP if if_false else 0)})", 2)
        self._end_line()
        self.lines += indented(if_true)
        if if_false:
            self._op("SKIP")
            self._put(f"DMLOPS_TURN({false_size})", 2)
            self._end_line()
            self.lines += indented(if_false)
        self.size += true_size + false_size

    def append_kept(self, number: int, sizes: ir.Expr) -> None:
        """Appends the sizes of an intermediate tensor; if it is not needed, an empty list."""
        if_needed, size = self._block(lambda: self.statement("APPEND_LIST", "kept_sizes", sizes))
        self._op("APPEND_KEPT")
        self._put("DMLOPS_FIELD(Definition, kept_sizes)", 2)
        self._byte(number)
        self._put(f"DMLOPS_TURN({size})", 2)
        self._end_line()
        self.lines += indented(if_needed)
        self.size += size

    def done(self) -> None:
        """The end of all statements."""
        self._op("DONE")
        self._end_line()

    def _named(self, node: ir.Expr) -> ir.Expr:
        """An expression in which names stand for what it shares with others."""
        return ir.substitute(plain(node), self._code.shared) if self._code.shared else node

    def _block(self, write: Callable[[], None]) -> tuple[list[str], int]:
        """Statements, and the number of their bytes; names that they define are only known in them."""
        outer, needed = (self.lines, self.size), set(self._needed)
        self.lines, self.size = [], 0
        write()
        found = self.lines, self.size
        (self.lines, self.size), self._needed = outer, needed
        return found

    def integer(self, node: ir.Expr) -> None:
        found = membership(node)
        if found is None:
            super().integer(node)
        else:
            item, sequence = found
            self._op("HAS")
            self._list(sequence)
            self.integer(item)

    def _list(self, node: ir.Expr) -> None:
        if node == ir.AT:
            self._op("LIST", _COORDINATE)
        else:
            super()._list(node)

    def _call(self, node: ir.Call) -> None:
        match node:
            case ir.Call(function="normalize_index", arguments=(ir.Load(coordinate=coordinate), size)):
                self._op("FOLLOW")
                self._list(coordinate)
                self.integer(size)
            case _:
                super()._call(node)


def alternatives(values: Values | Decision | ir.Expr) -> Iterator[ir.Expr]:
    """The values of statements, and the tests that decide which of them run."""
    match values:
        case Decision(test=test, then=then, otherwise=otherwise) | ir.Conditional(test, then, otherwise):
            yield test
            yield from alternatives(then)
            yield from alternatives(otherwise)
        case Mapping():
            for value in values.values():
                yield from alternatives(value)
        case _:
            yield values


def _takes_steps(node: ir.Expr) -> bool:
    """Whether an expression takes longer to compute than to look up."""
    return node.type.kind in ("int", "bool", "ints") and sum(1 for _ in ir.walk(node)) > _STEPS


def _at(type_: Type, path: str) -> Type:
    """The type of a field of a record, or of records in it."""
    for name in path.split("."):
        field = type_.field(name) if isinstance(type_, Record) else None
        assert field is not None, path
        type_ = field.type
    return type_
