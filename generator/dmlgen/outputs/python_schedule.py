"""Planner inputs of operators with a schedule, and algorithms, in Python: a module for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dmlgen.analysis.definition_bounds import Valid
from dmlgen.diagnostics import Finding, SpecError
from dmlgen.expr import ir
from dmlgen.expr.bits import is_made_of_bits, tensors_of_bits
from dmlgen.names import pascal, python_variable
from dmlgen.outputs.hlsl_map import map_text
from dmlgen.outputs.hlsl_names import macro, plain
from dmlgen.outputs.parts import merged, parts
from dmlgen.outputs.python_printer import PythonPrinter, ValidPrinter
from dmlgen.outputs.python_rules import Assignments, assignments_of, constants_of, used_definitions
from dmlgen.outputs.reads import loads, tensors_read, widened
from dmlgen.outputs.render import Templates
from dmlgen.registry import Definition, Operator, Registry
from dmlgen.schedules import schedule_of
from dmlgen.schedules.aligned import blocked, is_aligned, single
from dmlgen.schedules.elementwise import is_symbolic
from dmlgen.schedules.schedule import Schedule


@dataclass(frozen=True)
class FunctionView:
    """A function of the description, of a coordinate or of symbols: its variables, and its value."""

    assignments: Assignments
    value: str


def render(registry: Registry, templates: Templates) -> dict[str, bytes]:
    """The modules, by path below generated/."""

    def module(near: Registry, operator: Operator) -> dict[str, bytes]:
        schedule = schedule_of(near, operator)
        if schedule is None:
            return {}
        view = _view(near, operator, schedule)
        text = templates.render("python/dmlops/planners/schedule.py.j2", compute=view)
        folder = "planners" if operator.algorithm is None else "compute"
        return {f"python/dmlops/{folder}/{operator.slug}.py": text}

    return merged(parts("schedule", registry, templates.memory, module))


def moves(schedule: Schedule) -> tuple[str, ...]:
    """The tensors whose elements are copied unchanged, so that only the size of their type matters.

    None if an element of their type also decides something: in a condition, or as an index.
    """
    if schedule.value is None or not _copies(schedule.value):
        return ()
    place = [] if schedule.place is None else [schedule.place]
    type_ = schedule.value.type
    if any(load.type == type_ for load in loads([*_deciding(schedule.value), *place])):
        return ()
    moved = [load.tensor.name for load in loads([schedule.value]) if load.type == type_]
    return tuple(dict.fromkeys([*moved, schedule.output]))


def bits(operator: Operator, schedule: Schedule) -> tuple[str, ...]:
    """The tensors whose elements are used as raw bits."""
    of_bits = tensors_of_bits(schedule.expressions)
    inputs = [name for name in tensors_read(operator, schedule.expressions) if name in of_bits]
    stores = schedule.value is not None and is_made_of_bits(schedule.value)
    return (*inputs, schedule.output) if stores else tuple(inputs)


@dataclass(frozen=True)
class MapOperands:
    """The tensors of a map, as planners take them: those that it reads, then the output. It is computed for
    each coordinate of the one numbered `over`. The others are bit masks: those of which a map that
    `is_aligned` reads the `single` first element, or, `blocked`, one for a block of the output's, and those
    whose elements are raw bits."""

    tensors: tuple[ir.Tensor, ...]
    over: int
    is_aligned: bool
    single: int
    blocked: int
    as_bits: int


def map_operands(operator: Operator, schedule: Schedule) -> MapOperands:
    entries = [*tensors_read(operator, schedule.expressions), schedule.output]
    tensors = tuple(map(ir.Tensor.of, entries))
    raw = {*moves(schedule), *bits(operator, schedule)}
    of_first, of_blocks = (
        sum(1 << entries.index(one) for one in some) for some in (single(schedule), blocked(schedule))
    )
    return MapOperands(
        tensors=tensors,
        over=entries.index(schedule.over),
        is_aligned=schedule.form == "map" and is_aligned(schedule),
        single=of_first,
        blocked=of_blocks,
        as_bits=sum(1 << number for number, one in enumerate(tensors) if one.name in raw),
    )


def _copies(node: ir.Expr) -> bool:
    match node:
        case ir.Definition(value=value):
            return _copies(value)
        case ir.Conditional(then=then, otherwise=otherwise):
            return _copies(then) and _copies(otherwise)
        case ir.Call(function="element", arguments=(ir.Number(value=value),)):
            return value == 0  # it has the same bits in every type
        case _:
            return node.type.kind == "element" and (isinstance(node, ir.Load) or not ir.varies(node))


def _deciding(node: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of a copied value that select the element."""
    match node:
        case ir.Definition(value=value):
            yield from _deciding(value)
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            yield test
            yield from _deciding(then)
            yield from _deciding(otherwise)
        case ir.Load(coordinate=coordinate):
            yield coordinate


def _view(registry: Registry, operator: Operator, schedule: Schedule) -> dict[str, object]:
    """The content of a module.

    It is `numbered` if there is an array of tensors, each of which is computed in turn. `widened` are tensors
    whose integers are computed in double precision, as bits; `inputs` the tensors that it reads, and `macros`
    those among its roles, with the macros of the shader.
    """
    printer = SchedulePrinter(registry, operator)
    definitions = (*operator.definitions, *schedule.definitions)
    _check_names(operator, definitions)

    def function(node: ir.Expr) -> FunctionView:
        assignments, value = _assigned(printer, definitions, [node]), printer.print(node)
        if assignments and value == assignments[-1][0]:  # which needs no name then
            return FunctionView(assignments[:-1], assignments[-1][1])
        return FunctionView(assignments, value)

    element = function(schedule.value) if schedule.value is not None and is_symbolic(schedule.value) else None
    where = None if schedule.place is None else function(schedule.place)
    # Shaders of other forms are given their roles.
    groups = map_text(registry, operator, schedule).given if schedule.form == "map" else {}
    uniforms = {
        kind: tuple((name, printer.print(node)) for name, node in group.items())
        for kind, group in groups.items()
    }
    uniform = [node for group in groups.values() for node in group.values()]
    operands = map_operands(operator, schedule)
    of_doubles = widened(schedule, [one.entry for one in operands.tensors[:-1]])
    roles = tuple(
        (name, f'"{node.name}"' if isinstance(node, ir.Tensor | ir.Tensors) else printer.print(node))
        for name, node in schedule.roles.items()
    )
    return {
        "operator": operator,
        "is_map": schedule.form == "map",
        "schedule": schedule,
        "computation": pascal(schedule.form.upper()),
        "numbered": operator.member[schedule.over].count is not None,
        "element": element,
        "target": where,
        "uniforms": uniforms,
        "uniform_assignments": _assigned(printer, definitions, uniform),
        "widened": "" if of_doubles == ir.ZERO else printer.print(of_doubles),
        "moves": moves(schedule),
        "operands": operands,
        "macro": lambda tensor: macro(plain(tensor.entry)),
        "role_assignments": _assigned(printer, definitions, list(schedule.roles.values())),
        "roles": roles,
        "macros": {name: macro(plain(name)) for name in (schedule.output, *role_tensors(schedule))},
        "constants": constants_of(printer),
    }


def _check_names(operator: Operator, definitions: Iterable[Definition]) -> None:
    """Raises SpecError if two names would be the same variable."""
    named: dict[str, str] = {}
    for one in definitions:
        variable = python_variable(one.name)
        other = named.setdefault(variable, one.name)
        if other != one.name:
            message = f"{one.name} and {other} would both be {variable} in an output; rename one"
            raise SpecError([Finding(one.position or operator.position, "name-clash", message)])


def role_tensors(schedule: Schedule) -> Iterator[str]:
    """The members that are tensors among the roles of a schedule."""
    return (node.name for node in schedule.roles.values() if isinstance(node, ir.Tensor))


def _assigned(
    printer: PythonPrinter, definitions: tuple[Definition, ...], nodes: list[ir.Expr]
) -> Assignments:
    return assignments_of(printer, used_definitions(definitions, nodes))


class SchedulePrinter(ValidPrinter):
    """Prints values of elements, too; nothing needs a guard."""

    bounds_type = Valid

    def field(self, node: ir.Field) -> str:
        return f"{self.tensor(node.tensor)}.{node.name}"

    def load(self, node: ir.Load) -> str:
        number = f", {self.print(node.tensor.index)}" if node.tensor.index is not None else ""
        return f'load("{node.tensor.name}", {self.print(node.coordinate)}{number})'

    def call(self, node: ir.Call) -> str:
        match node:
            case ir.Call(function="element", arguments=(ir.Number() as number,)) if self._fits(number, node):
                return self.print(number)
            case ir.Call(function="element", arguments=(item,)):
                return f"f.convert({self.print(item)}, {self.data_type(node.type)})"
            case ir.Call(function="convert", arguments=(item, ir.Tensor() as tensor)):
                return f"f.convert({self.print(item)}, {self.tensor(tensor)}.DataType)"
            case ir.Call(function="apply_activation", arguments=(item, activation)):
                return f"({self.print(item)} if {self.print(activation)} is None else None)"
        return super().call(node)

    def _fits(self, number: ir.Number, element: ir.Expr) -> bool:
        """Whether a number is the same in every type that an element can have."""
        assert self.operator is not None
        tables = (row for rows in self.operator.support.values() for row in rows)
        types = {type_ for row in tables if row.tensor == element.type.name for type_ in row.types}
        return number.value == int(number.value) or all(
            self.registry.data_type[type_].kind == "float" for type_ in types
        )
