"""Computations that step through all tensors together, so that no element needs its coordinate."""

from __future__ import annotations

from types import SimpleNamespace

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.schedule import Schedule, is_shifted

_BLOCK = "[at[d] // [Whole.Sizes[e] // Parts.Sizes[e] for e in range(ranks)][d] for d in range(rank)]"
"""The coordinate of the block that contains `at`, of those into which a tensor's sizes divide another's."""


def is_aligned(schedule: Schedule) -> bool:
    """Whether the output and everything it is computed from are traversed in step: each tensor is read at
    the element's own coordinate, at that of its block, or only at the first element.

    The output can be replaced by the place where a tensor is stored in it.
    """
    assert schedule.value is not None
    if schedule.place is not None:
        moved = ir.Load(ir.Tensor(schedule.over, ir.Local("index", ir.INT)), ir.AT, schedule.value.type)
        return is_shifted(schedule.place) and schedule.value == moved
    reads = _reads(schedule)
    each = {read.tensor.entry for read in reads if read.coordinate == ir.AT}
    blocks, first = _blocks(schedule), single(schedule)
    places = [read for read in reads if read.coordinate == ir.AT or is_first(read.coordinate) or _block(read)]
    rest = ir.substitute(schedule.value, dict.fromkeys(places, ir.ZERO))
    return (
        schedule.over == schedule.output
        and not any(part == ir.AT or isinstance(part, ir.Load) for part in ir.walk(rest))
        and all(read.tensor.index is None or isinstance(read.tensor.index, ir.Number) for read in reads)
        and len(each) + len(first) + len(blocks) == len({read.tensor.entry for read in reads})
        and all(one.Whole.entry in {*each, schedule.output} for one in blocks.values())
        and all(one.Parts.entry in blocks for one in blocks.values())
    )


def single(schedule: Schedule) -> tuple[str, ...]:
    """The tensors of which the first element is read."""
    return tuple(dict.fromkeys(read.tensor.entry for read in _reads(schedule) if is_first(read.coordinate)))


def blocked(schedule: Schedule) -> tuple[str, ...]:
    """The tensors that are read where they have an element for a block of the output's."""
    return tuple(_blocks(schedule))


def is_first(coordinate: ir.Expr) -> bool:
    """Whether a coordinate is 0 in all dimensions."""
    return match("[0 for d in range(rank)]", coordinate) is not None


def _reads(schedule: Schedule) -> list[ir.Load]:
    return [] if schedule.value is None else loads_of(schedule.value)


def _blocks(schedule: Schedule) -> dict[str, SimpleNamespace]:
    """The tensors that divide others into blocks, and these, by the tensors that are read so."""
    found = {read.tensor.entry: _block(read) for read in _reads(schedule)}
    return {name: one for name, one in found.items() if one is not None}


def _block(read: ir.Load) -> SimpleNamespace | None:
    return match(_BLOCK, read.coordinate)
