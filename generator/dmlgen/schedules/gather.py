"""Definitions that copy elements from places that another tensor selects."""

from __future__ import annotations

from collections.abc import Iterator

from dmlgen.analysis.elements import InElements
from dmlgen.expr import ir
from dmlgen.registry import OutputDefinitions
from dmlgen.schedules.schedule import Schedule
from dmlgen.schedules.tensor_facts import TensorFacts


def recognize(defines: OutputDefinitions, facts: TensorFacts) -> Schedule | None:
    """One output, whose value is a read at a coordinate with entries of the form `wrap(another read)`."""
    if defines.tensors or len(defines.outputs) != 1:
        return None
    [(output, value)] = defines.outputs.items()
    elements = InElements(defines.classes)
    found = elements.stored(ir.Tensor(output), value)
    if not isinstance(found, ir.Load) or not _looks_up(found.coordinate):
        return None
    return Schedule("gather", output, output, elements.definitions, found, None, {}, ())


def _looks_up(coordinate: ir.Expr) -> bool:
    """Whether a coordinate has a looked-up entry, and uses lookups for nothing else."""
    lookups = [entry for entry in _entries(coordinate) if _is_lookup(entry)]
    everything = [
        node
        for node in ir.walk(coordinate)
        if isinstance(node, ir.Call) and node.function == "normalize_index"
    ]
    return bool(lookups) and len(everything) == len(lookups)


def _entries(coordinate: ir.Expr) -> Iterator[ir.Expr]:
    """The numbers that a coordinate consists of."""
    match coordinate:
        case ir.Definition(value=value):
            yield from _entries(value)
        case ir.ListOf(items=items):
            yield from items
        case ir.Reduce(body=body):
            yield body
        case ir.Binary(left=left, right=right):
            yield from _entries(left)
            yield from _entries(right)
        case ir.Call(function="replace", arguments=(sequence, _, entry)):
            yield from _entries(sequence)
            yield entry
        case ir.Call(function="align", arguments=(sequence, *_)) | ir.Slice(sequence=sequence):
            yield from _entries(sequence)


def _is_lookup(node: ir.Expr) -> bool:
    match node:
        case ir.Definition(value=value):
            return _is_lookup(value)
        case ir.Call(function="normalize_index", arguments=(ir.Load(), _)):
            return True
        case _:
            return False
