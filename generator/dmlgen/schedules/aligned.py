"""Computations that step through all tensors together, so that no element needs its coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.schedules.schedule import Schedule, is_shifted

_SIZES = "[Whole.Sizes[e] // Parts.Sizes[e] for e in range(rank)]"


@dataclass(frozen=True)
class _Blocks:
    """The sizes of the blocks that a coordinate counts: along each dimension, the size of the
    tensor `whole` divided by that of the tensor `parts`."""

    whole: str
    parts: str


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
    tensors = {read.tensor.entry for read in reads}
    each = {read.tensor.entry for read in reads if read.coordinate == ir.AT}
    of_blocks = _blocks(schedule)
    with_at = sum(node == ir.AT for node in ir.walk(schedule.value))
    wholes = {*each, schedule.output}
    return (
        schedule.over == schedule.output
        and all(read.tensor.index is None or isinstance(read.tensor.index, ir.Number) for read in reads)
        and with_at == sum(not is_first(read.coordinate) for read in reads)
        and len(each) + len(single(schedule)) + len(of_blocks) == len(tensors)
        and all(one.whole in wholes and one.parts in of_blocks for one in of_blocks.values())
    )


def single(schedule: Schedule) -> tuple[str, ...]:
    """The tensors of which the first element is read."""
    return tuple(dict.fromkeys(read.tensor.entry for read in _reads(schedule) if is_first(read.coordinate)))


def blocked(schedule: Schedule) -> tuple[str, ...]:
    """The tensors that are read where they have an element for a block of the output's."""
    return tuple(_blocks(schedule))


def is_first(coordinate: ir.Expr) -> bool:
    """Whether a coordinate is 0 in all dimensions."""
    return isinstance(coordinate, ir.Reduce) and match("[0 for d in range(rank)]", coordinate) is not None


def _reads(schedule: Schedule) -> list[ir.Load]:
    nodes = [] if schedule.value is None else ir.walk(schedule.value)
    return [node for node in nodes if isinstance(node, ir.Load)]


def _blocks(schedule: Schedule) -> dict[str, _Blocks]:
    """The blocks of coordinates that are those of the block that contains `at`, by tensor."""
    found: dict[str, _Blocks] = {}
    for read in _reads(schedule):
        block = match("[at[d] // sizes[d] for d in range(rank)]", read.coordinate)
        size = block and match(_SIZES, block.sizes)
        if size:
            found[read.tensor.entry] = _Blocks(size.Whole.entry, size.Parts.entry)
    return found
