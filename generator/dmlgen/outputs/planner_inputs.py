"""Inputs of planners: tensors, and expressions of the description, for any language. What those share is
computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.definition_queries import free_locals
from dmlgen.names import pascal
from dmlgen.outputs.hlsl_constants import Constants
from dmlgen.outputs.hlsl_definition import shader_of
from dmlgen.outputs.hlsl_definition.static import Static, static_of
from dmlgen.outputs.hlsl_names import macro, plain
from dmlgen.outputs.reads import moves
from dmlgen.plans.model import Plans
from dmlgen.plans.params import Declaration
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import schedule_of
from dmlgen.schedules.cases import written
from dmlgen.schedules.elementwise import Elementwise, is_symbolic

VARIABLES = ("d", "i", "j", "k", "l", "m")
"""Of loops."""
Parts: TypeAlias = Callable[[ir.Expr], list[ir.Expr]]
"""The expressions of which another consists."""


@dataclass(frozen=True)
class PlannerTensor:
    """A tensor for a planner: the field of its record, "tensors" for the next one there. A member that is an
    array without an index is the current one of it. `as_bits`: only the bits of its elements matter.
    `is_held`: its old content is read."""

    field: str
    node: ir.Tensor
    as_bits: bool = False
    is_held: bool = False

    @property
    def macro(self) -> str:
        """The prefix of its macros."""
        return macro(plain(self.node.entry))


@dataclass(frozen=True)
class PlannerInputs:
    """The input of the planner plan_x in module x: a record.

    `lists` are the entries of its lists that have one for each expression, `values` the values of other
    fields, by path; `static` is what a definition has besides, the same for all descriptions. `each` is the
    array of tensors for each of which the planner is called, `fused` the member with activations. `stores`:
    elements are given as they are stored, rather than computed.

    A map has `constants`, which its function reads, as declared there, and a function of a coordinate,
    `element`, if it only adds, subtracts and multiplies.
    """

    record: str
    planner: str
    tensors: tuple[PlannerTensor, ...]
    lists: Mapping[str, Sequence[ir.Expr]]
    values: Mapping[str, ir.Expr]
    static: Static | None = None
    fused: str = ""
    each: str = ""
    stores: bool = False
    constants: tuple[Declaration, ...] = ()
    element: ir.Expr | None = None


def planner_inputs(registry: Registry, operator: Operator, plans: Plans) -> PlannerInputs:
    """The input of an operator's planner."""
    schedule = schedule_of(registry, operator)
    if schedule is None:
        return _of_definition(registry, operator, plans)
    record = plans.record(pascal(schedule.name.upper()))
    roles = {**schedule.roles, "output": ir.Tensor(schedule.output)}
    given = {one.name: roles[one.name] for one in record.fields if one.name in roles}
    tensors = {name: one for name, one in given.items() if isinstance(one, ir.Tensor)}
    moved = moves(schedule)
    values = {name: _written(one) for name, one in given.items() if name not in tensors}
    return PlannerInputs(
        record=record.name,
        planner=schedule.name,
        tensors=tuple(PlannerTensor(name, one, one.name in moved) for name, one in tensors.items()),
        lists={},
        values=values,
    )


def _of_definition(registry: Registry, operator: Operator, plans: Plans) -> PlannerInputs:
    assert operator.defines is not None
    shader = shader_of(registry, operator)
    sizes = {tensor.name: tensor.sizes for tensor in operator.defines.tensors}
    outputs = list(operator.defines.outputs.values())
    element = _written(outputs[0]) if shader.moves and len(outputs) == 1 else None
    eaches = {one.each for one in shader.passes if one.each}
    values = {path: _written(node) for path, node in shader.operands.items()}
    constants: tuple[Declaration, ...] = ()
    one = shader.printer.form(Elementwise)
    if one is not None and shader.form is not None:
        element, constants = _written(one.value), shader.form["read"]
        if operator.member[one.over.name].count is not None:
            eaches = {one.over.name}
        if isinstance(one.value, ir.Load) and one.is_gathered:
            values |= _movement(one.value.coordinate, one.output)
            element = None
    assert len(eaches) <= 1, f"{operator.name} has several arrays of tensors that take dispatches"
    return PlannerInputs(
        record="Definition",
        planner="definition",
        tensors=tuple(
            PlannerTensor("tensors", one.node, one.member in shader.moves, one.member in shader.printer.held)
            for one in shader.tensors
        ),
        lists={
            "kept_sizes": [_written(sizes[one.member]) for one in shader.kept],
            **_lists(shader.printer.constants),
        },
        values=values,
        static=static_of(shader, plans),
        fused=shader.printer.fused,
        each=next(iter(eaches), ""),
        stores=bool(shader.moves),
        constants=constants,
        element=element if element is not None and is_symbolic(element) else None,
    )


def _movement(target: ir.Expr, visited: ir.Tensor) -> dict[str, ir.Expr]:
    """How indices move elements, as planners' `Movement` has it, for coordinates of the tensor `visited`. All
    entries of the coordinate `target` are entries of these, or selected, each by the index of the same load,
    whose coordinate may end in the number of the index."""
    whole = written(target, {}, variables=VARIABLES)
    (selected,) = {one for one in ir.walk(whole) if getattr(one, "function", "") == "normalize_index"}
    assert isinstance(selected, ir.Call) and isinstance(selected.arguments[0], ir.Load)
    picked, last, n = selected.arguments[0].coordinate, ir.Number(-1, ir.INT), ir.Local("n", ir.INT)
    number = next((one for name, one in free_locals(picked).items() if name != "at"), ir.ZERO)
    count = ir.Field(visited, "DimensionCount", ir.INT)
    labels = ir.Reduce("list", (ir.Loop(n, ir.ZERO, count),), ir.Binary("+", n, ir.ONE, ir.INT), ir.INTS)
    moved = ir.substitute(whole, {selected: ir.Binary("-", last, number, ir.INT)})
    of_index = picked if number == ir.ZERO else ir.substitute(picked, {number: last})
    found = {"movement.moved": moved, "movement.picked": of_index}
    return {path: _written(ir.substitute(node, {ir.AT: labels})) for path, node in found.items()}


def _lists(constants: Constants) -> dict[str, list[ir.Expr]]:
    """The entries of lists of constants."""
    fields = {
        "lists": ("ints", "floats"),
        "elements": ("element",),
        "numbers": ("int", "float"),
        "bounds": ("bound",),
    }
    return {
        field: [_written(one.node) for one in constants.known(*kinds) if one.node is not None]
        for field, kinds in fields.items()
    }


def _written(node: ir.Expr) -> ir.Expr:
    """An expression without names of definitions, and without parts that have no effect, such as a product
    with a literal 0; equal loops have the same variables."""
    return written(node, {}, variables=VARIABLES)


def innermost_first(node: ir.Expr, parts: Parts = ir.children) -> Iterator[ir.Expr]:
    """An expression and all that it consists of."""
    for part in parts(node):
        yield from innermost_first(part, parts)
    yield node


def shared(whole: Collection[ir.Expr], parts: Parts = ir.children) -> set[ir.Expr]:
    """The common subexpressions that are worth a variable: those that are always evaluated, and sizes of
    tensors, whether present or not."""
    counts: Counter[ir.Expr] = Counter()
    certain: set[ir.Expr] = set()
    waiting = list(whole)
    while waiting:
        node = waiting.pop()
        counts[node] += 1
        if counts[node] == 1:
            waiting += parts(node)
            if isinstance(node, ir.Field) and node.tensor.index is None:
                certain.add(node)
    waiting = list(whole)
    while waiting:
        node = waiting.pop()
        if node not in certain:
            certain.add(node)
            waiting += _first(node, parts)
    return {
        node
        for node in certain
        if counts[node] > 1 and _is_worth_it(node) and free_locals(node).keys() <= {"index"}
    }


def _first(node: ir.Expr, parts: Parts) -> list[ir.Expr]:
    """The parts of an expression that are always evaluated."""
    match node:
        case ir.Conditional(test=test):
            return [test]
        case ir.Logic(operands=(first, *_)):
            return [first]
        case ir.Reduce(loop=loop):
            return [loop.lower, loop.upper]
    return parts(node)


def _is_worth_it(node: ir.Expr) -> bool:
    match node:
        case (
            ir.Number()
            | ir.EnumValue()
            | ir.Constant()
            | ir.Local()
            | ir.Tensor()
            | ir.Tensors()
            | ir.Member()
        ):
            return False
        case ir.Present():
            return False
        case ir.ListOf(items=items):
            return not all(isinstance(item, ir.Number) for item in items)
    return True
