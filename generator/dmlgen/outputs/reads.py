"""Tensors that expressions read, and in which way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from dmlgen.catalog import ALGORITHMS
from dmlgen.expr import ir
from dmlgen.expr.bits import is_made_of_bits, tensors_of_bits
from dmlgen.expr.functions import ELEMENT_FUNCTIONS
from dmlgen.registry import AlgorithmUse, Operator, OutputDefinitions
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.cases import written
from dmlgen.schedules.elementwise import Elementwise
from dmlgen.schedules.schedule import FastForm


def loads(expressions: Iterable[ir.Expr]) -> list[ir.Load]:
    """The reads of tensors."""
    return [node for expression in expressions for node in ir.walk(expression) if isinstance(node, ir.Load)]


def tensors_read(operator: Operator, expressions: Iterable[ir.Expr]) -> list[str]:
    """The tensors that are read, in the order of members; single ones of an array if their index is fixed."""
    members = [member.name for member in operator.inputs]
    read = {load.tensor.entry: members.index(load.tensor.name) for load in loads(expressions)}
    return sorted(read, key=lambda entry: (read[entry], entry))


def widened(value: ir.Expr, tensors: Sequence[str]) -> ir.Expr:
    """The tensors, as bits, whose integers shaders compute in double precision for a value; this may depend
    on whether members are present."""
    masks: dict[ir.Expr | None, int] = {}

    def visit(node: ir.Expr, test: ir.Expr | None) -> None:
        match node:
            case ir.Call(function=name, arguments=(x, *_)) if (
                name in ELEMENT_FUNCTIONS and ELEMENT_FUNCTIONS[name].widens and x.type.name in tensors
            ):
                masks[test] = masks.get(test, 0) | 1 << tensors.index(x.type.name)
            case ir.Conditional(test=condition, then=then) if test is None and not ir.varies(condition):
                visit(then, condition)
                visit(node.otherwise, None)
                return
        for part in ir.children(node):
            visit(part, test)

    visit(value, None)
    always = masks.pop(None, 0)
    found: ir.Expr = ir.Number(always, ir.INT)
    assert len(masks) <= 1, "only one condition is known"
    for test, mask in masks.items():
        if test is not None and mask | always != always:
            found = ir.Conditional(test, ir.Number(always | mask, ir.INT), found)
    return found


def moves(schedule: AlgorithmUse) -> tuple[str, ...]:
    """The tensors whose elements an algorithm copies unchanged."""
    if schedule.name not in ALGORITHMS:
        return ()
    named = {"output": ir.Tensor(schedule.output), **schedule.roles}
    moved = (named[name] for name, role in ALGORITHMS[schedule.name].roles.items() if role.moved)
    return tuple(one.name for one in moved if isinstance(one, ir.Tensor))


def copied(output: str, value: ir.Expr) -> tuple[str, ...]:
    """The tensors whose elements are copied unchanged to an output: only the size of their type matters.

    None if an element of their type also decides something: in a condition, or as an index.
    """
    if not _copies(value) or any(load.type == value.type for load in loads(_deciding(value))):
        return ()
    moved = [load.tensor.name for load in loads([value]) if load.type == value.type]
    return tuple(dict.fromkeys([*moved, output]))


def _copies(node: ir.Expr) -> bool:
    match node:
        case ir.Conditional(then=then, otherwise=otherwise):
            return _copies(then) and _copies(otherwise)
        case ir.Call(function="element", arguments=(ir.Number(value=value),)):
            return value == 0  # it has the same bits in every type
        case ir.Call(function="convert", arguments=(ir.Member(), *_)):
            return True  # the host converts it; what a shader computes would depend on the type
        case _:
            return node.type.kind == "element" and isinstance(node, ir.Load | ir.Member)


def _deciding(node: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of a copied value that select the element."""
    match node:
        case ir.Conditional(test=test, then=then, otherwise=otherwise):
            yield test
            yield from _deciding(then)
            yield from _deciding(otherwise)
        case ir.Load(coordinate=coordinate):
            yield coordinate


def moved_as_bits(
    operator: Operator, defines: OutputDefinitions, forms: Collection[FastForm]
) -> tuple[str, ...]:
    """The tensors whose elements a shader treats as raw bits: all if it only copies them."""
    (output, value), *others = defines.outputs.items()
    for one in forms:
        if isinstance(one, Elementwise):
            forms, value = (), one.value
    moved = () if forms or others else copied(output, written(value, {}))
    read = {one.tensor.name for one in loads_of(*(tensor.value for tensor in defines.tensors))}
    return moved if moved and read.isdisjoint(moved) else taken_as_bits(operator, defines)


def taken_as_bits(operator: Operator, defines: OutputDefinitions) -> tuple[str, ...]:
    """The tensors whose elements a definition treats as raw bits."""
    of_bits = tensors_of_bits([*(one.value for one in defines.tensors), *defines.outputs.values()])
    inputs = [name for name in tensors_read(operator, defines.whole) if name in of_bits]
    outputs = [name for name, value in defines.outputs.items() if is_made_of_bits(value)]
    return (*inputs, *outputs)
