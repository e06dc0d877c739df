"""Planner inputs as byte programs: statements that set fields of a planner's record, or append to its lists.

A statement is an operation, the offset of a field in the record, and expressions; see `c_program`. The record
starts empty, so zeros and empty lists need no statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from dmlgen.expr import ir
from dmlgen.names import free
from dmlgen.outputs.c_program import Code, Program
from dmlgen.outputs.hlsl_names import word
from dmlgen.outputs.planner_inputs import PlannerInputs, innermost_first, shared
from dmlgen.plans.model import BOOL, ListOf, Record, Type
from dmlgen.registry import Operator, Registry

_STEPS = 5  # nodes of an expression that is worth a name
_KINDS = {"ints": "LIST", "floats": "FLOATS", "float": "FLOAT"}  # what is appended, by type, if not a number


class InputCode(Code):
    """The programs of an operator for its planner's record."""

    def __init__(self, registry: Registry, operator: Operator, record: Record, inputs: PlannerInputs) -> None:
        super().__init__(registry, operator)
        self.variables = ("index",)  # of the current tensor, if there is an array of them
        self.record = record
        self.inputs = inputs
        self.shared: dict[ir.Expr, ir.Expr] = {}
        self._share([*chain(*inputs.lists.values()), *inputs.values.values()])

    def _share(self, whole: Sequence[ir.Expr]) -> None:
        """Names what values have in common that takes several steps."""
        common = shared(whole)
        taken: set[str] = set()
        for part in (part for node in whole for part in innermost_first(node)):
            if part in common and part not in self.shared and _takes_steps(part):
                name = free(word(part), taken)
                taken.add(name)
                self.shared[part] = ir.Definition(name, ir.substitute(part, self.shared))

    def statements(self) -> int:
        """The start of the program of statements that fill the record."""
        program = InputProgram(self)
        program.write()
        return self.add("", program)


class InputProgram(Program):
    """Writes one of these programs."""

    code: InputCode

    def write(self) -> None:
        """The statements, and the end of all."""
        inputs = self.code.inputs
        for field, nodes in inputs.lists.items():
            for node in nodes:
                if field == "elements":
                    self._append_element(node, inputs.stores)
                else:
                    self._statement(f"APPEND_{_KINDS.get(node.type.kind, 'NUMBER')}", field, node)
        for path, node in inputs.values.items():
            self._set(path, node)
        if inputs.fused:
            assert self.operator is not None
            count = self.operator.member[inputs.fused].count
            number = ir.ONE if count is None else ir.Member(count, ir.INT)
            activations = ir.Member(inputs.fused, ir.Type("struct"))
            self._statement("APPEND_ACTIVATIONS", "activations", activations, number)
        self._op("DONE")
        self._end_line()

    def _set(self, path: str, node: ir.Expr) -> None:
        """Sets a field to a number, or to a list of numbers."""
        if node == ir.ListOf(()) or (isinstance(node, ir.Number) and node.value == 0):
            return
        type_ = _at(self.code.record, path)
        kind = "LIST" if isinstance(type_, ListOf) else "FLAG" if type_ == BOOL else "NUMBER"
        self._statement(f"SET_{kind}", path, node)

    def _append_element(self, node: ir.Expr, stored: bool) -> None:
        """Appends a number of a tensor's type: as it is computed, or as it is `stored`."""
        item = node.arguments[0] if isinstance(node, ir.Call) else node
        if item.type not in (ir.FLOAT, node.type):
            raise self._unsupported(f"a {item.type} as {node.type}")
        operation = "APPEND_CONVERTED" if item.type == ir.FLOAT else "APPEND_ELEMENT"
        member = self._member(node.type.name or "")
        tensor = ir.Tensor(member.name)
        type_ = ir.Field(tensor, "DataType", ir.INT) if member.is_tensor else ir.Member(member.name, ir.INT)
        self._statement(operation, "elements", item, int(stored), type_)

    def _statement(self, operation: str, path: str, value: ir.Expr, *operands: int | ir.Expr) -> None:
        """A statement about a field: its operands are bytes and numbers, followed by a value."""
        value = self._named(value)
        self._need([value, *(one for one in operands if not isinstance(one, int))])
        self._op(operation)
        self._put(f"DMLOPS_FIELD({self.code.record.name}, {path})", 2)
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

    def _named(self, node: ir.Expr) -> ir.Expr:
        """An expression in which names stand for what it shares with others."""
        return ir.substitute(node, self.code.shared) if self.code.shared else node


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
