"""Whether recurrences read only steps that exist.

Steps are computed in sequence, and in each step the tensors of a group from first to last. So a tensor reads
those above it at its own step, and all of the group at earlier ones. The step of a read must follow from the
text of its coordinate: `at[0]`, less a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from dmlgen.expr import ir
from dmlgen.registry import OutputDefinitions

_Arguments: TypeAlias = Mapping[ir.Expr, ir.Expr]
"""The arguments of a function, by its parameters."""
_Read: TypeAlias = tuple[ir.Entry, int | None]


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


def reads_by_step(node: ir.Expr, known: _Arguments = MappingProxyType({})) -> Iterator[_Read]:
    """The reads of intermediate tensors in a value, each with the offset of its step from the current one;
    None if that is not known. Arguments of functions that are not `known` stand for themselves."""
    match node:
        case ir.Entry(coordinate=coordinate):
            yield node, _first(ir.substitute(coordinate, known))
        case ir.Apply(function=function, arguments=arguments):
            given = (ir.substitute(one, known) for one in arguments)
            yield from reads_by_step(function.body, dict(zip(function.parameters, given, strict=True)))
        case ir.Reduce(loops=loops):
            known = {
                name: given for name, given in known.items() if all(name != one.variable for one in loops)
            }
    for child in ir.children(node):
        yield from reads_by_step(child, known)


def _step_count(sizes: ir.Expr) -> ir.Expr:
    """The first size, or all of them if they are not listed."""
    match _expanded(ir.joined_parts(_expanded(sizes))[0]):
        case ir.ListOf(items=(first, *_)):
            return first
    return sizes


def _first(node: ir.Expr) -> int | None:
    """The offset of an integer, or of the first entry of a list, from `at[0]`."""
    match _expanded(node):
        case ir.AT:
            return 0
        case (
            ir.ListOf(items=(first, *_))
            | ir.Call(function="replace", arguments=(_, ir.ZERO, first))
            | ir.Index(sequence=first, index=ir.ZERO)
            | ir.Binary(op="+", left=first, type=ir.INTS)
        ):
            return _first(first)
        case ir.Slice(sequence=list_, lower=None, upper=ir.Number(value=end)) if end > 0:
            return _first(list_)
        case ir.Binary(op="+" | "-" as op, left=left, right=ir.Number(value=int(more)), type=ir.INT):
            step = _first(left)
            return None if step is None else step + more if op == "+" else step - more
    return None


def _expanded(node: ir.Expr) -> ir.Expr:
    """An expression that is neither a name nor the call of a function. Ends: functions cannot be
    recursive."""
    while True:
        match node:
            case ir.Definition(value=value):
                node = value
            case ir.Apply(function=function, arguments=arguments):
                given = zip(function.parameters, arguments, strict=True)
                node = ir.substitute(function.body, dict[ir.Expr, ir.Expr](given))
            case _:
                return node
