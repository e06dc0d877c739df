"""Whether recurrences read only steps that exist.

Steps are computed in sequence, and in each step the tensors of a group from first to last. So a tensor reads
those above it at its own step, and all of the group at earlier ones. The step of a read must follow from the
text of its coordinate: `at[0]`, less a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.expr.host_expressions import inlined
from dmlgen.registry import OutputDefinitions

_Steps: TypeAlias = Mapping[str, int | None]
"""Offsets of locals from `at[0]`, of lists by their first entry; None if unknown."""


def recurrence_faults(defines: OutputDefinitions) -> Iterator[tuple[str, ir.Entry | None, str]]:
    """A possible error: the tensor, the read (None for its sizes), and its description."""
    for group in defines.recurrences:
        for number, tensor in enumerate(group):
            if _step_count(tensor.sizes) != _step_count(group[0].sizes):
                fault = f"its number of steps may differ from that of {group[0].name}, its neighbor"
                yield tensor.name, None, fault
            latest = {one.name: -int(place >= number) for place, one in enumerate(group)}
            for read, step in reads_by_step(tensor.value):
                if read.tensor in latest and (step is None or step > latest[read.tensor]):
                    yield tensor.name, read, f"{read.tensor} may be read at a step that it does not have yet"
                    break


def reads_by_step(value: ir.Expr) -> Iterator[tuple[ir.Entry, int | None]]:
    """The reads of intermediate tensors in a value, each with the offset of its step from the current one;
    None if that is not known."""
    return _reads(value, {"at": 0})


def _step_count(sizes: ir.Expr) -> ir.Expr:
    """The first size, or all of them if they are not listed."""
    first = ir.joined_parts(inlined(sizes))[0]
    while isinstance(first, ir.Definition):
        first = first.value
    return first.items[0] if isinstance(first, ir.ListOf) and first.items else sizes


def _reads(node: ir.Expr, known: _Steps) -> Iterator[tuple[ir.Entry, int | None]]:
    match node:
        case ir.Entry(coordinate=coordinate):
            yield node, _first(coordinate, known)
        case ir.Apply(function=function):
            yield from _reads(function.body, _inside(node, known))
        case ir.Fold(loops=loops):
            known = {**known, **{each.variable.name: None for each in loops}}
        case ir.Reduce(loop=loop):
            known = {**known, loop.variable.name: None}
    for child in ir.children(node):
        yield from _reads(child, known)


def _inside(node: ir.Apply, known: _Steps) -> _Steps:
    pairs = zip(node.function.parameters, node.arguments, strict=True)
    given = {parameter.name: _step(argument, known) for parameter, argument in pairs}
    return {**given, "at": known["at"]}


def _step(node: ir.Expr, known: _Steps) -> int | None:
    return _first(node, known) if node.type == ir.INTS else _number(node, known)


def _first(node: ir.Expr, known: _Steps) -> int | None:
    """The offset of a list's first entry from `at[0]`."""
    match node:
        case ir.Local(name=name):
            return known.get(name)
        case ir.ListOf(items=(item, *_)):
            return _number(item, known)
        case ir.Binary(op="+", left=left):
            return _first(left, known)
        case ir.Slice(sequence=list_, lower=None, upper=ir.Number(value=end)) if end > 0:
            return _first(list_, known)
        case ir.Call(function="replace", arguments=(_, ir.Number(value=0), item)):
            return _number(item, known)
        case ir.Apply(function=function):
            return _first(function.body, _inside(node, known))
    return None


def _number(node: ir.Expr, known: _Steps) -> int | None:
    """The offset of an integer from `at[0]`."""
    match node:
        case ir.Local(name=name):
            return known.get(name)
        case ir.Index(sequence=sequence, index=ir.Number(value=0)):
            return _first(sequence, known)
        case ir.Binary(op="+" | "-" as op, left=left, right=ir.Number(value=int(more))):
            step = _number(left, known)
            return None if step is None else step + more if op == "+" else step - more
        case ir.Apply(function=function):
            return _number(function.body, _inside(node, known))
    return None
