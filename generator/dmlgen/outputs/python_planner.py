"""Planner inputs in Python: a module for every operator that has a shader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmlgen.analysis.definition_bounds import DefinitionBounds, Valid
from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.names import free, python_variable
from dmlgen.outputs.hlsl_names import word
from dmlgen.outputs.parts import merged, parts
from dmlgen.outputs.planner_inputs import (
    VARIABLES,
    PlannerInputs,
    PlannerTensor,
    innermost_first,
    planner_inputs,
    shared,
)
from dmlgen.outputs.python_printer import ValidPrinter
from dmlgen.outputs.python_rules import Assignments, assignments_of, constants_of
from dmlgen.outputs.render import Templates
from dmlgen.plans.model import BOOL, Plans, Record, Type, package_plans
from dmlgen.registry import Definition, Operator, Registry

_OWN = {"bits", "desc", "enums", "f", "index", "limited", "pair", "stored", "tensors"}
"""Names in a module besides those of functions and of computed values."""


@dataclass(frozen=True)
class FunctionView:
    """A function of the description, of a coordinate or of symbols: its variables, and its value."""

    assignments: Assignments
    value: str


@dataclass(frozen=True)
class PlannerView:
    """The module of an operator: what is the same for all descriptions, and what depends on one.

    `options` are fields of the package's `Planner`, by name.
    """

    inputs: PlannerInputs
    imports: Mapping[str, Sequence[str]]  # by the planners' module that defines them
    static: Record  # the type of its constants
    operands: tuple[str, ...]
    constants: Assignments
    assignments: Assignments
    fields: Mapping[str, str]
    element: FunctionView | None
    options: Mapping[str, str]


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The modules, by path below generated/."""

    def module(near: Registry, operator: Operator) -> dict[str, bytes]:
        if operator.defines is None and operator.algorithm is None:
            return {}
        view = _view(near, operator, package_plans())
        text = templates.render("python/dmlops/planners/planner.py.j2", operator=operator, view=view)
        return {f"python/dmlops/planners/{operator.slug}.py": text}

    return merged(parts("planners", registry, templates.memory, module))


def _view(registry: Registry, operator: Operator, plans: Plans) -> PlannerView:
    inputs = planner_inputs(registry, operator, plans)
    entries = {
        field: {f"{field}[{number}]": node for number, node in enumerate(nodes)}
        for field, nodes in inputs.lists.items()
    }
    nodes = {path: node for one in entries.values() for path, node in one.items()} | dict(inputs.values)
    printer = InputPrinter(registry, operator, nodes)
    functions = FunctionPrinter(registry, operator)
    element = None if inputs.element is None else functions.function(inputs.element)
    texts = {one.field: f"tensors[{number}]" for number, one in enumerate(inputs.tensors)}
    texts |= {"tensors": "tensors"} | printer.texts | _lists(printer, inputs, entries)
    record = plans.record(inputs.record)
    fields = {one.name: _value(one.type, one.name, texts, nodes) for one in record.fields}
    imports = {"operands": ["NONE"]}  # what is not used is left out
    for name in (*sorted(one.name for one in plans.records), f"plan_{inputs.planner}"):
        imports.setdefault(plans.home[name], []).append(name)
    options = {
        "shader": "SHADER" if inputs.static else "",
        "fused": f'"{inputs.fused}"' if inputs.fused else "",
        "each": f'"{inputs.each}"' if inputs.each else "",
        "constants": "CONSTANTS" if inputs.constants else "",
        "element": "element" if element is not None else "",
    }
    return PlannerView(
        inputs=inputs,
        imports=dict(sorted(imports.items())),
        static=plans.record("DefinitionShader"),
        operands=tuple(_operand(operator, one) for one in inputs.tensors),
        constants=constants_of(printer, functions),
        assignments=tuple(printer.assignments),
        fields={name: text for name, text in fields.items() if text},
        element=element,
        options={name: text for name, text in options.items() if text},
    )


def _lists(
    printer: InputPrinter, inputs: PlannerInputs, entries: Mapping[str, Mapping[str, ir.Expr]]
) -> dict[str, str]:
    """The fields that are lists of what depends on the description, by name."""

    def text(field: str, path: str, node: ir.Expr) -> str:
        text = printer.texts[path]
        match field:
            case "elements" if inputs.stores:
                return f"*pair(stored({text}, {printer.data_type(node.type)}))"
            case "elements":
                return f"*pair({text})"
            case "kept_sizes" | "lists":
                items = f"[bits(entry) for entry in {text}]" if node.type == ir.FLOATS else text
                return f"limited({items})"
        match node.type.kind:
            case "bool":  # any integer, as 0 or 1
                return f"1 if {text} else 0"
            case "float":
                return f"bits({text})"
            case "enum":
                return f"int({text})"
        return text

    found = {
        field: f"[{', '.join(text(field, path, node) for path, node in of_field.items())}]"
        for field, of_field in entries.items()
        if of_field
    }
    if inputs.fused:
        found["activations"] = f"activations(desc.{inputs.fused}, SHADER.activations)"
    return found


def _value(type_: Type, path: str, texts: Mapping[str, str], nodes: Mapping[str, ir.Expr]) -> str:
    """The value at a path, a record with those of its fields; "" if it is the default."""
    if path in texts and type_ == BOOL and isinstance(nodes[path], ir.Member):  # any integer
        return f"bool({texts[path]})"
    if path in texts or not isinstance(type_, Record):
        return texts.get(path, "")
    fields = {one.name: _value(one.type, f"{path}.{one.name}", texts, nodes) for one in type_.fields}
    given = [f"{name}={text}" for name, text in fields.items() if text]
    return f"{type_.name}({', '.join(given)})" if given else ""


def _operand(operator: Operator, one: PlannerTensor) -> str:
    entry = "NONE" if one.node.place is None else str(one.node.place)
    texts = {
        "entry": "" if operator.member[one.node.name].count is None else entry,
        "as_bits": "True" if one.as_bits else "",
        "is_held": "True" if one.is_held else "",
    }
    given = (f"{name}={text}" for name, text in texts.items() if text)
    return ", ".join([f'Operand("{one.node.name}"', f'"{one.macro}"', *given]) + ")"


class FunctionPrinter(ValidPrinter):
    """Prints values of elements and coordinates, too; nothing needs a guard."""

    operator: Operator
    bounds_type: type[DefinitionBounds] = Valid

    def function(self, node: ir.Expr) -> FunctionView:
        """A function that returns a value, after the definitions that it uses."""
        known = dict.fromkeys(part for part in innermost_first(node) if isinstance(part, ir.Definition))
        _check_names(self.operator, (*self.operator.definitions, *known))
        return FunctionView(assignments_of(self, known), self.print(node))

    def field(self, node: ir.Field) -> str:
        return f"{self.tensor(node.tensor)}.{node.name}"

    def load(self, node: ir.Load) -> str:
        number = f", {self.print(node.tensor.index)}" if node.tensor.index is not None else ""
        return f'load("{node.tensor.name}", {self.print(node.coordinate)}{number})'

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="element", arguments=(item,)):
                return f"f.convert({self.print(item)}, {self.data_type(node.type)})"
            case ir.Call(function="convert", arguments=(item, ir.Tensor() as tensor)):
                return f"f.convert({self.print(item)}, {self.tensor(tensor)}.DataType)"
            case ir.Call(function="apply_activation", arguments=(item, activation)):
                return f"({self.print(item)} if {self.print(activation)} is None else None)"
        return super().call(node)


def _check_names(operator: Operator, definitions: Iterable[Definition | ir.Definition]) -> None:
    """Raises SpecError if two names would be the same variable."""
    named: dict[str, str] = {}
    for one in definitions:
        variable = python_variable(one.name)
        other = named.setdefault(variable, one.name)
        if other != one.name:
            message = f"{one.name} and {other} would both be {variable} in an output; rename one"
            raise SpecError([Finding(operator.position, "name-clash", message)])


class InputPrinter(FunctionPrinter):
    """Prints expressions over a description whose optional tensors may be absent: `texts`, by name.

    Common subexpressions that at least one of them always needs are computed once, in the order of
    `assignments`, and so are sizes.
    """

    bounds_type = DefinitionBounds

    def __init__(self, registry: Registry, operator: Operator, nodes: Mapping[str, ir.Expr]) -> None:
        super().__init__(registry, operator)
        self.assignments: list[tuple[str, str]] = []
        self._names: dict[ir.Expr, str] = {}
        common = shared(nodes.values(), _parts)
        taken = {*_OWN, *VARIABLES, "inputs", "tensors_of"}
        for node in nodes.values():
            for part in innermost_first(node, _parts):
                if part in common and part not in self._names:
                    name = free(python_variable(word(part)), taken)
                    taken.add(name)
                    text = self.print(part)
                    self._names[part] = name
                    self.assignments.append((name, text))
        self.texts = {name: self.print(node) for name, node in nodes.items()}

    def exact(self, node: ir.Expr, outer: int = 0) -> str:
        return self._names.get(node) or super().exact(node, outer)

    def field(self, node: ir.Field) -> str:
        text = self.tensor(node.tensor)
        if node.name == "DimensionCount":
            return f"len({self.print(ir.Field(node.tensor, 'Sizes', ir.INTS))})"
        if node.name == "Sizes" and self.operator.member[node.tensor.name].optional:
            return f"sizes_of({text})"
        return f"{text}.{node.name}"

    def compare(self, node: ir.Compare) -> tuple[str, int]:
        if isinstance(node.left, ir.Number) and not isinstance(node.right, ir.Number):
            return super().compare(ir.Compare(ir.FLIPPED[node.op], node.right, node.left))
        return super().compare(node)


def _parts(node: ir.Expr) -> list[ir.Expr]:
    """The parts that are printed for an expression: a dimension count is the length of sizes."""
    if isinstance(node, ir.Field) and node.name == "DimensionCount":
        return [ir.Field(node.tensor, "Sizes", ir.INTS)]
    return ir.children(node)
