"""Computations that step through all tensors together, so that no element needs its coordinate."""

from __future__ import annotations

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.schedules.access import loads_of
from dmlgen.schedules.elementwise import is_gathered
from dmlgen.schedules.schedule import Schedule


def is_aligned(schedule: Schedule) -> bool:
    """Whether the output and everything it is computed from are traversed in step: each tensor is read at
    the element's own coordinate, or only at the first element.

    The output can be replaced by the place where a tensor is stored in it, and what is read by the element
    that indices select, which are read in step.
    """
    assert schedule.value is not None
    if schedule.place is not None or is_gathered(schedule.value):
        return True
    reads = _reads(schedule)
    each = {read.tensor.entry for read in reads if read.coordinate == ir.AT}
    first = single(schedule)
    places = [read for read in reads if read.coordinate == ir.AT or is_first(read.coordinate)]
    rest = ir.substitute(schedule.value, dict.fromkeys(places, ir.ZERO))
    return (
        not any(part == ir.AT or isinstance(part, ir.Load) for part in ir.walk(rest))
        and all(read.tensor.index is None or isinstance(read.tensor.index, ir.Number) for read in reads)
        and len(each) + len(first) == len({read.tensor.entry for read in reads})
    )


def single(schedule: Schedule) -> tuple[str, ...]:
    """The tensors of which the first element is read."""
    return tuple(dict.fromkeys(read.tensor.entry for read in _reads(schedule) if is_first(read.coordinate)))


def is_first(coordinate: ir.Expr) -> bool:
    """Whether a coordinate is 0 in all dimensions."""
    return match("[0 for d in range(rank)]", coordinate) is not None


def _reads(schedule: Schedule) -> list[ir.Load]:
    return [] if schedule.value is None else loads_of(schedule.value)
